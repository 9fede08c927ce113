package equiv

// recursiveQuery counts up from the rows of a query.
func (g *gen) recursiveQuery(want []kind, depth int) (*node, []column) {
	name, a := g.alias("w"), g.alias("x")
	base, _ := g.query([]kind{kInt, kText}, depth-1, nil)
	cols := []column{{name: "c1", kind: kInt}, {name: "c2", kind: kText}}
	s := &scope{cols: qualified(a, cols)}
	step := typed(kFrom, name+" AS "+a)
	union := pick(g, []string{"UNION", "UNION", "UNION ALL"})
	if union == "UNION" && g.chance(60) { // else rows would multiply at every step
		right, rcols := g.fromItem(0)
		step = seq("@ JOIN @ ON @", step, right, g.joinCondition(s.cols, rcols))
		s.cols = append(s.cols, rcols...)
	}
	kept := g.relations
	g.relations = append(g.relations[:len(g.relations):len(g.relations)], relation{name, cols}, relation{name, cols})
	main, out := g.selectQuery(want, depth-1, nil)
	g.relations = kept
	return typed(kQuery, "WITH RECURSIVE "+name+"(c1, c2) AS (SELECT abs(c1) % 4, c2::text FROM (@) AS base\n"+union+"\nSELECT "+a+".c1 + 1, left(@, 6) FROM @ WHERE "+a+".c1 < 4)\n@",
		base, g.expr(&scope{cols: s.cols}, kText, 0), step, main), out
}

// reachQuery finds what can be reached from the rows of a query over the pairs of
// another one: few values, so that there are cycles and many ways to a row.
func (g *gen) reachQuery(want []kind, depth int) (*node, []column) {
	name, a, e := g.alias("w"), g.alias("x"), g.alias("x")
	base, _ := g.query([]kind{kInt, kInt}, depth-1, nil)
	edges, _ := g.query([]kind{kInt, kInt}, 0, nil)
	kept := g.relations
	cols := []column{{name: "c1", kind: kInt}, {name: "c2", kind: kInt}}
	step := cols
	clause := ""
	if g.chance(40) {
		clause, cols = g.paths(cols)
	}
	g.relations = append(g.relations[:len(g.relations):len(g.relations)], relation{name, cols}, relation{name, cols}, relation{name, cols})
	main, out := g.selectQuery(want, depth-1, nil)
	g.relations = kept
	filter := text("")
	if g.chance(30) {
		filter = opt(" WHERE @", g.expr(&scope{cols: append(qualified(a, step), qualified(e, step)...)}, kBool, 1))
	}
	return typed(kQuery, "WITH RECURSIVE "+name+"(c1, c2) AS (SELECT c1 % 5, c2 % 5 FROM (@) AS base\nUNION\nSELECT "+a+".c1, "+e+".c2 % 5 FROM "+name+" AS "+a+
		" JOIN (@) AS "+e+" ON "+e+".c1 % 5 = "+a+".c2@)"+clause+"\n@", base, edges, filter, main), out
}

// paths makes a clause that ends the search of ways where a value comes again, and the
// columns with those it adds that can be shown.
func (g *gen) paths(cols []column) (string, []column) {
	cycle := pick(g, []string{" CYCLE c2 SET c3 USING path", " CYCLE c2, c1 SET c3 TO true DEFAULT false USING path"})
	search := pick(g, []string{"", " SEARCH DEPTH FIRST BY c2 SET seq", " SEARCH BREADTH FIRST BY c1, c2 SET seq"})
	return search + cycle, append(cols[:len(cols):len(cols)], column{name: "c3", kind: kBool})
}

// nestedRecursion has in each iteration another recursion over the rows of the one
// before.
func (g *gen) nestedRecursion(want []kind, depth int) (*node, []column) {
	name, inner, a, e := g.alias("w"), g.alias("w"), g.alias("x"), g.alias("x")
	base, _ := g.query([]kind{kInt, kInt}, depth-1, nil)
	edges, _ := g.query([]kind{kInt, kInt}, 0, nil)
	kept := g.relations
	cols := []column{{name: "c1", kind: kInt}, {name: "c2", kind: kInt}}
	g.relations = append(g.relations[:len(g.relations):len(g.relations)], relation{name, cols}, relation{name, cols})
	main, out := g.selectQuery(want, depth-1, nil)
	g.relations = kept
	filter := opt(" WHERE @", g.expr(&scope{cols: append(qualified(a, cols), qualified(e, cols)...)}, kBool, 1))
	last := pick(g, []string{"SELECT c1, c2 FROM " + inner, "SELECT c1, max(c2) AS c2 FROM " + inner + " GROUP BY c1", "SELECT DISTINCT c2 AS c1, c1 AS c2 FROM " + inner})
	return typed(kQuery, "WITH RECURSIVE "+name+"(c1, c2) AS (SELECT abs(c1 % 4), c2 % 4 FROM (@) AS base\nUNION\nSELECT z.c1 + 1, z.c2 FROM (\nWITH RECURSIVE "+
		inner+"(c1, c2) AS (SELECT c1, c2 FROM "+name+"\nUNION\nSELECT "+a+".c1, "+e+".c2 % 5 FROM "+inner+" AS "+a+" JOIN (@) AS "+e+" ON "+e+".c1 % 5 = "+a+".c2@)\n"+
		last+") AS z WHERE abs(z.c1) < 4)\n@", base, edges, filter, main), out
}
