package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// newThreshold turns an inner join into a threshold: one side has at most one row
// and columns that nobody needs, as that of a scalar subquery, and all that joins
// the sides is one comparison by order. A join would compare every row of the
// other side anew when that one row changes. at is the position of the other side's
// columns in the join. nil: it is none.
func newThreshold(j *plan.Join, need []int) (t *plan.Threshold, at int) {
	if j.Kind != plan.Inner || len(j.LeftKeys) > 0 {
		return nil, 0
	}
	conds := plan.Conjuncts(j.Residual)
	if len(conds) != 1 || mayFail(conds[0]) {
		return nil, 0
	}
	c, ok := conds[0].(*expr.Call)
	if !ok || len(c.Args) != 2 || plan.IsVolatile(c) {
		return nil, 0
	}
	op, ok := orderOps[c.Fn.Name]
	if !ok || c.Args[0].Type().Kind() != c.Args[1].Type().Kind() || c.Args[0].Type().ID != c.Args[1].Type().ID {
		return nil, 0
	}
	nl := len(j.Left.Schema())
	left, right := c.Args[0], c.Args[1]
	if sideOf(left, nl) == 1 {
		left, right, op = right, left, op.Flipped()
	}
	if sideOf(left, nl) != -1 || sideOf(right, nl) != 1 {
		return nil, 0
	}
	right = shiftCols(right, -nl)
	switch {
	case atMostOne(j.Right) && !slices.ContainsFunc(need, func(k int) bool { return k >= nl }):
		return thresholdOf(j.Left, left, op, j.Right, right), 0
	case atMostOne(j.Left) && !slices.ContainsFunc(need, func(k int) bool { return k < nl }):
		return thresholdOf(j.Right, right, op.Flipped(), j.Left, left), nl
	}
	return nil, 0
}

var orderOps = map[string]plan.OrderOp{"<": plan.Less, "<=": plan.LessEqual, ">": plan.Greater, ">=": plan.GreaterEqual}

// isOrder: the condition is one comparison by order.
func isOrder(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	if ok {
		_, ok = orderOps[c.Fn.Name]
	}
	return ok
}

// thresholdOf makes a threshold whose comparison is of columns.
func thresholdOf(in plan.Node, e expr.Expr, op plan.OrderOp, bound plan.Node, limit expr.Expr) *plan.Threshold {
	t := &plan.Threshold{Op: op}
	t.Input, t.Col = withColumn(in, e)
	t.Bound = &plan.Project{Input: bound, Exprs: []expr.Expr{limit}, Out: []plan.Column{{Typ: limit.Type()}}}
	return t
}

// withColumn returns n with the value of an expression over it as a column, and
// which that is.
func withColumn(n plan.Node, e expr.Expr) (plan.Node, int) {
	if c, ok := e.(*expr.Col); ok {
		return n, c.Index
	}
	k := len(n.Schema())
	out := append(slices.Clone(n.Schema()), plan.Column{Typ: e.Type()})
	return &plan.Project{Input: n, Exprs: append(identity(n), e), Out: out}, k
}

// pruneThreshold keeps the columns need of the join that the threshold was made
// of, in which those of its input begin at shift.
func (p pruner) pruneThreshold(t *plan.Threshold, need []int, shift int) (plan.Node, map[int]int) {
	in := newColSet(t.Col)
	for _, k := range need {
		in.add(k - shift)
	}
	input, down := p.prune(t.Input, in.sorted())
	at := map[int]int{}
	for k, v := range down {
		at[k+shift] = v
	}
	return &plan.Threshold{Input: input, Bound: p.pruneTo(t.Bound, []int{0}), Col: down[t.Col], Op: t.Op}, at
}
