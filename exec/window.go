package exec

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// window computes window functions. Rows are kept per partition in order. At Seal
// the rows whose values the epoch's changes can reach are computed as they were
// and as they are, and the difference is emitted (see window_reach.go).
type window struct {
	*orderedRows
	funcs   []windowFunc
	reaches []windowReach
	part    *partition
	changed []uint32 // rows; ordScratch is their weight before the epoch
	ids     []uint32
	failed  error // of a value that bounds a frame
	// fromStart: some function reaches back to the start of the partition.
	fromStart bool
	marks     map[uint32]*windowMark // by partition
	changes   *consolidator
	out       *rowOutput
	direct    *output
}

// windowFunc computes one function for every row of a partition, or of a part of
// one that has all that the rows of interest reach.
type windowFunc interface {
	compute(c *expr.Ctx, p *partition, dst vec.Vector) error
	reach() windowReach
}

// partition is a partition in order, every copy of a row by itself.
type partition struct {
	rows   *vec.Chunk // the input's columns
	sort   [][]byte   // sort keys
	group  []int      // number of the peer group of each row
	starts []int      // first row of each peer group, and the number of rows
	enc    [][]byte
	out    *vec.Chunk
	from   *windowMark // what is before the rows; nil: nothing, or nothing of interest
}

// passed returns how many rows and peer groups there are before the rows at hand.
func (p *partition) passed() (rows, groups int) {
	if p.from == nil {
		return 0, 0
	}
	return p.from.rows, p.from.groups
}

func newWindow(p *plan.Window, b *opBase) (Operator, error) {
	ts := plan.Types(p.Input.Schema())
	w := &window{orderedRows: newOrderedRows(b, p.Input, p.Partition, p.Order)}
	for _, f := range p.Funcs {
		fn, err := newWindowFunc(b, p, f, ts)
		if err != nil {
			return nil, err
		}
		w.funcs, w.reaches = append(w.funcs, fn), append(w.reaches, fn.reach())
	}
	for _, r := range w.reaches {
		w.fromStart = w.fromStart || r.back.kind == endAll
	}
	outTypes := plan.Types(p.Out)
	w.part = &partition{rows: vec.NewChunk(ts, 0), out: vec.NewChunk(outTypes, 0)}
	w.changes = newConsolidator(outTypes)
	w.out = newRowOutput(w.changes.format, outTypes, b.ctx.rows())
	w.direct = newOutput(outTypes, b.ctx.rows())
	return w, nil
}

func (w *window) Push(_ int, c *vec.Chunk, _ Emit) error {
	w.prepare(c)
	for i := range c.Rows {
		n := c.Weight(i)
		if n == 0 {
			continue
		}
		pid := w.partition(i)
		id := w.add(pid, w.rowKey(c, i, pid), n)
		if r := w.rows.rec(id); !w.ctx.Batch && le.Uint32(r[ordFlags:])&ordChanged == 0 {
			le.PutUint32(r[ordFlags:], le.Uint32(r[ordFlags:])|ordChanged)
			le.PutUint64(r[ordScratch:], le.Uint64(r[ordWeight:])-uint64(n))
			w.changed = append(w.changed, id)
		}
	}
	if w.ctx.Budget > 0 {
		return w.overBudget(w.StateBytes())
	}
	return nil
}

// before is the weight of a row at the last Seal.
func (w *window) before(id uint32) int64 {
	r := w.rows.rec(id)
	if le.Uint32(r[ordFlags:])&ordChanged != 0 {
		return int64(le.Uint64(r[ordScratch:]))
	}
	return int64(le.Uint64(r[ordWeight:]))
}

// compute makes w.part.out the output of rows in order, each as often as weight
// says. It returns the place of the first copy of a row not before from and that
// behind the last copy of one not behind to, which are places in ids.
func (w *window) compute(ids []uint32, weight func(id uint32) int64, from, to int) (lo, hi int, err error) {
	p := w.part
	p.rows.Reset()
	p.out.Reset()
	p.enc, p.sort = p.enc[:0], p.sort[:0]
	p.group, p.starts = p.group[:0], p.starts[:0]
	for at, id := range ids {
		if at == from {
			lo = len(p.enc)
		}
		n := weight(id)
		if n < 0 {
			return 0, 0, w.negative("a row")
		}
		for range n {
			p.enc = append(p.enc, w.rowBytes(id))
			p.sort = append(p.sort, w.sortKey(id))
		}
		if at == to {
			hi = len(p.enc)
		}
	}
	w.format.decode(p.rows, 0, p.enc)
	p.rows.Rows = len(p.enc)
	for i, k := range p.sort {
		if i == 0 || !bytes.Equal(k, p.sort[i-1]) {
			p.starts = append(p.starts, i)
		}
		p.group = append(p.group, len(p.starts)-1)
	}
	p.starts = append(p.starts, len(p.enc))
	if p.rows.Rows == 0 {
		return 0, 0, nil
	}
	n := len(p.rows.Cols)
	for k, v := range p.rows.Cols {
		p.out.Cols[k].AppendRange(v, 0, p.rows.Rows)
	}
	for k, f := range w.funcs {
		if err := f.compute(w.ctx.Expr, p, p.out.Cols[n+k]); err != nil {
			return 0, 0, err
		}
	}
	p.out.Rows = p.rows.Rows
	return lo, hi, nil
}

// Seal emits the difference that the epoch's changes make.
func (w *window) Seal(_ types.Epoch, emit Emit) error {
	if w.ctx.Batch {
		return w.sealBatch(emit)
	}
	// A row's key begins with its partition, then comes its place in it.
	slices.SortFunc(w.changed, func(a, b uint32) int { return bytes.Compare(w.rows.key(a), w.rows.key(b)) })
	for lo := 0; lo < len(w.changed); {
		pid := le.Uint32(w.rows.rec(w.changed[lo])[ordPart:])
		hi := lo + 1
		for hi < len(w.changed) && le.Uint32(w.rows.rec(w.changed[hi])[ordPart:]) == pid {
			hi++
		}
		if err := w.sealPart(pid, w.changed[lo:hi]); err != nil {
			return err
		}
		lo = hi
	}
	err := w.changes.each(func(id uint32, n int64) error {
		return w.out.add(w.changes.rows.key(id), n, emit)
	})
	if err == nil {
		err = w.out.flush(emit)
	}
	w.changes.reset()
	for _, id := range w.changed {
		r := w.rows.rec(id)
		le.PutUint32(r[ordFlags:], le.Uint32(r[ordFlags:])&^ordChanged)
	}
	w.changed = w.changed[:0]
	return err
}

// difference counts what the rows from a to b were out of the epoch's changes and
// what they are into them. The rows from s to e are all that they reach, besides
// those before the mark, which is at s.
func (w *window) difference(pid uint32, from *windowMark, s, a, b, e uint32) error {
	w.part.from = from
	w.ids = append(w.ids[:0], s)
	first, last := 0, 0
	if s != e {
		w.order.after(w.parts.rec(pid), s, w.rows.key(s)[8:], func(id uint32) bool {
			w.ids = append(w.ids, id)
			return id != e
		})
	}
	for i, id := range w.ids {
		if id == a {
			first = i
		}
		if id == b {
			last = i
		}
	}
	for _, x := range []struct {
		weight func(id uint32) int64
		sign   int64
	}{{w.before, -1}, {w.weight, 1}} {
		lo, hi, err := w.compute(w.ids, x.weight, first, last)
		if err != nil {
			return err
		}
		if lo >= hi {
			continue
		}
		w.changes.format.encode(&w.changes.batch, w.part.out)
		for i := lo; i < hi; i++ {
			w.changes.addRow(w.changes.batch.row(i), x.sign)
		}
	}
	return nil
}

func (w *window) sealBatch(emit Emit) error {
	var err error
	w.parts.visit(func(pid uint32) bool {
		w.ids = w.ids[:0]
		w.scan(pid, func(id uint32) bool {
			w.ids = append(w.ids, id)
			return true
		})
		if _, _, err = w.compute(w.ids, w.weight, 0, 0); err == nil {
			err = w.emitPart(emit)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func (w *window) emitPart(emit Emit) error {
	c := w.part.out
	for lo := 0; lo < c.Rows; lo += w.direct.max {
		hi := min(lo+w.direct.max, c.Rows)
		for k, v := range w.direct.c.Cols {
			v.AppendRange(c.Cols[k], lo, hi)
		}
		for range hi - lo {
			w.direct.add(1)
		}
		if err := w.direct.flush(emit); err != nil {
			return err
		}
	}
	return nil
}

// Advance passes the watermark of partition columns on.
func (w *window) Advance(_ int, m Watermark, pass func(Watermark) error, _ Emit) error {
	for _, c := range w.keys.cols {
		if c == m.Col {
			return pass(m)
		}
	}
	return nil
}
