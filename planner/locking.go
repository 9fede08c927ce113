package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// RowLock is a table whose rows SELECT … FOR UPDATE locks: its columns are those of
// the plan's row from At on.
type RowLock struct {
	Table *catalog.Table
	At    int
}

// PlanLocking plans a query with locking clauses. The plan's row has the whole rows
// of the locked tables behind the columns of the query.
func (p *Planner) PlanLocking(q *sql.Select) (*Query, []RowLock, error) {
	l := &locking{b: p.newBinder(false), what: "FOR " + q.Locks[0].Strength}
	plain := *q
	plain.Locks = nil
	if err := l.allowed(q); err != nil {
		return nil, nil, err
	}
	found, err := p.PlanQuery(&plain)
	if err != nil {
		return nil, nil, err
	}
	if err := l.rowwise(found.Root); err != nil {
		return nil, nil, err
	}
	for _, f := range q.From {
		l.from(f, false)
	}
	n := len(found.Columns)
	plain.Targets = slices.Clone(q.Targets)
	var locks []RowLock
	for _, it := range l.items {
		if !it.wanted(q.Locks) {
			continue
		}
		t, err := l.table(it)
		if err != nil {
			return nil, nil, err
		}
		l.b.need(t.OID, catalog.Update)
		locks = append(locks, RowLock{t, n})
		n += len(t.Columns)
		for i, c := range t.Columns {
			name := c.Name
			if a := it.ref.Alias; a != nil && i < len(a.Columns) {
				name = a.Columns[i]
			}
			plain.Targets = append(plain.Targets, sql.Target{Expr: &sql.ColumnRef{Parts: []string{it.name, name}}})
		}
	}
	for _, k := range q.Locks {
		for _, name := range k.Tables {
			if !slices.ContainsFunc(l.items, func(it lockItem) bool { return it.name == name.Name }) {
				return nil, nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" in %s clause not found in FROM clause", name.Name, l.what).At(l.b.at(name))
			}
		}
	}
	needs := p.Needs
	p.Needs = nil // what the rows of the locked tables are made of is no use of them
	whole, err := p.PlanQuery(&plain)
	p.Needs = needs
	if err != nil {
		return nil, nil, err
	}
	whole.Columns = whole.Columns[:len(found.Columns)]
	return whole, locks, nil
}

// locking binds locking clauses.
type locking struct {
	b     *binder
	what  string
	items []lockItem
}

// lockItem is an item of FROM; ref is nil for what is no relation.
type lockItem struct {
	name     string
	ref      *sql.TableRef
	nullable bool // of an outer join's side that may be missing
}

// wanted reports whether one of the clauses is about the item.
func (it *lockItem) wanted(locks []sql.Lock) bool {
	for _, k := range locks {
		if len(k.Tables) == 0 || slices.ContainsFunc(k.Tables, func(n sql.Name) bool { return n.Name == it.name }) {
			return true
		}
	}
	return false
}

func (l *locking) refuse(what string) error {
	return pgerr.New(pgerr.FeatureNotSupported, "%s is not allowed with %s", l.what, what)
}

// allowed refuses queries whose rows are not those of tables.
func (l *locking) allowed(q *sql.Select) error {
	switch {
	case q.Left != nil:
		return l.refuse("UNION/INTERSECT/EXCEPT")
	case len(q.Values) > 0:
		return pgerr.New(pgerr.FeatureNotSupported, "%s cannot be applied to VALUES", l.what)
	case q.Distinct || len(q.DistinctOn) > 0:
		return l.refuse("DISTINCT clause")
	case len(q.GroupBy) > 0:
		return l.refuse("GROUP BY clause")
	case q.Having != nil:
		return l.refuse("HAVING clause")
	case q.With != nil:
		return l.b.unsupported(q, "SELECT "+l.what+" with a WITH clause", "Put the query of WITH into a subquery of WHERE.")
	}
	return nil
}

// rowwise refuses plans that make rows of several, or several of one.
func (l *locking) rowwise(n plan.Node) error {
	for {
		switch n.(type) {
		case *plan.Aggregate:
			return l.refuse("aggregate functions")
		case *plan.Window:
			return l.refuse("window functions")
		case *plan.ProjectSet:
			return l.refuse("set-returning functions in the target list")
		}
		c := n.Children()
		if len(c) != 1 {
			return nil
		}
		n = c[0]
	}
}

// from gathers the items of FROM.
func (l *locking) from(te sql.TableExpr, nullable bool) {
	switch te := te.(type) {
	case *sql.TableRef:
		name := te.Name.Name
		if te.Alias != nil {
			name = te.Alias.Name
		}
		l.items = append(l.items, lockItem{name, te, nullable})
	case *sql.JoinTable:
		l.from(te.Left, nullable || te.Kind == sql.RightJoin || te.Kind == sql.FullJoin)
		l.from(te.Right, nullable || te.Kind == sql.LeftJoin || te.Kind == sql.FullJoin)
	case *sql.SubqueryTable:
		it := lockItem{nullable: nullable}
		if te.Alias != nil {
			it.name = te.Alias.Name
		}
		l.items = append(l.items, it)
	case *sql.FuncTable:
		// A function has no rows to lock, unless it is named.
	}
}

// table returns the table whose rows an item locks.
func (l *locking) table(it lockItem) (*catalog.Table, error) {
	if it.nullable {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "%s cannot be applied to the nullable side of an outer join", l.what)
	}
	if it.ref == nil {
		return nil, pgerr.Unsupported("SELECT "+l.what+" of a subquery", "Name the tables to lock with OF.")
	}
	rel, err := l.b.relation(it.ref.Name, it.ref)
	if err != nil {
		return nil, err
	}
	switch t := rel.(type) {
	case *catalog.Table:
		return t, nil
	case *catalog.MatView:
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot lock rows in materialized view \"%s\"", t.Name)
	}
	return nil, l.b.unsupported(it.ref, "SELECT "+l.what+" of a "+rel.Kind().String(), "Name the tables to lock with OF.")
}
