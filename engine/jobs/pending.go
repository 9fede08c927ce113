package jobs

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
)

// PendingKey marks a job of a committed transaction that has not caught up yet. The
// next start begins it anew.
func PendingKey(oid uint32) []byte { return append([]byte("pending/"), objectID(oid)...) }

// AddPending builds the jobs of a transaction that has been committed, those that
// others read first, so that from here on they are known to be incomplete.
func (e *Runner) AddPending(os []catalog.Object) []*Job {
	var js []*Job
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

// StartPending brings jobs up that AddPending has made. One that cannot be brought up
// is left as failed: what has been committed stays.
func (e *Runner) StartPending(js []*Job, done func(j *Job, err error)) {
	for _, j := range js {
		err := j.Err()
		if err == nil {
			err = e.startJob(e.Ctx, j)
		}
		if e.Ctx.Err() != nil {
			return
		}
		done(j, e.settlePending(j, err))
	}
}

// settlePending commits that a job is up, or has failed to come up; nil if it was
// dropped meanwhile.
func (e *Runner) settlePending(j *Job, err error) error {
	e.DDL.Lock()
	defer e.DDL.Unlock()
	o := e.Catalog.Current().ByOID(j.ID)
	if o == nil || e.Ctx.Err() != nil {
		return nil
	}
	e.mu.RLock()
	now := e.jobs[j.ID] // another one, if the graph has gone back meanwhile
	e.mu.RUnlock()
	if err == nil {
		err = e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: PendingKey(j.ID)}}})
	}
	if err == nil {
		now.creating.Store(false)
		if now.Sink != nil {
			now.Sink.start()
		}
		return nil
	}
	_ = e.Retire([]uint32{j.ID}, func() error {
		c := &state.Commit{Epoch: e.NextEpoch()}
		e.dropStore(c, j.store)
		c.Meta = append(c.Meta, state.KV{Key: PendingKey(j.ID)}, state.KV{Key: FailedKey(j.store), Val: []byte(pgerr.From(err).Msg)})
		if lost := e.Commit(c); lost != nil {
			e.Log.Error("that a job has failed was not recorded", "job", j.Name(), "err", lost)
		}
		return nil // it has failed in any case
	})
	b := e.brokenJob(o, err)
	b.recorded, b.rels = true, j.rels
	if lost := e.placeBroken(b); lost != nil {
		e.Log.Error("a failed job can only be resumed after a restart", "job", j.Name(), "err", lost)
	}
	e.Log.Error("a job of a committed transaction did not come up", "job", j.Name(), "err", err)
	return err
}

// placeBroken makes a failed job part of the graph of what it reads, or of one of its
// own.
func (e *Runner) placeBroken(b *Job) error {
	place := func(g *Graph) error {
		g.jobs[b.ID] = b
		e.setGraph(b.ID, g)
		e.mu.Lock()
		e.jobs[b.ID] = b
		e.mu.Unlock()
		return nil
	}
	if len(b.rels) > 0 {
		return e.TableAtRest(e.Ctx, b.rels[0], place)
	}
	g := e.newGraph()
	defer func() { go g.run() }()
	return place(g)
}

// PendingObjects are the jobs of committed transactions that have not caught up.
func (e *Runner) PendingObjects() (map[uint32]bool, error) {
	out := map[uint32]bool{}
	err := e.Store.MetaScan([]byte("pending/"), func(k, _ []byte) error {
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
	c := &state.Commit{Epoch: e.NextEpoch()}
	for _, o := range os {
		e.dropStore(c, catalog.StoreID(o))
	}
	if err := e.Commit(c); err != nil {
		return err
	}
	js := e.AddPending(os)
	go e.StartPending(js, func(*Job, error) {})
	return nil
}

// InOrder returns those of the jobs' objects that are wanted, dependencies first.
func (e *Runner) InOrder(wanted map[uint32]bool) []catalog.Object {
	return slices.DeleteFunc(e.jobObjects(), func(o catalog.Object) bool { return !wanted[o.Header().OID] })
}
