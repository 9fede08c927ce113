package state

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

// quiet drops the log.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// graphModel is what the store must hold for one graph: two keyed relations, one
// without a key, a meta space, two jobs and a sink.
type graphModel struct {
	id   uint32
	rng  *rand.Rand
	keep map[types.Epoch]*graphState
	cur  *graphState

	mu      sync.Mutex
	started types.Epoch // newest epoch whose Commit was called
	acked   types.Epoch // newest epoch whose Commit returned
}

type graphState struct {
	rows   map[string]string // "table/key" -> value
	counts map[string]int64
	meta   map[string]string
	ops    map[string]string // "job/op/vnode/key" -> value
	sink   map[types.Epoch]string
}

func (g *graphState) clone() *graphState {
	return &graphState{maps.Clone(g.rows), maps.Clone(g.counts), maps.Clone(g.meta), maps.Clone(g.ops), maps.Clone(g.sink)}
}

func newGraphModel(id uint32, seed uint64) *graphModel {
	g := &graphModel{id: id * 100, rng: rand.New(rand.NewPCG(seed, uint64(id))), keep: map[types.Epoch]*graphState{}}
	g.cur = &graphState{map[string]string{}, map[string]int64{}, map[string]string{}, map[string]string{}, map[types.Epoch]string{}}
	g.keep[0] = g.cur.clone()
	return g
}

func (g *graphModel) bytes(max int) []byte {
	return bytes.Repeat([]byte{byte('a' + g.rng.IntN(26))}, g.rng.IntN(max))
}

// step makes a random commit and applies it to the model.
func (g *graphModel) step(e types.Epoch) *Commit {
	c := &Commit{Epoch: e}
	g.drops(c)
	big := g.rng.IntN(4) == 0
	n := 1 + g.rng.IntN(6)
	if big {
		n = 100
	}
	g.tables(c, n)
	g.operators(c, n)
	key := fmt.Sprintf("%d-m%d", g.id, g.rng.IntN(5))
	if g.rng.IntN(3) == 0 {
		c.Meta = append(c.Meta, KV{Key: []byte(key)})
		delete(g.cur.meta, key)
	} else {
		c.Meta = append(c.Meta, KV{[]byte(key), []byte("x")}, KV{[]byte(key), []byte(fmt.Sprint(e))})
		g.cur.meta[key] = fmt.Sprint(e)
	}
	if g.rng.IntN(2) == 0 {
		a, b := g.bytes(90), g.bytes(90)
		c.Sink = []SinkBatch{{g.id + 6, a, 1}, {g.id + 6, b, 1}}
		g.cur.sink[e] = string(a) + "|" + string(b)
	}
	mark := fmt.Sprintf("%d-epoch", g.id)
	c.Meta = append(c.Meta, KV{[]byte(mark), []byte(fmt.Sprint(e))})
	g.cur.meta[mark] = fmt.Sprint(e)
	g.mu.Lock()
	g.keep[e] = g.cur.clone()
	g.started = e
	g.mu.Unlock()
	return c
}

func (g *graphModel) drops(c *Commit) {
	if g.rng.IntN(12) == 0 {
		t := g.id + 1 + uint32(g.rng.IntN(3))
		c.DropTables = []TableID{t}
		deletePrefix(g.cur.rows, fmt.Sprintf("%d/", t))
		deletePrefix(g.cur.counts, fmt.Sprintf("%d/", t))
	}
	if g.rng.IntN(15) == 0 {
		c.DropJobs = []JobID{g.id + 4 + uint32(g.rng.IntN(3))}
		deletePrefix(g.cur.ops, fmt.Sprintf("%d/", c.DropJobs[0]))
		if c.DropJobs[0] == g.id+6 {
			clear(g.cur.sink)
		}
	}
}

func deletePrefix[V any](m map[string]V, prefix string) {
	maps.DeleteFunc(m, func(k string, _ V) bool { return len(k) >= len(prefix) && k[:len(prefix)] == prefix })
}

func (g *graphModel) tables(c *Commit, n int) {
	for t := g.id + 1; t <= g.id+2; t++ {
		b := NewRowBatch(t)
		for range n {
			k := fmt.Sprintf("k%d", g.rng.IntN(60))
			mk := fmt.Sprintf("%d/%s", t, k)
			if g.rng.IntN(3) == 0 {
				b.Delete([]byte(k))
				delete(g.cur.rows, mk)
			} else {
				v := g.bytes(40)
				b.Put([]byte(k), v)
				g.cur.rows[mk] = string(v)
			}
		}
		c.Rows = append(c.Rows, b)
	}
	u, u2 := NewRowBatch(g.id+3), NewRowBatch(g.id+3)
	for range n {
		k := fmt.Sprintf("row%d", g.rng.IntN(30))
		mk := fmt.Sprintf("%d/%s", g.id+3, k)
		w := int64(g.rng.IntN(5) - 2)
		w = max(w, -g.cur.counts[mk])
		if g.cur.counts[mk] += w; g.cur.counts[mk] == 0 {
			delete(g.cur.counts, mk)
		}
		u.Add([]byte(k), w+7) // only the net of both batches counts
		u2.Add([]byte(k), -7)
	}
	c.Rows = append(c.Rows, u, u2)
}

func (g *graphModel) operators(c *Commit, n int) {
	for j := g.id + 4; j <= g.id+5; j++ {
		if g.rng.IntN(3) == 0 {
			continue
		}
		d := NewDelta()
		ws := []*DeltaWriter{d.Writer(1), d.Writer(2)}
		for range n {
			op, vn, k := g.rng.IntN(2), g.rng.IntN(3), fmt.Sprintf("s%d", g.rng.IntN(25))
			mk := fmt.Sprintf("%d/%d/%d/%s", j, op+1, vn, k)
			if g.rng.IntN(3) == 0 {
				ws[op].Delete(vn, []byte(k))
				delete(g.cur.ops, mk)
			} else {
				v := g.bytes(30)
				if _, there := g.cur.ops[mk]; !there && g.rng.IntN(2) == 0 {
					ws[op].PutNew(vn, []byte(k), v)
				} else {
					ws[op].Put(vn, []byte(k), v)
				}
				g.cur.ops[mk] = string(v)
			}
		}
		c.Jobs = append(c.Jobs, JobDelta{j, d})
	}
}

// read collects what the store holds for the graph.
func (g *graphModel) read(t testing.TB, s *Store) *graphState {
	t.Helper()
	st := &graphState{map[string]string{}, map[string]int64{}, map[string]string{}, map[string]string{}, map[types.Epoch]string{}}
	sn := s.Snapshot()
	defer sn.Close()
	for tb := g.id + 1; tb <= g.id+3; tb++ {
		it, err := sn.Scan(tb, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for it.Next() {
			k := fmt.Sprintf("%d/%s", tb, it.Key())
			if tb == g.id+3 {
				st.counts[k] = it.Count()
			} else {
				st.rows[k] = string(it.Val())
			}
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	err := sn.MetaScan([]byte(fmt.Sprintf("%d-", g.id)), func(k, v []byte) error {
		st.meta[string(k)] = string(v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for j := g.id + 4; j <= g.id+5; j++ {
		for k, v := range jobEntries(t, s, j) {
			st.ops[fmt.Sprintf("%d/%s", j, k)] = v
		}
	}
	log := s.SinkLog(g.id + 6)
	for after := types.Epoch(0); ; {
		e, err := log.Next(after)
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return st
		}
		st.sink[e.Epoch] = string(bytes.Join(e.Data, []byte("|")))
		after = e.Epoch
	}
}

// check compares the store with the model at the graph's recovered epoch, which
// must be acked or one that was being committed.
func (g *graphModel) check(t testing.TB, s *Store, acked, started types.Epoch) {
	t.Helper()
	got := g.read(t, s)
	var e types.Epoch
	_, _ = fmt.Sscan(got.meta[fmt.Sprintf("%d-epoch", g.id)], &e)
	if e < acked || e > started {
		t.Fatalf("graph %d recovered epoch %d, acknowledged %d, started %d", g.id, e, acked, started)
	}
	g.mu.Lock()
	want := g.keep[e]
	g.mu.Unlock()
	diff(t, "rows", want.rows, got.rows)
	diff(t, "counts", want.counts, got.counts)
	diff(t, "meta", want.meta, got.meta)
	diff(t, "operator state", want.ops, got.ops)
	diff(t, "sink", want.sink, got.sink)
}

func diff[K, V comparable](t testing.TB, what string, want, got map[K]V) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s %v: want %v, got %v %v", what, k, v, g, ok)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s %v: unexpected %v", what, k, v)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// tiny makes every path run with little data.
func tiny(rng *rand.Rand) Options {
	return Options{
		Logger: quiet(), MemTableBytes: 64 << 10, InlineBytes: 300 + rng.IntN(2000), InlineTotal: 2000,
		IngestBytes: 1 + rng.IntN(4000), FoldBytes: 3000 + int64(rng.IntN(3000)), SegmentBytes: 400, SweepRows: 50,
	}
}

// TestCrashes runs two graphs at once, takes images of what a crash would leave
// before random file system operations, and recovers each.
func TestCrashes(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { crashRun(t, seed) })
	}
}

type crashImage struct {
	fs             *vfs.CrashFS
	acked, started [2]types.Epoch
}

func crashRun(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 99))
	mem := vfs.NewCrashableMem()
	graphs := [2]*graphModel{newGraphModel(1, seed), newGraphModel(2, seed)}
	var mu sync.Mutex
	var images []crashImage
	ops := 0
	next := 40
	fs := vfs.WithFaults(mem, func(vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if ops++; ops < next || len(images) >= 15 {
			return nil
		}
		next = ops + 10 + rng.IntN(150)
		var im crashImage
		for i, g := range graphs {
			g.mu.Lock()
			im.acked[i] = g.acked
			g.mu.Unlock()
		}
		im.fs = vfs.CrashClone(mem, rng.IntN(3)*50, rand.New(rand.NewPCG(seed, uint64(ops))))
		for i, g := range graphs {
			g.mu.Lock()
			im.started[i] = g.started
			g.mu.Unlock()
		}
		images = append(images, im)
		return nil
	})
	s := openMem(t, fs, tiny(rng))
	var epoch atomic.Uint64
	var wg sync.WaitGroup
	for _, g := range graphs {
		wg.Go(func() { runGraph(t, s, g, &epoch, 60) })
	}
	wg.Wait()
	for _, g := range graphs {
		g.check(t, s, g.acked, g.started)
	}
	if st := s.Stats(); st.Ingests == 0 || st.Ingests == st.Commits || st.Folds == 0 || st.Swept == 0 || st.FoldErrors != 0 {
		t.Errorf("not every path ran well: %+v", st)
	}
	if len(images) < 10 {
		t.Errorf("only %d crashes", len(images))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, im := range images {
		r := openMem(t, im.fs, tiny(rng))
		for i, g := range graphs {
			g.check(t, r, im.acked[i], im.started[i])
		}
		// The recovered store goes on.
		commit(t, r, &Commit{Epoch: r.LastEpoch() + 1000, Meta: []KV{{[]byte("after"), []byte("crash")}}})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func runGraph(t *testing.T, s *Store, g *graphModel, epoch *atomic.Uint64, n int) {
	for range n {
		e := types.Epoch(epoch.Add(1))
		if err := s.Commit(context.Background(), g.step(e)); err != nil {
			t.Errorf("commit: %v", err)
			return
		}
		g.mu.Lock()
		g.acked = e
		g.mu.Unlock()
	}
}

// TestModelReopen closes and reopens between commits.
func TestModelReopen(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 5))
		fs := vfs.NewMem()
		g := newGraphModel(1, 1000+seed)
		e := types.Epoch(0)
		for range 8 {
			s := openMem(t, fs, tiny(rng))
			for range 12 {
				e++
				commit(t, s, g.step(e))
				g.check(t, s, e, e)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestExport copies the store while two graphs commit, and checks each copy, and
// that a copy goes its own way.
func TestExport(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	fs := vfs.NewMem()
	s := openMem(t, fs, tiny(rng))
	graphs := [2]*graphModel{newGraphModel(1, 77), newGraphModel(2, 77)}
	var epoch atomic.Uint64
	var wg sync.WaitGroup
	for _, g := range graphs {
		wg.Go(func() { runGraph(t, s, g, &epoch, 80) })
	}
	var bounds [8][4]types.Epoch
	for i := range bounds {
		for j, g := range graphs {
			g.mu.Lock()
			bounds[i][j] = g.acked
			g.mu.Unlock()
		}
		if err := s.Export(fmt.Sprintf("copy%d", i)); err != nil {
			t.Fatal(err)
		}
		for j, g := range graphs {
			g.mu.Lock()
			bounds[i][2+j] = g.started
			g.mu.Unlock()
		}
	}
	wg.Wait()
	if err := s.Export("copy0"); err == nil {
		t.Error("an export over another one succeeded")
	}
	for i, b := range bounds {
		opt := tiny(rng)
		opt.FS = fs
		c, err := Open(fmt.Sprintf("copy%d", i), opt)
		if err != nil {
			t.Fatal(err)
		}
		for j, g := range graphs {
			g.check(t, c, b[j], b[2+j])
		}
		commit(t, c, &Commit{Epoch: c.LastEpoch() + 1, DropTables: []TableID{101, 103, 201}, DropJobs: []JobID{104, 106, 205}})
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range graphs {
		g.check(t, s, g.acked, g.started)
	}
}
