package equiv

import (
	"fmt"
	"strings"
)

// testCase is a schema, a history and the views to hold against PostgreSQL.
type testCase struct {
	tables   []*table
	steps    []*node // transactions: lists of statements
	views    []*view
	restarts map[int]bool // kill and start StreamDB before this step
	checks   map[int]bool // compare after this step, and always after the last
	// shared: joins read a side from a key or an index wherever they can.
	shared bool
}

type table struct {
	relation
	create *node
	key    bool
	index  string // a statement that makes an index; may be empty
	lastID int
}

// view is created before step at; len(steps) creates it after all changes.
type view struct {
	relation
	query *node
	at    int
	// next takes the place of the query before step turn; 0: never.
	next *node
	turn int
}

var columnPool = []column{
	{name: "i0", kind: kInt}, {name: "i1", kind: kInt}, {name: "s0", kind: kText}, {name: "s1", kind: kText},
	{name: "n0", kind: kNum}, {name: "l0", kind: kBig}, {name: "b0", kind: kBool}, {name: "d0", kind: kDate},
	{name: "t0", kind: kTime}, {name: "f0", kind: kFloat}, {name: "j0", kind: kJSON},
	{name: "a0", kind: kInet}, {name: "v0", kind: kBits}, {name: "z0", kind: kZoned}, {name: "m0", kind: kMoney},
	{name: "p0", kind: kSpan}, {name: "r0", kind: kRange}, {name: "k0", kind: kArray}, {name: "y0", kind: kBytes}, {name: "u0", kind: kUUID},
}

// newCase makes a schema with a history and the given number of views.
func (g *gen) newCase(views int) *testCase {
	c := &testCase{restarts: map[int]bool{}, checks: map[int]bool{}}
	for i := range 2 + g.r.IntN(3) {
		c.tables = append(c.tables, g.table(fmt.Sprintf("t%d", i+1)))
	}
	n := 4 + g.r.IntN(7)
	c.steps = append(c.steps, g.fill(c.tables))
	for range n - 1 {
		c.steps = append(c.steps, g.transaction(c.tables))
	}
	for _, t := range c.tables {
		g.relations = append(g.relations, t.relation)
	}
	for i := range views {
		at := pick(g, []int{0, 0, g.r.IntN(n + 1)})
		c.views = append(c.views, g.view(fmt.Sprintf("v%d", i+1), at, c.views))
	}
	for _, v := range c.views {
		if v.at < n && g.chance(30) {
			v.turn = v.at + 1 + g.r.IntN(n-v.at)
			v.next = g.above(v)
		}
	}
	c.checks[g.r.IntN(n)] = true
	c.checks[g.r.IntN(n)] = true
	if g.chance(20) {
		c.restarts[1+g.r.IntN(n)] = true
	}
	c.shared = g.chance(50)
	return c
}

// fill is a transaction that gives every table some rows.
func (g *gen) fill(tables []*table) *node {
	var stmts []*node
	for _, t := range tables {
		var rows []*node
		for range 5 + g.r.IntN(8) {
			rows = append(rows, text(g.row(t)))
		}
		stmts = append(stmts, seq("INSERT INTO "+t.name+" VALUES @", list("", ", ", 1, rows)))
	}
	n := list("", ";\n", 0, stmts)
	n.optional = true
	return n
}

func (g *gen) table(name string) *table {
	t := &table{relation: relation{name: name}, key: g.chance(55)}
	var defs []*node
	if t.key {
		t.cols = append(t.cols, column{name: "id", kind: kInt})
		defs = append(defs, text("id int PRIMARY KEY"))
	}
	for _, c := range columnPool {
		if g.chance(35) || len(t.cols) == 0 {
			def := c.name + " " + sqlTypes[c.kind]
			if g.chance(10) {
				def += " NOT NULL"
				c.notNull = true
			}
			t.cols = append(t.cols, c)
			defs = append(defs, text(def))
		}
	}
	t.create = seq("CREATE TABLE "+name+" (@)", list("", ", ", 1, defs))
	t.create.optional = true
	if g.chance(60) {
		a, b := pick(g, t.cols).name, pick(g, t.cols).name
		if a != b && g.chance(30) {
			a += ", " + b
		}
		t.index = "CREATE INDEX ON " + name + " (" + a + ")"
	}
	return t
}

// view makes a query over the tables and the views that exist at its time.
func (g *gen) view(name string, at int, before []*view) *view {
	kept := g.relations
	for _, v := range before {
		if v.at <= at {
			g.relations = append(g.relations[:len(g.relations):len(g.relations)], v.relation)
		}
	}
	g.budget = pick(g, []int{0, 1, 1, 2, 4})
	q, cols := g.query(nil, g.r.IntN(3), nil)
	g.relations = kept
	return &view{relation: relation{name, cols}, query: q, at: at}
}

// above is a query of the same columns over that of a view.
func (g *gen) above(v *view) *node {
	g.budget = 0
	cond := func() *node { return g.expr(&scope{cols: qualified("r", v.cols)}, kBool, 2) }
	if g.chance(30) {
		return seq("SELECT * FROM (@) AS r WHERE @ UNION ALL SELECT * FROM (@) AS r WHERE @", v.query, cond(), v.query, cond())
	}
	return seq("SELECT * FROM (@) AS r WHERE @", v.query, cond())
}

func (g *gen) transaction(tables []*table) *node {
	var stmts []*node
	for range pick(g, []int{1, 1, 2, 4}) {
		if g.chance(12) {
			stmts = append(stmts, g.changeFrom(pick(g, tables), pick(g, tables)))
			continue
		}
		stmts = append(stmts, g.change(pick(g, tables)))
	}
	n := list("", ";\n", 0, stmts)
	n.optional = true
	return n
}

func (g *gen) change(t *table) *node {
	s := &scope{cols: t.cols}
	g.budget = 0
	where := text("")
	if g.chance(94) {
		where = opt(" WHERE @", g.comparison(s, 1))
	}
	switch c := g.r.IntN(10); {
	case c < 6:
		return g.insert(t)
	case c < 8:
		return seq("DELETE FROM "+t.name+"@", where)
	}
	var sets []*node
	for _, c := range t.cols {
		if c.name != "id" && (g.chance(35) || len(sets) == 0) {
			value := g.expr(s, c.kind, 1)
			if c.kind == kText {
				value = seq("left(@, 6)", value)
			}
			if c.kind == kInt {
				value = seq("(@) % 20", value)
			}
			if c.kind == kBig || c.kind == kNum || c.kind == kFloat {
				value = g.expr(s, c.kind, 0)
			}
			sets = append(sets, seq(c.name+" = @", value))
		}
	}
	if len(sets) == 0 {
		return g.insert(t)
	}
	return seq("UPDATE "+t.name+" SET @@", list("", ", ", 1, sets), where)
}

// changeFrom is a change of t that reads another table, at most one row of it
// for each row of t.
func (g *gen) changeFrom(t, from *table) *node {
	var shared []column
	for _, c := range t.cols {
		if count(from.cols, c.name) > 0 && c.kind != kJSON {
			shared = append(shared, c)
		}
	}
	if len(shared) == 0 {
		return g.change(t)
	}
	c := pick(g, shared).name
	s := &scope{cols: qualified("o", from.cols)}
	cond := opt(" AND @", g.expr(s, kBool, 1))
	switch {
	case g.chance(40):
		return seq("DELETE FROM "+t.name+" AS x USING "+from.name+" AS o WHERE x."+c+" = o."+c+"@", cond)
	case g.chance(30) && c != "id":
		return seq("UPDATE " + t.name + " AS x SET " + c + " = (SELECT max(o." + c + ") FROM " + from.name + " AS o WHERE o." + c + " <= x." + c + ") WHERE x." + c + " IS NOT NULL")
	case g.chance(40):
		if v := pick(g, shared).name; v != "id" {
			return seq("UPDATE " + t.name + " AS x SET " + v + " = o.m FROM (SELECT " + c + " AS k, max(" + v + ") AS m FROM " + from.name + " GROUP BY " + c + ") AS o WHERE x." + c + " = o.k")
		}
		return g.change(t)
	case t.key:
		return seq("DELETE FROM "+t.name+" AS x WHERE x."+c+" IN (SELECT o."+c+" FROM "+from.name+" AS o WHERE @)", g.expr(s, kBool, 1))
	}
	return seq("INSERT INTO "+t.name+" ("+c+") SELECT o."+c+" FROM "+from.name+" AS o WHERE @ ORDER BY 1 LIMIT 3", g.expr(s, kBool, 1))
}

func (g *gen) insert(t *table) *node {
	var rows []*node
	for range 1 + g.r.IntN(5) {
		rows = append(rows, text(g.row(t)))
	}
	conflict := ""
	if t.key && g.chance(30) && len(t.cols) > 1 {
		conflict = " ON CONFLICT (id) DO NOTHING"
		if c := pick(g, t.cols[1:]).name; g.chance(70) {
			conflict = fmt.Sprintf(" ON CONFLICT (id) DO UPDATE SET %s = excluded.%s", c, c)
		}
		// An old id meets a row that is there; ids within a statement differ.
		rows = append(rows, text(strings.Replace(g.row(t), fmt.Sprintf("(%d", t.lastID), fmt.Sprintf("(%d", 1+g.r.IntN(max(t.lastID-6, 1))), 1)))
	}
	return seq("INSERT INTO "+t.name+" VALUES @"+conflict, list("", ", ", 1, rows))
}

func (g *gen) row(t *table) string {
	var values []string
	for _, c := range t.cols {
		switch {
		case c.name == "id":
			t.lastID++
			values = append(values, fmt.Sprint(t.lastID))
		case !c.notNull && g.chance(18):
			values = append(values, "NULL")
		default:
			values = append(values, g.constant(c.kind))
		}
	}
	return "(" + strings.Join(values, ", ") + ")"
}
