package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// limit applies ORDER BY, LIMIT and OFFSET to a bound query.
func (b *binder) limit(q *sql.Select, outer *scope, env *cteEnv, r *bound, mode queryMode) error {
	sc := r.sc
	if sc == nil {
		sc = &scope{parent: outer, ctes: env}
	}
	lim, err := b.limitExpr(q.Limit, sc, "LIMIT")
	if err != nil {
		return err
	}
	off, err := b.limitExpr(q.Skip, sc, "OFFSET")
	if err != nil {
		return err
	}
	if q.WithTies && len(q.OrderBy) == 0 {
		return b.errAt(q, pgerr.SyntaxError, "WITH TIES cannot be specified without ORDER BY clause")
	}
	if mode.root && !b.stream {
		if q.WithTies || lim != nil && hasOuter(lim) || off != nil && hasOuter(off) {
			if err := b.cut(q, r, lim, off, q.WithTies); err != nil {
				return err
			}
			lim, off = nil, nil
		}
		return b.ordered(q, r, lim, off, mode)
	}
	if lim != nil || off != nil {
		if err := b.cut(q, r, lim, off, q.WithTies); err != nil {
			return err
		}
	}
	if mode.lock == "" {
		b.lockRows(r, mode)
	}
	return nil
}

// cut keeps the first rows of a relation in the order of r.
func (b *binder) cut(q *sql.Select, r *bound, lim, off expr.Expr, ties bool) error {
	n := &plan.TopN{Input: r.node, Order: r.order, Limit: -1, WithTies: ties}
	for _, x := range []struct {
		e  expr.Expr
		to *int64
	}{{lim, &n.Limit}, {off, &n.Offset}} {
		if x.e == nil {
			continue
		}
		c, ok := x.e.(*expr.Const)
		if !ok {
			return b.cutByRank(q, r, lim, off, ties)
		}
		*x.to = c.Val.(int64)
	}
	r.node = n
	return nil
}

// cutByRank is cut with bounds that are not constants: it numbers the rows, and
// compares the numbers with the bounds.
func (b *binder) cutByRank(q *sql.Select, r *bound, lim, off expr.Expr, ties bool) error {
	width := len(r.node.Schema())
	w := &plan.Window{Input: r.node, Order: r.order, Out: slices.Clone(r.node.Schema())}
	number := func(name string) expr.Expr {
		frame := plan.Frame{Mode: plan.Range, Start: plan.UnboundedPreceding, End: plan.CurrentRow}
		w.Funcs = append(w.Funcs, plan.WindowFunc{Name: name, Frame: frame, Typ: types.TInt8})
		w.Out = append(w.Out, plan.Column{Name: name, Typ: types.TInt8})
		return &expr.Col{Index: len(w.Out) - 1, Typ: types.TInt8}
	}
	row := number("row_number")
	last := row // compared with the limit: a row that ties with an earlier one has its rank
	if ties {
		last = number("rank")
	}
	var node plan.Node = w
	bounds := []expr.Expr{lim, off}
	zero := &expr.Const{Val: int64(0), Typ: types.TInt8}
	for i, x := range bounds {
		if x == nil {
			continue
		}
		if plan.IsVolatile(x) {
			var err error
			if x, err = b.onceRow(x, q); err != nil {
				return err
			}
		}
		n, es, err := b.planSubqueries(node, []expr.Expr{x})
		if err != nil {
			return err
		}
		fn := expr.RowLimit(i == 1)
		node, bounds[i] = n, &expr.Call{Fn: fn, Args: es, Typ: types.TInt8}
	}
	lim, off = bounds[0], bounds[1]
	var conds []expr.Expr
	var first error
	compare := func(op string, l, r expr.Expr) expr.Expr {
		e, err := b.op(op, q, l, r)
		if first == nil {
			first = err
		}
		return e
	}
	if off != nil {
		off = &expr.Coalesce{Args: []expr.Expr{off, zero}, Typ: types.TInt8}
		conds = append(conds, compare(">", row, off))
		last = compare("-", last, off)
	}
	if lim != nil {
		within := compare("<=", last, lim)
		if ties {
			within = &expr.And{Args: []expr.Expr{compare(">", lim, zero), within}}
		}
		conds = append(conds, &expr.Or{Args: []expr.Expr{&expr.IsNull{Arg: lim}, within}})
	}
	if first != nil {
		return first
	}
	r.node = narrowTo(&plan.Filter{Input: node, Cond: and(conds)}, width)
	return nil
}

// limitExpr binds a bound of LIMIT or OFFSET; nil: there is none.
func (b *binder) limitExpr(e sql.Expr, sc *scope, what string) (expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	x, err := b.expr(&exprContext{sc: sc, clause: what}, e)
	if err != nil {
		return nil, err
	}
	if err := b.noVariables(x, e, what); err != nil {
		return nil, err
	}
	if x, err = b.rowCount(x, e, what); err != nil {
		return nil, err
	}
	x = b.fold(x)
	if c, ok := x.(*expr.Const); ok {
		if c.Val == nil {
			return nil, nil
		}
		if c.Val.(int64) < 0 {
			return nil, expr.NegativeLimit(what == "OFFSET")
		}
	}
	return x, nil
}

// rowCount makes a number of rows a bigint.
func (b *binder) rowCount(x expr.Expr, e sql.Expr, what string) (expr.Expr, error) {
	t := x.Type()
	x, err := b.coerce(x, types.TInt8, expr.Assignment, e)
	if err != nil && t.ID != types.Unknown {
		return nil, b.errAt(leftmost(e), pgerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s", what, t.Base())
	}
	return x, err
}

// onceRow makes a value that is the same for all rows of a query a subquery, which is
// computed once, where it might change from row to row.
func (b *binder) onceRow(x expr.Expr, at sql.Node) (expr.Expr, error) {
	n, es, err := b.planSubqueries(oneRow(), []expr.Expr{outward(x, 1)})
	if err != nil {
		return nil, err
	}
	n = &plan.Project{Input: n, Exprs: es, Out: []plan.Column{{Name: "once", Typ: x.Type()}}}
	return &subRef{kind: subScalar, node: n, typ: x.Type(), at: at}, nil
}

// noVariables: x may refer to the rows of the queries around, but not to those of its
// own.
func (b *binder) noVariables(x expr.Expr, e sql.Expr, what string) error {
	used := map[int]bool{}
	(&selection{b: b}).colsUsed(x, used)
	if len(used) == 0 {
		return nil
	}
	err := pgerr.New(pgerr.InvalidColumnReference, "argument of %s must not contain variables", what)
	expr.Walk(x, func(y expr.Expr) bool {
		if c, ok := y.(*expr.Col); ok && err.Pos == 0 {
			err = err.At(b.colAt[c].pos)
		}
		return true
	})
	return err.At(b.at(e))
}
