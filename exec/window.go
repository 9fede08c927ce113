package exec

import (
	"bytes"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// window computes window functions. Rows are kept per partition in order; a
// partition that changes in an epoch is computed as it was before and as it is
// at Seal, and the difference is emitted.
type window struct {
	*orderedRows
	funcs   []windowFunc
	part    *partition
	touched []uint32
	changes *consolidator
	out     *rowOutput
	direct  *output
}

// windowFunc computes one function for every row of a partition.
type windowFunc interface {
	compute(c *expr.Ctx, p *partition, dst vec.Vector) error
}

// partition is a whole partition in order, every copy of a row by itself.
type partition struct {
	rows   *vec.Chunk // the input's columns
	sort   [][]byte   // sort keys
	group  []int      // number of the peer group of each row
	starts []int      // first row of each peer group, and the number of rows
	enc    [][]byte
	out    *vec.Chunk
}

func newWindow(p *plan.Window, b *opBase) (Operator, error) {
	ts := plan.Types(p.Input.Schema())
	w := &window{orderedRows: newOrderedRows(b, p.Input, p.Partition, p.Order)}
	for _, f := range p.Funcs {
		fn, err := newWindowFunc(b, p, f, ts)
		if err != nil {
			return nil, err
		}
		w.funcs = append(w.funcs, fn)
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
		if err := w.touch(pid); err != nil {
			return err
		}
		w.add(pid, w.rowKey(c, i, pid), n)
	}
	if w.ctx.Budget > 0 {
		return w.overBudget(w.StateBytes())
	}
	return nil
}

// touch takes the rows a partition has in the output back, before its first
// change of the epoch.
func (w *window) touch(pid uint32) error {
	p := w.parts.rec(pid)
	f := le.Uint32(p[partFlags:])
	if f&partTouched != 0 || w.ctx.Batch {
		return nil
	}
	le.PutUint32(p[partFlags:], f|partTouched)
	w.touched = append(w.touched, pid)
	return w.count(pid, -1)
}

// count adds the output of a partition to the epoch's changes, sign times.
func (w *window) count(pid uint32, sign int64) error {
	if err := w.compute(pid); err != nil {
		return err
	}
	c := w.part.out
	w.changes.format.encode(&w.changes.batch, c)
	for i := range c.Rows {
		w.changes.addRow(w.changes.batch.row(i), sign)
	}
	return nil
}

// compute makes w.part.out the output of a partition.
func (w *window) compute(pid uint32) error {
	p := w.part
	p.rows.Reset()
	p.out.Reset()
	p.enc, p.sort = p.enc[:0], p.sort[:0]
	p.group, p.starts = p.group[:0], p.starts[:0]
	bad := false
	w.scan(pid, func(id uint32) bool {
		n := w.weight(id)
		bad = bad || n < 0
		for range n {
			p.enc = append(p.enc, w.rowBytes(id))
			p.sort = append(p.sort, w.sortKey(id))
		}
		return true
	})
	if bad {
		return w.negative("a row")
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
		return nil
	}
	n := len(p.rows.Cols)
	for k, v := range p.rows.Cols {
		p.out.Cols[k].AppendRange(v, 0, p.rows.Rows)
	}
	for k, f := range w.funcs {
		if err := f.compute(w.ctx.Expr, p, p.out.Cols[n+k]); err != nil {
			return err
		}
	}
	p.out.Rows = p.rows.Rows
	return nil
}

// Seal emits the difference of the touched partitions' outputs.
func (w *window) Seal(_ types.Epoch, emit Emit) error {
	if w.ctx.Batch {
		return w.sealBatch(emit)
	}
	for _, pid := range w.touched {
		if err := w.count(pid, 1); err != nil {
			return err
		}
	}
	err := w.changes.each(func(id uint32, n int64) error {
		return w.out.add(w.changes.rows.key(id), n, emit)
	})
	if err == nil {
		err = w.out.flush(emit)
	}
	w.changes.reset()
	for _, pid := range w.touched {
		p := w.parts.rec(pid)
		le.PutUint32(p[partFlags:], le.Uint32(p[partFlags:])&^partTouched)
	}
	w.touched = w.touched[:0]
	return err
}

func (w *window) sealBatch(emit Emit) error {
	var err error
	w.parts.visit(func(pid uint32) bool {
		if err = w.compute(pid); err == nil {
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
