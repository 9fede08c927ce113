package engine

import (
	"context"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
)

// ALTER MATERIALIZED VIEW … RESUME and ALTER SINK … RESUME start a failed job again.
// One that reads sources alone goes on from its last committed epoch, with its state
// and the offsets that belong to it. Changes of tables and views are not kept for
// failed jobs, so a view that reads these is built anew and takes its own place, as if
// it were replaced by the same query; a sink cannot, since nobody knows what those who
// read its topic have missed. What has failed for no other reason than that it reads
// the job stands where that does, and goes on with it.

// resume starts the failed job of o again. Engine.ddl is held.
func (s *Session) resume(ctx context.Context, o catalog.Object) error {
	kept, err := s.eng.resume(ctx, o)
	if err != nil {
		return err
	}
	if kept != nil {
		s.tellKept(kept)
	}
	s.tellFailed(o.Header().OID)
	return nil
}

// resume starts the failed job of o again. If it had to be built anew, what was kept of
// it is returned. Engine.ddl is held.
func (e *Runner) resume(ctx context.Context, o catalog.Object) (kept *keeping, err error) {
	j := e.jobOf(o.Header().OID)
	if j == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a materialized view or sink", o.Header().Name)
	}
	if j.err() == nil {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s \"%s\" has not failed", o.Kind(), o.Header().Name).
			WithHint("SHOW JOBS tells how it is.")
	}
	is, err := e.buildJob(o, j.sink)
	if err != nil {
		return nil, err // as it has failed before
	}
	is.cancel()
	for _, r := range is.rels {
		if up := e.jobOf(r); up != nil && up.err() != nil {
			return nil, pgerr.From(upstreamFailed(up)).WithHint("Resume it first: what it has stopped goes on with it.")
		}
	}
	goesOn, err := e.fits(is)
	if err != nil {
		return nil, err
	}
	goesOn = goesOn && len(is.rels) == 0
	switch v := o.(type) {
	case *catalog.MatView:
		if !goesOn {
			return e.replace(ctx, v, catalog.Clone(v).(*catalog.MatView))
		}
		err = e.resumeFromState(ctx, j)
	case *catalog.Sink:
		if !goesOn {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sink \"%s\" cannot be resumed, since changes of what it reads have passed it by", v.Name).
				WithHint("Drop it and create it again: its first epoch then holds all rows.")
		}
		err = e.resumeFromState(ctx, j)
	}
	return nil, err
}

// fits reports whether there is state for a job, and it is of the job's plan.
func (e *Runner) fits(j *job) (bool, error) {
	print, started, err := e.store.MetaGet(startedKey(j.store))
	return started && string(print) == string(j.print), err
}

// resumeFromState starts j again from its last committed epoch, and with it the jobs
// that failed because they read it.
func (e *Runner) resumeFromState(ctx context.Context, j *job) error {
	for {
		g := j.graph()
		if g == nil {
			return stage.RelationGone(j.id)
		}
		err := g.atRest(ctx, func() error {
			was := g.jobs[j.id]
			if was == nil || was.err() == nil || was.gone.Load() {
				return stage.RelationGone(j.id)
			}
			if err := g.restore(append([]*job{was}, g.stoppedBy(was)...)); err != nil {
				return err
			}
			return g.jobs[j.id].err()
		})
		if err != errMerged {
			return err
		}
	}
}

// stoppedBy returns the jobs, upstream ones first, that failed because j has and read
// nothing else, so that they stand where it does.
func (g *graph) stoppedBy(j *job) (stopped []*job) {
	if j.err() == nil {
		return nil
	}
	in := map[uint32]*job{j.id: j}
	for _, o := range g.eng.jobObjects() {
		d := g.jobs[o.Header().OID]
		if d == nil || in[d.id] != nil || d.err() == nil || d.gone.Load() || len(d.rels) == 0 {
			continue
		}
		only, because := true, false
		for _, r := range d.rels {
			up := in[r]
			only = only && up != nil
			because = because || up != nil && pgerr.From(d.err()).Msg == pgerr.From(upstreamFailed(up)).Msg
		}
		if only && because {
			stopped, in[d.id] = append(stopped, d), d
		}
	}
	return stopped
}

// restore puts new jobs, with the state of the last committed epoch, in the place of
// failed ones, upstream ones first. The graph is at rest.
func (g *graph) restore(failed []*job) error {
	e := g.eng
	if len(failed) == 0 {
		return nil
	}
	c := &state.Commit{Epoch: e.nextEpoch()}
	for _, j := range failed {
		c.Meta = append(c.Meta, state.KV{Key: failedKey(j.store)})
	}
	if err := e.commit(c); err != nil {
		return err
	}
	snap := e.cat.Current()
	for _, was := range failed {
		was.halt()
		if !was.await(haltWait) {
			e.log.Warn("a task did not end and is left behind", "job", was.name())
		}
		o := snap.ByOID(was.id)
		if o == nil {
			continue
		}
		j := e.successor(o, was)
		j.restarts = restarts{}
		g.jobs[j.id] = j
		if fits, err := e.fits(j); j.err() == nil && (err != nil || !fits) {
			j.fail(otherPlan(j))
			j.halt()
		}
		if j.err() == nil {
			g.assemble(j)
		}
		if !e.replaceJob(was, j) {
			j.gone.Store(true)
			j.halt()
			delete(g.jobs, j.id)
			continue
		}
		if was.sink == nil && j.sink != nil { // it could not be set up until now
			j.sink.start()
		}
		j.start()
	}
	return nil
}

// otherPlan is why a job whose state is not of its plan fails.
func otherPlan(j *job) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the state of %s was written for another query plan, by another version of the server", j.name()).
		WithHint("Its rows are as of its last epoch. Resume it to bring it up to date: it is built anew.")
}

// tellFailed says which jobs that read an object are still failed.
func (s *Session) tellFailed(oid uint32) {
	var names []string
	for _, o := range s.eng.cat.Current().DropOrder(oid) {
		j := s.eng.jobOf(o.Header().OID)
		if _, index := o.(*catalog.Index); !index && j != nil && o.Header().OID != oid && j.err() != nil {
			names = append(names, o.Kind().String()+" "+j.name())
		}
	}
	if len(names) > 0 {
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "what reads it is still failed: %s", strings.Join(names, ", ")).
			WithHint("Resume each of them, those that read others last."))
	}
}
