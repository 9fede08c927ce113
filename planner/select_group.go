package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// groupSet is one grouping set: positions in selection.keys.
type groupSet []int

// groupingRef stands for a GROUPING() call until the grouping sets are known.
type groupingRef struct {
	args []expr.Expr
	at   sql.Node
	// places are those of the arguments.
	places []sql.Expr
	// index is the place among the marks of the query.
	index int
}

// Type: GROUPING() is an integer.
func (g *groupingRef) Type() types.T { return types.TInt4 }

// groupingCall binds a GROUPING(). As an aggregate it belongs to the query whose
// columns it reads.
func (b *binder) groupingCall(ec *exprContext, e *sql.Grouping) (expr.Expr, error) {
	inner := *ec
	inner.aggs, inner.wins, inner.grouping, inner.inGrouping, inner.allowSet = nil, nil, nil, true, false
	args, err := b.exprs(&inner, e.Args)
	if err != nil {
		return nil, err
	}
	g := &groupingRef{args: args, at: e, places: e.Args}
	level := -1
	for _, x := range args {
		nearest(x, &level)
	}
	if level > 0 {
		return b.outerGrouping(ec, g, level)
	}
	if err := b.groupingAllowed(ec, e); err != nil {
		return nil, err
	}
	g.addTo(ec.grouping)
	return g, nil
}

// groupingAllowed: GROUPING() cannot stand everywhere.
func (b *binder) groupingAllowed(ec *exprContext, at sql.Node) error {
	switch {
	case ec.inAgg:
		return b.errAt(at, pgerr.GroupingError, "aggregate function calls cannot be nested")
	case ec.grouping == nil:
		return b.errAt(at, pgerr.GroupingError, "grouping operations are not allowed in %s", ec.clause)
	}
	return nil
}

// addTo gives g a place among the marks of a query.
func (g *groupingRef) addTo(marks *[]*groupingRef) int {
	g.index = len(*marks)
	*marks = append(*marks, g)
	return g.index
}

func (b *binder) groupingArgs(g *groupingRef, i int) error {
	return b.errAt(leftmost(g.places[i]), pgerr.GroupingError, "arguments to GROUPING must be grouping expressions of the associated query level")
}

// group builds the aggregation and rewrites all outputs to its columns.
func (s *selection) group() error {
	if len(s.aggs) == 0 && s.q.GroupBy == nil && s.having == nil && len(s.marks) == 0 {
		return nil
	}
	if s.q.GroupBy == nil {
		s.groups = []groupSet{{}}
	}
	s.addDependentKeys()
	pre := newPreProject(s.node)
	var err error
	at := s.keyPlaces()
	var planned []expr.Expr
	if pre.node, planned, err = s.b.planSubqueries(pre.node, s.keys); err != nil {
		return err
	}
	if slices.ContainsFunc(planned, hasSet) {
		if pre.node, planned, err = s.b.expandSets(pre.node, planned); err != nil {
			return err
		}
	}
	keyCols := make([]int, len(s.keys))
	for i, k := range planned {
		keyCols[i] = pre.add(k)
	}
	calls, err := s.calls(pre, at)
	if err != nil {
		return err
	}
	in := pre.build()
	s.node = s.aggregate(in, keyCols, calls)
	if err := s.toGroups(at); err != nil {
		return err
	}
	if s.having != nil {
		s.node, err = s.b.filter(s.node, s.having)
	}
	return err
}

// calls makes the calls of the aggregates for each grouping set. They differ in direct
// arguments only, which are of the group: keys that are not in the set are NULL there.
func (s *selection) calls(pre *preProject, at map[string]int) ([][]expr.AggCall, error) {
	base := make([]expr.AggCall, len(s.aggs))
	for i, a := range s.aggs {
		call, err := s.b.aggColumns(pre, a)
		if err != nil {
			return nil, err
		}
		if len(s.sc.items) == 1 && len(call.OrderBy) == 0 && !call.Distinct && keepsOrder(call.Fn.Name) {
			for _, k := range s.sc.items[0].order {
				col := pre.add(&expr.Col{Index: k.Col, Typ: s.node.Schema()[k.Col].Typ})
				call.OrderBy = append(call.OrderBy, expr.SortKey{Col: col, Desc: k.Desc, NullsFirst: k.NullsFirst})
			}
		}
		base[i] = call
	}
	calls := make([][]expr.AggCall, len(s.groups))
	for g, set := range s.groups {
		calls[g] = slices.Clone(base)
		if len(set) == len(s.keys) {
			continue
		}
		for i, a := range s.aggs {
			if err := s.callInSet(pre, at, set, a, &calls[g][i]); err != nil {
				return nil, err
			}
		}
	}
	return calls, nil
}

// callInSet makes the call of an aggregate the one of a grouping set.
func (s *selection) callInSet(pre *preProject, at map[string]int, set groupSet, a *aggItem, call *expr.AggCall) error {
	args := slices.Clone(a.direct())
	var changed []int
	for k, x := range args {
		if e, other := s.inSet(x, at, set); other {
			args[k] = e
			changed = append(changed, k)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	var err error
	if a.rank != nil {
		if a, err = s.b.withDirect(a, args); err == nil {
			*call, err = s.b.aggColumns(pre, a)
		}
		return err
	}
	call.Args = slices.Clone(call.Args)
	for _, k := range changed {
		var e []expr.Expr
		if pre.node, e, err = s.b.planSubqueries(pre.node, args[k:k+1]); err != nil {
			return err
		}
		call.Args[k] = pre.add(e[0])
	}
	return nil
}

// inSet returns a direct argument as a grouping set has it, and whether that is another
// one: keys that are not in the set are NULL, also where a subquery refers to them.
func (s *selection) inSet(e expr.Expr, at map[string]int, set groupSet) (out expr.Expr, changed bool) {
	null := func(x, key expr.Expr) (expr.Expr, bool) {
		if k, ok := at[exprKey(key)]; !ok || slices.Contains(set, k) {
			return nil, false
		}
		changed = true
		return &expr.Const{Typ: x.Type()}, true
	}
	var inSet func(expr.Expr) expr.Expr
	inSet = func(e expr.Expr) expr.Expr {
		return replace(e, func(x expr.Expr) (expr.Expr, bool) {
			if gone, ok := null(x, x); ok {
				return gone, true
			}
			r, ok := x.(*subRef)
			if !ok {
				return nil, false
			}
			c := *r
			c.node = mapOuter(r.node, 0, func(o *expr.Outer, d int) expr.Expr {
				if o.Level-d != 1 || o.Index < 0 {
					return o
				}
				if gone, ok := null(o, &expr.Col{Index: o.Index}); ok {
					return gone
				}
				return o
			})
			if c.cmp != nil {
				c.cmp = inSet(r.cmp)
			}
			return &c, true
		})
	}
	return inSet(e), changed
}

// keyPlaces are the keys that expressions mean. Of several equal ones that is the
// first in the order of the targets.
func (s *selection) keyPlaces() map[string]int {
	at := map[string]int{}
	for i, k := range s.keys {
		key := exprKey(k)
		if old, ok := at[key]; !ok || s.keyTargets[i] >= 0 && s.keyTargets[i] < s.keyTargets[old] {
			at[key] = i
		}
	}
	return at
}

// addDependentKeys adds the columns of a table to the keys of all grouping sets when
// its primary key is in each of them: they depend on it.
func (s *selection) addDependentKeys() {
	have, always := map[int]bool{}, map[int]bool{}
	for i, k := range s.keys {
		if c, ok := k.(*expr.Col); ok {
			have[c.Index] = true
			if !slices.ContainsFunc(s.groups, func(set groupSet) bool { return !slices.Contains(set, i) }) {
				always[c.Index] = true
			}
		}
	}
	used := map[int]bool{}
	note := func(e expr.Expr) (expr.Expr, error) { s.colsUsed(e, used); return e, nil }
	_ = s.each(note)
	if s.having != nil {
		s.colsUsed(s.having, used)
	}
	for _, w := range s.wins {
		w.each(func(e expr.Expr) expr.Expr { s.colsUsed(e, used); return e })
	}
	for _, it := range s.sc.items {
		if it.rel == nil || len(it.key) == 0 || it.name == "" ||
			slices.ContainsFunc(it.key, func(k int) bool { return !always[it.cols[k].index] }) {
			continue
		}
		for i := range it.cols {
			c := &it.cols[i]
			if c.e != nil || !used[c.index] || have[c.index] {
				continue
			}
			have[c.index] = true
			for g := range s.groups {
				s.groups[g] = append(slices.Clip(s.groups[g]), len(s.keys))
			}
			s.keys = append(s.keys, &expr.Col{Index: c.index, Typ: c.typ})
			s.keyTargets = append(s.keyTargets, -1)
		}
	}
}

// colsUsed marks the columns of the row that e reads, by subqueries too.
func (s *selection) colsUsed(e expr.Expr, used map[int]bool) {
	usedCols(e, used)
	expr.Walk(e, func(x expr.Expr) bool {
		if r, ok := x.(*subRef); ok {
			mapOuter(r.node, 0, func(o *expr.Outer, d int) expr.Expr {
				if o.Level-d == 1 {
					used[o.Index] = true
				}
				return o
			})
			if r.cmp != nil {
				s.colsUsed(r.cmp, used)
			}
		}
		return true
	})
}

// aggregate makes the Aggregate, or for several grouping sets a union of them.
// The output is all keys, then the aggregates, then one column a GROUPING().
func (s *selection) aggregate(in plan.Node, keyCols []int, calls [][]expr.AggCall) plan.Node {
	sc := in.Schema()
	if len(s.groups) == 1 && len(s.marks) == 0 {
		a := &plan.Aggregate{Input: in, Aggs: calls[0], Scalar: len(s.groups[0]) == 0}
		for _, k := range keyCols {
			a.Group = append(a.Group, k)
			a.Out = append(a.Out, sc[k])
		}
		for i, c := range calls[0] {
			a.Out = append(a.Out, plan.Column{Name: s.aggs[i].fn.Name, Typ: c.Typ})
		}
		return a
	}
	var arms []plan.Node
	for g, set := range s.groups {
		a := &plan.Aggregate{Input: in, Aggs: calls[g], Scalar: len(set) == 0}
		for _, k := range set {
			if !slices.Contains(a.Group, keyCols[k]) {
				a.Group = append(a.Group, keyCols[k])
				a.Out = append(a.Out, sc[keyCols[k]])
			}
		}
		for i, c := range calls[g] {
			a.Out = append(a.Out, plan.Column{Name: s.aggs[i].fn.Name, Typ: c.Typ})
		}
		arms = append(arms, s.maskedSet(a, set, keyCols, sc))
	}
	if len(arms) == 1 {
		return arms[0]
	}
	return &plan.Union{Inputs: arms, Out: arms[0].Schema()}
}

// maskedSet lays one grouping set out over all keys, NULL where not grouped.
func (s *selection) maskedSet(a *plan.Aggregate, set groupSet, keyCols []int, sc []plan.Column) plan.Node {
	p := &plan.Project{Input: a}
	for k, col := range keyCols {
		if slices.Contains(set, k) {
			p.Exprs = append(p.Exprs, &expr.Col{Index: slices.Index(a.Group, col), Typ: sc[col].Typ})
		} else {
			p.Exprs = append(p.Exprs, &expr.Const{Typ: sc[col].Typ})
		}
		p.Out = append(p.Out, sc[col])
	}
	for i, c := range a.Aggs {
		p.Exprs = append(p.Exprs, &expr.Col{Index: len(a.Group) + i, Typ: c.Typ})
		p.Out = append(p.Out, a.Out[len(a.Group)+i])
	}
	for _, m := range s.marks {
		v := int32(0)
		for _, arg := range m.args {
			v <<= 1
			if k := s.markedKey(arg); !slices.Contains(set, k) {
				v |= 1
			}
		}
		p.Exprs = append(p.Exprs, &expr.Const{Val: v, Typ: types.TInt4})
		p.Out = append(p.Out, plan.Column{Name: "grouping", Typ: types.TInt4})
	}
	return p
}

// markedKey is the key that an argument of GROUPING() means: the first of equal ones
// in the order of GROUP BY.
func (s *selection) markedKey(arg expr.Expr) int {
	key := exprKey(arg)
	return slices.IndexFunc(s.keys, func(k expr.Expr) bool { return exprKey(k) == key })
}

// toGroups rewrites the outputs from the FROM row to the grouped row. A target that is
// a key is that key. What is the same for all rows keeps its value anywhere else.
func (s *selection) toGroups(at map[string]int) error {
	computed := slices.ContainsFunc(s.keys, func(k expr.Expr) bool { _, col := k.(*expr.Col); return !col })
	for _, m := range s.marks {
		for i, a := range m.args {
			if _, ok := at[exprKey(a)]; !ok {
				return s.b.groupingArgs(m, i)
			}
		}
	}
	if err := s.checkDirectArgs(at); err != nil {
		return err
	}
	var first error
	var rewrite func(expr.Expr) expr.Expr
	rewrite = func(e expr.Expr) expr.Expr {
		return replace(e, func(x expr.Expr) (expr.Expr, bool) {
			switch y := x.(type) {
			case *aggRef:
				return &expr.Col{Index: len(s.keys) + y.index, Typ: y.typ}, true
			case *groupingRef:
				return &expr.Col{Index: len(s.keys) + len(s.aggs) + y.index, Typ: types.TInt4}, true
			case *subRef:
				if i, ok := at[exprKey(y)]; ok && !s.sameForAll(y) {
					return &expr.Col{Index: i, Typ: y.typ}, true
				}
				return s.groupSubquery(y, at, rewrite, &first), true
			case *expr.Col:
				if i, ok := at[exprKey(y)]; ok {
					return &expr.Col{Index: i, Typ: y.Typ}, true
				}
				if first == nil {
					first = s.ungrouped(y)
				}
				return y, true
			case *expr.Const, *winRef:
				return x, true
			}
			if computed && !s.sameForAll(x) {
				if i, ok := at[exprKey(x)]; ok {
					return &expr.Col{Index: i, Typ: x.Type()}, true
				}
			}
			return nil, false
		})
	}
	for i := range s.targets {
		e := s.targets[i].e
		if k := slices.Index(s.keyTargets, i); k >= 0 {
			s.targets[i].e = &expr.Col{Index: k, Typ: e.Type()}
			continue
		}
		s.targets[i].e = rewrite(e)
	}
	for _, w := range s.wins {
		w.each(rewrite)
	}
	if s.having != nil {
		s.having = rewrite(s.having)
	}
	return first
}

// checkDirectArgs: the direct arguments of an ordered-set aggregate are the same for
// a group.
func (s *selection) checkDirectArgs(at map[string]int) error {
	for _, a := range s.aggs {
		for _, arg := range a.direct() {
			var err error
			replace(arg, func(x expr.Expr) (expr.Expr, bool) {
				if _, grouped := at[exprKey(x)]; grouped {
					return x, true
				}
				switch x := x.(type) {
				case *expr.Col:
					if err == nil {
						err = pgerr.From(s.ungrouped(x)).WithDetail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
					}
				case *subRef:
					s.groupSubquery(x, at, func(e expr.Expr) expr.Expr { return e }, &err)
				}
				return nil, false
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sameForAll tells that e has the same value for all rows: a constant, or under
// several grouping sets, where it matters, also a subquery that refers to nothing
// around it.
func (s *selection) sameForAll(e expr.Expr) bool {
	if isConstant(e) || len(s.groups) < 2 {
		return isConstant(e)
	}
	same := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *subRef:
			same = same && !correlated(x.node) && (x.cmp == nil || isConstant(x.cmp))
			return false
		case *expr.Col, *expr.Outer, *expr.Param, *aggRef, *winRef, *groupingRef:
			same = false
		case *expr.Call:
			same = same && x.Fn.Volatility == expr.Immutable
		case *expr.Cast:
			same = same && !x.Stable()
		}
		return same
	})
	return same
}

// isConstant tells that e is made of constants by what is immutable.
func isConstant(e expr.Expr) bool {
	constant := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Col, *expr.Outer, *expr.Param, *subRef, *aggRef, *winRef, *groupingRef:
			constant = false
		case *expr.Call:
			constant = constant && x.Fn.Volatility == expr.Immutable && !x.Fn.Set
		case *expr.Cast:
			constant = constant && !x.Stable()
		}
		return constant
	})
	return constant
}

// groupSubquery rewrites a subquery's references to the row around it.
func (s *selection) groupSubquery(r *subRef, at map[string]int, rewrite func(expr.Expr) expr.Expr, first *error) expr.Expr {
	c := *r
	c.node = mapOuter(r.node, 0, func(o *expr.Outer, d int) expr.Expr {
		if o.Level-d != 1 {
			return o
		}
		if o.Index < 0 { // an aggregate or mark of this query
			return &expr.Outer{Level: o.Level, Index: groupedOuter(o.Index, len(s.keys), len(s.aggs)), Typ: o.Typ}
		}
		i, ok := at[exprKey(&expr.Col{Index: o.Index})]
		if !ok {
			if *first == nil {
				err := pgerr.New(pgerr.GroupingError, "subquery uses ungrouped column \"%s\" from outer query", s.b.displayName(s.sc, o.Index, "?column?"))
				*first = err.At(s.b.outAt[o]).At(s.b.at(r.at))
			}
			return o
		}
		return &expr.Outer{Level: o.Level, Index: i, Typ: o.Typ}
	})
	if c.cmp != nil {
		c.cmp = rewrite(r.cmp)
	}
	return &c
}

func (s *selection) ungrouped(c *expr.Col) error {
	ref, ok := s.b.colAt[c]
	if !ok {
		ref.name = s.b.displayName(s.sc, c.Index, "?column?")
	}
	return pgerr.New(pgerr.GroupingError, "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", ref.name).At(ref.pos)
}

// preProject collects the plain columns that a node above needs, computing those
// that are expressions.
type preProject struct {
	node  plan.Node
	exprs []expr.Expr
	out   []plan.Column
	at    map[string]int
	wide  bool // keeps all columns of node
}

func newPreProject(n plan.Node) *preProject { return &preProject{node: n, at: map[string]int{}} }

// newWidening is a preProject that keeps the input's columns in their places.
func newWidening(n plan.Node) *preProject {
	p := &preProject{node: n, at: map[string]int{}, wide: true}
	for i, c := range n.Schema() {
		p.at[exprKey(&expr.Col{Index: i})] = i
		p.exprs = append(p.exprs, &expr.Col{Index: i, Typ: c.Typ})
		p.out = append(p.out, c)
	}
	return p
}

// add returns the column that holds e.
func (p *preProject) add(e expr.Expr) int {
	key := exprKey(e)
	if i, ok := p.at[key]; ok {
		return i
	}
	i := len(p.exprs)
	p.at[key] = i
	p.exprs = append(p.exprs, e)
	name := ""
	if c, ok := e.(*expr.Col); ok {
		name = p.node.Schema()[c.Index].Name
	}
	p.out = append(p.out, plan.Column{Name: name, Typ: e.Type()})
	return i
}

// build returns the node with the collected columns.
func (p *preProject) build() plan.Node {
	if p.wide && len(p.exprs) == len(p.node.Schema()) {
		return p.node
	}
	return &plan.Project{Input: p.node, Exprs: p.exprs, Out: p.out}
}

// guard makes of the inputs of an aggregate those that may fail, or differ from call
// to call, such ones that are computed only for the rows that filter, the input at
// but, lets through.
func guard(in []expr.Expr, filter expr.Expr, but int) {
	for i, x := range in {
		if i != but && (mayFail(x) || plan.IsVolatile(x)) {
			in[i] = &expr.Case{Whens: []expr.When{{Cond: filter, Then: x}}, Typ: x.Type()}
		}
	}
}

// aggColumns makes an aggregate call over columns of pre.
func (b *binder) aggColumns(pre *preProject, a *aggItem) (expr.AggCall, error) {
	var err error
	in := a.inputs()
	if pre.node, in, err = b.planSubqueries(pre.node, in); err != nil {
		return expr.AggCall{}, err
	}
	if a.filter != nil {
		guard(in, in[len(a.args)], len(a.args))
	}
	c := expr.AggCall{Fn: a.fn, Filter: -1, Distinct: a.distinct, Typ: a.typ}
	for range a.args {
		c.Args = append(c.Args, pre.add(in[0]))
		in = in[1:]
	}
	if a.filter != nil {
		c.Filter = pre.add(in[0])
		in = in[1:]
	}
	for i, o := range a.order {
		c.OrderBy = append(c.OrderBy, expr.SortKey{Col: pre.add(in[i]), Desc: o.desc, NullsFirst: o.nullsFirst})
	}
	return c, nil
}
