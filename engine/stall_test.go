package engine

import (
	"testing"
	"time"
)

// A barrier that never comes ends its epoch with an error, and the graph goes on
// from its last committed epoch.
func TestLostBarrierEndsTheEpoch(t *testing.T) {
	e := open(t, config(t.TempDir()))
	e.StallCheck = 200 * time.Millisecond
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS s FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT n + s AS x FROM v")
	c.exec("INSERT INTO t VALUES (1, 10)")

	e.LoseBarriers("w")

	if got := code(c.try("INSERT INTO t VALUES (2, 20)")); got != "XX000" {
		t.Fatalf("the write into a stalled graph ended with %q, want XX000", got)
	}
	c.want("SELECT k FROM t", "1")
	c.exec("INSERT INTO t VALUES (3, 30)")
	c.want("SELECT n, s FROM v", "2|40")
	c.want("SELECT x FROM w", "42")
}
