package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// insert binds INSERT.
func (b *binder) insert(s *sql.Insert, ctes *cteEnv, top bool) (*Mutation, error) {
	t, err := b.dmlTarget(s.Table, "insert into", s.Table)
	if err != nil {
		return nil, err
	}
	env, err := b.withClause(s.With, &scope{ctes: ctes}, top)
	if err != nil {
		return nil, err
	}
	cols, err := b.insertColumns(s, t)
	if err != nil {
		return nil, err
	}
	m := &Mutation{Kind: MutInsert, Table: t.Table}
	need := b.wants(t, catalog.Insert, NeedInsert, nil)
	if m.Source, err = b.insertSource(s, t, cols, env); err != nil {
		return nil, err
	}
	if m.Source, err = b.withGenerated(m.Source, t.Table, 0); err != nil {
		return nil, err
	}
	name := t.name()
	if s.Alias != "" {
		name = s.Alias
	}
	if s.Conflict != nil {
		if m.Conflict, err = b.onConflict(s.Conflict, t, name, s, env); err != nil {
			return nil, err
		}
	}
	if s.Returning != nil {
		sc := &scope{items: []*rangeItem{guarded(t.item(name, 0), need)}, ctes: env}
		if s.Conflict != nil && len(s.Conflict.Update) > 0 {
			sc.hidden = []*rangeItem{t.item("excluded", len(t.Columns))}
		}
		if err := b.insertReturning(m, s.Returning, sc); err != nil {
			return nil, err
		}
	}
	if t.view != nil {
		m.ViewChecks = t.view.checks
	}
	return b.constrain(m)
}

// insertReturning binds RETURNING over the rows as they are stored.
func (b *binder) insertReturning(m *Mutation, ret []sql.Target, sc *scope) error {
	rs, err := b.returning(ret, sc)
	if err != nil {
		return err
	}
	m.Columns = columnsOf(rs)
	subqueries := false
	for _, r := range rs {
		m.Returning = append(m.Returning, r.e)
		subqueries = subqueries || hasSubquery(r.e)
	}
	if !subqueries {
		return nil
	}
	b.given++
	m.Returned = b.given
	n, es, err := b.planSubqueries(givenScan(m.Returned, m.Table.Name, m.RowSchema()), m.Returning)
	m.Returning, m.ReturningPlan = nil, &plan.Project{Input: n, Exprs: es, Out: m.Columns}
	return err
}

// insertColumns are the table columns that the source's columns go to.
func (b *binder) insertColumns(s *sql.Insert, t *changing) ([]insertTarget, error) {
	if s.Columns == nil && t.view == nil {
		return wholeColumns(all(len(t.Columns))), nil
	}
	var out []insertTarget
	if s.Columns == nil {
		for i, e := range t.view.cols {
			if c, ok := e.(*expr.Col); ok {
				out = append(out, insertTarget{column: c.Index})
			} else {
				out = append(out, insertTarget{column: -1, fixed: t.fixed(i)})
			}
		}
		return out, nil
	}
	for _, c := range s.Columns {
		i, err := b.find(t, c.Name, c)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o insertTarget) bool { return o.column == i && (o.steps == nil || c.Path == nil) }) {
			return nil, b.errAt(c, pgerr.DuplicateColumn, "column \"%s\" specified more than once", c.Name)
		}
		out = append(out, insertTarget{column: i, steps: c.Path, at: c})
	}
	return out, nil
}

// insertSource makes the new rows without generated columns.
func (b *binder) insertSource(s *sql.Insert, r *changing, cols []insertTarget, env *cteEnv) (plan.Node, error) {
	t := r.Table
	out := scanOf(t).Out
	q := s.Source
	if q == nil {
		row, err := b.insertRow(t, "", nil, nil, nil)
		if err != nil {
			return nil, err
		}
		return &plan.Values{Rows: [][]expr.Expr{row}, Out: out}, nil
	}
	if q.Values != nil && q.OrderBy == nil && q.Limit == nil && q.Skip == nil && q.With == nil {
		return b.insertValues(s, r, cols, env)
	}
	// Defaults are computed in the order of the rows.
	src, err := b.boundQuery(q, &scope{ctes: env}, queryMode{keepUnknown: true, root: len(q.OrderBy) > 0})
	if err != nil {
		return nil, err
	}
	src.node = lowerOuter(narrowTo(src.node, len(src.cols)))
	if err := b.checkWidth(s, len(cols), len(src.cols), firstPlace(src, src.at, q)); err != nil {
		return nil, err
	}
	b.needInsert(r, s, cols[:len(src.cols)])
	var vals []expr.Expr
	for i := range src.cols {
		vals = append(vals, columnOrLiteral(src, i))
	}
	row, err := b.insertRow(t, s.Overriding, cols[:len(vals)], vals, src.at)
	if err != nil {
		return nil, err
	}
	return &plan.Project{Input: src.node, Exprs: row, Out: out}, nil
}

func (b *binder) checkWidth(s *sql.Insert, targets, values int, at sql.Node) error {
	if values > targets {
		return b.errAt(at, pgerr.SyntaxError, "INSERT has more expressions than target columns")
	}
	if values < targets && s.Columns != nil {
		return b.errAt(s.Columns[values], pgerr.SyntaxError, "INSERT has more target columns than expressions")
	}
	return nil
}

// insertRow lays values out over the table's columns, defaults elsewhere. A nil
// value is DEFAULT. overriding is USER or SYSTEM for the values of identity columns.
func (b *binder) insertRow(t *catalog.Table, overriding string, cols []insertTarget, vals []expr.Expr, at []sql.Node) ([]expr.Expr, error) {
	row := make([]expr.Expr, len(t.Columns))
	for k, to := range cols {
		if to.fixed != nil {
			return nil, to.fixed
		}
		if vals[k] == nil {
			if to.steps != nil {
				return nil, b.defaultPart(to.steps, to.at)
			}
			continue
		}
		i := to.column
		c := t.Columns[i]
		if c.Identity != "" && overriding == "USER" {
			continue
		}
		if c.Identity == "ALWAYS" && overriding == "" {
			return nil, pgerr.New(pgerr.GeneratedAlways, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
				WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name).
				WithHint("Use OVERRIDING SYSTEM VALUE to override.")
		}
		if c.Generated != "" {
			return nil, pgerr.New(pgerr.GeneratedAlways, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
				WithDetail("Column \"%s\" is a generated column.", c.Name)
		}
		var err error
		if row[i], err = b.assignTarget(to, row[i], vals[k], c, at[k]); err != nil {
			return nil, err
		}
	}
	for _, to := range cols {
		if to.steps == nil || row[to.column] == nil {
			continue
		}
		var err error
		if row[to.column], err = b.partsMade(row[to.column], t.Columns[to.column].Type); err != nil {
			return nil, err
		}
	}
	for i := range row {
		if row[i] == nil {
			var err error
			if row[i], err = b.defaultOf(t, i); err != nil {
				return nil, err
			}
		}
	}
	return row, nil
}

// insertValues binds INSERT ... VALUES, each value for its column.
func (b *binder) insertValues(s *sql.Insert, to *changing, cols []insertTarget, env *cteEnv) (plan.Node, error) {
	// One row is a select list, in which functions may return several rows.
	ec := &exprContext{sc: &scope{ctes: env}, clause: "VALUES", allowSet: len(s.Source.Values) == 1}
	t := to.Table
	rows := make([][]expr.Expr, len(s.Source.Values))
	subqueries := false
	b.needInsert(to, s, cols[:min(len(cols), len(s.Source.Values[0]))])
	for i, r := range s.Source.Values {
		if len(r) != len(s.Source.Values[0]) {
			return nil, b.errAt(r[0], pgerr.SyntaxError, "VALUES lists must all be the same length")
		}
		at := r[min(len(cols), len(r)-1)]
		if err := b.checkWidth(s, len(cols), len(r), at); err != nil {
			return nil, err
		}
		vals, places := make([]expr.Expr, len(r)), make([]sql.Node, len(r))
		for k, x := range r {
			places[k] = x
			if _, ok := x.(*sql.DefaultExpr); ok {
				continue
			}
			var err error
			if vals[k], err = b.expr(ec, x); err != nil {
				return nil, err
			}
			subqueries = subqueries || hasSubquery(vals[k]) || hasSet(vals[k])
		}
		var err error
		if rows[i], err = b.insertRow(t, s.Overriding, cols[:len(r)], vals, places); err != nil {
			return nil, err
		}
	}
	out := scanOf(t).Out
	if !subqueries {
		return &plan.Values{Rows: rows, Out: out}, nil
	}
	u := &plan.Union{Out: out}
	for _, r := range rows {
		n, es, err := b.planSubqueries(oneRow(), r)
		if err != nil {
			return nil, err
		}
		if n, es, err = b.expandSets(n, es); err != nil {
			return nil, err
		}
		u.Inputs = append(u.Inputs, &plan.Project{Input: n, Exprs: es, Out: out})
	}
	return u, nil
}

// onConflict binds ON CONFLICT.
func (b *binder) onConflict(s *sql.OnConflict, to *changing, name string, at sql.Node, env *cteEnv) (*Conflict, error) {
	c := &Conflict{Nothing: s.Nothing}
	t := to.Table
	var err error
	if c.Arbiters, err = b.arbiters(s, to, at); err != nil {
		return nil, err
	}
	if s.Nothing {
		return c, nil
	}
	if c.Arbiters == nil {
		return nil, pgerr.New(pgerr.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name).").At(b.at(s))
	}
	n := len(t.Columns)
	excluded := to.item("excluded", n)
	excluded.colVisible = false
	excluded.rel = nil
	need := b.wants(to, catalog.Update, NeedUpdate, assignedColumns(s.Update))
	sc := &scope{items: []*rangeItem{guarded(to.item(name, 0), need), guarded(excluded, need)}, ctes: env}
	set, err := b.setClauses(s.Update, to, 0, &exprContext{sc: sc, clause: "UPDATE"})
	if err != nil {
		return nil, err
	}
	c.Set = make([]expr.Expr, n)
	for i, v := range set {
		c.Set[i] = v
	}
	if err := b.generatedSet(t, c.Set); err != nil {
		return nil, err
	}
	if s.Where != nil {
		if c.Where, err = b.boolArg(&exprContext{sc: sc, clause: "WHERE"}, s.Where, "WHERE"); err != nil {
			return nil, err
		}
	}
	return c, b.planConflict(c, t)
}

// planConflict plans SET and WHERE where they have subqueries.
func (b *binder) planConflict(c *Conflict, t *catalog.Table) error {
	subqueries := c.Where != nil && hasSubquery(c.Where)
	for _, e := range c.Set {
		subqueries = subqueries || e != nil && hasSubquery(e)
	}
	if !subqueries {
		return nil
	}
	b.given++
	c.Given = b.given
	row := scanOf(t).Out
	both := append(slices.Concat(row, row), ordinality)
	number := &expr.Col{Index: len(both) - 1, Typ: ordinality.Typ}
	n := plan.Node(givenScan(c.Given, t.Name, both))
	var err error
	if c.Where != nil {
		if n, err = b.filter(n, c.Where); err != nil {
			return err
		}
		c.Where = nil
	}
	var es []expr.Expr
	var out []plan.Column
	for i, e := range c.Set {
		if e != nil {
			c.Set[i] = &expr.Col{Index: len(es), Typ: e.Type()}
			es, out = append(es, e), append(out, plan.Column{Name: t.Columns[i].Name, Typ: e.Type()})
		}
	}
	if n, es, err = b.planSubqueries(n, append(es, number)); err != nil {
		return err
	}
	c.Plan = &plan.Project{Input: n, Exprs: es, Out: append(out, ordinality)}
	return nil
}

// generatedSet recomputes generated columns from the changed row.
func (b *binder) generatedSet(t *catalog.Table, set []expr.Expr) error {
	row := make([]expr.Expr, len(t.Columns))
	for i, c := range t.Columns {
		if row[i] = set[i]; row[i] == nil {
			row[i] = &expr.Col{Index: i, Typ: c.Type}
		}
	}
	for i, c := range t.Columns {
		if c.Generated == "" {
			continue
		}
		e, err := b.storedExpr(c.Generated, t, c.Type)
		if err != nil {
			return err
		}
		set[i] = substitute(e, row)
	}
	return nil
}

var errDeferrableArbiter = pgerr.New(pgerr.ObjectNotInPrerequisiteState,
	"ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters")

// arbiters finds the keys that ON CONFLICT names.
func (b *binder) arbiters(s *sql.OnConflict, to *changing, at sql.Node) ([]uint32, error) {
	t := to.Table
	indexes := b.p.Cat.UniqueIndexes(t.OID)
	if s.Constraint != "" {
		if t.PrimaryKey != nil && t.PrimaryKey.Name == s.Constraint {
			b.needKey(t, t.PrimaryKey.Columns)
			return []uint32{StorageKey}, nil
		}
		for _, ix := range indexes {
			if ix.Name == s.Constraint && ix.Constraint {
				if ix.Deferrable {
					return nil, errDeferrableArbiter
				}
				b.needKey(t, ix.Columns())
				return []uint32{ix.OID}, nil
			}
		}
		return nil, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", s.Constraint, t.Name)
	}
	if len(s.Columns) == 0 {
		if slices.ContainsFunc(indexes, func(ix *catalog.Index) bool { return ix.Deferrable }) {
			return nil, errDeferrableArbiter
		}
		return nil, nil
	}
	want, cond, err := b.inference(s, to)
	if err != nil {
		return nil, err
	}
	var out []uint32
	if t.PrimaryKey != nil {
		var keys []string
		for _, i := range t.PrimaryKey.Columns {
			keys = append(keys, keyText(&expr.Col{Index: i, Typ: t.Columns[i].Type}))
		}
		if sameSet(keys, want) {
			out = append(out, StorageKey)
		}
	}
	for _, ix := range indexes {
		shape, err := b.p.BindIndex(ix)
		if err != nil {
			return nil, err
		}
		if shape.Where != nil && (cond == nil || !implies(cond, shape.Where)) {
			continue
		}
		var keys []string
		for _, e := range shape.KeyExprs() {
			keys = append(keys, keyText(e))
		}
		if sameSet(keys, want) {
			if ix.Deferrable {
				return nil, errDeferrableArbiter
			}
			out = append(out, ix.OID)
		}
	}
	if out == nil {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
	}
	return out, nil
}

// needInsert notes the columns that INSERT gives values for.
func (b *binder) needInsert(t *changing, s *sql.Insert, cols []insertTarget) {
	var names []string
	for i := range cols {
		switch {
		case s.Columns != nil:
			names = append(names, s.Columns[i].Name)
		case t.view != nil:
			names = append(names, t.view.Columns[i].Name)
		default:
			names = append(names, t.Columns[i].Name)
		}
	}
	b.wants(t, catalog.Insert, NeedInsert, names)
}

// assignedColumns are those that SET gives values.
func assignedColumns(list []sql.SetClause) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Columns...)
	}
	return out
}

// needKey notes that ON CONFLICT looks at the columns of a key.
func (b *binder) needKey(t *catalog.Table, cols []int) {
	need := b.need(t.OID, catalog.Select)
	for _, i := range cols {
		need.column(NeedSelect, i)
	}
}

// inference binds the keys that ON CONFLICT lists, as texts to compare, and its
// WHERE, over the row of the table.
func (b *binder) inference(s *sql.OnConflict, t *changing) (keys []string, cond expr.Expr, err error) {
	sc := &scope{items: []*rangeItem{guarded(t.item(t.name(), 0), b.wants(t, 0, NeedSelect, nil))}}
	for _, c := range s.Columns {
		e, err := b.expr(&exprContext{sc: sc, clause: "ON CONFLICT", noSub: "index expression"}, c.Expr)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, keyText(b.foldExpr(e)))
	}
	if s.TargetWhere == nil {
		return keys, nil, nil
	}
	cond, err = b.boolArg(&exprContext{sc: sc, clause: "ON CONFLICT", noSub: "index predicate"}, s.TargetWhere, "WHERE")
	if err != nil {
		return nil, nil, err
	}
	return keys, b.foldExpr(cond), nil
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
