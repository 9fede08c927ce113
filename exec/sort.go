package exec

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// sortRows orders the rows of a one-off query. Rows with equal keys keep the
// order they came in.
type sortRows struct {
	*opBase
	sort   sorter
	format *rowFormat
	mem    arena
	rows   []sortRow
	batch  rowBatch
	kb     []byte
	out    *rowOutput
	bound  int64  // rows a LIMIT above can take; 0: all
	cut    []byte // sort key from which on rows are beyond the bound; nil: none
}

type sortRow struct {
	prefix uint64 // first bytes of the key, big-endian
	key    ref    // key and row, after the key's length
	weight int64
}

func newSort(p *plan.Sort, b *opBase) (Operator, error) {
	if !b.ctx.Batch {
		return nil, pgerr.Unsupported("ORDER BY of a whole stream", "Order the rows when the view is read, or add a LIMIT.")
	}
	ts := plan.Types(p.Schema())
	s := &sortRows{opBase: b, sort: newSorter(p.Order), format: newRowFormat(ts, allColumns(ts), false)}
	s.out = newRowOutput(s.format, ts, b.ctx.rows())
	return s, nil
}

func (s *sortRows) Push(_ int, c *vec.Chunk, _ Emit) error {
	s.format.encode(&s.batch, c)
	for i := range c.Rows {
		s.kb = s.sort.append(s.kb[:0], c, i)
		if s.cut != nil && bytes.Compare(s.kb, s.cut) >= 0 {
			continue
		}
		row := s.batch.row(i)
		r, p := s.mem.alloc(4 + len(s.kb) + len(row))
		le.PutUint32(p, uint32(len(s.kb)))
		copy(p[4:], s.kb)
		copy(p[4+len(s.kb):], row)
		s.rows = append(s.rows, sortRow{keyPrefix(s.kb), r, c.Weight(i)})
	}
	if s.bound > 0 && int64(len(s.rows)) > 2*s.bound+vec.MaxRows {
		s.prune()
	}
	return s.overBudget(s.mem.held + 24*cap(s.rows))
}

// prune drops the rows that a LIMIT above cannot reach.
func (s *sortRows) prune() {
	s.order()
	n := int64(0)
	for i, r := range s.rows {
		if n += r.weight; n >= s.bound {
			key, _ := s.split(r.key)
			s.cut = bytes.Clone(key)
			s.rows = s.rows[:i+1]
			break
		}
	}
	old := s.mem
	s.mem = arena{}
	for i := range s.rows {
		s.rows[i].key = s.mem.put(old.get(s.rows[i].key))
	}
}

func keyPrefix(k []byte) uint64 {
	var x uint64
	for i := range 8 {
		x <<= 8
		if i < len(k) {
			x |= uint64(k[i])
		}
	}
	return x
}

func (s *sortRows) split(r ref) (key, row []byte) {
	p := s.mem.get(r)
	n := 4 + le.Uint32(p)
	return p[4:n], p[n:]
}

func (s *sortRows) order() {
	slices.SortStableFunc(s.rows, func(a, b sortRow) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		x, _ := s.split(a.key)
		y, _ := s.split(b.key)
		return bytes.Compare(x, y)
	})
}

// Seal emits the rows in order.
func (s *sortRows) Seal(_ types.Epoch, emit Emit) error {
	s.order()
	for _, r := range s.rows {
		_, row := s.split(r.key)
		if err := s.out.add(row, r.weight, emit); err != nil {
			return err
		}
	}
	err := s.out.flush(emit)
	s.rows, s.mem = nil, arena{}
	return err
}

// limit cuts its input in the order it comes; rows of weight n count n times.
type limit struct {
	*opBase
	skip, left int64
	sel        []int32
	diff       []int64
	out        *output
}

func newLimit(p *plan.Limit, b *opBase) (Operator, error) {
	if !b.ctx.Batch {
		return nil, pgerr.Unsupported("LIMIT by arrival in a stream", "Add an ORDER BY.")
	}
	l := &limit{opBase: b, left: math.MaxInt64, out: newOutput(plan.Types(p.Schema()), vec.MaxRows)}
	n, ok, err := limitValue(b, p.Limit)
	if err != nil {
		return nil, err
	}
	if ok {
		if n < 0 {
			return nil, expr.NegativeLimit(false)
		}
		l.left = n
	}
	if l.skip, _, err = limitValue(b, p.Offset); err != nil {
		return nil, err
	}
	if l.skip < 0 {
		return nil, expr.NegativeLimit(true)
	}
	return l, nil
}

// boundSort tells a sort below, perhaps under projections, how many rows it needs
// to keep.
func (l *limit) boundSort(n *treeNode) {
	for {
		switch op := n.op.(type) {
		case *project:
			n = n.kids[0]
		case *sortRows:
			if l.left < math.MaxInt64-l.skip {
				op.bound = max(l.skip+l.left, 1)
			}
			return
		default:
			return
		}
	}
}

// limitValue computes a row count; ok is false for none and NULL.
func limitValue(b *opBase, e expr.Expr) (n int64, ok bool, err error) {
	if e == nil {
		return 0, false, nil
	}
	d, err := expr.EvalConst(b.ctx.Expr, e)
	if err != nil {
		return 0, false, err
	}
	n, ok = d.(int64)
	return n, ok, nil
}

func (l *limit) Push(_ int, c *vec.Chunk, emit Emit) error {
	if l.left == 0 {
		return ErrDone
	}
	l.sel, l.diff = l.sel[:0], l.diff[:0]
	for i := 0; i < c.Rows && l.left > 0; i++ {
		w := c.Weight(i)
		if cut := min(w, l.skip); cut > 0 {
			l.skip -= cut
			w -= cut
		}
		if w = min(w, l.left); w > 0 {
			l.left -= w
			l.sel, l.diff = append(l.sel, int32(i)), append(l.diff, w)
		}
	}
	for k, v := range l.out.c.Cols {
		v.Gather(c.Cols[k], l.sel)
	}
	for _, w := range l.diff {
		l.out.add(w)
	}
	if err := l.out.flush(emit); err != nil {
		return err
	}
	if l.left == 0 {
		return ErrDone
	}
	return nil
}
