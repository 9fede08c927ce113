package planner

import (
	"math"
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// orderJoins puts inner joins of several relations into an order of small
// intermediate results: again and again the two parts are joined whose join has
// the fewest rows (bushy trees, n³ at worst). The larger part becomes the left
// side, since one-off queries build on the right one. Conditions that may fail
// come after all joins. Semi and anti joins on top of the inner joins go down to
// the one relation they test where they leave little of it.
func (b *binder) orderJoins(n plan.Node) plan.Node {
	return (&joinOrder{est: b.newEstimator()}).node(n)
}

type joinOrder struct{ est *estimator }

// node orders the joins of a subtree.
func (o *joinOrder) node(n plan.Node) plan.Node {
	if joinTree(n) {
		return o.tree(n)
	}
	ch := n.Children()
	if len(ch) == 0 {
		return n
	}
	out := make([]plan.Node, len(ch))
	for i, c := range ch {
		out[i] = o.node(c)
	}
	return plan.WithChildren(n, out)
}

// joinTree reports whether n is an inner join with others to be ordered with.
func joinTree(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Join:
		if x.Kind == plan.Semi || x.Kind == plan.Anti {
			return len(x.LeftKeys) == 0 && joinTree(x.Left)
		}
		return x.Kind == plan.Inner && len(x.LeftKeys) == 0
	case *plan.Filter:
		return joinTree(x.Input)
	case *plan.Project:
		return onlyColumns(x) && joinTree(x.Input)
	}
	return false
}

func onlyColumns(p *plan.Project) bool {
	for _, e := range p.Exprs {
		if _, ok := e.(*expr.Col); !ok {
			return false
		}
	}
	return true
}

// joinPart is a set of relations joined already.
type joinPart struct {
	node plan.Node
	cols []int // the tree's columns, in the node's order
	rels []int
	rows float64
}

// joinCond is a condition over the tree's columns.
type joinCond struct {
	e    expr.Expr
	rels []int
	done bool
}

// joinTest is a semi or anti join; its condition has the tree's columns, and
// those of the right side behind them.
type joinTest struct {
	join *plan.Join
	cols []int // the tree's columns, as the join's left side has them
}

// joinGraph is a tree of inner joins taken apart.
type joinGraph struct {
	o     *joinOrder
	base  []plan.Node // relations
	first []int       // their first columns
	width int
	of    []int // relation of a column
	conds []*joinCond
	late  []expr.Expr // may fail, volatile, or of no relation
	tests []joinTest
	most  map[int]float64 // values that columns can have in common with keys, by column
}

func (o *joinOrder) tree(n plan.Node) plan.Node {
	g := &joinGraph{o: o}
	cols := g.add(n)
	g.placeTests()
	g.boundValues()
	parts := make([]*joinPart, len(g.base))
	for i, r := range g.base {
		p := &joinPart{node: r, rels: []int{i}, rows: o.est.of(r)}
		for c := range r.Schema() {
			p.cols = append(p.cols, g.first[i]+c)
		}
		parts[i] = p
	}
	g.single(parts)
	p := g.join(parts)
	out := withFilter(p.node, mapped(g.late, p.cols))
	for _, t := range g.tests {
		out = g.test(out, p.cols, t)
	}
	return pick(out, positions(cols, p.cols))
}

// add takes a tree apart and returns the tree's columns that n's columns are.
func (g *joinGraph) add(n plan.Node) []int {
	if joinTree(n) {
		switch x := n.(type) {
		case *plan.Filter:
			cols := g.add(x.Input)
			g.addConds(x.Cond, cols)
			return cols
		case *plan.Project:
			in := g.add(x.Input)
			cols := make([]int, len(x.Exprs))
			for i, e := range x.Exprs {
				cols[i] = in[e.(*expr.Col).Index]
			}
			return cols
		case *plan.Join:
			cols := g.add(x.Left)
			if x.Kind != plan.Inner {
				j := *x
				j.Right = g.o.node(x.Right)
				g.tests = append(g.tests, joinTest{&j, cols})
				return cols
			}
			cols = slices.Concat(cols, g.add(x.Right))
			g.addConds(x.Residual, cols)
			return cols
		}
	}
	n = g.o.node(n)
	g.base, g.first = append(g.base, n), append(g.first, g.width)
	var cols []int
	for range n.Schema() {
		cols = append(cols, g.width)
		g.of = append(g.of, len(g.base)-1)
		g.width++
	}
	return cols
}

func (g *joinGraph) addConds(e expr.Expr, cols []int) {
	for _, c := range plan.Conjuncts(e) {
		if isTrue(c) {
			continue
		}
		c = remap(c, func(i int) int { return cols[i] })
		rels := g.relsOf(c)
		if len(rels) == 0 || mayFail(c) || plan.IsVolatile(c) {
			g.late = append(g.late, c)
		} else {
			g.conds = append(g.conds, &joinCond{e: c, rels: rels})
		}
	}
}

// relsOf lists the relations that a condition reads.
func (g *joinGraph) relsOf(e expr.Expr) []int {
	used := map[int]bool{}
	usedCols(e, used)
	var out []int
	for c := range used {
		out = append(out, g.of[c])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// placeTests puts a semi or anti join on the one relation it tests, if that has
// many more rows than the other side.
func (g *joinGraph) placeTests() {
	var rest []joinTest
	for _, t := range g.tests {
		r := g.testedBy(t)
		if r < 0 || mayFail(t.join.Residual) || plan.IsVolatile(t.join.Residual) || g.o.est.of(t.join.Right) > g.o.est.of(g.base[r])/2 {
			rest = append(rest, t)
			continue
		}
		cols := make([]int, len(g.base[r].Schema()))
		for i := range cols {
			cols[i] = g.first[r] + i
		}
		g.base[r] = g.test(g.base[r], cols, t)
	}
	g.tests = rest
}

// testedBy is the one relation that a test reads, or -1.
func (g *joinGraph) testedBy(t joinTest) int {
	used := map[int]bool{}
	usedCols(t.join.Residual, used)
	r := -1
	for c := range used {
		if c >= len(t.cols) {
			continue
		}
		if x := g.of[t.cols[c]]; r >= 0 && x != r {
			return -1
		} else {
			r = x
		}
	}
	return r
}

// test puts a semi or anti join on n, which has the tree's columns cols.
func (g *joinGraph) test(n plan.Node, cols []int, t joinTest) plan.Node {
	j := *t.join
	j.Left = n
	j.Residual = remap(j.Residual, func(i int) int {
		if i >= len(t.cols) {
			return i - len(t.cols) + len(cols)
		}
		return slices.Index(cols, t.cols[i])
	})
	return &j
}

// single applies the conditions of one relation alone.
func (g *joinGraph) single(parts []*joinPart) {
	for _, c := range g.conds {
		if len(c.rels) == 1 {
			p := parts[c.rels[0]]
			p.node = withFilter(p.node, mapped([]expr.Expr{c.e}, p.cols))
			p.rows = g.o.est.of(p.node)
			c.done = true
		}
	}
}

// join joins the parts to one.
func (g *joinGraph) join(parts []*joinPart) *joinPart {
	part := slices.Clone(parts) // by relation
	for n := len(parts); n > 1; n-- {
		a, b := g.best(part)
		p := g.merge(a, b, part)
		for _, r := range p.rels {
			part[r] = p
		}
	}
	return part[0]
}

// best chooses the next two parts: of those with a condition between them the
// ones with the smallest join; without conditions the two smallest.
func (g *joinGraph) best(part []*joinPart) (a, b *joinPart) {
	type pair struct{ a, b *joinPart }
	between := map[pair][]*joinCond{}
	var order []pair
	for _, c := range g.conds {
		if c.done {
			continue
		}
		p := pair{part[c.rels[0]], nil}
		for _, r := range c.rels[1:] {
			switch x := part[r]; {
			case x == p.a || x == p.b:
			case p.b == nil:
				p.b = x
			default:
				p.a = nil
			}
		}
		if p.a == nil || p.b == nil {
			continue
		}
		if p.a.rels[0] > p.b.rels[0] {
			p.a, p.b = p.b, p.a
		}
		if between[p] == nil {
			order = append(order, p)
		}
		between[p] = append(between[p], c)
	}
	least := math.Inf(1)
	for _, p := range order {
		if rows := g.joined(p.a, p.b, between[p]); rows < least {
			least, a, b = rows, p.a, p.b
		}
	}
	if a != nil {
		return a, b
	}
	for _, p := range part {
		switch {
		case p == a || p == b:
		case a == nil || p.rows < a.rows:
			a, b = p, a
		case b == nil || p.rows < b.rows:
			b = p
		}
	}
	return a, b
}

// joined guesses the rows of the join of two parts by conditions.
func (g *joinGraph) joined(a, b *joinPart, conds []*joinCond) float64 {
	rows := a.rows * b.rows
	share := 1.0
	eqs := map[int][]int{} // columns equated with the other part, by relation
	for _, c := range conds {
		l, r, ok := plan.IsEquality(c.e)
		lc, lok := l.(*expr.Col)
		rc, rok := r.(*expr.Col)
		switch {
		case ok && lok && rok:
			for _, x := range []int{lc.Index, rc.Index} {
				eqs[g.of[x]] = append(eqs[g.of[x]], x-g.first[g.of[x]])
			}
			share /= math.Max(g.distinct(lc.Index), g.distinct(rc.Index))
		case ok:
			share /= math.Max(math.Sqrt(math.Max(a.rows, b.rows)), 10)
		default:
			share *= rangeShare
		}
	}
	// Equating a whole key finds one row of its relation.
	for r, cols := range eqs {
		for _, k := range g.base[r].Props().Keys {
			if len(k) > 1 && !slices.ContainsFunc(k, func(c int) bool { return !slices.Contains(cols, c) }) {
				share = math.Max(share, 1/g.baseRows(r))
			}
		}
	}
	return math.Max(rows*share, 1)
}

// baseRows are a relation's rows before filters.
func (g *joinGraph) baseRows(r int) float64 {
	n := g.base[r]
	for {
		f, ok := n.(*plan.Filter)
		if !ok {
			return g.o.est.of(n)
		}
		n = f.Input
	}
}

func (g *joinGraph) distinct(col int) float64 {
	r := g.of[col]
	c := col - g.first[r]
	n := g.o.est.distinct(&expr.Col{Index: c, Typ: g.base[r].Schema()[c].Typ}, g.base[r])
	if most, ok := g.most[col]; ok {
		return math.Min(n, most)
	}
	return n
}

// boundValues notes for columns that are equated with a unique one, in whatever
// steps, that they have no more values than that has.
func (g *joinGraph) boundValues() {
	same := make([]int, g.width) // a column of the same class, itself at the end
	for i := range same {
		same[i] = i
	}
	find := func(c int) int {
		for same[c] != c {
			c = same[c]
		}
		return c
	}
	for _, c := range g.conds {
		l, r, ok := plan.IsEquality(c.e)
		lc, lok := l.(*expr.Col)
		rc, rok := r.(*expr.Col)
		if ok && lok && rok {
			same[find(lc.Index)] = find(rc.Index)
		}
	}
	least := map[int]float64{} // by class
	for r, n := range g.base {
		for _, k := range n.Props().Keys {
			if len(k) == 1 {
				c, rows := find(g.first[r]+k[0]), g.baseRows(r)
				if old, ok := least[c]; !ok || rows < old {
					least[c] = rows
				}
			}
		}
	}
	g.most = map[int]float64{}
	for c := range same {
		if n, ok := least[find(c)]; ok {
			g.most[c] = n
		}
	}
}

// merge joins two parts by all conditions that they satisfy together.
func (g *joinGraph) merge(a, b *joinPart, part []*joinPart) *joinPart {
	var conds []*joinCond
	for _, c := range g.conds {
		if !c.done && !slices.ContainsFunc(c.rels, func(r int) bool { return part[r] != a && part[r] != b }) {
			conds = append(conds, c)
		}
	}
	rows := g.joined(a, b, conds)
	if a.rows < b.rows {
		a, b = b, a
	}
	p := &joinPart{cols: slices.Concat(a.cols, b.cols), rels: slices.Concat(a.rels, b.rels), rows: rows}
	slices.Sort(p.rels)
	var es []expr.Expr
	for _, c := range conds {
		c.done = true
		es = append(es, c.e)
	}
	p.node = &plan.Join{Kind: plan.Inner, Left: a.node, Right: b.node, Residual: and(mapped(es, p.cols))}
	g.o.est.rows[p.node] = rows
	return p
}

// mapped puts conditions over the tree's columns onto a node that has cols.
func mapped(es []expr.Expr, cols []int) []expr.Expr {
	if len(es) == 0 {
		return nil
	}
	at := make(map[int]int, len(cols))
	for i, c := range cols {
		at[c] = i
	}
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = remapBy(e, at)
	}
	return out
}

// positions finds cols in a node's columns have.
func positions(cols, have []int) []int {
	at := make(map[int]int, len(have))
	for i, c := range have {
		at[c] = i
	}
	return mapInts(cols, at)
}
