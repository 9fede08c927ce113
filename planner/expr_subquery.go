package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// subKind is what a subquery in an expression yields.
type subKind uint8

const (
	subScalar subKind = iota
	subExists
	subAny // true when cmp holds for a row
	subRow // what cmp is of the only row; NULL without one
	subSet // the rows of a user's function in a select list
)

// subRef stands for a subquery inside an expression between binding and
// planning. Its plan sees the row around it as outer level 1.
type subRef struct {
	kind subKind
	node plan.Node
	typ  types.T
	// cmp compares, for subAny and subRow: over columns of the row around and subCols of
	// the subquery's row. simple tells that it is one equality (lhs = column).
	cmp  expr.Expr
	set  *setRows // for subSet: what node was made of
	name string
	at   sql.Node
}

// Type returns the type of the subquery's value.
func (s *subRef) Type() types.T { return s.typ }

// subCol is a column of the subquery's row in subRef.cmp.
type subCol struct {
	index int
	typ   types.T
}

// Type returns the column's type.
func (s *subCol) Type() types.T { return s.typ }

// subField is a column of a scalar subquery of several columns, in SET (a, b) =
// (query). Its fields share one subRef, so that the query runs once a row.
type subField struct {
	sub   *subRef
	index int
	typ   types.T
}

// Type returns the column's type.
func (s *subField) Type() types.T { return s.typ }

// subquery binds a query in an expression.
func (b *binder) subquery(ec *exprContext, q *sql.Select, at sql.Node) (plan.Node, []plan.Column, error) {
	if ec.noSub != "" {
		return nil, nil, b.errAt(at, pgerr.FeatureNotSupported, "cannot use subquery in %s", ec.noSub)
	}
	defer ec.enterSubquery()()
	return b.query(q, ec.sc, queryMode{})
}

// enterSubquery lets the aggregates in a subquery find the place where it stands.
func (ec *exprContext) enterSubquery() (leave func()) {
	before := ec.sc.ec
	ec.sc.ec = ec
	return func() { ec.sc.ec = before }
}

func (b *binder) scalarSubquery(ec *exprContext, e *sql.SubqueryExpr) (expr.Expr, error) {
	n, cols, err := b.subquery(ec, e.Query, e)
	if err != nil {
		return nil, err
	}
	if len(cols) != 1 {
		return nil, b.errAt(e, pgerr.SyntaxError, "subquery must return only one column")
	}
	return &subRef{kind: subScalar, node: n, typ: cols[0].Typ, name: cols[0].Name, at: e}, nil
}

func (b *binder) exists(ec *exprContext, e *sql.ExistsExpr) (expr.Expr, error) {
	n, _, err := b.subquery(ec, e.Query, e)
	if err != nil {
		return nil, err
	}
	return &subRef{kind: subExists, node: n, typ: types.TBool, at: e}, nil
}

func (b *binder) arraySubquery(ec *exprContext, e *sql.ArraySubquery) (expr.Expr, error) {
	if ec.noSub != "" {
		return nil, b.errAt(e, pgerr.FeatureNotSupported, "cannot use subquery in %s", ec.noSub)
	}
	defer ec.enterSubquery()()
	n, order, cols, err := b.orderedQuery(e.Query, ec.sc)
	if err != nil {
		return nil, err
	}
	if len(cols) != 1 {
		return nil, b.errAt(e, pgerr.SyntaxError, "subquery must return only one column")
	}
	fn, err := expr.ResolveAgg("array_agg", []types.T{cols[0].Typ})
	if err != nil {
		return nil, b.placed(err, e)
	}
	t := fn.Result([]types.T{cols[0].Typ})
	agg := &plan.Aggregate{Input: n, Scalar: true, Aggs: []expr.AggCall{{Fn: fn, Args: []int{0}, Filter: -1, OrderBy: order, Typ: t}},
		Out: []plan.Column{{Name: "array", Typ: t}}}
	// array_agg of no row is NULL, ARRAY(...) is an empty array.
	empty, err := b.coerce(&expr.Const{Val: "{}", Typ: types.TUnknown}, t, expr.Explicit, e)
	if err != nil {
		return nil, err
	}
	pr := &plan.Project{Input: agg, Exprs: []expr.Expr{&expr.Coalesce{Args: []expr.Expr{&expr.Col{Typ: t}, empty}, Typ: t}}, Out: agg.Out}
	return &subRef{kind: subScalar, node: pr, typ: t, at: e}, nil
}

// quantSubquery binds arg op ANY|ALL (query). ALL is NOT (arg negated-op ANY).
func (b *binder) quantSubquery(ec *exprContext, arg sql.Expr, op string, all bool, q *sql.Select, at sql.Node) (expr.Expr, error) {
	l, err := b.expr(ec, arg)
	if err != nil {
		return nil, err
	}
	n, cols, err := b.subquery(ec, q, at)
	if err != nil {
		return nil, err
	}
	cmp, err := b.compareWithSubCols(op, at, l, cols)
	if err != nil {
		return nil, err
	}
	if all {
		cmp = &expr.Not{Arg: cmp}
	}
	var out expr.Expr = &subRef{kind: subAny, node: n, typ: types.TBool, cmp: cmp, at: at}
	if all {
		out = &expr.Not{Arg: out}
	}
	return out, nil
}

// compareSubquery binds (a, b) op (query of two columns), which has one row at most.
func (b *binder) compareSubquery(ec *exprContext, o *sql.OpExpr, l expr.Expr, q *sql.SubqueryExpr) (expr.Expr, error) {
	n, cols, err := b.subquery(ec, q.Query, q)
	if err != nil {
		return nil, err
	}
	cmp, err := b.compareWithSubCols(o.Op, o, l, cols)
	if err != nil {
		return nil, err
	}
	return &subRef{kind: subRow, node: n, typ: types.TBool, cmp: cmp, at: o}, nil
}

// compareWithSubCols compares l with the row of a subquery.
func (b *binder) compareWithSubCols(op string, at sql.Node, l expr.Expr, cols []plan.Column) (expr.Expr, error) {
	args, names := make([]expr.Expr, len(cols)), make([]string, len(cols))
	for i, c := range cols {
		args[i], names[i] = &subCol{i, c.Typ}, c.Name
	}
	var r expr.Expr
	if row, ok := l.(*expr.MakeRow); ok && isRow(l) {
		if len(cols) != len(row.Args) {
			return nil, b.errAt(at, pgerr.SyntaxError, "subquery has too %s columns", fewMany(len(cols) < len(row.Args)))
		}
		r = expr.NewRow(args, names)
	} else {
		if len(cols) != 1 {
			return nil, b.errAt(at, pgerr.SyntaxError, "subquery has too many columns")
		}
		r = args[0]
	}
	cmp, err := b.compare(op, at, l, r)
	if err != nil {
		return nil, err
	}
	if cmp.Type().ID != types.Bool {
		return nil, b.errAt(at, pgerr.WrongObjectType, "operator %s must return type boolean, not type %s", op, cmp.Type())
	}
	return cmp, nil
}

func fewMany(few bool) string {
	if few {
		return "few"
	}
	return "many"
}

// hasSubquery reports whether e holds a subquery that is not planned yet.
func hasSubquery(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *subRef:
			found = found || x.kind != subSet
		case *subField:
			found = true
		}
		return !found
	})
	return found
}

// filter adds a condition, whose subqueries in conjunct position become joins.
// Columns may be added at the right.
func (b *binder) filter(n plan.Node, cond expr.Expr) (plan.Node, error) {
	var plain, subs []expr.Expr
	for _, c := range plan.Conjuncts(cond) {
		if hasSubquery(c) {
			subs = append(subs, c)
		} else {
			plain = append(plain, c)
		}
	}
	n = filterUnder(n, plain)
	for _, c := range subs {
		not := false
		inner := c
		for {
			x, ok := inner.(*expr.Not)
			if !ok {
				break
			}
			inner, not = x.Arg, !not
		}
		if s, ok := inner.(*subRef); ok && (s.kind == subExists || s.kind == subAny) && !hasSubquery(s.cmp) {
			n = applySubquery(n, s, not)
			continue
		}
		var err error
		var es []expr.Expr
		if n, es, err = b.planSubqueries(n, []expr.Expr{c}); err != nil {
			return nil, err
		}
		n = &plan.Filter{Input: n, Cond: es[0]}
	}
	return n, nil
}

// filterUnder puts conditions on the left side of an Apply where they read no other
// and cannot fail, so that its right side is not computed for rows that they drop.
func filterUnder(n plan.Node, conds []expr.Expr) plan.Node {
	a, ok := n.(*plan.Apply)
	if !ok || a.Kind == plan.Right || a.Kind == plan.Full {
		return withFilter(n, conds)
	}
	var above, below []expr.Expr
	nl := len(a.Left.Schema())
	for _, c := range conds {
		used := map[int]bool{}
		usedCols(c, used)
		left := !failsOnData(c) && !plan.IsVolatile(c)
		for i := range used {
			left = left && i < nl
		}
		if left {
			below = append(below, c)
		} else {
			above = append(above, c)
		}
	}
	if len(below) == 0 {
		return withFilter(n, conds)
	}
	c := *a
	c.Left = filterUnder(a.Left, below)
	return withFilter(&c, above)
}

// applySubquery makes [NOT] EXISTS or [NOT] IN of a conjunct a join.
func applySubquery(n plan.Node, s *subRef, not bool) plan.Node {
	a := &plan.Apply{Kind: plan.Semi, Left: n, Right: s.node}
	if s.cmp != nil {
		a.On = withSubCols(s.cmp, len(n.Schema()))
	}
	switch {
	case not && s.cmp == nil:
		a.Kind = plan.Anti
	case not:
		// True only when the comparison is false for every row, not unknown.
		a.Kind = plan.NullAnti
	}
	return a
}

// withSubCols puts columns at offset for the subquery's columns.
func withSubCols(e expr.Expr, offset int) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*subCol); ok {
			return &expr.Col{Index: offset + c.index, Typ: c.typ}
		}
		return x
	})
}

// planSubqueries attaches the subqueries of es to n, each as new columns at the
// right, and returns es over them.
func (b *binder) planSubqueries(n plan.Node, es []expr.Expr) (plan.Node, []expr.Expr, error) {
	var first error
	out := make([]expr.Expr, len(es))
	rows := map[*subRef]int{} // places of the rows of subFields
	for i, e := range es {
		if !hasSubquery(e) {
			out[i] = e
			continue
		}
		out[i] = expr.Rewrite(e, func(x expr.Expr) expr.Expr {
			if f, ok := x.(*subField); ok {
				at, seen := rows[f.sub]
				if !seen {
					at = len(n.Schema())
					rows[f.sub] = at
					n = &plan.Apply{Kind: plan.Left, Left: n, Right: f.sub.node, Scalar: true}
				}
				return &expr.Col{Index: at + f.index, Typ: f.typ}
			}
			s, ok := x.(*subRef)
			if !ok || s.kind == subSet || first != nil {
				return x
			}
			if s.cmp != nil && hasSubquery(s.cmp) {
				var cs []expr.Expr
				if n, cs, first = b.planSubqueries(n, []expr.Expr{s.cmp}); first != nil {
					return x
				}
				c := *s
				c.cmp = cs[0]
				s = &c
			}
			var v expr.Expr
			n, v, first = b.attach(n, s)
			return v
		})
	}
	return n, out, first
}

// attach computes one subquery's value as an expression over a wider n.
func (b *binder) attach(n plan.Node, s *subRef) (plan.Node, expr.Expr, error) {
	width := len(n.Schema())
	switch s.kind {
	case subScalar:
		n, vals, err := b.attachRow(n, s)
		if err != nil {
			return nil, nil, err
		}
		return n, vals[0], nil
	case subRow:
		n, vals, err := b.attachRow(n, s)
		if err != nil {
			return nil, nil, err
		}
		return n, expr.Rewrite(s.cmp, func(x expr.Expr) expr.Expr {
			if c, ok := x.(*subCol); ok {
				return vals[c.index]
			}
			return x
		}), nil
	case subExists:
		count, err := b.countAgg(s.node, -1)
		if err != nil {
			return nil, nil, err
		}
		agg := &plan.Aggregate{Input: s.node, Scalar: true, Aggs: []expr.AggCall{count}, Out: []plan.Column{{Name: "count", Typ: types.TInt8}}}
		n = &plan.Apply{Kind: plan.Left, Left: n, Right: agg, Scalar: true}
		v, err := b.positive(&expr.Col{Index: width, Typ: types.TInt8}, s.at)
		return n, v, err
	}
	return b.attachAny(n, s)
}

// attachRow attaches a subquery of one row at most and returns the values of its
// columns, all NULL where it has none.
func (b *binder) attachRow(n plan.Node, s *subRef) (plan.Node, []expr.Expr, error) {
	if !b.singleFor(n, s.node) {
		return b.attachChecked(n, s)
	}
	width := len(n.Schema())
	var vals []expr.Expr
	for i, c := range s.node.Schema() {
		vals = append(vals, &expr.Col{Index: width + i, Typ: c.Typ})
	}
	return &plan.Apply{Kind: plan.Left, Left: n, Right: s.node, Scalar: true}, vals, nil
}

// attachChecked is attachRow for a subquery that may have several rows: it counts
// them, and the expression that needs a value fails while they are more than one.
// So only rows for which it is needed fail, and they are back as soon as one row is
// left.
func (b *binder) attachChecked(n plan.Node, s *subRef) (plan.Node, []expr.Expr, error) {
	count, err := b.countAgg(s.node, -1)
	if err != nil {
		return nil, nil, err
	}
	width := len(n.Schema())
	agg := &plan.Aggregate{Input: s.node, Scalar: true, Aggs: []expr.AggCall{count}, Out: []plan.Column{{Name: "count", Typ: types.TInt8}}}
	var vals []expr.Expr
	for i, c := range s.node.Schema() {
		agg.Aggs = append(agg.Aggs, expr.AggCall{Fn: expr.SingleValueAgg(c.Typ), Args: []int{i}, Filter: -1, Typ: c.Typ})
		agg.Out = append(agg.Out, c)
		args := []expr.Expr{&expr.Col{Index: width, Typ: types.TInt8}, &expr.Col{Index: width + 1 + i, Typ: c.Typ}}
		vals = append(vals, &expr.Call{Fn: expr.SingleValue(c.Typ), Args: args, Typ: c.Typ})
	}
	return &plan.Apply{Kind: plan.Left, Left: n, Right: agg, Scalar: true}, vals, nil
}

// singleFor reports whether a scalar subquery has at most one row for every row
// of left, whatever the data.
func (b *binder) singleFor(left, right plan.Node) bool {
	once := func(n plan.Node, allowed func(c int) bool) bool {
		return slices.ContainsFunc(n.Props().Keys, func(k []int) bool {
			return !slices.ContainsFunc(k, func(c int) bool { return !allowed(c) })
		})
	}
	if _, ok := exactlyOne(right); ok || once(right, func(int) bool { return false }) {
		return true
	}
	u := &unnester{b: b, cols: outerColumns(right), left: left}
	n, ok := u.unnest(right)
	return ok && len(u.cols) > 0 && once(n, func(c int) bool { return c >= len(right.Schema()) })
}

// attachAny counts the rows for which the comparison is true and unknown, and
// makes three-valued logic of the counts.
func (b *binder) attachAny(n plan.Node, s *subRef) (plan.Node, expr.Expr, error) {
	if m, v, err := b.attachIn(n, s); m != nil || err != nil {
		return m, v, err
	}
	width, sub := len(n.Schema()), len(s.node.Schema())
	cmp := withSubCols(expr.Rewrite(s.cmp, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Col:
			return &expr.Outer{Level: 1, Index: x.Index, Typ: x.Typ}
		case *expr.Outer:
			return &expr.Outer{Level: x.Level + 1, Index: x.Index, Typ: x.Typ}
		}
		return x
	}), 0)
	pr := &plan.Project{Input: s.node, Exprs: append(identity(s.node), cmp, &expr.IsNull{Arg: cmp})}
	pr.Out = append(append(pr.Out, s.node.Schema()...), plan.Column{Name: "match", Typ: types.TBool}, plan.Column{Name: "unknown", Typ: types.TBool})
	yes, err := b.countAgg(pr, sub)
	if err != nil {
		return nil, nil, err
	}
	unknown := yes
	unknown.Filter = sub + 1
	agg := &plan.Aggregate{Input: pr, Scalar: true, Aggs: []expr.AggCall{yes, unknown},
		Out: []plan.Column{{Name: "matches", Typ: types.TInt8}, {Name: "unknowns", Typ: types.TInt8}}}
	n = &plan.Apply{Kind: plan.Left, Left: n, Right: agg, Scalar: true}
	c1, err := b.positive(&expr.Col{Index: width, Typ: types.TInt8}, s.at)
	if err != nil {
		return nil, nil, err
	}
	c2, err := b.positive(&expr.Col{Index: width + 1, Typ: types.TInt8}, s.at)
	if err != nil {
		return nil, nil, err
	}
	return n, &expr.Case{Typ: types.TBool, Whens: []expr.When{
		{Cond: c1, Then: &expr.Const{Val: true, Typ: types.TBool}},
		{Cond: c2, Then: &expr.Const{Typ: types.TBool}},
	}, Else: &expr.Const{Val: false, Typ: types.TBool}}, nil
}

// attachIn is attachAny for lhs IN (uncorrelated query): a hash join with the
// distinct values, and the counts that tell an unknown result from a false one.
// It returns nil when s is something else.
func (b *binder) attachIn(n plan.Node, s *subRef) (plan.Node, expr.Expr, error) {
	lhs, rhs, ok := plan.IsEquality(s.cmp)
	if !ok || refersToLevel(s.node, 1) || plan.IsVolatile(s.cmp) || hasSubCol(lhs) || !onlySubCol(rhs) {
		return nil, nil, nil
	}
	width := len(n.Schema())
	typ := rhs.Type()
	values := &plan.Project{Input: s.node, Exprs: []expr.Expr{withSubCols(rhs, 0)}, Out: []plan.Column{{Name: "value", Typ: typ}}}
	count, err := b.countAgg(values, -1)
	if err != nil {
		return nil, nil, err
	}
	present := &plan.Project{Input: values, Exprs: []expr.Expr{&expr.IsNull{Arg: &expr.Col{Typ: typ}}}, Out: []plan.Column{{Name: "unknown", Typ: types.TBool}}}
	unknown := count
	unknown.Filter = 0
	agg := &plan.Aggregate{Input: present, Scalar: true, Aggs: []expr.AggCall{count, unknown},
		Out: []plan.Column{{Name: "total", Typ: types.TInt8}, {Name: "unknowns", Typ: types.TInt8}}}
	n = &plan.Apply{Kind: plan.Left, Left: n, Right: agg, Scalar: true}
	set := distinct(values)
	marked := &plan.Project{Input: set, Exprs: append(identity(set), &expr.Const{Val: true, Typ: types.TBool}),
		Out: append(slices.Clone(set.Schema()), plan.Column{Name: "found", Typ: types.TBool})}
	eq, err := b.op("=", s.at, lhs, &expr.Col{Index: width + 2, Typ: typ})
	if err != nil {
		return nil, nil, err
	}
	n = &plan.Apply{Kind: plan.Left, Left: n, Right: marked, On: eq}
	some, err := b.positive(&expr.Col{Index: width, Typ: types.TInt8}, s.at)
	if err != nil {
		return nil, nil, err
	}
	nulls, err := b.positive(&expr.Col{Index: width + 1, Typ: types.TInt8}, s.at)
	if err != nil {
		return nil, nil, err
	}
	maybe := &expr.And{Args: []expr.Expr{some, &expr.Or{Args: []expr.Expr{nulls, &expr.IsNull{Arg: lhs}}}}}
	return n, &expr.Case{Typ: types.TBool, Whens: []expr.When{
		{Cond: &expr.Col{Index: width + 3, Typ: types.TBool}, Then: &expr.Const{Val: true, Typ: types.TBool}},
		{Cond: maybe, Then: &expr.Const{Typ: types.TBool}},
	}, Else: &expr.Const{Val: false, Typ: types.TBool}}, nil
}

func hasSubCol(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		_, ok := x.(*subCol)
		found = found || ok
		return !found
	})
	return found
}

// onlySubCol: e reads the subquery's row and nothing else.
func onlySubCol(e expr.Expr) bool {
	ok := hasSubCol(e)
	expr.Walk(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Col, *expr.Outer, *subRef:
			ok = false
		}
		return ok
	})
	return ok
}

// countAgg is count(*) [FILTER (column)].
func (b *binder) countAgg(n plan.Node, filter int) (expr.AggCall, error) {
	fn, err := expr.ResolveAgg("count", nil)
	if err != nil {
		return expr.AggCall{}, err
	}
	return expr.AggCall{Fn: fn, Filter: filter, Typ: types.TInt8}, nil
}

func (b *binder) positive(e expr.Expr, at sql.Node) (expr.Expr, error) {
	return b.op(">", at, e, &expr.Const{Val: int64(0), Typ: types.TInt8})
}
