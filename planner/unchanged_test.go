package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

func streamPlan(t *testing.T, c *catalog.Catalog, query string) plan.Node {
	t.Helper()
	st, err := sql.Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	s, err := testPlanner(c, query).PlanStream(st[0].Stmt.(*sql.Select), Target{Rel: 1})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s.Root
}

func inList(last int) string {
	var l []string
	for i := range 30 {
		l = append(l, fmt.Sprint(i*i))
	}
	return strings.Join(append(l, fmt.Sprint(last)), ", ")
}

// Two plans of one query are the same, whatever is in it.
func TestUnchanged(t *testing.T) {
	c := testCatalog(t)
	for _, q := range []string{
		"SELECT a, b + 1 AS x, c || 'y' AS y, d * 1.5 AS z FROM t WHERE b > 3 AND c LIKE 'a%'",
		"SELECT b, count(*), sum(d), array_agg(c ORDER BY a DESC), count(DISTINCT c) FILTER (WHERE a > 1) AS n FROM t GROUP BY b HAVING count(*) > 2",
		"SELECT t.a, u.f FROM t LEFT JOIN u ON t.a = u.a AND u.f < t.c",
		"SELECT a FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.a = t.a)",
		"SELECT a FROM t WHERE b NOT IN (SELECT a FROM u)",
		"SELECT a, (SELECT max(b) FROM u WHERE u.a = t.a), (SELECT u.f FROM u WHERE u.a = t.b) AS f FROM t",
		"SELECT a FROM t UNION SELECT a FROM u EXCEPT ALL SELECT v FROM pairs",
		"SELECT a, sum(b) OVER (PARTITION BY c ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), lag(b) OVER (PARTITION BY c ORDER BY a) FROM t",
		"SELECT DISTINCT ON (b) a, b FROM t ORDER BY b, a DESC",
		"SELECT a, b FROM t ORDER BY b LIMIT 10",
		"WITH RECURSIVE r (x) AS (SELECT a FROM t UNION SELECT t.b FROM t JOIN r ON t.a = r.x) SELECT x FROM r",
		"SELECT a, x FROM t, generate_series(1, t.b) x",
		"SELECT id, j->>'a' AS p, date_trunc('day', e) AS q, e::text AS r, e::date AS s, text(b) AS t FROM docs JOIN u ON u.a = id",
		"SELECT d::date AS p, date_trunc('day', d) AS q, d::text AS r, d + interval '1 day' AS s FROM g",
		"SELECT a, now() - e AS since FROM u WHERE e < now() - interval '1 day'",
		"SELECT auction, count(*) FROM bids WHERE price > 10 GROUP BY auction",
		"SELECT CASE WHEN a IN (" + inList(1) + ") THEN ROW(a, c)::text ELSE coalesce(c, 'x') END AS p, greatest(a, b) AS q, ARRAY[a, b] AS r FROM t",
	} {
		if !Unchanged(streamPlan(t, c, q), streamPlan(t, c, q)) {
			t.Errorf("%s: another plan than its own", q)
		}
	}
	if !Unchanged(streamPlan(t, c, "SELECT a AS x FROM t AS y WHERE b > 3"), streamPlan(t, c, "SELECT z.a FROM t z WHERE z.b > 3")) {
		t.Error("names matter")
	}
}

// What differs in anything is not taken for the same.
func TestChanged(t *testing.T) {
	c := testCatalog(t)
	for _, q := range []struct{ query, from, to string }{
		{"SELECT a, sum(b) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t", "2 PRECEDING", "3 PRECEDING"},
		{"SELECT a, sum(b) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t", "ROWS", "GROUPS"},
		{"SELECT a, sum(b) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t", "CURRENT ROW", "CURRENT ROW EXCLUDE TIES"},
		{"SELECT a FROM t WHERE a IN (" + inList(1001) + ")", "1001", "1002"},
		{"SELECT a FROM t WHERE d = 1.0", "1.0", "1.00"},
		{"SELECT count(*) FROM t", "*", "b"},
		{"SELECT array_agg(a ORDER BY b) FROM t", "BY b", "BY b DESC"},
		{"SELECT sum(a) FROM t", "sum(a)", "sum(a) FILTER (WHERE b > 0)"},
		{"SELECT a::bigint FROM t", "bigint", "numeric"},
		{"SELECT b FROM u WHERE a = 1", "SELECT b", "SELECT e"},
		{"SELECT t.a FROM t LEFT JOIN u ON t.a = u.a", "LEFT", "FULL"},
		{"SELECT a FROM t ORDER BY b LIMIT 10", "10", "10 OFFSET 1"},
		{"SELECT a FROM t ORDER BY b LIMIT 10", "b LIMIT", "b NULLS FIRST LIMIT"},
		{"SELECT c FROM t INTERSECT SELECT f FROM u", "INTERSECT", "INTERSECT ALL"},
		{"WITH RECURSIVE r (x) AS (SELECT a FROM t UNION SELECT t.b FROM t JOIN r ON t.a = r.x) SELECT x FROM r", "UNION", "UNION ALL"},
	} {
		to := strings.Replace(q.query, q.from, q.to, 1)
		if Unchanged(streamPlan(t, c, q.query), streamPlan(t, c, to)) {
			t.Errorf("%s: the same as %s", to, q.query)
		}
	}
	if Unchanged(streamPlan(t, c, "SELECT a FROM u WHERE e < now() - interval '1 day'"), streamPlan(t, c, "SELECT a FROM u WHERE e < now() - interval '2 days'")) {
		t.Error("another time is the same")
	}
	// What depends on when it is, or on the catalog, differs from itself.
	for _, q := range []string{
		"SELECT f::date FROM u", "SELECT f::timestamptz FROM u", "SELECT current_setting(c) FROM t",
		"SELECT c::regclass FROM t", "SELECT tags::date[] FROM docs",
	} {
		if Unchanged(streamPlan(t, c, q), streamPlan(t, c, q)) {
			t.Errorf("%s: the same at all times", q)
		}
	}
}
