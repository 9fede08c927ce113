package jobs

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/state"
)

// CreateJob makes a materialized view or sink durable, starts its job and waits
// until it is up to date. If that fails or ctx ends, nothing is left. Runner.DDL
// is held, and let go while the job catches up, so that other objects can be
// created and dropped meanwhile, and this one too.
func (e *Runner) CreateJob(ctx context.Context, o catalog.Object) error {
	oid := o.Header().OID
	j, err := e.buildJob(o, nil)
	if err != nil {
		return err
	}
	if err := e.Readable(j.rels...); err != nil {
		j.cancel()
		return err
	}
	j.fresh = true
	j.creating.Store(true)
	c := &state.Commit{Meta: []state.KV{{Key: creatingKey(oid), Val: []byte{1}}}}
	if err := e.ChangeCatalog(c, catalog.Change{Create: o}); err != nil {
		j.cancel()
		return err
	}
	e.register(j)
	e.DDL.Unlock()
	err = e.startJob(ctx, j)
	e.DDL.Lock()
	if e.Catalog.Current().ByOID(oid) == nil {
		return pgerr.New(pgerr.QueryCanceled, "the creation of \"%s\" was canceled because it was dropped", o.Header().Name)
	}
	if err == nil {
		err = e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: creatingKey(oid)}}})
	}
	if err != nil {
		e.undoCreation(oid)
		return err
	}
	e.mu.RLock()
	j = e.jobs[oid]
	e.mu.RUnlock()
	j.creating.Store(false)
	if j.Sink != nil {
		j.Sink.start()
	}
	return nil
}

// undoCreation removes an object whose creation failed, and whatever was put on
// it meanwhile. If even that fails, the next start does it.
func (e *Runner) undoCreation(oid uint32) {
	if e.Ctx.Err() != nil {
		return
	}
	c := &state.Commit{}
	var changes []catalog.Change
	order := e.Catalog.Current().DropOrder(oid)
	for _, o := range order {
		e.DropStorage(c, o.Header().OID)
		changes = append(changes, catalog.Change{Drop: o.Header().OID})
	}
	if err := e.Retire(OIDsOf(order), func() error { return e.ChangeCatalog(c, changes...) }); err != nil {
		e.Log.Error("could not undo a failed creation; DROP or the next start does", "oid", oid, "err", err)
		_ = e.Retire(OIDsOf(order), func() error { return nil })
		if o := e.Catalog.Current().ByOID(oid); o != nil {
			j := e.brokenJob(o, err)
			j.creating.Store(true) // incomplete, so not to be read
			e.mu.Lock()
			e.jobs[oid] = j
			e.mu.Unlock()
		}
	}
}

// Readable refuses relations that are not complete yet.
func (e *Runner) Readable(rels ...uint32) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, r := range rels {
		if j := e.jobs[r]; j != nil && j.creating.Load() {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" is still being created", j.Name()).
				WithHint("SHOW JOBS tells how far it is.")
		}
	}
	return nil
}

// IndexComplete reports whether an index holds all rows of its relation.
func (e *Runner) IndexComplete(oid uint32) bool {
	j := e.JobOf(oid)
	return j != nil && j.Err() == nil && !j.creating.Load()
}

// register makes a new job known, in a graph of its own. Runner.DDL is held.
func (e *Runner) register(j *Job) {
	g := e.buildingGraph(j)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs[j.ID], e.graphOf[j.ID] = j, g
}

// buildingGraph is the graph of a job that is being created.
func (e *Runner) buildingGraph(j *Job) *Graph {
	g := e.newGraph()
	g.building = true
	g.jobs[j.ID] = j
	return g
}

// startJob brings a registered job up: alone when it reads only sources, else by
// catching up with the graph of what it reads.
func (e *Runner) startJob(ctx context.Context, j *Job) error {
	g := e.LookupGraph(j.ID)
	if g == nil {
		return stage.RelationGone(j.ID)
	}
	if len(j.rels) > 0 {
		if _, err := e.GraphFor(ctx, j.rels); err != nil {
			return err
		}
		return e.attach(ctx, j, g)
	}
	defer context.AfterFunc(ctx, func() { j.end(Canceled(ctx)); j.halt() })()
	if err := j.connectSources(); err != nil {
		return err
	}
	j.start()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.cycle(false)
	if err == nil {
		err = j.Err()
	}
	if err != nil {
		return err
	}
	g.building = false
	go g.run()
	return nil
}

// buildJob plans an object's query and makes its tasks. The same object gives
// the same plan at creation and at recovery. sj is a sink's running delivery; nil:
// it has none yet.
func (e *Runner) buildJob(o catalog.Object, sj *sinkJob) (*Job, error) {
	return e.buildJobIn(e.Catalog.Current(), o, sj)
}

func (e *Runner) buildJobIn(snap *catalog.Snapshot, o catalog.Object, sj *sinkJob) (*Job, error) {
	j, err := e.planJob(snap.In(o.Header().Database), o, sj)
	if err != nil {
		return nil, err
	}
	j.store, j.errors = catalog.StoreID(o), ErrorTablesOf(snap, o.Header().Database)
	return j, nil
}

// planJob is buildJobIn without what the job stores its rows by.
func (e *Runner) planJob(snap *catalog.Snapshot, o catalog.Object, sj *sinkJob) (*Job, error) {
	switch o := o.(type) {
	case *catalog.MatView:
		s := e.FrozenSession(o.SearchPath, o.Settings)
		st, err := (&planner.Planner{Cat: snap, Session: s}).PlanMatView(o)
		if err != nil {
			return nil, err
		}
		return e.newJob(o.OID, JobName(o), st.Root, parallelism(o.Settings), s, Policy(o.Settings), nil)
	case *catalog.Index:
		root, err := stage.PlanIndex(snap, o)
		if err != nil {
			return nil, err
		}
		return e.newJob(o.OID, JobName(o), root, 1, e.FrozenSession(nil, nil), OnErrorFail, nil)
	case *catalog.Sink:
		s := e.FrozenSession(o.SearchPath, o.Settings)
		st, err := (&planner.Planner{Cat: snap, Session: s}).PlanSink(o)
		if err != nil {
			return nil, err
		}
		name := JobName(o)
		if sj == nil {
			cs, err := e.MakeSink(o)
			if err != nil {
				return nil, err
			}
			sj = e.newSinkJob(o.OID, name, cs)
		}
		return e.newJob(o.OID, name, st.Root, parallelism(o.Settings), s, Policy(o.Settings), sj)
	}
	return nil, pgerr.New(pgerr.WrongObjectType, "%s is not a job", o.Header().Name)
}

// brokenJob stands for a job that cannot be built, so that the rest can run.
func (e *Runner) brokenJob(o catalog.Object, err error) *Job {
	ctx, cancel := context.WithCancel(e.Ctx)
	cancel()
	j := &Job{ID: o.Header().OID, store: catalog.StoreID(o), errors: ErrorTablesOf(e.Catalog.Current(), o.Header().Database), eng: e, ctx: ctx, cancel: cancel, failed: err, halted: true}
	name := JobName(o)
	j.label.Store(&name)
	return j
}

// successor builds the job that takes a broken one's place.
func (e *Runner) successor(o catalog.Object, was *Job) *Job {
	j, err := e.buildJob(o, was.Sink)
	if err != nil {
		j = e.brokenJob(o, err)
		j.Sink, j.rels = was.Sink, was.rels
	}
	j.fresh, j.restarts = was.fresh, was.restarts
	j.creating.Store(was.creating.Load())
	j.Rows.Store(was.Rows.Load())
	j.Backfilled.Store(was.Backfilled.Load())
	return j
}

// JobName names a job in logs and error tables: qualified outside of public.
func JobName(o catalog.Object) string {
	h := o.Header()
	if h.Schema == "public" {
		return h.Name
	}
	return h.Schema + "." + h.Name
}
