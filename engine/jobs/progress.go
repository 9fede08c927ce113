package jobs

import (
	"time"

	"github.com/streamdb/streamdb/pgerr"
)

// JobProgress tells how far a job has come.
type JobProgress struct {
	Rows       int64 // rows taken from sources
	StateBytes int64
	Ended      bool // all its sources are bounded and done
	Err        error
}

// Progress returns the progress of the job called name in schema public.
func (e *Runner) Progress(name string) JobProgress {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, j := range e.jobs {
		if j.Name() == name {
			return JobProgress{Rows: j.Rows.Load(), StateBytes: j.StateBytes.Load(),
				Ended: len(j.readers) > 0 && int(j.ended.Load()) == len(j.readers), Err: j.Err()}
		}
	}
	return JobProgress{}
}

// SyncJob runs an epoch of the job's graph and returns when it is committed, with
// the time the tasks needed to seal and that of the commit.
func (e *Runner) SyncJob(name string) (seal, commit time.Duration, err error) {
	e.mu.RLock()
	var g *Graph
	for _, j := range e.jobs {
		if j.Name() == name {
			g = e.graphOf[j.ID]
		}
	}
	e.mu.RUnlock()
	if g == nil {
		return 0, 0, pgerr.New(pgerr.UndefinedObject, "there is no job \"%s\"", name)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	err = g.cycle(false)
	return g.lastSeal, g.lastCommit, err
}

// LoseBarriers, for tests, makes a job wait for barriers that never come: an edge nobody
// sends on stands for a producer that has lost them.
func (e *Runner) LoseBarriers(name string) {
	for _, j := range e.JobsInOrder() {
		if j.Name() == name {
			j.tasks[0].inbox.Connect(0, false)
		}
	}
}

// Pauses returns the recent times between a barrier's injection and the last
// task's seal, by graph of the job.
func (e *Runner) Pauses(name string) []time.Duration {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, j := range e.jobs {
		if j.Name() == name {
			if g := e.graphOf[j.ID]; g != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				return append([]time.Duration(nil), g.seals...)
			}
		}
	}
	return nil
}
