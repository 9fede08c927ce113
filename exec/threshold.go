package exec

import (
	"bytes"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// threshold keeps its rows in the order of the compared column, so that a change
// of the bound touches only the rows between the old bound and the new one. All
// is settled at Seal, when the bound is known.
type threshold struct {
	*orderedRows
	col     int
	above   bool // rows after the cut pass, not those before it
	closed  bool // rows equal to the bound pass
	bound   *orderedRows
	limit   *vec.Chunk // the bound's row
	cut     cut        // as of the last Seal
	touched []touchedBound
	out     *rowOutput
}

// touchedBound is a row changed in this epoch with the weight it had.
type touchedBound struct {
	id     uint32
	before int64
}

// cut divides the rows by their sort keys: those with keys below key, and, if
// after is set, those equal to it are before the cut. end -1 puts it before all
// rows, 1 behind them.
type cut struct {
	end   int
	key   []byte
	after bool
}

// before reports whether a row with a sort key is before the cut.
func (c *cut) before(key []byte) bool {
	if c.end != 0 {
		return c.end > 0
	}
	d := bytes.Compare(key, c.key)
	return d < 0 || d == 0 && c.after
}

// less orders the cuts of one operator.
func (c *cut) less(d *cut) bool {
	if c.end != 0 || d.end != 0 {
		return c.end < d.end
	}
	return bytes.Compare(c.key, d.key) < 0
}

func newThreshold(p *plan.Threshold, b *opBase) Operator {
	t := &threshold{
		orderedRows: newOrderedRows(b, p.Input, nil, []expr.SortKey{{Col: p.Col}}), col: p.Col,
		above:  p.Op == plan.Greater || p.Op == plan.GreaterEqual,
		closed: p.Op == plan.LessEqual || p.Op == plan.GreaterEqual,
		bound:  newOrderedRows(b, p.Bound, nil, nil),
		limit:  vec.NewChunk(plan.Types(p.Bound.Schema()), 1),
	}
	t.cut = t.nothing(nil)
	t.out = newRowOutput(t.format, plan.Types(p.Input.Schema()), b.ctx.rows())
	return t
}

// nothing is the cut that no row passes; it takes over the memory of key.
func (t *threshold) nothing(key []byte) cut {
	if t.above {
		return cut{end: 1, key: key[:0]}
	}
	return cut{end: -1, key: key[:0]}
}

// passes reports whether a row with a sort key passes a cut.
func (t *threshold) passes(c *cut, key []byte) bool { return c.before(key) != t.above }

// Push takes rows of either input. Those whose compared value is NULL never pass.
func (t *threshold) Push(in int, c *vec.Chunk, _ Emit) error {
	if in == 1 {
		t.bound.pushAll(c)
		return nil
	}
	t.prepare(c)
	for i := range c.Rows {
		w := c.Weight(i)
		if w == 0 || c.Cols[t.col].IsNull(i) {
			continue
		}
		pid := t.partition(i)
		id := t.add(pid, t.rowKey(c, i, pid), w)
		r := t.rows.rec(id)
		if f := le.Uint32(r[ordFlags:]); f&ordChanged == 0 {
			le.PutUint32(r[ordFlags:], f|ordChanged)
			t.touched = append(t.touched, touchedBound{id, t.weight(id) - w})
		}
	}
	return nil
}

// pushAll takes the rows of a chunk.
func (o *orderedRows) pushAll(c *vec.Chunk) {
	o.prepare(c)
	for i := range c.Rows {
		if w := c.Weight(i); w != 0 {
			pid := o.partition(i)
			o.add(pid, o.rowKey(c, i, pid), w)
		}
	}
}

// newCut is the cut of the bound as it is now.
func (t *threshold) newCut() (cut, error) {
	var row []byte
	n, bad := int64(0), false
	t.bound.rows.each(func(id uint32) bool {
		w := t.bound.weight(id)
		bad = bad || w < 0
		if n += w; w > 0 {
			row = t.bound.rowBytes(id)
		}
		return true
	})
	switch {
	case bad:
		return cut{}, t.negative("a bound")
	case n > 1:
		return cut{}, expr.ErrManyRows
	case n == 0:
		return t.nothing(nil), nil
	}
	t.limit.Reset()
	t.bound.format.decode(t.limit, 0, [][]byte{row})
	if t.limit.Rows = 1; t.limit.Cols[0].IsNull(0) {
		return t.nothing(nil), nil
	}
	// Rows equal to the bound are on the side that passes if closed.
	return cut{key: vec.AppendKey(nil, t.limit, []int{0}, t.sort.desc, t.sort.first, 0), after: t.closed != t.above}, nil
}

// Seal emits what the epoch has changed: for the rows that came or went, and for
// those that the bound has passed over.
func (t *threshold) Seal(_ types.Epoch, emit Emit) error {
	old := t.cut
	next, err := t.newCut()
	if err != nil {
		return err
	}
	for _, x := range t.touched {
		w := t.weight(x.id)
		if w < 0 {
			return t.negative("a row")
		}
		key, n := t.sortKey(x.id), int64(0)
		if t.passes(&next, key) {
			n = w
		}
		if t.passes(&old, key) {
			n -= x.before
		}
		if n != 0 {
			if err := t.out.add(t.rowBytes(x.id), n, emit); err != nil {
				return err
			}
		}
	}
	if err := t.move(&old, &next, emit); err != nil {
		return err
	}
	for _, x := range t.touched {
		r := t.rows.rec(x.id)
		le.PutUint32(r[ordFlags:], le.Uint32(r[ordFlags:])&^ordChanged)
	}
	t.touched, t.cut = t.touched[:0], next
	return t.out.flush(emit)
}

// move emits the untouched rows between two cuts.
func (t *threshold) move(from, to *cut, emit Emit) error {
	lo, hi, sign := from, to, int64(1)
	if t.above { // rows that fall before the cut cease to pass
		sign = -1
	}
	if to.less(from) {
		lo, hi, sign = to, from, -sign
	} else if !from.less(to) {
		return nil
	}
	var err error
	pass := func(id uint32) bool {
		key := t.sortKey(id)
		if lo.before(key) {
			return true
		}
		if !hi.before(key) {
			return false
		}
		if le.Uint32(t.rows.rec(id)[ordFlags:])&ordChanged == 0 {
			err = t.out.add(t.rowBytes(id), sign*t.weight(id), emit)
		}
		return err == nil
	}
	t.parts.visit(func(pid uint32) bool { // the only one
		if p := t.parts.rec(pid); lo.end != 0 {
			t.order.scan(p, pass)
		} else {
			t.order.from(p, lo.key, pass)
		}
		return false
	})
	return err
}

// Saved entries: 0 | row of the input, 1 | row of the bound, each as orderedRows
// writes it.

// sideWriter puts a byte before the keys.
type sideWriter struct {
	w    StateWriter
	side byte
	key  []byte
}

func (s *sideWriter) at(key []byte) []byte {
	s.key = append(append(s.key[:0], s.side), key...)
	return s.key
}

func (s *sideWriter) Put(vnode int, key, val []byte)    { s.w.Put(vnode, s.at(key), val) }
func (s *sideWriter) PutNew(vnode int, key, val []byte) { s.w.PutNew(vnode, s.at(key), val) }
func (s *sideWriter) Delete(vnode int, key []byte)      { s.w.Delete(vnode, s.at(key)) }

// Save writes the changed rows of both inputs.
func (t *threshold) Save(w StateWriter) error {
	if err := t.orderedRows.Save(&sideWriter{w: w}); err != nil {
		return err
	}
	return t.bound.Save(&sideWriter{w: w, side: 1})
}

// Load takes back a row of either input. The bound is the one of the last Seal.
func (t *threshold) Load(key, val []byte) (err error) {
	switch {
	case len(key) == 0 || key[0] > 1:
		return errSaved
	case key[0] == 0:
		return t.orderedRows.Load(key[1:], val)
	}
	if err = t.bound.Load(key[1:], val); err == nil {
		t.cut, err = t.newCut()
	}
	return err
}

// StateBytes returns the memory of both inputs.
func (t *threshold) StateBytes() int { return t.orderedRows.StateBytes() + t.bound.StateBytes() }

// Close frees the state.
func (t *threshold) Close() error {
	t.bound.empty()
	return t.orderedRows.Close()
}
