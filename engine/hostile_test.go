package engine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
)

// repeat joins n pieces made by f.
func repeat(n int, sep string, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, sep)
}

// hostileQueries are queries of an extreme size over t (id = 1 … 50, v = id % 10),
// with the rows they must give.
var hostileQueries = []struct{ name, sql, want string }{
	{"an OR of 1,000 arms", "SELECT count(*) AS n FROM t WHERE " + repeat(1000, " OR ", func(i int) string { return fmt.Sprintf("id = %d", 2*i) }), "25"},
	{"an OR of 1,000 ANDs", "SELECT count(*) AS n FROM t WHERE " + repeat(1000, " OR ", func(i int) string { return fmt.Sprintf("(id = %d AND v < 5)", i) }), "25"},
	{"an IN of 10,000 values", "SELECT count(*) AS n FROM t WHERE id IN (" + repeat(10000, ",", func(i int) string { return fmt.Sprint(3 * i) }) + ")", "16"},
	{"a NOT IN of 10,000 values", "SELECT count(*) AS n FROM t WHERE id NOT IN (" + repeat(10000, ",", func(i int) string { return fmt.Sprint(3 * i) }) + ")", "34"},
	{"200 joins by key", "SELECT count(*) AS n FROM t t0 " + repeat(200, " ", func(i int) string {
		return fmt.Sprintf("JOIN t t%d ON t%d.id = t%d.id", i+1, i+1, i)
	}), "50"},
	{"200 joins in a list", "SELECT count(*) AS n FROM " + repeat(200, ", ", func(i int) string { return fmt.Sprintf("t t%d", i) }) +
		" WHERE " + repeat(199, " AND ", func(i int) string { return fmt.Sprintf("t%d.id = t0.id", i+1) }), "50"},
	{"100 nested subqueries in FROM", strings.Repeat("SELECT n FROM (", 100) + "SELECT count(*) AS n FROM t" + repeat(100, "", func(i int) string { return fmt.Sprintf(") s%d", i) }), "50"},
	{"100 nested scalar subqueries", strings.Repeat("SELECT (", 100) + "SELECT max(id) FROM t" + strings.Repeat(") AS n", 100), "50"},
	{"100 nested IN subqueries", "SELECT count(*) AS n FROM t WHERE id IN (" + strings.Repeat("SELECT id FROM t WHERE id IN (", 99) + "SELECT id FROM t WHERE v = 3" + strings.Repeat(")", 100), "5"},
	{"1,600 columns", "SELECT sum(c1599) AS n FROM (SELECT " + repeat(1600, ", ", func(i int) string { return fmt.Sprintf("id + %d AS c%d", i, i) }) + " FROM t) s", "81225"},
	{"a UNION ALL of 1,000", "SELECT count(*) AS n FROM (" + repeat(1000, " UNION ALL ", func(i int) string { return fmt.Sprintf("SELECT id FROM t WHERE id = %d", i%100) }) + ") s", "500"},
	{"a CASE of 2,000 arms", "SELECT sum(CASE " + repeat(2000, " ", func(i int) string { return fmt.Sprintf("WHEN id = %d THEN %d", i, 2*i) }) + " END) AS n FROM t", "2550"},
	{"500 parentheses", "SELECT sum(" + strings.Repeat("(", 500) + "id" + strings.Repeat(" + 1)", 500) + ") AS n FROM t", "26275"},
	{"a sum of 1,500 terms", "SELECT sum(" + repeat(1500, " + ", func(int) string { return "id" }) + ") AS n FROM t", "1912500"},
	{"300 aggregates", "SELECT " + repeat(300, " + ", func(i int) string { return fmt.Sprintf("sum(id + %d)", i) }) + " AS n FROM t", "2625000"},
	{"300 common table expressions", "WITH " + repeat(300, ", ", func(i int) string {
		if i == 0 {
			return "c0 AS (SELECT id FROM t)"
		}
		return fmt.Sprintf("c%d AS (SELECT id FROM c%d)", i, i-1)
	}) + " SELECT count(*) AS n FROM c299", "50"},
	{"a text of 1 MB", "SELECT count(*) AS n FROM t WHERE id::text <> '" + strings.Repeat("x", 1<<20) + "'", "50"},
}

// hostileBytes bounds what all runs of a query may allocate, garbage included.
const hostileBytes = 1 << 30

// allocatesLess returns a function that checks what was allocated since.
func allocatesLess(t *testing.T, most uint64) func() {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() {
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		t.Logf("allocated %d MB", n>>20)
		if n > most {
			t.Errorf("allocated %d MB", n>>20)
		}
	}
}

// TestHostileQueries runs queries of an extreme size, at once and as views over a
// change: each is right, or refused as too complex before it does anything.
func TestHostileQueries(t *testing.T) {
	c := connect(t, open(t, config(t.TempDir())))
	c.exec("CREATE TABLE t (id int PRIMARY KEY, v int)")
	c.exec("INSERT INTO t SELECT i, i %% 10 FROM generate_series(1, 50) i")
	for _, q := range hostileQueries {
		t.Run(q.name, func(t *testing.T) {
			defer allocatesLess(t, hostileBytes)()
			c := &client{t, c.l}
			if !c.tooComplex(q.sql) {
				c.expect(q.sql, q.want)
			}
			if c.tooComplex("CREATE MATERIALIZED VIEW h AS " + q.sql) {
				return
			}
			c.expect("SELECT n FROM h", q.want)
			c.exec("DELETE FROM t WHERE id > 25")
			if got, want := c.query("SELECT n FROM h"), c.query(q.sql); got[0] != want[0] {
				t.Errorf("after a delete the view has %s, the query gives %s", got, want)
			}
			c.exec("INSERT INTO t SELECT i, i %% 10 FROM generate_series(26, 50) i")
			c.expect("SELECT n FROM h", q.want)
			c.exec("DROP MATERIALIZED VIEW h")
		})
	}
}

// tooComplex runs a statement and reports whether it is refused for its size;
// another error fails the test.
func (c *client) tooComplex(sql string) bool {
	c.t.Helper()
	err := c.try("%s", sql)
	switch {
	case err == nil:
		return false
	case pgerr.From(err).Code == pgerr.StatementTooComplex, pgerr.From(err).Code == pgerr.TooManyColumns:
		c.t.Logf("refused: %v", err)
		return true
	}
	c.t.Fatalf("%.200s…: %v", sql, err)
	return false
}

func (c *client) expect(sql, want string) {
	c.t.Helper()
	if got := c.query(sql); len(got) != 1 || got[0] != want {
		c.t.Errorf("%.200s…: %v, want %s", sql, got, want)
	}
}
