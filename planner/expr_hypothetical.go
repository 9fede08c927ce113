package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// isHypothetical tells the hypothetical-set aggregates: the functions that rank a
// row among others as if it were one of them.
func isHypothetical(e *sql.FuncCall) bool {
	return isRankName(e.Name) && e.WithinGroup && e.Over == nil
}

func isRankName(name string) bool {
	switch name {
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return true
	}
	return false
}

// hypothetical binds name(values) WITHIN GROUP (ORDER BY keys) as what it counts:
// the rows whose keys sort before the values, or not after them.
func (b *binder) hypothetical(ec *exprContext, e *sql.FuncCall) (expr.Expr, error) {
	switch {
	case e.Distinct:
		return nil, b.errAt(e, pgerr.SyntaxError, "cannot use DISTINCT with WITHIN GROUP")
	case e.Variadic:
		return nil, b.unsupported(e, "a VARIADIC array argument", "Pass the elements as single arguments.")
	}
	var r *ranking
	owner, level, err := b.aggOwner(ec, e, func() (aggregated, direct []expr.Expr, err error) {
		if r, err = b.ranking(ec, e); err != nil {
			return nil, nil, err
		}
		return r.aggregated(), r.args, nil
	})
	if err != nil {
		return nil, err
	}
	if level > 0 {
		r.inward(level)
	}
	count := func(c rankCount) (expr.Expr, error) {
		item, err := b.rankItem(r, c)
		if err != nil {
			return nil, err
		}
		return b.aggAt(item, owner, level), nil
	}
	return b.rankOf(e, count)
}

// rankOf makes the function's result of counts.
func (b *binder) rankOf(e *sql.FuncCall, count func(rankCount) (expr.Expr, error)) (expr.Expr, error) {
	one := &expr.Const{Val: int64(1), Typ: types.TInt8}
	counted := countBefore
	switch e.Name {
	case "dense_rank":
		counted = countDistinctBefore
	case "cume_dist":
		counted = countNotAfter
	}
	n, err := count(counted)
	if err != nil {
		return nil, err
	}
	var total expr.Expr
	switch e.Name {
	case "percent_rank": // without rows the rank is 1 of 1
		if total, err = count(countAll); err != nil {
			return nil, err
		}
		total = &expr.MinMax{Args: []expr.Expr{total, one}, Greatest: true, Typ: types.TInt8}
	case "cume_dist":
		if total, err = count(countAll); err != nil {
			return nil, err
		}
		if total, err = b.op("+", e, total, one); err != nil {
			return nil, err
		}
	}
	if e.Name != "percent_rank" {
		if n, err = b.op("+", e, n, one); err != nil {
			return nil, err
		}
	}
	if total == nil {
		return n, nil
	}
	if n, err = b.coerce(n, types.TFloat8, expr.Explicit, e); err != nil {
		return nil, err
	}
	if total, err = b.coerce(total, types.TFloat8, expr.Explicit, e); err != nil {
		return nil, err
	}
	return b.op("/", e, n, total)
}

// ranking is a row, of the direct arguments, and those it is ranked among.
type ranking struct {
	args   []expr.Expr
	order  []sortExpr
	filter expr.Expr
	at     *sql.FuncCall
}

// rankCount is which rows of a ranking are counted.
type rankCount uint8

const (
	countAll rankCount = iota
	countBefore
	countDistinctBefore
	countNotAfter
)

// ranking binds the parts of a call.
func (b *binder) ranking(ec *exprContext, e *sql.FuncCall) (*ranking, error) {
	inner := ec.inAggregate()
	args, err := b.plainArgs(inner, e)
	if err != nil {
		return nil, err
	}
	item := &aggItem{}
	if err := b.aggOrder(inner, e, item); err != nil {
		return nil, err
	}
	if len(args) != len(item.order) {
		return nil, b.unmatchedArguments(e, args, item.order)
	}
	r := &ranking{args: args, order: item.order, at: e}
	for i := range args {
		place := func(k int) sql.Node { return [2]sql.Node{e.OrderBy[i].Expr, e.Args[i].Value}[k] }
		if plan.IsVolatile(args[i]) {
			return nil, b.unsupported(place(1), "a volatile function in a direct argument", "Compute the value in a subquery in FROM, and group by it.")
		}
		if isRow(args[i]) && isRow(r.order[i].e) {
			continue
		}
		pair, _, err := b.unify([]expr.Expr{r.order[i].e, args[i]}, "WITHIN GROUP", place, e)
		if err != nil {
			return nil, err
		}
		r.order[i].e, r.args[i] = pair[0], pair[1]
	}
	if e.Filter != nil {
		inner.clause = "FILTER"
		r.filter, err = b.boolArg(inner, e.Filter, "FILTER")
	}
	return r, err
}

func (b *binder) unmatchedArguments(e *sql.FuncCall, args []expr.Expr, order []sortExpr) error {
	var ts []string
	for _, a := range args {
		ts = append(ts, a.Type().String())
	}
	for _, o := range order {
		ts = append(ts, o.e.Type().String())
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", e.Name, strings.Join(ts, ", ")).At(b.at(e)).
		WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
			e.Name, len(args), len(order))
}

// aggregated are the expressions over the rows of the group.
func (r *ranking) aggregated() []expr.Expr {
	var out []expr.Expr
	for _, o := range r.order {
		out = append(out, o.e)
	}
	if r.filter != nil {
		out = append(out, r.filter)
	}
	return out
}

// inward makes r one of the query level queries out.
func (r *ranking) inward(level int) {
	for i, x := range r.args {
		r.args[i] = inward(x, level)
	}
	for i, o := range r.order {
		r.order[i].e = inward(o.e, level)
	}
	if r.filter != nil {
		r.filter = inward(r.filter, level)
	}
}

// rankItem is the aggregate that counts the rows that c means.
func (b *binder) rankItem(r *ranking, c rankCount) (*aggItem, error) {
	item := &aggItem{rank: r, count: c, at: r.at, filter: r.filter, typ: types.TInt8}
	if c == countDistinctBefore {
		var names []string
		var row []expr.Expr
		for _, o := range r.order {
			row, names = append(row, o.e), append(names, "")
		}
		item.args, item.distinct = []expr.Expr{expr.NewRow(row, names)}, true
	}
	var err error
	if item.fn, err = expr.ResolveAgg("count", typesOf(item.args)); err != nil {
		return nil, err
	}
	if c != countAll {
		cond, err := b.before(r, 0, c == countNotAfter)
		if err != nil {
			return nil, err
		}
		if r.filter != nil {
			cond = &expr.And{Args: []expr.Expr{r.filter, cond}}
		}
		item.filter = cond
	}
	item.key = item.text()
	return item, nil
}

// before is true for the rows that sort before the values from key i on, and with
// equal also for those that do not sort after them.
func (b *binder) before(r *ranking, i int, equal bool) (expr.Expr, error) {
	if i == len(r.order) {
		return &expr.Const{Val: equal, Typ: types.TBool}, nil
	}
	o, v := r.order[i], r.args[i]
	op := "<"
	if o.desc {
		op = ">"
	}
	less, err := b.compare(op, r.at, o.e, v)
	if err != nil {
		return nil, err
	}
	same, err := b.distinct(&sql.DistinctFrom{At: r.at.At, Not: true}, o.e, v)
	if err != nil {
		return nil, err
	}
	rest, err := b.before(r, i+1, equal)
	if err != nil {
		return nil, err
	}
	null, value := v, o.e // NULLS LAST: a value sorts before NULL
	if o.nullsFirst {
		null, value = o.e, v
	}
	return &expr.Or{Args: []expr.Expr{
		less,
		&expr.And{Args: []expr.Expr{&expr.IsNull{Arg: null}, &expr.IsNull{Arg: value, Negate: true}}},
		&expr.And{Args: []expr.Expr{same, rest}},
	}}, nil
}

// direct are the direct arguments of an ordered-set aggregate: the same for a group.
func (a *aggItem) direct() []expr.Expr {
	switch {
	case a.rank != nil:
		return a.rank.args
	case a.fn.OrderedSet:
		return a.args[:len(a.args)-len(a.order)]
	}
	return nil
}

// withDirect is the item with other direct arguments of the same types.
func (b *binder) withDirect(a *aggItem, args []expr.Expr) (*aggItem, error) {
	if a.rank != nil {
		r := *a.rank
		r.args = args
		return b.rankItem(&r, a.count)
	}
	c := *a
	c.args = slices.Concat(args, a.args[len(args):])
	return &c, nil
}
