package state

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

func typesEpoch(e uint64) types.Epoch { return types.Epoch(e) }

func scan(t testing.TB, sn *Snapshot, table TableID, lo, hi []byte) []string {
	t.Helper()
	it, err := sn.Scan(table, lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for it.Next() {
		out = append(out, fmt.Sprintf("%s=%s*%d", it.Key(), it.Val(), it.Count()))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func equal(t testing.TB, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// both runs f with commits as batches and as ingested tables.
func both(t *testing.T, f func(t *testing.T, s *Store)) {
	for name, n := range map[string]int{"batch": 1 << 30, "ingest": 1} {
		t.Run(name, func(t *testing.T) {
			f(t, openMem(t, vfs.NewMem(), Options{Logger: quiet(), IngestBytes: n}))
		})
	}
}

func TestCounts(t *testing.T) {
	both(t, func(t *testing.T, s *Store) {
		add := func(e types.Epoch, drop bool, ws ...int64) {
			b := NewRowBatch(4)
			for i, w := range ws {
				b.Add([]byte{byte('a' + i)}, w)
			}
			c := &Commit{Epoch: e, Rows: []*RowBatch{b}}
			if drop {
				c.DropTables = []TableID{4}
			}
			commit(t, s, c)
		}
		add(1, false, 2, 1, 3)
		before := s.Snapshot()
		defer before.Close()
		add(2, false, -2, 1, -1)
		sn := s.Snapshot()
		equal(t, scan(t, sn, 4, nil, nil), "b=*2", "c=*2")
		equal(t, scan(t, before, 4, nil, nil), "a=*2", "b=*1", "c=*3")
		if n, _ := sn.Count(4, []byte("a")); n != 0 {
			t.Errorf("count %d", n)
		}
		_ = sn.Close()
		add(3, true, 5) // emptied and refilled in one step
		sn = s.Snapshot()
		equal(t, scan(t, sn, 4, nil, nil), "a=*5")
		_ = sn.Close()
		add(4, false, 0, -1)
		sn = s.Snapshot()
		defer sn.Close()
		it, err := sn.Scan(4, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for it.Next() {
		}
		wantCode(t, it.Close(), pgerr.Internal, "count of -1")
	})
}

func TestKeyedRowsAndRanges(t *testing.T) {
	both(t, func(t *testing.T, s *Store) {
		b := NewRowBatch(7)
		for _, k := range []string{"c", "a", "b", "ab", ""} {
			b.Put([]byte(k), []byte("v"+k))
		}
		b.Delete([]byte("b"))
		later := NewRowBatch(7)
		later.Put([]byte("a"), nil)
		other := NewRowBatch(8)
		other.Put([]byte("z"), []byte("z"))
		commit(t, s, &Commit{Epoch: 1, Rows: []*RowBatch{b, other, later}})
		sn := s.Snapshot()
		defer sn.Close()
		equal(t, scan(t, sn, 7, nil, nil), "=v*1", "a=*1", "ab=vab*1", "c=vc*1")
		equal(t, scan(t, sn, 7, []byte("a"), []byte("ab")), "a=*1")
		equal(t, scan(t, sn, 7, []byte("ab"), nil), "ab=vab*1", "c=vc*1")
		equal(t, scan(t, sn, 8, nil, nil), "z=z*1")
		buf := make([]byte, 0, 8)
		v, ok, err := s.Get(7, []byte("c"), buf)
		if string(v) != "vc" || !ok || err != nil || &v[0] != &buf[:1][0] {
			t.Errorf("%q %v %v", v, ok, err)
		}
		if _, ok, err := sn.Get(7, []byte("b")); ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		b.Reset()
		b.Delete([]byte("c"))
		commit(t, s, &Commit{Epoch: 2, Rows: []*RowBatch{b}, DropTables: []TableID{8}})
		after := s.Snapshot()
		defer after.Close()
		equal(t, scan(t, after, 7, nil, nil), "=v*1", "a=*1", "ab=vab*1")
		equal(t, scan(t, after, 8, nil, nil))
		equal(t, scan(t, sn, 8, nil, nil), "z=z*1")
	})
}

// TestManyRows crosses pages and runs.
func TestManyRows(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{Logger: quiet()})
	const n = 3*runLen + 17
	b := NewRowBatch(5)
	for i := range n {
		b.Put(binary.BigEndian.AppendUint64(nil, uint64(i*7919%n)), binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	big := make([]byte, 2*lastPage)
	b.Put([]byte("big"), big)
	if b.Len() != n+1 {
		t.Errorf("len %d", b.Len())
	}
	commit(t, s, &Commit{Epoch: 1, Rows: []*RowBatch{b}})
	sn := s.Snapshot()
	defer sn.Close()
	it, err := sn.Scan(5, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := uint64(0)
	for ; it.Next() && i < n; i++ {
		if k := binary.BigEndian.Uint64(it.Key()); k != i || binary.BigEndian.Uint64(it.Val())*7919%n != i {
			t.Fatalf("row %d: %d", i, k)
		}
	}
	if err := it.Close(); err != nil || i != n {
		t.Errorf("%d rows, %v", i, err)
	}
	if v, ok, _ := s.Get(5, []byte("big"), nil); !ok || len(v) != len(big) {
		t.Errorf("big row: %d bytes", len(v))
	}
}

func TestEpochsOfAJobAscend(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{Logger: quiet()})
	d := NewDelta()
	d.Writer(0).Put(0, []byte("k"), nil)
	commit(t, s, &Commit{Epoch: 5, Jobs: []JobDelta{{1, d}}})
	err := s.Commit(context.Background(), &Commit{Epoch: 5, Jobs: []JobDelta{{1, d}}})
	wantCode(t, err, pgerr.Internal, "not after its last one")
	commit(t, s, &Commit{Epoch: 3})
	if s.LastEpoch() != 5 {
		t.Errorf("last epoch %d", s.LastEpoch())
	}
}
