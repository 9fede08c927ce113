package jobs

import (
	"maps"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
)

// Retirement ends objects together with a commit: what runs for them goes on as before
// if the commit fails, and if it does not, nothing that they have done since is ever
// committed. The graphs of the objects commit nothing meanwhile, but they are not at
// rest: a job that is stuck holds nobody up. Runner.DDL is held.
//
// The delivery of sinks is the one thing that stops beforehand, since what it has
// delivered it takes out of the log that the commit drops; it starts again after a
// commit that fails.
type Retirement struct {
	eng   *Runner
	OIDs  []uint32
	sinks []*sinkJob // whose delivery was stopped
	gone  []*Job
}

// Retire runs a commit in which objects end.
func (e *Runner) Retire(oids []uint32, commit func() error) error {
	r := e.NewRetirement(oids)
	err := r.Run(nil, commit)
	r.End(err)
	return err
}

// NewRetirement stops the delivery of those of the objects that are sinks.
func (e *Runner) NewRetirement(oids []uint32) *Retirement {
	r := &Retirement{eng: e, OIDs: oids}
	for _, oid := range oids {
		if j := e.JobOf(oid); j != nil && j.Sink != nil && j.Sink.close() {
			r.sinks = append(r.sinks, j.Sink)
		}
	}
	return r
}

// Run runs the commit and cuts off what runs for the objects. committing, unless nil,
// is the graph whose commit this is part of.
func (r *Retirement) Run(committing *Graph, commit func() error) error {
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

// End does what takes time: it waits for what was cut off, or starts again what was
// stopped, if there was an error.
func (r *Retirement) End(err error) {
	if err != nil {
		for _, s := range r.sinks {
			s.start()
		}
		return
	}
	for _, j := range r.gone {
		if !j.await(HaltWait) {
			r.eng.Log.Warn("a task did not end and is left behind", "job", j.Name())
		}
	}
}

// hold keeps the graphs of the objects from committing. An object does not leave a
// graph that is held. Nobody else holds several graphs at a time, nor waits for one
// while holding another.
func (r *Retirement) hold(committing *Graph) map[*Graph]bool {
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

func (r *Retirement) graphs() map[*Graph]bool {
	r.eng.mu.RLock()
	defer r.eng.mu.RUnlock()
	gs := map[*Graph]bool{}
	for _, oid := range r.OIDs {
		if g := r.eng.graphOf[oid]; g != nil {
			gs[g] = true
		}
	}
	return gs
}

// unhook makes the objects unknown and halts their jobs. Graphs of which nothing is
// left end.
func (r *Retirement) unhook() {
	e := r.eng
	from := r.graphs()
	var replacing []*replacement
	e.mu.Lock()
	for _, oid := range r.OIDs {
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
	living := map[*Graph]bool{}
	for _, g := range e.graphOf {
		living[g] = true
	}
	e.mu.Unlock()
	for _, x := range replacing {
		x.job.end(pgerr.New(pgerr.QueryCanceled, "\"%s\" was dropped while it was being replaced", x.old.Name))
		x.job.halt()
	}
	for _, j := range r.gone {
		j.end(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s was dropped", j.Name()))
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

// Leave takes jobs out of the graph for a turn that is to end them, so that they have
// no part in it. The graph is at rest.
func (g *Graph) Leave(oids []uint32) []*Job {
	var left []*Job
	for _, oid := range oids {
		if j := g.jobs[oid]; j != nil {
			j.halt()
			delete(g.jobs, oid)
			left = append(left, j)
		}
	}
	return left
}

// ComeBack undoes leave: when the graph is next taken back to its last epoch, the jobs
// are built again like all others.
func (g *Graph) ComeBack(left []*Job) {
	for _, j := range left {
		g.jobs[j.ID] = j
	}
}

// OIDsOf are the OIDs of objects, in their order.
func OIDsOf(os []catalog.Object) []uint32 {
	oids := make([]uint32, len(os))
	for i, o := range os {
		oids[i] = o.Header().OID
	}
	return slices.Clip(oids)
}
