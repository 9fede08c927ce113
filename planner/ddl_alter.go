package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// altering is a binder for additions to a table, a copy that it changes, which has
// the indexes.
func (p *Planner) altering(t *catalog.Table, indexes []*catalog.Index) *relationBinder {
	return &relationBinder{b: p.newBinder(false), name: t.Name, schema: t.Schema, altered: t, def: &sql.RelationDef{},
		columns: t.Columns, primary: t.PrimaryKey, checks: t.Checks, indexes: slices.Clone(indexes)}
}

// BindConstraint adds a constraint to a table, which is changed and has the
// indexes, and returns the indexes that it needs besides.
func (p *Planner) BindConstraint(t *catalog.Table, indexes []*catalog.Index, c *sql.Constraint) ([]*catalog.Index, error) {
	r := p.altering(t, indexes)
	if err := r.constraint(c); err != nil {
		return nil, err
	}
	r.nameIndexes()
	t.Columns, t.Checks = r.columns, r.checks
	return r.indexes[len(indexes):], nil
}

// BindCheck binds a check over the row of its table.
func (p *Planner) BindCheck(t *catalog.Table, c catalog.Check) (expr.Expr, error) {
	return p.newBinder(false).storedExpr(c.Expr, t, types.TBool)
}
