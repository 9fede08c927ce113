package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
)

// An aggregate of a query around is an Outer reference to that query with a negative
// index, until that query is grouped (groupSubquery).

func aggOuter(item int) int { return -1 - item }

// level is how many queries out the aggregate belongs: where the nearest of the
// columns it reads is, and 0 if it reads none.
func (a *aggItem) level() int {
	level := -1
	for _, x := range a.inputs() {
		nearest(x, &level)
	}
	return max(level, 0)
}

// nearest lowers level, unless it is below zero as yet, to that of the nearest row
// that e reads, by subqueries too.
func nearest(e expr.Expr, level *int) {
	at := func(l int) {
		if *level < 0 || l < *level {
			*level = l
		}
	}
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col:
			at(0)
		case *expr.Outer:
			at(x.Level)
		case *subRef:
			mapOuter(x.node, 0, func(o *expr.Outer, d int) expr.Expr {
				if o.Level > d {
					at(o.Level - d - 1)
				}
				return o
			})
			if x.cmp != nil {
				nearest(x.cmp, level)
			}
		}
		return true
	})
}

// outerAgg gives an aggregate to the query level queries out.
func (b *binder) outerAgg(ec *exprContext, item *aggItem, level int) (expr.Expr, error) {
	sc := ec.sc
	for range level {
		if sc = sc.outside(); sc == nil {
			return nil, b.unsupported(item.at, "an aggregate over the arguments of a function only", "Compute the aggregate in the query that calls it.")
		}
	}
	if sc.ec == nil {
		return nil, b.errAt(item.at, pgerr.GroupingError, "aggregate functions are not allowed in FROM clause of their own query level")
	}
	if err := b.aggAllowed(sc.ec, item.at); err != nil {
		return nil, err
	}
	if item.aggregates(level) {
		return nil, b.errAt(item.at, pgerr.GroupingError, "aggregate function calls cannot be nested")
	}
	for i, x := range item.args {
		item.args[i] = inward(x, level)
	}
	if item.filter != nil {
		item.filter = inward(item.filter, level)
	}
	for i, o := range item.order {
		item.order[i].e = inward(o.e, level)
	}
	item.key = item.text()
	return &expr.Outer{Level: level, Index: aggOuter(item.addTo(sc.ec.aggs)), Typ: item.typ}, nil
}

// aggregates reports whether the aggregate reads another one of the query level
// queries out.
func (a *aggItem) aggregates(level int) bool {
	found := false
	for _, x := range a.inputs() {
		mapOuterExpr(x, 0, func(o *expr.Outer, d int) expr.Expr {
			found = found || o.Index < 0 && o.Level-d == level
			return o
		})
	}
	return found
}

// inward turns an expression of a query into one of the query level queries out,
// which alone, or with others around it, it refers to.
func inward(e expr.Expr, level int) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Outer:
			if x.Level == level {
				return &expr.Col{Index: x.Index, Typ: x.Typ}
			}
			return &expr.Outer{Level: x.Level - level, Index: x.Index, Typ: x.Typ}
		case *subRef:
			c := *x
			c.node = shiftOuter(x.node, -level)
			if c.cmp != nil {
				c.cmp = inward(x.cmp, level)
			}
			return &c
		}
		return x
	})
}
