package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
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

// aggOwner finds the query that an aggregate belongs to, how many queries out it is,
// and whether the aggregate may stand where it does. bind binds its parts; aggregated
// are over the rows of that query, direct over its groups.
func (b *binder) aggOwner(ec *exprContext, e *sql.FuncCall, bind func() (aggregated, direct []expr.Expr, err error)) (owner *exprContext, level int, err error) {
	if ec.sc.parent == nil {
		if err := b.aggAllowed(ec, e); err != nil {
			return nil, 0, err
		}
	}
	aggregated, direct, err := bind()
	if err == nil {
		level = levelOf(aggregated)
		if sc := ec.sc.out(level); level > 0 && sc != nil && sc.fn == nil { // arguments of a function are no rows
			owner, err = b.outerOwner(sc, e, slices.Concat(aggregated, direct), level)
		} else {
			owner, level, err = ec, 0, b.aggAllowed(ec, e)
		}
		if err == nil {
			err = b.checkDirectLevel(direct, level)
		}
		return owner, level, err
	}
	if disallowed := b.aggAllowed(ec, e); disallowed != nil {
		return nil, 0, disallowed
	}
	return nil, 0, err
}

// levelOf is how many queries out the nearest of the columns is that es read, and 0
// if they read none.
func levelOf(es []expr.Expr) int {
	level := -1
	for _, x := range es {
		nearest(x, &level)
	}
	return max(level, 0)
}

// outerOwner is the context of an aggregate that belongs to the query of sc, level
// queries out.
func (b *binder) outerOwner(sc *scope, at sql.Node, inputs []expr.Expr, level int) (*exprContext, error) {
	if sc.ec == nil {
		return nil, b.errAt(at, pgerr.GroupingError, "aggregate functions are not allowed in FROM clause of their own query level")
	}
	if err := b.aggAllowed(sc.ec, at); err != nil {
		return nil, err
	}
	if inner := readAggregate(inputs, level); inner != nil {
		err := pgerr.New(pgerr.GroupingError, "aggregate function calls cannot be nested")
		if pos := b.outAt[inner]; pos > 0 {
			err = err.At(pos)
		}
		return nil, err.At(b.at(at))
	}
	return sc.ec, nil
}

// checkDirectLevel: the direct arguments of an aggregate that belongs to a query
// level queries out are of its groups, or of queries around it.
func (b *binder) checkDirectLevel(direct []expr.Expr, level int) error {
	var err error
	refuse := func(at int) {
		if err == nil {
			err = pgerr.New(pgerr.GroupingError, "outer-level aggregate cannot contain a lower-level variable in its direct arguments").At(at)
		}
	}
	if level == 0 {
		return nil
	}
	for _, x := range direct {
		expr.Walk(x, func(x expr.Expr) bool {
			switch x := x.(type) {
			case *expr.Col:
				refuse(b.colAt[x].pos)
			case *expr.Outer:
				if x.Level < level {
					refuse(b.outAt[x])
				}
			case *subRef:
				mapOuter(x.node, 0, func(o *expr.Outer, d int) expr.Expr {
					if o.Level > d && o.Level-d-1 < level {
						refuse(b.outAt[o])
					}
					return o
				})
			}
			return true
		})
	}
	return err
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

// inward makes the aggregate one of the query level queries out.
func (a *aggItem) inward(level int) {
	for i, x := range a.args {
		a.args[i] = inward(x, level)
	}
	if a.filter != nil {
		a.filter = inward(a.filter, level)
	}
	for i, o := range a.order {
		a.order[i].e = inward(o.e, level)
	}
	a.key = a.text()
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

// readAggregate is the first aggregate of the query level queries out that es read;
// nil: none.
func readAggregate(es []expr.Expr, level int) *expr.Outer {
	var found *expr.Outer
	for _, x := range es {
		mapOuterExpr(x, 0, func(o *expr.Outer, d int) expr.Expr {
			if found == nil && o.Index < 0 && o.Level-d == level {
				found = o
			}
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
