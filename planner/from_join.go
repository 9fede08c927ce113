package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

var joinKinds = [...]plan.JoinKind{sql.InnerJoin: plan.Inner, sql.LeftJoin: plan.Left, sql.RightJoin: plan.Right, sql.FullJoin: plan.Full}

// joinTable binds a JOIN.
func (b *binder) joinTable(te *sql.JoinTable, outer *scope) (*fromPart, error) {
	l, err := b.tableExpr(te.Left, outer)
	if err != nil {
		return nil, err
	}
	kind := joinKinds[te.Kind]
	left := &scope{parent: outer, items: slices.Clone(l.items), hidden: slices.Clone(l.hidden), ctes: outer.ctes, from: true}
	if kind == plan.Right || kind == plan.Full {
		left.items, left.barred = nil, left.items
	}
	r, err := b.tableExpr(te.Right, left)
	if err != nil {
		return nil, err
	}
	if err := b.checkAliases(l.items, r.items, te.Right); err != nil {
		return nil, err
	}
	r = settle(r)
	if kind == plan.Left || kind == plan.Full {
		r.node = b.markNullable(r.node, r.items)
	}
	if kind == plan.Right || kind == plan.Full {
		l.node = b.markNullable(l.node, l.items)
	}
	nl := len(l.node.Schema())
	shiftItems(r.items, nl)
	p := &fromPart{node: crossJoin(kind, l.node, r), items: slices.Concat(l.items, r.items), hidden: slices.Concat(l.hidden, r.hidden)}
	switch {
	case te.Natural:
		names := commonNames(l.items, r.items)
		if b.pins != nil && len(names) > 0 {
			b.pins.using[te] = names
		}
		return b.usingJoin(p, names, l.items, r.items, te)
	case len(te.Using) > 0:
		return b.usingJoin(p, te.Using, l.items, r.items, te)
	case te.On != nil:
		sc := &scope{parent: blind(outer), items: p.items, hidden: p.hidden, ctes: outer.ctes}
		cond, err := b.condition(&exprContext{sc: sc, clause: "JOIN conditions"}, te.On, "JOIN/ON")
		if err != nil {
			return nil, err
		}
		if p.node, err = b.joinOn(p.node, cond, te); err != nil {
			return nil, err
		}
	}
	if te.Alias != nil {
		return b.aliasJoin(p, te)
	}
	return p, nil
}

// joinOn puts the ON condition into a join that had none.
func (b *binder) joinOn(n plan.Node, cond expr.Expr, te *sql.JoinTable) (plan.Node, error) {
	if hasSubquery(cond) {
		if te.Kind != sql.InnerJoin {
			if j, err := b.subqueryOn(n, cond); j != nil || err != nil {
				return j, err
			}
			return b.subqueryOnBoth(n, cond, te)
		}
		width := len(n.Schema())
		n, err := b.filter(n, cond)
		if err != nil {
			return nil, err
		}
		return narrowTo(n, width), nil
	}
	switch n := n.(type) {
	case *plan.Join:
		return &plan.Join{Kind: n.Kind, Left: n.Left, Right: n.Right, Residual: cond}, nil
	case *plan.Apply:
		return &plan.Apply{Kind: n.Kind, Left: n.Left, Right: n.Right, On: cond}, nil
	}
	return n, nil
}

// subqueryOn plans the subqueries in the ON of an outer join: each becomes
// columns of the side whose row it depends on. It returns nil when one depends on
// both.
func (b *binder) subqueryOn(n plan.Node, cond expr.Expr) (plan.Node, error) {
	j, ok := n.(*plan.Join)
	if !ok {
		return nil, nil
	}
	nl, nr := len(j.Left.Schema()), len(j.Right.Schema())
	var left, right []expr.Expr
	at := map[*subRef]int{} // place in left, or -1-place in right
	both := false
	expr.Walk(cond, func(x expr.Expr) bool {
		s, ok := x.(*subRef)
		if !ok {
			return true
		}
		used := map[int]bool{}
		(&selection{b: b}).colsUsed(s, used)
		l, r := false, false
		for i := range used {
			l, r = l || i < nl, r || i >= nl
		}
		switch {
		case l && r:
			both = true
		case r:
			at[s] = -1 - len(right)
			right = append(right, shiftRow(s, -nl))
		default:
			at[s] = len(left)
			left = append(left, s)
		}
		return true
	})
	if both {
		return nil, nil
	}
	ln, left, err := b.planSubqueries(j.Left, left)
	if err != nil {
		return nil, err
	}
	rn, right, err := b.planSubqueries(j.Right, right)
	if err != nil {
		return nil, err
	}
	wide := len(ln.Schema())
	on := replace(cond, func(x expr.Expr) (expr.Expr, bool) {
		switch x := x.(type) {
		case *subRef:
			if i := at[x]; i >= 0 {
				return left[i], true
			}
			return shiftCols(right[-1-at[x]], wide), true
		case *expr.Col:
			if x.Index >= nl {
				return &expr.Col{Index: x.Index + wide - nl, Typ: x.Typ}, true
			}
		}
		return nil, false
	})
	out := &plan.Join{Kind: j.Kind, Left: ln, Right: rn, Residual: on}
	return pick(out, append(all(nl), span(wide, nr)...)), nil
}

// subqueryOnBoth plans an outer join whose ON has a subquery that depends on the
// rows of both sides: it is then a lateral join with those rows of the right side
// that fulfil the condition. A full join adds the rows of the right side for which
// there is none on the left.
func (b *binder) subqueryOnBoth(n plan.Node, cond expr.Expr, te *sql.JoinTable) (plan.Node, error) {
	if a, ok := n.(*plan.Apply); ok {
		right, err := b.filtered(a.Right, inRight(cond, len(a.Left.Schema()), true))
		return &plan.Apply{Kind: a.Kind, Left: a.Left, Right: right}, err
	}
	j := n.(*plan.Join)
	nl, nr := len(j.Left.Schema()), len(j.Right.Schema())
	right, err := b.filtered(shiftOuter(j.Right, 1), inRight(cond, nl, true))
	if err != nil {
		return nil, err
	}
	padRight := &plan.Apply{Kind: plan.Left, Left: j.Left, Right: right}
	if j.Kind == plan.Left {
		return padRight, nil
	}
	if err := b.grow(countNodes(j), te); err != nil { // both sides are there twice
		return nil, err
	}
	left, err := b.filtered(shiftOuter(j.Left, 1), inRight(cond, nl, false))
	if err != nil {
		return nil, err
	}
	if j.Kind == plan.Right {
		padLeft := &plan.Apply{Kind: plan.Left, Left: j.Right, Right: left}
		return pick(padLeft, append(span(nr, nl), all(nr)...)), nil
	}
	alone := &plan.Apply{Kind: plan.Anti, Left: j.Right, Right: left}
	padded := &plan.Project{Input: alone, Out: padRight.Schema()}
	for _, c := range j.Left.Schema() {
		padded.Exprs = append(padded.Exprs, &expr.Const{Typ: c.Typ})
	}
	padded.Exprs = append(padded.Exprs, identity(alone)...)
	return &plan.Union{Inputs: []plan.Node{padRight, padded}, Out: padRight.Schema()}, nil
}

func countNodes(n plan.Node) int {
	count := 0
	plan.Walk(n, func(plan.Node) bool { count++; return true })
	return count
}

// filtered is filter, without columns more.
func (b *binder) filtered(n plan.Node, cond expr.Expr) (plan.Node, error) {
	width := len(n.Schema())
	n, err := b.filter(n, cond)
	if err != nil {
		return nil, err
	}
	return narrowTo(n, width), nil
}

// inRight turns a condition over a row of nl columns and those behind them into one
// over the right part of it, with the left part as the row around; or, unless right,
// the other way round.
func inRight(cond expr.Expr, nl int, right bool) expr.Expr {
	place := func(i int) (index int, outer bool) {
		if i >= nl {
			return i - nl, !right
		}
		return i, right
	}
	return expr.Rewrite(cond, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Col:
			i, outer := place(x.Index)
			if outer {
				return &expr.Outer{Level: 1, Index: i, Typ: x.Typ}
			}
			return &expr.Col{Index: i, Typ: x.Typ}
		case *expr.Outer:
			return &expr.Outer{Level: x.Level + 1, Index: x.Index, Typ: x.Typ}
		case *subRef:
			c := *x
			c.node = mapOuter(x.node, 0, func(o *expr.Outer, d int) expr.Expr {
				level, i := o.Level, o.Index
				switch {
				case level <= d:
					return o
				case level-d > 1:
					level++
				default:
					at, outer := place(i)
					if i = at; outer {
						level++
					}
				}
				return &expr.Outer{Level: level, Index: i, Typ: o.Typ}
			})
			if c.cmp != nil {
				c.cmp = inRight(x.cmp, nl, right)
			}
			return &c
		}
		return x
	})
}

// shiftRow moves the columns of the row that e and the subqueries in it read.
func shiftRow(e expr.Expr, by int) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Col:
			return &expr.Col{Index: x.Index + by, Typ: x.Typ}
		case *subRef:
			c := *x
			c.node = mapOuter(x.node, 0, func(o *expr.Outer, d int) expr.Expr {
				if o.Level-d != 1 {
					return o
				}
				return &expr.Outer{Level: o.Level, Index: o.Index + by, Typ: o.Typ}
			})
			if c.cmp != nil {
				c.cmp = shiftRow(x.cmp, by)
			}
			return &c
		}
		return x
	})
}

// aliasJoin renames a parenthesised join: only the alias can qualify.
func (b *binder) aliasJoin(p *fromPart, te *sql.JoinTable) (*fromPart, error) {
	it := &rangeItem{name: te.Alias.Name, relVisible: true, colVisible: true, join: true}
	for _, old := range p.items {
		if old.colVisible {
			it.cols = append(it.cols, old.cols...)
		}
	}
	for _, old := range p.items {
		if !old.join {
			p.hidden = append(p.hidden, old)
		}
	}
	p.items = append([]*rangeItem{it}, locksAmong(p.items)...)
	return p, b.renameColumns(it, te.Alias, te)
}

// commonNames are the columns that NATURAL joins by.
func commonNames(l, r []*rangeItem) []string {
	var out []string
	for _, it := range l {
		if !it.colVisible {
			continue
		}
		for _, c := range it.cols {
			if n, _ := findVisible(r, c.name); n > 0 && !slices.Contains(out, c.name) {
				out = append(out, c.name)
			}
		}
	}
	return out
}

// findVisible returns how many visible columns have a name, and the first.
func findVisible(items []*rangeItem, name string) (n int, col *scopeCol) {
	for _, it := range items {
		if !it.colVisible {
			continue
		}
		for i := range it.cols {
			if it.cols[i].name == name {
				if n++; n == 1 {
					col = &it.cols[i]
				}
			}
		}
	}
	return n, col
}

// usingJoin makes the condition of USING or NATURAL, and an item for the merged
// columns, which come first, followed by the others of both sides.
func (b *binder) usingJoin(p *fromPart, names []string, l, r []*rangeItem, te *sql.JoinTable) (*fromPart, error) {
	merged := &rangeItem{colVisible: true, join: true}
	var conds []expr.Expr
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" appears more than once in USING clause", name)
		}
		lc, err := b.usingColumn(l, name, "left", te)
		if err != nil {
			return nil, err
		}
		rc, err := b.usingColumn(r, name, "right", te)
		if err != nil {
			return nil, err
		}
		eq, err := b.op("=", te, lc.value(), rc.value())
		if err != nil {
			return nil, err
		}
		conds = append(conds, eq)
		lc.reads()
		rc.reads()
		m, err := b.mergedColumn(name, lc, rc, te)
		if err != nil {
			return nil, err
		}
		merged.cols = append(merged.cols, *m)
	}
	for _, side := range [][]*rangeItem{l, r} {
		for _, it := range side {
			if !it.colVisible {
				continue
			}
			for _, c := range it.cols {
				if !slices.Contains(names, c.name) {
					merged.cols = append(merged.cols, c)
				}
			}
		}
	}
	if te.Alias != nil {
		merged.name, merged.relVisible = te.Alias.Name, true
		if err := b.renameColumns(merged, te.Alias, te); err != nil {
			return nil, err
		}
	}
	items := []*rangeItem{merged}
	inside := p.items
	if te.UsingAlias != "" {
		alias := &rangeItem{name: te.UsingAlias, relVisible: true, join: true, cols: slices.Clone(merged.cols[:len(names)])}
		if err := b.checkAliases(inside, []*rangeItem{alias}, te); err != nil {
			return nil, err
		}
		inside = append(slices.Clip(inside), alias)
	}
	for _, it := range inside {
		switch {
		case te.Alias != nil:
			if !it.join {
				p.hidden = append(p.hidden, it)
			}
		case it.name != "":
			c := *it
			c.colVisible = false
			items = append(items, &c)
		}
	}
	p.items = append(items, locksAmong(p.items)...)
	if len(conds) == 0 {
		return p, nil
	}
	var err error
	p.node, err = b.joinOn(p.node, and(conds), te)
	return p, err
}

func (b *binder) usingColumn(items []*rangeItem, name, side string, te *sql.JoinTable) (*scopeCol, error) {
	n, c := findVisible(items, name)
	switch {
	case n == 0:
		return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" specified in USING clause does not exist in %s table", name, side)
	case n > 1:
		return nil, pgerr.New(pgerr.AmbiguousColumn, "common column name \"%s\" appears more than once in %s table", name, side)
	}
	b.noteUse(c)
	return c, nil
}

// mergedColumn is the one column that USING makes of two: the preserved side's,
// or for a full join whichever is there.
func (b *binder) mergedColumn(name string, l, r *scopeCol, te *sql.JoinTable) (*scopeCol, error) {
	t, err := expr.CommonTypeFor("JOIN/USING", []types.T{l.typ, r.typ})
	if err != nil {
		return nil, b.placed(err, te)
	}
	side := func(c *scopeCol) (expr.Expr, error) { return b.coerce(c.value(), t, expr.Implicit, te) }
	le, err := side(l)
	if err != nil {
		return nil, err
	}
	re, err := side(r)
	if err != nil {
		return nil, err
	}
	m := &scopeCol{name: name, typ: t, index: l.index}
	switch te.Kind {
	case sql.RightJoin:
		m.e, m.index = re, r.index
	case sql.FullJoin:
		m.e = &expr.Coalesce{Args: []expr.Expr{le, re}, Typ: t}
	default:
		m.e = le
	}
	if c, ok := m.e.(*expr.Col); ok {
		m.e, m.index = nil, c.Index
	}
	return m, nil
}
