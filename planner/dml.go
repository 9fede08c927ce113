package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// MutationKind is the kind of a data-modifying statement.
type MutationKind uint8

// The data-modifying statements.
const (
	MutInsert MutationKind = iota
	MutUpdate
	MutDelete
)

// Mutation is a planned INSERT, UPDATE or DELETE. Source yields, for
//   - INSERT: the new rows, with all columns of the table, defaults and generated
//     columns computed;
//   - UPDATE: the old row followed by the new one, then columns for RETURNING;
//   - DELETE: the old row, then columns for RETURNING.
//
// A row of a table with a primary key comes at most once in UPDATE and DELETE.
type Mutation struct {
	Kind   MutationKind
	Table  *catalog.Table
	Source plan.Node
	// NotNull are the columns of the new row that must not be NULL. The error is
	// 23502: null value in column "a" of relation "t" violates not-null constraint.
	NotNull []int
	// Checks are the table's checks in their order, over the new row; a row for
	// which one is false is 23514.
	Checks   []expr.Expr
	Conflict *Conflict
	// Returning are the columns to answer, nil without RETURNING: over the row as
	// stored for INSERT, else over Source's row.
	Returning []expr.Expr
	Columns   []plan.Column

	ParamTypes []types.T
	Deps       []uint32
}

// Conflict is ON CONFLICT. Set has an expression for each changed column of the
// table and Where the condition for changing it, both over the stored row
// followed by the row proposed.
type Conflict struct {
	// Columns are the key that decides; nil: any.
	Columns []int
	Nothing bool
	Set     []expr.Expr
	Where   expr.Expr
}

// RowSchema are the table's columns.
func (m *Mutation) RowSchema() []plan.Column { return scanOf(m.Table).Out }

// ReturningSchema are the columns that Returning is over.
func (m *Mutation) ReturningSchema() []plan.Column {
	if m.Kind == MutInsert {
		return m.RowSchema()
	}
	return m.Source.Schema()
}

// dmlTarget looks up the table a statement changes.
func (b *binder) dmlTarget(name sql.Name, verb string, at sql.Node) (*catalog.Table, error) {
	rel, err := b.relation(name, at)
	if err != nil {
		return nil, err
	}
	switch r := rel.(type) {
	case *catalog.Table:
		if r.AppendOnly && verb != "insert into" {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s append-only table \"%s\"", verb, r.Name).At(b.at(at))
		}
		b.deps[r.OID] = true
		return r, nil
	case *catalog.MatView:
		return nil, b.errAt(at, pgerr.WrongObjectType, "cannot change materialized view \"%s\"", r.Name)
	case *catalog.View:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", verb, r.Name).
			WithDetail("Views are not automatically updatable.").WithHint("Change the table under the view.").At(b.at(at))
	case *catalog.Source:
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot %s source \"%s\"", verb, r.Name).
			WithHint("A source is read only. Use CREATE TABLE for a relation that also takes INSERT.").At(b.at(at))
	}
	return nil, b.errAt(at, pgerr.InsufficientPrivilege, "permission denied for table %s", rel.Header().Name)
}

// storedExpr binds an expression kept as text in the catalog, over the row of a
// table (or no row).
func (b *binder) storedExpr(text string, t *catalog.Table, want types.T) (expr.Expr, error) {
	q, err := ParseQuery("SELECT (" + text + ")")
	if err != nil {
		return nil, err
	}
	saved, savedParams := b.text, b.params
	b.text, b.params = "", &paramSet{pos: map[int]int{}}
	defer func() { b.text, b.params = saved, savedParams }()
	sc := &scope{}
	if t != nil {
		sc.items = []*rangeItem{tableItem(t, t.Name, 0)}
	}
	e, err := b.expr(&exprContext{sc: sc, clause: "stored expressions", noSub: "stored expressions"}, q.Targets[0].Expr)
	if err != nil {
		return nil, err
	}
	return b.coerce(e, want, expr.Assignment, nil)
}

// tableItem names the columns of a table whose row starts at offset.
func tableItem(t *catalog.Table, name string, offset int) *rangeItem {
	it := &rangeItem{name: name, relVisible: true, colVisible: true, rel: t}
	for i, c := range t.Columns {
		it.cols = append(it.cols, scopeCol{name: c.Name, typ: c.Type, index: offset + i})
	}
	if t.PrimaryKey != nil {
		it.key = t.PrimaryKey.Columns
	}
	return it
}

// defaultOf is the default of column i.
func (b *binder) defaultOf(t *catalog.Table, i int) (expr.Expr, error) {
	c := t.Columns[i]
	if c.Default == "" {
		return &expr.Const{Typ: c.Type}, nil
	}
	return b.storedExpr(c.Default, nil, c.Type)
}

// assign converts a value to a column's type.
func (b *binder) assign(e expr.Expr, c catalog.Column, at sql.Node) (expr.Expr, error) {
	if t := e.Type(); t.ID != types.Unknown && !expr.CanCast(t, c.Type, expr.Assignment) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s but expression is of type %s", c.Name, c.Type.Base(), t.Base()).
			WithHint("You will need to rewrite or cast the expression.").At(b.at(leftmost(at)))
	}
	return b.coerce(e, c.Type, expr.Assignment, at)
}

// finishMutation adds constraints and runs the rules.
func (b *binder) finishMutation(m *Mutation) (*Mutation, error) {
	for i, c := range m.Table.Columns {
		if c.NotNull || m.Table.PrimaryKey != nil && slices.Contains(m.Table.PrimaryKey.Columns, i) {
			m.NotNull = append(m.NotNull, i)
		}
	}
	if m.Kind == MutDelete {
		m.NotNull = nil
	} else {
		for _, c := range m.Table.Checks {
			e, err := b.storedExpr(c.Expr, m.Table, types.TBool)
			if err != nil {
				return nil, err
			}
			m.Checks = append(m.Checks, e)
		}
	}
	q, err := b.finish(m.Source, nil)
	if err != nil {
		return nil, err
	}
	m.Source, m.ParamTypes, m.Deps = q.Root, q.ParamTypes, q.Deps
	return m, nil
}

// returning binds RETURNING over items; it may not hold aggregates.
func (b *binder) returning(ts []sql.Target, sc *scope) ([]namedExpr, error) {
	var out []namedExpr
	for _, t := range ts {
		if ref, ok := t.Expr.(*sql.ColumnRef); ok && ref.Star {
			cols, err := b.star(sc, ref)
			if err != nil {
				return nil, err
			}
			out = append(out, cols...)
			continue
		}
		e, err := b.expr(&exprContext{sc: sc, clause: "RETURNING"}, t.Expr)
		if err != nil {
			return nil, err
		}
		if hasSubquery(e) {
			return nil, b.unsupported(t.Expr, "a subquery in RETURNING", "Read what is needed with a SELECT in the same transaction.")
		}
		if e, err = b.toText(e); err != nil {
			return nil, err
		}
		name := t.Alias
		if name == "" {
			name = figureName(t.Expr)
		}
		out = append(out, namedExpr{name, e, t.Expr})
	}
	return out, nil
}

// withGenerated computes the generated columns over the row that starts at
// offset of n's row, and returns a node in which they are set.
func (b *binder) withGenerated(n plan.Node, t *catalog.Table, offset int) (plan.Node, error) {
	p := &plan.Project{Input: n, Exprs: identity(n), Out: slices.Clone(n.Schema())}
	any := false
	for i, c := range t.Columns {
		if c.Generated == "" {
			continue
		}
		e, err := b.storedExpr(c.Generated, t, c.Type)
		if err != nil {
			return nil, err
		}
		p.Exprs[offset+i], any = shiftCols(e, offset), true
	}
	if !any {
		return n, nil
	}
	return p, nil
}
