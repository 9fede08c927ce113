package state

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

func openDisk(b *testing.B, opt Options) *Store {
	b.Helper()
	opt.Logger = quiet()
	s, err := Open(b.TempDir(), opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// BenchmarkSmallCommit is the commit of an INSERT of one row with one dependent
// view, synced.
func BenchmarkSmallCommit(b *testing.B) {
	for _, nosync := range []bool{false, true} {
		b.Run(fmt.Sprintf("nosync=%v", nosync), func(b *testing.B) {
			s := openDisk(b, Options{NoSync: nosync})
			var took []time.Duration
			val := make([]byte, 64)
			e := types.Epoch(0)
			for b.Loop() {
				e++
				k := binary.BigEndian.AppendUint64(nil, uint64(e)%100000)
				rows, view, d := NewRowBatch(1), NewRowBatch(2), NewDelta()
				rows.Put(k, val)
				view.Add(k, 1)
				d.Writer(1).Put(0, k, val)
				at := time.Now()
				commit(b, s, &Commit{
					Epoch: e, Rows: []*RowBatch{rows, view}, Jobs: []JobDelta{{2, d}},
					Meta: []KV{{[]byte("graph"), k}},
				})
				took = append(took, time.Since(at))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkLargeCommit is an epoch of 100,000 changed rows and as many entries of
// operator state, over 2,000,000 keys.
func BenchmarkLargeCommit(b *testing.B) {
	const n = 100000
	for _, mode := range []string{"keyed", "counts", "delta"} {
		b.Run(mode, func(b *testing.B) {
			s := openDisk(b, Options{})
			val := make([]byte, 32)
			e := types.Epoch(0)
			x := uint64(1)
			var inCommit time.Duration
			for b.Loop() {
				e++
				rows, d := NewRowBatch(1), NewDelta()
				w := d.Writer(1)
				var k [8]byte
				for range n {
					x = x*6364136223846793005 + 1442695040888963407
					binary.BigEndian.PutUint64(k[:], x>>33%2000000)
					switch mode {
					case "keyed":
						rows.Put(k[:], val)
					case "counts":
						rows.Add(k[:], 1)
					default:
						w.Put(int(x>>60), k[:], val)
					}
				}
				at := time.Now()
				commit(b, s, &Commit{Epoch: e, Rows: []*RowBatch{rows}, Jobs: []JobDelta{{2, d}}})
				inCommit += time.Since(at)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/row")
			b.ReportMetric(float64(inCommit.Nanoseconds())/float64(n*b.N), "commit-ns/row")
		})
	}
}

// BenchmarkLoadJob reads back 1,000,000 entries: from deltas, and from a base.
func BenchmarkLoadJob(b *testing.B) {
	for _, folded := range []bool{false, true} {
		b.Run(fmt.Sprintf("folded=%v", folded), func(b *testing.B) {
			opt := Options{FS: vfs.OS(), NoSync: true}
			if folded {
				opt.FoldBytes = 30 << 20
			}
			s := openDisk(b, opt)
			val := make([]byte, 32)
			for e := range 10 {
				d := NewDelta()
				w := d.Writer(1)
				var k [8]byte
				for i := range 100000 {
					binary.BigEndian.PutUint64(k[:], uint64(e*100000+i))
					w.Put(i&255, k[:], val)
				}
				commit(b, s, &Commit{Epoch: types.Epoch(e + 1), Jobs: []JobDelta{{2, d}}})
			}
			if folded {
				s.folds.Wait()
			}
			b.SetBytes(s.JobBytes(2))
			for b.Loop() {
				n := 0
				if err := s.LoadJob(2, func(int, int, []byte, []byte) error { n++; return nil }); err != nil || n != 1000000 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// BenchmarkGet reads rows of 1,000,000 by key.
func BenchmarkGet(b *testing.B) {
	s := openDisk(b, Options{NoSync: true})
	rows := NewRowBatch(1)
	for i := range 1000000 {
		rows.Put(binary.BigEndian.AppendUint64(nil, uint64(i)), make([]byte, 32))
	}
	commit(b, s, &Commit{Epoch: 1, Rows: []*RowBatch{rows}})
	var buf []byte
	x := uint64(1)
	var k [8]byte
	for b.Loop() {
		x = x*6364136223846793005 + 1442695040888963407
		binary.BigEndian.PutUint64(k[:], x>>33%1000000)
		v, ok, err := s.Get(1, k[:], buf)
		if !ok || err != nil {
			b.Fatal(err)
		}
		buf = v
	}
}
