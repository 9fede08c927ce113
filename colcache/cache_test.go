package colcache

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var testTypes = []types.T{types.TInt8, types.TText, types.TInt4}

const (
	keyed state.TableID = 20000
	bag   state.TableID = 20001
)

func table(id state.TableID) Table { return Table{ID: id, Types: testTypes, Bag: id == bag} }

// world is a store with its cache and random changes.
type world struct {
	t     testing.TB
	s     *state.Store
	c     *Cache
	epoch types.Epoch
	mu    sync.Mutex
	// counts are those of the bag, kept when commits do not overlap.
	counts map[string]int64
}

func newWorld(t testing.TB, budget int64, rows, ingest int) *world {
	t.Helper()
	c := New(budget, rows)
	s, err := state.Open("d", state.Options{FS: vfs.NewMem(), Watch: c, IngestBytes: ingest, ReserveBytes: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &world{t: t, s: s, c: c, counts: map[string]int64{}}
}

// change commits random changes of either relation.
func (w *world) change(r *rand.Rand, most int) {
	w.mu.Lock()
	w.epoch++
	m := &state.Commit{Epoch: w.epoch}
	w.mu.Unlock()
	if r.IntN(60) == 0 {
		m.DropTables = append(m.DropTables, keyed)
	}
	row := vec.NewChunk(testTypes, 1)
	rows, counts := state.NewRowBatch(keyed), state.NewRowBatch(bag)
	for range 1 + r.IntN(most) {
		row.Reset()
		k := int64(r.IntN(150))
		row.AppendRow(1, k, fmt.Sprint("v", r.IntN(3)), nil)
		if r.IntN(2) == 0 {
			row.Cols[2].Reset()
			row.Cols[2].AppendDatum(int32(r.IntN(2)))
		}
		key := vec.AppendKey(nil, row, []int{0}, nil, nil, 0)
		if r.IntN(3) == 0 {
			rows.Delete(key)
		} else {
			rows.Put(key, vec.AppendRow(nil, row, nil, 0))
		}
		whole := vec.AppendRow(nil, row, nil, 0)
		n := int64(1 + r.IntN(2))
		if w.counts != nil {
			if had := w.counts[string(whole)]; had > 0 && r.IntN(2) == 0 {
				n = -had
			}
			w.counts[string(whole)] += n
		}
		counts.Add(whole, n)
	}
	m.Rows = []*state.RowBatch{rows, counts}
	if err := w.s.Commit(context.Background(), m); err != nil {
		w.t.Error(err)
	}
}

// check compares a scan by the cache with one of the store alone. between is
// called among the chunks.
func (w *world) check(r *rand.Rand, sn *state.Snapshot, between func()) {
	for _, id := range []state.TableID{keyed, bag} {
		cols := r.Perm(len(testTypes))[:r.IntN(len(testTypes)+1)]
		size := w.c.rows
		var got, want []string
		into := func(out *[]string, f func()) func(*vec.Chunk) error {
			return func(c *vec.Chunk) error {
				if c.Rows > size {
					w.t.Errorf("a chunk of %d rows, not %d", c.Rows, size)
				}
				for i := range c.Rows {
					*out = append(*out, fmt.Sprint(c.Row(i), "*", c.Weight(i)))
				}
				f()
				return nil
			}
		}
		if err := New(0, size).Scan(sn, table(id), cols, into(&want, func() {})); err != nil {
			w.t.Fatal(err)
		}
		if err := w.c.Scan(sn, table(id), cols, into(&got, between)); err != nil {
			w.t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			w.t.Fatalf("relation %d, columns %v: got %d rows %v, want %d rows %v", id, cols, len(got), got, len(want), want)
		}
	}
}

// TestScansSeeTheirSnapshot holds scans of snapshots of all ages, with commits
// between and within them, to what the store itself reads.
func TestScansSeeTheirSnapshot(t *testing.T) {
	for name, budget := range map[string]int64{"ample": 1 << 20, "tight": 9000, "none": 0} {
		for way, ingest := range map[string]int{"batch": 1 << 30, "ingest": 1} {
			rows := []int{1, 3, 8}[len(name)%3]
			t.Run(name+"/"+way, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, 7))
				w := newWorld(t, budget, rows, ingest)
				var open []*state.Snapshot
				rounds := 150
				if ingest == 1 {
					rounds = 40
				}
				for range rounds {
					switch r.IntN(4) {
					case 0:
						w.change(r, 30)
					case 1:
						w.change(r, 1)
					}
					open = append(open, w.s.Snapshot())
					sn := open[r.IntN(len(open))]
					w.check(r, sn, func() {
						if r.IntN(40) == 0 {
							w.change(r, 3)
						}
					})
					if len(open) > 5 {
						k := r.IntN(len(open))
						open[k].Close()
						open = slices.Delete(open, k, k+1)
					}
				}
				if n := w.c.Bytes(); n > budget || budget == 1<<20 && n == 0 {
					t.Errorf("%d of %d bytes are in use", n, budget)
				}
				w.audit()
				for _, sn := range open {
					sn.Close()
				}
			})
		}
	}
}

// TestScansBesideCommits has commits at any moment of a scan.
func TestScansBesideCommits(t *testing.T) {
	w := newWorld(t, 1<<20, 5, 1<<30)
	w.counts = nil
	var writers, readers sync.WaitGroup
	for k := range 2 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(k)))
			for range 200 {
				w.change(r, 1+r.IntN(4))
			}
		})
		readers.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(k)))
			for range 20 {
				sn := w.s.Snapshot()
				for range 3 {
					w.check(r, sn, func() {})
				}
				sn.Close()
			}
		})
	}
	readers.Wait()
	writers.Wait()
	w.audit()
}

// audit checks the books of memory and the order of segments.
func (w *world) audit() {
	w.t.Helper()
	sum := int64(0)
	for _, r := range w.c.rels {
		for i, s := range r.segs {
			if s.dead || i > 0 && (r.segs[i-1].hi == nil || string(r.segs[i-1].hi) > string(s.lo)) {
				w.t.Errorf("segment %d of relation %d is out of place", i, r.id)
			}
			for _, v := range s.cols {
				if v != nil {
					sum += int64(v.MemSize())
				}
			}
		}
	}
	if sum != w.c.Bytes() {
		w.t.Errorf("%d bytes are on the books, %d in use", w.c.Bytes(), sum)
	}
	if len(w.c.flying) > 0 {
		w.t.Errorf("%d commits have not ended", len(w.c.flying))
	}
}

// TestSecondScanReadsNothing checks that the cache serves: with the whole
// relation in it, chunks are lent and not made.
func TestSecondScanReadsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	w := newWorld(t, 1<<20, 4, 1<<30)
	for range 20 {
		w.change(r, 50)
	}
	scan := func() (cols []vec.Vector) {
		sn := w.s.Snapshot()
		defer sn.Close()
		err := w.c.Scan(sn, table(keyed), []int{0, 1}, func(c *vec.Chunk) error {
			cols = append(cols, c.Cols[1])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return cols
	}
	if _, ok := w.c.Rows(keyed); ok {
		t.Error("the rows of a relation that was not read are known")
	}
	scan()
	a, b := scan(), scan()
	rows := 0
	for _, v := range a {
		rows += v.Len()
	}
	if n, ok := w.c.Rows(keyed); !ok || n != int64(rows) {
		t.Errorf("%d rows, %v, of %d", n, ok, rows)
	}
	if !slices.Equal(a, b) || len(a) < 10 {
		t.Fatal("the vectors of the second scan are not those of the third")
	}
	w.change(r, 1)
	if _, ok := w.c.Rows(keyed); ok {
		t.Error("the rows of a relation with a gap are known")
	}
	same := 0
	for _, v := range scan() {
		if slices.Contains(b, v) {
			same++
		}
	}
	if same < len(b)-3 || same == len(b) {
		t.Errorf("after the change of a key %d of %d segments serve", same, len(b))
	}
}

// TestUnchanged compares what the cache says of two snapshots with their rows.
func TestUnchanged(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	w := newWorld(t, 0, 4, 1<<30)
	before := w.s.Snapshot()
	if !w.c.Unchanged(keyed, before.Clock()) {
		t.Error("a relation without commits has changed")
	}
	w.change(r, 5)
	after := w.s.Snapshot()
	if w.c.Unchanged(keyed, before.Clock()) || !w.c.Unchanged(keyed, after.Clock()) || !w.c.Unchanged(bag+1, before.Clock()) {
		t.Error("a commit is not seen, or where it was not")
	}
	m := &state.Commit{DropTables: []state.TableID{keyed}}
	w.c.Begin(m)
	if w.c.Unchanged(keyed, after.Clock()) || !w.c.Unchanged(bag, after.Clock()) {
		t.Error("a commit under way counts for nothing, or for all")
	}
	w.c.End(m, after.Clock()+1)
	if w.c.Unchanged(keyed, after.Clock()) {
		t.Error("a commit that has ended counts for nothing")
	}
	before.Close()
	after.Close()
}
