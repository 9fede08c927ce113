package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
)

// branches is a query of n parts that each count by another key.
func branches(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("SELECT %d AS part, a %% %d AS k, count(*) AS n, max(a) AS top FROM t GROUP BY a %% %d", i, i%7+1, i%7+1)
	}
	return strings.Join(parts, " UNION ALL ")
}

// The state of hundreds of fragments is told apart after a restart, also when it is
// taken over by a new query; what is too large is refused.
func TestManyFragments(t *testing.T) {
	cfg := config(t.TempDir())
	e := open(t, cfg)
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int PRIMARY KEY)")
	c.exec("INSERT INTO t SELECT * FROM generate_series(1, 50)")
	q := branches(300)
	c.exec("CREATE MATERIALIZED VIEW v AS %s", q)
	check := func(sum string) {
		t.Helper()
		c.want("CHECK MATERIALIZED VIEW v", "")
		c.want("SELECT count(*), sum(n) FROM v", sum)
	}
	check("1197|15000")
	for range 2 {
		e.Close()
		e = open(t, cfg)
		c = connect(t, e)
		c.exec("INSERT INTO t SELECT max(a) + 1 FROM t")
		c.exec("DELETE FROM t WHERE a = (SELECT min(a) FROM t)")
		check("1197|15000")
	}
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT part, k, n + 1 AS n, top FROM (%s) x", q)
	c.exec("DELETE FROM t WHERE a > 40")
	c.want("CHECK MATERIALIZED VIEW v", "")
	if err := c.try("CREATE MATERIALIZED VIEW w AS %s", branches(2100)); pgerr.From(err).Code != pgerr.StatementTooComplex {
		t.Fatalf("2100 parts: %v", err)
	}
	c.want("SELECT count(*) FROM pg_class WHERE relname = 'w'", "0")
}
