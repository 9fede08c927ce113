package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// filter keeps the rows whose condition is true. It has no state: a row that is
// taken away meets the same verdict as when it came.
type filter struct {
	*opBase
	cond *expr.Program
	sel  []int32
	drop []int32
	out  *vec.Chunk

	apart singly
}

func newFilter(p *plan.Filter, b *opBase) (Operator, error) {
	cond, err := expr.Compile(p.Cond)
	if err != nil {
		return nil, err
	}
	return &filter{opBase: b, cond: cond, out: vec.NewChunk(plan.Types(p.Schema()), 0), apart: newSingly([]expr.Expr{p.Cond})}, nil
}

func (f *filter) Push(_ int, c *vec.Chunk, emit Emit) error {
	if f.apart.needed(c) {
		return f.apart.each(c, f.ctx.rows(), func(part *vec.Chunk) error { return f.Push(0, part, emit) })
	}
	f.begin()
	sel, err := f.cond.Filter(f.ctx.Expr, c, f.sel[:0])
	failed := f.end()
	f.sel = sel
	if err != nil {
		return err
	}
	if failed {
		if f.drop, err = f.report(c, f.drop[:0]); err != nil {
			return err
		}
	}
	if len(sel) == c.Rows {
		return emit(c)
	}
	if len(sel) == 0 {
		return nil
	}
	f.out.Reset()
	f.out.Gather(c, sel)
	return emit(f.out)
}

// Advance passes watermarks on: fewer rows keep every promise.
func (f *filter) Advance(_ int, w Watermark, pass func(Watermark) error, _ Emit) error {
	return pass(w)
}
