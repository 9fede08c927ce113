package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// mapOuter rewrites the outer references of a plan. depth counts how many rows
// of enclosing queries lie between a reference and the plan's outside: a
// reference of level L under depth d is to row L-d outside.
func mapOuter(n plan.Node, depth int, f func(o *expr.Outer, depth int) expr.Expr) plan.Node {
	ch := n.Children()
	if len(ch) > 0 {
		out := make([]plan.Node, len(ch))
		for i, c := range ch {
			d := depth
			if _, ok := n.(*plan.Apply); ok && i == 1 {
				d++
			}
			out[i] = mapOuter(c, d, f)
		}
		n = plan.WithChildren(n, out)
	}
	uses := false
	plan.EachExpr(n, func(e expr.Expr) { uses = uses || hasOuter(e) })
	if !uses {
		return n
	}
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr { return mapOuterExpr(e, depth, f) })
}

// mapOuterExpr is mapOuter for an expression, subqueries in it included.
func mapOuterExpr(e expr.Expr, depth int, f func(o *expr.Outer, depth int) expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Outer:
			return f(x, depth)
		case *subRef:
			c := *x
			c.node = mapOuter(x.node, depth+1, f)
			if c.cmp != nil {
				c.cmp = mapOuterExpr(x.cmp, depth, f)
			}
			return &c
		}
		return x
	})
}

func hasOuter(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Outer, *subRef:
			found = true
		}
		return !found
	})
	return found
}

// refersToLevel reports whether a plan refers to the row level queries out.
func refersToLevel(n plan.Node, level int) bool {
	found := false
	mapOuter(n, 0, func(o *expr.Outer, d int) expr.Expr {
		found = found || o.Level-d == level
		return o
	})
	return found
}

// correlated reports whether a plan has references that lead outside of it.
func correlated(n plan.Node) bool {
	found := false
	mapOuter(n, 0, func(o *expr.Outer, d int) expr.Expr {
		found = found || o.Level > d
		return o
	})
	return found
}

// shiftOuter moves the references that lead outside of a plan by levels up.
func shiftOuter(n plan.Node, by int) plan.Node {
	if by == 0 {
		return n
	}
	return mapOuter(n, 0, func(o *expr.Outer, d int) expr.Expr {
		if o.Level <= d {
			return o
		}
		return &expr.Outer{Level: o.Level + by, Index: o.Index, Typ: o.Typ}
	})
}

// lowerOuter removes level 1, which nothing refers to.
func lowerOuter(n plan.Node) plan.Node { return shiftOuter(n, -1) }
