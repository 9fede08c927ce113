package state

import (
	"context"
	"fmt"
	"testing"

	"github.com/streamdb/streamdb/internal/vfs"
)

func openMem(t testing.TB, fs vfs.FS, opt Options) *Store {
	t.Helper()
	opt.FS = fs
	s, err := Open("data", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func commit(t testing.TB, s *Store, c *Commit) {
	t.Helper()
	if err := s.Commit(context.Background(), c); err != nil {
		t.Fatal(err)
	}
}

func jobEntries(t testing.TB, s *Store, id JobID) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := s.LoadJob(id, func(op, vnode int, key, val []byte) error {
		k := fmt.Sprintf("%d/%d/%s", op, vnode, key)
		if _, dup := m[k]; dup {
			t.Errorf("key %s twice", k)
		}
		m[k] = string(val)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCommitAndReopen(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs, Options{})
	d := NewDelta()
	d.Writer(3).Put(7, []byte("k"), []byte("v"))
	b := NewRowBatch(10)
	b.Put([]byte("a"), []byte("row"))
	u := NewRowBatch(11)
	u.Add([]byte("r"), 2)
	commit(t, s, &Commit{
		Epoch: 5, Jobs: []JobDelta{{1, d}}, Rows: []*RowBatch{b, u},
		Meta: []KV{{[]byte("m"), []byte("x")}}, Sink: []SinkBatch{{9, []byte("out"), 1}},
	})
	for range 2 {
		if got := s.LastEpoch(); got != 5 {
			t.Fatalf("last epoch %d", got)
		}
		if v, ok, err := s.Get(10, []byte("a"), nil); string(v) != "row" || !ok || err != nil {
			t.Fatalf("%q %v %v", v, ok, err)
		}
		sn := s.Snapshot()
		if n, err := sn.Count(11, []byte("r")); n != 2 || err != nil {
			t.Fatalf("count %d %v", n, err)
		}
		if err := sn.Close(); err != nil {
			t.Fatal(err)
		}
		if v, _, _ := s.MetaGet([]byte("m")); string(v) != "x" {
			t.Fatalf("meta %q", v)
		}
		if m := jobEntries(t, s, 1); len(m) != 1 || m["3/7/k"] != "v" {
			t.Fatalf("%v", m)
		}
		e, err := s.SinkLog(9).Next(0)
		if err != nil || e.Epoch != 5 || string(e.Data[0]) != "out" {
			t.Fatalf("%v %v", e, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openMem(t, fs, Options{})
	}
}
