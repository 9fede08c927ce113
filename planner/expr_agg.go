package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// aggItem is an aggregate call of one query level, over the rows of its FROM.
type aggItem struct {
	fn       *expr.AggFunc
	args     []expr.Expr
	filter   expr.Expr
	distinct bool
	order    []sortExpr
	typ      types.T
	key      string
	at       sql.Node
	// rank and count are what the item counts for a hypothetical-set aggregate.
	rank  *ranking
	count rankCount
}

// sortExpr is an ORDER BY key before it has a column.
type sortExpr struct {
	e                expr.Expr
	desc, nullsFirst bool
}

// aggRef stands for the result of an aggregate between binding and grouping.
type aggRef struct {
	index int
	typ   types.T
}

// Type returns the aggregate's type.
func (a *aggRef) Type() types.T { return a.typ }

// aggCall binds a call of an aggregate. It belongs to the query whose columns it
// reads: if these are all of queries around, to the innermost of them.
func (b *binder) aggCall(ec *exprContext, e *sql.FuncCall) (expr.Expr, error) {
	var item *aggItem
	owner, level, err := b.aggOwner(ec, e, func() (aggregated, direct []expr.Expr, err error) {
		if item, err = b.aggItem(ec, e); err != nil {
			return nil, nil, err
		}
		direct = item.direct()
		return item.inputs()[len(direct):], direct, nil
	})
	if err != nil {
		return nil, err
	}
	if level > 0 {
		item.inward(level)
	}
	return b.aggAt(item, owner, level), nil
}

// aggAt gives an aggregate to its query, level queries out, and stands for it.
func (b *binder) aggAt(item *aggItem, owner *exprContext, level int) expr.Expr {
	i := item.addTo(owner.aggs)
	if level > 0 {
		o := &expr.Outer{Level: level, Index: aggOuter(i), Typ: item.typ}
		b.outAt[o] = b.at(item.at)
		return o
	}
	return &aggRef{i, item.typ}
}

// inAggregate is ec for the arguments of an aggregate.
func (ec *exprContext) inAggregate() *exprContext {
	c := *ec
	c.aggs, c.wins, c.inAgg, c.allowSet, c.clause = nil, nil, true, false, "aggregate function arguments"
	return &c
}

// aggAllowed: aggregates cannot stand everywhere.
func (b *binder) aggAllowed(ec *exprContext, at sql.Node) error {
	switch {
	case ec.inAgg && ec.clause == "FILTER":
		return b.errAt(at, pgerr.GroupingError, "aggregate functions are not allowed in FILTER")
	case ec.inAgg:
		return b.errAt(at, pgerr.GroupingError, "aggregate function calls cannot be nested")
	case ec.aggs == nil:
		return b.errAt(at, pgerr.GroupingError, "aggregate functions are not allowed in %s", ec.clause)
	}
	return nil
}

// addTo returns the place of an aggregate among those of its query.
func (a *aggItem) addTo(items *[]*aggItem) int {
	for i, old := range *items {
		if old.key == a.key {
			return i
		}
	}
	*items = append(*items, a)
	return len(*items) - 1
}

// aggItem binds the parts of an aggregate call.
func (b *binder) aggItem(ec *exprContext, e *sql.FuncCall) (*aggItem, error) {
	inner := ec.inAggregate()
	args, err := b.plainArgs(inner, e)
	if err != nil {
		return nil, err
	}
	if e.Star && e.Name != "count" || !e.Star && len(args) == 0 && e.Name == "count" {
		if e.Star {
			return nil, b.errAt(e, pgerr.UndefinedFunction, "function %s() does not exist", e.Name)
		}
		return nil, b.errAt(e, pgerr.WrongObjectType, "count(*) must be used to call a parameterless aggregate function")
	}
	item := &aggItem{distinct: e.Distinct, at: e}
	if err := b.aggOrder(inner, e, item); err != nil {
		return nil, err
	}
	if e.WithinGroup {
		for _, o := range item.order {
			args = append(args, o.e)
		}
	}
	if item.fn, err = expr.ResolveAgg(e.Name, typesOf(args)); err != nil {
		return nil, b.placed(misplacedOrder(err, e), e)
	}
	if item.fn.OrderedSet != e.WithinGroup {
		if e.WithinGroup {
			return nil, b.errAt(e, pgerr.WrongObjectType, "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", e.Name)
		}
		return nil, b.errAt(e, pgerr.WrongObjectType, "WITHIN GROUP is required for ordered-set aggregate %s", e.Name)
	}
	if item.args, err = b.coerceArgs(item.fn.ParamTypes(typesOf(args)), args, e); err != nil {
		return nil, err
	}
	if e.WithinGroup {
		for i := range item.order {
			item.order[i].e = item.args[len(item.args)-len(item.order)+i]
		}
	}
	item.typ = item.fn.Result(typesOf(item.args))
	if e.Filter != nil {
		inner.clause = "FILTER"
		if item.filter, err = b.boolArg(inner, e.Filter, "FILTER"); err != nil {
			return nil, err
		}
	}
	if item.distinct {
		for i, a := range item.args {
			switch t := a.Type(); {
			case t.HasOrder() || i >= len(e.Args):
			case t.Underlying().ID == types.Xid:
				return nil, b.placed(pgerr.New(pgerr.UndefinedFunction, "could not identify an ordering operator for type %s", t).
					WithDetail("Aggregates with DISTINCT must be able to sort their inputs."), leftmost(e.Args[i].Value))
			default:
				return nil, b.errAt(leftmost(e.Args[i].Value), pgerr.UndefinedFunction, "could not identify an equality operator for type %s", t)
			}
		}
		if err := b.checkAggDistinct(item, e); err != nil {
			return nil, err
		}
		item.distinct = !item.fn.DistinctIsNoop
	}
	item.key = item.text()
	return item, nil
}

func (b *binder) aggOrder(ec *exprContext, e *sql.FuncCall, item *aggItem) error {
	for _, s := range e.OrderBy {
		x, err := b.expr(ec, s.Expr)
		if err != nil {
			return err
		}
		if !e.WithinGroup {
			if x, err = b.toText(x); err != nil {
				return err
			}
		}
		k, err := b.sortKey(x, s)
		if err != nil {
			return err
		}
		item.order = append(item.order, k)
	}
	return nil
}

// checkAggDistinct: with DISTINCT, ORDER BY may only sort by the arguments as they are
// written, or as the call has converted them. An untyped literal has become another
// value than that of ORDER BY, but for count, which takes any type.
func (b *binder) checkAggDistinct(item *aggItem, e *sql.FuncCall) error {
	if e.WithinGroup {
		return nil
	}
	for i, o := range item.order {
		untyped := isUntyped(e.OrderBy[i].Expr)
		found := slices.ContainsFunc(item.args, func(a expr.Expr) bool {
			if untyped && item.fn.Name != "count" {
				return false
			}
			return exprKey(a) == exprKey(o.e) || exprKey(stripImplicit(a)) == exprKey(o.e) || bothNull(a, o.e)
		})
		if !found {
			return b.errAt(leftmost(e.OrderBy[i].Expr), pgerr.InvalidColumnReference, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list")
		}
	}
	return nil
}

// isUntyped tells a literal whose type comes from where it stands.
func isUntyped(e sql.Expr) bool {
	l, ok := e.(*sql.Literal)
	return ok && (l.Kind == sql.LitString || l.Kind == sql.LitNull)
}

// bothNull reports whether both are NULL, whose type the call may have made another.
func bothNull(a, b expr.Expr) bool {
	x, ok := a.(*expr.Const)
	y, also := b.(*expr.Const)
	return ok && also && x.Val == nil && y.Val == nil
}

// stripImplicit takes off the conversion that a call has added.
func stripImplicit(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Cast); ok && !c.Explicit {
		return c.Arg
	}
	return e
}

// inputs are all expressions that the aggregate reads.
func (a *aggItem) inputs() []expr.Expr {
	out := append([]expr.Expr(nil), a.args...)
	if a.filter != nil {
		out = append(out, a.filter)
	}
	for _, o := range a.order {
		out = append(out, o.e)
	}
	return out
}

// sortKey applies ASC, DESC, USING and NULLS.
func (b *binder) sortKey(x expr.Expr, s sql.SortItem) (sortExpr, error) {
	k := sortExpr{e: x, desc: s.Desc}
	switch s.Using {
	case "", "<":
	case ">":
		k.desc = true
	default:
		return k, b.errAt(s, pgerr.WrongObjectType, "operator %s is not a valid ordering operator", s.Using)
	}
	if t := x.Type(); !t.HasOrder() {
		return k, pgerr.New(pgerr.UndefinedFunction, "could not identify an ordering operator for type %s", t).
			WithHint("Use an explicit ordering operator or modify the query.").At(b.at(s.Expr))
	}
	k.nullsFirst = k.desc
	switch s.Nulls {
	case sql.NullsFirst:
		k.nullsFirst = true
	case sql.NullsLast:
		k.nullsFirst = false
	}
	return k, nil
}
