package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/state"
)

func TestOnErrorFailStopsOnlyItsJobAndDependents(t *testing.T) {
	dir := t.TempDir()
	e := open(t, config(dir))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, b int)")
	c.exec("CREATE MATERIALIZED VIEW bad WITH (on_error = 'fail') AS SELECT a / b AS q FROM t")
	c.exec("CREATE MATERIALIZED VIEW above AS SELECT count(*) AS n FROM bad")
	c.exec("CREATE MATERIALIZED VIEW letter AS SELECT a / b AS q FROM t")
	c.exec("CREATE MATERIALIZED VIEW good AS SELECT sum(a) AS s FROM t")
	c.exec("INSERT INTO t VALUES (10, 2)")
	c.exec("INSERT INTO t VALUES (7, 0)")
	c.exec("INSERT INTO t VALUES (9, 3)")
	check := func(c *client) {
		t.Helper()
		if _, msg := c.status("bad"); !strings.Contains(msg, "division by zero") {
			t.Fatalf("bad: %q", msg)
		}
		if st, msg := c.status("above"); st != "failed" || !strings.Contains(msg, "bad") {
			t.Fatalf("above: %s %q", st, msg)
		}
		c.want("SELECT q FROM bad", "5")
		c.want("SELECT n FROM above", "1")
		c.want("SELECT q FROM letter ORDER BY q", "3\n5")
		c.want("SELECT s FROM good", "26")
		c.want("SELECT count(*) FROM streamdb_catalog.view_errors", "1")
	}
	check(c)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, config(dir))
	c = connect(t, e)
	check(c)
	c.exec("DELETE FROM t WHERE b = 0")
	c.want("SELECT count(*) FROM streamdb_catalog.view_errors", "0")
	c.exec("DROP MATERIALIZED VIEW bad CASCADE")
	if st, _ := c.status("above"); st != "absent" {
		t.Fatalf("above is %s", st)
	}
	c.exec("CREATE MATERIALIZED VIEW bad WITH (on_error = 'fail') AS SELECT a / b AS q FROM t")
	c.want("SELECT q FROM bad ORDER BY q", "3\n5")
	if err := c.try("INSERT INTO t VALUES (1, 0)"); err != nil {
		t.Fatal(err)
	}
	if code(c.try("CREATE MATERIALIZED VIEW late AS SELECT * FROM bad")) != "55000" {
		t.Fatal("a view on a failed one was created")
	}
	if st, _ := c.status("late"); st != "absent" {
		t.Fatal("the refused view left something")
	}
}

// A fault that passes is healed by a restart: the write that met it succeeds.
func TestPassingFaultIsRetried(t *testing.T) {
	var faults atomic.Int32
	e := open(t, config(t.TempDir()))
	e.Fault = func(job string) error {
		if job == "v" && faults.Load() > 0 && faults.Add(-1) >= 0 {
			panic("injected")
		}
		return nil
	}
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS s FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT n + s AS x FROM v")
	c.exec("INSERT INTO t VALUES (1, 10), (2, 20)")
	faults.Store(2)
	c.exec("INSERT INTO t VALUES (3, 30)")
	c.want("SELECT n, s, x FROM v, w", "3|60|63")
	if st, msg := c.status("v"); st != "running" {
		t.Fatal(st, msg)
	}
	c.exec("UPDATE t SET a = 0 WHERE k = 1")
	c.want("SELECT n, s, x FROM v, w", "3|50|53")
}

// A fault that comes back is given up: the job fails, the write goes through.
func TestLastingFaultFailsOnlyItsJob(t *testing.T) {
	dir := t.TempDir()
	var broken atomic.Bool
	e := open(t, config(dir))
	e.Fault = func(job string) error {
		if job == "v" && broken.Load() {
			return errors.New("injected fault")
		}
		return nil
	}
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT n FROM v")
	c.exec("CREATE MATERIALIZED VIEW good AS SELECT count(*) AS n FROM t")
	c.exec("INSERT INTO t VALUES (1)")
	broken.Store(true)
	c.exec("INSERT INTO t VALUES (2)")
	c.exec("INSERT INTO t VALUES (3)")
	check := func(c *client) {
		t.Helper()
		c.want("SELECT n FROM good", "3")
		c.want("SELECT n FROM v", "1")
		c.want("SELECT n FROM w", "1")
		if st, msg := c.status("v"); st != "failed" || !strings.Contains(msg, "injected fault") {
			t.Fatal(st, msg)
		}
	}
	check(c)
	e.Close()
	e = open(t, config(dir))
	c = connect(t, e)
	check(c)
	c.exec("DROP MATERIALIZED VIEW v CASCADE")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.want("SELECT n FROM v", "3")
}

// A panic in an operator over a source rewinds the source.
func TestSourceJobRestartsFromItsOffsets(t *testing.T) {
	f := newFeed()
	e := open(t, withConnectors(t.TempDir(), f.definition()))
	c := connect(t, e)
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(n) AS s FROM s")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT n FROM v")
	f.allow(1000)
	poll(t, func() bool { return c.one("SELECT n, s FROM v") == "1000|499500" }, func() string { return c.one("SELECT * FROM v") })
	f.set(func() { f.broken = 2 })
	f.allow(3000)
	poll(t, func() bool { return c.one("SELECT n, s FROM v") == "3000|4498500" }, func() string { return c.one("SELECT * FROM v") + c.one("SHOW JOBS") })
	c.want("SELECT n FROM w", "3000")
	f.set(func() { f.broken = 1 << 30 })
	f.allow(3001)
	msg := c.awaitStatus("v", "failed")
	if !strings.Contains(msg, "panicked") {
		t.Fatal(msg)
	}
	c.awaitStatus("w", "failed")
	c.want("SELECT n FROM w", "3000")
}

func TestSourceThatDoesNotOpenIsTriedAgain(t *testing.T) {
	f := newFeed()
	e := open(t, withConnectors(t.TempDir(), f.definition()))
	c := connect(t, e)
	f.set(func() { f.openErr = errors.New("nobody is there") })
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	if msg := c.awaitStatus("v", "retrying"); !strings.Contains(msg, "nobody is there") {
		t.Fatal(msg)
	}
	f.set(func() { f.openErr = nil })
	f.allow(10)
	poll(t, func() bool { return c.one("SELECT n FROM v") == "10" }, func() string { return c.one("SHOW JOBS") })
	c.awaitStatus("v", "running")
}

func TestSinkFailuresHarmNobody(t *testing.T) {
	s := &targetSink{err: errors.New("the target is away")}
	dir := t.TempDir()
	e := open(t, withConnectors(dir, s.definition()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.exec("CREATE SINK k FROM t WITH (connector = 'target')")
	for range 5 {
		c.exec("INSERT INTO t VALUES (1)")
	}
	c.want("SELECT n FROM v", "5")
	poll(t, func() bool {
		return strings.Contains(c.one("SHOW SINKS"), "retrying|5|5|") && strings.Contains(c.one("SHOW SINKS"), "away")
	},
		func() string { return c.one("SHOW SINKS") })
	e.Close()
	e = open(t, withConnectors(dir, s.definition()))
	c = connect(t, e)
	s.set(func() { s.err = nil })
	delivered := func() (n int) { s.set(func() { n = len(s.rows) }); return n }
	poll(t, func() bool { return delivered() == 5 }, func() string { return c.one("SHOW SINKS") })
	// An encoder that panics for a while restarts the job and doubles nothing.
	s.set(func() { s.panicky = 2 })
	c.exec("INSERT INTO t VALUES (2)")
	poll(t, func() bool { return delivered() == 6 }, func() string { return c.one("SHOW SINKS") })
	s.set(func() { s.panicky = 1 << 30 })
	c.exec("INSERT INTO t VALUES (3)")
	c.awaitStatus("k", "failed")
	c.want("SELECT n FROM v", "7")
	c.exec("DROP SINK k")
	c.exec("INSERT INTO t VALUES (4)")
	c.want("SELECT n FROM v", "8")
}

// A task that never ends must hold up neither DROP nor, afterwards, its graph.
func TestDropOfAStuckJob(t *testing.T) {
	e := open(t, config(t.TempDir()))
	stuck, release := make(chan struct{}, 1), make(chan struct{})
	var on atomic.Bool
	e.Fault = func(job string) error {
		if job == "v" && on.Load() {
			stuck <- struct{}{}
			<-release
		}
		return nil
	}
	defer close(release)
	c, d := connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("CREATE TABLE other (a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM t")
	on.Store(true)
	wrote := make(chan error, 1)
	go func() { wrote <- d.try("INSERT INTO t VALUES (1)") }()
	<-stuck
	// A statement can be cancelled while the commit it waits for is stuck.
	x := connect(t, e)
	x.exec("SET statement_timeout = '50ms'")
	if err := x.try("INSERT INTO t VALUES (2)"); code(err) != "57014" {
		t.Fatal(err)
	}
	if err := x.try("CREATE MATERIALIZED VIEW z AS SELECT a FROM t"); code(err) != "57014" {
		t.Fatal(err)
	}
	if st, _ := c.status("z"); st != "absent" {
		t.Fatalf("z is %s", st)
	}
	c.exec("DROP TABLE other")
	c.exec("DROP MATERIALIZED VIEW w")
	c.exec("DROP MATERIALIZED VIEW v")
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	c.exec("INSERT INTO t VALUES (3)")
	c.want("SELECT a FROM t ORDER BY a", "1\n3")
}

func TestCommitFailureRestartsTheGraph(t *testing.T) {
	e := open(t, config(t.TempDir()))
	full := errors.New("the disk is full")
	var n atomic.Int32
	e.CommitFault = func(*state.Commit) error {
		if n.Load() > 0 {
			n.Add(-1)
			return full
		}
		return nil
	}
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT s FROM v")
	c.exec("INSERT INTO t VALUES (1, 1)")
	for i := range 3 {
		n.Store(1)
		if err := c.try("INSERT INTO t VALUES (2, 2)"); !errors.Is(err, full) {
			t.Fatal(err)
		}
		c.want("SELECT s FROM w", []string{"1", "11", "21"}[i])
		c.exec("INSERT INTO t VALUES (%d, 10)", 10+i)
		c.want("SELECT s FROM w", []string{"11", "21", "31"}[i])
	}
	c.exec("INSERT INTO t VALUES (2, 2)")
	c.want("SELECT s FROM w", "33")
}

func TestPlanOfAnotherVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	e := open(t, config(dir))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.exec("INSERT INTO t VALUES (1)")
	var id uint32
	for _, j := range e.JobsInOrder() {
		id = j.ID
	}
	if err := e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{{Key: jobs.StartedKey(id), Val: []byte("another")}}}); err != nil {
		t.Fatal(err)
	}
	e.Close()
	e = open(t, config(dir))
	c = connect(t, e)
	if st, msg := c.status("v"); st != "failed" || !strings.Contains(msg, "another query plan") {
		t.Fatal(st, msg)
	}
	c.exec("INSERT INTO t VALUES (2)")
	c.want("SELECT n FROM v", "1")
	c.exec("ALTER MATERIALIZED VIEW v RESUME")
	c.want("SELECT n FROM v", "2")
	c.exec("DROP MATERIALIZED VIEW v")
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	f, s := newFeed(), &targetSink{stuck: make(chan struct{})}
	e, err := Open(withConnectors(t.TempDir(), f.definition(), s.definition()))
	if err != nil {
		t.Fatal(err)
	}
	before := 2 // the test's own
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
	c.exec("CREATE SINK k FROM t WITH (connector = 'target')")
	f.allow(1 << 40)
	c.exec("INSERT INTO t VALUES (1)")
	start := time.Now()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 4*jobs.HaltWait {
		t.Fatalf("closing took %v", d)
	}
	if err := c.try("INSERT INTO t VALUES (2)"); err == nil {
		t.Fatal("a closed engine took a write")
	}
	close(s.stuck)
	goroutines(t, before)
}

func TestCanceledCreationLeavesNothing(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, b int)")
	c.exec("INSERT INTO t SELECT i, i %% 7 FROM generate_series(1, 100000) i")
	c.exec("CREATE MATERIALIZED VIEW warm AS SELECT b, count(*) AS n FROM t GROUP BY b")
	for _, after := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		_, err := c.l.Exec(ctx, "CREATE MATERIALIZED VIEW v AS SELECT x.a, count(*) AS n FROM t x JOIN t y ON x.a = y.a GROUP BY x.a")
		cancel()
		if err != nil && code(err) != "57014" {
			t.Fatal(err)
		}
		if err == nil {
			c.exec("DROP MATERIALIZED VIEW v")
		}
		if st, _ := c.status("v"); st != "absent" {
			t.Fatalf("v is %s", st)
		}
		if code(c.try("SELECT * FROM v")) != "42P01" {
			t.Fatal("v can still be read")
		}
	}
	// So does an error in the middle.
	c.exec("CREATE TABLE u (a int)")
	c.exec("INSERT INTO u SELECT i - 50000 FROM generate_series(1, 60000) i")
	if code(c.try("CREATE MATERIALIZED VIEW v WITH (on_error = 'fail') AS SELECT 1 / a AS q FROM u")) != "22012" {
		t.Fatal("expected a division by zero")
	}
	if st, _ := c.status("v"); st != "absent" {
		t.Fatalf("v is %s", st)
	}
	c.exec("INSERT INTO t VALUES (1, 1)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.want("SELECT n FROM v", "100001")
}

func TestTooManyChangesDuringCreation(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.CaptureBytes = 20_000
	e := open(t, cfg)
	c, d := connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t SELECT i FROM generate_series(1, 1000) i")
	var once atomic.Bool
	e.Fault = func(job string) error { // the creation's first epoch
		if job == "v" && once.CompareAndSwap(false, true) {
			d.exec("INSERT INTO t SELECT i FROM generate_series(1, 50000) i")
		}
		return nil
	}
	if err := c.try("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t"); code(err) != "53200" {
		t.Fatal(err)
	}
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	c.want("SELECT n FROM v", "51000")
}

// The first source that comes to a graph of tables only starts its epochs: a view
// that joins both moves on though nobody writes to the table.
func TestSourceJoinsATablesGraph(t *testing.T) {
	f := newFeed()
	e := open(t, withConnectors(t.TempDir(), f.definition()))
	c := connect(t, e)
	c.exec("CREATE SOURCE s WITH (connector = 'feed')")
	c.exec("CREATE TABLE t (k int)")
	c.exec("INSERT INTO t VALUES (0), (1)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s JOIN t ON t.k = s.n")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM s")
	for _, n := range []int64{1, 2, 5} {
		f.allow(n)
		poll(t, func() bool {
			return c.one("SELECT n FROM v") == fmt.Sprint(min(n, 2)) && c.one("SELECT n FROM w") == fmt.Sprint(n)
		},
			func() string { return c.one("SHOW JOBS") })
	}
}
