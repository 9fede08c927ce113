package engine

import (
	"fmt"
	"strings"
	"testing"
)

// A view that is slower than its source holds the source back: what was read and
// is in no epoch yet stays bounded however long it lasts, other statements go
// through, the slow view can be dropped at once, and once the source ends the rest
// drains.
func TestOverloadIsBounded(t *testing.T) {
	f := newFeed()
	e := open(t, withConnectors(t.TempDir(), f.definition()))
	f.allow(1 << 40)
	c := connect(t, e)
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE TABLE fan (k int, x int)")
	c.exec("INSERT INTO fan SELECT 0, g FROM generate_series(1, 100) g")
	c.exec("CREATE MATERIALIZED VIEW slow AS SELECT count(x) / 100 AS n FROM s JOIN fan ON fan.k = s.n %% 1")
	// behind is how many rows were read that the committed epoch lacks.
	behind := func() int64 {
		var n int64
		read := e.Progress("slow").Rows
		fmt.Sscan(c.one("SELECT n FROM slow"), &n)
		return read - n
	}
	until := func(rows int64) (most int64) {
		poll(t, func() bool {
			most = max(most, behind())
			return e.Progress("slow").Rows >= rows
		}, func() string { return c.one("SHOW JOBS") })
		return most
	}
	early, late := until(20_000), until(80_000)
	if late > 3*early+30_000 {
		t.Errorf("%d rows wait after 80,000, %d did at the beginning", late, early)
	}
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t VALUES (1)")
	c.exec("DROP MATERIALIZED VIEW slow")
	c.exec("CREATE MATERIALIZED VIEW drains AS SELECT count(x) / 10 AS n, max(n) AS hi FROM s JOIN fan ON fan.k = s.n %% 1 AND x <= 10")
	poll(t, func() bool { return e.Progress("drains").Rows > 2_000 }, func() string { return c.one("SHOW JOBS") })
	f.set(func() { f.limit = 0 })
	poll(t, func() bool {
		n, hi, _ := strings.Cut(c.one("SELECT n, hi + 1 FROM drains"), "|")
		return n == hi && n == fmt.Sprint(e.Progress("drains").Rows)
	}, func() string {
		return c.one("SELECT n, hi + 1 FROM drains") + fmt.Sprint(e.Progress("drains").Rows) + c.one("SHOW JOBS")
	})
}
