package equiv

import (
	"fmt"
	"strings"
)

// query makes a SELECT and tells its columns, named c1, c2 and so on. want
// fixes their kinds; nil leaves them free.
func (g *gen) query(want []kind, depth int, outer *scope) (*node, []column) {
	if depth > 0 && g.chance(18) {
		return g.setOperation(want, depth, outer)
	}
	if depth > 0 && outer == nil && g.chance(8) {
		return g.withQuery(want, depth)
	}
	if depth > 0 && outer == nil && g.chance(3) {
		switch c := g.r.IntN(10); {
		case c < 4:
			return g.reachQuery(want, depth)
		case c < 6:
			return g.nestedRecursion(want, depth)
		}
		return g.recursiveQuery(want, depth)
	}
	return g.selectQuery(want, depth, outer)
}

// kinds picks the kinds of a select list, near those of s.
func (g *gen) kinds(s *scope) []kind {
	n := 1 + g.r.IntN(4)
	out := make([]kind, n)
	for i := range out {
		out[i] = g.kindNear(s, scalarKinds)
	}
	return out
}

func (g *gen) setOperation(want []kind, depth int, outer *scope) (*node, []column) {
	if want == nil {
		want = g.kinds(&scope{cols: pick(g, g.relations).cols})
	}
	op := pick(g, []string{"UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "EXCEPT ALL", "UNION ALL", "UNION"})
	left, cols := g.query(want, depth-1, outer)
	right, _ := g.query(want, depth-1, outer)
	return typed(kQuery, "(@)\n"+op+"\n(@)", left, right), cols
}

// withQuery makes one or two CTEs, the second of which may read the first.
func (g *gen) withQuery(want []kind, depth int) (*node, []column) {
	kept := g.relations
	var ctes []*node
	for range pick(g, []int{1, 1, 2}) {
		name := g.alias("w")
		body, cols := g.query(nil, depth-1, nil)
		ctes = append(ctes, seq(name+" AS "+pick(g, []string{"", "", "MATERIALIZED ", "NOT MATERIALIZED "})+"(@)", body))
		g.relations = append(g.relations[:len(g.relations):len(g.relations)], relation{name, cols})
		if g.chance(60) { // read it for sure
			g.relations = append(g.relations, relation{name, cols}, relation{name, cols})
		}
	}
	main, out := g.query(want, depth-1, nil)
	g.relations = kept
	return typed(kQuery, "WITH @\n(@)", list("", ",\n", len(ctes), ctes), main), out
}

func (g *gen) selectQuery(want []kind, depth int, outer *scope) (*node, []column) {
	from, s := g.from(depth, outer)
	where := text("")
	if g.chance(40) {
		where = opt("\nWHERE @", g.conjunction(s))
	}
	shape := g.r.IntN(100)
	switch {
	case shape < 40:
		return g.grouped(want, from, where, s)
	case shape < 50 && (outer == nil || g.chance(50)):
		return g.topN(want, from, where, s)
	case shape < 58 && outer == nil:
		return g.windowed(want, from, where, s)
	case shape < 64:
		return g.distinctOn(want, from, where, s)
	}
	items, cols := g.items(want, s)
	if want == nil && outer == nil && g.chance(7) {
		item, k := g.setReturning(s)
		name := fmt.Sprintf("c%d", len(items.parts)+1)
		items.parts = append(items.parts, seq("@ AS "+name, item))
		cols = append(cols, column{name: name, kind: k})
	}
	distinct := text("")
	if g.chance(20) {
		distinct = opt("DISTINCT ")
	}
	return typed(kQuery, "SELECT @@\nFROM @@", distinct, items, from, where), cols
}

func (g *gen) conjunction(s *scope) *node {
	parts := []*node{g.comparison(s, 2)}
	if g.chance(15) {
		parts = []*node{g.expr(s, kBool, 3)}
	}
	for g.chance(20) {
		parts = append(parts, g.comparison(s, 1))
	}
	return list("", " AND ", 1, parts)
}

// items makes the select list.
func (g *gen) items(want []kind, s *scope) (*node, []column) {
	free := want == nil
	if free {
		want = g.kinds(s)
	}
	var nodes []*node
	var cols []column
	for i, k := range want {
		cols = append(cols, column{name: fmt.Sprintf("c%d", i+1), kind: k})
		nodes = append(nodes, seq(fmt.Sprintf("@ AS c%d", i+1), g.expr(s, k, g.r.IntN(3))))
	}
	if free && s.inner != nil && g.chance(15) {
		cols = append(cols, column{name: "cx", kind: kOther})
		nodes = append(nodes, seq("@ AS cx", g.aggregate(s.inner, kOther)))
	}
	return list("", ", ", 1, nodes), cols
}

func (g *gen) grouped(want []kind, from, where *node, s *scope) (*node, []column) {
	group := &scope{inner: s, outer: s.outer}
	n := pick(g, []int{0, 1, 1, 1, 2, 2, 3})
	sets := n > 0 && g.chance(20)
	budget := g.budget
	if sets {
		g.budget = 0 // a subquery that is a key has no sure value within larger expressions on PostgreSQL
	}
	var keys []*node
	for range n {
		k := g.kindNear(s, scalarKinds)
		key := g.expr(s, k, pick(g, []int{0, 0, 0, 1}))
		if sets {
			key = g.setKey(s, k)
		}
		if len(columnsOf(s.cols, k)) == 0 {
			continue
		}
		keys = append(keys, key)
		group.cols = append(group.cols, column{kind: k, shared: key})
	}
	by := text("")
	switch {
	case len(keys) > 0 && sets:
		by = seq("\nGROUP BY @", g.groupingSets(keys))
	case len(keys) > 0:
		by = seq("\nGROUP BY @", list("", ", ", 1, keys))
	}
	items, cols := g.items(want, group)
	if g.budget = budget; want == nil && sets && len(keys) > 0 && g.chance(40) {
		name := fmt.Sprintf("c%d", len(items.parts)+1)
		items.parts = append(items.parts, seq("grouping(@) AS "+name, list("", ", ", 1, keys)))
		cols = append(cols, column{name: name, kind: kInt})
	}
	having := text("")
	if g.chance(15) {
		having = opt("\nHAVING @", g.expr(group, kBool, 2))
	} else if len(keys) == 0 {
		// A query without keys and aggregates would not be grouped at all.
		having = opt("\nHAVING count(*) >= 0")
	}
	return typed(kQuery, "SELECT @\nFROM @@@@", items, from, where, by, having), cols
}

// setKey makes a key for grouping sets: a column, or a function of one. On
// PostgreSQL what folds to a constant, like coalesce(1, a), keeps its value where a
// key would be NULL, depending on where it stands.
func (g *gen) setKey(s *scope, k kind) *node {
	cols := columnsOf(s.cols, k)
	if len(cols) == 0 {
		return g.leaf(s, k) // is not used
	}
	col := pick(g, cols)
	if k == kBool || g.chance(75) {
		return col.use()
	}
	for range 5 {
		if key := g.apply(s, k, pick(g, rules[k]), 1); key.mentions(col.name) && !strings.Contains(key.format, "null") {
			return key
		}
	}
	return col.use()
}

// groupingSets makes what follows GROUP BY; all keys occur in it.
func (g *gen) groupingSets(keys []*node) *node {
	all := list("", ", ", 1, keys)
	switch g.r.IntN(6) {
	case 0:
		return seq("ROLLUP (@)", all)
	case 1:
		return seq("CUBE (@)", all)
	case 2:
		return seq("GROUPING SETS ((@), (@), ())", all, keys[0])
	case 3:
		return seq("@, ROLLUP (@)", keys[0], all)
	case 4:
		return seq("DISTINCT ROLLUP (@), CUBE (@)", all, keys[0])
	}
	return seq("GROUPING SETS (ROLLUP (@), @, (@))", all, keys[len(keys)-1], all)
}

func (g *gen) topN(want []kind, from, where *node, s *scope) (*node, []column) {
	s = s.qualified()
	items, cols := g.items(want, s)
	var keys []*node
	for _, i := range g.r.Perm(len(items.parts)) {
		keys = append(keys, seq("@"+g.direction(), items.parts[i].parts[0]))
	}
	limit := opt("\nLIMIT @", g.rowCount(s, 8))
	if g.chance(15) {
		limit = opt("\nFETCH FIRST (@) ROWS WITH TIES", g.rowCount(s, 5))
	}
	offset := text("")
	if g.chance(40) {
		offset = opt("\nOFFSET @", g.rowCount(s, 3))
	}
	return typed(kQuery, "SELECT @\nFROM @@\nORDER BY @@@", items, from, where, list("", ", ", len(keys), keys), offset, limit), cols
}

// rowCount is a number below n: most often a constant, else a value of the query
// around, or a subquery.
func (g *gen) rowCount(s *scope, n int) *node {
	switch {
	case s.outer != nil && g.chance(30):
		if c := columnsOf(s.outer.cols, kInt); len(c) > 0 {
			return seq(fmt.Sprintf("abs(@ %% %d)", n), pick(g, c).use())
		}
	case g.chance(10):
		return text(fmt.Sprintf("((SELECT count(*) FROM %s AS %s) %% %d)", pick(g, g.relations).name, g.alias("x"), n))
	}
	return text(fmt.Sprint(g.r.IntN(n)))
}

func (g *gen) windowed(want []kind, from, where *node, s *scope) (*node, []column) {
	if want != nil {
		items, cols := g.items(want, s)
		return typed(kQuery, "SELECT @\nFROM @@", items, from, where), cols
	}
	items, cols := g.items(want, s)
	ws, kinds := g.windows(s)
	for i, w := range ws {
		name := fmt.Sprintf("c%d", len(cols)+1)
		items.parts = append(items.parts, seq("@ AS "+name, w))
		cols = append(cols, column{name: name, kind: kinds[i]})
	}
	body := typed(kQuery, "SELECT @\nFROM @@", items, from, where)
	if !g.chance(35) {
		return body, cols
	}
	// The rank filters that planners turn into TopN.
	rank := seq("row_number() OVER (PARTITION BY @ @)", g.expr(s, kInt, 0), g.totalOrder(s))
	if g.chance(30) {
		rank = seq(pick(g, []string{"rank", "dense_rank"})+"() OVER (PARTITION BY @ ORDER BY @)", g.expr(s, kInt, 0), g.expr(s, kInt, 0))
	}
	ranked, out := g.items(nil, s)
	ranked.parts = append(ranked.parts, seq("@ AS rk", rank))
	return typed(kQuery, fmt.Sprintf("SELECT * FROM (SELECT @\nFROM @@) AS ranked WHERE rk %s %d", pick(g, []string{"<=", "=", "<"}), 1+g.r.IntN(3)),
		ranked, from, where), append(out, column{name: "rk", kind: kBig})
}

func (g *gen) distinctOn(want []kind, from, where *node, s *scope) (*node, []column) {
	s = s.qualified()
	items, cols := g.items(want, s)
	on := items.parts[g.r.IntN(len(items.parts))].parts[0]
	keys := []*node{seq("@"+g.direction(), on)}
	for _, it := range items.parts {
		if it.parts[0] != on {
			keys = append(keys, seq("@"+g.direction(), it.parts[0]))
		}
	}
	return typed(kQuery, "SELECT DISTINCT ON (@) @\nFROM @@\nORDER BY @", on, items, from, where, list("", ", ", len(keys), keys)), cols
}
