package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// rankToTopN turns WHERE row_number <= k over a window into a TopN, which keeps
// k rows a partition instead of all.
func rankToTopN(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		f, ok := x.(*plan.Filter)
		if !ok {
			return x
		}
		w, ok := f.Input.(*plan.Window)
		if !ok || len(w.Funcs) != 1 || w.Funcs[0].Name != "row_number" || w.Funcs[0].Agg != nil {
			return x
		}
		rank := len(w.Input.Schema())
		var rest []expr.Expr
		limit := int64(-1)
		for _, c := range plan.Conjuncts(f.Cond) {
			if k, ok := rankBound(c, rank); ok && (limit < 0 || k < limit) {
				limit = max(k, 0)
			} else if !ok {
				rest = append(rest, c)
			}
		}
		if limit < 0 {
			return x
		}
		top := &plan.TopN{Input: w.Input, Partition: w.Partition, Order: w.Order, Limit: limit, RankCol: true}
		return withFilter(top, rest)
	})
}

// rankBound recognises rank <= k, rank < k and rank = 1, in both directions.
func rankBound(e expr.Expr, rank int) (int64, bool) {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) != 2 {
		return 0, false
	}
	op, l, r := c.Fn.Name, stripWidening(c.Args[0]), stripWidening(c.Args[1])
	if _, isConst := l.(*expr.Const); isConst {
		l, r = r, l
		op = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}[op]
	}
	col, ok := l.(*expr.Col)
	k, okConst := r.(*expr.Const)
	if !ok || !okConst || col.Index != rank || k.Val == nil {
		return 0, false
	}
	var v int64
	switch x := k.Val.(type) {
	case int64:
		v = x
	case int32:
		v = int64(x)
	case int16:
		v = int64(x)
	default:
		return 0, false
	}
	switch {
	case op == "<=" || op == "=" && v == 1:
		return v, true
	case op == "<":
		return v - 1, true
	}
	return 0, false
}

func stripWidening(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Cast); ok && !castMayFail(c) && c.To.Category() == 'N' {
		return c.Arg
	}
	return e
}
