package jobs

import (
	"fmt"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
)

// recover loads the catalog and brings every job to its last committed epoch.
// Jobs whose creation had not finished are dropped, as their statement never
// returned.
func (e *Runner) recover(relations []catalog.Object) error {
	var entries []catalog.Entry
	err := e.Store.MetaScan(CatalogPrefix, func(k, v []byte) error {
		entries = append(entries, catalog.Entry{Key: append([]byte(nil), k[len(CatalogPrefix):]...), Val: append([]byte(nil), v...)})
		return nil
	})
	if err != nil {
		return err
	}
	base := catalog.New(slices.Concat(errorRelations(), relations, catalog.Builtins())...)
	snap, err := catalog.Load(base, entries)
	if err != nil {
		return err
	}
	e.Catalog = catalog.Hold(snap)
	if err := e.dropUnfinished(); err != nil {
		return err
	}
	if err := e.dropLeftTemporary(); err != nil {
		return err
	}
	e.Catalog.Current().Objects(func(o catalog.Object) {
		if t, ok := o.(*catalog.Table); ok && !e.Catalog.Current().Builtin(t.OID) {
			e.addTable(t.OID)
		}
	})
	var jobs []*Job
	pending, err := e.PendingObjects()
	if err != nil {
		return err
	}
	for _, o := range e.jobObjects() {
		if pending[o.Header().OID] {
			continue
		}
		j, err := e.recoverJob(o)
		if err != nil {
			return fmt.Errorf("recover %s %q: %w", o.Kind(), o.Header().Name, err)
		}
		jobs = append(jobs, j)
	}
	for _, j := range jobs {
		if j.Err() == nil {
			j.start()
		}
		if j.Sink != nil {
			j.Sink.start()
		}
	}
	for _, g := range e.Graphs() {
		go g.run()
	}
	return e.restartPending(e.InOrder(pending))
}

// jobObjects returns the catalog objects that are jobs, dependencies first.
func (e *Runner) jobObjects() (out []catalog.Object) {
	left := map[uint32]catalog.Object{}
	snap := e.Catalog.Current()
	var order []uint32
	snap.Objects(func(o catalog.Object) {
		switch o.(type) {
		case *catalog.MatView, *catalog.Sink, *catalog.Index:
			left[o.Header().OID] = o
			order = append(order, o.Header().OID)
		}
	})
	var visit func(oid uint32)
	visit = func(oid uint32) {
		o := snap.ByOID(oid)
		if o == nil {
			return
		}
		for _, d := range o.Dependencies() {
			visit(d)
		}
		if left[oid] != nil {
			out = append(out, o)
			delete(left, oid)
		}
	}
	for _, oid := range order {
		visit(oid)
	}
	return out
}

// creatingKey marks an object whose creation has not finished.
func creatingKey(oid uint32) []byte { return append([]byte("creating/"), objectID(oid)...) }

func (e *Runner) dropUnfinished() error {
	var oids []uint32
	var names []string
	err := e.Store.MetaScan([]byte("creating/"), func(k, v []byte) error {
		oids, names = append(oids, parseObjectID(k[len("creating/"):])), append(names, string(v))
		return nil
	})
	if err != nil {
		return err
	}
	for i, oid := range oids {
		c := &state.Commit{Meta: []state.KV{{Key: creatingKey(oid)}}}
		var changes []catalog.Change
		if e.Catalog.Current().ByOID(oid) == nil { // what was to replace a view
			e.dropStore(c, oid)
			for _, d := range e.Catalog.Current().Databases() { // no other job has such a name
				if err := e.moveErrors(c, ErrorTablesOf(e.Catalog.Current(), d.OID), names[i], ""); err != nil {
					return err
				}
			}
		} else {
			for _, o := range e.Catalog.Current().DropOrder(oid) {
				changes = append(changes, catalog.Change{Drop: o.Header().OID})
				e.DropStorage(c, o.Header().OID)
			}
		}
		if err := e.ChangeCatalog(c, changes...); err != nil {
			return err
		}
		e.Log.Info("dropped an object whose creation was interrupted", "oid", oid)
	}
	return nil
}

// DropStorage adds to a commit the removal of all that is stored for an object,
// its errors included. Nothing of it runs any more.
func (e *Runner) DropStorage(c *state.Commit, oid uint32) {
	switch o := e.Catalog.Current().ByOID(oid).(type) {
	case *catalog.MatView, *catalog.Sink:
		if err := e.moveErrors(c, ErrorTablesOf(e.Catalog.Current(), o.Header().Database), JobName(o), ""); err != nil {
			e.Log.Error("the errors of a dropped object were not removed", "object", JobName(o), "err", err)
		}
	}
	e.dropStored(c, oid)
}

// dropStored is DropStorage but for the errors.
func (e *Runner) dropStored(c *state.Commit, oid uint32) {
	store := oid
	if o := e.Catalog.Current().ByOID(oid); o != nil {
		store = catalog.StoreID(o)
	}
	e.dropStore(c, store)
	c.Meta = append(c.Meta, state.KV{Key: creatingKey(oid)}, state.KV{Key: PendingKey(oid)}, state.KV{Key: sequenceKey(oid)})
}

// dropStore adds to a commit the removal of the rows and the job state that are
// kept under an id.
func (e *Runner) dropStore(c *state.Commit, id uint32) {
	c.DropTables = append(c.DropTables, id)
	c.DropJobs = append(c.DropJobs, id)
	c.Meta = append(c.Meta, state.KV{Key: StartedKey(id)}, state.KV{Key: FailedKey(id)})
	_ = e.Store.MetaScan(offsetKey(id, ""), func(k, _ []byte) error {
		c.Meta = append(c.Meta, state.KV{Key: append([]byte(nil), k...)})
		return nil
	})
}

func (e *Runner) addTable(oid uint32) *Graph {
	g := e.newGraph()
	g.tables[oid] = newTableNode(oid)
	e.setGraph(oid, g)
	return g
}

// recoverJob builds a job with its stored state, connected but not started. A job
// that cannot be brought back is failed, and the others go on.
func (e *Runner) recoverJob(o catalog.Object) (*Job, error) {
	oid := o.Header().OID
	print, started, err := e.Store.MetaGet(StartedKey(catalog.StoreID(o)))
	if err != nil {
		return nil, err
	}
	msg, failed, err := e.Store.MetaGet(FailedKey(catalog.StoreID(o)))
	if err != nil {
		return nil, err
	}
	j, err := e.buildJob(o, nil)
	switch {
	case err != nil:
		e.Log.Error("a job cannot be built", "job", JobName(o), "err", err)
		j = e.brokenJob(o, err)
		if err := e.recordFailure(j); err != nil {
			return nil, err
		}
	case failed:
		j.end(pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s", msg))
		j.recorded = true
		j.halt()
	case started && string(print) != string(j.print):
		j.fail(otherPlan(j))
		if err := e.recordFailure(j); err != nil {
			return nil, err
		}
		j.halt()
	}
	j.fresh = !started
	g := e.offlineGraph(j)
	g.jobs[oid] = j
	e.setGraph(oid, g)
	e.mu.Lock()
	e.jobs[oid] = j
	e.mu.Unlock()
	if j.Err() == nil {
		g.assemble(j)
	}
	return j, nil
}

// recordFailure makes a failure at recovery last: what the job reads goes on
// without it, so a later start must not resume it from where it stopped.
func (e *Runner) recordFailure(j *Job) error {
	j.recorded = true
	return e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: FailedKey(j.store), Val: []byte(pgerr.From(j.Err()).Msg)}}})
}

// offlineGraph returns the graph of everything the job reads, joining graphs that
// do not run yet.
func (e *Runner) offlineGraph(j *Job) *Graph {
	var g *Graph
	for _, r := range j.rels {
		h := e.LookupGraph(r)
		if h == nil || h == g {
			continue
		}
		if g == nil {
			g = h
			continue
		}
		for id, x := range h.jobs {
			g.jobs[id] = x
			e.setGraph(id, g)
		}
		for id, x := range h.tables {
			g.tables[id] = x
			e.setGraph(id, g)
		}
	}
	if g == nil {
		g = e.newGraph()
	}
	return g
}

// dropLeftTemporary drops the temporary objects of sessions that a crash has ended.
func (e *Runner) dropLeftTemporary() error {
	snap := e.Catalog.Current()
	var oids []uint32
	snap.Objects(func(o catalog.Object) {
		if h := o.Header(); catalog.IsTemp(h.Schema) {
			oids = append(oids, h.OID)
		}
	})
	snap.Objects(func(o catalog.Object) {
		if h := o.Header(); o.Kind() == catalog.KindSchema && catalog.IsTemp(h.Name) {
			oids = append(oids, h.OID)
		}
	})
	if len(oids) == 0 {
		return nil
	}
	c := &state.Commit{}
	var changes []catalog.Change
	for _, o := range snap.DropOrder(oids...) {
		changes = append(changes, catalog.Change{Drop: o.Header().OID})
		e.DropStorage(c, o.Header().OID)
	}
	return e.ChangeCatalog(c, changes...)
}
