package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// PlanCopy plans COPY FROM into the columns cols of a table: an INSERT whose
// Source is a Project over the copied columns, in the order of cols, that stands
// on an empty Values node in their place. where is the condition that rows must
// satisfy, of CopyCondition; nil: none.
func (p *Planner) PlanCopy(t *catalog.Table, cols []int, where expr.Expr) (*Mutation, error) {
	b := p.newBinder(false)
	in := &plan.Values{}
	vals := make([]expr.Expr, len(cols))
	at := make([]sql.Node, len(cols))
	for i, k := range cols {
		c := t.Columns[k]
		u := c.Type.Underlying()
		in.Out = append(in.Out, plan.Column{Name: c.Name, Typ: u})
		vals[i], at[i] = &expr.Col{Index: i, Typ: u}, sql.At{Pos: sql.NoPos}
		if c.Type.HoldsDomain() {
			var err error
			if vals[i], err = b.constrained(vals[i], c.Type); err != nil {
				return nil, err
			}
		}
	}
	row, err := b.insertRow(t, "SYSTEM", wholeColumns(cols), vals, at)
	if err != nil {
		return nil, err
	}
	var n plan.Node = &plan.Project{Input: in, Exprs: row, Out: scanOf(t).Out}
	if where != nil {
		n = &plan.Filter{Input: n, Cond: where}
	}
	n, err = b.withGenerated(n, t, 0)
	if err != nil {
		return nil, err
	}
	return b.finishCopy(&Mutation{Kind: MutInsert, Table: t, Source: n})
}

// CopyCondition binds the WHERE of COPY FROM over the rows of a table, whose generated
// columns are not computed yet.
func (p *Planner) CopyCondition(t *catalog.Table, e sql.Expr) (expr.Expr, error) {
	b := p.newBinder(false)
	sc := &scope{items: []*rangeItem{tableItem(t, t.Name, 0)}}
	x, err := b.expr(&exprContext{sc: sc, clause: "COPY FROM WHERE conditions", noSub: "COPY FROM WHERE condition"}, e)
	if err != nil {
		return nil, err
	}
	if x, err = b.asBool(x, e, "WHERE"); err != nil {
		return nil, err
	}
	expr.Walk(x, func(x expr.Expr) bool {
		c, ok := x.(*expr.Col)
		if ok && err == nil && t.Columns[c.Index].Generated != "" {
			err = pgerr.New(pgerr.InvalidColumnReference, "generated columns are not supported in COPY FROM WHERE conditions").
				WithDetail("Column \"%s\" is a generated column.", t.Columns[c.Index].Name)
		}
		return err == nil
	})
	return x, err
}

// finishCopy adds constraints; no rule may touch the plan, since its Values node
// only stands for rows to come.
func (b *binder) finishCopy(m *Mutation) (*Mutation, error) {
	src := m.Source
	m.Source = &plan.Values{Out: src.Schema()}
	m, err := b.constrain(m)
	if err == nil {
		m, err = b.finishMutation(m)
	}
	if err != nil {
		return nil, err
	}
	m.Source = src
	return m, nil
}

// BindConst binds an expression without columns and coerces it to a type, as the
// arguments of EXECUTE are.
func (p *Planner) BindConst(e sql.Expr, to types.T) (expr.Expr, error) {
	b := p.newBinder(false)
	x, err := b.expr(&exprContext{sc: &scope{}, clause: "EXECUTE", noSub: "EXECUTE parameters"}, e)
	if err != nil {
		return nil, err
	}
	return b.coerce(x, to, expr.Assignment, e)
}
