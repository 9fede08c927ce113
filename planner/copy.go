package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// PlanCopy plans COPY FROM into the columns cols of a table: an INSERT whose
// Source is a Project over the copied columns, in the order of cols, that stands
// on an empty Values node in their place.
func (p *Planner) PlanCopy(t *catalog.Table, cols []int) (*Mutation, error) {
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
	n, err := b.withGenerated(&plan.Project{Input: in, Exprs: row, Out: scanOf(t).Out}, t, 0)
	if err != nil {
		return nil, err
	}
	return b.finishCopy(&Mutation{Kind: MutInsert, Table: t, Source: n})
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
