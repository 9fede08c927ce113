package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// recursive binds a query of WITH RECURSIVE that reads itself; checkRecursion has
// seen it. The types of the columns are those of the non-recursive term. extra are the
// columns that SEARCH and CYCLE have made.
func (b *binder) recursive(c *sql.CTE, outer *scope, env *cteEnv, extra []string) (plan.Node, []plan.Column, error) {
	q := c.Query.(*sql.Select)
	if err := b.enter(q); err != nil {
		return nil, nil, err
	}
	defer b.leave()
	env, err := b.withClause(q.With, under(outer, env), false)
	if err != nil {
		return nil, nil, err
	}
	base, err := b.setArm(q.Left, outer, env)
	if err != nil {
		return nil, nil, err
	}
	if c.Search != nil || c.Cycle != nil {
		named, err := b.cteColumns(c, base.cols)
		if err != nil {
			return nil, nil, err
		}
		c, extra, err := b.withPaths(c, named)
		if err != nil {
			return nil, nil, err
		}
		n, cols, err := b.recursive(c, outer, env, extra)
		if err != nil {
			return nil, nil, err
		}
		cols, err = b.cteColumns(c, cols)
		return n, cols, err
	}
	cols := slices.Clone(base.cols)
	for i := range cols {
		cols[i].Typ = b.settleUnknown(cols[i].Typ)
	}
	named, err := b.cteColumns(c, cols)
	if err != nil {
		return nil, nil, err
	}
	b.recursions++
	work := &plan.WorkTable{ID: b.recursions, Name: c.Name, Out: named}
	self := &cteEnv{next: env, cte: &cte{name: c.Name, node: work, cols: named, depth: outer.depth(), size: 1, rec: true, extra: len(extra)}}
	step, err := b.setArm(q.Right, outer, self)
	if err != nil {
		return nil, nil, err
	}
	exprs, out, err := b.unifyArms(q, []*bound{base, step}, "UNION")
	if err != nil {
		return nil, nil, err
	}
	for i, want := range cols {
		if out[i].Typ != want.Typ {
			at := sql.Node(q)
			if i < len(base.at) {
				at = leftmost(base.at[i])
			}
			return nil, nil, b.placed(pgerr.New(pgerr.DatatypeMismatch, "recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall",
				c.Name, i+1, want.Typ, out[i].Typ).WithHint("Cast the output of the non-recursive term to the correct type."), at)
		}
	}
	if !q.All {
		if err := b.checkEquality(out, base.at); err != nil {
			return nil, nil, err
		}
	}
	return &plan.Recursive{
		Base: &plan.Project{Input: base.node, Exprs: exprs[0], Out: out},
		Step: &plan.Project{Input: step.node, Exprs: exprs[1], Out: out},
		ID:   work.ID, All: q.All, Out: out,
	}, out, nil
}

// noAggregates: grouping the rows of one iteration would not be what the query
// seems to say.
func (s *selection) noAggregates() error {
	if len(s.aggs) == 0 || !slices.ContainsFunc(s.sc.items, func(it *rangeItem) bool { return it.selfRef }) {
		return nil
	}
	return s.b.errAt(s.aggs[0].at, pgerr.InvalidRecursion, "aggregate functions are not allowed in a recursive query's recursive term")
}

// iterate gives the rows within the step of each recursion the number of their
// iteration as a last column. What the step computes for one iteration is then
// computed for all of them at once, each apart, as a subquery is for all values of
// the columns it refers to; see unnester.
//
// A recursion within the step comes after the one around it, whose iterations its own
// rows then carry: it runs for all of them side by side.
func (b *binder) iterate(n plan.Node) (plan.Node, error) {
	if r, ok := n.(*plan.Recursive); ok {
		u := &unnester{b: b, loop: r.ID, cols: []int{len(r.Out)}, left: loopRows(r.Step, r.ID)}
		step, ok := u.unnest(r.Step)
		if !ok {
			return nil, b.unsupported(nowhere, "this recursive query", "The recursive term has a subquery over its rows that cannot become a join.")
		}
		n = &plan.Recursive{Base: r.Base, Step: step, ID: r.ID, All: r.All, Out: r.Out}
	}
	inputs := n.Children()
	out := make([]plan.Node, len(inputs))
	for i, in := range inputs {
		var err error
		if out[i], err = b.iterate(in); err != nil {
			return nil, err
		}
	}
	return plan.WithChildren(n, out), nil
}

// iteration is the column of the iteration's number.
var iteration = plan.Column{Name: "iteration", Typ: types.TInt8}

// loopRows is the work table a step reads, with the iterations' numbers.
func loopRows(step plan.Node, id int) plan.Node {
	var out plan.Node
	plan.Walk(step, func(x plan.Node) bool {
		if w, ok := x.(*plan.WorkTable); ok && w.ID == id {
			out = workTable(w)
		}
		return out == nil
	})
	return out
}

// readsLoop reports whether a plan reads the rows of the iteration before.
func readsLoop(n plan.Node, id int) bool {
	found := false
	plan.Walk(n, func(x plan.Node) bool {
		w, ok := x.(*plan.WorkTable)
		found = found || ok && w.ID == id
		return !found
	})
	return found
}

// workTable is the rows of an iteration with the domain's columns.
func (u *unnester) workTable(n *plan.WorkTable) plan.Node {
	if n.ID == u.loop {
		return workTable(n)
	}
	return &plan.WorkTable{ID: n.ID, Name: n.Name, Out: append(slices.Clone(n.Out), pickColumns(u.left, u.cols)...)}
}

func pickColumns(n plan.Node, cols []int) []plan.Column {
	out := make([]plan.Column, len(cols))
	for i, c := range cols {
		out[i] = n.Schema()[c]
	}
	return out
}

// recursive runs a recursion for all values of the domain side by side: the
// domain's columns come with the base and stay with its rows.
func (u *unnester) recursive(n *plan.Recursive) (plan.Node, bool) {
	base, ok := u.unnest(n.Base)
	if !ok {
		return nil, false
	}
	u.works = append(u.works, n.ID)
	step, ok := u.unnest(n.Step)
	out := append(slices.Clone(n.Out), pickColumns(u.left, u.cols)...)
	return &plan.Recursive{Base: base, Step: step, ID: n.ID, All: n.All, Out: out}, ok
}

// workTable is the rows of an iteration with its number.
func workTable(n *plan.WorkTable) plan.Node {
	return &plan.WorkTable{ID: n.ID, Name: n.Name, Out: append(slices.Clone(n.Out), iteration)}
}

// iterations is the numbers of the iterations that have rows, as the domain of an
// unnester: source is a WorkTable with them.
func iterations(source plan.Node) plan.Node {
	return distinct(pick(source, []int{len(source.Schema()) - 1}))
}

// apply passes the domain through a subquery that stays one; its left side alone
// may read the domain's rows.
func (u *unnester) apply(n *plan.Apply) (plan.Node, bool) {
	if u.loop == 0 || u.needs(n.Right) {
		return nil, false
	}
	left, ok := u.unnest(n.Left)
	if !ok {
		return nil, false
	}
	nl, nd := len(n.Left.Schema()), len(u.cols)
	c := *n
	c.Left = left
	if n.On != nil {
		c.On = remap(n.On, func(i int) int {
			if i >= nl {
				return i + nd
			}
			return i
		})
	}
	if n.Kind == plan.Semi || n.Kind == plan.Anti || n.Kind == plan.NullAnti {
		return &c, true
	}
	return pick(&c, domainLast(nl, nl+nd, len(n.Right.Schema()), nl, nd)), true
}

// cutRecursion lets a LIMIT without an order, directly over a recursion of a
// one-off query, end it: any of its rows will do, and it may not end by itself.
func cutRecursion(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		t, ok := x.(*plan.TopN)
		if !ok || len(t.Order) > 0 || len(t.Partition) > 0 || t.RankCol || t.WithTies || t.Limit < 0 || !overRecursion(t.Input) {
			return x
		}
		return &plan.Limit{Input: t.Input, Limit: &expr.Const{Val: t.Limit, Typ: types.TInt8}, Offset: &expr.Const{Val: t.Offset, Typ: types.TInt8}}
	})
}

func overRecursion(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Recursive:
		return true
	case *plan.Project:
		return overRecursion(n.Input)
	case *plan.Filter:
		return overRecursion(n.Input)
	}
	return false
}
