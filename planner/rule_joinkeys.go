package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// extractJoinKeys finds the equalities between the two sides of each join and
// makes them its hash keys; computed keys get a Project below the join.
func extractJoinKeys(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		j, ok := x.(*plan.Join)
		if !ok || j.Residual == nil {
			return x
		}
		return joinKeys(j)
	})
}

func joinKeys(j *plan.Join) plan.Node {
	nl, nr := len(j.Left.Schema()), len(j.Right.Schema())
	type key struct {
		l, r expr.Expr
		safe bool
	}
	var keys []key
	var rest []expr.Expr
	for _, c := range plan.Conjuncts(j.Residual) {
		l, r, ok := plan.IsEquality(c)
		safe := false
		if d, isDistinct := c.(*expr.Distinct); isDistinct && d.Negate {
			l, r, ok, safe = d.L, d.R, true, true
		}
		if ok && sideOf(l, nl) == 1 && sideOf(r, nl) == -1 {
			l, r = r, l
		}
		// A key of two types (integer = bigint) has no common hash; the coercion
		// was left to the operator, so it stays a condition unless types agree.
		if ok && sideOf(l, nl) == -1 && sideOf(r, nl) == 1 && !plan.IsVolatile(c) {
			if l, r, ok = commonKey(l, r); ok && !(mayFail(l) || mayFail(r)) {
				keys = append(keys, key{l, shiftCols(r, -nl), safe})
				continue
			}
		}
		rest = append(rest, c)
	}
	if len(keys) == 0 || j.Kind == plan.NullAnti && (len(keys) != 1 || len(rest) > 0) {
		return j
	}
	left, right := newWidening(j.Left), newWidening(j.Right)
	out := &plan.Join{Kind: j.Kind}
	out.LeftKeys = append(out.LeftKeys, j.LeftKeys...)
	out.RightKeys = append(out.RightKeys, j.RightKeys...)
	out.NullSafe = append(out.NullSafe, j.NullSafe...)
	for len(out.NullSafe) < len(out.LeftKeys) {
		out.NullSafe = append(out.NullSafe, false)
	}
	for _, k := range keys {
		out.LeftKeys = append(out.LeftKeys, left.add(k.l))
		out.RightKeys = append(out.RightKeys, right.add(k.r))
		out.NullSafe = append(out.NullSafe, k.safe)
	}
	out.Left, out.Right = left.build(), right.build()
	wide := len(out.Left.Schema())
	if len(rest) > 0 {
		out.Residual = remap(and(rest), func(i int) int {
			if i >= nl {
				return i - nl + wide
			}
			return i
		})
	}
	if wide == nl && len(out.Right.Schema()) == nr {
		return out
	}
	var cols []int
	for i := range nl {
		cols = append(cols, i)
	}
	switch j.Kind {
	case plan.Semi, plan.Anti, plan.NullAnti:
	default:
		for i := range nr {
			cols = append(cols, wide+i)
		}
	}
	return pick(out, cols)
}

// commonKey makes both sides of an equality one type.
func commonKey(l, r expr.Expr) (expr.Expr, expr.Expr, bool) {
	lt, rt := l.Type().Base(), r.Type().Base()
	if lt == rt {
		return l, r, true
	}
	t, err := expr.CommonTypeFor("=", []types.T{lt, rt})
	if err != nil {
		return nil, nil, false
	}
	l, err = expr.Coerce(l, t, expr.Implicit)
	if err != nil {
		return nil, nil, false
	}
	r, err = expr.Coerce(r, t, expr.Implicit)
	return l, r, err == nil
}
