package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
)

// ranked is version k of a view that is replaced again and again.
func ranked(k int) string {
	return fmt.Sprintf("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a, count(*) AS n, sum(x) * %d AS s, %d AS ver FROM t WHERE a %% 5 <> %d GROUP BY a", k, k, k%5)
}

// A view is replaced under writers and readers. No reader sees two versions, or
// one in the view and another in what reads it, and everything that reads the view
// ends up right: views, an index, a sink, and one that is made meanwhile.
func TestReplaceUnderWrites(t *testing.T) {
	s := &targetSink{}
	dir := t.TempDir()
	e := open(t, withConnectors(dir, s.definition()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (id int PRIMARY KEY, a int, x int)")
	c.exec("INSERT INTO t SELECT i, i %% 20, i FROM generate_series(1, 2000) i")
	c.exec("%s", ranked(0))
	c.exec("CREATE MATERIALIZED VIEW total AS SELECT ver, sum(n) AS n, sum(s) AS s FROM v GROUP BY ver")
	c.exec("SET shared_arrangements = 'on'")
	c.exec("CREATE MATERIALIZED VIEW looked AS SELECT t.id, v.s FROM t JOIN v ON t.a = v.a WHERE t.id < 100")
	if e.JobOf(e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "looked").Header().OID).Stored == nil {
		t.Fatal("the join does not read the view from storage")
	}
	c.exec("SET shared_arrangements = 'off'")
	c.exec("CREATE MATERIALIZED VIEW joined AS SELECT t.id, v.s FROM t JOIN v ON t.a = v.a WHERE t.id < 100")
	c.exec("CREATE INDEX v_s ON v (s)")
	c.exec("CREATE SINK k AS SELECT a || '/' || s AS r FROM v WITH (connector = 'target', primary_key = 'r') FORMAT UPSERT")
	var done atomic.Bool
	var wg sync.WaitGroup
	for w := range 2 {
		c := connect(t, e)
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				id := 10_000*(w+1) + i
				for _, q := range []string{fmt.Sprintf("INSERT INTO t VALUES (%d, %d, %d)", id, i%20, i), fmt.Sprintf("DELETE FROM t WHERE id = %d", id-3)} {
					if err := c.try("%s", q); err != nil {
						t.Errorf("%s: %v", q, err)
						return
					}
				}
			}
		})
	}
	r := connect(t, e)
	wg.Go(func() {
		for !done.Load() && !t.Failed() {
			for _, q := range []string{
				"SELECT (SELECT count(DISTINCT ver) FROM v) || ' ' || (SELECT count(*) FROM total)",
				"SELECT (SELECT sum(s) FROM v) - (SELECT s FROM total) + 1 || ' ' || (SELECT count(DISTINCT ver) FROM v WHERE s >= 0)",
			} {
				if got := r.one(q); got != "1 1" {
					t.Errorf("%s: %s", q, got)
				}
			}
			if n := len(r.query("SELECT ver FROM v WHERE a = 19")); n > 1 {
				t.Errorf("a key has %d rows", n)
			}
		}
	})
	for k := 1; k <= 8 && !t.Failed(); k++ {
		if k == 4 {
			d := connect(t, e)
			wg.Go(func() { d.exec("CREATE MATERIALIZED VIEW late AS SELECT count(*) AS n, max(s) AS s FROM v") })
		}
		c.exec("%s", ranked(k))
		c.want("SELECT DISTINCT ver FROM v", fmt.Sprint(k))
	}
	done.Store(true)
	wg.Wait()
	for _, v := range []string{"v", "total", "joined", "looked", "late"} {
		c.want("CHECK MATERIALIZED VIEW "+v, "")
	}
	c.same("SELECT a FROM v WHERE s > 0 ORDER BY a", "SELECT a FROM v ORDER BY a")
	want := c.query("SELECT a || '/' || s FROM v")
	sinkHolds(t, s, want)
	e.Close()
	e = open(t, withConnectors(dir, s.definition()))
	c = connect(t, e)
	for _, v := range []string{"v", "total", "joined", "looked", "late"} {
		c.want("CHECK MATERIALIZED VIEW "+v, "")
	}
	c.exec("INSERT INTO t VALUES (9999, 1, 1)")
	c.want("CHECK MATERIALIZED VIEW total", "")
	c.want("SELECT status FROM streamdb_catalog.jobs WHERE status <> 'running'", "")
}

// sinkHolds waits until the records delivered amount to the rows.
func sinkHolds(t *testing.T, s *targetSink, want []string) {
	t.Helper()
	var got []string
	poll(t, func() bool {
		n := map[string]int{}
		s.set(func() {
			for _, r := range s.rows {
				w, row, _ := strings.Cut(r, ":")
				d := 0
				fmt.Sscan(w, &d)
				n[row] = d
			}
		})
		got = nil
		for row, d := range n {
			if d > 0 {
				got = append(got, row)
			}
		}
		slices.Sort(got)
		sorted := slices.Sorted(slices.Values(want))
		return slices.Equal(got, sorted)
	}, func() string { return fmt.Sprintf("sink has %v, want %v", got, want) })
}

// A replacement that is cancelled, fails or is dropped leaves the old view running
// and nothing of the new one.
func TestReplaceThatDoesNotComeToBe(t *testing.T) {
	e := open(t, config(t.TempDir()))
	hold, held := make(chan struct{}), make(chan struct{}, 100)
	e.Fault = func(job string) error {
		if job == "v (replacement)" {
			held <- struct{}{}
			<-hold
		}
		return nil
	}
	c, d := connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t VALUES (1), (2)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT 10 / a AS q FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT sum(q) AS s FROM v")
	start := func(ctx context.Context) chan error {
		made := make(chan error, 1)
		go func() {
			_, err := d.l.Exec(ctx, "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 20 / a AS q FROM t")
			made <- err
		}()
		<-held
		return made
	}
	clean := func() {
		t.Helper()
		if n := len(e.ReplacingJobs()); n > 0 {
			t.Fatalf("%d replacements are left", n)
		}
		_ = e.Store.MetaScan([]byte("creating/"), func(k, _ []byte) error { t.Fatalf("%q is left", k); return nil })
	}
	ctx, cancel := context.WithCancel(context.Background())
	made := start(ctx)
	c.want("SELECT name, status FROM streamdb_catalog.jobs WHERE status <> 'running'", "v (replacement)|replacing")
	c.exec("INSERT INTO t VALUES (5)")
	c.want("SELECT s FROM w", "17")
	if err := c.try("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a AS q FROM t"); code(err) != "55006" {
		t.Fatal(err)
	}
	cancel()
	if err := <-made; code(err) != "57014" {
		t.Fatal(err)
	}
	close(hold)
	clean()
	c.want("SELECT s FROM w", "17")

	// A dependent that fails on the new rows keeps everything as it was.
	c.exec("CREATE MATERIALIZED VIEW strict WITH (on_error = 'fail') AS SELECT 100 / (q - 7) AS z FROM v")
	if err := c.try("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 7 * a AS q FROM t"); code(err) != "22012" {
		t.Fatal(err)
	}
	clean()
	c.exec("INSERT INTO t VALUES (10)")
	c.want("SELECT s FROM w", "18")
	c.want("CHECK MATERIALIZED VIEW strict", "")
	c.exec("DROP MATERIALIZED VIEW strict")

	// What the old view failed on does not stay, what the new one fails on does.
	c.exec("INSERT INTO t VALUES (0)")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 20 / (a - 1) AS q FROM t")
	c.want("SELECT job, input_row FROM streamdb_catalog.view_errors", "v|(1)")
	c.want("CHECK MATERIALIZED VIEW v", "")
	c.want("CHECK MATERIALIZED VIEW w", "")

	hold = make(chan struct{})
	for len(held) > 0 {
		<-held
	}
	made = start(context.Background())
	c.exec("DROP MATERIALIZED VIEW v CASCADE")
	if err := <-made; code(err) != "57014" {
		t.Fatal(err)
	}
	close(hold)
	clean()
	c.want("SELECT * FROM streamdb_catalog.view_errors", "")
	if st, _ := c.status("v"); st != "absent" {
		t.Fatalf("v is %s", st)
	}
}

// The commit of the swap fails: the old view goes on, with what reads it.
func TestReplaceWhoseCommitFails(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t VALUES (1), (2)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT sum(a) AS s FROM v")
	old := e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "v")
	e.CommitFault = func(c *state.Commit) error {
		if len(c.DropTables) > 0 && slices.Contains(c.DropTables, old.Header().OID) {
			return errors.New("no swap")
		}
		return nil
	}
	if err := c.try("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a * 10 AS a FROM t"); err == nil || !strings.Contains(err.Error(), "no swap") {
		t.Fatal(err)
	}
	e.CommitFault = nil
	if e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "v") != old {
		t.Fatal("the catalog has changed")
	}
	c.exec("INSERT INTO t VALUES (3)")
	c.want("SELECT s FROM w", "6")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a * 10 AS a FROM t")
	c.want("SELECT s FROM w", "60")
	c.exec("INSERT INTO t VALUES (4)")
	c.want("SELECT s FROM w", "100")
}

// A statement that was prepared before reads the new view, or fails if its columns
// are others now.
func TestPreparedStatementsOverReplacement(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c, d := connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int PRIMARY KEY, x int)")
	c.exec("INSERT INTO t VALUES (1, 10), (2, 20)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a, x FROM t")
	d.exec("PREPARE p (int) AS SELECT x FROM v WHERE a = $1")
	d.exec("PREPARE q AS SELECT sum(x) FROM v")
	for range 3 {
		d.want("EXECUTE p (1)", "10")
		d.want("EXECUTE q", "30")
	}
	d.exec("BEGIN")
	d.exec("DECLARE c CURSOR FOR SELECT x FROM v ORDER BY x")
	d.want("FETCH 1 FROM c", "10")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT x AS a, x + a AS x FROM t")
	d.want("FETCH 1 FROM c", "20") // it has begun to read the old view
	d.exec("COMMIT")
	d.want("EXECUTE p (1)", "")
	d.want("EXECUTE p (10)", "11")
	d.want("EXECUTE q", "33")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a::text AS a, x::text AS x FROM t")
	if err := d.try("EXECUTE p (10)"); err == nil {
		t.Fatal("a plan over other types was run")
	}
}

// A view over a source that is replaced reads it again from where CREATE would.
func TestReplaceOfAViewOverASource(t *testing.T) {
	f := newFeed()
	f.allow(1000)
	dir := t.TempDir()
	e := open(t, withConnectors(dir, f.definition()))
	c := connect(t, e)
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT n %% 10 AS k, count(*) AS n FROM s GROUP BY n %% 10")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT sum(n) AS n, count(*) AS k FROM v")
	is := func(want string) {
		t.Helper()
		poll(t, func() bool { return c.one("SELECT n, k FROM w") == want }, func() string { return c.one("SELECT n, k FROM w") })
	}
	is("1000|10")
	c.exec("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT n %% 7 AS k, count(*) AS n FROM s WHERE n >= 100 GROUP BY n %% 7")
	is("900|7")
	f.allow(1100)
	is("1000|7")
	e.Close()
	e = open(t, withConnectors(dir, f.definition()))
	c = connect(t, e)
	f.allow(1200)
	is("1100|7")
}
