package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// PlanUpdate plans UPDATE.
func (p *Planner) PlanUpdate(s *sql.Update) (*Mutation, error) {
	b := p.newBinder(false)
	m := &Mutation{Kind: MutUpdate}
	sc, n, err := b.dmlFrom(m, s.With, s.Table, s.From, "update")
	if err != nil {
		return nil, err
	}
	t := m.Table
	set, err := b.setClauses(s.Set, t, &exprContext{sc: sc, clause: "UPDATE"})
	if err != nil {
		return nil, err
	}
	if n, err = b.dmlWhere(n, sc, s.Where); err != nil {
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
	item := tableItem(t, sc.items[0].name, width)
	rsc := &scope{items: append([]*rangeItem{item}, sc.items[1:]...)}
	return b.dmlFinish(m, n, rsc, s.Returning, len(s.From) > 0, append(all(len(t.Columns)), span(width, len(t.Columns))...))
}

// PlanDelete plans DELETE.
func (p *Planner) PlanDelete(s *sql.Delete) (*Mutation, error) {
	b := p.newBinder(false)
	m := &Mutation{Kind: MutDelete}
	sc, n, err := b.dmlFrom(m, s.With, s.Table, s.Using, "delete from")
	if err != nil {
		return nil, err
	}
	if n, err = b.dmlWhere(n, sc, s.Where); err != nil {
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

// dmlFrom binds the target table, as the first columns of the row, and the other
// tables.
func (b *binder) dmlFrom(m *Mutation, w *sql.With, target *sql.TableRef, from []sql.TableExpr, verb string) (*scope, plan.Node, error) {
	t, err := b.dmlTarget(target.Name, verb, target)
	if err != nil {
		return nil, nil, err
	}
	m.Table = t
	env, err := b.with(w, nil)
	if err != nil {
		return nil, nil, err
	}
	sc := &scope{ctes: env}
	ref := *target
	ref.Name.Schema = t.Schema // a common table expression does not hide the target
	n, err := b.fromList(append([]sql.TableExpr{&ref}, from...), sc)
	return sc, n, err
}

func (b *binder) dmlWhere(n plan.Node, sc *scope, where sql.Expr) (plan.Node, error) {
	if where == nil {
		return n, nil
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
		if m.Table.PrimaryKey == nil {
			return nil, pgerr.Unsupported("UPDATE ... FROM or DELETE ... USING on a table without a primary key",
				"Use a subquery in WHERE, such as WHERE EXISTS (...), instead.")
		}
		n = &plan.TopN{Input: n, Partition: slices.Clone(m.Table.PrimaryKey.Columns), Limit: 1}
	}
	p := &plan.Project{Input: n}
	sch := n.Schema()
	for _, c := range keep {
		p.Exprs = append(p.Exprs, &expr.Col{Index: c, Typ: sch[c].Typ})
		p.Out = append(p.Out, sch[c])
	}
	if ret != nil {
		rs, err := b.returning(ret, sc)
		if err != nil {
			return nil, err
		}
		m.Columns = columnsOf(rs)
		for _, r := range rs {
			m.Returning = append(m.Returning, &expr.Col{Index: len(p.Exprs), Typ: r.e.Type()})
			p.Exprs = append(p.Exprs, r.e)
			p.Out = append(p.Out, plan.Column{Name: r.name, Typ: r.e.Type()})
		}
	}
	m.Source = p
	return b.finishMutation(m)
}

// setClauses binds SET, giving the new value of each column that changes.
func (b *binder) setClauses(list []sql.SetClause, t *catalog.Table, ec *exprContext) (map[int]expr.Expr, error) {
	out := map[int]expr.Expr{}
	put := func(name string, v sql.Expr, bound expr.Expr, at sql.Node) error {
		i := catalog.ColumnIndex(t.Columns, name)
		if i < 0 {
			return b.errAt(at, pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, t.Name)
		}
		if out[i] != nil {
			return pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", name)
		}
		c := t.Columns[i]
		var err error
		if _, ok := v.(*sql.DefaultExpr); ok {
			if c.Generated == "" {
				out[i], err = b.defaultOf(t, i)
			}
			return err
		}
		if c.Generated != "" {
			return pgerr.New(pgerr.GeneratedAlways, "column \"%s\" can only be updated to DEFAULT", name).
				WithDetail("Column \"%s\" is a generated column.", name)
		}
		if bound == nil {
			if bound, err = b.expr(ec, v); err != nil {
				return err
			}
		}
		out[i], err = b.assign(bound, c, v)
		return err
	}
	for _, s := range list {
		if !s.Multi {
			if err := put(s.Columns[0], s.Value, nil, s); err != nil {
				return nil, err
			}
			continue
		}
		row, ok := s.Value.(*sql.RowExpr)
		if !ok && len(s.Columns) == 1 {
			if err := put(s.Columns[0], s.Value, nil, s); err != nil {
				return nil, err
			}
			continue
		}
		if !ok {
			return nil, b.unsupported(s, "(columns) = (subquery)", "Use one subquery a column, or UPDATE ... FROM.")
		}
		if len(row.Fields) != len(s.Columns) {
			return nil, b.errAt(s.Value, pgerr.SyntaxError, "number of columns does not match number of values")
		}
		for i, f := range row.Fields {
			if err := put(s.Columns[i], f, nil, s); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
