package engine

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
)

// wantError checks the code and the message of an error.
func (c *client) wantError(err error, code, msg string) {
	c.t.Helper()
	if err == nil || string(pgerr.CodeOf(err)) != code || !strings.Contains(err.Error(), msg) {
		c.t.Fatalf("got %v, want %s %s", err, code, msg)
	}
}

// Whatever a statement waits for that others hold, it waits no longer than
// lock_timeout and statement_timeout allow, and leaves nothing behind.
func TestTimeoutsOfWaits(t *testing.T) {
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
	c, d, x := connect(t, e), connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int PRIMARY KEY)")
	c.exec("CREATE TABLE other (a int PRIMARY KEY)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	on.Store(true)
	wrote := make(chan error, 2)
	go func() { wrote <- d.try("INSERT INTO t VALUES (1)") }()
	<-stuck
	waits := []string{
		"INSERT INTO t VALUES (2)",
		"CREATE MATERIALIZED VIEW z AS SELECT a FROM t",
		"ALTER TABLE t ADD COLUMN b int",
	}
	check := func(setting, code, msg string) {
		t.Helper()
		x.exec("SET %s = '20ms'", setting)
		for _, w := range waits {
			x.wantError(x.try("%s", w), code, msg)
		}
		e.DDL.Lock() // as another statement that changes the catalog
		x.wantError(x.try("CREATE TABLE more (a int)"), code, msg)
		x.wantError(x.try("DROP TABLE other"), code, msg)
		e.DDL.Unlock()
		x.exec("RESET %s", setting)
		x.exec("BEGIN")
		x.exec("INSERT INTO other VALUES (1)")
		x.exec("INSERT INTO t VALUES (2)")
		x.exec("SET LOCAL %s = '20ms'", setting)
		x.wantError(x.try("COMMIT"), code, msg)
		x.exec("ROLLBACK")
	}
	check("lock_timeout", "55P03", "canceling statement due to lock timeout")
	check("statement_timeout", "57014", "canceling statement due to statement timeout")
	on.Store(false)
	close(release)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	x.exec("SET lock_timeout = '1h'")
	x.exec("CREATE TABLE more (a int)")
	x.exec("INSERT INTO t VALUES (4)")
	x.want("SELECT a FROM t ORDER BY a", "1\n4")
	x.want("SELECT count(*) FROM other", "0")
	if st, _ := c.status("z"); st != "absent" {
		t.Fatalf("z is %s", st)
	}
}

// A write that its epoch has taken up waits for the commit, whatever lock_timeout is.
func TestLockTimeoutEndsWithTheLock(t *testing.T) {
	e := open(t, config(t.TempDir()))
	stuck, release := make(chan struct{}, 1), make(chan struct{})
	var on, taken atomic.Bool
	e.CommitFault = func(c *state.Commit) error {
		if len(c.Rows) > 0 && on.CompareAndSwap(true, false) {
			taken.Store(true)
			stuck <- struct{}{}
			<-release
		}
		return nil
	}
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	on.Store(true)
	c.exec("SET lock_timeout = '1ms'")
	wrote := make(chan error, 1)
	go func() {
		for { // before it is taken up it may be late
			if err := c.try("INSERT INTO t VALUES (1)"); code(err) != "55P03" || taken.Load() {
				wrote <- err
				return
			}
		}
	}()
	<-stuck
	d := connect(t, e)
	d.exec("SET lock_timeout = '5ms'")
	d.wantError(d.try("INSERT INTO t VALUES (2)"), "55P03", "lock timeout") // more than 1 ms has passed
	close(release)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	d.want("SELECT n FROM v", "1")
}

// A cursor outlives the statements that read it, and their limits.
func TestCursorsAndStatementTimeout(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t SELECT * FROM generate_series(1, 5000)")
	c.exec("SET statement_timeout = '1min'")
	c.exec("BEGIN")
	c.exec("DECLARE k CURSOR WITH HOLD FOR SELECT a FROM t ORDER BY a")
	c.want("FETCH 1 FROM k", "1")
	c.want("FETCH 2 FROM k", "2\n3")
	c.exec("COMMIT")
	c.exec("SET statement_timeout = '1ms'")
	c.wantError(c.try("SELECT pg_sleep(10)"), "57014", "canceling statement due to statement timeout")
	c.exec("SET statement_timeout = 0")
	c.exec("MOVE 4000 FROM k")
	c.want("FETCH 1 FROM k", "4004")
}
