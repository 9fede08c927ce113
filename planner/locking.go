package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// SELECT … FOR UPDATE: the rows of the tables that a locking clause is about are
// columns behind those of the query, and a filter over its last step, which lets all
// pass, tells of them (expr.LockRow). A clause about a subquery or view is about the
// tables in it: its rows then have theirs, so that only rows that are left in the end
// are locked. Streams lock nothing.

// lockItem is an item of FROM; te is nil for what has no rows to lock.
type lockItem struct {
	name     string
	te       sql.TableExpr
	kind     string // what cannot be named in a clause: a function, a join, …
	nullable bool   // of an outer join's side that may be missing
	strength string // of the clause that is about it
}

// lockedRow is a row of a table among the columns of a plan, from at on.
type lockedRow struct {
	table *catalog.Table
	at    int
}

func cannotLock(strength, what string) error {
	return pgerr.New(pgerr.FeatureNotSupported, "FOR %s is not allowed with %s", strength, what)
}

// lockStrength is the strength of the first clause that is about a query's tables.
func lockStrength(q *sql.Select, mode queryMode) string {
	if mode.lock != "" || len(q.Locks) == 0 {
		return mode.lock
	}
	return q.Locks[0].Strength
}

// mayLock refuses locking clauses of queries whose rows are not those of tables.
func (b *binder) mayLock(q *sql.Select, mode queryMode) error {
	strength := lockStrength(q, mode)
	switch {
	case strength == "":
		return nil
	case q.Op != sql.SetNone:
		if mode.view && len(q.Locks) == 0 {
			return nil // as in PostgreSQL, which locks nothing then
		}
		return cannotLock(strength, "UNION/INTERSECT/EXCEPT")
	case len(q.Values) > 0:
		if len(q.Locks) == 0 {
			return nil
		}
		return pgerr.New(pgerr.FeatureNotSupported, "FOR %s cannot be applied to VALUES", strength)
	case q.Distinct || len(q.DistinctOn) > 0:
		return cannotLock(strength, "DISTINCT clause")
	case len(q.GroupBy) > 0:
		return cannotLock(strength, "GROUP BY clause")
	case q.Having != nil:
		return cannotLock(strength, "HAVING clause")
	}
	return nil
}

// markLocked finds the items of FROM that locking clauses are about.
func (b *binder) markLocked(q *sql.Select, mode queryMode, env *cteEnv) error {
	if lockStrength(q, mode) == "" {
		return nil
	}
	if b.locked == nil {
		b.locked = map[sql.TableExpr]*lockItem{}
	}
	if b.locks == "" && mode.lock != cursorLock {
		b.locks = lockStrength(q, mode)
	}
	var items []*lockItem
	for _, te := range q.From {
		items = gatherLockItems(items, te, false, env)
	}
	for _, k := range q.Locks {
		for _, name := range k.Tables {
			i := slices.IndexFunc(items, func(it *lockItem) bool { return it.name == name.Name })
			switch {
			case i < 0:
				return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" in FOR %s clause not found in FROM clause", name.Name, k.Strength).At(b.at(name))
			case items[i].te == nil:
				return pgerr.New(pgerr.FeatureNotSupported, "FOR %s cannot be applied to %s", k.Strength, items[i].kind).At(b.at(name))
			}
			items[i].lock(k.Strength)
		}
		if len(k.Tables) == 0 {
			lockAll(items, k.Strength)
		}
	}
	if mode.lock != "" {
		lockAll(items, mode.lock)
	}
	for _, it := range items {
		if it.strength == "" {
			continue
		}
		if it.nullable {
			return pgerr.New(pgerr.FeatureNotSupported, "FOR %s cannot be applied to the nullable side of an outer join", it.strength)
		}
		b.locked[it.te] = it
	}
	return nil
}

func (it *lockItem) lock(strength string) {
	if it.te != nil && it.strength == "" {
		it.strength = strength
	}
}

func lockAll(items []*lockItem, strength string) {
	for _, it := range items {
		it.lock(strength)
	}
}

// gatherLockItems adds the items of te.
func gatherLockItems(items []*lockItem, te sql.TableExpr, nullable bool, env *cteEnv) []*lockItem {
	it := &lockItem{te: te, nullable: nullable}
	var alias *sql.Alias
	switch te := te.(type) {
	case *sql.TableRef:
		it.name, alias = te.Name.Name, te.Alias
		if te.Name.Schema == "" && env.has(te.Name.Name) {
			it.te, it.kind = nil, "a WITH query"
		}
	case *sql.JoinTable:
		items = gatherLockItems(items, te.Left, nullable || te.Kind == sql.RightJoin || te.Kind == sql.FullJoin, env)
		items = gatherLockItems(items, te.Right, nullable || te.Kind == sql.LeftJoin || te.Kind == sql.FullJoin, env)
		it.te, it.kind, alias = nil, "a join", te.Alias
	case *sql.SubqueryTable:
		alias = te.Alias
	case *sql.FuncTable:
		it.te, it.kind, alias = nil, "a function", te.Alias
		if alias == nil {
			it.name = figureName(te.Funcs[0].Call)
		}
	default:
		return items
	}
	if alias != nil {
		it.name = alias.Name
	}
	if it.name == "" && it.te == nil {
		return items
	}
	return append(items, it)
}

// has reports whether a WITH query of the name is in sight.
func (e *cteEnv) has(name string) bool {
	for ; e != nil; e = e.next {
		if e.cte != nil && e.cte.name == name {
			return true
		}
	}
	return false
}

// lockKind is the error of a relation that has no rows to lock.
func (b *binder) lockKind(rel catalog.Relation, te *sql.TableRef, k *lockItem) error {
	if v, ok := rel.(*catalog.MatView); ok {
		return pgerr.New(pgerr.WrongObjectType, "cannot lock rows in materialized view \"%s\"", v.Name)
	}
	return b.unsupported(te, "SELECT FOR "+k.strength+" of a "+rel.Kind().String(), "Name the tables to lock with OF.")
}

// lockedItems are items for the rows of tables among the columns of n.
func lockedItems(rows []lockedRow, n plan.Node) []*rangeItem {
	var out []*rangeItem
	for _, r := range rows {
		it := &rangeItem{lock: r.table}
		for i := range r.table.Columns {
			it.cols = append(it.cols, scopeCol{typ: n.Schema()[r.at+i].Typ, index: r.at + i})
		}
		out = append(out, it)
	}
	return out
}

// passLocked lets a projection have the locked rows of its input, too, and returns
// the items for them.
func passLocked(p *plan.Project, rows []lockedRow) []*rangeItem {
	var out []lockedRow
	p.Out = slices.Clip(p.Out)
	for _, r := range rows {
		out = append(out, lockedRow{r.table, len(p.Out)})
		for i := range r.table.Columns {
			c := p.Input.Schema()[r.at+i]
			p.Exprs = append(p.Exprs, &expr.Col{Index: r.at + i, Typ: c.Typ})
			p.Out = append(p.Out, c)
		}
	}
	return lockedItems(out, p)
}

// locksAmong are the items of locked rows.
func locksAmong(items []*rangeItem) []*rangeItem {
	var out []*rangeItem
	for _, it := range items {
		if it.lock != nil {
			out = append(out, it)
		}
	}
	return out
}

// lockTargets makes the locked rows hidden outputs, after the queries that have none
// to lock are refused.
func (s *selection) lockTargets() error {
	strength := lockStrength(s.q, s.mode)
	if strength == "" {
		return nil
	}
	switch {
	case len(s.aggs) > 0:
		return cannotLock(strength, "aggregate functions")
	case len(s.wins) > 0:
		return cannotLock(strength, "window functions")
	case slices.ContainsFunc(s.targets[:s.visible], func(t namedExpr) bool { return hasSet(t.e) }):
		return cannotLock(strength, "set-returning functions in the target list")
	case s.b.stream:
		return nil
	}
	for _, it := range locksAmong(s.sc.items) {
		s.locks = append(s.locks, lockedRow{it.lock, len(s.targets)})
		for i := range it.cols {
			s.targets = append(s.targets, namedExpr{e: it.cols[i].value(), at: s.q})
		}
	}
	return nil
}

// lockRows puts the filter that locks over the rows of a query.
func (b *binder) lockRows(r *bound, mode queryMode) {
	var conds []expr.Expr
	if mode.cursor && mode.lock == cursorLock {
		return
	}
	for _, k := range r.locks {
		cols := make([]expr.Expr, len(k.table.Columns))
		for i := range cols {
			cols[i] = &expr.Col{Index: k.at + i, Typ: r.node.Schema()[k.at+i].Typ}
		}
		conds = append(conds, expr.LockRow(k.table.OID, cols))
	}
	if len(conds) > 0 {
		r.node = &plan.Filter{Input: r.node, Cond: and(conds)}
	}
	if !mode.cursor {
		r.locks = nil
	}
}
