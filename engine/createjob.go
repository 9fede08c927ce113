package engine

import (
	"cmp"
	"context"
	"strconv"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
)

// createJob makes a materialized view or sink durable, starts its job and waits
// until it is up to date. If that fails or ctx ends, nothing is left. Engine.ddl
// is held, and let go while the job catches up, so that other objects can be
// created and dropped meanwhile, and this one too.
func (e *Runner) createJob(ctx context.Context, o catalog.Object) error {
	oid := o.Header().OID
	j, err := e.buildJob(o, nil)
	if err != nil {
		return err
	}
	if err := e.readable(j.rels...); err != nil {
		j.cancel()
		return err
	}
	j.fresh = true
	j.creating.Store(true)
	c := &state.Commit{Meta: []state.KV{{Key: creatingKey(oid), Val: []byte{1}}}}
	if err := e.changeCatalog(c, catalog.Change{Create: o}); err != nil {
		j.cancel()
		return err
	}
	e.register(j)
	e.ddl.Unlock()
	err = e.startJob(ctx, j)
	e.ddl.Lock()
	if e.cat.Current().ByOID(oid) == nil {
		return pgerr.New(pgerr.QueryCanceled, "the creation of \"%s\" was canceled because it was dropped", o.Header().Name)
	}
	if err == nil {
		err = e.commit(&state.Commit{Epoch: e.nextEpoch(), Meta: []state.KV{{Key: creatingKey(oid)}}})
	}
	if err != nil {
		e.undoCreation(oid)
		return err
	}
	e.mu.RLock()
	j = e.jobs[oid]
	e.mu.RUnlock()
	j.creating.Store(false)
	if j.sink != nil {
		j.sink.start()
	}
	return nil
}

// undoCreation removes an object whose creation failed, and whatever was put on
// it meanwhile. If even that fails, the next start does it.
func (e *Runner) undoCreation(oid uint32) {
	if e.ctx.Err() != nil {
		return
	}
	c := &state.Commit{}
	var changes []catalog.Change
	order := e.cat.Current().DropOrder(oid)
	for _, o := range order {
		e.dropStorage(c, o.Header().OID)
		changes = append(changes, catalog.Change{Drop: o.Header().OID})
	}
	if err := e.retire(oidsOf(order), func() error { return e.changeCatalog(c, changes...) }); err != nil {
		e.log.Error("could not undo a failed creation; DROP or the next start does", "oid", oid, "err", err)
		_ = e.retire(oidsOf(order), func() error { return nil })
		if o := e.cat.Current().ByOID(oid); o != nil {
			j := e.brokenJob(o, err)
			j.creating.Store(true) // incomplete, so not to be read
			e.mu.Lock()
			e.jobs[oid] = j
			e.mu.Unlock()
		}
	}
}

// readable refuses relations that are not complete yet.
func (e *Runner) readable(rels ...uint32) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, r := range rels {
		if j := e.jobs[r]; j != nil && j.creating.Load() {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" is still being created", j.name()).
				WithHint("SHOW JOBS tells how far it is.")
		}
	}
	return nil
}

// register makes a new job known, in a graph of its own. Engine.ddl is held.
func (e *Runner) register(j *job) {
	g := e.buildingGraph(j)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.jobs[j.id], e.graphOf[j.id] = j, g
}

// buildingGraph is the graph of a job that is being created.
func (e *Runner) buildingGraph(j *job) *graph {
	g := e.newGraph()
	g.building = true
	g.jobs[j.id] = j
	return g
}

// startJob brings a registered job up: alone when it reads only sources, else by
// catching up with the graph of what it reads.
func (e *Runner) startJob(ctx context.Context, j *job) error {
	g := e.lookupGraph(j.id)
	if g == nil {
		return stage.RelationGone(j.id)
	}
	if len(j.rels) > 0 {
		if _, err := e.graphFor(ctx, j.rels); err != nil {
			return err
		}
		return e.attach(ctx, j, g)
	}
	defer context.AfterFunc(ctx, func() { j.end(canceled(ctx)); j.halt() })()
	if err := j.connectSources(); err != nil {
		return err
	}
	j.start()
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.cycle(false)
	if err == nil {
		err = j.err()
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
func (e *Runner) buildJob(o catalog.Object, sj *sinkJob) (*job, error) {
	return e.buildJobIn(e.cat.Current(), o, sj)
}

func (e *Runner) buildJobIn(snap *catalog.Snapshot, o catalog.Object, sj *sinkJob) (*job, error) {
	j, err := e.planJob(snap.In(o.Header().Database), o, sj)
	if err != nil {
		return nil, err
	}
	j.store, j.errors = catalog.StoreID(o), errorTablesOf(snap, o.Header().Database)
	return j, nil
}

// planJob is buildJobIn without what the job stores its rows by.
func (e *Runner) planJob(snap *catalog.Snapshot, o catalog.Object, sj *sinkJob) (*job, error) {
	switch o := o.(type) {
	case *catalog.MatView:
		s := e.frozenSession(o.SearchPath, o.Settings)
		st, err := (&planner.Planner{Cat: snap, Session: s}).PlanMatView(o)
		if err != nil {
			return nil, err
		}
		return e.newJob(o.OID, jobName(o), st.Root, parallelism(o.Settings), s, policy(o.Settings), nil)
	case *catalog.Index:
		root, err := stage.PlanIndex(snap, o)
		if err != nil {
			return nil, err
		}
		return e.newJob(o.OID, jobName(o), root, 1, e.frozenSession(nil, nil), onErrorFail, nil)
	case *catalog.Sink:
		s := e.frozenSession(o.SearchPath, o.Settings)
		st, err := (&planner.Planner{Cat: snap, Session: s}).PlanSink(o)
		if err != nil {
			return nil, err
		}
		name := jobName(o)
		if sj == nil {
			cs, err := e.makeSink(o)
			if err != nil {
				return nil, err
			}
			sj = e.newSinkJob(o.OID, name, cs)
		}
		return e.newJob(o.OID, name, st.Root, parallelism(o.Settings), s, policy(o.Settings), sj)
	}
	return nil, pgerr.New(pgerr.WrongObjectType, "%s is not a job", o.Header().Name)
}

// brokenJob stands for a job that cannot be built, so that the rest can run.
func (e *Runner) brokenJob(o catalog.Object, err error) *job {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	j := &job{id: o.Header().OID, store: catalog.StoreID(o), errors: errorTablesOf(e.cat.Current(), o.Header().Database), eng: e, ctx: ctx, cancel: cancel, failed: err, halted: true}
	name := jobName(o)
	j.label.Store(&name)
	return j
}

// successor builds the job that takes a broken one's place.
func (e *Runner) successor(o catalog.Object, was *job) *job {
	j, err := e.buildJob(o, was.sink)
	if err != nil {
		j = e.brokenJob(o, err)
		j.sink, j.rels = was.sink, was.rels
	}
	j.fresh, j.restarts = was.fresh, was.restarts
	j.creating.Store(was.creating.Load())
	j.rows.Store(was.rows.Load())
	j.backfilled.Store(was.backfilled.Load())
	return j
}

// jobName names a job in logs and error tables: qualified outside of public.
func jobName(o catalog.Object) string {
	h := o.Header()
	if h.Schema == "public" {
		return h.Name
	}
	return h.Schema + "." + h.Name
}

// Frozen settings of jobs, besides those of the session.
const (
	settingParallelism = "parallelism"
	settingOnError     = "on_error"
	settingNow         = "now"
	settingDatabase    = "database" // its name
	settingSizes       = planner.SettingSizes
	settingShared      = planner.SettingShared
	settingIndexes     = planner.SettingIndexes
	settingIntervals   = "intervalstyle"
	settingDigits      = "extra_float_digits"
	settingDates       = "datestyle"
)

func parallelism(m map[string]string) int {
	n, err := strconv.Atoi(m[settingParallelism])
	if err != nil || n < 1 {
		return 1
	}
	return n
}

func policy(m map[string]string) errorPolicy {
	if m[settingOnError] == "fail" {
		return onErrorFail
	}
	return onErrorDeadLetter
}

// freeze returns the settings of the session a new job's meaning depends on.
func (s *Session) freeze(onError string, reads []uint32) map[string]string {
	return map[string]string{
		settingSizes:       s.eng.relationSizes(reads),
		settingShared:      s.values[settingShared],
		settingIndexes:     s.eng.usableIndexes(reads),
		"timezone":         s.values["timezone"],
		settingIntervals:   s.values[settingIntervals],
		settingDigits:      s.values[settingDigits],
		settingDates:       s.values[settingDates],
		settingParallelism: strconv.Itoa(s.eng.cfg.Parallelism),
		settingOnError:     onError,
		settingDatabase:    s.database,
		settingNow:         strconv.FormatInt(s.expr.NowMicros, 10),
	}
}

// frozenSession is the evaluation session of a job.
func (e *Runner) frozenSession(path []string, m map[string]string) *expr.Session {
	now, _ := strconv.ParseInt(m[settingNow], 10, 64)
	s := &expr.Session{User: catalog.Owner, Database: cmp.Or(m[settingDatabase], catalog.Owner), SearchPath: path, NowMicros: now}
	s.Options.Now = func() int64 { return now }
	if z, err := types.LoadZone(m["timezone"]); err == nil {
		s.Options.Zone = z
	}
	s.Options.IntervalStyle = intervalStyle(m[settingIntervals])
	setDateStyle(&s.Options, m[settingDates])
	if n, err := strconv.Atoi(m[settingDigits]); err == nil {
		s.Options.ExtraFloatDigits = n - 1
	}
	s.Setting = func(n string) (string, bool) { v, ok := m[n]; return v, ok }
	return s
}
