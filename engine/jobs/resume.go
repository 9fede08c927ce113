package jobs

import (
	"context"

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

// Resume starts the failed job of o again. If it had to be built anew, what was kept of
// it is returned. Runner.DDL is held.
func (e *Runner) Resume(ctx context.Context, o catalog.Object) (kept *Keeping, err error) {
	j := e.JobOf(o.Header().OID)
	if j == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a materialized view or sink", o.Header().Name)
	}
	if j.Err() == nil {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s \"%s\" has not failed", o.Kind(), o.Header().Name).
			WithHint("SHOW JOBS tells how it is.")
	}
	is, err := e.buildJob(o, j.Sink)
	if err != nil {
		return nil, err // as it has failed before
	}
	is.cancel()
	for _, r := range is.rels {
		if up := e.JobOf(r); up != nil && up.Err() != nil {
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
			return e.Replace(ctx, v, catalog.Clone(v).(*catalog.MatView))
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
func (e *Runner) fits(j *Job) (bool, error) {
	print, started, err := e.Store.MetaGet(StartedKey(j.store))
	return started && string(print) == string(j.print), err
}

// resumeFromState starts j again from its last committed epoch, and with it the jobs
// that failed because they read it.
func (e *Runner) resumeFromState(ctx context.Context, j *Job) error {
	for {
		g := j.Graph()
		if g == nil {
			return stage.RelationGone(j.ID)
		}
		err := g.AtRest(ctx, func() error {
			was := g.jobs[j.ID]
			if was == nil || was.Err() == nil || was.gone.Load() {
				return stage.RelationGone(j.ID)
			}
			if err := g.restore(append([]*Job{was}, g.stoppedBy(was)...)); err != nil {
				return err
			}
			return g.jobs[j.ID].Err()
		})
		if err != ErrMerged {
			return err
		}
	}
}

// stoppedBy returns the jobs, upstream ones first, that failed because j has and read
// nothing else, so that they stand where it does.
func (g *Graph) stoppedBy(j *Job) (stopped []*Job) {
	if j.Err() == nil {
		return nil
	}
	in := map[uint32]*Job{j.ID: j}
	for _, o := range g.eng.jobObjects() {
		d := g.jobs[o.Header().OID]
		if d == nil || in[d.ID] != nil || d.Err() == nil || d.gone.Load() || len(d.rels) == 0 {
			continue
		}
		only, because := true, false
		for _, r := range d.rels {
			up := in[r]
			only = only && up != nil
			because = because || up != nil && pgerr.From(d.Err()).Msg == pgerr.From(upstreamFailed(up)).Msg
		}
		if only && because {
			stopped, in[d.ID] = append(stopped, d), d
		}
	}
	return stopped
}

// restore puts new jobs, with the state of the last committed epoch, in the place of
// failed ones, upstream ones first. The graph is at rest.
func (g *Graph) restore(failed []*Job) error {
	e := g.eng
	if len(failed) == 0 {
		return nil
	}
	c := &state.Commit{Epoch: e.NextEpoch()}
	for _, j := range failed {
		c.Meta = append(c.Meta, state.KV{Key: FailedKey(j.store)})
	}
	if err := e.Commit(c); err != nil {
		return err
	}
	snap := e.Catalog.Current()
	for _, was := range failed {
		was.halt()
		if !was.await(HaltWait) {
			e.Log.Warn("a task did not end and is left behind", "job", was.Name())
		}
		o := snap.ByOID(was.ID)
		if o == nil {
			continue
		}
		j := e.successor(o, was)
		j.restarts = restarts{}
		g.jobs[j.ID] = j
		if fits, err := e.fits(j); j.Err() == nil && (err != nil || !fits) {
			j.fail(otherPlan(j))
			j.halt()
		}
		if j.Err() == nil {
			g.assemble(j)
		}
		if !e.replaceJob(was, j) {
			j.gone.Store(true)
			j.halt()
			delete(g.jobs, j.ID)
			continue
		}
		if was.Sink == nil && j.Sink != nil { // it could not be set up until now
			j.Sink.start()
		}
		j.start()
	}
	return nil
}

// otherPlan is why a job whose state is not of its plan fails.
func otherPlan(j *Job) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the state of %s was written for another query plan, by another version of the server", j.Name()).
		WithHint("Its rows are as of its last epoch. Resume it to bring it up to date: it is built anew.")
}
