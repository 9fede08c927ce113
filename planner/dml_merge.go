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

// MergeAction is one WHEN of MERGE that changes rows. Mutation is the INSERT, UPDATE
// or DELETE, over the rows that are given for this WHEN.
type MergeAction struct {
	*Mutation
	// Number is what the rows of the join have as their last column for this action.
	Number int32
}

// mergeMark is the column that is NULL where no row of the target has matched.
const mergeMark = "?matched?"

// merge binds MERGE. Source yields the rows of the join, with the number of the WHEN
// for each behind it (0: none); those of the actions are given to their plans as
// Returned.
func (b *binder) merge(s *sql.Merge) (*Mutation, error) {
	to, err := b.dmlTarget(s.Table.Name, "merge into", s.Table)
	if err != nil {
		return nil, err
	}
	t := to.Table
	b.need(t.OID, 0) // is asked for before the source
	if err := checkWhens(s.Whens); err != nil {
		return nil, err
	}
	if s.With != nil && s.With.Recursive {
		return nil, pgerr.New(pgerr.SyntaxError, "WITH RECURSIVE is not supported for MERGE statement")
	}
	env, err := b.withClause(s.With, &scope{}, true)
	if err != nil {
		return nil, err
	}
	sc := &scope{ctes: env}
	n, err := b.mergeJoin(s, t, sc)
	if err != nil {
		return nil, err
	}
	target := sc.items[len(sc.items)-1]
	source := &scope{items: sc.items[:len(sc.items)-1], hidden: []*rangeItem{target}, ctes: env}
	width := len(t.Columns)
	at := target.cols[0].index
	target.cols = target.cols[:width]
	var matched expr.Expr = &expr.IsNull{Arg: &expr.Col{Index: at + width, Typ: types.TBool}, Negate: true}
	m := &Mutation{Kind: MutMerge, Table: t}
	number := &expr.Case{Else: &expr.Const{Typ: types.TInt4, Val: int32(0)}, Typ: types.TInt4}
	for i, w := range s.Whens {
		cond := matched
		wsc := sc
		if !w.Matched {
			cond, wsc = &expr.Not{Arg: matched}, source
		}
		if w.Cond != nil {
			c, err := b.condition(&exprContext{sc: wsc, clause: "MERGE WHEN AND"}, w.Cond, "WHEN")
			if err != nil {
				return nil, err
			}
			cond = &expr.And{Args: []expr.Expr{cond, c}}
		}
		number.Whens = append(number.Whens, expr.When{Cond: cond, Then: &expr.Const{Typ: types.TInt4, Val: int32(i + 1)}})
	}
	before := len(n.Schema())
	n, es, err := b.planSubqueries(n, []expr.Expr{number})
	if err != nil {
		return nil, err
	}
	p := &plan.Project{Input: n, Exprs: append(identity(n)[:before:before], es[0]), Out: slices.Clone(n.Schema()[:before])}
	p.Out = append(p.Out, plan.Column{Name: "?when?", Typ: types.TInt4})
	m.Source = p
	b.given++
	m.Returned = b.given
	for i := range s.Whens {
		a, err := b.mergeAction(&s.Whens[i], t, sc, source, givenScan(m.Returned, t.Name, p.Out[:before]), at)
		if err != nil {
			return nil, err
		}
		if a != nil {
			m.Merge = append(m.Merge, MergeAction{a, int32(i + 1)})
		}
	}
	return m, nil
}

// checkWhens refuses a WHEN that no row can reach.
func checkWhens(ws []sql.MergeWhen) error {
	var all [2]bool
	for _, w := range ws {
		k := 0
		if w.Matched {
			k = 1
		}
		if all[k] {
			return pgerr.New(pgerr.SyntaxError, "unreachable WHEN clause specified after unconditional WHEN clause")
		}
		all[k] = w.Cond == nil
	}
	return nil
}

// mergeJoin joins the source with the target, whose columns come last, with a mark
// behind them.
func (b *binder) mergeJoin(s *sql.Merge, t *catalog.Table, sc *scope) (plan.Node, error) {
	ref := *s.Table
	ref.Name.Schema = t.Schema // a common table expression does not hide the target
	name := t.Name
	if ref.Alias != nil {
		name = ref.Alias.Name
	}
	mark, err := ParseQuery("SELECT true")
	if err != nil {
		return nil, err
	}
	q := &sql.Select{At: s.At, From: []sql.TableExpr{&ref}, Targets: []sql.Target{
		{At: s.At, Expr: &sql.ColumnRef{At: s.At, Star: true}}, {At: s.At, Expr: mark.Targets[0].Expr, Alias: mergeMark}}}
	right := &sql.SubqueryTable{At: ref.At, Query: q, Alias: &sql.Alias{Name: name}}
	join := &sql.JoinTable{At: s.At, Left: s.Source, Right: right, On: s.On}
	if slices.ContainsFunc(s.Whens, func(w sql.MergeWhen) bool { return !w.Matched }) {
		join.Kind = sql.LeftJoin
	}
	for _, it := range sourceNames(s.Source) {
		if it == name {
			return nil, pgerr.New(pgerr.DuplicateAlias, "name \"%s\" specified more than once", name).
				WithDetail("The name is used both as MERGE target table and data source.")
		}
	}
	sc.hidden = []*rangeItem{tableItem(t, name, 0)}
	n, err := b.fromList([]sql.TableExpr{join}, sc)
	sc.hidden = nil
	return n, err
}

// sourceNames are the names that the data source of MERGE gives.
func sourceNames(t sql.TableExpr) []string {
	switch t := t.(type) {
	case *sql.TableRef:
		if t.Alias != nil {
			return []string{t.Alias.Name}
		}
		return []string{t.Name.Name}
	case *sql.SubqueryTable:
		if t.Alias != nil {
			return []string{t.Alias.Name}
		}
	case *sql.JoinTable:
		return append(sourceNames(t.Left), sourceNames(t.Right)...)
	}
	return nil
}

// mergeAction binds what a WHEN does with the rows that n gives: of the target they
// have the columns from at on. It returns nil for DO NOTHING.
func (b *binder) mergeAction(w *sql.MergeWhen, t *catalog.Table, sc, source *scope, n plan.Node, at int) (*Mutation, error) {
	switch w.Action {
	case sql.MergeInsert:
		b.need(t.OID, catalog.Insert)
		return b.mergeInsert(w, t, source, n)
	case sql.MergeUpdate:
		need := b.need(t.OID, catalog.Update)
		for _, s := range w.Set {
			for _, c := range s.Columns {
				need.column(NeedUpdate, catalog.ColumnIndex(t.Columns, c))
			}
		}
		return b.mergeUpdate(w, t, sc, n, at)
	case sql.MergeDelete:
		b.need(t.OID, catalog.Delete)
		m := &Mutation{Kind: MutDelete, Table: t, Source: columnsFrom(n, span(at, len(t.Columns)))}
		return b.constrain(m)
	}
	return nil, nil
}

// columnsFrom picks columns of a node.
func columnsFrom(n plan.Node, cols []int) *plan.Project {
	p := &plan.Project{Input: n}
	sch := n.Schema()
	for _, c := range cols {
		p.Exprs, p.Out = append(p.Exprs, &expr.Col{Index: c, Typ: sch[c].Typ}), append(p.Out, sch[c])
	}
	return p
}

func (b *binder) mergeUpdate(w *sql.MergeWhen, t *catalog.Table, sc *scope, n plan.Node, at int) (*Mutation, error) {
	set, err := b.setClauses(w.Set, &changing{Table: t, verb: "merge into"}, at, &exprContext{sc: sc, clause: "UPDATE"})
	if err != nil {
		return nil, err
	}
	row := make([]expr.Expr, len(t.Columns))
	for i, c := range t.Columns {
		if row[i] = set[i]; row[i] == nil {
			row[i] = &expr.Col{Index: at + i, Typ: c.Type}
		}
	}
	if n, row, err = b.planSubqueries(n, row); err != nil {
		return nil, err
	}
	p := columnsFrom(n, span(at, len(t.Columns)))
	for i, c := range t.Columns {
		p.Exprs, p.Out = append(p.Exprs, row[i]), append(p.Out, plan.Column{Name: c.Name, Typ: c.Type})
	}
	m := &Mutation{Kind: MutUpdate, Table: t}
	if m.Source, err = b.withGenerated(p, t, len(t.Columns)); err != nil {
		return nil, err
	}
	return b.constrain(m)
}

func (b *binder) mergeInsert(w *sql.MergeWhen, t *catalog.Table, source *scope, n plan.Node) (*Mutation, error) {
	s := *w.Insert
	s.Table = sql.Name{Name: t.Name}
	to := &changing{Table: t, verb: "merge into"}
	cols, err := b.insertColumns(&s, to)
	if err != nil {
		return nil, err
	}
	var vals []expr.Expr
	var at []sql.Node
	if s.Source != nil {
		values := s.Source.Values[0]
		if err := b.checkWidth(&s, len(cols), len(values), values[min(len(cols), len(values)-1)]); err != nil {
			return nil, err
		}
		for _, x := range values {
			at = append(at, x)
			if _, ok := x.(*sql.DefaultExpr); ok {
				vals = append(vals, nil)
				continue
			}
			e, err := b.expr(&exprContext{sc: source, clause: "VALUES"}, x)
			if err != nil {
				return nil, err
			}
			vals = append(vals, e)
		}
	}
	b.needInsert(to, &s, cols[:len(vals)])
	row, err := b.insertRow(t, s.Overriding, cols[:len(vals)], vals, at)
	if err != nil {
		return nil, err
	}
	if n, row, err = b.planSubqueries(n, row); err != nil {
		return nil, err
	}
	m := &Mutation{Kind: MutInsert, Table: t}
	if m.Source, err = b.withGenerated(&plan.Project{Input: n, Exprs: row, Out: scanOf(t).Out}, t, 0); err != nil {
		return nil, err
	}
	return b.constrain(m)
}
