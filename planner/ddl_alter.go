package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// altering is a binder for additions to a table, a copy that it changes, which has
// the indexes.
func (p *Planner) altering(t *catalog.Table, indexes []*catalog.Index) *relationBinder {
	return &relationBinder{b: p.newBinder(false), name: t.Name, schema: t.Schema, altered: t, def: &sql.RelationDef{},
		columns: t.Columns, primary: t.PrimaryKey, checks: t.Checks, foreign: slices.Clip(t.ForeignKeys), indexes: slices.Clone(indexes)}
}

// BindConstraint adds a constraint to a table, which is changed and has the
// indexes, and returns the indexes that it needs besides.
func (p *Planner) BindConstraint(t *catalog.Table, indexes []*catalog.Index, c *sql.Constraint) ([]*catalog.Index, error) {
	r := p.altering(t, indexes)
	if err := r.constraint(c); err != nil {
		return nil, unplaced(err)
	}
	r.nameIndexes()
	t.Columns, t.Checks, t.ForeignKeys = r.columns, r.checks, r.foreign
	return r.indexes[len(indexes):], nil
}

// unplaced is an error without its position, as PostgreSQL gives what is wrong with a
// part of ALTER TABLE, but for a column that is named twice.
func unplaced(err error) error {
	e := *pgerr.From(err)
	if e.Code != pgerr.DuplicateColumn {
		e.Pos = 0
	}
	return &e
}

// BindCheck binds a check over the row of its table.
func (p *Planner) BindCheck(t *catalog.Table, c catalog.Check) (expr.Expr, error) {
	return p.newBinder(false).storedExpr(c.Expr, t, types.TBool)
}

// AddColumn adds a column with its constraints to a table, which is changed and has
// the indexes, and returns the sequence and the indexes that it needs besides.
func (p *Planner) AddColumn(t *catalog.Table, indexes []*catalog.Index, def *sql.ColumnDef) ([]*catalog.Sequence, []*catalog.Index, error) {
	r := p.altering(t, indexes)
	d := *def
	if err := r.column(&d); err != nil {
		return nil, nil, err
	}
	r.columns[len(r.columns)-1].Number = t.LastColumn + 1
	if len(r.columns) > 1600 {
		return nil, nil, pgerr.New(pgerr.TooManyColumns, "tables can have at most 1600 columns")
	}
	if err := r.columnConstraints(&d); err != nil {
		return nil, nil, unplaced(err)
	}
	r.nameIndexes()
	if err := r.columnForeignKeys(&d); err != nil {
		return nil, nil, err
	}
	t.Columns, t.Checks, t.ForeignKeys = r.columns, r.checks, r.foreign
	return r.sequences, r.indexes[len(indexes):], nil
}

// ColumnType binds ALTER COLUMN TYPE of a column of t: the new type, and the value
// over the row of was, the table as it is stored.
func (p *Planner) ColumnType(was, t *catalog.Table, i int, a *sql.AlterAction) (types.T, expr.Expr, error) {
	b := p.newBinder(false)
	c := t.Columns[i]
	to, err := b.typeName(a.Type)
	if err != nil {
		return to, nil, unplaced(err)
	}
	if err := CheckColumn(c.Name, to); err != nil {
		return to, nil, err
	}
	if c.Identity != "" && to.ID != types.Int2 && to.ID != types.Int4 && to.ID != types.Int8 {
		return to, nil, pgerr.New(pgerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
	}
	old := catalog.ColumnIndex(was.Columns, c.Name)
	var e expr.Expr = &expr.Col{Index: old, Typ: c.Type}
	if a.Expr != nil {
		sc := &scope{items: []*rangeItem{tableItem(was, was.Name, 0)}}
		if e, err = b.expr(&exprContext{sc: sc, clause: "ALTER COLUMN USING expressions", noSub: "transform expression"}, a.Expr); err != nil {
			return to, nil, err
		}
	}
	switch from := e.Type(); {
	case from.ID == types.Unknown || expr.CanCast(from, to, expr.Assignment):
	case a.Expr != nil:
		return to, nil, pgerr.New(pgerr.DatatypeMismatch, "result of USING clause for column \"%s\" cannot be cast automatically to type %s", c.Name, to.Base()).
			WithHint("You might need to add an explicit cast.")
	case !expr.CanCast(from, to, expr.Explicit):
		return to, nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" cannot be cast automatically to type %s", c.Name, to.Base())
	default:
		return to, nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" cannot be cast automatically to type %s", c.Name, to.Base()).
			WithHint("You might need to specify \"USING %s::%s\".", sql.QuoteIdent(c.Name), to)
	}
	if e, err = b.coerce(e, to, expr.Assignment, nil); err != nil {
		return to, nil, err
	}
	if c.Default != "" {
		// It has the type of the column by now, as far as its own was not known.
		d, err := b.rawExpr(c.Default)
		if err != nil {
			return to, nil, err
		}
		from := d.Type()
		if from.ID == types.Unknown {
			from = c.Type
		}
		if !expr.CanCast(from, to, expr.Assignment) {
			return to, nil, pgerr.New(pgerr.DatatypeMismatch, "default for column \"%s\" cannot be cast automatically to type %s", c.Name, to.Base())
		}
	}
	return to, e, nil
}

// rawExpr binds a stored expression over no row, of the type that it has by itself.
func (b *binder) rawExpr(text string) (expr.Expr, error) {
	q, err := ParseQuery("SELECT (" + text + ")")
	if err != nil {
		return nil, err
	}
	return b.expr(&exprContext{sc: &scope{}, clause: "DEFAULT expressions"}, q.Targets[0].Expr)
}

// ColumnFill binds what rows have in a new column: its default, or with generated
// the value over the row of the table.
func (p *Planner) ColumnFill(t *catalog.Table, i int) (e expr.Expr, generated bool, err error) {
	b := p.newBinder(false)
	if c := t.Columns[i]; c.Generated != "" {
		e, err = b.storedExpr(c.Generated, t, c.Type)
		return e, true, err
	}
	e, err = b.defaultOf(t, i)
	return e, false, err
}

// TextColumns returns the columns that a stored expression over the row of a
// relation reads.
func (p *Planner) TextColumns(rel catalog.Relation, text string) (map[int]bool, error) {
	e, err := p.overRow(rel, text)
	if err != nil {
		return nil, err
	}
	used := map[int]bool{}
	usedCols(e, used)
	return used, nil
}

// TextType returns the type of a stored expression over the row of a relation.
func (p *Planner) TextType(rel catalog.Relation, text string) (types.T, error) {
	e, err := p.overRow(rel, text)
	if err == nil {
		e, err = p.newBinder(false).toText(e)
	}
	if err != nil {
		return types.T{}, err
	}
	return e.Type(), nil
}

// overRow binds a stored expression over the row of a relation.
func (p *Planner) overRow(rel catalog.Relation, text string) (expr.Expr, error) {
	q, err := ParseQuery("SELECT (" + text + ")")
	if err != nil {
		return nil, err
	}
	c := *p
	c.Text = ""
	b := c.newBinder(false)
	sc := &scope{items: []*rangeItem{relationItem(rel, rel.Header().Name, 0)}}
	return b.expr(&exprContext{sc: sc, clause: "stored expressions"}, q.Targets[0].Expr)
}

// TextRenamed returns a stored expression after a column is renamed.
func TextRenamed(text, was, name string) (string, error) {
	if text == "" {
		return "", nil
	}
	q, err := ParseQuery("SELECT (" + text + ")")
	if err != nil {
		return "", err
	}
	e := q.Targets[0].Expr
	var walk func(n sql.Node)
	walk = func(n sql.Node) {
		if ref, ok := n.(*sql.ColumnRef); ok && len(ref.Parts) > 0 && ref.Parts[len(ref.Parts)-1] == was {
			ref.Parts = append(slices.Clone(ref.Parts[:len(ref.Parts)-1]), name)
		}
		for _, c := range sql.Children(n) {
			walk(c)
		}
	}
	walk(e)
	return sql.FormatExpr(e), nil
}
