package engine

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
)

// restarted runs check on a server, and again after a restart.
func restarted(t *testing.T, e *Engine, again func() *Engine, check func(c *client)) *client {
	t.Helper()
	check(connect(t, e))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, again())
	check(c)
	return c
}

// A view that reads tables is built anew, and all that it had stopped goes on with the
// difference: views, indexes, and sinks, which deliver nothing twice.
func TestResumeOfAViewOverTables(t *testing.T) {
	dir, s := t.TempDir(), &targetSink{}
	var broken atomic.Bool
	again := func() *Engine {
		e := open(t, withConnectors(dir, s.definition()))
		e.Fault = func(job string) error {
			if strings.HasPrefix(job, "v") && broken.Load() {
				return errors.New("injected fault")
			}
			return nil
		}
		return e
	}
	e := again()
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, g int, a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT g, sum(a) AS s FROM t GROUP BY g")
	c.exec("CREATE INDEX ix ON v (s)")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT sum(s) AS s FROM v")
	c.exec("CREATE MATERIALIZED VIEW joined AS SELECT v.g, t.k FROM v JOIN t ON t.g = v.g")
	c.exec("CREATE SINK k AS SELECT s::int AS s FROM w WITH (connector = 'target')")
	c.exec("INSERT INTO t VALUES (1, 1, 10), (2, 2, 20)")
	if err := c.try("ALTER MATERIALIZED VIEW v RESUME"); code(err) != "55000" {
		t.Fatal(err)
	}
	broken.Store(true)
	c.exec("INSERT INTO t VALUES (3, 1, 100)")
	c.exec("DELETE FROM t WHERE k = 2")
	c.exec("INSERT INTO t VALUES (4, 4, 7)")
	for _, j := range []string{"v", "w", "joined", "k"} {
		if st, msg := c.status(j); st != "failed" {
			t.Fatal(j, st, msg)
		}
	}
	for _, st := range []string{"ALTER MATERIALIZED VIEW w RESUME", "ALTER SINK k RESUME"} {
		if err := c.try("%s", st); code(err) != "55000" || !strings.Contains(err.Error(), "which this reads, has failed") {
			t.Fatal(st, err)
		}
	}
	for _, st := range []string{"ALTER SINK t RESUME", "ALTER MATERIALIZED VIEW t RESUME"} {
		if err := c.try("%s", st); code(err) != "42809" {
			t.Fatal(st, err)
		}
	}
	// It fails again as long as the fault is there, and the old rows stay.
	if err := c.try("ALTER MATERIALIZED VIEW v RESUME"); err == nil || !strings.Contains(err.Error(), "injected fault") {
		t.Fatal(err)
	}
	c.want("SELECT g, s FROM v ORDER BY g", "1|10\n2|20")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	e = again()
	c = connect(t, e)
	if st, msg := c.status("v"); st != "failed" {
		t.Fatal(st, msg)
	}
	c.exec("ALTER MATERIALIZED VIEW v RESUME")
	if st, _ := c.status("joined"); st != "failed" {
		t.Fatal("a view that has missed changes of a table goes on")
	}
	c.exec("ALTER MATERIALIZED VIEW IF EXISTS joined RESUME")
	n := 0
	c = restarted(t, e, again, func(c *client) {
		for _, j := range []string{"v", "w", "joined", "k"} {
			if st, msg := c.status(j); st != "running" {
				t.Fatal(j, st, msg)
			}
		}
		n++
		c.exec("INSERT INTO t VALUES (%d, 1, 1)", 10*n)
		for v, q := range map[string]string{"v": "SELECT g, sum(a) AS s FROM t GROUP BY g", "w": "SELECT sum(a) AS s FROM t", "joined": "SELECT g, k FROM t"} {
			c.same("SELECT * FROM ("+q+") q EXCEPT ALL SELECT * FROM "+v, "SELECT * FROM "+v+" EXCEPT ALL ("+q+")")
		}
		c.want("SELECT g FROM v WHERE s = 7", "4")
	})
	want := "+1:<nil> +1:30 +1:117 +1:118 +1:119"
	delivered := func() (rows string) { s.set(func() { rows = strings.Join(s.rows, " ") }); return rows }
	poll(t, func() bool { return delivered() == want }, delivered)
}

// A job that reads sources alone goes on where it was.
func TestResumeOfJobsOverSources(t *testing.T) {
	f, s, dir := newFeed(), &targetSink{}, t.TempDir()
	again := func() *Engine { return open(t, withConnectors(dir, f.definition(), s.definition())) }
	e := again()
	c := connect(t, e)
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(n) AS s FROM s")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT n FROM v")
	c.exec("CREATE SINK k FROM s WITH (connector = 'target')")
	f.allow(1000)
	delivered := func() (n int) { s.set(func() { n = len(s.rows) }); return n }
	poll(t, func() bool { return c.one("SELECT n FROM w") == "1000" && delivered() == 1000 }, func() string { return c.one("SHOW JOBS") })
	f.set(func() { f.broken, f.gone = 1<<30, 500 }) // the first records are there no more
	f.allow(2000)
	for _, j := range []string{"v", "w", "k"} {
		c.awaitStatus(j, "failed")
		awaitRecorded(t, e, j)
	}
	f.set(func() { f.broken = 0 })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = again()
	c = connect(t, e)
	c.awaitStatus("v", "failed")
	c.awaitStatus("k", "failed")
	c.exec("ALTER MATERIALIZED VIEW v RESUME")
	c.exec("ALTER SINK k RESUME")
	restarted(t, e, again, func(c *client) {
		poll(t, func() bool {
			return c.one("SELECT v.n, s, w.n FROM v, w") == "2000|1999000|2000" && delivered() == 2000
		}, func() string { return c.one("SHOW JOBS") })
		for _, j := range []string{"v", "w", "k"} {
			if st, msg := c.status(j); st != "running" {
				t.Fatal(j, st, msg)
			}
		}
	})
}

// awaitRecorded waits until the failure of a job is committed, which its status does
// not wait for.
func awaitRecorded(t *testing.T, e *Engine, job string) {
	o := e.Catalog.Current().In(catalog.DatabaseOID).Get("public", job)
	poll(t, func() bool {
		_, ok, err := e.Store.MetaGet(jobs.FailedKey(catalog.StoreID(o)))
		return ok && err == nil
	}, func() string { return job + " is not recorded as failed" })
}

// What the data makes fail fails again until they are corrected.
func TestResumeAfterBadData(t *testing.T) {
	s := &targetSink{}
	e := open(t, withConnectors(t.TempDir(), s.definition()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, b int)")
	c.exec("CREATE MATERIALIZED VIEW v WITH (on_error = 'fail') AS SELECT a / b AS q FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM v")
	c.exec("CREATE SINK k AS SELECT a / b AS q FROM t WITH (connector = 'target', on_error = 'fail')")
	c.exec("INSERT INTO t VALUES (10, 2)")
	c.exec("INSERT INTO t VALUES (7, 0)")
	c.awaitStatus("v", "failed")
	if err := c.try("ALTER MATERIALIZED VIEW v RESUME"); code(err) != "22012" {
		t.Fatal(err)
	}
	c.want("SELECT q FROM v", "5")
	c.exec("UPDATE t SET b = 7 WHERE b = 0")
	c.exec("ALTER MATERIALIZED VIEW v RESUME")
	c.exec("INSERT INTO t VALUES (9, 3)")
	c.want("SELECT q FROM v ORDER BY q", "1\n3\n5")
	c.want("SELECT n FROM w", "3")
	if err := c.try("ALTER SINK k RESUME"); code(err) != "55000" || !strings.Contains(err.Error(), "passed it by") {
		t.Fatal(err)
	}
	if err := c.try("ALTER SINK k PAUSE"); code(err) != "0A000" {
		t.Fatal(err)
	}
}
