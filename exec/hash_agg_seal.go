package exec

import (
	"bytes"
	"sort"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// aggSeal is the scratch memory of emitting groups.
type aggSeal struct {
	cand   *vec.Chunk // old rows, then new rows
	out    *output
	olds   []groupRow
	news   []groupRow
	sel    []int32
	diff   []int64
	keys   [][]byte
	gone   []ref // display rows to free
	spare  []*dirtyGroups
	failed map[int32]error // candidate -> why it has no result
}

// groupRow is one candidate output row: the number of its group in the dirty
// list, and its record.
type groupRow struct {
	entry int32
	id    uint32
}

// spareDirty is how many dirty lists are kept for the next epoch.
const spareDirty = 64

func (s *aggSeal) init(ts []types.T, max int) {
	s.cand = vec.NewChunk(ts, 0)
	s.out = newOutput(ts, max)
}

// sealGroups emits the net change of the groups of d, and marks them clean.
func (h *hashAgg) sealGroups(d *dirtyGroups, emit Emit) error {
	s := &h.seal
	s.olds, s.news, s.gone, s.failed = s.olds[:0], s.news[:0], s.gone[:0], nil
	for e, id := range d.ids {
		if err := h.candidates(d, e, id); err != nil {
			return err
		}
	}
	s.cand.Reset()
	h.candKeys(d)
	h.candResults(d)
	if err := h.reportFailed(); err != nil {
		return err
	}
	err := h.emitPairs(emit)
	for _, r := range s.gone {
		h.shown.del(r)
	}
	return err
}

// candidates lists the old and the new row of a group, unless they are surely
// the same.
func (h *hashAgg) candidates(d *dirtyGroups, e int, id uint32) error {
	s := &h.seal
	r := h.groups.rec(id)
	w := int64(le.Uint64(r))
	if w < 0 {
		return h.negative("a row of a group")
	}
	var before []byte
	if len(d.before) > 0 {
		before = h.before(d, e)
	}
	h.show(id, r)
	f := le.Uint32(r[groupFlags:])
	visible := w > 0 || h.scalar
	old := before != nil && le.Uint32(before[groupFlags:])&(groupEmitted|groupFailed) != 0
	f &^= groupDirty | groupEmitted | groupFailed
	if old && visible && h.nAcc == 0 && bytes.Equal(before[groupShown:], r[groupShown:]) {
		le.PutUint32(r[groupFlags:], f|le.Uint32(before[groupFlags:])&(groupEmitted|groupFailed))
		return nil
	}
	if visible {
		f |= groupEmitted
		s.news = append(s.news, groupRow{int32(e), id})
	}
	le.PutUint32(r[groupFlags:], f)
	if old {
		s.olds = append(s.olds, groupRow{int32(e), id})
	}
	return nil
}

// before returns the record entry e had before its first change of the epoch.
func (h *hashAgg) before(d *dirtyGroups, e int) []byte {
	return d.before[e*h.groups.payload : (e+1)*h.groups.payload]
}

// candKeys appends the group columns of the candidates.
func (h *hashAgg) candKeys(d *dirtyGroups) {
	s := &h.seal
	if len(h.group) == 0 {
		return
	}
	if h.keys.isInt {
		for _, l := range [2][]groupRow{s.olds, s.news} {
			for _, g := range l {
				appendInt(s.cand.Cols[0], int64(le.Uint64(h.groups.key(g.id))), g.id == h.groups.null)
			}
		}
		return
	}
	s.keys = s.keys[:0]
	for x, l := range [2][]groupRow{s.olds, s.news} {
		for _, g := range l {
			switch {
			case h.safe:
				s.keys = append(s.keys, h.groups.key(g.id))
			case x == 0:
				s.keys = append(s.keys, h.shown.get(ref(le.Uint64(h.before(d, int(g.entry))[groupShown:]))))
			default:
				s.keys = append(s.keys, h.shown.get(ref(le.Uint64(h.groups.rec(g.id)[groupShown:]))))
			}
		}
	}
	h.exact.decode(s.cand, 0, s.keys)
}

// appendInt appends an integer to a vector of any integer kind.
func appendInt(v vec.Vector, x int64, null bool) {
	if null {
		v.AppendNull()
		return
	}
	switch c := v.(type) {
	case *vec.Col[int64]:
		c.Vals = append(c.Vals, x)
	case *vec.Col[int32]:
		c.Vals = append(c.Vals, int32(x))
	case *vec.Col[int16]:
		c.Vals = append(c.Vals, int16(x))
	}
}

// candResults appends the aggregates of the candidates, and notes which have
// none because a result failed.
func (h *hashAgg) candResults(d *dirtyGroups) {
	s := &h.seal
	for k := range h.aggs {
		a := &h.aggs[k]
		v := s.cand.Cols[len(h.group)+k]
		for j, g := range s.olds {
			if a.flat == nil {
				v.AppendFrom(d.accs[a.acc], int(g.entry))
				s.note(j, d.failed[int(g.entry)])
				continue
			}
			before := h.before(d, int(g.entry))
			s.note(j, a.flat.Result(h.ctx.Expr, before[a.off:a.off+a.flat.Size()], v))
			padTo(v, j+1)
		}
		for j, g := range s.news {
			j += len(s.olds)
			if a.flat == nil {
				s.note(j, h.accs.of(g.id)[a.acc].Result(h.ctx.Expr, v))
			} else {
				s.note(j, a.flat.Result(h.ctx.Expr, h.groups.rec(g.id)[a.off:a.off+a.flat.Size()], v))
			}
			padTo(v, j+1)
		}
	}
	s.cand.Rows = len(s.olds) + len(s.news)
}

// note remembers that candidate row j has no result, if err says so.
func (s *aggSeal) note(j int, err error) {
	if err == nil {
		return
	}
	if s.failed == nil {
		s.failed = map[int32]error{}
	}
	s.failed[int32(j)] = err
}

// reportFailed hands groups without a result to RowError, and takes earlier
// reports back.
func (h *hashAgg) reportFailed() error {
	s := &h.seal
	for j := range s.cand.Rows {
		if len(s.failed) == 0 {
			return nil
		}
		failure := s.failed[int32(j)]
		if failure == nil {
			continue
		}
		if h.ctx.RowError == nil {
			return failure
		}
		w := int64(1)
		if j < len(s.olds) {
			w = -1
		}
		switch err := h.ctx.RowError(h.op, s.cand, j, w, failure); err {
		case nil:
		case ErrKeep:
			delete(s.failed, int32(j))
			continue
		default:
			return err
		}
		if w > 0 {
			r := h.groups.rec(s.news[j-len(s.olds)].id)
			le.PutUint32(r[groupFlags:], le.Uint32(r[groupFlags:])&^groupEmitted|groupFailed)
		}
	}
	return nil
}

// emitPairs emits -old +new, adjacent, for every group where they differ.
func (h *hashAgg) emitPairs(emit Emit) error {
	s := &h.seal
	s.sel, s.diff = s.sel[:0], s.diff[:0]
	o := 0
	for n := range s.news {
		g := &s.news[n]
		for ; o < len(s.olds) && s.olds[o].entry < g.entry; o++ {
			h.pair(o, -1)
		}
		if o < len(s.olds) && s.olds[o].entry == g.entry {
			h.pair(o, n)
			o++
		} else {
			h.pair(-1, n)
		}
	}
	for ; o < len(s.olds); o++ {
		h.pair(o, -1)
	}
	for lo := 0; lo < len(s.sel); lo += s.out.max {
		hi := min(lo+s.out.max, len(s.sel))
		for k, v := range s.out.c.Cols {
			v.Gather(s.cand.Cols[k], s.sel[lo:hi])
		}
		for _, w := range s.diff[lo:hi] {
			s.out.add(w)
		}
		if err := s.out.flush(emit); err != nil {
			return err
		}
	}
	return nil
}

// emitLast implements lastRows: the key are the group columns.
func (h *hashAgg) emitLast(key []int) bool {
	h.last = !h.ctx.Batch && sameColumns(key, firstColumns(len(h.group)))
	return h.last
}

// pair selects an old and a new row (-1: none) for emission.
func (h *hashAgg) pair(o, n int) {
	s := &h.seal
	hasOld := o >= 0 && (s.failed == nil || s.failed[int32(o)] == nil)
	hasNew := n >= 0 && (s.failed == nil || s.failed[int32(len(s.olds)+n)] == nil)
	if hasOld && hasNew && sameRow(s.cand, o, len(s.olds)+n) {
		return
	}
	if hasOld && (!hasNew || !h.last) {
		s.sel, s.diff = append(s.sel, int32(o)), append(s.diff, -1)
	}
	if hasNew {
		s.sel, s.diff = append(s.sel, int32(len(s.olds)+n)), append(s.diff, 1)
	}
}

// sameRow reports whether two rows of a chunk are identical.
func sameRow(c *vec.Chunk, i, j int) bool {
	for _, v := range c.Cols {
		if v.IsNull(i) != v.IsNull(j) {
			return false
		}
		if !v.IsNull(i) && !sameValue(v, i, j) {
			return false
		}
	}
	return true
}

func sameValue(v vec.Vector, i, j int) bool {
	switch c := v.(type) {
	case *vec.Col[int64]:
		return c.Vals[i] == c.Vals[j]
	case *vec.Col[int32]:
		return c.Vals[i] == c.Vals[j]
	case *vec.Col[int16]:
		return c.Vals[i] == c.Vals[j]
	case *vec.Col[bool]:
		return c.Vals[i] == c.Vals[j]
	case *vec.Col[float64]:
		return sameFloat(c.Vals[i], c.Vals[j])
	case *vec.Col[float32]:
		return sameFloat(float64(c.Vals[i]), float64(c.Vals[j]))
	case *vec.Col[types.IntervalValue]:
		return c.Vals[i] == c.Vals[j]
	case *vec.Col[types.UUIDValue]:
		return c.Vals[i] == c.Vals[j]
	case *vec.Bytes:
		return bytes.Equal(c.At(i), c.At(j))
	}
	return false
}

// reprs counts how often each representation of a key occurs, smallest first.
type reprs struct {
	rows [][]byte
	n    []int64
}

func (h *hashAgg) repr(id uint32) *reprs {
	r := h.reprs[id]
	if r == nil {
		r = &reprs{}
		h.reprs[id] = r
	}
	return r
}

// add counts a representation; at zero it is forgotten.
func (r *reprs) add(row []byte, w int64) {
	at := sort.Search(len(r.rows), func(i int) bool { return bytes.Compare(r.rows[i], row) >= 0 })
	if at < len(r.rows) && bytes.Equal(r.rows[at], row) {
		if r.n[at] += w; r.n[at] == 0 {
			r.rows = append(r.rows[:at], r.rows[at+1:]...)
			r.n = append(r.n[:at], r.n[at+1:]...)
		}
		return
	}
	r.rows = append(r.rows, nil)
	copy(r.rows[at+1:], r.rows[at:])
	r.rows[at] = bytes.Clone(row)
	r.n = append(r.n, 0)
	copy(r.n[at+1:], r.n[at:])
	r.n[at] = w
}

// shown returns the representation to display: the smallest one there is, which
// does not depend on the history.
func (r *reprs) shown() []byte {
	for i, n := range r.n {
		if n > 0 {
			return r.rows[i]
		}
	}
	return nil
}

// show brings the displayed key of a group up to date. The old one stays until
// the old row has been emitted.
func (h *hashAgg) show(id uint32, r []byte) {
	if h.safe {
		return
	}
	row := h.repr(id).shown()
	cur := ref(le.Uint64(r[groupShown:]))
	if row == nil || cur != 0 && bytes.Equal(h.shown.get(cur), row) {
		return
	}
	if cur != 0 {
		h.seal.gone = append(h.seal.gone, cur)
	}
	le.PutUint64(r[groupShown:], uint64(h.shown.put(row)))
}
