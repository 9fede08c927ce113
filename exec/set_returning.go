package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// setCall is a call of a set-returning function over the rows of a chunk.
type setCall struct {
	fn   *expr.Func
	args []*expr.Program
	vals []vec.Vector
	outs []vec.Vector // the rows of the current input row, one vector a column
	// scratch of appendRecord
	types  []types.T
	fields []types.Datum
}

func newSetCall(fn *expr.Func, args []expr.Expr, outs []types.T) (*setCall, error) {
	if fn.EvalSet == nil {
		return nil, pgerr.New(pgerr.Internal, "function %s returns no set", fn.Name)
	}
	s := &setCall{fn: fn, vals: make([]vec.Vector, len(args))}
	for _, a := range args {
		p, err := expr.Compile(a)
		if err != nil {
			return nil, err
		}
		s.args = append(s.args, p)
	}
	for _, t := range outs {
		s.outs = append(s.outs, vec.New(t, 0))
	}
	return s, nil
}

// prepare evaluates the arguments over a chunk.
func (s *setCall) prepare(c *expr.Ctx, in *vec.Chunk) error {
	for k, p := range s.args {
		v, err := p.Eval(c, in)
		if err != nil {
			return err
		}
		s.vals[k] = v
	}
	return nil
}

// rows computes the rows for row i and returns their number. A strict function
// yields none for a NULL argument.
func (s *setCall) rows(c *expr.Ctx, i int) (int, error) {
	for _, o := range s.outs {
		o.Reset()
	}
	if !s.fn.NotStrict {
		for _, v := range s.vals {
			if v.IsNull(i) {
				return 0, nil
			}
		}
	}
	if err := s.fn.EvalSet(c, s.outs, s.vals, i); err != nil {
		return 0, err
	}
	n := 0
	for _, o := range s.outs {
		n = max(n, o.Len())
	}
	return n, nil
}

// setOutputs are the columns that a call in a ProjectSet computes: with several
// of them its column is a record of them.
func setOutputs(c *expr.Call, t types.T) []types.T {
	if t.ID == types.Record && c.Fn.Cols != nil {
		in := make([]types.T, len(c.Args))
		for i, a := range c.Args {
			in[i] = a.Type()
		}
		if _, ts := c.Fn.Cols(in); len(ts) > 1 {
			return ts
		}
	}
	return []types.T{t}
}

// appendRecord appends row j of the outputs as a record.
func (s *setCall) appendRecord(dst vec.Vector, j int) {
	s.types, s.fields = s.types[:0], s.fields[:0]
	for _, o := range s.outs {
		s.types, s.fields = append(s.types, o.Type()), append(s.fields, o.Datum(j))
	}
	d := dst.(*vec.Bytes)
	d.Data = types.AppendRecord(d.Data, s.types, s.fields)
	d.Finish()
}

// projectSet is a projection with set-returning functions. It has no state: the
// functions give the same rows when the row is taken away.
type projectSet struct {
	*opBase
	sets  []*setCall // nil: a plain expression
	progs []*expr.Program
	vals  []vec.Vector
	bad   vec.Bitmap
	drop  []int32
	count []int
	out   *output
}

func newProjectSet(p *plan.ProjectSet, b *opBase) (Operator, error) {
	n := len(p.Exprs)
	op := &projectSet{
		opBase: b, sets: make([]*setCall, n), progs: make([]*expr.Program, n), vals: make([]vec.Vector, n),
		count: make([]int, n), out: newOutput(plan.Types(p.Out), b.ctx.rows()),
	}
	for i, e := range p.Exprs {
		var err error
		if c, ok := e.(*expr.Call); ok && c.Fn.Set {
			op.sets[i], err = newSetCall(c.Fn, c.Args, setOutputs(c, p.Out[i].Typ))
		} else {
			op.progs[i], err = expr.Compile(e)
		}
		if err != nil {
			return nil, err
		}
	}
	return op, nil
}

func (p *projectSet) Push(_ int, c *vec.Chunk, emit Emit) error {
	err := p.evaluate(c)
	if w, ok := err.(*expr.WideError); ok {
		return inParts(c, w.Rows, func(part *vec.Chunk) error { return p.Push(0, part, emit) })
	}
	if err != nil {
		return err
	}
	for i := range c.Rows {
		if p.bad.Get(i) {
			continue
		}
		if err := p.expand(c, i, emit); err != nil {
			return err
		}
	}
	return p.out.flush(emit)
}

// evaluate computes the plain expressions and the arguments, and marks the rows
// for which one fails.
func (p *projectSet) evaluate(c *vec.Chunk) error {
	p.bad = p.bad[:0]
	p.begin()
	var err error
	for k := range p.vals {
		if p.sets[k] != nil {
			err = p.sets[k].prepare(p.ctx.Expr, c)
		} else {
			p.vals[k], err = p.progs[k].Eval(p.ctx.Expr, c)
		}
		if err != nil {
			p.end()
			return err
		}
	}
	if !p.end() {
		return nil
	}
	p.drop, err = p.report(c, p.drop[:0])
	for _, i := range p.drop {
		p.bad.Set(int(i))
	}
	return err
}

// expand appends the rows of input row i.
func (p *projectSet) expand(c *vec.Chunk, i int, emit Emit) error {
	n := 0
	for k, s := range p.sets {
		if s == nil {
			continue
		}
		m, err := s.rows(p.ctx.Expr, i)
		if err != nil {
			if p.ctx.RowError == nil {
				return err
			}
			if err = p.ctx.RowError(p.op, c, i, c.Weight(i), err); err != nil && err != ErrKeep {
				return err
			}
			return nil
		}
		p.count[k] = m
		n = max(n, m)
	}
	for j := range n {
		for k, s := range p.sets {
			switch {
			case s == nil:
				p.out.c.Cols[k].AppendFrom(p.vals[k], i)
			case j < p.count[k] && len(s.outs) > 1:
				s.appendRecord(p.out.c.Cols[k], j)
			case j < p.count[k]:
				p.out.c.Cols[k].AppendFrom(s.outs[0], j)
			default:
				p.out.c.Cols[k].AppendNull()
			}
		}
		p.out.add(c.Weight(i))
		if p.out.full() {
			if err := p.out.flush(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableFunc emits the rows of a set-returning function when the tree starts.
type tableFunc struct {
	*opBase
	set *setCall
	ord bool
	out *output
}

func newTableFunc(p *plan.TableFunc, b *opBase) (Operator, error) {
	ts := plan.Types(p.Out)
	cols := ts
	if p.Ordinality {
		cols = ts[:len(ts)-1]
	}
	op := &tableFunc{opBase: b, ord: p.Ordinality, out: newOutput(ts, b.ctx.rows())}
	var err error
	if p.Fn.Set {
		op.set, err = newSetCall(p.Fn, p.Args, cols)
		return op, err
	}
	// A plain function in FROM is a relation of one row.
	call := &expr.Call{Fn: p.Fn, Args: p.Args, Typ: cols[0]}
	prog, err := expr.Compile(call)
	if err != nil {
		return nil, err
	}
	one := &expr.Func{Name: p.Fn.Name, Set: true, NotStrict: true,
		EvalSet: func(_ *expr.Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
			dst[0].AppendFrom(args[0], i)
			return nil
		}}
	op.set = &setCall{fn: one, args: []*expr.Program{prog}, vals: make([]vec.Vector, 1), outs: []vec.Vector{vec.New(cols[0], 1)}}
	return op, nil
}

func (t *tableFunc) Push(int, *vec.Chunk, Emit) error { return nil }

// Start emits the rows.
func (t *tableFunc) Start(emit Emit) error {
	if err := t.set.prepare(t.ctx.Expr, &vec.Chunk{Rows: 1}); err != nil {
		return err
	}
	n, err := t.set.rows(t.ctx.Expr, 0)
	if err != nil {
		return err
	}
	for lo := 0; lo < n; lo += t.out.max {
		hi := min(lo+t.out.max, n)
		for k, v := range t.set.outs {
			t.out.c.Cols[k].AppendRange(v, lo, hi)
		}
		for j := lo; j < hi; j++ {
			if t.ord {
				appendInt(t.out.c.Cols[len(t.set.outs)], int64(j)+1, false)
			}
			t.out.add(1)
		}
		if err := t.out.flush(emit); err != nil {
			return err
		}
	}
	return nil
}
