package jobs

import (
	"strings"
	"time"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
)

// The restart policy is an exponential delay with a limit. A job that panics or
// meets an internal error takes its graph back to the last committed epoch, and
// the epoch runs again with the same writes; after restartLimit restarts within
// restartWindow the job is given up: it is failed, with all that reads it, and
// the graph goes on without it. Errors that are a property of the data are not
// tried again: they would come back. A failed commit takes the graph back too,
// without a limit, because a full disk is no fault of a job.
const (
	restartLimit  = 3
	restartWindow = time.Minute
	restartDelay  = 50 * time.Millisecond
	// HaltWait bounds the wait for goroutines of a halted job. One that is stuck
	// in an operator is left behind: nothing it does is committed.
	HaltWait = 3 * time.Second
)

// restarts counts a job's recent restarts.
type restarts struct{ at []time.Time }

// next notes a restart and returns its delay; ok is false when the job has had
// too many.
func (r *restarts) next(now time.Time) (d time.Duration, ok bool) {
	recent := r.at[:0]
	for _, t := range r.at {
		if now.Sub(t) < restartWindow {
			recent = append(recent, t)
		}
	}
	r.at = recent
	if len(r.at) >= restartLimit {
		return 0, false
	}
	r.at = append(r.at, now)
	return restartDelay << (len(r.at) - 1), true
}

// passing reports whether an error may be gone at the next try.
func passing(err error) bool {
	c := string(pgerr.CodeOf(err))
	return strings.HasPrefix(c, "XX") || strings.HasPrefix(c, "58") || strings.HasPrefix(c, "53")
}

// retry takes the graph back to its last committed epoch if jobs have broken in
// a way that may pass and have restarts left; the caller runs the epoch again.
func (g *Graph) retry() bool {
	if g.building || g.over() {
		return false
	}
	var delay time.Duration
	any := false
	for _, j := range g.jobs {
		err := j.Err()
		if err == nil || j.isHalted() || j.recorded || !passing(err) {
			continue
		}
		d, ok := j.restarts.next(time.Now())
		if !ok {
			continue
		}
		any, j.again, delay = true, true, max(delay, d)
		g.eng.Log.Warn("restarting a job from its last committed epoch", "job", j.Name(), "after", err)
	}
	if !any {
		return false
	}
	g.pause(delay)
	g.Rebuild()
	return true
}

// Rebuild replaces the graph's running jobs by new ones with the state of the
// last committed epoch. g.mu is held. Jobs that have failed stay so.
func (g *Graph) Rebuild() {
	old := g.jobs
	for _, j := range old {
		j.halt()
	}
	deadline := time.Now().Add(HaltWait)
	for _, j := range old {
		if !j.await(time.Until(deadline)) {
			g.eng.Log.Warn("a task did not end and is left behind", "job", j.Name())
		}
	}
	g.jobs = map[uint32]*Job{}
	for _, t := range g.tables {
		t.fan = &exec.FanOut{}
	}
	var fresh []*Job
	for _, o := range g.eng.jobObjects() {
		was := old[o.Header().OID]
		if was == nil || was.gone.Load() {
			continue
		}
		g.jobs[was.ID] = was
		if was.Err() != nil && !was.again {
			continue
		}
		j := g.eng.successor(o, was)
		g.jobs[j.ID] = j
		if j.Err() == nil {
			g.assemble(j)
		}
		if !g.eng.replaceJob(was, j) {
			j.gone.Store(true)
			j.halt()
			delete(g.jobs, j.ID)
			continue
		}
		fresh = append(fresh, j)
	}
	for c, rel := range g.captures {
		c.rollback()
		for _, f := range g.fansOf(rel) {
			f.Add(c)
		}
	}
	for _, j := range fresh {
		j.start()
	}
}

// assemble loads a built job's state and connects it; a job that cannot be is
// failed. The graph is at rest.
func (g *Graph) assemble(j *Job) {
	for _, r := range j.rels {
		if up := g.jobs[r]; up != nil && up.Err() != nil {
			j.fail(upstreamFailed(up))
		}
	}
	err := j.Err()
	if err == nil {
		err = j.load(g.eng.Store)
	}
	if err == nil {
		err = j.connectSources()
	}
	if err != nil {
		j.fail(err)
		j.halt()
		return
	}
	g.connect(j)
}

// replaceJob publishes a job's successor, unless the job was dropped meanwhile.
func (e *Runner) replaceJob(was, j *Job) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs[was.ID] != was {
		return false
	}
	e.jobs[was.ID] = j
	return true
}
