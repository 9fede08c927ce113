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

// queryMode says how the result of a query is used.
type queryMode struct {
	// root: the result goes to the client in order; Sort and Limit may stand.
	root bool
	// keepUnknown leaves untyped literals among the output columns to the caller.
	keepUnknown bool
	// order asks for the ORDER BY keys as columns (hidden ones at the right)
	// instead of a Sort.
	order bool
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
}

// cteEnv is the list of common table expressions in sight, newest first.
type cteEnv struct {
	next *cteEnv
	cte  *cte
}

type cte struct {
	name  string
	node  plan.Node
	cols  []plan.Column
	depth int // of the scope its plan sees as level 1
	size  int
	rec   bool // recursive: its own query is being bound
	mute  bool // a data-modifying statement without RETURNING
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
	if len(q.Locks) > 0 {
		return nil, b.unsupported(q, "SELECT FOR "+q.Locks[0].Strength,
			"Leave it out: two transactions that write the same key conflict (SQLSTATE 40001) without it.")
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

func outerEnv(outer *scope) *cteEnv {
	if outer == nil {
		return nil
	}
	return outer.ctes
}

// withClause binds the common table expressions of a WITH clause. Statements that
// change data may stand in that of the whole statement only.
func (b *binder) withClause(w *sql.With, outer *scope, top bool) (*cteEnv, error) {
	env := outerEnv(outer)
	if w == nil {
		return env, nil
	}
	seen := map[string]bool{}
	for _, c := range w.CTEs {
		if seen[c.Name] {
			return nil, b.errAt(c, pgerr.DuplicateAlias, "WITH query name \"%s\" specified more than once", c.Name)
		}
		seen[c.Name] = true
		q, ok := c.Query.(*sql.Select)
		if !ok {
			if !top {
				return nil, b.errAt(c, pgerr.FeatureNotSupported, "WITH clause containing a data-modifying statement must be at the top level")
			}
			m, err := b.withMutation(c, env)
			if err != nil {
				return nil, err
			}
			env = &cteEnv{env, m}
			continue
		}
		if w.Recursive && mentions(q, c.Name) {
			return nil, b.unsupported(c, "WITH RECURSIVE", "Write out a fixed number of steps with UNION ALL.")
		}
		// The definition sees what the query itself sees, and earlier definitions.
		var sc *scope
		if outer != nil {
			o := *outer
			o.ctes = env
			sc = &o
		} else {
			sc = &scope{ctes: env}
		}
		before := b.nodes
		n, cols, err := b.query(q, sc, queryMode{})
		if err != nil {
			return nil, err
		}
		if outer == nil {
			n = lowerOuter(n)
		}
		if len(c.Columns) > len(cols) {
			return nil, b.errAt(c, pgerr.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified", c.Name, len(cols), len(c.Columns))
		}
		cols = slices.Clone(cols)
		for i, name := range c.Columns {
			cols[i].Name = name
		}
		env = &cteEnv{env, &cte{name: c.Name, node: n, cols: cols, depth: outer.depth(), size: b.nodes - before}}
	}
	return env, nil
}

// cteRef binds a reference to a common table expression; nil when there is none
// of the name.
func (b *binder) cteRef(te *sql.TableRef, outer *scope) (*fromPart, error) {
	for e := outer.ctes; e != nil; e = e.next {
		c := e.cte
		if c.name != te.Name.Name {
			continue
		}
		if c.mute {
			return nil, b.errAt(te, pgerr.FeatureNotSupported, "WITH query \"%s\" does not have a RETURNING clause", c.name)
		}
		if err := b.grow(c.size, te); err != nil {
			return nil, err
		}
		it, err := b.alias(te.Alias, c.name, c.cols, te)
		if err != nil {
			return nil, err
		}
		return &fromPart{node: shiftOuter(c.node, outer.depth()-c.depth), items: []*rangeItem{it}}, nil
	}
	return nil, nil
}

// mentions reports whether a query names a table called name, to find out which
// queries of WITH RECURSIVE are recursive. It may err towards yes.
func mentions(q *sql.Select, name string) bool {
	if q == nil {
		return false
	}
	for _, t := range q.From {
		if tableMentions(t, name) {
			return true
		}
	}
	return mentions(q.Left, name) || mentions(q.Right, name)
}

func tableMentions(t sql.TableExpr, name string) bool {
	switch t := t.(type) {
	case *sql.TableRef:
		return t.Name.Schema == "" && t.Name.Name == name
	case *sql.SubqueryTable:
		return mentions(t.Query, name)
	case *sql.JoinTable:
		return tableMentions(t.Left, name) || tableMentions(t.Right, name)
	case *sql.WindowTable:
		return tableMentions(t.Table, name)
	}
	return false
}

// setOperation binds UNION, INTERSECT and EXCEPT. A left-leaning chain of UNION
// ALL becomes one node.
func (b *binder) setOperation(q *sql.Select, outer *scope, env *cteEnv, mode queryMode) (*bound, error) {
	arms, err := b.setArms(q, outer, env)
	if err != nil {
		return nil, err
	}
	word := [...]string{sql.Union: "UNION", sql.Intersect: "INTERSECT", sql.Except: "EXCEPT"}[q.Op]
	first := arms[0]
	for i, a := range arms[1:] {
		if len(a.cols) != len(first.cols) {
			return nil, b.errAt(firstPlace(a, arms[i+1].at, q), pgerr.SyntaxError, "each %s query must have the same number of columns", word)
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
			return nil, err
		}
		out[c] = plan.Column{Name: first.cols[c].Name, Typ: t}
		for i := range arms {
			exprs[i] = append(exprs[i], us[i])
		}
	}
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

func firstPlace(a *bound, at []sql.Node, q *sql.Select) sql.Node {
	if len(at) > 0 && at[0] != nil {
		return at[0]
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
	sc := &scope{ctes: env}
	if outer != nil {
		o := *outer
		o.ctes = env
		sc = &o
	}
	arms := make([]*bound, len(list))
	for i, s := range list {
		r, err := b.boundQuery(s, sc, queryMode{keepUnknown: true})
		if err != nil {
			return nil, err
		}
		r.node = narrowTo(r.node, len(r.cols))
		if outer == nil {
			r.node = lowerOuter(r.node)
		}
		if err := b.grow(1, s); err != nil {
			return nil, err
		}
		arms[i] = r
	}
	return arms, nil
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
		if c.Typ.ID == types.JSON || c.Typ.ID == types.Void {
			err := pgerr.New(pgerr.UndefinedFunction, "could not identify an equality operator for type %s", c.Typ.Base())
			if i < len(at) {
				return b.placed(err, at[i])
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
		for k, e := range rows[i] {
			if hasSubquery(e) {
				return nil, b.unsupported(r[k], "a subquery in VALUES", "Use SELECT ... UNION ALL SELECT ...")
			}
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
	r.node, r.cols = v, v.Out
	if len(q.OrderBy) > 0 {
		if mode.root || mode.order || q.Limit != nil || q.Skip != nil {
			return r, b.orderOutput(q, r)
		}
		return r, b.checkOutputOrder(q, r)
	}
	return r, nil
}

// limit applies ORDER BY, LIMIT and OFFSET to a bound query.
func (b *binder) limit(q *sql.Select, outer *scope, env *cteEnv, r *bound, mode queryMode) error {
	lim, err := b.limitExpr(q.Limit, outer, env, "LIMIT")
	if err != nil {
		return err
	}
	off, err := b.limitExpr(q.Skip, outer, env, "OFFSET")
	if err != nil {
		return err
	}
	if q.WithTies && len(q.OrderBy) == 0 {
		return b.errAt(q, pgerr.SyntaxError, "WITH TIES cannot be specified without ORDER BY clause")
	}
	if mode.root && !b.stream {
		if q.WithTies {
			if err := b.topN(q, r, lim, off, true); err != nil {
				return err
			}
			lim, off = nil, nil
		}
		if len(r.order) > 0 {
			r.node = &plan.Sort{Input: r.node, Order: r.order}
		}
		if lim != nil || off != nil {
			r.node = &plan.Limit{Input: r.node, Limit: lim, Offset: off}
		}
		return nil
	}
	if lim == nil && off == nil {
		return nil
	}
	return b.topN(q, r, lim, off, q.WithTies)
}

// topN cuts a relation in the order of r, with constant bounds.
func (b *binder) topN(q *sql.Select, r *bound, lim, off expr.Expr, ties bool) error {
	n := &plan.TopN{Input: r.node, Order: r.order, Limit: -1, WithTies: ties}
	for _, x := range []struct {
		e  expr.Expr
		to *int64
	}{{lim, &n.Limit}, {off, &n.Offset}} {
		if x.e == nil {
			continue
		}
		c, ok := b.fold(x.e).(*expr.Const)
		if !ok {
			return b.unsupported(q, "a LIMIT or OFFSET that is not a constant in a subquery or view", "Write the number itself.")
		}
		if c.Val != nil {
			*x.to = c.Val.(int64)
		}
	}
	r.node = n
	return nil
}

func (b *binder) limitExpr(e sql.Expr, outer *scope, env *cteEnv, what string) (expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	x, err := b.expr(&exprContext{sc: &scope{parent: outer, ctes: env}, clause: what, noSub: what}, e)
	if err != nil {
		if pe := pgerr.From(err); pe.Code == pgerr.UndefinedColumn && strings.Contains(pe.Msg, "column") {
			return nil, b.errAt(e, pgerr.InvalidColumnReference, "argument of %s must not contain variables", what)
		}
		return nil, err
	}
	if hasOuter(x) {
		return nil, b.errAt(e, pgerr.InvalidColumnReference, "argument of %s must not contain variables", what)
	}
	if x, err = b.coerce(x, types.TInt8, expr.Assignment, e); err != nil {
		if t := x; t != nil {
			return nil, err
		}
		return nil, b.errAt(e, pgerr.DatatypeMismatch, "argument of %s must be type bigint", what)
	}
	x = b.fold(x)
	if c, ok := x.(*expr.Const); ok {
		if c.Val == nil {
			return nil, nil
		}
		if c.Val.(int64) < 0 {
			code := pgerr.InvalidRowCountInLimit
			if what == "OFFSET" {
				code = pgerr.InvalidRowCountInOffset
			}
			return nil, pgerr.New(code, "%s must not be negative", what)
		}
	}
	return x, nil
}
