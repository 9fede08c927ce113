package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// changing is the relation that a statement changes: a table, or a view over the rows
// of one. Positions of columns are the table's everywhere.
type changing struct {
	*catalog.Table
	view *changingView // nil: the statement names the table
	verb string        // of errors: "insert into", "update"
}

// changingView is a view whose rows are those of a table that fulfil a condition.
type changingView struct {
	*catalog.View
	// cols are the view's columns over the table's row; a *expr.Col can be changed.
	cols  []expr.Expr
	where []ViewCheck // its condition, and those of the views it is over
	// checks are what WITH CHECK OPTION holds new rows against.
	checks []ViewCheck
}

// ViewCheck is the condition of a view with CHECK OPTION, over the table's row, which
// must be true of new rows: else 44000.
type ViewCheck struct {
	View string
	Cond expr.Expr
}

// name is what errors call the relation.
func (r *changing) name() string {
	if r.view != nil {
		return r.view.Name
	}
	return r.Table.Name
}

// item names the columns of the relation for a table's row at offset.
func (r *changing) item(name string, offset int) *rangeItem {
	if r.view == nil {
		return tableItem(r.Table, name, offset)
	}
	it := relationItem(r.view.View, name, 0)
	for i := range it.cols {
		it.cols[i].e = remap(r.view.cols[i], func(c int) int { return c + offset })
	}
	return it
}

// find returns the table's column for the relation's of a name.
func (b *binder) find(r *changing, name string, at sql.Node) (int, error) {
	cols := r.Table.Columns
	if r.view != nil {
		cols = r.view.Columns
	}
	i := catalog.ColumnIndex(cols, name)
	if i < 0 {
		return 0, b.errAt(at, pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, r.name())
	}
	if r.view == nil {
		return i, nil
	}
	c, ok := r.view.cols[i].(*expr.Col)
	if !ok {
		return 0, r.fixed(i)
	}
	return c.Index, nil
}

// fixed is the error of changing column i of a view, which is computed.
func (r *changing) fixed(i int) error {
	return pgerr.New(pgerr.FeatureNotSupported, "cannot %s column \"%s\" of view \"%s\"", r.verb, r.view.Columns[i].Name, r.view.Name).
		WithDetail("View columns that are not columns of their base relation are not updatable.")
}

// wants notes the privileges that a statement needs: of a view its user's, and of the
// table the owner's. names are the columns it gives values, kind their place in Need.
func (b *binder) wants(r *changing, p catalog.Privs, kind int, names []string) *Need {
	if r.view == nil {
		need := b.need(r.Table.OID, p)
		for _, n := range names {
			if i := catalog.ColumnIndex(r.Table.Columns, n); i >= 0 {
				need.column(kind, i)
			}
		}
		return need
	}
	need := b.need(r.view.OID, p)
	for _, n := range names {
		if i := catalog.ColumnIndex(r.view.Columns, n); i >= 0 {
			need.column(kind, i)
			if c, ok := r.view.cols[i].(*expr.Col); ok {
				b.asOwner(r.view.View, func() { b.need(r.Table.OID, p).column(kind, c.Index) })
			}
		}
	}
	b.asOwner(r.view.View, func() { b.need(r.Table.OID, p) })
	return need
}

// roleIn is the role whose privileges the query of a view needs. A view of its invoker
// needs those of the session even within a view of its owner.
func (b *binder) roleIn(v *catalog.View) uint32 {
	if v.Invoker() {
		return 0
	}
	return v.Owner
}

// asOwner binds what is done in the name of a view's owner, unless the view is one of
// its invoker.
func (b *binder) asOwner(v *catalog.View, f func()) {
	as := b.asRole
	b.asRole = b.roleIn(v)
	f()
	b.asRole = as
}

// changeable returns how a view shows the rows of a table, or the error of a
// statement that would change one that does not.
func (b *binder) changeable(v *catalog.View, verb string) (*changing, error) {
	if b.views++; b.views > maxViewDepth {
		return nil, pgerr.New(pgerr.StatementTooComplex, "view \"%s\" is nested too deeply", v.Name)
	}
	defer func() { b.views-- }()
	b.deps[v.OID] = true
	q, err := ParseQuery(v.Query)
	if err != nil {
		return nil, err
	}
	refuse := func(why string) error {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", verb, v.Name).
			WithDetail("%s", why).WithHint("Change the table under the view.")
	}
	if why := fixedQuery(q); why != "" {
		return nil, refuse(why)
	}
	text, path, params, as := b.text, b.path, b.params, b.asRole
	b.text, b.path, b.params, b.asRole = "", v.SearchPath, &paramSet{pos: map[int]int{}}, b.roleIn(v)
	defer func() { b.text, b.path, b.params, b.asRole = text, path, params, as }()
	te, ok := q.From[0].(*sql.TableRef)
	if !ok {
		return nil, refuse(notOneRelation)
	}
	base, it, err := b.changeableFrom(te, verb)
	if err != nil {
		return nil, err
	}
	if base == nil {
		return nil, refuse(notOneRelation)
	}
	out := &changing{Table: base.Table, verb: verb, view: &changingView{View: v}}
	s := &selection{b: b, q: q, sc: &scope{items: []*rangeItem{it}}}
	if err := s.bindTargets(); err != nil {
		return nil, err
	}
	columns := false
	for i, t := range s.targets {
		why := ""
		switch {
		case len(s.aggs) > 0:
			why = "Views that return aggregate functions are not automatically updatable."
		case len(s.wins) > 0:
			why = "Views that return window functions are not automatically updatable."
		case hasSet(t.e):
			why = "Views that return set-returning functions are not automatically updatable."
		}
		if why != "" {
			return nil, refuse(why)
		}
		if i >= len(v.Columns) {
			break
		}
		e := t.e
		if e.Type() != v.Columns[i].Type {
			if e, err = expr.Coerce(e, v.Columns[i].Type, expr.Explicit); err != nil {
				return nil, err
			}
		}
		_, plain := e.(*expr.Col)
		columns = columns || plain
		out.view.cols = append(out.view.cols, e)
	}
	if !columns && verb != "delete from" {
		return nil, refuse("Views that have no updatable columns are not automatically updatable.")
	}
	return out, b.changeableWhere(out, base, q, s.sc)
}

// changeableWhere adds the conditions of a view, and of the one it may be over.
func (b *binder) changeableWhere(out, base *changing, q *sql.Select, sc *scope) error {
	v := out.view
	if base.view != nil {
		v.where, v.checks = base.view.where, base.view.checks
		if v.CheckOption() == "cascaded" { // of all views below
			v.checks = v.where
		}
	}
	if q.Where == nil {
		return nil
	}
	cond, err := b.condition(&exprContext{sc: sc, clause: "WHERE"}, q.Where, "WHERE")
	if err != nil {
		return err
	}
	if v.CheckOption() != "" && (hasSubquery(cond) || slices.ContainsFunc(v.checks, func(c ViewCheck) bool { return hasSubquery(c.Cond) })) {
		return pgerr.Unsupported("CHECK OPTION of a view with subqueries in its condition", "Change the table under the view.")
	}
	check := ViewCheck{v.Name, cond}
	v.where = append(v.where[:len(v.where):len(v.where)], check)
	if v.CheckOption() != "" {
		v.checks = append(v.checks[:len(v.checks):len(v.checks)], check)
	}
	return nil
}

const notOneRelation = "Views that do not select from a single table or view are not automatically updatable."

// fixedQuery says why the rows of a query are not those of a relation; "": they may be.
func fixedQuery(q *sql.Select) string {
	what := ""
	switch {
	case q.Op != sql.SetNone:
		what = "containing UNION, INTERSECT, or EXCEPT"
	case q.Distinct:
		what = "containing DISTINCT"
	case len(q.GroupBy) > 0:
		what = "containing GROUP BY"
	case q.Having != nil:
		what = "containing HAVING"
	case q.With != nil:
		what = "containing WITH"
	case q.Limit != nil || q.Skip != nil:
		what = "containing LIMIT or OFFSET"
	case len(q.From) != 1:
		return notOneRelation
	default:
		return ""
	}
	return "Views " + what + " are not automatically updatable."
}

// changeableFrom binds the relation under a view; nil: its rows cannot be changed.
func (b *binder) changeableFrom(te *sql.TableRef, verb string) (*changing, *rangeItem, error) {
	rel, err := b.relation(te.Name, te)
	if err != nil {
		return nil, nil, err
	}
	var base *changing
	cols := make([]plan.Column, len(rel.Cols()))
	for i, c := range rel.Cols() {
		cols[i] = plan.Column{Name: c.Name, Typ: c.Type}
	}
	switch r := rel.(type) {
	case *catalog.Table:
		b.deps[r.OID] = true
		base = &changing{Table: r, verb: verb}
	case *catalog.View:
		if base, err = b.changeable(r, verb); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, nil
	}
	it, err := b.alias(te.Alias, rel.Header().Name, cols, te)
	if err != nil {
		return nil, nil, err
	}
	if te.Alias == nil {
		it.schema = rel.Header().Schema
	}
	it.rel = rel
	if base.view != nil {
		for i := range it.cols {
			it.cols[i].e = base.view.cols[i]
		}
	}
	return base, guarded(it, b.need(rel.Header().OID, catalog.Select)), nil
}

// Updatable tells how the rows of a view can be changed.
func (p *Planner) Updatable(v *catalog.View) expr.Updatable {
	can := func(verb string) *changing {
		c, err := p.newBinder(false).changeable(v, verb)
		if err != nil {
			return nil
		}
		return c
	}
	c := can("update")
	if c == nil {
		return expr.Updatable{Delete: can("delete from") != nil, Columns: []bool{}}
	}
	out := expr.Updatable{Update: true, Insert: true, Delete: true, Columns: make([]bool, len(c.view.cols))}
	for i, e := range c.view.cols {
		_, out.Columns[i] = e.(*expr.Col)
	}
	return out
}
