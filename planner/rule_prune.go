package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// pruneColumns removes columns nobody reads, down into the scans, so that a
// source does not even decode them. In a stream it also finds the joins one side
// of which nobody reads (newThreshold).
func pruneColumns(n plan.Node, stream bool) plan.Node {
	return pruner{stream}.pruneTo(n, all(len(n.Schema())))
}

// pruner removes columns from a plan.
type pruner struct {
	stream bool // of a dataflow, outside of recursions
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// pruneTo returns n with exactly the columns need, in that order.
func (p pruner) pruneTo(n plan.Node, need []int) plan.Node {
	m, at := p.prune(n, need)
	cols := make([]int, len(need))
	for i, c := range need {
		cols[i] = at[c]
	}
	return pick(m, cols)
}

// colSet collects columns without duplicates.
type colSet struct {
	list []int
	has  map[int]bool
}

func newColSet(cols ...int) *colSet {
	s := &colSet{has: map[int]bool{}}
	s.add(cols...)
	return s
}

func (s *colSet) add(cols ...int) {
	for _, c := range cols {
		if !s.has[c] {
			s.has[c] = true
			s.list = append(s.list, c)
		}
	}
}

func (s *colSet) addExpr(e expr.Expr) {
	used := map[int]bool{}
	usedCols(e, used)
	for c := range used {
		s.add(c)
	}
	slices.Sort(s.list)
}

func (s *colSet) sorted() []int {
	slices.Sort(s.list)
	return s.list
}

func sortCols(ks []expr.SortKey) []int {
	var out []int
	for _, k := range ks {
		out = append(out, k.Col)
	}
	return out
}

func mapSort(ks []expr.SortKey, at map[int]int) []expr.SortKey {
	out := slices.Clone(ks)
	for i := range out {
		out[i].Col = at[out[i].Col]
	}
	return out
}

func mapInts(cs []int, at map[int]int) []int {
	if cs == nil {
		return nil
	}
	out := make([]int, len(cs))
	for i, c := range cs {
		out[i] = at[c]
	}
	return out
}

func remapBy(e expr.Expr, at map[int]int) expr.Expr {
	return remap(e, func(i int) int { return at[i] })
}

// prune returns n with at least the columns need, and where they are.
func (p pruner) prune(n plan.Node, need []int) (plan.Node, map[int]int) {
	switch n := n.(type) {
	case *plan.Scan:
		return pruneScan(n, need)
	case *plan.Upsert:
		return p.pruneUpsert(n, need)
	case *plan.Values:
		return pruneValues(n, need)
	case *plan.Filter:
		s := newColSet(need...)
		s.addExpr(n.Cond)
		in, at := p.prune(n.Input, s.sorted())
		return &plan.Filter{Input: in, Cond: remapBy(n.Cond, at)}, at
	case *plan.Project:
		return p.pruneProject(n, need)
	case *plan.ProjectSet:
		return p.pruneProjectSet(n, need)
	case *plan.Join:
		return p.pruneJoin(n, need)
	case *plan.Aggregate:
		return p.pruneAggregate(n, need)
	case *plan.Union:
		s := newColSet(need...).sorted()
		out, at := &plan.Union{}, map[int]int{}
		for i, c := range s {
			at[c] = i
			out.Out = append(out.Out, n.Out[c])
		}
		for _, in := range n.Inputs {
			out.Inputs = append(out.Inputs, p.pruneTo(in, s))
		}
		return out, at
	case *plan.TopN:
		return p.pruneTopN(n, need)
	case *plan.Window:
		return p.pruneWindow(n, need)
	case *plan.Sort:
		s := newColSet(need...)
		s.add(sortCols(n.Order)...)
		in, at := p.prune(n.Input, s.sorted())
		return &plan.Sort{Input: in, Order: mapSort(n.Order, at)}, at
	case *plan.Limit:
		in, at := p.prune(n.Input, need)
		return &plan.Limit{Input: in, Limit: n.Limit, Offset: n.Offset}, at
	case *plan.Recursive:
		p.stream = false // its operators seal many times an epoch
	}
	// The rest keeps all columns of its inputs.
	ch := n.Children()
	out := make([]plan.Node, len(ch))
	for i, c := range ch {
		out[i] = p.pruneTo(c, all(len(c.Schema())))
	}
	at := map[int]int{}
	for i := range n.Schema() {
		at[i] = i
	}
	return plan.WithChildren(n, out), at
}

func pruneScan(n *plan.Scan, need []int) (plan.Node, map[int]int) {
	s := newColSet(need...).sorted()
	c, at := *n, map[int]int{}
	c.Cols, c.Out, c.P.Keys = []int{}, []plan.Column{}, nil
	for i, k := range s {
		at[k] = i
		c.Cols = append(c.Cols, n.Cols[k])
		c.Out = append(c.Out, n.Out[k])
	}
	for _, key := range n.P.Keys {
		if !slices.ContainsFunc(key, func(k int) bool { _, ok := at[k]; return !ok }) {
			c.P.Keys = append(c.P.Keys, mapInts(key, at))
		}
	}
	return &c, at
}

func pruneValues(n *plan.Values, need []int) (plan.Node, map[int]int) {
	keep := newColSet(need...)
	for k := range n.Out {
		if slices.ContainsFunc(n.Rows, func(row []expr.Expr) bool { return plan.IsVolatile(row[k]) }) {
			keep.add(k)
		}
	}
	s := keep.sorted()
	c, at := &plan.Values{Rows: make([][]expr.Expr, len(n.Rows))}, map[int]int{}
	for i, k := range s {
		at[k] = i
		c.Out = append(c.Out, n.Out[k])
		for r := range n.Rows {
			c.Rows[r] = append(c.Rows[r], n.Rows[r][k])
		}
	}
	for r := range c.Rows {
		if c.Rows[r] == nil {
			c.Rows[r] = []expr.Expr{}
		}
	}
	return c, at
}

// pruneProject keeps what is volatile, which may do something besides (nextval,
// pg_sleep).
func (p pruner) pruneProject(n *plan.Project, need []int) (plan.Node, map[int]int) {
	keep := newColSet(need...)
	for i, e := range n.Exprs {
		if plan.IsVolatile(e) {
			keep.add(i)
		}
	}
	s := keep.sorted()
	in := newColSet()
	for _, k := range s {
		in.addExpr(n.Exprs[k])
	}
	m, down := p.prune(n.Input, in.sorted())
	c, at := &plan.Project{Input: m}, map[int]int{}
	for i, k := range s {
		at[k] = i
		c.Exprs = append(c.Exprs, remapBy(n.Exprs[k], down))
		c.Out = append(c.Out, n.Out[k])
	}
	return c, at
}

// pruneProjectSet keeps every set-returning call, which decides how many rows
// there are.
func (p pruner) pruneProjectSet(n *plan.ProjectSet, need []int) (plan.Node, map[int]int) {
	keep := newColSet(need...)
	for i, e := range n.Exprs {
		if hasSet(e) || plan.IsVolatile(e) {
			keep.add(i)
		}
	}
	s := keep.sorted()
	in := newColSet()
	for _, k := range s {
		in.addExpr(n.Exprs[k])
	}
	m, down := p.prune(n.Input, in.sorted())
	c, at := &plan.ProjectSet{Input: m}, map[int]int{}
	for i, k := range s {
		at[k] = i
		c.Exprs = append(c.Exprs, remapBy(n.Exprs[k], down))
		c.Out = append(c.Out, n.Out[k])
	}
	return c, at
}

func (p pruner) pruneJoin(n *plan.Join, need []int) (plan.Node, map[int]int) {
	nl := len(n.Left.Schema())
	l, r := newColSet(n.LeftKeys...), newColSet(n.RightKeys...)
	if p.stream {
		if t, at := newThreshold(n, need); t != nil {
			return p.pruneThreshold(t, need, at)
		}
	}
	both := newColSet(need...)
	if n.Residual != nil {
		both.addExpr(n.Residual)
	}
	for _, c := range both.list {
		if c < nl {
			l.add(c)
		} else {
			r.add(c - nl)
		}
	}
	left, la := p.prune(n.Left, l.sorted())
	right, ra := p.prune(n.Right, r.sorted())
	wide := len(left.Schema())
	at := map[int]int{}
	for k, v := range la {
		at[k] = v
	}
	for k, v := range ra {
		at[nl+k] = wide + v
	}
	return &plan.Join{Kind: n.Kind, Left: left, Right: right, LeftKeys: mapInts(n.LeftKeys, la), RightKeys: mapInts(n.RightKeys, ra),
		NullSafe: n.NullSafe, Residual: remapBy(n.Residual, at)}, at
}

func (p pruner) pruneAggregate(n *plan.Aggregate, need []int) (plan.Node, map[int]int) {
	ng := len(n.Group)
	in := newColSet(n.Group...)
	want := newColSet(need...)
	var keep []int
	for i, a := range n.Aggs {
		if !want.has[ng+i] {
			continue
		}
		keep = append(keep, i)
		in.add(a.Args...)
		if a.Filter >= 0 {
			in.add(a.Filter)
		}
		in.add(sortCols(a.OrderBy)...)
	}
	m, down := p.prune(n.Input, in.sorted())
	c := &plan.Aggregate{Input: m, Group: mapInts(n.Group, down), Scalar: n.Scalar, Out: slices.Clone(n.Out[:ng])}
	at := map[int]int{}
	for i := range ng {
		at[i] = i
	}
	for _, i := range keep {
		a := n.Aggs[i]
		a.Args, a.OrderBy = mapInts(a.Args, down), mapSort(a.OrderBy, down)
		if a.Filter >= 0 {
			a.Filter = down[a.Filter]
		}
		at[ng+i] = len(c.Out)
		c.Aggs = append(c.Aggs, a)
		c.Out = append(c.Out, n.Out[ng+i])
	}
	return c, at
}

func (p pruner) pruneTopN(n *plan.TopN, need []int) (plan.Node, map[int]int) {
	w := len(n.Input.Schema())
	s := newColSet(n.Partition...)
	s.add(sortCols(n.Order)...)
	for _, c := range need {
		if c < w {
			s.add(c)
		}
	}
	in, at := p.prune(n.Input, s.sorted())
	c := *n
	c.Input, c.Partition, c.Order = in, mapInts(n.Partition, at), mapSort(n.Order, at)
	if n.RankCol {
		if !slices.Contains(need, w) {
			c.RankCol = false
		}
		at[w] = len(in.Schema())
	}
	return &c, at
}

func (p pruner) pruneWindow(n *plan.Window, need []int) (plan.Node, map[int]int) {
	w := len(n.Input.Schema())
	s := newColSet(n.Partition...)
	s.add(sortCols(n.Order)...)
	want := newColSet(need...)
	for _, c := range need {
		if c < w {
			s.add(c)
		}
	}
	var keep []int
	for i, f := range n.Funcs {
		if !want.has[w+i] {
			continue
		}
		keep = append(keep, i)
		s.add(f.Args...)
		s.add(f.Frame.Columns()...)
		if f.Agg != nil {
			s.add(f.Agg.Args...)
			if f.Agg.Filter >= 0 {
				s.add(f.Agg.Filter)
			}
		}
	}
	in, at := p.prune(n.Input, s.sorted())
	if len(keep) == 0 {
		return in, at
	}
	c := &plan.Window{Input: in, Partition: mapInts(n.Partition, at), Order: mapSort(n.Order, at), Out: slices.Clone(in.Schema())}
	up := map[int]int{}
	for k, v := range at {
		up[k] = v
	}
	for _, i := range keep {
		f := n.Funcs[i]
		f.Args = mapInts(f.Args, at)
		f.Frame = f.Frame.Moved(at)
		if f.Agg != nil {
			a := *f.Agg
			a.Args = mapInts(a.Args, at)
			if a.Filter >= 0 {
				a.Filter = at[a.Filter]
			}
			f.Agg = &a
		}
		up[w+i] = len(c.Out)
		c.Funcs = append(c.Funcs, f)
		c.Out = append(c.Out, n.Out[w+i])
	}
	return c, up
}

// mergeProjects makes one Project of two, and drops those that change nothing.
func mergeProjects(n plan.Node) plan.Node {
	root := n
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		p, ok := x.(*plan.Project)
		if !ok {
			return x
		}
		if in, ok := p.Input.(*plan.Project); ok && mergeable(p, in) {
			es := make([]expr.Expr, len(p.Exprs))
			for i, e := range p.Exprs {
				es[i] = substitute(e, in.Exprs)
			}
			p = &plan.Project{Input: in.Input, Exprs: es, Out: p.Out}
		}
		if x != root && isIdentity(p) {
			return p.Input
		}
		return p
	})
}

func isIdentity(p *plan.Project) bool {
	if len(p.Exprs) != len(p.Input.Schema()) {
		return false
	}
	for i, e := range p.Exprs {
		if c, ok := e.(*expr.Col); !ok || c.Index != i {
			return false
		}
	}
	return true
}

// mergeable: no computed column of the inner Project would be computed twice.
func mergeable(p, in *plan.Project) bool {
	uses := map[int]int{}
	for _, e := range p.Exprs {
		expr.Walk(e, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Col); ok {
				uses[c.Index]++
			}
			return true
		})
	}
	for i, e := range in.Exprs {
		switch e.(type) {
		case *expr.Col, *expr.Const, *expr.Param:
			continue
		}
		if uses[i] > 1 || plan.IsVolatile(e) || uses[i] == 0 && mayFail(e) {
			return false
		}
	}
	return true
}
