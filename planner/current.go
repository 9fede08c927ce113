package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// WHERE CURRENT OF finds the row of a table that a cursor stands at by its key, or by
// all of it where there is none. A cursor's query has these columns behind its own (as
// a locking clause has those of the rows it locks), and UPDATE and DELETE take them as
// parameters.

// cursorLock stands for a locking clause that locks nothing.
const cursorLock = "CURSOR"

// CurrentRow is what identifies a row of a table: the values of columns.
type CurrentRow struct {
	Table *catalog.Table
	Cols  []int // positions in the table
	// At is where the values begin: in the row of a cursor, or among the parameters of a
	// statement.
	At     int
	Cursor string // of a statement
	Locks  bool   // of a cursor: its query has a locking clause
}

// PlanCursor plans a query whose rows WHERE CURRENT OF may refer to: one that shows rows
// of one table, or locks those of one.
func (p *Planner) PlanCursor(q *sql.Select) (*Query, error) {
	needs := len(p.Needs)
	found, err := p.planCursor(q)
	if found != nil && err == nil {
		return found, nil
	}
	p.Needs = p.Needs[:needs:needs]
	return p.PlanQuery(q) // its errors are those to tell
}

// planCursor is PlanCursor; nil: there is no such table.
func (p *Planner) planCursor(q *sql.Select) (*Query, error) {
	mode := queryMode{root: true, cursor: true}
	if len(q.Locks) == 0 {
		mode.lock = cursorLock
		if len(q.From) != 1 {
			return nil, nil
		}
		if _, join := q.From[0].(*sql.JoinTable); join {
			return nil, nil
		}
	}
	b := p.newBinder(false)
	r, err := b.boundQuery(q, nil, mode)
	if err != nil || len(r.locks) != 1 || len(r.node.Schema()) < r.locks[0].at+len(r.locks[0].table.Columns) {
		return nil, err
	}
	k := r.locks[0]
	cur := &CurrentRow{Table: k.table, Cols: identifying(k.table), At: len(r.cols), Locks: len(q.Locks) > 0}
	keep := all(len(r.cols))
	for _, c := range cur.Cols {
		keep = append(keep, k.at+c)
	}
	found, err := b.finish(pick(r.node, keep), r.cols)
	if err == nil {
		found.Current = cur
	}
	return found, err
}

// identifying are the columns that tell a row from others: those of the key, or all.
func identifying(t *catalog.Table) []int {
	if key := catalog.StorageKey(t); key != nil {
		return key
	}
	return all(len(t.Columns))
}

// whereCurrent binds WHERE CURRENT OF over the rows n of the table that a statement
// changes.
func (b *binder) whereCurrent(m *Mutation, to *changing, n plan.Node, c *sql.CurrentOf, top bool) (plan.Node, error) {
	switch {
	case to.view != nil:
		return nil, b.unsupported(c, "WHERE CURRENT OF on a view", "Change the table under the view.")
	case !top:
		return nil, b.unsupported(c, "WHERE CURRENT OF in WITH", "Make it the main statement.")
	}
	t := to.Table
	m.Current = &CurrentRow{Table: t, Cols: identifying(t), At: len(b.params.types), Cursor: c.Cursor}
	var conds []expr.Expr
	for _, i := range m.Current.Cols {
		typ := t.Columns[i].Type
		b.params.types = append(b.params.types, typ)
		param := expr.Expr(&expr.Param{Index: len(b.params.types), Typ: typ})
		col := expr.Expr(&expr.Col{Index: i, Typ: typ})
		if catalog.StorageKey(t) != nil {
			eq, err := b.op("=", c, col, param)
			if err != nil {
				return nil, err
			}
			conds = append(conds, eq)
			continue
		}
		if typ.ID == types.JSON || typ.ID == types.JSONPath { // they have no equality
			var err error
			if col, err = b.coerce(col, types.TText, expr.Explicit, c); err == nil {
				param, err = b.coerce(param, types.TText, expr.Explicit, c)
			}
			if err != nil {
				return nil, err
			}
		}
		same, err := b.distinct(&sql.DistinctFrom{Not: true}, col, param)
		if err != nil {
			return nil, err
		}
		conds = append(conds, same)
	}
	n, err := b.filter(n, and(conds))
	if err != nil || catalog.StorageKey(t) != nil {
		return n, err
	}
	return &plan.Limit{Input: n, Limit: &expr.Const{Val: int64(1), Typ: types.TInt8}}, nil // one of several that are equal
}
