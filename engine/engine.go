package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
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

	fs  vfs.FS       // of tests; nil: the system's
	now func() int64 // of tests, µs since 2000-01-01 UTC; nil: the system's
}

// Engine is a whole server but for the protocol. Its methods are safe for
// concurrent use.
type Engine struct {
	*Runner
	notices notices
	temps   atomic.Int64 // numbers of schemas of temporary objects given out
	plans   planCache

	sessionsMu sync.RWMutex
	sessions   map[int32]*Session
	closing    map[uint32]bool // databases that nobody may connect to: they are being dropped or renamed
}

// Open opens or creates a data directory and brings every job back to its last
// committed epoch.
func Open(cfg Config) (*Engine, error) {
	r, err := openRunner(cfg, statusRelations()...)
	if err != nil {
		return nil, err
	}
	return &Engine{Runner: r, sessions: map[int32]*Session{}, closing: map[uint32]bool{}}, nil
}

// Runner runs the jobs of a data directory: it owns the store, the catalog, and the
// graphs. Its methods are safe for concurrent use.
type Runner struct {
	cfg   Config
	log   *slog.Logger
	store *state.Store
	cols  *colcache.Cache
	// shape is held to change the columns of stored rows and the catalog in one
	// step, and shared to take a catalog and a snapshot of the store that match.
	shape  sync.RWMutex
	cat    *catalog.Catalog
	epoch  atomic.Uint64
	ctx    context.Context
	cancel context.CancelFunc
	start  time.Time

	// sizes are estimates of relations' sizes (sizeEstimate by OID), for planning.
	sizes sync.Map
	// instance is a random name of this data directory, so that what it writes
	// elsewhere is never taken for another's.
	instance string
	vault    *vault

	// ddl serialises statements that change the catalog or the graphs. It is not
	// held while a new view catches up.
	ddl ddlLock
	// fault, set by tests before any job runs, makes a task of the named job fail
	// at a barrier.
	fault func(job string) error
	// stallCheck is how often an epoch that does not end is looked at.
	stallCheck time.Duration
	seats      *exec.Seats // of the goroutines of jobs on sources
	// backfillRows bounds the rows of an epoch of a job that catches up.
	backfillRows int
	// commitFault, set by tests, makes a commit fail.
	commitFault func(*state.Commit) error
	// swaps counts the replacements of views and the changes of tables' columns,
	// twice each: it is odd while what is stored and the catalog do not agree.
	// swapping is held meanwhile.
	swaps    atomic.Uint64
	swapping sync.RWMutex
	// merging is held while two graphs become one.
	merging sync.Mutex

	mu      sync.RWMutex
	graphOf map[uint32]*graph // by table and job id
	jobs    map[uint32]*job
	// replacing are the views that are being replaced, by OID.
	replacing map[uint32]*replacement
	sources   map[uint32]connector.Source
	seqs      sequences
}

// openRunner opens or creates a data directory and brings every job back to its last
// committed epoch. The relations are part of the catalog besides those it has itself.
func openRunner(cfg Config, relations ...catalog.Object) (*Runner, error) {
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
	if cfg.now == nil {
		cfg.now = nowMicros
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.ColumnCache == 0 {
		cfg.ColumnCache = 512 << 20
	}
	cols := colcache.New(max(cfg.ColumnCache, 0), cfg.ChunkRows)
	st, err := state.Open(cfg.Dir, state.Options{NoSync: cfg.NoSync, FS: cfg.fs, Watch: cols})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Runner{cfg: cfg, log: cfg.Log, store: st, cols: cols, ctx: ctx, cancel: cancel, start: time.Now(), stallCheck: 5 * time.Second, seats: exec.NewSeats(runtime.NumCPU()), backfillRows: backfillEpochRows,
		graphOf: map[uint32]*graph{}, jobs: map[uint32]*job{}, replacing: map[uint32]*replacement{},
		sources: map[uint32]connector.Source{}, seqs: sequences{byOID: map[uint32]*sequence{}}}
	e.epoch.Store(uint64(st.LastEpoch()))
	e.vault = e.newVault()
	if err = e.loadInstance(); err == nil {
		if err = e.vault.verify(); err == nil {
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
	v, ok, err := e.store.MetaGet(key)
	if err != nil {
		return err
	}
	if !ok {
		v = []byte(rand.Text())
		err = e.commit(&state.Commit{Epoch: e.nextEpoch(), Meta: []state.KV{{Key: key, Val: v}}})
	}
	e.instance = string(v)
	return err
}

// Close stops every job at its last committed epoch and closes the store. What is
// stuck in an operator or an external system is left behind after some seconds.
func (e *Runner) Close() error {
	e.cancel()
	gs := e.graphs()
	for _, g := range gs {
		g.end()
	}
	e.haltAll()
	e.ddl.Lock()
	defer e.ddl.Unlock()
	deadline := time.Now().Add(haltWait)
	for _, g := range gs {
		if g.building {
			continue
		}
		select {
		case <-g.stopped:
		case <-time.After(time.Until(deadline)):
			e.log.Warn("a graph did not end and is left behind")
		}
	}
	js := e.haltAll()
	for _, j := range js {
		if !j.await(time.Until(deadline)) {
			e.log.Warn("a task did not end and is left behind", "job", j.name())
		}
	}
	var sinks sync.WaitGroup
	for _, j := range js {
		if j.sink != nil {
			sinks.Go(func() { j.sink.close() })
		}
	}
	sinks.Wait()
	if err := e.closeSequences(); err != nil {
		e.log.Warn("sequences were not written; they go on behind the values reserved", "err", err)
	}
	return e.store.Close()
}

// haltAll halts every job, those being created with an error.
func (e *Runner) haltAll() []*job {
	e.mu.RLock()
	js := slices.Collect(maps.Values(e.jobs))
	for _, r := range e.replacing {
		js = append(js, r.job)
	}
	e.mu.RUnlock()
	for _, j := range js {
		if j.creating.Load() {
			j.end(shuttingDown())
		}
		j.halt()
	}
	return js
}

// swap runs f, in which the catalog and what it says of the store change together.
func (e *Runner) swap(f func() error) error {
	e.swapping.Lock()
	defer e.swapping.Unlock()
	e.swaps.Add(1)
	defer e.swaps.Add(1)
	return f()
}

// steady calls f, again if there was a swap meanwhile: what f takes from the
// catalog and from the store is of one moment.
func (e *Runner) steady(f func()) {
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

func (e *Runner) nextEpoch() types.Epoch { return types.Epoch(e.epoch.Add(1)) }

func (e *Runner) commit(c *state.Commit) error {
	if f := e.commitFault; f != nil {
		if err := f(c); err != nil {
			return err
		}
	}
	return e.store.Commit(context.Background(), c)
}

// graphs returns the distinct graphs.
func (e *Runner) graphs() []*graph {
	e.mu.RLock()
	defer e.mu.RUnlock()
	seen := map[*graph]bool{}
	var out []*graph
	for _, g := range e.graphOf {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

func (e *Runner) setGraph(id uint32, g *graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if g == nil {
		delete(e.graphOf, id)
		return
	}
	e.graphOf[id] = g
}

func (e *Runner) lookupGraph(id uint32) *graph {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.graphOf[id]
}

// moveGraph makes b the graph of an object of a, unless it was dropped meanwhile.
func (e *Runner) moveGraph(id uint32, a, b *graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.graphOf[id] == a {
		e.graphOf[id] = b
	}
}

// graphFor returns the graph that holds all of rels, merging graphs if they lie
// in several; nil if rels is empty. A merge that waits for a slow graph goes on
// in the background when ctx ends.
func (e *Runner) graphFor(ctx context.Context, rels []uint32) (*graph, error) {
	var g *graph
	for _, r := range rels {
		h := e.lookupGraph(r)
		if h == nil {
			return nil, stage.RelationGone(r)
		}
		if g == nil {
			g = h
		}
		if h == g {
			continue
		}
		ctx, waited := lockWait(ctx)
		defer waited()
		done := make(chan error, 1)
		go func() { done <- e.mergeAll(rels) }()
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, canceled(ctx)
		}
		if g = e.lookupGraph(rels[0]); g == nil {
			return nil, stage.RelationGone(rels[0])
		}
		return g, nil
	}
	return g, nil
}

// mergeAll makes one graph of those that hold rels.
func (e *Runner) mergeAll(rels []uint32) error {
	e.merging.Lock()
	defer e.merging.Unlock()
	for _, r := range rels[1:] {
		a, b := e.lookupGraph(rels[0]), e.lookupGraph(r)
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
func (e *Runner) mergeGraphs(a, b *graph) error {
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
	b.commitMu.Lock() // see retirement.hold
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
	b.jobs, b.tables, b.captures = map[uint32]*job{}, map[uint32]*tableNode{}, map[*capture]uint32{}
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

// Keys of the store's meta space.
func offsetKey(job uint32, rest string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte("offset/"), job), rest...)
}

// clockKey goes with the offsets: both say how far the inputs of a job are.
func clockKey(job uint32) []byte { return offsetKey(job, "clock") }

func startedKey(job uint32) []byte { return binary.BigEndian.AppendUint32([]byte("started/"), job) }
func failedKey(job uint32) []byte  { return binary.BigEndian.AppendUint32([]byte("failed/"), job) }

var catalogPrefix = []byte("catalog/")

func catalogKV(es []catalog.Entry) []state.KV {
	kvs := make([]state.KV, len(es))
	for i, e := range es {
		kvs[i] = state.KV{Key: append(append([]byte(nil), catalogPrefix...), e.Key...), Val: e.Val}
	}
	return kvs
}

// changeCatalog makes changes durable, with extra puts and drops in the same
// step, and publishes them. Engine.ddl is held.
func (e *Runner) changeCatalog(c *state.Commit, changes ...catalog.Change) error {
	next, entries, err := e.cat.Current().Apply(changes...)
	if err != nil {
		return err
	}
	c.Epoch = e.nextEpoch()
	c.Meta = append(c.Meta, catalogKV(entries)...)
	if err := e.commit(c); err != nil {
		return err
	}
	e.cat.Publish(next)
	return nil
}

// openSource returns the connector's source of a catalog source.
func (e *Runner) openSource(oid uint32) (connector.Source, error) {
	e.mu.RLock()
	s := e.sources[oid]
	e.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	o, ok := e.cat.Current().ByOID(oid).(*catalog.Source)
	if !ok {
		return nil, fmt.Errorf("engine: OID %d is not a source", oid)
	}
	s, err := e.makeSource(o)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.sources[oid] = s
	e.mu.Unlock()
	return s, nil
}

func objectID(oid uint32) []byte { return binary.BigEndian.AppendUint32(nil, oid) }

func parseObjectID(b []byte) uint32 {
	if len(b) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}
