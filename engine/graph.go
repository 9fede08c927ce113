package engine

import (
	"context"
	"sync"
	"time"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
)

// graph is a set of tables and jobs that share barriers and commits.
type graph struct {
	eng *Engine
	// mu is held for a cycle and for changes of the structure.
	mu     sync.Mutex
	jobs   map[uint32]*job
	tables map[uint32]*tableNode
	// ntasks tasks answer each barrier on contributions.
	contributions chan *contribution

	qmu     sync.Mutex
	writes  []*write
	wake    chan struct{}
	into    *graph // the graph this one was merged into
	stopped chan struct{}
	quit    chan struct{}

	lastCommit time.Duration   // of the last epoch's commit
	lastSeal   time.Duration   // from its barrier to the last task's seal
	seals      []time.Duration // the recent ones
	epoch      types.Epoch
}

// tableNode is a table's change stream.
type tableNode struct {
	rel uint32
	fan *exec.FanOut
}

func (e *Engine) newGraph() *graph {
	return &graph{eng: e, jobs: map[uint32]*job{}, tables: map[uint32]*tableNode{},
		contributions: make(chan *contribution, 1024), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), stopped: make(chan struct{})}
}

// run is the coordinator: a cycle when there are writes, and at the barrier
// interval when there are sources.
func (g *graph) run() {
	defer close(g.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if g.hasSources() {
			timer.Reset(g.interval())
		}
		select {
		case <-g.quit:
			return
		case <-g.wake:
		case <-timer.C:
		}
		g.mu.Lock()
		err := g.cycle(false)
		g.mu.Unlock()
		if err != nil {
			g.eng.log.Error("epoch not committed", "err", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// interval keeps commits below a tenth of the time.
func (g *graph) interval() time.Duration {
	return max(g.eng.cfg.BarrierInterval, min(10*g.lastCommit, 30*time.Second))
}

func (g *graph) hasSources() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range g.jobs {
		for _, t := range j.tasks {
			if t.control != nil && j.err() == nil {
				return true
			}
		}
	}
	return false
}

func (g *graph) kick() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// cycle runs one epoch; g.mu is held. With pause the sources stay stopped at the
// barrier until resume, so that the structure may change.
func (g *graph) cycle(pause bool) error {
	g.qmu.Lock()
	ws := g.writes
	g.writes = nil
	g.qmu.Unlock()
	epoch := g.eng.nextEpoch()
	commit := &state.Commit{Epoch: epoch}
	ws = g.apply(ws, commit)
	bar := &exec.Barrier{Epoch: epoch, Pause: pause}
	n := 0
	for _, t := range g.tables {
		_ = t.fan.Barrier(bar)
	}
	for _, j := range g.jobs {
		n += len(j.tasks)
		for _, t := range j.tasks {
			if t.control != nil {
				_ = t.control.Send(exec.Message{Barrier: bar})
			}
		}
	}
	injected := time.Now()
	var parts []*contribution
	for range n {
		parts = append(parts, <-g.contributions)
	}
	g.noteSeal(time.Since(injected))
	g.spreadFailures()
	g.gather(parts, commit)
	start := time.Now()
	var err error
	if len(commit.Jobs)+len(commit.Rows)+len(commit.Meta)+len(commit.Sink) > 0 {
		err = g.eng.commit(commit)
	}
	g.lastCommit = time.Since(start)
	for _, w := range ws {
		w.done <- err
	}
	if err != nil {
		g.failAll(err)
		return err
	}
	g.epoch = epoch
	for _, j := range g.jobs {
		j.fresh = false
		if j.sink != nil {
			j.sink.kick()
		}
	}
	return nil
}

// sealsKept bounds the memory of recent seals.
const sealsKept = 4096

func (g *graph) noteSeal(d time.Duration) {
	g.lastSeal = d
	if len(g.seals) == sealsKept {
		g.seals = append(g.seals[:0], g.seals[sealsKept/2:]...)
	}
	g.seals = append(g.seals, d)
}

// gather adds the tasks' contributions, those of failed jobs left out.
func (g *graph) gather(parts []*contribution, c *state.Commit) {
	for _, p := range parts {
		j := p.task.job
		if j.err() != nil {
			continue
		}
		if p.jd != nil {
			c.Jobs = append(c.Jobs, *p.jd)
		}
		c.Rows = append(c.Rows, p.rows...)
		c.Meta = append(c.Meta, p.meta...)
		if p.sink != nil {
			c.Sink = append(c.Sink, *p.sink)
		}
	}
	for _, j := range g.jobs {
		if j.fresh && j.err() == nil {
			c.Meta = append(c.Meta, state.KV{Key: startedKey(j.id), Val: []byte{1}})
		}
		if err := j.err(); err != nil && !j.recorded {
			j.recorded = true
			c.Meta = append(c.Meta, state.KV{Key: failedKey(j.id), Val: []byte(err.Error())})
		}
	}
}

// spreadFailures fails every job that reads a failed one: it has missed changes.
func (g *graph) spreadFailures() {
	for again := true; again; {
		again = false
		for _, j := range g.jobs {
			if j.err() != nil {
				continue
			}
			for _, r := range j.rels {
				if up := g.jobs[r]; up != nil && up.err() != nil {
					j.fail(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s, which this reads, has failed", up.name))
					again = true
				}
			}
		}
	}
}

// failAll fails the jobs whose in-memory state is ahead of a failed commit.
func (g *graph) failAll(err error) {
	for _, j := range g.jobs {
		j.fail(err)
	}
}

// atRest runs f between two epochs with every source stopped at a barrier.
func (g *graph) atRest(f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.cycle(true); err != nil {
		return err
	}
	err := f()
	g.resume()
	return err
}

func (g *graph) resume() {
	for _, j := range g.jobs {
		for _, t := range j.tasks {
			if t.control != nil {
				_ = t.control.Send(exec.Message{Resume: true})
			}
		}
	}
}

// submit queues a write and waits for the commit of its epoch.
func (g *graph) submit(ctx context.Context, w *write) error {
	w.done = make(chan error, 1)
	for {
		g.qmu.Lock()
		next := g.into
		if next == nil {
			g.writes = append(g.writes, w)
		}
		g.qmu.Unlock()
		if next == nil {
			break
		}
		g = next
	}
	g.kick()
	select {
	case err := <-w.done:
		return err
	case <-g.eng.ctx.Done():
		return pgerr.New(pgerr.AdminShutdown, "the server is shutting down")
	}
}

func (g *graph) merged() *graph {
	g.qmu.Lock()
	defer g.qmu.Unlock()
	return g.into
}

func (g *graph) stop() {
	close(g.quit)
	<-g.stopped
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range g.jobs {
		j.stop()
	}
}
