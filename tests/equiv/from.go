package equiv

import (
	"fmt"
	"slices"
)

// from makes a FROM clause and the scope of its columns.
func (g *gen) from(depth int, outer *scope) (*node, *scope) {
	item, cols := g.fromItem(depth)
	s := &scope{cols: cols, outer: outer}
	for range pick(g, []int{0, 0, 0, 1, 1, 1, 2}) {
		if g.chance(6) && depth > 0 && g.budget > 0 {
			item = g.lateral(item, s)
			continue
		}
		if g.chance(6) {
			item = g.lateralFunction(item, s)
			continue
		}
		right, rcols := g.fromItem(depth)
		item = g.join(item, right, s, rcols)
	}
	return item, s
}

// fromItem is a table, a view, or a derived table, under a new alias.
func (g *gen) fromItem(depth int) (*node, []column) {
	a := g.alias("x")
	if depth > 0 && g.chance(15) {
		q, cols := g.query(nil, depth-1, nil)
		return typed(kFrom, "(@) AS "+a, q), qualified(a, cols)
	}
	switch g.r.IntN(40) {
	case 0:
		row := func() *node {
			if g.budget > 0 && g.chance(30) {
				return seq("(@, @)", g.scalarSubquery(&scope{}, kInt), g.literal(kText))
			}
			return seq("(@, @)", g.literal(kInt), g.literal(kText))
		}
		return typed(kFrom, "(VALUES @) AS "+a+"(i0, s0)", list("", ", ", 1, []*node{row(), row(), row()})), qualified(a, []column{{name: "i0", kind: kInt}, {name: "s0", kind: kText}})
	case 1:
		return typed(kFrom, "generate_series(1, 4) AS "+a+"(i0)"), qualified(a, []column{{name: "i0", kind: kInt}})
	}
	rel := pick(g, g.relations)
	return typed(kFrom, rel.name+" AS "+a), qualified(a, rel.cols)
}

func qualified(alias string, cols []column) []column {
	out := make([]column, len(cols))
	for i, c := range cols {
		out[i] = column{name: alias + "." + c.name, kind: c.kind}
	}
	return out
}

// qualified is s without the merged columns of USING, whose bare names mean the
// columns of the result in ORDER BY.
func (s *scope) qualified() *scope {
	q := *s
	q.cols = nil
	for _, c := range s.cols {
		if bareName(c.name) != c.name {
			q.cols = append(q.cols, c)
		}
	}
	return &q
}

var joinWords = []string{"JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}

// join adds the columns of the right side to s.
func (g *gen) join(left, right *node, s *scope, rcols []column) *node {
	before := s.cols
	s.cols = append(slices.Clone(s.cols), rcols...)
	word := pick(g, joinWords)
	if name := sharedName(g, before, rcols); name != "" && g.chance(20) {
		// The merged column is in sight by its bare name, first of all.
		s.cols = append([]column{{name: name, kind: columnNamed(rcols, name).kind}}, s.cols...)
		return typed(kFrom, "@ "+word+" @ USING ("+name+")", left, right)
	}
	if g.chance(4) {
		return typed(kFrom, "@ CROSS JOIN @", left, right)
	}
	conds := []*node{g.joinCondition(before, rcols)}
	for g.chance(20) {
		conds = append(conds, g.joinCondition(before, rcols))
	}
	if g.chance(25) {
		saved := g.budget
		if !g.chance(40) {
			g.budget = 0 // subqueries in ON conditions are rare in practice
		}
		conds = append(conds, g.expr(s, kBool, 1))
		g.budget = min(saved, g.budget)
		if g.budget == 0 {
			g.budget = saved
		}
	}
	return typed(kFrom, "@ "+word+" @ ON @", left, right, list("", " AND ", 1, conds))
}

// sharedName finds a column name that occurs once on the left and once on the
// right, so that USING is not ambiguous.
func sharedName(g *gen, left, right []column) string {
	var names []string
	for _, c := range right {
		if n := bareName(c.name); count(left, n) == 1 && count(right, n) == 1 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	name := pick(g, names)
	if columnNamed(left, name).kind != columnNamed(right, name).kind || columnNamed(left, name).kind == kOther {
		return ""
	}
	return name
}

func bareName(name string) string {
	for i := range name {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}

func count(cols []column, name string) int {
	n := 0
	for _, c := range cols {
		if bareName(c.name) == name {
			n++
		}
	}
	return n
}

func columnNamed(cols []column, name string) column {
	for _, c := range cols {
		if bareName(c.name) == name {
			return c
		}
	}
	return column{}
}

// joinCondition is nearly always an equality of a column of each side.
func (g *gen) joinCondition(left, right []column) *node {
	var pairs [][2]column
	for _, l := range left {
		for _, r := range columnsOf(right, l.kind) {
			if l.kind != kOther {
				pairs = append(pairs, [2]column{l, r})
			}
		}
	}
	if len(pairs) == 0 {
		return typed(kBool, "true")
	}
	p := pick(g, pairs)
	op := "="
	switch {
	case g.chance(5) && p[0].kind != kJSON:
		op = pick(g, []string{"<", ">=", "<>"})
	case g.chance(4):
		op = "IS NOT DISTINCT FROM"
	}
	return typed(kBool, "(@ "+op+" @)", p[0].use(), p[1].use())
}

func (g *gen) lateral(left *node, s *scope) *node {
	g.budget--
	a := g.alias("x")
	q, cols := g.query(nil, g.r.IntN(2), s)
	s.cols = append(slices.Clone(s.cols), qualified(a, cols)...)
	if g.chance(30) {
		return typed(kFrom, "@ LEFT JOIN LATERAL (@) AS "+a+" ON @", left, q, g.expr(s, kBool, 1))
	}
	word := pick(g, []string{"CROSS JOIN LATERAL (@) AS %s", "LEFT JOIN LATERAL (@) AS %s ON true"})
	return typed(kFrom, "@ "+fmt.Sprintf(word, a), left, q)
}

// inner makes the FROM clause of a subquery in an expression: most often one item,
// else joins of all kinds, and items that refer to the query around.
func (g *gen) inner(outer *scope) (*node, []column) {
	if g.chance(75) {
		return g.fromItem(0)
	}
	item, s := g.from(0, outer)
	if g.budget > 0 && g.chance(40) {
		g.budget--
		a := g.alias("x")
		q, cols := g.query(nil, 0, outer)
		right := typed(kFrom, "(@) AS "+a, q)
		if g.chance(50) {
			right = typed(kFrom, "LATERAL (@) AS "+a, q)
		}
		item = g.join(item, right, s, qualified(a, cols))
	}
	return item, s.cols
}

// lateralFunction joins left with a set-returning function of its columns.
func (g *gen) lateralFunction(left *node, s *scope) *node {
	f, k := g.setReturning(s)
	a := g.alias("x")
	cols := []column{{name: "r0", kind: k}}
	format := "@ CROSS JOIN @ AS " + a + "(r0)"
	switch g.r.IntN(3) {
	case 0:
		format = "@ CROSS JOIN LATERAL @ WITH ORDINALITY AS " + a + "(r0, l9)"
		cols = append(cols, column{name: "l9", kind: kBig})
	case 1:
		format = "@ LEFT JOIN LATERAL @ AS " + a + "(r0) ON true"
	}
	s.cols = append(slices.Clone(s.cols), qualified(a, cols)...)
	return typed(kFrom, format, left, f)
}

// setReturning is a call of a function that returns a few rows.
func (g *gen) setReturning(s *scope) (*node, kind) {
	saved := g.budget
	defer func() { g.budget = saved }()
	g.budget = 0
	switch g.r.IntN(6) {
	case 0:
		return seq("generate_series(1, abs(@ % 4))", g.expr(s, kInt, 0)), kInt
	case 1:
		return seq("unnest(ARRAY[@, @])", g.expr(s, kInt, 1), g.expr(s, kInt, 0)), kInt
	case 2:
		return seq("unnest(string_to_array(@, 'b'))", g.expr(s, kText, 0)), kText
	case 3:
		return seq("jsonb_array_elements(jsonb_build_array(@, @))", g.expr(s, kInt, 0), g.expr(s, kJSON, 0)), kJSON
	case 4:
		return seq("regexp_split_to_table(@, '[bx]')", g.expr(s, kText, 0)), kText
	}
	return seq("generate_series(@, @ - 2, -1)", g.expr(s, kInt, 0), g.expr(s, kInt, 0)), kInt
}

// scalarSubquery gives one row at most: an aggregate, or the first of an order.
func (g *gen) scalarSubquery(s *scope, k kind) *node {
	g.budget--
	item, cols := g.inner(s)
	in := &scope{cols: cols, outer: s}
	where := text("")
	if g.chance(75) {
		where = opt(" WHERE @", list("", " AND ", 1, []*node{g.correlation(cols, s), g.expr(in, kBool, 1)}))
	}
	if agg := g.aggregate(&scope{cols: cols}, k); agg != nil && g.chance(75) {
		return typed(k, "(SELECT @ FROM @@)", agg, item, where)
	}
	e := g.expr(in, k, 1)
	if k == kJSON {
		return typed(k, "(SELECT @ FROM @@ ORDER BY @ LIMIT 1)", e, item, where, seq("@", e))
	}
	return typed(k, "(SELECT @ FROM @@ ORDER BY @ LIMIT 1)", e, item, where, seq("@", e))
}

// correlation ties a column of the subquery to one of the query around it.
func (g *gen) correlation(cols []column, outer *scope) *node {
	return g.joinCondition(cols, outer.cols)
}

func (g *gen) predicateSubquery(s *scope, k kind, depth int) *node {
	g.budget--
	item, cols := g.inner(s)
	in := &scope{cols: cols, outer: s}
	cond := func(percent int) *node {
		var conds []*node
		if g.chance(percent) {
			conds = append(conds, g.correlation(cols, s))
		}
		if g.chance(50) {
			conds = append(conds, g.expr(in, kBool, 1))
		}
		return list(" WHERE ", " AND ", 0, conds)
	}
	a := g.expr(s, k, depth-1)
	switch g.r.IntN(7) {
	case 6:
		return typed(kBool, "((@, @) "+pick(g, []string{"IN", "NOT IN"})+" (SELECT @, @ FROM @@))", a, g.expr(s, kInt, 0), g.expr(in, k, 0), g.expr(in, kInt, 0), item, cond(20))
	case 0, 1:
		return typed(kBool, pick(g, []string{"EXISTS", "NOT EXISTS"})+" (SELECT 1 FROM @@)", item, cond(85))
	case 2, 3:
		return typed(kBool, "(@ "+pick(g, []string{"IN", "NOT IN"})+" (SELECT @ FROM @@))", a, g.expr(in, k, 1), item, cond(30))
	case 4:
		q, _ := g.query([]kind{k}, 0, s)
		return typed(kBool, "(@ "+pick(g, []string{"IN", "NOT IN"})+" (@))", a, q)
	}
	op := pick(g, []string{"= ANY", "<> ALL", "> ALL", "<= ANY", "= SOME"})
	return typed(kBool, "(@ "+op+" (SELECT @ FROM @@))", a, g.expr(in, k, 1), item, cond(30))
}
