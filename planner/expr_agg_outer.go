package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
)

// What a query around computes of its rows is an Outer reference to that query with a
// negative index: an aggregate or GROUPING() until that query is grouped
// (groupSubquery), a window function until its windows are planned. The remainder of
// the index by three tells which it is.

func aggOuter(item int) int { return -1 - 3*item }

func markOuter(mark int) int { return -2 - 3*mark }

func winOuter(win int) int { return -3 - 3*win }

// windowOf returns the window function that an index means; -1: none.
func windowOf(index int) int {
	if index < 0 && (-1-index)%3 == 2 {
		return (-1 - index) / 3
	}
	return -1
}

// groupedOuter is the place in the grouped row of what a negative index means, for
// so many keys and aggregates. Window functions stay what they are.
func groupedOuter(index, keys, aggs int) int {
	switch k := -1 - index; k % 3 {
	case 0:
		return keys + k/3
	case 1:
		return keys + aggs + k/3
	}
	return index
}

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
	sc := ec.sc.out(level)
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

// outerGrouping gives a GROUPING() to the query level queries out.
func (b *binder) outerGrouping(ec *exprContext, g *groupingRef, level int) (expr.Expr, error) {
	sc := ec.sc.out(level)
	if sc == nil || sc.fn != nil {
		return nil, b.groupingArgs(g, 0)
	}
	if sc.ec == nil {
		return nil, b.errAt(g.at, pgerr.GroupingError, "grouping operations are not allowed in FROM clause of their own query level")
	}
	if err := b.groupingAllowed(sc.ec, g.at); err != nil {
		return nil, err
	}
	for i, x := range g.args {
		g.args[i] = inward(x, level)
	}
	return &expr.Outer{Level: level, Index: markOuter(g.addTo(sc.ec.grouping)), Typ: g.Type()}, nil
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
