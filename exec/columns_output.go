package exec

import "github.com/streamdb/streamdb/vec"

// ColumnsOutput passes on some columns of the rows, which is all a Scan of them
// needs, without copying. Updates that change none of these columns go no further.
type ColumnsOutput struct {
	cols []int
	to   Output
	view vec.Chunk
	kept *vec.Chunk // the rows left, if some are not passed on
	sel  []int32
	gone vec.Bitmap
}

// NewColumnsOutput makes an output that narrows rows to cols.
func NewColumnsOutput(cols []int, to Output) *ColumnsOutput {
	return &ColumnsOutput{cols: cols, to: to, view: vec.Chunk{Cols: make([]vec.Vector, len(cols))}}
}

// Send implements Output.
func (o *ColumnsOutput) Send(c *vec.Chunk) error {
	for i, k := range o.cols {
		o.view.Cols[i] = c.Cols[k]
	}
	o.view.Rows, o.view.Diff = c.Rows, c.Diff
	n := o.cancel()
	switch {
	case n == 0:
		return o.to.Send(&o.view)
	case n == c.Rows:
		return nil
	}
	if o.kept == nil {
		o.kept = vec.NewChunk(o.view.Types(), c.Rows)
	}
	o.kept.Reset()
	o.sel = o.sel[:0]
	for i := range c.Rows {
		if !o.gone.Get(i) {
			o.sel = append(o.sel, int32(i))
		}
	}
	o.kept.Gather(&o.view, o.sel)
	return o.to.Send(o.kept)
}

// cancel finds the rows of the view that are taken away and come back the same, and
// returns how many rows that makes. A statement's updates are the old rows and then
// the new ones in the same order, so only these are compared.
func (o *ColumnsOutput) cancel() (n int) {
	d := o.view.Diff
	for i := 0; i < len(d); {
		old := i
		for i < len(d) && d[i] < 0 {
			i++
		}
		fresh := i
		for i < len(d) && d[i] > 0 {
			i++
		}
		for k := range min(fresh-old, i-fresh) {
			a, b := fresh-min(fresh-old, i-fresh)+k, fresh+k
			if d[a] != -d[b] || !vec.SameRows(&o.view, a, b) {
				continue
			}
			if n == 0 {
				clear(o.gone)
			}
			o.gone.Set(a)
			o.gone.Set(b)
			n += 2
		}
		if i == old { // a weight of 0
			i++
		}
	}
	return n
}

// Barrier implements Output.
func (o *ColumnsOutput) Barrier(b *Barrier) error { return o.to.Barrier(b) }
