package planner

import (
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// isHypothetical tells the hypothetical-set aggregates: the functions that rank a
// row among others as if it were one of them.
func isHypothetical(e *sql.FuncCall) bool {
	switch e.Name {
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return e.WithinGroup && e.Over == nil
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
	case len(e.Args) != len(e.OrderBy):
		return nil, b.unmatchedArguments(ec, e)
	}
	for _, o := range e.OrderBy {
		if o.Using != "" {
			return nil, b.unsupported(e, "ORDER BY … USING in a hypothetical-set aggregate", "Say ASC or DESC.")
		}
	}
	h := hypotheticalCall{e}
	one := h.integer("1")
	before := h.count(h.before(0, false))
	var out sql.Expr
	switch e.Name {
	case "rank":
		out = h.op("+", before, one)
	case "dense_rank":
		row := &sql.RowExpr{At: e.At, Explicit: true}
		for _, o := range e.OrderBy {
			row.Fields = append(row.Fields, o.Expr)
		}
		before.Star, before.Distinct, before.Args = false, true, []sql.Arg{{Value: row}}
		out = h.op("+", before, one)
	case "percent_rank":
		// Without rows the rank is 1 of 1.
		out = h.op("/", h.float(before), h.float(&sql.MinMax{At: e.At, Args: []sql.Expr{h.count(nil), one}}))
	case "cume_dist":
		out = h.op("/", h.float(h.op("+", h.count(h.before(0, true)), one)), h.float(h.op("+", h.count(nil), one)))
	}
	return b.expr(ec, h.withArguments(out))
}

func (b *binder) unmatchedArguments(ec *exprContext, e *sql.FuncCall) error {
	inner := *ec
	inner.aggs, inner.wins, inner.inAgg, inner.allowSet, inner.clause = nil, nil, true, false, "aggregate function arguments"
	args, err := b.plainArgs(&inner, e)
	if err != nil {
		return err
	}
	item := &aggItem{}
	if err := b.aggOrder(&inner, e, item); err != nil {
		return err
	}
	var ts []string
	for _, a := range args {
		ts = append(ts, a.Type().String())
	}
	for _, o := range item.order {
		ts = append(ts, o.e.Type().String())
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s(%s) does not exist", e.Name, strings.Join(ts, ", ")).At(b.at(e)).
		WithHint("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %d) must match the number of ordering columns (here %d).",
			e.Name, len(args), len(item.order))
}

// hypotheticalCall makes the parts of what stands for a call.
type hypotheticalCall struct{ e *sql.FuncCall }

func (h hypotheticalCall) op(op string, l, r sql.Expr) sql.Expr {
	return &sql.OpExpr{At: h.e.At, Op: op, Left: l, Right: r}
}

func (h hypotheticalCall) integer(n string) sql.Expr {
	return &sql.Literal{At: h.e.At, Kind: sql.LitInt, Text: n}
}

func (h hypotheticalCall) float(x sql.Expr) sql.Expr {
	return &sql.Cast{At: h.e.At, Arg: x, Type: &sql.TypeName{At: h.e.At, Schema: "pg_catalog", Name: "float8"}}
}

// count counts the rows that the call's FILTER and cond let through.
func (h hypotheticalCall) count(cond sql.Expr) *sql.FuncCall {
	f := h.e.Filter
	switch {
	case f == nil:
		f = cond
	case cond != nil:
		f = &sql.BoolExpr{At: h.e.At, Args: []sql.Expr{f, cond}}
	}
	return &sql.FuncCall{At: h.e.At, Name: "count", Star: true, Filter: f}
}

// before is true for the rows that sort before the values from key i on, and with
// equal also for those that do not sort after them.
func (h hypotheticalCall) before(i int, equal bool) sql.Expr {
	if i == len(h.e.OrderBy) {
		text := "false"
		if equal {
			text = "true"
		}
		return &sql.Literal{At: h.e.At, Kind: sql.LitBool, Text: text}
	}
	o, v := h.e.OrderBy[i], h.e.Args[i].Value
	op := "<"
	if o.Desc {
		op = ">"
	}
	nullsFirst := o.Nulls == sql.NullsFirst || o.Nulls == sql.NullsDefault && o.Desc
	nullBefore := [2]sql.Expr{v, o.Expr} // NULLS LAST: a value sorts before NULL
	if nullsFirst {
		nullBefore = [2]sql.Expr{o.Expr, v}
	}
	and := func(args ...sql.Expr) sql.Expr { return &sql.BoolExpr{At: h.e.At, Args: args} }
	null := func(x sql.Expr, not bool) sql.Expr { return &sql.IsTest{At: h.e.At, Arg: x, Not: not} }
	same := &sql.DistinctFrom{At: h.e.At, Left: o.Expr, Right: v, Not: true}
	return &sql.BoolExpr{At: h.e.At, Or: true, Args: []sql.Expr{
		h.op(op, o.Expr, v),
		and(null(nullBefore[0], false), null(nullBefore[1], true)),
		and(same, h.before(i+1, equal)),
	}}
}

// withArguments keeps the values in sight of the check that what is outside of
// aggregates is grouped.
func (h hypotheticalCall) withArguments(x sql.Expr) sql.Expr {
	for _, a := range h.e.Args {
		if _, ok := a.Value.(*sql.Literal); ok {
			continue
		}
		x = &sql.CaseExpr{At: h.e.At, Whens: []sql.When{{Cond: &sql.IsTest{At: h.e.At, Arg: a.Value}, Then: x}}, Else: x}
	}
	return x
}
