package exec

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// project computes one expression a column. Plain column references hand on the
// input's vectors without a copy.
type project struct {
	*opBase
	progs []*expr.Program // nil: the input column ref
	refs  []int
	out   vec.Chunk
	keep  *vec.Chunk // rows left when some failed
	sel   []int32
	drop  []int32
	apart singly
}

func newProject(p *plan.Project, b *opBase) (Operator, error) {
	op := &project{opBase: b, refs: make([]int, len(p.Exprs)), progs: make([]*expr.Program, len(p.Exprs)), apart: newSingly(p.Exprs)}
	op.out.Cols = make([]vec.Vector, len(p.Exprs))
	for i, e := range p.Exprs {
		op.refs[i] = -1
		if c, ok := e.(*expr.Col); ok {
			op.refs[i] = c.Index
			continue
		}
		var err error
		if op.progs[i], err = expr.Compile(e); err != nil {
			return nil, err
		}
	}
	op.keep = vec.NewChunk(plan.Types(p.Out), 0)
	return op, nil
}

// rearranges reports whether the output is the n columns of the input, all of them
// and nothing else, in any order.
func (p *project) rearranges(n int) bool {
	return !slices.Contains(p.refs, -1) && sameColumns(p.refs, firstColumns(n))
}

func (p *project) Push(_ int, c *vec.Chunk, emit Emit) error {
	if p.apart.needed(c) {
		return p.apart.each(c, p.ctx.rows(), func(part *vec.Chunk) error { return p.Push(0, part, emit) })
	}
	p.begin()
	for i, prog := range p.progs {
		if prog == nil {
			p.out.Cols[i] = c.Cols[p.refs[i]]
			continue
		}
		v, err := prog.Eval(p.ctx.Expr, c)
		if w, ok := err.(*expr.WideError); ok {
			p.end()
			return inParts(c, w.Rows, func(part *vec.Chunk) error { return p.Push(0, part, emit) })
		}
		if err != nil {
			p.end()
			return err
		}
		p.out.Cols[i] = v
	}
	p.out.Rows, p.out.Diff = c.Rows, c.Diff
	if !p.end() {
		return emit(&p.out)
	}
	var err error
	if p.drop, err = p.report(c, p.drop[:0]); err != nil {
		return err
	}
	if len(p.drop) == 0 {
		return emit(&p.out)
	}
	p.sel = without(p.sel, c.Rows, p.drop)
	p.keep.Reset()
	p.keep.Gather(&p.out, p.sel)
	return emit(p.keep)
}

// Advance passes the watermark of every column that is handed on.
func (p *project) Advance(_ int, w Watermark, pass func(Watermark) error, _ Emit) error {
	for i, r := range p.refs {
		if r == w.Col {
			if err := pass(Watermark{Col: i, At: w.At}); err != nil {
				return err
			}
		}
	}
	return nil
}

// inParts calls f for parts of a chunk of n rows each: together the values of an
// expression take too much memory.
func inParts(c *vec.Chunk, n int, f func(part *vec.Chunk) error) error {
	part := vec.NewChunk(c.Types(), n)
	for lo := 0; lo < c.Rows; lo += n {
		part.Reset()
		part.AppendRange(c, lo, min(lo+n, c.Rows))
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}
