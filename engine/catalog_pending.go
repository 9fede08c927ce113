package engine

import (
	"context"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// createJob makes a materialized view, sink or index: at once, or as part of the
// transaction, where it is built after the commit (see startPending), so that all that
// can be known to be wrong with it is said now.
func (s *Session) createJob(ctx context.Context, o catalog.Object) error {
	if s.tx.ddl == nil {
		return s.eng.createJob(ctx, o)
	}
	if err := s.eng.readable(o.Dependencies()...); err != nil {
		return err
	}
	if err := s.changeCatalog(catalog.Change{Create: o}); err != nil {
		return err
	}
	ix, ok := o.(*catalog.Index)
	if !ok {
		_, err := s.eng.streamOf(s.catalog(), o)
		return err
	}
	t, ok := s.snapshot().ByOID(ix.Table).(*catalog.Table)
	if !ok {
		return nil
	}
	b, err := stage.NewIndexBuild(s.snapshot(), t, ix)
	if err != nil {
		return err
	}
	r := s.newRun(ctx)
	defer r.close()
	return r.visible(t, b.Add)
}

// scanPending reads a materialized view that the transaction has made: by its query.
func (r *run) scanPending(s *plan.Scan, v *catalog.MatView, f func(*vec.Chunk) error) error {
	q, err := planner.ParseQuery(v.Query)
	if err != nil {
		return err
	}
	p, err := (&planner.Planner{Cat: r.cat, Session: r.s.eng.frozenSession(v.SearchPath, v.Settings)}).PlanQuery(q)
	if err != nil {
		return err
	}
	rows, err := r.collect(p.Root)
	if err != nil || rows.Rows == 0 {
		return err
	}
	return narrowed(s, f)(rows)
}

// pendingKey marks a job of a committed transaction that has not caught up yet. The
// next start begins it anew.
func pendingKey(oid uint32) []byte { return append([]byte("pending/"), objectID(oid)...) }

// addPending builds the jobs of a transaction that has been committed, those that
// others read first, so that from here on they are known to be incomplete.
func (e *Runner) addPending(os []catalog.Object) []*job {
	var js []*job
	for _, o := range os {
		j, err := e.buildJob(o, nil)
		if err != nil {
			j = e.brokenJob(o, err)
		}
		j.fresh = true
		j.creating.Store(true)
		e.register(j)
		js = append(js, j)
	}
	return js
}

// startPending brings jobs up that addPending has made. One that cannot be brought up
// is left as failed: what has been committed stays.
func (e *Runner) startPending(js []*job, done func(j *job, err error)) {
	for _, j := range js {
		err := j.err()
		if err == nil {
			err = e.startJob(e.ctx, j)
		}
		if e.ctx.Err() != nil {
			return
		}
		done(j, e.settlePending(j, err))
	}
}

// settlePending commits that a job is up, or has failed to come up; nil if it was
// dropped meanwhile.
func (e *Runner) settlePending(j *job, err error) error {
	e.ddl.Lock()
	defer e.ddl.Unlock()
	o := e.cat.Current().ByOID(j.id)
	if o == nil || e.ctx.Err() != nil {
		return nil
	}
	e.mu.RLock()
	now := e.jobs[j.id] // another one, if the graph has gone back meanwhile
	e.mu.RUnlock()
	if err == nil {
		err = e.commit(&state.Commit{Epoch: e.nextEpoch(), Meta: []state.KV{{Key: pendingKey(j.id)}}})
	}
	if err == nil {
		now.creating.Store(false)
		if now.sink != nil {
			now.sink.start()
		}
		return nil
	}
	_ = e.retire([]uint32{j.id}, func() error {
		c := &state.Commit{Epoch: e.nextEpoch()}
		e.dropStore(c, j.store)
		c.Meta = append(c.Meta, state.KV{Key: pendingKey(j.id)}, state.KV{Key: failedKey(j.store), Val: []byte(pgerr.From(err).Msg)})
		if lost := e.commit(c); lost != nil {
			e.log.Error("that a job has failed was not recorded", "job", j.name(), "err", lost)
		}
		return nil // it has failed in any case
	})
	b := e.brokenJob(o, err)
	b.recorded, b.rels = true, j.rels
	if lost := e.placeBroken(b); lost != nil {
		e.log.Error("a failed job can only be resumed after a restart", "job", j.name(), "err", lost)
	}
	e.log.Error("a job of a committed transaction did not come up", "job", j.name(), "err", err)
	return err
}

// placeBroken makes a failed job part of the graph of what it reads, or of one of its
// own.
func (e *Runner) placeBroken(b *job) error {
	place := func(g *graph) error {
		g.jobs[b.id] = b
		e.setGraph(b.id, g)
		e.mu.Lock()
		e.jobs[b.id] = b
		e.mu.Unlock()
		return nil
	}
	if len(b.rels) > 0 {
		return e.tableAtRest(e.ctx, b.rels[0], place)
	}
	g := e.newGraph()
	defer func() { go g.run() }()
	return place(g)
}

// pendingObjects are the jobs of committed transactions that have not caught up.
func (e *Runner) pendingObjects() (map[uint32]bool, error) {
	out := map[uint32]bool{}
	err := e.store.MetaScan([]byte("pending/"), func(k, _ []byte) error {
		out[parseObjectID(k[len("pending/"):])] = true
		return nil
	})
	return out, err
}

// restartPending forgets what pending jobs have stored and begins them anew, in the
// background.
func (e *Runner) restartPending(os []catalog.Object) error {
	if len(os) == 0 {
		return nil
	}
	c := &state.Commit{Epoch: e.nextEpoch()}
	for _, o := range os {
		e.dropStore(c, catalog.StoreID(o))
	}
	if err := e.commit(c); err != nil {
		return err
	}
	js := e.addPending(os)
	go e.startPending(js, func(*job, error) {})
	return nil
}

// inOrder returns those of the jobs' objects that are wanted, dependencies first.
func (e *Runner) inOrder(wanted map[uint32]bool) []catalog.Object {
	return slices.DeleteFunc(e.jobObjects(), func(o catalog.Object) bool { return !wanted[o.Header().OID] })
}
