package planner

import "github.com/streamdb/streamdb/planner/plan"

// dropUnits removes inner joins with the one row without columns that a query
// without FROM reads. Besides the work it saves, the rows of a function in the
// select list then come in the order the function gives them.
func dropUnits(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok || j.Kind != plan.Inner || len(j.LeftKeys) > 0 {
			return n
		}
		other := j.Left
		if isUnit(j.Left) {
			other = j.Right
		} else if !isUnit(j.Right) {
			return n
		}
		if j.Residual == nil {
			return other
		}
		return &plan.Filter{Input: other, Cond: j.Residual}
	})
}

func isUnit(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.Rows) == 1 && len(v.Out) == 0
}
