package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// values emits a constant relation when the tree starts.
type values struct {
	*opBase
	rows [][]*expr.Program
	out  *output
}

func newValues(p *plan.Values, b *opBase) (Operator, error) {
	v := &values{opBase: b, out: newOutput(plan.Types(p.Out), b.ctx.rows())}
	for _, row := range p.Rows {
		var r []*expr.Program
		for _, e := range row {
			prog, err := expr.Compile(e)
			if err != nil {
				return nil, err
			}
			r = append(r, prog)
		}
		v.rows = append(v.rows, r)
	}
	return v, nil
}

func (v *values) Push(int, *vec.Chunk, Emit) error { return nil }

// Start emits the rows.
func (v *values) Start(emit Emit) error {
	one := &vec.Chunk{Rows: 1}
	for _, row := range v.rows {
		for k, prog := range row {
			x, err := prog.Eval(v.ctx.Expr, one)
			if err != nil {
				return err
			}
			v.out.c.Cols[k].AppendFrom(x, 0)
		}
		v.out.add(1)
		if v.out.full() {
			if err := v.out.flush(emit); err != nil {
				return err
			}
		}
	}
	return v.out.flush(emit)
}
