package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// opBase is what every operator embeds: its context, its identity for messages,
// and the halves of Operator that most do not need.
type opBase struct {
	ctx  *BuildCtx
	op   int
	name string
	errs expr.RowErrors
}

// Advance drops the watermark: a safe answer of operators that cannot promise.
func (b *opBase) Advance(int, Watermark, func(Watermark) error, Emit) error { return nil }

func (b *opBase) Seal(types.Epoch, Emit) error { return nil }

func (b *opBase) Close() error { return nil }

// begin starts an evaluation whose failing rows are collected if the query
// survives them.
func (b *opBase) begin() {
	if b.ctx.RowError != nil {
		b.errs.Rows, b.errs.Errs = b.errs.Rows[:0], b.errs.Errs[:0]
		b.ctx.Expr.Errors = &b.errs
	}
}

// end ends it and reports whether rows failed.
func (b *opBase) end() bool {
	b.ctx.Expr.Errors = nil
	return len(b.errs.Rows) > 0
}

// report hands the failed rows of c to RowError and appends those to drop.
func (b *opBase) report(c *vec.Chunk, drop []int32) ([]int32, error) {
	for k, i := range b.errs.Rows {
		switch err := b.ctx.RowError(b.op, c, int(i), c.Weight(int(i)), b.errs.Errs[k]); err {
		case nil:
			drop = append(drop, i)
		case ErrKeep:
		default:
			return drop, err
		}
	}
	b.errs.Rows, b.errs.Errs = b.errs.Rows[:0], b.errs.Errs[:0]
	return drop, nil
}

// negative is the error of an integral below zero at the end of an epoch: a row
// was taken away that had not been added.
func (b *opBase) negative(what string) error {
	return pgerr.New(pgerr.Internal, "operator %d (%s): %s was taken away more often than it was added", b.op, b.name, what)
}

// overBudget checks the memory of a blocking operator of a one-off query.
func (b *opBase) overBudget(held int) error {
	if b.ctx.Budget > 0 && held > b.ctx.Budget {
		return pgerr.New(pgerr.OutOfMemory, "out of memory").
			WithDetail("Operator %s needs more than %d bytes.", b.name, b.ctx.Budget).
			WithHint("Raise the memory limit of queries, or make the query handle fewer rows.")
	}
	return nil
}

// output gathers result rows into chunks of the configured size. Values are
// appended to c's columns by the caller, who ends each row with add.
type output struct {
	types []types.T
	c     *vec.Chunk
	diff  []int64
	ones  bool
	max   int
}

func newOutput(ts []types.T, max int) *output {
	return &output{types: ts, c: vec.NewChunk(ts, 0), ones: true, max: max}
}

// add ends a row of weight w.
func (o *output) add(w int64) {
	o.diff = append(o.diff, w)
	o.ones = o.ones && w == 1
	o.c.Rows++
}

// full reports whether the chunk is to be flushed: it has all its rows, or, looked
// at now and then, long values.
func (o *output) full() bool {
	return o.c.Rows >= o.max || o.c.Rows%16 == 0 && o.wide()
}

func (o *output) wide() bool {
	n := 0
	for _, v := range o.c.Cols {
		if b, ok := v.(*vec.Bytes); ok {
			n += len(b.Data)
		}
	}
	return n > vec.SoftBytes
}

// flush emits what is there.
func (o *output) flush(emit Emit) error {
	if o.c.Rows == 0 {
		return nil
	}
	o.c.Diff = nil
	if !o.ones {
		o.c.Diff = o.diff
	}
	err := emit(o.c)
	o.reset()
	return err
}

func (o *output) reset() {
	o.c.Reset()
	o.diff, o.ones = o.diff[:0], true
}

// without returns the rows of 0..n-1 that are not in drop, in order.
func without(sel []int32, n int, drop []int32) []int32 {
	var gone vec.Bitmap
	for _, i := range drop {
		gone.Set(int(i))
	}
	sel = sel[:0]
	for i := range n {
		if !gone.Get(i) {
			sel = append(sel, int32(i))
		}
	}
	return sel
}

// distribution returns the columns whose hash decides the instance a node's rows
// live on. known is false when the plan does not tell; no columns with known set
// means a single instance.
func distribution(p plan.Node) (cols []int, known bool) {
	switch p := p.(type) {
	case *plan.Exchange:
		if p.Dist == plan.Hash {
			return p.Keys, true
		}
		return nil, p.Dist == plan.Singleton
	case *plan.Filter:
		return distribution(p.Input)
	case *plan.Upsert:
		return distribution(p.Input)
	case *plan.TopN:
		return distribution(p.Input)
	case *plan.Window:
		return distribution(p.Input)
	case *plan.Project:
		cols, known = distribution(p.Input)
		return mapColumns(cols, known, func(c int) int {
			for i, e := range p.Exprs {
				if x, ok := e.(*expr.Col); ok && x.Index == c {
					return i
				}
			}
			return -1
		})
	case *plan.Aggregate:
		cols, known = distribution(p.Input)
		return mapColumns(cols, known, func(c int) int {
			for i, g := range p.Group {
				if g == c {
					return i
				}
			}
			return -1
		})
	case *plan.Join:
		if cols, known = distribution(p.Left); known {
			return cols, true
		}
		switch p.Kind {
		case plan.Semi, plan.Anti, plan.NullAnti:
			return nil, false
		}
		cols, known = distribution(p.Right)
		n := len(p.Left.Schema())
		return mapColumns(cols, known, func(c int) int { return c + n })
	}
	return nil, false
}

func mapColumns(cols []int, known bool, f func(int) int) ([]int, bool) {
	if !known {
		return nil, false
	}
	out := make([]int, 0, len(cols))
	for _, c := range cols {
		m := f(c)
		if m < 0 {
			return nil, false
		}
		out = append(out, m)
	}
	return out, true
}

// vnoder computes the vnodes of input rows for saved state.
type vnoder struct {
	cols []int
	off  bool // a single instance, or nothing is saved
	h    []uint64
}

// newVnoder chooses the distribution columns of the input if they are among the
// operator's key columns, so that entries move with the rows they belong to, and
// the key columns otherwise.
func newVnoder(b *opBase, input plan.Node, keys []int) vnoder {
	if b.ctx.Batch {
		return vnoder{off: true}
	}
	cols, known := distribution(input)
	if known && len(cols) == 0 {
		return vnoder{off: true}
	}
	within := known
	for _, c := range cols {
		found := false
		for _, k := range keys {
			found = found || k == c
		}
		within = within && found
	}
	if !within {
		cols = keys
	}
	return vnoder{cols: cols, off: len(cols) == 0}
}

func (v *vnoder) prepare(c *vec.Chunk) {
	if !v.off {
		v.h = vec.HashCols(c, v.cols, v.h)
	}
}

func (v *vnoder) at(i int) byte {
	if v.off {
		return 0
	}
	return byte(vec.Vnode(v.h[i]))
}
