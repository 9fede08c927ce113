package planner

import (
	"cmp"
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
	MutMerge
)

// Mutation is a planned INSERT, UPDATE, DELETE or MERGE. Source yields, for
//   - INSERT: the new rows, with all columns of the table, defaults and generated
//     columns computed;
//   - UPDATE: the old row followed by the new one, then columns for RETURNING;
//   - DELETE: the old row, then columns for RETURNING;
//   - MERGE: what merge says.
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
	Checks     []expr.Expr
	CheckNames []string // of Checks, which are in the order of these
	// Indexes are those of the table that compute something of the new row, which a
	// row for which they fail must not be stored.
	Indexes  []*IndexShape
	Conflict *Conflict
	// ViewChecks hold for the new row, if it is changed through a view.
	ViewChecks []ViewCheck
	// Returning are the columns to answer, nil without RETURNING: over the row as
	// stored for INSERT, else over Source's row.
	Returning []expr.Expr
	Columns   []plan.Column
	// ReturningPlan computes RETURNING in the place of Returning where that of an
	// INSERT holds subqueries: it reads the rows stored as Returned.
	ReturningPlan plan.Node
	Returned      uint32
	// EachOnce: the rows of a table without a key are joined with others in Source;
	// each is changed once, as often as it is stored, whatever the weights.
	EachOnce bool
	// Given is the number under which the statement around reads the rows that
	// RETURNING answers, if this one stands in WITH.
	Given uint32

	// Merge are the actions of MERGE.
	Merge []MergeAction

	ParamTypes []types.T
	// Current is what WHERE CURRENT OF needs: the row of a cursor, as parameters behind
	// those of the statement. nil: the statement has none.
	Current *CurrentRow
	Deps    []uint32
	// With are the data-modifying statements of the WITH clause. Every plan of the
	// statement reads the tables as they were before all of them.
	With []*Mutation
}

// Returns reports whether the statement answers rows.
func (m *Mutation) Returns() bool { return m.Returning != nil || m.ReturningPlan != nil }

// Conflict is ON CONFLICT. Set has an expression for each changed column of the
// table and Where the condition for changing it, both over the stored row
// followed by the row proposed.
type Conflict struct {
	// Arbiters are the keys that decide: OIDs of unique indexes, or StorageKey; nil:
	// any.
	Arbiters []uint32
	Nothing  bool
	// Set and Where are over the row there is and the one proposed; or, where they have
	// subqueries, Set is over Plan.
	Set   []expr.Expr
	Where expr.Expr
	// Plan computes the new values of the rows for which WHERE holds: it reads the
	// relation Given, which has both rows and a number, and ends with that number.
	Plan  plan.Node
	Given uint32
}

// StorageKey stands for a table's primary key by which its rows are stored, in
// Conflict.Arbiters.
const StorageKey = 0

// ReadsGiven reports whether a plan of the mutation reads rows that the mutation makes.
func (m *Mutation) ReadsGiven() bool {
	return m.ReturningPlan != nil || m.Conflict != nil && m.Conflict.Plan != nil
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

// dmlTarget looks up the table a statement changes, or the view.
func (b *binder) dmlTarget(name sql.Name, verb string, at sql.Node) (*changing, error) {
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
		return &changing{Table: r, verb: verb}, nil
	case *catalog.Sequence:
		return nil, b.errAt(at, pgerr.WrongObjectType, "cannot change sequence \"%s\"", r.Name)
	case *catalog.MatView:
		if verb == "merge into" {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot execute MERGE on relation \"%s\"", r.Name).
				WithDetail("This operation is not supported for materialized views.")
		}
		return nil, b.errAt(at, pgerr.WrongObjectType, "cannot change materialized view \"%s\"", r.Name)
	case *catalog.View:
		if verb == "merge into" {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot execute MERGE on relation \"%s\"", r.Name).
				WithDetail("This operation is not supported for views.")
		}
		return b.changeable(r, verb)
	case *catalog.Source:
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot %s source \"%s\"", verb, r.Name).
			WithHint("A source is read only. Use CREATE TABLE for a relation that also takes INSERT.").At(b.at(at))
	}
	return nil, catalog.Denied(rel)
}

// storedExpr binds an expression kept as text in the catalog, over the row of a
// relation (or no row: nil).
func (b *binder) storedExpr(text string, rel catalog.Relation, want types.T) (expr.Expr, error) {
	q, err := ParseQuery("SELECT (" + text + ")")
	if err != nil {
		return nil, err
	}
	saved, savedParams := b.text, b.params
	b.text, b.params = "", &paramSet{pos: map[int]int{}}
	defer func() { b.text, b.params = saved, savedParams }()
	sc := &scope{}
	if rel != nil {
		sc.items = []*rangeItem{relationItem(rel, rel.Header().Name, 0)}
	}
	e, err := b.expr(&exprContext{sc: sc, clause: "stored expressions", noSub: "stored expressions"}, q.Targets[0].Expr)
	if err != nil {
		return nil, err
	}
	return b.coerce(constantRegclass(e), want, expr.Assignment, nil)
}

// tableItem names the columns of a table whose row starts at offset.
func tableItem(t *catalog.Table, name string, offset int) *rangeItem {
	return relationItem(t, name, offset)
}

// relationItem names the columns of a relation whose row starts at offset. Under its
// own name they can be qualified with its schema, too.
func relationItem(rel catalog.Relation, name string, offset int) *rangeItem {
	it := &rangeItem{name: name, relVisible: true, colVisible: true, rel: rel}
	if h := rel.Header(); name == h.Name {
		it.schema = h.Schema
	}
	for i, c := range rel.Cols() {
		it.cols = append(it.cols, scopeCol{name: c.Name, typ: c.Type, index: offset + i, origin: originOf(rel, i)})
	}
	return it
}

// defaultOf is the default of column i.
func (b *binder) defaultOf(t *catalog.Table, i int) (expr.Expr, error) {
	c := t.Columns[i]
	if c.Identity != "" {
		return b.nextOf(c)
	}
	text := c.Default
	if text == "" {
		text = b.domainDefault(c.Type)
	}
	if text == "" {
		return b.coerce(&expr.Const{Typ: types.TUnknown}, c.Type, expr.Assignment, nil)
	}
	return b.storedExpr(text, nil, c.Type)
}

// assign converts a value to a column's type.
func (b *binder) assign(e expr.Expr, c catalog.Column, at sql.Node) (expr.Expr, error) {
	if t := e.Type(); t.ID != types.Unknown && !expr.CanCast(t, c.Type, expr.Assignment) {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" is of type %s but expression is of type %s", c.Name, c.Type.Base(), t.Base()).
			WithHint("You will need to rewrite or cast the expression.").At(b.at(leftmost(at)))
	}
	return b.coerce(e, c.Type, expr.Assignment, at)
}

// constrain adds the table's constraints.
func (b *binder) constrain(m *Mutation) (*Mutation, error) {
	for i, c := range m.Table.Columns {
		if c.NotNull || m.Table.PrimaryKey != nil && slices.Contains(m.Table.PrimaryKey.Columns, i) {
			m.NotNull = append(m.NotNull, i)
		}
	}
	if m.Kind == MutDelete {
		m.NotNull = nil
	} else {
		checks := slices.Clone(m.Table.Checks)
		slices.SortFunc(checks, func(x, y catalog.Check) int { return cmp.Compare(x.Name, y.Name) })
		for _, c := range checks {
			e, err := b.storedExpr(c.Expr, m.Table, types.TBool)
			if err != nil {
				return nil, err
			}
			m.Checks, m.CheckNames = append(m.Checks, e), append(m.CheckNames, c.Name)
		}
		for _, ix := range b.p.Cat.Indexes(m.Table.OID) {
			if ix.Columns() != nil && ix.Where == "" {
				continue
			}
			s, err := b.p.BindIndex(ix)
			if err != nil {
				return nil, err
			}
			m.Indexes = append(m.Indexes, s)
		}
	}
	return m, nil
}

// optimizeMutation runs the rules on the plans of m.
func (b *binder) optimizeMutation(m *Mutation) (err error) {
	if m.Source, err = b.optimize(m.Source); err == nil && m.ReturningPlan != nil {
		m.ReturningPlan, err = b.optimize(m.ReturningPlan)
	}
	if err == nil && m.Conflict != nil && m.Conflict.Plan != nil {
		m.Conflict.Plan, err = b.optimize(m.Conflict.Plan)
	}
	for i := 0; err == nil && i < len(m.Merge); i++ {
		err = b.optimizeMutation(m.Merge[i].Mutation)
	}
	return err
}

// finishMutation checks the parameters and runs the rules, also for the
// statements of WITH.
func (b *binder) finishMutation(m *Mutation) (*Mutation, error) {
	ts, err := b.params.resolved()
	if err != nil {
		return nil, err
	}
	if err := b.optimizeShared(); err != nil {
		return nil, err
	}
	for _, x := range append(slices.Clone(b.with), m) {
		if err := b.optimizeMutation(x); err != nil {
			return nil, err
		}
	}
	m.ParamTypes, m.Deps, m.With = ts, b.dependencies(), b.with
	return m, nil
}

// mutation binds a statement that changes data; ctes are those of a WITH around
// it. top: it is the whole statement, whose WITH may change data too.
func (b *binder) mutation(st sql.Stmt, ctes *cteEnv, top bool) (*Mutation, error) {
	switch st := st.(type) {
	case *sql.Insert:
		return b.insert(st, ctes, top)
	case *sql.Update:
		return b.update(st, ctes, top)
	case *sql.Delete:
		return b.delete(st, ctes, top)
	case *sql.Merge:
		return b.merge(st)
	}
	return nil, pgerr.New(pgerr.Internal, "not a statement that changes data")
}

// PlanMutation plans INSERT, UPDATE, DELETE and MERGE.
func (p *Planner) PlanMutation(st sql.Stmt) (*Mutation, error) {
	b := p.newBinder(false)
	m, err := b.mutation(st, nil, true)
	if err != nil {
		return nil, err
	}
	return b.finishMutation(m)
}

// withMutation binds a data-modifying statement of WITH. It is run whether or not
// anything reads it.
func (b *binder) withMutation(c sql.CTE, env *cteEnv) (*cte, error) {
	m, err := b.mutation(c.Query, env, false)
	if err != nil {
		return nil, err
	}
	b.given++
	m.Given = b.given
	b.with = append(b.with, m)
	cols := slices.Clone(m.Columns)
	if len(c.Columns) > len(cols) && m.Returns() {
		return nil, b.errAt(c, pgerr.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified", c.Name, len(cols), len(c.Columns))
	}
	for i := range min(len(cols), len(c.Columns)) {
		cols[i].Name = c.Columns[i]
	}
	return &cte{name: c.Name, node: givenScan(m.Given, c.Name, cols), cols: cols, size: 1, mute: !m.Returns()}, nil
}

// givenScan reads rows that a part of the statement made.
func givenScan(id uint32, name string, cols []plan.Column) *plan.Scan {
	return &plan.Scan{Kind: plan.RelGiven, Rel: id, Name: name, Cols: all(len(cols)), Out: cols}
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
		from := sc.origin(e)
		if e, err = b.toText(e); err != nil {
			return nil, err
		}
		name := t.Alias
		if name == "" {
			name = figureName(t.Expr)
		}
		out = append(out, namedExpr{name: name, e: e, at: t.Expr, from: from})
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
