package state

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

// until polls for at most ten seconds.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// churn rewrites the same 50 keys and deletes one more in every epoch.
func churn(t *testing.T, s *Store, e types.Epoch) {
	t.Helper()
	d := NewDelta()
	w := d.Writer(2)
	for i := range 50 {
		w.Put(i, []byte("key"), []byte(fmt.Sprintf("%d at %d", i, e)))
	}
	w.Put(0, []byte(fmt.Sprint(e)), []byte("short-lived"))
	w.Delete(0, []byte(fmt.Sprint(e-1)))
	commit(t, s, &Commit{Epoch: e, Jobs: []JobDelta{{1, d}}})
}

func checkChurn(t *testing.T, s *Store, e types.Epoch) {
	t.Helper()
	m := jobEntries(t, s, 1)
	if len(m) != 51 || m["2/7/key"] != fmt.Sprintf("7 at %d", e) || m[fmt.Sprintf("2/0/%d", e)] == "" {
		t.Errorf("after epoch %d: %d entries, %q", e, len(m), m["2/7/key"])
	}
}

func TestFoldKeepsUpWithCommits(t *testing.T) {
	fs := vfs.NewMem()
	opt := Options{Logger: quiet(), InlineBytes: 100, FoldBytes: 8000}
	s := openMem(t, fs, opt)
	var wg sync.WaitGroup
	var done atomic.Bool
	var newest atomic.Uint64
	wg.Go(func() { // loads see a whole state whatever folds do
		for !done.Load() {
			before := newest.Load()
			m := map[string]string{}
			err := s.LoadJob(1, func(op, vnode int, key, val []byte) error {
				m[fmt.Sprint(vnode, string(key))] = string(val)
				return nil
			})
			if err != nil || before > 0 && len(m) != 51 {
				t.Errorf("%d entries, %v", len(m), err)
				return
			}
		}
	})
	const last = 300
	for e := types.Epoch(1); e <= last; e++ {
		churn(t, s, e)
		newest.Store(uint64(e))
	}
	done.Store(true)
	wg.Wait()
	checkChurn(t, s, last)
	until(t, "a fold", func() bool { return s.Stats().Folds > 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs, opt)
	checkChurn(t, s, last)
	if n := s.JobBytes(1); n > 300*1000 {
		t.Errorf("the log has %d bytes", n)
	}
}

func TestFoldFailsAndIsTriedAgain(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	fs := vfs.WithFaults(vfs.NewMem(), func(op vfs.Op) error {
		if full.Load() && strings.HasSuffix(op.Path, ".base") && op.Kind == vfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	})
	s := openMem(t, fs, Options{Logger: quiet(), InlineBytes: 100, FoldBytes: 8000})
	e := types.Epoch(0)
	step := func(ok func(Stats) bool) func() bool {
		return func() bool {
			e++
			churn(t, s, e)
			return ok(s.Stats())
		}
	}
	until(t, "a failing fold", step(func(st Stats) bool { return st.FoldErrors > 0 }))
	checkChurn(t, s, e)
	full.Store(false)
	until(t, "a fold", step(func(st Stats) bool { return st.Folds > 0 }))
	checkChurn(t, s, e)
}

func TestDroppedJobIsNotResurrectedByAFold(t *testing.T) {
	gate := make(chan struct{})
	reached := make(chan struct{})
	var once sync.Once
	fs := vfs.WithFaults(vfs.NewMem(), func(op vfs.Op) error {
		if strings.HasSuffix(op.Path, ".base") && op.Kind == vfs.OpFileWrite {
			once.Do(func() { close(reached) })
			<-gate
		}
		return nil
	})
	s := openMem(t, fs, Options{Logger: quiet(), InlineBytes: 100, FoldBytes: 2000})
	for e := types.Epoch(1); e <= 5; e++ {
		churn(t, s, e) // while a fold stands still
	}
	<-reached
	commit(t, s, &Commit{Epoch: 6, DropJobs: []JobID{1}})
	close(gate)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs, Options{Logger: quiet()})
	if m := jobEntries(t, s, 1); len(m) != 0 {
		t.Errorf("%d entries", len(m))
	}
	if names, _ := fs.List("data/log"); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestSweepFreesDeadRows(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{Logger: quiet(), SweepRows: 100})
	e := types.Epoch(0)
	until(t, "a sweep", func() bool {
		e++
		b := NewRowBatch(3)
		for i := range 40 {
			b.Add([]byte(fmt.Sprintf("%d-%d", e, i)), 1)
			if e > 1 {
				b.Add([]byte(fmt.Sprintf("%d-%d", e-1, i)), -1)
			}
		}
		commit(t, s, &Commit{Epoch: e, Rows: []*RowBatch{b}})
		return s.Stats().Swept > 500
	})
	sn := s.Snapshot()
	defer sn.Close()
	if rows := scan(t, sn, 3, nil, nil); len(rows) != 40 {
		t.Errorf("%d rows", len(rows))
	}
}

// A fold deletes the segments it has read, so no commit may go on writing to one
// of them.
func TestFoldLeavesNoSegmentOpen(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{Logger: quiet(), InlineBytes: 1, FoldBytes: 1 << 40})
	var wg sync.WaitGroup
	var newest atomic.Uint64
	wg.Go(func() {
		for e := range types.Epoch(300) {
			churn(t, s, e+1)
			newest.Store(uint64(e) + 1)
		}
	})
	j := s.job(1)
	for range 4 { // with a queue for it, the lock goes to another one in between
		wg.Go(func() {
			for newest.Load() < 300 {
				j.mu.Lock()
				time.Sleep(10 * time.Microsecond)
				j.mu.Unlock()
			}
		})
	}
	for newest.Load() < 300 && !t.Failed() {
		v, err := s.foldView(j)
		if err != nil {
			t.Fatal(err)
		}
		j.mu.Lock()
		for _, f := range v.desc.segs {
			if j.out.f != nil && j.out.no == f.no {
				t.Errorf("segment %d is in the fold's view and still written to", f.no)
			}
		}
		j.mu.Unlock()
	}
	wg.Wait()
}

// State that only grows is never folded, and loads as it was written; once half of
// it is garbage it is.
func TestFoldOnlyGarbage(t *testing.T) {
	fs := vfs.NewMem()
	opt := Options{Logger: quiet(), InlineBytes: 100, FoldBytes: 2000}
	s := openMem(t, fs, opt)
	e := types.Epoch(0)
	epoch := func(f func(w *DeltaWriter)) {
		t.Helper()
		e++
		d := NewDelta()
		f(d.Writer(2))
		commit(t, s, &Commit{Epoch: e, Jobs: []JobDelta{{1, d}}})
	}
	key := func(i int) []byte { return fmt.Appendf(nil, "key %d", i) }
	const n = 1000
	for i := range n {
		epoch(func(w *DeltaWriter) { w.PutNew(i&7, key(i), make([]byte, 40)) })
	}
	s.folds.Wait()
	if got := s.stats.folds.Load(); got != 0 {
		t.Errorf("%d folds of state that only grew", got)
	}
	// What is garbage is known after a restart too.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs, opt)
	if m := jobEntries(t, s, 1); len(m) != n {
		t.Errorf("%d entries, want %d", len(m), n)
	}
	for i := range n * 9 / 10 {
		epoch(func(w *DeltaWriter) { w.Delete(i&7, key(i)) })
		if i%9 == 0 {
			epoch(func(w *DeltaWriter) { w.PutNew(i&7, key(i), []byte("again")) })
		}
	}
	s.folds.Wait()
	if s.stats.folds.Load() == 0 {
		t.Error("no fold although most entries are gone")
	}
	m := jobEntries(t, s, 1)
	if want := n/10 + n/10; len(m) != want || m["2/1/key 9"] != "again" {
		t.Errorf("%d entries, want %d; %q", len(m), want, m["2/1/key 9"])
	}
}

// Records of version 1, whose entries were not said to be fresh, are still read.
func TestReadVersion1(t *testing.T) {
	b := make([]byte, recordHeader)
	for _, e := range []struct {
		head     uint64
		key, val string
	}{{5 << 1, "a", "x"}, {65535<<1 | 1, "b", ""}, {0, "c", "y"}} {
		b = append(binary.AppendUvarint(b, e.head), byte(len(e.key)))
		b = append(b, e.key...)
		if e.head&1 == 0 {
			b = append(append(b, byte(len(e.val))), e.val...)
		}
	}
	finishRecord(b, 9, 4)
	b[20] = 1
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	r, _, err := decodeRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for p := r.payload; len(p) > 0; {
		var e entry
		if e, p, err = r.nextEntry(p); err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%d %v %v %s=%s;", e.vnode, e.deleted, e.fresh, e.key, e.val)
	}
	if want := "5 false false a=x;65535 true false b=;0 false false c=y;"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
