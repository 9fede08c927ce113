package colcache

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Table says how the rows of a relation are stored.
type Table struct {
	ID    state.TableID
	Types []types.T
	// Bag: the key is the row and the value its count; else the value is the row.
	Bag bool
}

// batchSegments is how many new segments are added to the cache in one step.
const batchSegments = 256

// scan is one reading of a relation.
type scan struct {
	c    *Cache
	r    *relation
	sn   *state.Snapshot
	t    Table
	cols []int // columns of the relation to yield
	f    func(*vec.Chunk) error
	n    uint64 // number of the scan

	full bool // nothing more goes into the cache
	made []*segment
	view *vec.Chunk
}

// Scan calls f for the columns cols (each named once) of all rows of a relation,
// in the order of their keys. f borrows the chunks and must not change them.
func (c *Cache) Scan(sn *state.Snapshot, t Table, cols []int, f func(*vec.Chunk) error) error {
	s := &scan{c: c, sn: sn, t: t, cols: cols, f: f, full: c.budget == 0,
		view: &vec.Chunk{Cols: make([]vec.Vector, len(cols))}}
	var at []byte
	for _, seg := range s.begin() {
		if !bytes.Equal(at, seg.lo) {
			if err := s.read(at, seg.lo); err != nil {
				return err
			}
		}
		if err := s.lend(seg); err != nil {
			return err
		}
		if seg.hi == nil {
			return nil
		}
		at = seg.hi
	}
	return s.read(at, nil)
}

// begin returns the segments to lend, in order.
func (s *scan) begin() []*segment {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scans++
	s.n = c.scans
	s.r = c.rels[s.t.ID]
	if s.r == nil || !slices.Equal(s.r.types, s.t.Types) {
		if s.r != nil {
			c.clear(s.r)
		}
		s.r = c.newRelation(s.t)
	}
	for _, k := range s.cols {
		s.r.usedAt[k] = s.n
	}
	segs := make([]*segment, 0, len(s.r.segs))
	for i, seg := range s.r.segs {
		if seg.clock <= s.sn.Clock() && !s.worn(i) {
			segs = append(segs, seg)
		}
	}
	return segs
}

// worn reports whether a segment is small and lies beside a gap: it is read again
// with what is in the gap, so that changes do not break up the cache for good.
func (s *scan) worn(i int) bool {
	segs := s.r.segs
	if segs[i].rows >= s.c.rows/2 {
		return false
	}
	before := i > 0 && bytes.Equal(segs[i-1].hi, segs[i].lo) || i == 0 && len(segs[i].lo) == 0
	after := segs[i].hi == nil || i+1 < len(segs) && bytes.Equal(segs[i].hi, segs[i+1].lo)
	return !before || !after
}

// lend passes a segment on, after reading the columns it lacks.
func (s *scan) lend(seg *segment) error {
	s.c.mu.RLock()
	for i, k := range s.cols {
		s.view.Cols[i] = seg.cols[k]
	}
	s.c.mu.RUnlock()
	if slices.Contains(s.view.Cols, nil) {
		if err := s.complete(seg); err != nil {
			return err
		}
	}
	if seg.rows == 0 {
		return nil
	}
	s.view.Rows, s.view.Diff = seg.rows, seg.diff
	return s.f(s.view)
}

// complete reads the columns that the view of a segment lacks.
func (s *scan) complete(seg *segment) error {
	var cols []int
	for i, v := range s.view.Cols {
		if v == nil {
			cols = append(cols, s.cols[i])
		}
	}
	var got *segment
	err := s.each(cols, seg.lo, seg.hi, seg.rows+1, math.MaxInt, func(c *vec.Chunk, _, _ []byte) error {
		if c.Rows != seg.rows {
			return pgerr.New(pgerr.Internal, "relation %d has %d rows where %d are cached", s.t.ID, c.Rows, seg.rows)
		}
		got = s.keep(c, cols)
		return nil
	})
	if err != nil {
		return err
	}
	for i, k := range s.cols {
		if s.view.Cols[i] == nil {
			s.view.Cols[i] = got.cols[k]
		}
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, k := range cols {
		n := int64(got.cols[k].MemSize())
		if seg.dead || seg.cols[k] != nil || s.full {
			continue
		}
		if s.full = !s.c.reserve(n, s.n); !s.full {
			seg.cols[k] = got.cols[k]
			s.r.bytes[k] += n
		}
	}
	return nil
}

// read passes on the rows with keys in [lo, hi) and makes segments of them.
func (s *scan) read(lo, hi []byte) error {
	err := s.each(s.cols, lo, hi, s.c.rows, vec.SoftBytes, func(c *vec.Chunk, lo, hi []byte) error {
		if !s.full {
			s.add(s.keep(c, s.cols), lo, hi)
		}
		if c.Rows == 0 {
			return nil
		}
		return s.f(c)
	})
	s.flush()
	return err
}

// each calls f for the rows with keys in [lo, hi) in chunks of some rows or bytes,
// which it borrows, and the range of each chunk; once at least.
func (s *scan) each(cols []int, lo, hi []byte, rows, bytes int, f func(c *vec.Chunk, lo, hi []byte) error) error {
	it, err := s.sn.Scan(s.t.ID, lo, hi)
	if err != nil {
		return err
	}
	defer it.Close()
	read := vec.NewRowReader(s.t.Types, cols)
	ts := make([]types.T, len(cols))
	for i, k := range cols {
		ts[i] = s.t.Types[k]
	}
	c := vec.NewChunk(ts, rows)
	size := 0
	for it.Next() {
		if c.Rows == rows || size > bytes {
			next := slices.Clone(it.Key())
			if err := f(c, lo, next); err != nil {
				return err
			}
			c.Reset()
			lo, size = next, 0
		}
		w, row := int64(1), it.Val()
		if s.t.Bag {
			w, row = it.Count(), it.Key()
		}
		size += len(row)
		if err := read.Read(c, row); err != nil {
			return fmt.Errorf("relation %d: %w", s.t.ID, err)
		}
		c.AddWeight(w)
	}
	if err := it.Err(); err != nil {
		return err
	}
	return f(c, lo, hi)
}

// keep copies a chunk of some columns.
func (s *scan) keep(c *vec.Chunk, cols []int) *segment {
	seg := &segment{rows: c.Rows, diff: slices.Clone(c.Diff), clock: s.sn.Clock(), cols: make([]vec.Vector, len(s.t.Types))}
	for i, k := range cols {
		v := vec.New(s.t.Types[k], c.Rows)
		v.AppendRange(c.Cols[i], 0, c.Rows)
		seg.cols[k] = v
	}
	return seg
}

// add keeps a segment for the cache if there is room for it.
func (s *scan) add(seg *segment, lo, hi []byte) {
	n := int64(0)
	for _, v := range seg.cols {
		if v != nil {
			n += int64(v.MemSize())
		}
	}
	s.c.mu.Lock()
	s.full = !s.c.reserve(n, s.n)
	s.c.mu.Unlock()
	if s.full {
		return
	}
	seg.lo, seg.hi = lo, hi
	if s.made = append(s.made, seg); len(s.made) == batchSegments {
		s.flush()
	}
}

// flush puts what was read into the cache.
func (s *scan) flush() {
	s.c.install(s.r, s.made)
	s.made = nil
}
