package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// decorrelate turns every Apply it can into joins, innermost first.
//
// The general method: let D be the distinct values of the outer columns that the
// right side uses. The right side is rewritten to compute its rows for every
// value of D at once (unnest.go), with D's columns added at the right, and is
// joined to the left side by them, NULLs matching NULLs. Two common shapes need
// no D: conditions on top of an uncorrelated input become the join's condition,
// and equalities between an outer and an inner column let the inner column stand
// for D's.
//
// What remains (a scalar subquery of several columns that may have several rows)
// stays an Apply in a one-off query and is an error in a stream.
func (b *binder) decorrelate(n plan.Node) (plan.Node, error) {
	var first error
	out := plan.Rewrite(n, func(x plan.Node) plan.Node {
		a, ok := x.(*plan.Apply)
		if !ok || first != nil {
			return x
		}
		r, err := b.unApply(a)
		if r == nil {
			if first = err; first == nil && b.stream {
				first = b.unsupported(nowhere, "this correlated subquery in a materialized view or sink",
					"Make sure it yields at most one row, for example with an aggregate, or write it as a join.")
			}
			return x
		}
		return r
	})
	return out, first
}

// nowhere is the place of errors about a whole statement.
var nowhere = place{-1}

type place struct{ off int32 }

// Offset returns the byte offset.
func (p place) Offset() int32 { return p.off }

// unApply returns a plan without this Apply, or nil.
func (b *binder) unApply(a *plan.Apply) (plan.Node, error) {
	if !refersToLevel(a.Right, 1) {
		return b.plainApply(a, lowerOuter(a.Right)), nil
	}
	if n := constantRow(a); n != nil {
		return n, nil
	}
	if n := b.pullCondition(a); n != nil {
		return n, nil
	}
	exprs, agg := scalarCore(a)
	dependent := a.Right
	if agg != nil {
		dependent = agg
	}
	wide, texts, err := b.withTexts(a, dependent)
	if err != nil {
		return nil, err
	}
	var n plan.Node
	if agg != nil {
		n = b.scalarAggregate(wide, exprs, agg, texts)
	} else {
		n = b.domainJoin(wide, texts)
	}
	if n == nil {
		return nil, nil
	}
	return withoutTexts(n, texts, len(a.Left.Schema()), len(a.Schema())), nil
}

// constantRow handles a right side of expressions only, without FROM.
func constantRow(a *plan.Apply) plan.Node {
	if a.Kind != plan.Left && a.Kind != plan.Inner || a.On != nil {
		return nil
	}
	core := a.Right
	exprs := identity(core)
	for {
		p, ok := core.(*plan.Project)
		if !ok {
			break
		}
		for i := range exprs {
			exprs[i] = substitute(exprs[i], p.Exprs)
		}
		core = p.Input
	}
	v, ok := core.(*plan.Values)
	if !ok || len(v.Rows) != 1 {
		return nil
	}
	p := &plan.Project{Input: a.Left, Exprs: identity(a.Left), Out: slices.Clone(a.Schema())}
	for _, e := range exprs {
		p.Exprs = append(p.Exprs, outerToCols(substitute(e, v.Rows[0]), func(i int) int { return i }))
	}
	return p
}

// plainApply is a join with an uncorrelated right side.
func (b *binder) plainApply(a *plan.Apply, right plan.Node) plan.Node {
	if a.Scalar {
		if _, ok := exactlyOne(right); !ok {
			right = &plan.SingleRow{Input: right}
		}
		if v, ok := a.Left.(*plan.Values); ok && len(v.Rows) == 1 && len(v.Out) == 0 && a.On == nil {
			return right
		}
		return &plan.Join{Kind: plan.Inner, Left: a.Left, Right: right, Residual: a.On}
	}
	if a.Kind == plan.NullAnti {
		return b.notIn(a.Left, right, a.On)
	}
	return &plan.Join{Kind: a.Kind, Left: a.Left, Right: right, Residual: a.On}
}

// exactlyOne recognises plans that yield one row whatever their input.
func exactlyOne(n plan.Node) (plan.Node, bool) {
	switch x := n.(type) {
	case *plan.Project:
		return exactlyOne(x.Input)
	case *plan.Aggregate:
		return x, x.Scalar && len(x.Group) == 0
	case *plan.Values:
		return x, len(x.Rows) == 1
	case *plan.SingleRow:
		return x, true
	case *plan.Join:
		if x.Kind != plan.Inner || x.Residual != nil || len(x.LeftKeys) > 0 {
			return nil, false
		}
		_, l := exactlyOne(x.Left)
		_, r := exactlyOne(x.Right)
		return x, l && r
	}
	return nil, false
}

// notIn is NOT IN: a NullAnti when one equality alone decides, else an Anti in
// which an unknown comparison counts as a match.
func (b *binder) notIn(left, right plan.Node, on expr.Expr) plan.Node {
	nl := len(left.Schema())
	if l, r, ok := plan.IsEquality(on); ok && !hasOuter(on) && sideOf(l, nl)*sideOf(r, nl) == -1 {
		return &plan.Join{Kind: plan.NullAnti, Left: left, Right: right, Residual: on}
	}
	return &plan.Join{Kind: plan.Anti, Left: left, Right: right, Residual: notFalse(on)}
}

func notFalse(e expr.Expr) expr.Expr {
	return &expr.IsBool{Arg: e, Want: false, Negate: true}
}

// sideOf tells which input of a join an expression reads: -1 left, 1 right, 0
// none or both.
func sideOf(e expr.Expr, nl int) int {
	used := map[int]bool{}
	usedCols(e, used)
	l, r := false, false
	for c := range used {
		if c < nl {
			l = true
		} else {
			r = true
		}
	}
	switch {
	case l && !r:
		return -1
	case r && !l:
		return 1
	}
	return 0
}

// outerToCols makes level-1 references columns of a row and lowers the others.
func outerToCols(e expr.Expr, at func(int) int) expr.Expr {
	if e == nil {
		return nil
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		o, ok := x.(*expr.Outer)
		switch {
		case !ok:
			return x
		case o.Level == 1:
			return &expr.Col{Index: at(o.Index), Typ: o.Typ}
		}
		return &expr.Outer{Level: o.Level - 1, Index: o.Index, Typ: o.Typ}
	})
}

// pullCondition handles a right side that is correlated only by the conditions
// of Filters near its top (with Projects between) over an uncorrelated input.
func (b *binder) pullCondition(a *plan.Apply) plan.Node {
	if a.Scalar || a.Kind == plan.Right || a.Kind == plan.Full {
		return nil
	}
	nl := len(a.Left.Schema())
	// Peel: exprs over the core's columns, and the conditions met.
	core := a.Right
	exprs := identity(core)
	var conds []expr.Expr
	for {
		switch x := core.(type) {
		case *plan.Project:
			for i := range exprs {
				exprs[i] = substitute(exprs[i], x.Exprs)
			}
			for i := range conds {
				conds[i] = substitute(conds[i], x.Exprs)
			}
			core = x.Input
			continue
		case *plan.Filter:
			conds = append(plan.Conjuncts(x.Cond), conds...)
			core = x.Input
			continue
		}
		break
	}
	if refersToLevel(core, 1) {
		return nil
	}
	core = lowerOuter(core)
	toJoin := func(e expr.Expr) expr.Expr { // core's columns become the right side's
		e = shiftCols(e, nl)
		return outerToCols(e, func(i int) int { return i })
	}
	semi := a.Kind == plan.Semi || a.Kind == plan.Anti || a.Kind == plan.NullAnti
	var residual []expr.Expr
	for _, c := range conds {
		residual = append(residual, toJoin(c))
	}
	if semi {
		if a.On != nil {
			on := expr.Rewrite(a.On, func(x expr.Expr) expr.Expr {
				if c, ok := x.(*expr.Col); ok && c.Index >= nl {
					return toJoin(exprs[c.Index-nl])
				}
				return x
			})
			if a.Kind == plan.NullAnti {
				on = notFalse(on)
			}
			residual = append(residual, on)
		}
		kind := a.Kind
		if kind == plan.NullAnti {
			kind = plan.Anti
		}
		return &plan.Join{Kind: kind, Left: a.Left, Right: core, Residual: and(residual)}
	}
	return b.pullLateral(a, core, exprs, residual, toJoin)
}

// pullLateral is pullCondition for LATERAL subqueries: the outputs are computed
// above the join, or below it where an outer join must pad them.
func (b *binder) pullLateral(a *plan.Apply, core plan.Node, exprs, residual []expr.Expr, toJoin func(expr.Expr) expr.Expr) plan.Node {
	nl, nc := len(a.Left.Schema()), len(core.Schema())
	outerUse := slices.ContainsFunc(exprs, hasOuter)
	if a.Kind == plan.Inner {
		join := &plan.Join{Kind: plan.Inner, Left: a.Left, Right: core, Residual: and(residual)}
		p := &plan.Project{Input: join, Exprs: identity(a.Left), Out: slices.Clone(a.Schema())}
		for _, e := range exprs {
			p.Exprs = append(p.Exprs, toJoin(e))
		}
		if a.On != nil {
			return &plan.Filter{Input: p, Cond: a.On}
		}
		return p
	}
	if outerUse || !b.stream && slices.ContainsFunc(exprs, failsOnData) {
		return nil // computed below the join, they would be for rows without a partner too
	}
	// The right side keeps its core's columns for the condition, then the outputs.
	sub := &plan.Project{Input: core, Exprs: append(identity(core), exprs...), Out: slices.Clone(core.Schema())}
	sub.Out = append(sub.Out, a.Right.Schema()...)
	if a.On != nil {
		residual = append(residual, remap(a.On, func(i int) int {
			if i >= nl {
				return i + nc
			}
			return i
		}))
	}
	join := &plan.Join{Kind: plan.Left, Left: a.Left, Right: sub, Residual: and(residual)}
	keep := make([]int, 0, nl+len(exprs))
	for i := range nl {
		keep = append(keep, i)
	}
	for i := range exprs {
		keep = append(keep, nl+nc+i)
	}
	return pick(join, keep)
}

// substitute replaces the columns of e by expressions.
func substitute(e expr.Expr, by []expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return by[c.Index]
		}
		return x
	})
}

// scalarCore finds a right side of Projects over an aggregate without GROUP BY, and
// what it yields as expressions over the aggregate's row; nil if it is another one.
func scalarCore(a *plan.Apply) ([]expr.Expr, *plan.Aggregate) {
	if a.Kind != plan.Left && a.Kind != plan.Inner || a.On != nil {
		return nil, nil
	}
	top := a.Right
	exprs := identity(top)
	for {
		p, ok := top.(*plan.Project)
		if !ok {
			break
		}
		for i := range exprs {
			exprs[i] = substitute(exprs[i], p.Exprs)
		}
		top = p.Input
	}
	agg, ok := top.(*plan.Aggregate)
	if !ok || !agg.Scalar || len(agg.Group) > 0 {
		return nil, nil
	}
	return exprs, agg
}

// scalarAggregate handles a scalarCore: the left side is joined with the groups, and
// what the aggregate yields for no row is put in above the join, so that the Projects
// see it.
func (b *binder) scalarAggregate(a *plan.Apply, exprs []expr.Expr, agg *plan.Aggregate, texts []int) plan.Node {
	nl := len(a.Left.Schema())
	cols := append(outerColumns(agg), texts...)
	var join *plan.Join
	var values []expr.Expr
	if len(cols) == 0 {
		join = &plan.Join{Kind: plan.Inner, Left: a.Left, Right: lowerOuter(agg)}
		values = identity(join)[nl:]
	} else {
		groups := b.groupsFor(a, agg, cols)
		if groups == nil {
			return nil
		}
		join = &plan.Join{Kind: plan.Left, Left: a.Left, Right: groups}
		for i, c := range cols {
			join.LeftKeys = append(join.LeftKeys, c)
			join.RightKeys = append(join.RightKeys, i)
			join.NullSafe = append(join.NullSafe, true)
		}
		values = emptyAware(agg, nl+len(cols))
	}
	p := &plan.Project{Input: join, Exprs: identity(a.Left), Out: slices.Clone(a.Schema())}
	for _, e := range exprs {
		e = substitute(e, values)
		p.Exprs = append(p.Exprs, outerToCols(e, func(i int) int { return i }))
	}
	return p
}

// groupsFor aggregates for every value of the domain cols that has rows: the domain,
// then the aggregates. It returns nil if the input cannot be unnested.
func (b *binder) groupsFor(a *plan.Apply, agg *plan.Aggregate, cols []int) plan.Node {
	u := &unnester{b: b, cols: cols, left: a.Left, careful: b.mustKeepTo(a.Right)}
	in, ok := u.unnest(agg.Input)
	if !ok {
		return nil
	}
	base := len(agg.Input.Schema())
	g := &plan.Aggregate{Input: in, Aggs: agg.Aggs}
	for i := range cols {
		g.Group = append(g.Group, base+i)
		g.Out = append(g.Out, in.Schema()[base+i])
	}
	g.Out = append(g.Out, agg.Out...)
	return g
}

// emptyAware are the aggregates of a row in which a missing group reads NULL:
// those that are not NULL for no row get their value then.
func emptyAware(agg *plan.Aggregate, offset int) []expr.Expr {
	out := make([]expr.Expr, len(agg.Aggs))
	for i, c := range agg.Aggs {
		out[i] = &expr.Col{Index: offset + i, Typ: c.Typ}
		if v := emptyValue(c.Fn.Name); v != nil {
			out[i] = &expr.Coalesce{Args: []expr.Expr{out[i], &expr.Const{Val: v, Typ: c.Typ}}, Typ: c.Typ}
		}
	}
	return out
}

// emptyValue is an aggregate's value over no row, nil for NULL.
func emptyValue(name string) types.Datum {
	switch name {
	case "count", "regr_count", "approx_count_distinct":
		return int64(0)
	}
	return nil
}

// domainJoin is the general method.
func (b *binder) domainJoin(a *plan.Apply, texts []int) plan.Node {
	if a.Kind == plan.Right || a.Kind == plan.Full {
		return nil
	}
	cols := append(outerColumns(a.Right), texts...)
	u := &unnester{b: b, cols: cols, left: a.Left, careful: b.mustKeepTo(a.Right)}
	right, ok := u.unnest(a.Right)
	if !ok {
		return nil
	}
	nr := len(a.Right.Schema())
	join := &plan.Join{Kind: a.Kind, Left: a.Left, Right: right, Residual: a.On}
	dom := make([]int, len(cols))
	for i, c := range cols {
		dom[i] = nr + i
		join.LeftKeys = append(join.LeftKeys, c)
		join.RightKeys = append(join.RightKeys, nr+i)
		join.NullSafe = append(join.NullSafe, true)
	}
	if a.Scalar {
		// More than one row for a value of the domain would be an error.
		once := false
		for _, k := range right.Props().Keys {
			once = once || !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(dom, c) })
		}
		if !once {
			return nil
		}
		join.Kind = plan.Left
	}
	if a.Kind == plan.NullAnti {
		join.Kind, join.Residual = plan.Anti, notFalse(a.On)
	}
	return narrowTo(join, len(a.Schema()))
}

// mustKeepTo: nothing of the subquery may be computed for values that no row around
// has, since it may fail for them, as it does not on PostgreSQL. A view leaves out
// rows that fail, and no row asks for those; there the domain costs too much.
func (b *binder) mustKeepTo(n plan.Node) bool {
	fails := false
	plan.Walk(n, func(x plan.Node) bool {
		plan.EachExpr(x, func(e expr.Expr) { fails = fails || failsOnData(e) })
		return !fails
	})
	return fails && !b.stream
}

// outerColumns lists the columns of the row around that a plan refers to.
func outerColumns(n plan.Node) []int {
	used := map[int]bool{}
	mapOuter(n, 0, func(o *expr.Outer, d int) expr.Expr {
		if o.Level-d == 1 {
			used[o.Index] = true
		}
		return o
	})
	var out []int
	for c := range used {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}
