package engine

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// constantRows are the rows of a plan that is nothing but constants, as that of an
// INSERT of known values is; nil: the plan is to be run. A tree of operators for a
// single row costs more than all else that such a statement does.
func constantRows(n plan.Node) *vec.Chunk {
	v, ok := n.(*plan.Values)
	if !ok || len(v.Rows) > vec.MaxRows {
		return nil
	}
	for _, row := range v.Rows {
		for _, e := range row {
			if _, ok := e.(*expr.Const); !ok {
				return nil
			}
		}
	}
	c := vec.NewChunk(plan.Types(v.Out), len(v.Rows))
	for _, row := range v.Rows {
		for k, e := range row {
			c.Cols[k].AppendDatum(e.(*expr.Const).Val)
		}
		c.AddWeight(1)
	}
	return c
}
