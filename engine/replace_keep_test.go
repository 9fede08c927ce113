package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
)

// keptCases are queries over a relation {r} (n bigint), each with all its state in
// operators that another query above it can go on with.
var keptCases = []struct{ name, query, more, cond string }{
	{"groups", "SELECT n % 10 AS k, count(*) AS c, max(n) AS m, sum(n) AS x FROM {r} GROUP BY n % 10", "q.c + 1", "q.c > 3"},
	{"total", "SELECT count(*) AS c, sum(n) AS x FROM {r}", "q.c * 2", "q.c > 0"},
	{"once", "SELECT DISTINCT n % 7 AS k FROM {r}", "q.k + 1", "true"},
	{"objects", "SELECT n % 5 AS k, count(DISTINCT n % 11) AS c, array_agg(n ORDER BY n DESC) AS a FROM {r} GROUP BY n % 5", "cardinality(q.a)", "q.c > 1"},
	{"pairs", "SELECT a.n, b.n AS m FROM {r} a JOIN {r} b ON a.n = b.n + 1", "q.n + q.m", "true"},
	{"leftjoin", "SELECT a.n, b.m FROM (SELECT n, nullif(n % 3, 0) AS k FROM {r}) a LEFT JOIN (SELECT n AS m FROM {r} WHERE n < 2) b ON a.k = b.m", "coalesce(q.m, -1)", "true"},
	{"fulljoin", "SELECT a.n, b.m FROM (SELECT n, nullif(n % 30, 0) AS k FROM {r}) a FULL JOIN (SELECT n AS m FROM {r} WHERE n < 40) b ON a.k = b.m AND a.n < b.m + 100", "coalesce(q.m, q.n)", "true"},
	{"semi", "SELECT n FROM {r} a WHERE EXISTS (SELECT FROM {r} b WHERE b.n = a.n + 5)", "q.n + 1", "true"},
	{"anti", "SELECT n FROM {r} a WHERE NOT EXISTS (SELECT FROM {r} b WHERE b.n = nullif(a.n + 5, 17))", "q.n + 1", "true"},
	{"notin", "SELECT n FROM {r} WHERE n % 100 NOT IN (SELECT n FROM {r} WHERE n BETWEEN 3 AND 9)", "q.n + 1", "true"},
	{"less", "SELECT n % 50 AS n FROM {r} EXCEPT SELECT n FROM {r} WHERE n < 20", "q.n + 1", "true"},
	{"common", "SELECT n % 50 AS n FROM {r} INTERSECT ALL SELECT n % 60 FROM {r}", "q.n + 1", "true"},
	{"top", "SELECT n FROM {r} ORDER BY n % 17 DESC, n LIMIT 5", "q.n * 2", "true"},
	{"ties", "SELECT n % 17 AS k FROM {r} ORDER BY n % 17 DESC FETCH FIRST 3 ROWS WITH TIES", "q.k * 2", "true"},
	{"latest", "SELECT DISTINCT ON (n % 5) n % 5 AS k, n FROM {r} ORDER BY n % 5, n DESC", "q.n * 2", "true"},
	{"ranked", "SELECT k, n, r FROM (SELECT n % 5 AS k, n, row_number() OVER (PARTITION BY n % 5 ORDER BY n DESC) AS r FROM {r}) x WHERE r <= 2", "q.n * 2", "true"},
	{"windows", "SELECT n, lag(n) OVER (PARTITION BY n % 5 ORDER BY n) AS l, sum(n) OVER (PARTITION BY n % 5 ORDER BY n) AS s FROM {r}", "q.s - q.n", "q.l IS NOT NULL"},
	{"reached", "WITH RECURSIVE w (x) AS (SELECT n FROM {r} WHERE n < 3 UNION SELECT s.n FROM {r} s JOIN w ON s.n = w.x + 3) SELECT x FROM w", "q.x + 1", "true"},
	{"scalar", "SELECT n, (SELECT max(n) FROM {r}) AS m FROM {r} WHERE n % 10 = 0", "q.m - q.n", "true"},
	{"past", "SELECT n FROM {r} WHERE timestamptz '2020-01-01 00:00+00' + n * interval '1 day' < now()", "q.n + 1", "true"},
	{"united", "SELECT 'a' AS w, count(*) AS c FROM {r} UNION ALL SELECT 'b', count(*) FROM {r} WHERE n > 5", "q.c + 1", "q.c > 1"},
	{"above", "SELECT k, max(c) AS c FROM (SELECT n % 20 AS j, n % 4 AS k, count(*) AS c FROM {r} GROUP BY n % 20, n % 4) x GROUP BY k", "q.c + 1", "q.c > 1"},
}

// over returns the query of case i, or the one that takes its place, over a relation.
func over(i int, replaced bool, rel string) string {
	k := keptCases[i]
	q := strings.ReplaceAll(k.query, "{r}", rel)
	if replaced {
		q = fmt.Sprintf("SELECT q.*, %s AS more FROM (%s) q WHERE %s", k.more, q, k.cond)
	}
	return q
}

// sorted returns the rows of a query in order.
func (c *client) sorted(q string) string {
	rows := c.query(q)
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// The new view goes on with the state of what is the same in both queries: of the
// records that the source no longer has nothing is lost.
func TestReplaceKeepsWhatTheSourceNoLongerHas(t *testing.T) {
	for _, par := range []int{1, 2} {
		t.Run(fmt.Sprint(par), func(t *testing.T) {
			f := newFeed()
			cfg := withConnectors(t.TempDir(), f.definition())
			cfg.Parallelism = par
			if par == 1 {
				cfg.ChunkRows = 1
			}
			e := open(t, cfg)
			e.BackfillRows = 3
			c := connect(t, e)
			c.exec("CREATE SOURCE s WITH (connector = 'feed')")
			c.exec("CREATE TABLE t (n bigint)")
			at := 0
			grow := func(n int) {
				c.exec("INSERT INTO t SELECT generate_series(%d, %d)", at, n-1)
				f.allow(int64(n))
				at = n
			}
			check := func(replaced bool) {
				t.Helper()
				for i, k := range keptCases {
					var got, want string
					poll(t, func() bool {
						got, want = c.sorted("SELECT * FROM "+k.name), c.sorted(over(i, replaced, "t"))
						return got == want
					}, func() string {
						st, msg := c.status(k.name)
						return fmt.Sprintf("%s (%s %s):\n%s\nwant\n%s", k.name, st, msg, got, want)
					})
				}
			}
			grow(90)
			for i, k := range keptCases {
				c.exec("CREATE MATERIALIZED VIEW %s AS %s", k.name, over(i, false, "s"))
			}
			check(false)
			f.set(func() { f.gone = 90 })
			for i, k := range keptCases {
				c.exec("CREATE OR REPLACE MATERIALIZED VIEW %s AS %s", k.name, over(i, true, "s"))
				if got, want := c.sorted("SELECT * FROM "+k.name), c.sorted(over(i, true, "t")); got != want {
					t.Fatalf("%s:\n%s\nwant\n%s", k.name, got, want)
				}
			}
			grow(130)
			check(true)
			e.Close()
			e = open(t, cfg)
			c = connect(t, e)
			check(true)
			grow(160)
			check(true)
		})
	}
}

// Over tables no row is read again, and what reads the views follows.
func TestReplaceKeepsStateOverTables(t *testing.T) {
	for _, shared := range []string{"off", "on"} {
		t.Run(shared, func(t *testing.T) {
			dir := t.TempDir()
			e := open(t, config(dir))
			c := connect(t, e)
			c.exec("SET shared_arrangements = '%s'", shared)
			c.exec("CREATE TABLE t (n bigint PRIMARY KEY)")
			c.exec("INSERT INTO t SELECT generate_series(0, 89)")
			for i, k := range keptCases {
				c.exec("CREATE MATERIALIZED VIEW %s AS %s", k.name, over(i, false, "t"))
				c.exec("CREATE MATERIALIZED VIEW %s_n AS SELECT count(*) AS n FROM %s", k.name, k.name)
			}
			c.exec("DELETE FROM t WHERE n %% 8 = 3")
			c.exec("INSERT INTO t SELECT generate_series(90, 120)")
			check := func() {
				t.Helper()
				for i, k := range keptCases {
					c.want("CHECK MATERIALIZED VIEW "+k.name, "")
					c.want("CHECK MATERIALIZED VIEW "+k.name+"_n", "")
					if got, want := c.sorted("SELECT * FROM "+k.name), c.sorted(over(i, true, "t")); got != want {
						t.Fatalf("%s:\n%s\nwant\n%s", k.name, got, want)
					}
				}
			}
			for i, k := range keptCases {
				c.exec("CREATE OR REPLACE MATERIALIZED VIEW %s AS %s", k.name, over(i, true, "t"))
				if n := e.JobOf(e.Catalog.Current().In(catalog.DatabaseOID).Get("public", k.name).Header().OID).Backfilled.Load(); n != 0 {
					t.Errorf("%s: %d rows were read again", k.name, n)
				}
			}
			check()
			c.exec("UPDATE t SET n = n + 1000 WHERE n %% 3 = 0")
			c.exec("DELETE FROM t WHERE n BETWEEN 20 AND 30")
			check()
			e.Close()
			e = open(t, config(dir))
			c = connect(t, e)
			c.exec("INSERT INTO t VALUES (0), (27)")
			c.exec("DELETE FROM t WHERE n > 1050")
			check()
		})
	}
}

// What an operator has reported stays reported as long as its state is kept, and is
// taken back with the row; what is built anew reports anew.
func TestReplaceKeepsErrors(t *testing.T) {
	dir := t.TempDir()
	e := open(t, config(dir))
	c := connect(t, e)
	errs := func(want string) {
		t.Helper()
		c.want("SELECT job, input_row, count(*) FROM streamdb_catalog.view_errors GROUP BY 1, 2 ORDER BY 2", want)
		c.want("CHECK MATERIALIZED VIEW v", "")
	}
	c.exec("CREATE TABLE t (a int, b int)")
	c.exec("INSERT INTO t VALUES (1, 5), (0, 5), (2, 6), (0, 6), (0, 6)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT b, 12 / (n - 1) AS q FROM (SELECT b, count(*) AS n, sum(10 / a) AS s FROM t GROUP BY b) x WHERE s IS NOT NULL")
	errs("v|(0, 5)|1\nv|(0, 6)|2\nv|(5, 1, 10)|1\nv|(6, 1, 5)|1")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT b, 12 / (n - 2) AS q FROM (SELECT b, count(*) AS n, sum(10 / a) AS s FROM t GROUP BY b) x WHERE s IS NOT NULL")
	if n := e.JobOf(e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "v").Header().OID).Backfilled.Load(); n != 0 {
		t.Fatalf("%d rows were read again", n)
	}
	errs("v|(0, 5)|1\nv|(0, 6)|2")
	c.want("SELECT b, q FROM v ORDER BY b", "5|-12\n6|-12")
	c.exec("INSERT INTO t VALUES (3, 5)")
	errs("v|(0, 5)|1\nv|(0, 6)|2\nv|(5, 2, 13)|1")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT b, n AS q FROM (SELECT b, count(*) AS n, sum(10 / a) AS s FROM t GROUP BY b) x WHERE s IS NOT NULL")
	errs("v|(0, 5)|1\nv|(0, 6)|2")
	e.Close()
	e = open(t, config(dir))
	c = connect(t, e)
	c.exec("DELETE FROM t WHERE a = 0 AND b = 6")
	errs("v|(0, 5)|1")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v WITH (on_error = 'dead_letter') AS SELECT b, max(n) AS q FROM (SELECT b, count(*) AS n, sum(10 / a) AS s FROM t GROUP BY b) x GROUP BY b")
	c.exec("UPDATE t SET a = 1 WHERE a = 0")
	errs("")
}

// Nothing is kept where rows that fail are treated in another way, or times mean
// something else.
func TestReplaceKeepsNothing(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, z timestamptz)")
	c.exec("INSERT INTO t VALUES (1, '2026-01-01 00:00+00'), (0, '2026-01-01 12:00+00')")
	q := "SELECT z::date AS d, count(*) AS n, sum(10 / a) AS s FROM t GROUP BY z::date"
	again := func() int64 {
		return e.JobOf(e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "v").Header().OID).Backfilled.Load()
	}
	c.exec("SET timezone = 'UTC'")
	c.exec("CREATE MATERIALIZED VIEW v AS %s", q)
	c.want("SELECT d, n, s FROM v", "2026-01-01|1|10")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT d, n, s + 1 AS s FROM (%s) x", q)
	if again() != 0 {
		t.Error("t was read again")
	}
	c.exec("SET timezone = 'America/New_York'")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS %s", q)
	c.want("SELECT d, n, s FROM v", "2025-12-31|1|10")
	if again() == 0 {
		t.Error("days of another zone were kept")
	}
	if err := c.try("CREATE OR REPLACE MATERIALIZED VIEW v WITH (on_error = 'fail') AS %s", q); code(err) != "22012" {
		t.Error(err)
	}
	c.want("SELECT d, n, s FROM v", "2025-12-31|1|10")
}

// The client is told what is kept, and before the statement too.
func TestReplaceTellsWhatIsKept(t *testing.T) {
	f := newFeed()
	f.allow(20)
	e := open(t, withConnectors(t.TempDir(), f.definition()))
	c := connect(t, e)
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT n %% 10 AS k, count(*) AS c FROM s GROUP BY n %% 10")
	for _, x := range []struct{ query, notes, notices string }{
		{"SELECT c, count(*) AS k FROM (SELECT n % 10 AS k, count(*) AS c FROM s GROUP BY n % 10) q GROUP BY c",
			"Hash Aggregate (built anew), Hash Aggregate (state kept)", "the state of 1 of 2 operators was kept"},
		{"SELECT c, count(*) AS k FROM (SELECT n % 9 AS k, count(*) AS c FROM s GROUP BY n % 9) q GROUP BY c",
			"Hash Aggregate (built anew), Hash Aggregate (built anew), Source Scan on s (n) (read again)",
			"the state of 0 of 2 operators was kept, source \"s\" is read again from where CREATE MATERIALIZED VIEW begins"},
		{"SELECT n FROM s", "Source Scan on s (n) (read again)", "source \"s\" is read again from where CREATE MATERIALIZED VIEW begins"},
	} {
		var notes []string
		for _, l := range c.query("EXPLAIN CREATE OR REPLACE MATERIALIZED VIEW v AS " + x.query) {
			title, note, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(l), "->  "), "  [")
			_, note, noted := strings.Cut(note, "]  (")
			if ok && noted {
				notes = append(notes, title+" ("+note)
			}
		}
		if got := strings.Join(notes, ", "); got != x.notes {
			t.Errorf("%s: %s", x.query, got)
		}
		c.l.Notices = nil
		c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS %s", x.query)
		if got := strings.Join(c.l.Notices, ", "); got != x.notices {
			t.Errorf("%s: %s", x.query, got)
		}
	}
	c.want("EXPLAIN CREATE OR REPLACE MATERIALIZED VIEW other AS SELECT n FROM s", c.one("EXPLAIN CREATE MATERIALIZED VIEW other AS SELECT n FROM s"))
}

// A fork that fails, is cancelled or is overtaken by DROP leaves the old view as it
// was, and nothing of the copy.
func TestReplaceWhoseForkFails(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c, d := connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t SELECT generate_series(1, 50)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a %% 5 AS k, count(*) AS n FROM t GROUP BY a %% 5")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT sum(n) AS n FROM v")
	again := "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT k, n * 2 AS n FROM (SELECT a % 5 AS k, count(*) AS n FROM t GROUP BY a % 5) q"
	old := e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "v").Header().OID
	clean := func() {
		t.Helper()
		_ = e.Store.MetaScan([]byte("creating/"), func(k, _ []byte) error { t.Fatalf("%q is left", k); return nil })
		if n := len(e.ReplacingJobs()); n > 0 {
			t.Fatalf("%d replacements are left", n)
		}
	}
	isCopy := func(c *state.Commit) bool {
		return slices.ContainsFunc(c.Jobs, func(j state.JobDelta) bool { return j.Job > old && e.Catalog.Current().ByOID(j.Job) == nil })
	}
	e.CommitFault = func(c *state.Commit) error {
		if isCopy(c) {
			return errors.New("no copy")
		}
		return nil
	}
	if err := c.try("%s", again); err == nil || !strings.Contains(err.Error(), "no copy") {
		t.Fatal(err)
	}
	clean()
	held, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e.CommitFault = func(c *state.Commit) error {
		if isCopy(c) {
			once.Do(func() { close(held); <-hold })
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	made := make(chan error, 1)
	go func() { _, err := d.l.Exec(ctx, again); made <- err }()
	<-held
	c.exec("INSERT INTO t VALUES (51)")
	c.want("SELECT n FROM w", "51")
	cancel()
	close(hold)
	if err := <-made; code(err) != "57014" {
		t.Fatal(err)
	}
	clean()
	c.exec("INSERT INTO t VALUES (52)")
	c.want("SELECT n FROM w", "52")
	c.exec("%s", again)
	c.want("SELECT n FROM w", "104")
	held, hold, once = make(chan struct{}), make(chan struct{}), sync.Once{}
	go func() { _, err := d.l.Exec(context.Background(), again); made <- err }()
	<-held
	c.exec("DROP MATERIALIZED VIEW v CASCADE")
	close(hold)
	if err := <-made; code(err) != "57014" {
		t.Fatal(err)
	}
	clean()
}
