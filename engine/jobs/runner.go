package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/colcache"
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Config is how an engine is set up. The zero value of a field means its default.
type Config struct {
	// Dir is the data directory.
	Dir string
	// ChunkRows is the number of rows of a full chunk.
	ChunkRows int
	// BarrierInterval is the least time between two epochs of a graph with
	// sources; writes to tables end an epoch at once. Default 200 ms.
	BarrierInterval time.Duration
	// Parallelism is the number of instances of a fragment; default the cores.
	Parallelism int
	// CaptureBytes bounds the memory of changes that wait for a view which is being
	// created, per relation it reads. Default 256 MiB.
	CaptureBytes int
	// ColumnCache bounds the memory of decoded columns of stored relations, in bytes.
	// Default 512 MiB; negative: none are kept.
	ColumnCache int64
	// NoSync leaves out fsync; for tests.
	NoSync bool
	// MasterKey is what secrets in the catalog are encrypted with, at least 16
	// bytes; nil: one that is kept in the data directory.
	MasterKey []byte
	// Connectors is the table of connectors by name.
	Connectors map[string]connector.Definition
	Log        *slog.Logger
	// Users tells who is let in as a superuser though no role of that name exists;
	// nil: everybody, as long as nobody has used CREATE ROLE.
	Users func(name string) bool
	// Version is shown by version().
	Version string

	Fs  vfs.FS       // of tests; nil: the system's
	Now func() int64 // of tests, µs since 2000-01-01 UTC; nil: the system's
}

// Runner runs the jobs of a data directory: it owns the store, the catalog, and the
// graphs. Its methods are safe for concurrent use.
type Runner struct {
	Config  Config
	Log     *slog.Logger
	Store   *state.Store
	Columns *colcache.Cache
	// shape is held to change the columns of stored rows and the catalog in one
	// step, and shared to take a catalog and a snapshot of the store that match.
	shape   sync.RWMutex
	Catalog *catalog.Catalog
	Epoch   atomic.Uint64
	Ctx     context.Context
	cancel  context.CancelFunc
	Started time.Time

	// sizes are estimates of relations' sizes (sizeEstimate by OID), for planning.
	sizes sync.Map
	// instance is a random name of this data directory, so that what it writes
	// elsewhere is never taken for another's.
	instance string
	Vault    *vault

	// DDL serialises statements that change the catalog or the graphs. It is not
	// held while a new view catches up.
	DDL ddlLock
	// Fault, set by tests before any job runs, makes a task of the named job fail
	// at a barrier.
	Fault func(job string) error
	// StallCheck is how often an epoch that does not end is looked at.
	StallCheck time.Duration
	seats      *exec.Seats // of the goroutines of jobs on sources
	// BackfillRows bounds the rows of an epoch of a job that catches up.
	BackfillRows int
	// CommitFault, set by tests, makes a commit fail.
	CommitFault func(*state.Commit) error
	// swaps counts the replacements of views and the changes of tables' columns,
	// twice each: it is odd while what is stored and the catalog do not agree.
	// swapping is held meanwhile.
	swaps    atomic.Uint64
	swapping sync.RWMutex
	// Merging is held while two graphs become one.
	Merging sync.Mutex

	mu      sync.RWMutex
	graphOf map[uint32]*Graph // by table and job id
	jobs    map[uint32]*Job
	// replacing are the views that are being replaced, by OID.
	replacing map[uint32]*replacement
	sources   map[uint32]connector.Source
	seqs      sequences
}

// Open opens or creates a data directory and brings every job back to its last
// committed epoch. The relations are part of the catalog besides those it has itself.
func Open(cfg Config, relations ...catalog.Object) (*Runner, error) {
	expr.RegisterPathRegexes()
	if cfg.ChunkRows <= 0 {
		cfg.ChunkRows = vec.MaxRows
	}
	if cfg.BarrierInterval <= 0 {
		cfg.BarrierInterval = 200 * time.Millisecond
	}
	if cfg.Parallelism <= 0 {
		cfg.Parallelism = runtime.NumCPU()
	}
	if cfg.CaptureBytes <= 0 {
		cfg.CaptureBytes = 256 << 20
	}
	if cfg.Now == nil {
		cfg.Now = NowMicros
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.ColumnCache == 0 {
		cfg.ColumnCache = 512 << 20
	}
	cols := colcache.New(max(cfg.ColumnCache, 0), cfg.ChunkRows)
	st, err := state.Open(cfg.Dir, state.Options{NoSync: cfg.NoSync, FS: cfg.Fs, Watch: cols})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Runner{Config: cfg, Log: cfg.Log, Store: st, Columns: cols, Ctx: ctx, cancel: cancel, Started: time.Now(), StallCheck: 5 * time.Second, seats: exec.NewSeats(runtime.NumCPU()), BackfillRows: backfillEpochRows,
		graphOf: map[uint32]*Graph{}, jobs: map[uint32]*Job{}, replacing: map[uint32]*replacement{},
		sources: map[uint32]connector.Source{}, seqs: sequences{byOID: map[uint32]*Sequence{}}}
	e.Epoch.Store(uint64(st.LastEpoch()))
	e.Vault = e.newVault()
	if err = e.loadInstance(); err == nil {
		if err = e.Vault.verify(); err == nil {
			err = e.recover(relations)
		}
	}
	if err != nil {
		cancel()
		st.Close()
		return nil, err
	}
	return e, nil
}

// loadInstance reads the name of the data directory, or gives a new one its name.
func (e *Runner) loadInstance() error {
	key := []byte("instance")
	v, ok, err := e.Store.MetaGet(key)
	if err != nil {
		return err
	}
	if !ok {
		v = []byte(rand.Text())
		err = e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: key, Val: v}}})
	}
	e.instance = string(v)
	return err
}

// Close stops every job at its last committed epoch and closes the store. What is
// stuck in an operator or an external system is left behind after some seconds.
func (e *Runner) Close() error {
	e.cancel()
	gs := e.Graphs()
	for _, g := range gs {
		g.end()
	}
	e.haltAll()
	e.DDL.Lock()
	defer e.DDL.Unlock()
	deadline := time.Now().Add(HaltWait)
	for _, g := range gs {
		if g.building {
			continue
		}
		select {
		case <-g.stopped:
		case <-time.After(time.Until(deadline)):
			e.Log.Warn("a graph did not end and is left behind")
		}
	}
	js := e.haltAll()
	for _, j := range js {
		if !j.await(time.Until(deadline)) {
			e.Log.Warn("a task did not end and is left behind", "job", j.Name())
		}
	}
	var sinks sync.WaitGroup
	for _, j := range js {
		if j.Sink != nil {
			sinks.Go(func() { j.Sink.close() })
		}
	}
	sinks.Wait()
	if err := e.closeSequences(); err != nil {
		e.Log.Warn("sequences were not written; they go on behind the values reserved", "err", err)
	}
	return e.Store.Close()
}

// haltAll halts every job, those being created with an error.
func (e *Runner) haltAll() []*Job {
	e.mu.RLock()
	js := slices.Collect(maps.Values(e.jobs))
	for _, r := range e.replacing {
		js = append(js, r.job)
	}
	e.mu.RUnlock()
	for _, j := range js {
		if j.creating.Load() {
			j.end(ShuttingDown())
		}
		j.halt()
	}
	return js
}

// Swap runs f, in which the catalog and what it says of the store change together.
func (e *Runner) Swap(f func() error) error {
	e.swapping.Lock()
	defer e.swapping.Unlock()
	e.swaps.Add(1)
	defer e.swaps.Add(1)
	return f()
}

// Steady calls f, again if there was a swap meanwhile: what f takes from the
// catalog and from the store is of one moment.
func (e *Runner) Steady(f func()) {
	for {
		n := e.swaps.Load()
		if n&1 != 0 {
			e.swapping.RLock()
			e.swapping.RUnlock() //nolint:staticcheck // only waits
			continue
		}
		f()
		if e.swaps.Load() == n {
			return
		}
	}
}

// NextEpoch gives out the number of an epoch.
func (e *Runner) NextEpoch() types.Epoch { return types.Epoch(e.Epoch.Add(1)) }

// Commit makes c durable; nothing of it is there after an error.
func (e *Runner) Commit(c *state.Commit) error {
	if f := e.CommitFault; f != nil {
		if err := f(c); err != nil {
			return err
		}
	}
	return e.Store.Commit(context.Background(), c)
}

// Graphs returns the distinct graphs.
func (e *Runner) Graphs() []*Graph {
	e.mu.RLock()
	defer e.mu.RUnlock()
	seen := map[*Graph]bool{}
	var out []*Graph
	for _, g := range e.graphOf {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

func (e *Runner) setGraph(id uint32, g *Graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if g == nil {
		delete(e.graphOf, id)
		return
	}
	e.graphOf[id] = g
}

// LookupGraph returns the graph of a table or job; nil: there is none.
func (e *Runner) LookupGraph(id uint32) *Graph {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.graphOf[id]
}

// moveGraph makes b the graph of an object of a, unless it was dropped meanwhile.
func (e *Runner) moveGraph(id uint32, a, b *Graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.graphOf[id] == a {
		e.graphOf[id] = b
	}
}

// GraphFor returns the graph that holds all of rels, merging graphs if they lie
// in several; nil if rels is empty. A merge that waits for a slow graph goes on
// in the background when ctx ends.
func (e *Runner) GraphFor(ctx context.Context, rels []uint32) (*Graph, error) {
	var g *Graph
	for _, r := range rels {
		h := e.LookupGraph(r)
		if h == nil {
			return nil, stage.RelationGone(r)
		}
		if g == nil {
			g = h
		}
		if h == g {
			continue
		}
		ctx, waited := LockWait(ctx)
		defer waited()
		done := make(chan error, 1)
		go func() { done <- e.mergeAll(rels) }()
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, Canceled(ctx)
		}
		if g = e.LookupGraph(rels[0]); g == nil {
			return nil, stage.RelationGone(rels[0])
		}
		return g, nil
	}
	return g, nil
}

// mergeAll makes one graph of those that hold rels.
func (e *Runner) mergeAll(rels []uint32) error {
	e.Merging.Lock()
	defer e.Merging.Unlock()
	for _, r := range rels[1:] {
		a, b := e.LookupGraph(rels[0]), e.LookupGraph(r)
		if a == nil || b == nil {
			return stage.RelationGone(r)
		}
		if a != b {
			if err := e.mergeGraphs(a, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// mergeGraphs moves everything of b into a, with both at rest.
func (e *Runner) mergeGraphs(a, b *Graph) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.cycle(true); err != nil {
		return err
	}
	if err := a.cycle(true); err != nil {
		b.resume()
		return err
	}
	b.commitMu.Lock() // see Retirement.hold
	for id, j := range b.jobs {
		a.jobs[id] = j
		e.moveGraph(id, b, a)
	}
	for id, t := range b.tables {
		a.tables[id] = t
		e.moveGraph(id, b, a)
	}
	b.commitMu.Unlock()
	for c, rel := range b.captures {
		a.captures[c] = rel
	}
	b.jobs, b.tables, b.captures = map[uint32]*Job{}, map[uint32]*tableNode{}, map[*capture]uint32{}
	b.qmu.Lock()
	b.into = a
	left := b.writes
	b.writes = nil
	b.qmu.Unlock()
	a.qmu.Lock()
	a.writes = append(a.writes, left...)
	a.qmu.Unlock()
	b.end()
	a.resume()
	return nil
}

// ChangeCatalog makes changes durable, with extra puts and drops in the same
// step, and publishes them. Runner.DDL is held.
func (e *Runner) ChangeCatalog(c *state.Commit, changes ...catalog.Change) error {
	next, entries, err := e.Catalog.Current().Apply(changes...)
	if err != nil {
		return err
	}
	c.Epoch = e.NextEpoch()
	c.Meta = append(c.Meta, CatalogKV(entries)...)
	if err := e.Commit(c); err != nil {
		return err
	}
	e.Catalog.Publish(next)
	return nil
}

// OpenSource returns the connector's source of a catalog source.
func (e *Runner) OpenSource(oid uint32) (connector.Source, error) {
	e.mu.RLock()
	s := e.sources[oid]
	e.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	o, ok := e.Catalog.Current().ByOID(oid).(*catalog.Source)
	if !ok {
		return nil, fmt.Errorf("engine: OID %d is not a source", oid)
	}
	s, err := e.MakeSource(o)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.sources[oid] = s
	e.mu.Unlock()
	return s, nil
}
