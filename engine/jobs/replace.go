package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
)

// CREATE OR REPLACE MATERIALIZED VIEW (RFC 4) builds the new view beside the one
// that runs, under an id of its own, in a graph of its own. With the graph of the
// old one at rest, one epoch then changes everything in one commit: the catalog
// names the new id, who reads the view gets the difference of its contents as
// changes, and what was kept for the old view goes. Before that commit the old
// view is there, after it the new one.

// replacement is a view that is to take the place of another.
type replacement struct {
	eng   *Runner
	old   *catalog.MatView // as it is in the catalog
	view  *catalog.MatView
	job   *Job
	catch *backfill
	label string // what the job is called until then
	print string // of the plan
}

// Replace makes v take the place of old, and returns what was kept of that. Runner.DDL is
// held, and let go while the new view catches up.
func (e *Runner) Replace(ctx context.Context, old, v *catalog.MatView) (*Keeping, error) {
	v.Head = old.Head
	for i := range v.Columns {
		if k := catalog.ColumnIndex(old.Columns, v.Columns[i].Name); k >= 0 {
			v.Columns[i].Comment = old.Columns[k].Comment
		}
	}
	v.Store = e.Catalog.AllocOID()
	r, err := e.newReplacement(old, v)
	if err != nil {
		return nil, err
	}
	e.DDL.Unlock()
	err = r.build(ctx)
	e.DDL.Lock()
	if err == nil {
		err = r.swap(ctx)
	}
	r.catch.release()
	r.catch.fork.end()
	e.mu.Lock()
	delete(e.replacing, old.OID)
	e.mu.Unlock()
	if err != nil {
		r.undo(err)
		return nil, err
	}
	return r.catch.fork.keep, nil
}

// How long a replacement waits for kept sources that come no nearer to where the old
// view is: while everything goes on, and while writers are held.
const (
	sourcePatience = 5 * time.Second
	restPatience   = 200 * time.Millisecond
)

// newReplacement checks that v can take the place of old, and makes its job.
func (e *Runner) newReplacement(old, v *catalog.MatView) (*replacement, error) {
	e.mu.RLock()
	busy := e.replacing[old.OID] != nil
	e.mu.RUnlock()
	if busy {
		return nil, pgerr.New(pgerr.ObjectInUse, "materialized view \"%s\" is being replaced already", old.Name).
			WithHint("SHOW JOBS tells how far that is.")
	}
	if err := e.Readable(old.OID); err != nil {
		return nil, err
	}
	if err := e.settle(e.Catalog.Current(), old, v); err != nil {
		return nil, err
	}
	print, err := e.PlanPrint(e.Catalog.Current(), v)
	if err != nil {
		return nil, err
	}
	j, err := e.buildJob(v, nil)
	if err != nil {
		return nil, err
	}
	if err := e.Readable(j.rels...); err != nil {
		j.cancel()
		return nil, err
	}
	r := &replacement{eng: e, old: old, view: v, job: j, label: JobName(v) + " (replacement)", print: print}
	j.label.Store(&r.label)
	j.fresh = true
	j.creating.Store(true)
	c := &state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: creatingKey(v.Store), Val: []byte(r.label)}}}
	if err := e.Commit(c); err != nil {
		j.cancel()
		return nil, err
	}
	r.catch = newBackfill(j, e.buildingGraph(j), old.OID)
	r.catch.fork = &fork{eng: e, old: old, view: v, job: j, label: r.label}
	j.own.Store(r.catch.own)
	e.mu.Lock()
	e.replacing[old.OID] = r
	e.mu.Unlock()
	return r, nil
}

// build brings the new view nearly up to date, with one graph for all that it and
// the old one read.
func (r *replacement) build(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { r.job.end(Canceled(ctx)); r.job.halt() })
	_, err := r.eng.GraphFor(ctx, append([]uint32{r.old.OID}, r.job.rels...))
	if err == nil {
		err = r.catch.catchUp(ctx)
	}
	if err == nil {
		err = r.catch.fork.catchUp(ctx, sourcePatience, r.catch.epoch)
	}
	if !stop() && err == nil {
		err = Canceled(ctx)
	}
	if err != nil && r.job.Err() != nil {
		err = r.job.Err()
	}
	return err
}

// swap puts the new view in the place of the old one. Runner.DDL is held.
func (r *replacement) swap(ctx context.Context) error {
	defer r.catch.stopRecording()
	if _, err := r.eng.GraphFor(ctx, append([]uint32{r.old.OID}, r.job.rels...)); err != nil {
		return err
	}
	return r.catch.atRest(ctx, func(up *Graph) error {
		// The old job reads no further, so that the new one comes at least as far.
		if err := r.catch.fork.catchUp(ctx, restPatience, r.catch.epoch); err != nil {
			return err
		}
		if err := r.catch.finish(up); err != nil {
			return err
		}
		p, err := r.plan()
		if err != nil {
			return err
		}
		return r.turn(up, p)
	})
}

// plan checks again, after the time of catching up, what depends on the view.
func (r *replacement) plan() (*swapPlan, error) {
	snap := r.eng.Catalog.Current()
	if snap.ByOID(r.old.OID) != catalog.Object(r.old) {
		return nil, pgerr.New(pgerr.SerializationFailure, "materialized view \"%s\" was changed while it was being replaced", r.old.Name).WithHint("Try again.")
	}
	is, err := r.eng.PlanPrint(snap, r.view)
	if err != nil || is != r.print {
		return nil, pgerr.New(pgerr.SerializationFailure, "what the new query of materialized view \"%s\" reads was changed meanwhile", r.old.Name).WithHint("Try again.")
	}
	return r.eng.planSwap(snap, r.old, r.view)
}

// turn connects the new job in the place of the old one and runs the epoch that
// makes it so. The graph and the new job are at rest.
func (r *replacement) turn(up *Graph, p *swapPlan) error {
	if up.jobs[r.old.OID] == nil {
		return stage.RelationGone(r.old.OID)
	}
	stopped := up.stoppedBy(up.jobs[r.old.OID])
	extra, refilled, err := r.commitOf(p)
	if err != nil {
		return err
	}
	was := map[uint32]*Job{}
	take := func(j *Job) {
		was[j.ID] = up.jobs[j.ID]
		was[j.ID].halt()
		up.jobs[j.ID] = j
	}
	take(r.job)
	r.job.own.Store(nil)
	r.catch.closeFeeds()
	up.connect(r.job)
	// What the failure of the old view has stopped stands where that does, and gets the
	// difference as all readers do.
	err = up.restore(slices.DeleteFunc(stopped, func(j *Job) bool { return refilled[j.ID] != nil }))
	if err == nil && r.relink(up, refilled) {
		err = r.difference(r.job.fans[0].Send)
	}
	for _, ix := range refilled {
		take(ix)
		up.connect(ix)
		ix.start()
	}
	if err == nil {
		err = up.TakeTurn(&Turn{Extra: extra, Around: func(commit func() error) error { return r.publish(up, p, was, commit) }})
	}
	if err != nil {
		r.back(up, was)
		return err
	}
	up.kick()
	r.retire(was)
	return nil
}

// relink makes everything that reads the old view read the new one, but for the
// indexes that are filled anew, and reports whether there is any.
func (r *replacement) relink(up *Graph, refilled map[uint32]*Job) (any bool) {
	oid := r.old.OID
	for id, d := range up.jobs {
		if d == r.job || refilled[id] != nil || d.isHalted() {
			continue
		}
		gone := d.unlink(oid)
		if len(gone) > 0 {
			any = true
			up.connectScans(d, []uint32{oid})
		}
		for _, l := range gone {
			l.in.Disconnect(l.edge)
		}
	}
	for c, rel := range up.captures {
		if rel == oid && !c.closed() {
			any = true
			for _, f := range r.job.fans {
				f.Add(c)
			}
		}
	}
	return any
}

// publish runs the commit and then shows the new catalog; readers that come
// meanwhile wait for both.
func (r *replacement) publish(up *Graph, p *swapPlan, was map[uint32]*Job, commit func() error) error {
	e := r.eng
	return e.Swap(func() error {
		if err := commit(); err != nil {
			return err
		}
		e.Catalog.Publish(p.next)
		name := JobName(r.view)
		r.job.label.Store(&name)
		r.job.creating.Store(false)
		e.mu.Lock()
		for id := range was {
			e.jobs[id] = up.jobs[id]
		}
		e.mu.Unlock()
		return nil
	})
}

// back takes the graph to its last epoch, with the old jobs.
func (r *replacement) back(up *Graph, was map[uint32]*Job) {
	r.job.halt()
	for id, j := range was {
		up.jobs[id].cancel()
		up.jobs[id].halt()
		up.jobs[id] = j
	}
	for _, j := range up.jobs {
		j.again = j.again || j.Err() != nil && !j.recorded
	}
	if !up.over() {
		up.Rebuild()
	}
}

// retire ends the jobs that were replaced.
func (r *replacement) retire(was map[uint32]*Job) {
	for _, j := range was {
		j.gone.Store(true)
		j.end(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s was replaced", j.Name()))
		if !j.await(HaltWait) {
			r.eng.Log.Warn("a task did not end and is left behind", "job", j.Name())
		}
	}
}

// commitOf is what is committed with the epoch of the swap besides what the jobs
// did in it, and the jobs of the indexes that are filled anew.
func (r *replacement) commitOf(p *swapPlan) (*state.Commit, map[uint32]*Job, error) {
	e := r.eng
	c := &state.Commit{Meta: []state.KV{{Key: creatingKey(r.view.Store)}}}
	_, entries, err := e.Catalog.Current().Apply(p.changes...)
	if err != nil {
		return nil, nil, err
	}
	c.Meta = append(c.Meta, CatalogKV(entries)...)
	e.dropStore(c, catalog.StoreID(r.old))
	if err := e.moveErrors(c, r.job.errors, JobName(r.old), ""); err != nil {
		return nil, nil, err
	}
	if err := e.moveErrors(c, r.job.errors, r.label, JobName(r.view)); err != nil {
		return nil, nil, err
	}
	jobs := map[uint32]*Job{}
	for _, ix := range p.refill {
		if e.JobOf(ix.OID) == nil {
			continue
		}
		if jobs[ix.OID], err = e.buildJobIn(p.next, ix, nil); err != nil {
			return nil, nil, err
		}
		jobs[ix.OID].fresh = true
		e.dropStore(c, ix.OID)
		if err := r.fill(c, p.next, ix); err != nil {
			return nil, nil, err
		}
	}
	return c, jobs, nil
}

// undo removes all that was made for a replacement that did not come to be. If
// even that fails, the next start does it.
func (r *replacement) undo(err error) {
	e := r.eng
	r.job.end(err)
	r.job.halt()
	own := r.catch.own
	own.end()
	own.poke()
	own.commitMu.Lock()
	own.commitMu.Unlock() //nolint:staticcheck // only waits
	if !r.job.await(HaltWait) {
		e.Log.Warn("a task did not end and is left behind", "job", r.label)
	}
	if e.Ctx.Err() != nil {
		return
	}
	c := &state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: creatingKey(r.view.Store)}}}
	e.dropStore(c, r.view.Store)
	err = e.moveErrors(c, r.job.errors, r.label, "")
	if err == nil {
		err = e.Commit(c)
	}
	if err != nil {
		e.Log.Error("could not remove what was made to replace a view; the next start does", "view", JobName(r.old), "err", err)
	}
}
