package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// unixEpoch is 1970-01-01 in µs since 2000-01-01.
const unixEpoch int64 = -946684800000000

// windowTable binds TUMBLE, HOP and CUMULATE: the table's columns followed by
// window_start and window_end. Windows are aligned to 1970-01-01.
func (b *binder) windowTable(te *sql.WindowTable, outer *scope) (*fromPart, error) {
	if te.Kind == sql.Session {
		return nil, b.unsupported(te, "SESSION windows", "Use TUMBLE or HOP, or number the sessions with lag() OVER and sum() OVER.")
	}
	p, err := b.tableExpr(te.Table, outer)
	if err != nil {
		return nil, err
	}
	sc := &scope{parent: blind(outer), items: p.items, ctes: outer.ctes}
	ts, err := b.columnRef(sc, te.Time)
	if err != nil {
		return nil, err
	}
	typ := ts.Type().Base()
	if typ == types.TDate {
		typ = types.TTimestamp
	}
	if typ != types.TTimestamp && typ != types.TTimestamptz {
		return nil, b.errAt(te.Time, pgerr.DatatypeMismatch, "a time window needs a column of type timestamp or timestamptz, not %s", ts.Type())
	}
	if ts, err = b.coerce(ts, typ, expr.Implicit, te.Time); err != nil {
		return nil, err
	}
	var args []expr.Expr
	for _, a := range te.Args {
		e, err := b.expr(&exprContext{sc: &scope{ctes: outer.ctes}, clause: "window sizes"}, a)
		if err != nil {
			return nil, err
		}
		if e, err = b.coerce(e, types.TInterval, expr.Implicit, a); err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	want := 1
	if te.Kind != sql.Tumble {
		want = 2
	}
	if len(args) < want || len(args) > want+1 {
		return nil, b.errAt(te, pgerr.SyntaxError, "a time window takes %d or %d intervals, not %d", want, want+1, len(args))
	}
	for i, a := range args[:want] {
		v, ok := a.(*expr.Const)
		if ok && v.Val != nil && types.CompareInterval(v.Val.(types.IntervalValue), types.IntervalValue{}) <= 0 {
			return nil, b.errAt(te.Args[i], pgerr.InvalidParameterValue, "the size of a time window must be positive")
		}
	}
	node, start, end, err := b.windowBounds(te, p.node, ts, typ, args)
	if err != nil {
		return nil, err
	}
	return b.windowPart(te, p, node, start, end, typ)
}

// windowBounds returns the input, made to yield a row a window, and the bounds.
func (b *binder) windowBounds(te *sql.WindowTable, in plan.Node, ts expr.Expr, typ types.T, args []expr.Expr) (plan.Node, expr.Expr, expr.Expr, error) {
	var origin expr.Expr = &expr.Const{Val: unixEpoch, Typ: typ}
	build := &chain{b: b, at: te}
	unit, size := args[0], args[0]
	if te.Kind != sql.Tumble {
		size = args[1]
		if len(args) > 2 {
			origin = build.op("+", origin, args[2])
		}
	} else if len(args) > 1 {
		origin = build.op("+", origin, args[1])
	}
	width := len(in.Schema())
	switch te.Kind {
	case sql.Tumble:
		start := build.call("date_bin", size, ts, origin)
		return in, start, build.op("+", start, size), build.err
	case sql.Hop:
		last := build.call("date_bin", unit, ts, origin)
		first := build.op("+", build.op("-", last, size), unit)
		series := build.call("generate_series", build.call("date_bin", unit, first, origin), last, unit)
		if build.err != nil {
			return nil, nil, nil, build.err
		}
		in = appendSet(in, series, "window_start")
		start := &expr.Col{Index: width, Typ: typ}
		end := build.op("+", start, size)
		cond := build.op("<", ts, end)
		return &plan.Filter{Input: in, Cond: cond}, start, end, build.err
	default: // CUMULATE: one start, ends growing by a step
		start := build.call("date_bin", size, ts, origin)
		firstEnd := build.op("+", build.call("date_bin", unit, ts, start), unit)
		series := build.call("generate_series", firstEnd, build.op("+", start, size), unit)
		if build.err != nil {
			return nil, nil, nil, build.err
		}
		return appendSet(in, series, "window_end"), start, &expr.Col{Index: width, Typ: typ}, nil
	}
}

// appendSet adds a column with the values of a set-returning function.
func appendSet(in plan.Node, call expr.Expr, name string) plan.Node {
	n := &plan.ProjectSet{Input: in, Exprs: identity(in), Out: append([]plan.Column(nil), in.Schema()...)}
	n.Exprs = append(n.Exprs, call)
	n.Out = append(n.Out, plan.Column{Name: name, Typ: call.Type()})
	return n
}

// windowPart adds the bounds as columns and names them.
func (b *binder) windowPart(te *sql.WindowTable, p *fromPart, node plan.Node, start, end expr.Expr, typ types.T) (*fromPart, error) {
	width := len(p.node.Schema())
	pr := &plan.Project{Input: node, Exprs: append(identity(p.node), start, end)}
	pr.Out = append(append(pr.Out, p.node.Schema()...), plan.Column{Name: "window_start", Typ: typ}, plan.Column{Name: "window_end", Typ: typ})
	it := &rangeItem{relVisible: true, colVisible: true}
	for _, old := range p.items {
		if it.name == "" {
			it.name = old.name
		}
		if old.colVisible {
			it.cols = append(it.cols, old.cols...)
		}
	}
	it.cols = append(it.cols, scopeCol{name: "window_start", typ: typ, index: width}, scopeCol{name: "window_end", typ: typ, index: width + 1})
	if te.Alias != nil {
		it.name = te.Alias.Name
		if err := b.renameColumns(it, te.Alias, te); err != nil {
			return nil, err
		}
	}
	return &fromPart{node: pr, items: []*rangeItem{it}}, nil
}

// chain builds nested calls and keeps the first error.
type chain struct {
	b   *binder
	at  sql.Node
	err error
}

func (c *chain) call(name string, args ...expr.Expr) expr.Expr {
	if c.err != nil {
		return nil
	}
	e, err := c.b.call(name, c.at, args...)
	c.err = err
	return e
}

func (c *chain) op(op string, args ...expr.Expr) expr.Expr {
	if c.err != nil {
		return nil
	}
	e, err := c.b.op(op, c.at, args...)
	c.err = err
	return e
}
