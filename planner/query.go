package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// queryMode says how the result of a query is used.
type queryMode struct {
	// root: the result goes to the client in order; Sort and Limit may stand.
	root bool
	// keepUnknown leaves untyped literals among the output columns to the caller.
	keepUnknown bool
	// order asks for the ORDER BY keys as columns (hidden ones at the right)
	// instead of a Sort.
	order bool
	// lock, unless empty, is the strength of a locking clause of the query around that
	// is about this one's tables, too; its rows are then part of the result (bound.locks).
	// view: as those of a view.
	lock string
	view bool
	// cursor: the rows that locking clauses are about stay part of the result of the query.
	cursor bool
}

// bound is a bound query: its plan has the visible columns, then hidden ones that
// only order.
type bound struct {
	node plan.Node
	cols []plan.Column
	// order are the ORDER BY keys over node's columns.
	order []expr.SortKey
	// names are the places of the output columns in the text.
	at []sql.Node
	// late are the visible columns that are computed of node's row when the rows are
	// in order; nil: none, or in their places those that are not such ones.
	late []expr.Expr
	// locks are the rows of tables among node's columns that a locking clause is about.
	locks []lockedRow
	// sc is what the names of a plain SELECT mean; nil of another query.
	sc *scope
}

// query binds a query under outer. ORDER BY without LIMIT has no effect unless
// mode says so, since relations are multisets.
func (b *binder) query(q *sql.Select, outer *scope, mode queryMode) (plan.Node, []plan.Column, error) {
	r, err := b.boundQuery(q, outer, mode)
	if err != nil {
		return nil, nil, err
	}
	return narrowTo(r.node, len(r.cols)), r.cols, nil
}

// rootQuery binds the query of a one-off statement.
func (b *binder) rootQuery(q *sql.Select) (plan.Node, []plan.Column, error) {
	return b.query(q, nil, queryMode{root: true})
}

// orderedQuery binds a query whose order matters to an aggregate over it.
func (b *binder) orderedQuery(q *sql.Select, outer *scope) (plan.Node, []expr.SortKey, []plan.Column, error) {
	r, err := b.boundQuery(q, outer, queryMode{order: true})
	if err != nil {
		return nil, nil, nil, err
	}
	return r.node, r.order, r.cols, nil
}

func (b *binder) boundQuery(q *sql.Select, outer *scope, mode queryMode) (*bound, error) {
	if err := b.enter(q); err != nil {
		return nil, err
	}
	defer b.leave()
	if err := b.mayLock(q, mode); err != nil {
		return nil, err
	}
	env, err := b.withClause(q.With, outer, mode.root && outer == nil && !b.stream)
	if err != nil {
		return nil, err
	}
	var r *bound
	switch {
	case q.Op != sql.SetNone:
		r, err = b.setOperation(q, outer, env, mode)
	case q.Values != nil:
		r, err = b.values(q, outer, env, mode)
	default:
		r, err = b.selectCore(q, outer, env, mode)
	}
	if err != nil {
		return nil, err
	}
	if len(r.cols) > maxColumns {
		return nil, b.errAt(q, pgerr.TooManyColumns, "target lists can have at most %d entries", maxColumns)
	}
	return r, b.limit(q, outer, env, r, mode)
}

// setOperation binds UNION, INTERSECT and EXCEPT. A left-leaning chain of UNION
// ALL becomes one node.
func (b *binder) setOperation(q *sql.Select, outer *scope, env *cteEnv, mode queryMode) (*bound, error) {
	arms, err := b.setArms(q, outer, env)
	if err != nil {
		return nil, err
	}
	word := [...]string{sql.Union: "UNION", sql.Intersect: "INTERSECT", sql.Except: "EXCEPT"}[q.Op]
	exprs, out, err := b.unifyArms(q, arms, word)
	if err != nil {
		return nil, err
	}
	first := arms[0]
	nodes := make([]plan.Node, len(arms))
	for i, a := range arms {
		nodes[i] = &plan.Project{Input: a.node, Exprs: exprs[i], Out: out}
	}
	r := &bound{cols: out, at: first.at}
	switch {
	case q.Op == sql.Union:
		r.node = &plan.Union{Inputs: nodes, Out: out}
		if !q.All {
			if err := b.checkEquality(out, r.at); err != nil {
				return nil, err
			}
			r.node = distinct(r.node)
		}
	default:
		if err := b.checkEquality(out, r.at); err != nil {
			return nil, err
		}
		kind := plan.Intersect
		if q.Op == sql.Except {
			kind = plan.Except
		}
		r.node = &plan.SetOp{Kind: kind, All: q.All, Left: nodes[0], Right: nodes[1]}
	}
	if (mode.root || mode.order || q.Limit != nil || q.Skip != nil) && len(q.OrderBy) > 0 {
		return r, b.orderOutput(q, r)
	}
	return r, b.checkOutputOrder(q, r)
}

// unifyArms finds the columns of a set operation and, for each arm, the
// expressions that make its rows of them.
func (b *binder) unifyArms(q *sql.Select, arms []*bound, word string) ([][]expr.Expr, []plan.Column, error) {
	first := arms[0]
	for i, a := range arms[1:] {
		if len(a.cols) != len(first.cols) {
			return nil, nil, b.errAt(firstPlace(a, arms[i+1].at, q), pgerr.SyntaxError, "each %s query must have the same number of columns", word)
		}
	}
	out := make([]plan.Column, len(first.cols))
	exprs := make([][]expr.Expr, len(arms))
	for c := range out {
		es := make([]expr.Expr, len(arms))
		for i, a := range arms {
			es[i] = columnOrLiteral(a, c)
		}
		us, t, err := b.unify(es, word, func(i int) sql.Node { return arms[i].at[c] }, q)
		if err != nil {
			return nil, nil, err
		}
		out[c] = plan.Column{Name: first.cols[c].Name, Typ: t}
		for i := range arms {
			exprs[i] = append(exprs[i], us[i])
		}
	}
	return exprs, out, nil
}

func firstPlace(a *bound, at []sql.Node, q *sql.Select) sql.Node {
	if len(at) > 0 && at[0] != nil {
		return leftmost(at[0])
	}
	return q
}

// columnOrLiteral is column c of an arm; an untyped literal is taken itself, so
// that it can take the other arms' type.
func columnOrLiteral(a *bound, c int) expr.Expr {
	if p, ok := a.node.(*plan.Project); ok && a.cols[c].Typ.ID == types.Unknown {
		return p.Exprs[c]
	}
	return &expr.Col{Index: c, Typ: a.cols[c].Typ}
}

// setArms binds the inputs of a set operation.
func (b *binder) setArms(q *sql.Select, outer *scope, env *cteEnv) ([]*bound, error) {
	var list []*sql.Select
	left := q.Left
	list = append(list, q.Right)
	for q.Op == sql.Union && left.Op == sql.Union && left.All == q.All && left.With == nil &&
		left.OrderBy == nil && left.Limit == nil && left.Skip == nil && len(left.Locks) == 0 {
		list = append(list, left.Right)
		left = left.Left
	}
	list = append(list, left)
	slices.Reverse(list)
	arms := make([]*bound, len(list))
	for i, s := range list {
		var err error
		if arms[i], err = b.setArm(s, outer, env); err != nil {
			return nil, err
		}
	}
	return arms, nil
}

// setArm binds one input of a set operation.
func (b *binder) setArm(q *sql.Select, outer *scope, env *cteEnv) (*bound, error) {
	if len(q.Locks) > 0 {
		return nil, cannotLock(q.Locks[0].Strength, "UNION/INTERSECT/EXCEPT")
	}
	r, err := b.boundQuery(q, under(outer, env), queryMode{keepUnknown: true})
	if err != nil {
		return nil, err
	}
	r.node = narrowTo(r.node, len(r.cols))
	if outer == nil {
		r.node = lowerOuter(r.node)
	}
	return r, b.grow(1, q)
}

// distinct removes duplicate rows.
func distinct(n plan.Node) plan.Node {
	a := &plan.Aggregate{Input: n, Out: n.Schema()}
	for i := range a.Out {
		a.Group = append(a.Group, i)
	}
	return a
}

// checkEquality: rows can only be compared when every type has an equality.
func (b *binder) checkEquality(cols []plan.Column, at []sql.Node) error {
	for i, c := range cols {
		if c.Typ.ID == types.JSON || c.Typ.ID == types.JSONPath || c.Typ.ID == types.Void {
			err := pgerr.New(pgerr.UndefinedFunction, "could not identify an equality operator for type %s", c.Typ.Base())
			if i < len(at) {
				return b.placed(err, leftmost(at[i]))
			}
			return err
		}
	}
	return nil
}

// orderOutput sorts by output columns only, as after set operations.
func (b *binder) orderOutput(q *sql.Select, r *bound) error {
	for _, s := range q.OrderBy {
		i, err := b.outputColumn(s, r)
		if err != nil {
			return err
		}
		k, err := b.sortKey(&expr.Col{Index: i, Typ: r.cols[i].Typ}, s)
		if err != nil {
			return err
		}
		r.order = append(r.order, expr.SortKey{Col: i, Desc: k.desc, NullsFirst: k.nullsFirst})
	}
	return nil
}

func (b *binder) checkOutputOrder(q *sql.Select, r *bound) error {
	c := *r
	return b.orderOutput(q, &c)
}

func (b *binder) outputColumn(s sql.SortItem, r *bound) (int, error) {
	if i, ok, err := b.ordinal(s.Expr, len(r.cols), "ORDER BY"); ok || err != nil {
		return i, err
	}
	if c, ok := s.Expr.(*sql.ColumnRef); ok && len(c.Parts) == 1 && !c.Star {
		found := -1
		for i, col := range r.cols {
			if col.Name == c.Parts[0] {
				if found >= 0 {
					return 0, b.errAt(s.Expr, pgerr.AmbiguousColumn, "ORDER BY \"%s\" is ambiguous", col.Name)
				}
				found = i
			}
		}
		if found >= 0 {
			return found, nil
		}
		return 0, b.errAt(s.Expr, pgerr.UndefinedColumn, "column \"%s\" does not exist", c.Parts[0])
	}
	return 0, pgerr.New(pgerr.FeatureNotSupported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
		WithDetail("Only result column names can be used, not expressions or functions.").
		WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.").At(b.at(leftmost(s.Expr)))
}

// ordinal resolves an integer constant of ORDER BY or GROUP BY.
func (b *binder) ordinal(e sql.Expr, n int, clause string) (int, bool, error) {
	l, ok := e.(*sql.Literal)
	if !ok {
		return 0, false, nil
	}
	if l.Kind != sql.LitInt {
		return 0, false, b.errAt(e, pgerr.SyntaxError, "non-integer constant in %s", clause)
	}
	v := 0
	for _, c := range l.Text {
		if v = v*10 + int(c-'0'); v > 1<<20 {
			break
		}
	}
	if v < 1 || v > n {
		return 0, false, b.errAt(e, pgerr.InvalidColumnReference, "%s position %s is not in select list", clause, l.Text)
	}
	return v - 1, true, nil
}

// values binds VALUES.
func (b *binder) values(q *sql.Select, outer *scope, env *cteEnv, mode queryMode) (*bound, error) {
	ec := &exprContext{sc: &scope{parent: outer, ctes: env}, clause: "VALUES"}
	rows := make([][]expr.Expr, len(q.Values))
	for i, r := range q.Values {
		if len(r) != len(q.Values[0]) {
			return nil, b.errAt(r[0], pgerr.SyntaxError, "VALUES lists must all be the same length")
		}
		var err error
		if rows[i], err = b.exprs(ec, r); err != nil {
			return nil, err
		}
	}
	r := &bound{}
	v := &plan.Values{Rows: rows}
	for c := range rows[0] {
		es := make([]expr.Expr, len(rows))
		for i := range rows {
			es[i] = rows[i][c]
		}
		us, t, err := b.unify(es, "VALUES", func(i int) sql.Node { return q.Values[i][c] }, q)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i][c] = us[i]
		}
		v.Out = append(v.Out, plan.Column{Name: "column" + itoa(c+1), Typ: t})
		r.at = append(r.at, q.Values[0][c])
	}
	r.cols = v.Out
	var err error
	if r.node, err = b.valuesNode(v); err != nil {
		return nil, err
	}
	if len(q.OrderBy) > 0 {
		if mode.root || mode.order || q.Limit != nil || q.Skip != nil {
			return r, b.orderOutput(q, r)
		}
		return r, b.checkOutputOrder(q, r)
	}
	return r, nil
}

// valuesNode is v with the rows that have subqueries computed from these.
func (b *binder) valuesNode(v *plan.Values) (plan.Node, error) {
	var parts []plan.Node
	var constant *plan.Values // the last of parts, if it is one of v's rows as they are
	for _, row := range v.Rows {
		if !slices.ContainsFunc(row, hasSubquery) {
			if constant == nil {
				constant = &plan.Values{Out: v.Out}
				parts = append(parts, constant)
			}
			constant.Rows = append(constant.Rows, row)
			continue
		}
		constant = nil
		n, es, err := b.planSubqueries(oneRow(), row)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &plan.Project{Input: n, Exprs: es, Out: v.Out})
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return &plan.Union{Inputs: parts, Out: v.Out}, nil
}
