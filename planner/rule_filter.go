package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// pushFilters moves conditions as near to the scans as their meaning allows. A
// condition that may fail is not moved below a node that drops rows, so that it
// never sees a row the written query would have dropped first.
func pushFilters(n plan.Node) plan.Node { return push(n, nil) }

// push returns n with the conditions conds (over its columns) applied.
func push(n plan.Node, conds []expr.Expr) plan.Node {
	switch n := n.(type) {
	case *plan.Filter:
		return push(n.Input, append(plan.Conjuncts(n.Cond), conds...))
	case *plan.Project:
		return pushProject(n, conds)
	case *plan.Join:
		return pushJoin(n, conds)
	case *plan.Aggregate:
		return pushAggregate(n, conds)
	case *plan.Union:
		out := &plan.Union{Out: n.Out}
		for _, in := range n.Inputs {
			out.Inputs = append(out.Inputs, push(in, slices.Clone(conds)))
		}
		return out
	case *plan.Window, *plan.TopN:
		return pushPartition(n, conds)
	}
	ch := n.Children()
	out := make([]plan.Node, len(ch))
	for i, c := range ch {
		out[i] = push(c, nil)
	}
	return withFilter(plan.WithChildren(n, out), conds)
}

func withFilter(n plan.Node, conds []expr.Expr) plan.Node {
	if len(conds) == 0 {
		return n
	}
	return &plan.Filter{Input: n, Cond: and(conds)}
}

func pushProject(n *plan.Project, conds []expr.Expr) plan.Node {
	var below, above []expr.Expr
	for _, c := range conds {
		if computesVolatile(c, n.Exprs) {
			above = append(above, c)
		} else {
			below = append(below, substitute(c, n.Exprs))
		}
	}
	return withFilter(&plan.Project{Input: push(n.Input, below), Exprs: n.Exprs, Out: n.Out}, above)
}

// computesVolatile reports whether a condition reads an output whose value may
// differ at a second evaluation.
func computesVolatile(c expr.Expr, es []expr.Expr) bool {
	used := map[int]bool{}
	usedCols(c, used)
	for i := range used {
		if plan.IsVolatile(es[i]) {
			return true
		}
	}
	return false
}

// pushJoin gives conditions to the side they read, if that side's rows are not
// padded, and makes what is left part of an inner join's condition.
func pushJoin(n *plan.Join, conds []expr.Expr) plan.Node {
	nl := len(n.Left.Schema())
	keepsLeft := n.Kind != plan.Right && n.Kind != plan.Full
	keepsRight := n.Kind == plan.Inner || n.Kind == plan.Right
	var left, right, on, above []expr.Expr
	for _, c := range conds {
		side := sideOf(c, nl)
		movable := !mayFail(c) && !plan.IsVolatile(c)
		switch {
		case side == -1 && keepsLeft && movable:
			left = append(left, c)
		case side == 1 && keepsRight && movable:
			right = append(right, shiftCols(c, -nl))
		case n.Kind == plan.Inner && !mayFail(c):
			on = append(on, c)
		default:
			above = append(above, c)
		}
	}
	// Conditions of the join itself may move to the side whose rows they only
	// deny a match.
	ownLeft := n.Kind == plan.Inner || n.Kind == plan.Semi || n.Kind == plan.Right
	ownRight := n.Kind == plan.Inner || n.Kind == plan.Semi || n.Kind == plan.Left || n.Kind == plan.Anti
	for _, c := range plan.Conjuncts(n.Residual) {
		if isTrue(c) {
			continue
		}
		side := sideOf(c, nl)
		movable := !mayFail(c) && !plan.IsVolatile(c)
		switch {
		case side == -1 && ownLeft && movable:
			left = append(left, c)
		case side == 1 && ownRight && movable:
			right = append(right, shiftCols(c, -nl))
		default:
			on = append(on, c)
		}
	}
	if n.Kind == plan.Inner {
		for _, c := range on {
			if l := implied(c, nl, -1); l != nil {
				left = append(left, l)
			}
			if r := implied(c, nl, 1); r != nil {
				right = append(right, shiftCols(r, -nl))
			}
		}
	}
	j := *n
	j.Left, j.Right, j.Residual = push(n.Left, left), push(n.Right, right), and(on)
	return withFilter(&j, above)
}

// pushAggregate moves conditions on group columns below the grouping.
func pushAggregate(n *plan.Aggregate, conds []expr.Expr) plan.Node {
	var below, above []expr.Expr
	for _, c := range conds {
		used := map[int]bool{}
		usedCols(c, used)
		ok := len(n.Group) > 0 && len(used) > 0 && !mayFail(c) && !plan.IsVolatile(c)
		for i := range used {
			ok = ok && i < len(n.Group) && identitySafe(n.Out[i].Typ)
		}
		if ok {
			below = append(below, remap(c, func(i int) int { return n.Group[i] }))
		} else {
			above = append(above, c)
		}
	}
	a := *n
	a.Input = push(n.Input, below)
	return withFilter(&a, above)
}

// identitySafe types have one representation of equal values, so that a condition
// cannot tell two values of one group apart.
func identitySafe(t types.T) bool {
	switch t.ID {
	case types.Numeric, types.Float4, types.Float8, types.Interval, types.Bpchar, types.JSONB, types.Array, types.Record, types.Numrange, types.Nummultirange:
		return false
	}
	return true
}

// isTrue: ON true and the like.
func isTrue(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val == true
}

// pushPartition moves conditions on partition columns below a window or TopN.
func pushPartition(n plan.Node, conds []expr.Expr) plan.Node {
	var part []int
	switch n := n.(type) {
	case *plan.Window:
		part = n.Partition
	case *plan.TopN:
		part = n.Partition
	}
	sc := n.Schema()
	var below, above []expr.Expr
	for _, c := range conds {
		used := map[int]bool{}
		usedCols(c, used)
		ok := len(used) > 0 && !mayFail(c) && !plan.IsVolatile(c)
		for i := range used {
			ok = ok && slices.Contains(part, i) && identitySafe(sc[i].Typ)
		}
		if ok {
			below = append(below, c)
		} else {
			above = append(above, c)
		}
	}
	in := push(n.Children()[0], below)
	return withFilter(plan.WithChildren(n, []plan.Node{in}), above)
}

// mayFail reports whether evaluating e can raise an error.
func mayFail(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Call:
			found = found || x.MayFail()
		case *expr.AnyAll:
			found = found || x.Op.MayFail
		case *expr.Cast:
			found = found || castMayFail(x)
		}
		return !found
	})
	return found
}

// failsOnData is mayFail without sums and products and conversions of numbers, which
// fail only where a number gets too large.
func failsOnData(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Call:
			switch x.Fn.Name {
			case "+", "-", "*", "abs":
			default:
				found = found || x.MayFail()
			}
		case *expr.AnyAll:
			found = found || x.Op.MayFail
		case *expr.Cast:
			numbers := x.Arg.Type().Category() == 'N' && x.To.Category() == 'N'
			found = found || !numbers && castMayFail(x)
		}
		return !found
	})
	return found
}

// castMayFail: conversions to a wider number, to text, and between the string
// types without a length never fail.
func castMayFail(c *expr.Cast) bool {
	f, t := c.Arg.Type(), c.To
	if t.Category() == 'S' && (t.Mod < 0 || c.Explicit) {
		return false
	}
	if t.Mod >= 0 {
		return true
	}
	rank := map[types.ID]int{types.Int2: 1, types.Int4: 2, types.Int8: 3, types.Numeric: 4}
	if a, b := rank[f.ID], rank[t.ID]; a > 0 && b > 0 {
		return a > b
	}
	switch {
	case f.Category() == 'N' && t.ID == types.Float8 && f.ID != types.Numeric:
		return false
	case f.ID == types.Timestamptz && t.Category() == 'D', f.ID == types.Timestamp && t.ID == types.Date:
		return false
	}
	return f.ID != t.ID
}
