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

// update binds UPDATE.
func (b *binder) update(s *sql.Update, ctes *cteEnv, top bool) (*Mutation, error) {
	m := &Mutation{Kind: MutUpdate}
	to, sc, n, err := b.dmlFrom(m, dmlWith{s.With, ctes, top}, s.Table, s.From, "update")
	if err != nil {
		return nil, err
	}
	t := m.Table
	need := b.wants(to, catalog.Update, NeedUpdate, assignedColumns(s.Set))
	if to.view != nil {
		m.ViewChecks = to.view.checks
	}
	set, err := b.setClauses(s.Set, to, 0, &exprContext{sc: sc, clause: "UPDATE"})
	if err != nil {
		return nil, err
	}
	if n, err = b.dmlWhere(m, to, n, sc, s.Where, top); err != nil {
		return nil, err
	}
	// The row becomes: everything there is, then the new row.
	var cols []int
	var vals []expr.Expr
	for i := range t.Columns {
		if v := set[i]; v != nil {
			cols, vals = append(cols, i), append(vals, v)
		}
	}
	if n, vals, err = b.planSubqueries(n, vals); err != nil {
		return nil, err
	}
	width := len(n.Schema())
	pr := &plan.Project{Input: n, Exprs: identity(n), Out: slices.Clone(n.Schema())}
	for i, c := range t.Columns {
		var e expr.Expr = &expr.Col{Index: i, Typ: c.Type}
		if k := slices.Index(cols, i); k >= 0 {
			e = vals[k]
		}
		pr.Exprs = append(pr.Exprs, e)
		pr.Out = append(pr.Out, plan.Column{Name: c.Name, Typ: c.Type})
	}
	if n, err = b.withGenerated(pr, t, width); err != nil {
		return nil, err
	}
	// RETURNING sees the new row under the table's name.
	item := guarded(to.item(sc.items[0].name, width), need)
	item.schema = sc.items[0].schema
	rsc := &scope{items: append([]*rangeItem{item}, sc.items[1:]...), ctes: sc.ctes}
	return b.dmlFinish(m, n, rsc, s.Returning, len(s.From) > 0, append(all(len(t.Columns)), span(width, len(t.Columns))...))
}

// delete binds DELETE.
func (b *binder) delete(s *sql.Delete, ctes *cteEnv, top bool) (*Mutation, error) {
	m := &Mutation{Kind: MutDelete}
	to, sc, n, err := b.dmlFrom(m, dmlWith{s.With, ctes, top}, s.Table, s.Using, "delete from")
	if err != nil {
		return nil, err
	}
	b.wants(to, catalog.Delete, NeedSelect, nil)
	if n, err = b.dmlWhere(m, to, n, sc, s.Where, top); err != nil {
		return nil, err
	}
	return b.dmlFinish(m, n, sc, s.Returning, len(s.Using) > 0, all(len(m.Table.Columns)))
}

func span(from, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = from + i
	}
	return out
}

// dmlWith is a statement's WITH clause, with those around it.
type dmlWith struct {
	w    *sql.With
	ctes *cteEnv
	top  bool
}

// dmlFrom binds the target table, as the first columns of the row, and the other
// tables.
func (b *binder) dmlFrom(m *Mutation, w dmlWith, target *sql.TableRef, from []sql.TableExpr, verb string) (*changing, *scope, plan.Node, error) {
	t, err := b.dmlTarget(target.Name, verb, target)
	if err != nil {
		return nil, nil, nil, err
	}
	m.Table = t.Table
	env, err := b.withClause(w.w, &scope{ctes: w.ctes}, w.top)
	if err != nil {
		return nil, nil, nil, err
	}
	sc := &scope{ctes: env}
	ref := *target
	ref.Name.Schema = t.Schema // a common table expression does not hide the target
	if t.view != nil {
		if ref.Name.Name = t.Table.Name; ref.Alias == nil {
			ref.Alias = &sql.Alias{Name: t.view.Name}
		}
	}
	b.dmlRef = &ref
	n, err := b.fromList(append([]sql.TableExpr{&ref}, from...), sc)
	if err != nil || t.view == nil {
		return t, sc, n, err
	}
	sc.items[0].cols = guarded(t.item("", 0), b.need(t.view.OID, 0)).cols
	sc.items[0].key, sc.items[0].rel = nil, t.view.View
	for _, c := range t.view.where {
		if n, err = b.filter(n, c.Cond); err != nil {
			return nil, nil, nil, err
		}
	}
	return t, sc, n, nil
}

func (b *binder) dmlWhere(m *Mutation, to *changing, n plan.Node, sc *scope, where sql.Expr, top bool) (plan.Node, error) {
	if where == nil {
		return n, nil
	}
	if c, ok := where.(*sql.CurrentOf); ok {
		return b.whereCurrent(m, to, n, c, top)
	}
	cond, err := b.condition(&exprContext{sc: sc, clause: "WHERE"}, where, "WHERE")
	if err != nil {
		return nil, err
	}
	return b.filter(n, cond)
}

// dmlFinish picks the columns of the mutation's source and binds RETURNING. A row
// that joins with several others is changed once.
func (b *binder) dmlFinish(m *Mutation, n plan.Node, sc *scope, ret []sql.Target, joined bool, keep []int) (*Mutation, error) {
	if joined {
		if m.Table.PrimaryKey != nil {
			n = &plan.TopN{Input: n, Partition: slices.Clone(m.Table.PrimaryKey.Columns), Limit: 1}
		} else {
			m.EachOnce = true
		}
	}
	var rs []namedExpr
	if ret != nil {
		var err error
		if rs, err = b.returning(ret, sc); err != nil {
			return nil, err
		}
		es := make([]expr.Expr, len(rs))
		for i, r := range rs {
			es[i] = r.e
		}
		if n, es, err = b.planSubqueries(n, es); err != nil {
			return nil, err
		}
		for i := range rs {
			rs[i].e = es[i]
		}
		m.Columns = columnsOf(rs)
	}
	p := &plan.Project{Input: n}
	sch := n.Schema()
	for _, c := range keep {
		p.Exprs = append(p.Exprs, &expr.Col{Index: c, Typ: sch[c].Typ})
		p.Out = append(p.Out, sch[c])
	}
	for _, r := range rs {
		m.Returning = append(m.Returning, &expr.Col{Index: len(p.Exprs), Typ: r.e.Type()})
		p.Exprs = append(p.Exprs, r.e)
		p.Out = append(p.Out, plan.Column{Name: r.name, Typ: r.e.Type()})
	}
	m.Source = p
	return b.constrain(m)
}

// setClauses binds SET, giving the new value of each column that changes. The row has
// the table's columns from offset on.
func (b *binder) setClauses(list []sql.SetClause, to *changing, offset int, ec *exprContext) (map[int]expr.Expr, error) {
	t, out := to.Table, map[int]expr.Expr{}
	whole := map[int]bool{}
	put := func(name string, path []sql.PathStep, v sql.Expr, bound expr.Expr, at sql.Node) error {
		i, err := b.find(to, name, at)
		if err != nil {
			return err
		}
		if out[i] != nil && (path == nil || whole[i]) {
			return pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", name)
		}
		c := t.Columns[i]
		whole[i] = path == nil
		if _, ok := v.(*sql.DefaultExpr); ok {
			if path != nil {
				return b.defaultPart(path, at)
			}
			switch {
			case to.view != nil && c.Generated == "": // the view's own default
				out[i], err = b.coerce(&expr.Const{Typ: types.TUnknown}, c.Type, expr.Assignment, nil)
			case c.Generated == "":
				out[i], err = b.defaultOf(t, i)
			}
			return err
		}
		if c.Generated != "" {
			return pgerr.New(pgerr.GeneratedAlways, "column \"%s\" can only be updated to DEFAULT", name).
				WithDetail("Column \"%s\" is a generated column.", name)
		}
		if c.Identity == "ALWAYS" {
			return pgerr.New(pgerr.GeneratedAlways, "column \"%s\" can only be updated to DEFAULT", name).
				WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", name)
		}
		if bound == nil {
			if bound, err = b.expr(ec, v); err != nil {
				return err
			}
		}
		if path != nil {
			base := out[i]
			if base == nil {
				base = &expr.Col{Index: offset + i, Typ: c.Type}
			}
			out[i], err = b.assignPart(part{name, path, ec, at}, base, bound, v)
			return err
		}
		out[i], err = b.assign(bound, c, v)
		return err
	}
	pathOf := func(s *sql.SetClause, i int) []sql.PathStep {
		if s.Paths == nil {
			return nil
		}
		return s.Paths[i]
	}
	for _, s := range list {
		if !s.Multi {
			if err := put(s.Columns[0], pathOf(&s, 0), s.Value, nil, s); err != nil {
				return nil, err
			}
			continue
		}
		if q, ok := s.Value.(*sql.SubqueryExpr); ok {
			fields, at, err := b.rowSubquery(ec, q, len(s.Columns))
			if err != nil {
				return nil, err
			}
			for i, f := range fields {
				if err := put(s.Columns[i], pathOf(&s, i), at[i], f, s); err != nil {
					return nil, err
				}
			}
			continue
		}
		row, ok := s.Value.(*sql.RowExpr)
		if !ok {
			return nil, b.errAt(s.Value, pgerr.FeatureNotSupported, "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression")
		}
		var vals []namedExpr
		for _, f := range row.Fields {
			if ref, ok := f.(*sql.ColumnRef); ok && ref.Star {
				cols, err := b.star(ec.sc, ref)
				if err != nil {
					return nil, err
				}
				vals = append(vals, cols...)
				continue
			}
			vals = append(vals, namedExpr{at: f})
		}
		if len(vals) != len(s.Columns) {
			return nil, b.errAt(s.Value, pgerr.SyntaxError, "number of columns does not match number of values")
		}
		for i, v := range vals {
			if err := put(s.Columns[i], pathOf(&s, i), v.at.(sql.Expr), v.e, s); err != nil {
				return nil, err
			}
		}
	}
	for i, wholly := range whole {
		if wholly {
			continue
		}
		var err error
		if out[i], err = b.partsMade(out[i], t.Columns[i].Type); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rowSubquery binds the query of SET (columns) = (query) and returns its columns,
// with the places of their values in the text.
func (b *binder) rowSubquery(ec *exprContext, q *sql.SubqueryExpr, want int) ([]expr.Expr, []sql.Expr, error) {
	n, cols, err := b.subquery(ec, q.Query, q)
	if err != nil {
		return nil, nil, err
	}
	if len(cols) != want {
		return nil, nil, b.errAt(q, pgerr.SyntaxError, "number of columns does not match number of values")
	}
	sub := &subRef{kind: subScalar, node: n, at: q}
	fields, at := make([]expr.Expr, want), make([]sql.Expr, want)
	for i, c := range cols {
		fields[i], at[i] = &subField{sub, i, c.Typ}, q
		if len(q.Query.Targets) == want {
			at[i] = q.Query.Targets[i].Expr
		}
	}
	return fields, at, nil
}
