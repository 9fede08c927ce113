package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// unnester rewrites a plan that refers to columns of a row around it into one
// that computes its rows for all values of these columns at once.
//
// With loop set it does the same for the step of a recursion: the domain is then
// the iterations, and the rows that bring it along are those of the work table.
type unnester struct {
	b    *binder
	cols []int     // the outer columns, sorted
	left plan.Node // the node whose columns they are
	loop int       // of a plan.Recursive; 0: none
	// careful: nothing is computed for values outside of the domain.
	careful bool
	// works are the recursions whose rows have the domain's columns.
	works []int
}

// domain is D: the distinct values of the outer columns.
func (u *unnester) domain() plan.Node {
	if u.loop != 0 {
		return iterations(u.left)
	}
	return distinct(pick(u.left, u.cols))
}

// needs reports whether a plan's rows depend on the domain.
func (u *unnester) needs(n plan.Node) bool {
	own := u.loop != 0 && readsLoop(n, u.loop) || u.loop == 0 && refersToLevel(n, 1)
	return own || slices.ContainsFunc(u.works, func(id int) bool { return readsLoop(n, id) })
}

// needsIn is needs for an expression.
func (u *unnester) needsIn(e expr.Expr) bool { return u.loop == 0 && refersLevel1(e) }

// lower is a plan that does not depend on the domain, taken out of the row around.
func (u *unnester) lower(n plan.Node) plan.Node {
	if u.loop != 0 {
		return n
	}
	return lowerOuter(n)
}

// at is the place of outer column c among the domain's columns.
func (u *unnester) at(c int) int { return slices.Index(u.cols, c) }

// expr makes the outer references of e columns behind base.
func (u *unnester) expr(e expr.Expr, base int) expr.Expr {
	if u.loop != 0 {
		return e
	}
	return outerToCols(e, func(c int) int { return base + u.at(c) })
}

// unnest returns n with the domain's columns added at its right.
func (u *unnester) unnest(n plan.Node) (plan.Node, bool) {
	if !u.needs(n) {
		return &plan.Join{Kind: plan.Inner, Left: u.lower(n), Right: u.domain()}, true
	}
	width := len(n.Schema())
	switch n := n.(type) {
	case *plan.WorkTable:
		return u.workTable(n), true
	case *plan.Recursive:
		return u.recursive(n)
	case *plan.Apply:
		return u.apply(n)
	case *plan.Filter:
		if r, ok := u.substituted(n); ok {
			return r, true
		}
		in, ok := u.unnest(n.Input)
		if !ok {
			return nil, false
		}
		return &plan.Filter{Input: in, Cond: u.expr(n.Cond, width)}, true
	case *plan.Project:
		in, ok := u.unnest(n.Input)
		if !ok {
			return nil, false
		}
		base := len(n.Input.Schema())
		p := &plan.Project{Input: in, Out: slices.Clone(n.Out)}
		for _, e := range n.Exprs {
			p.Exprs = append(p.Exprs, u.expr(e, base))
		}
		p.Exprs, p.Out = u.addDomain(p.Exprs, p.Out, in, base)
		return p, true
	case *plan.ProjectSet:
		in, ok := u.unnest(n.Input)
		if !ok {
			return nil, false
		}
		base := len(n.Input.Schema())
		p := &plan.ProjectSet{Input: in, Out: slices.Clone(n.Out)}
		for _, e := range n.Exprs {
			p.Exprs = append(p.Exprs, u.expr(e, base))
		}
		p.Exprs, p.Out = u.addDomain(p.Exprs, p.Out, in, base)
		return p, true
	case *plan.Values:
		return u.values(n)
	case *plan.TableFunc:
		return u.tableFunc(n)
	case *plan.Join:
		return u.join(n)
	case *plan.Aggregate:
		return u.aggregate(n)
	case *plan.Union:
		out := &plan.Union{Out: slices.Clone(n.Out)}
		for _, x := range n.Inputs {
			in, ok := u.unnest(x)
			if !ok {
				return nil, false
			}
			out.Inputs = append(out.Inputs, in)
		}
		out.Out = append(out.Out, out.Inputs[0].Schema()[width:]...)
		return out, true
	case *plan.SetOp:
		l, ok1 := u.unnest(n.Left)
		r, ok2 := u.unnest(n.Right)
		return &plan.SetOp{Kind: n.Kind, All: n.All, Left: l, Right: r}, ok1 && ok2
	case *plan.TopN:
		return u.topN(n)
	case *plan.Window:
		return u.window(n)
	case *plan.SingleRow:
		return u.singleRow(n)
	}
	return nil, false
}

func (u *unnester) addDomain(es []expr.Expr, out []plan.Column, in plan.Node, base int) ([]expr.Expr, []plan.Column) {
	for i := range u.cols {
		c := in.Schema()[base+i]
		es = append(es, &expr.Col{Index: base + i, Typ: c.Typ})
		out = append(out, c)
	}
	return es, out
}

// substituted handles a filter over an uncorrelated input whose conjuncts equate
// every outer column with an expression over the input: that expression takes
// the place of the domain's column. Rows for values outside of the domain are
// computed too and find no partner later.
func (u *unnester) substituted(f *plan.Filter) (plan.Node, bool) {
	if u.loop != 0 || u.careful || u.needs(f.Input) {
		return nil, false
	}
	sub := make([]expr.Expr, len(u.cols))
	var rest []expr.Expr
	for _, c := range plan.Conjuncts(f.Cond) {
		l, r, ok := plan.IsEquality(c)
		if ok {
			if _, isOuter := r.(*expr.Outer); isOuter {
				l, r = r, l
			}
			o, isOuter := l.(*expr.Outer)
			if isOuter && o.Level == 1 && !hasOuter(r) && sub[u.at(o.Index)] == nil && r.Type() == o.Typ {
				sub[u.at(o.Index)] = r
				continue
			}
		}
		if refersLevel1(c) {
			return nil, false
		}
		rest = append(rest, outerToCols(c, func(i int) int { return i }))
	}
	in := lowerOuter(f.Input)
	p := &plan.Project{Exprs: identity(in), Out: slices.Clone(in.Schema())}
	for i, e := range sub {
		if e == nil {
			return nil, false
		}
		rest = append(rest, &expr.IsNull{Arg: e, Negate: true})
		p.Exprs = append(p.Exprs, e)
		p.Out = append(p.Out, plan.Column{Name: u.left.Schema()[u.cols[i]].Name, Typ: e.Type()})
	}
	p.Input = &plan.Filter{Input: in, Cond: and(rest)}
	return p, true
}

func refersLevel1(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if o, ok := x.(*expr.Outer); ok && o.Level == 1 {
			found = true
		}
		return !found
	})
	return found
}

// values computes a row of expressions for every value of the domain.
func (u *unnester) values(n *plan.Values) (plan.Node, bool) {
	out := slices.Clone(n.Out)
	d := u.domain()
	out = append(out, d.Schema()...)
	var arms []plan.Node
	for _, r := range n.Rows {
		p := &plan.Project{Input: d, Out: out}
		for _, e := range r {
			p.Exprs = append(p.Exprs, u.expr(e, 0))
		}
		p.Exprs = append(p.Exprs, identity(d)...)
		arms = append(arms, p)
	}
	if len(arms) == 1 {
		return arms[0], true
	}
	return &plan.Union{Inputs: arms, Out: out}, true
}

// tableFunc calls a function for every value of the domain. One of several
// columns gives a record, which is then taken apart.
func (u *unnester) tableFunc(n *plan.TableFunc) (plan.Node, bool) {
	d := u.domain()
	args := make([]expr.Expr, len(n.Args))
	for i, a := range n.Args {
		args[i] = u.expr(a, 0)
	}
	call := &expr.Call{Fn: n.Fn, Args: args, Typ: n.Fn.Result(typesOf(args))}
	if n.Ordinality {
		call = expr.RowsFrom([]expr.Expr{call}, []string{n.Out[0].Name}, true)
	}
	if len(n.Out) == 1 {
		p := &plan.ProjectSet{Input: d, Exprs: append([]expr.Expr{call}, identity(d)...), Out: slices.Clone(n.Out)}
		p.Out = append(p.Out, d.Schema()...)
		return p, true
	}
	call.Typ = types.TRecord
	set := &plan.ProjectSet{Input: d, Exprs: append([]expr.Expr{call}, identity(d)...)}
	set.Out = append([]plan.Column{{Name: n.Fn.Name, Typ: types.TRecord}}, d.Schema()...)
	p := &plan.Project{Input: set, Out: slices.Clone(n.Out)}
	for i, c := range n.Out {
		p.Exprs = append(p.Exprs, &expr.Field{Arg: &expr.Col{Index: 0, Typ: types.TRecord}, Index: i, Typ: c.Typ})
	}
	p.Exprs, p.Out = u.addDomain(p.Exprs, p.Out, set, 1)
	return p, true
}

func (u *unnester) aggregate(n *plan.Aggregate) (plan.Node, bool) {
	in, ok := u.unnest(n.Input)
	if !ok {
		return nil, false
	}
	base, nd, ng := len(n.Input.Schema()), len(u.cols), len(n.Group)
	g := &plan.Aggregate{Input: in, Group: slices.Clone(n.Group), Aggs: n.Aggs, Out: slices.Clone(n.Out[:ng])}
	for i := range u.cols {
		g.Group = append(g.Group, base+i)
		g.Out = append(g.Out, in.Schema()[base+i])
	}
	g.Out = append(g.Out, n.Out[ng:]...)
	if !n.Scalar {
		var cols []int
		for i := range ng {
			cols = append(cols, i)
		}
		for i := range n.Aggs {
			cols = append(cols, ng+nd+i)
		}
		for i := range nd {
			cols = append(cols, ng+i)
		}
		return pick(g, cols), true
	}
	// Without GROUP BY there is a row for every value of the domain, also for
	// those without input rows.
	d := u.domain()
	join := &plan.Join{Kind: plan.Left, Left: d, Right: g}
	for i := range nd {
		join.LeftKeys = append(join.LeftKeys, i)
		join.RightKeys = append(join.RightKeys, i)
		join.NullSafe = append(join.NullSafe, true)
	}
	p := &plan.Project{Input: join, Exprs: emptyAware(n, nd+nd), Out: slices.Clone(n.Out)}
	p.Exprs, p.Out = u.addDomain(p.Exprs, p.Out, join, 0)
	return p, true
}

func (u *unnester) topN(n *plan.TopN) (plan.Node, bool) {
	in, ok := u.unnest(n.Input)
	if !ok {
		return nil, false
	}
	base, nd := len(n.Input.Schema()), len(u.cols)
	c := *n
	c.Input, c.Partition = in, slices.Clone(n.Partition)
	for i := range u.cols {
		c.Partition = append(c.Partition, base+i)
	}
	if !n.RankCol {
		return &c, true
	}
	return pick(&c, domainLast(base, base+nd, 1, base, nd)), true
}

func (u *unnester) window(n *plan.Window) (plan.Node, bool) {
	in, ok := u.unnest(n.Input)
	if !ok {
		return nil, false
	}
	base, nd := len(n.Input.Schema()), len(u.cols)
	c := *n
	c.Input, c.Partition = in, slices.Clone(n.Partition)
	for i := range u.cols {
		c.Partition = append(c.Partition, base+i)
	}
	c.Out = append(slices.Clone(in.Schema()), n.Out[base:]...)
	return pick(&c, domainLast(base, base+nd, len(n.Funcs), base, nd)), true
}
