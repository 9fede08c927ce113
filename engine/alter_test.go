package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
)

// TestAlterUnderTraffic: while columns come and go, writers and readers see the
// table in one of its shapes, no write is lost, and a view goes on.
func TestAlterUnderTraffic(t *testing.T) {
	cfg := config(t.TempDir())
	e := open(t, cfg)
	c := connect(t, e)
	c.exec("CREATE TABLE t (id int PRIMARY KEY, a int, k int UNIQUE)")
	c.exec("CREATE TABLE bag (id int, a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
	c.exec("CREATE MATERIALIZED VIEW j AS SELECT t.id, bag.a FROM t JOIN bag ON t.id = bag.id")
	var done atomic.Bool
	var wg sync.WaitGroup
	var written [3]int
	for w := range written {
		c := connect(t, e)
		wg.Go(func() {
			for n := 0; !done.Load(); n++ {
				id := w*1000000 + n
				for _, q := range []string{"INSERT INTO t (id, a, k) VALUES (%[1]d, %[1]d %% 3, %[1]d)", "INSERT INTO bag (id, a) VALUES (%[1]d, 1)"} {
					if err := c.try(q, id); err != nil {
						t.Errorf("%s: %v", fmt.Sprintf(q, id), err)
					}
				}
				written[w]++
				for _, q := range []string{fmt.Sprintf("SELECT a, id, k FROM t WHERE id = %d", id), fmt.Sprintf("SELECT a, id, k FROM t WHERE k = %d", id)} {
					if got, want := c.query(q), fmt.Sprintf("%d|%d|%d", id%3, id, id); len(got) != 1 || got[0] != want {
						t.Errorf("%s: %v, want %s", q, got, want)
					}
				}
				c.exec("BEGIN")
				err := c.try("UPDATE t SET a = a WHERE id = %d", id)
				if end := c.try("COMMIT"); err == nil {
					err = end
				}
				if err != nil && pgerr.CodeOf(err) != pgerr.SerializationFailure {
					t.Error(err)
				}
			}
		})
	}
	for i := range 8 {
		c.exec("ALTER TABLE t ADD COLUMN x int DEFAULT %d, ADD y text", i)
		c.exec("ALTER TABLE bag ADD COLUMN x%d text DEFAULT 'x'", i)
		c.exec("ALTER TABLE t DROP COLUMN x, ALTER COLUMN y TYPE varchar(9)")
		c.exec("ALTER TABLE t DROP COLUMN y")
	}
	done.Store(true)
	wg.Wait()
	want := fmt.Sprint(written[0] + written[1] + written[2])
	check := func(c *client) {
		t.Helper()
		for _, q := range []string{"SELECT count(*) FROM t", "SELECT sum(n) FROM v", "SELECT count(*) FROM j", "SELECT count(*) FROM bag WHERE x0 = 'x' AND x7 = 'x'",
			"SELECT count(*) FROM t WHERE k >= 0"} {
			if got := c.query(q); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %v, want %s", q, got, want)
			}
		}
		c.exec("CHECK MATERIALIZED VIEW v")
		c.exec("CHECK MATERIALIZED VIEW j")
	}
	check(c)
	e.Close()
	check(connect(t, open(t, cfg)))
}
