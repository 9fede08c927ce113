package engine

import (
	"maps"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
)

// retirement ends objects together with a commit: what runs for them goes on as before
// if the commit fails, and if it does not, nothing that they have done since is ever
// committed. The graphs of the objects commit nothing meanwhile, but they are not at
// rest: a job that is stuck holds nobody up. Engine.ddl is held.
//
// The delivery of sinks is the one thing that stops beforehand, since what it has
// delivered it takes out of the log that the commit drops; it starts again after a
// commit that fails.
type retirement struct {
	eng   *Runner
	oids  []uint32
	sinks []*sinkJob // whose delivery was stopped
	gone  []*job
}

// retire runs a commit in which objects end.
func (e *Runner) retire(oids []uint32, commit func() error) error {
	r := e.newRetirement(oids)
	err := r.run(nil, commit)
	r.end(err)
	return err
}

func (e *Runner) newRetirement(oids []uint32) *retirement {
	r := &retirement{eng: e, oids: oids}
	for _, oid := range oids {
		if j := e.jobOf(oid); j != nil && j.sink != nil && j.sink.close() {
			r.sinks = append(r.sinks, j.sink)
		}
	}
	return r
}

// run runs the commit and cuts off what runs for the objects. committing, unless nil,
// is the graph whose commit this is part of.
func (r *retirement) run(committing *graph, commit func() error) error {
	held := r.hold(committing)
	err := commit()
	if err == nil {
		r.unhook()
	}
	for g := range held {
		g.commitMu.Unlock()
	}
	return err
}

// end does what takes time: it waits for what was cut off, or starts again what was
// stopped, if there was an error.
func (r *retirement) end(err error) {
	if err != nil {
		for _, s := range r.sinks {
			s.start()
		}
		return
	}
	for _, j := range r.gone {
		if !j.await(haltWait) {
			r.eng.log.Warn("a task did not end and is left behind", "job", j.name())
		}
	}
}

// hold keeps the graphs of the objects from committing. An object does not leave a
// graph that is held. Nobody else holds several graphs at a time, nor waits for one
// while holding another.
func (r *retirement) hold(committing *graph) map[*graph]bool {
	for {
		gs := r.graphs()
		delete(gs, committing)
		for g := range gs {
			g.commitMu.Lock()
		}
		now := r.graphs()
		delete(now, committing)
		if maps.Equal(gs, now) {
			return gs
		}
		for g := range gs {
			g.commitMu.Unlock()
		}
	}
}

func (r *retirement) graphs() map[*graph]bool {
	r.eng.mu.RLock()
	defer r.eng.mu.RUnlock()
	gs := map[*graph]bool{}
	for _, oid := range r.oids {
		if g := r.eng.graphOf[oid]; g != nil {
			gs[g] = true
		}
	}
	return gs
}

// unhook makes the objects unknown and halts their jobs. Graphs of which nothing is
// left end.
func (r *retirement) unhook() {
	e := r.eng
	from := r.graphs()
	var replacing []*replacement
	e.mu.Lock()
	for _, oid := range r.oids {
		if j := e.jobs[oid]; j != nil {
			j.gone.Store(true)
			r.gone = append(r.gone, j)
		}
		if x := e.replacing[oid]; x != nil {
			replacing = append(replacing, x)
		}
		delete(e.jobs, oid)
		delete(e.sources, oid)
		delete(e.graphOf, oid)
	}
	living := map[*graph]bool{}
	for _, g := range e.graphOf {
		living[g] = true
	}
	e.mu.Unlock()
	for _, x := range replacing {
		x.job.end(pgerr.New(pgerr.QueryCanceled, "\"%s\" was dropped while it was being replaced", x.old.Name))
		x.job.halt()
	}
	for _, j := range r.gone {
		j.end(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s was dropped", j.name()))
		j.halt()
	}
	for g := range from {
		if !living[g] {
			g.end()
		}
		g.poke()
		g.kick()
	}
}

// leave takes jobs out of the graph for a turn that is to end them, so that they have
// no part in it. The graph is at rest.
func (g *graph) leave(oids []uint32) []*job {
	var left []*job
	for _, oid := range oids {
		if j := g.jobs[oid]; j != nil {
			j.halt()
			delete(g.jobs, oid)
			left = append(left, j)
		}
	}
	return left
}

// comeBack undoes leave: when the graph is next taken back to its last epoch, the jobs
// are built again like all others.
func (g *graph) comeBack(left []*job) {
	for _, j := range left {
		g.jobs[j.id] = j
	}
}

func oidsOf(os []catalog.Object) []uint32 {
	oids := make([]uint32, len(os))
	for i, o := range os {
		oids[i] = o.Header().OID
	}
	return slices.Clip(oids)
}
