package engine

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/state"
)

// blockDirVar names the data directory for the process of TestKillBetweenBlocks.
const blockDirVar = "STREAMDB_TEST_BLOCK_DIR"

// TestBlockVictim is not a test: it commits blocks of DDL and rows until it is killed.
func TestBlockVictim(t *testing.T) {
	dir := os.Getenv(blockDirVar)
	if dir == "" {
		return
	}
	cfg := config(dir)
	cfg.NoSync = false
	e := open(t, cfg)
	c := connect(t, e)
	if e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "log") == nil {
		c.exec("CREATE TABLE log (n bigint PRIMARY KEY)")
		c.exec("CREATE MATERIALIZED VIEW logged AS SELECT count(*) AS n FROM log")
		c.exec("CREATE TABLE wide (id int PRIMARY KEY)")
		c.exec("INSERT INTO wide SELECT generate_series(1, 20)")
	}
	fmt.Println("ready")
	for first := time.Now().UnixNano(); ; first++ {
		n := first
		c.exec("BEGIN")
		c.exec("INSERT INTO log VALUES (%d)", n)
		c.exec("CREATE TABLE b%d (n bigint PRIMARY KEY, a text UNIQUE)", n)
		c.exec("INSERT INTO b%d VALUES (%d, 'x'), (%d, 'y')", n, n, n+1)
		c.exec("ALTER TABLE b%d ADD COLUMN w int DEFAULT 3", n)
		c.exec("CREATE MATERIALIZED VIEW v%d AS SELECT sum(w) AS s, count(log.n) AS n FROM b%d b LEFT JOIN log ON log.n = b.n", n, n)
		c.exec("ALTER TABLE wide ADD COLUMN c%d int DEFAULT 1", n)
		if old := c.query("SELECT relname FROM pg_class WHERE relname LIKE 'b%' AND relkind = 'r' AND relname < 'b" + fmt.Sprint(n) + "' ORDER BY 1 LIMIT 1"); len(old) > 0 {
			was := old[0][1:]
			c.exec("DROP TABLE b%s CASCADE", was)
			c.exec("ALTER TABLE wide DROP COLUMN IF EXISTS c%s", was)
			c.exec("DELETE FROM log WHERE n = %s", was)
		}
		c.exec("COMMIT")
		fmt.Printf("ack %d\n", n)
	}
}

// A block takes effect as a whole or not at all, whenever the process is killed, and
// views of committed ones come to be.
func TestKillBetweenBlocks(t *testing.T) {
	dir := t.TempDir()
	for round := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBlockVictim$")
		cmd.Env = append(os.Environ(), blockDirVar+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = cmd.Stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last, ready := "", false
		var other strings.Builder
		for sc := bufio.NewScanner(out); sc.Scan(); {
			f := strings.Fields(sc.Text())
			switch {
			case len(f) == 1 && f[0] == "ready":
				ready = true
				time.AfterFunc(time.Duration(100+rand.IntN(400))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			case len(f) == 2 && f[0] == "ack":
				last = f[1]
			default:
				fmt.Fprintln(&other, sc.Text())
			}
		}
		_ = cmd.Wait()
		if !ready || other.Len() > 0 {
			t.Fatalf("the process to be killed failed:\n%s", other.String())
		}
		checkBlocks(t, dir, last, round)
	}
}

func checkBlocks(t *testing.T, dir, last string, round int) {
	t.Helper()
	e, err := Open(config(dir))
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	defer e.Close()
	c := connect(t, e)
	rows := c.query("SELECT n FROM log ORDER BY n")
	list := strings.Join(rows, "\n")
	if last != "" && (len(rows) == 0 || rows[len(rows)-1] < last) {
		t.Fatalf("round %d: block %s is lost, there are %v", round, last, rows)
	}
	c.want("SELECT substr(relname, 2) FROM pg_class WHERE relname ~ '^b[0-9]+$' ORDER BY 1", list)
	c.want("SELECT substr(relname, 2) FROM pg_class WHERE relname ~ '^v[0-9]+$' ORDER BY 1", list)
	c.want("SELECT substr(attname, 2) FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attname ~ '^c[0-9]+$' ORDER BY 1", list)
	c.want("SELECT n FROM logged", fmt.Sprint(len(rows)))
	c.want("SELECT count(*) FROM wide", "20")
	for _, n := range rows {
		c.want("SELECT n, a, w FROM b"+n+" WHERE n = "+n, n+"|x|3")
		c.want("SELECT count(*) FROM b"+n+" WHERE a = 'y'", "1")
		if err := c.try("INSERT INTO b%s VALUES (0, 'x')", n); code(err) != "23505" {
			t.Fatalf("round %d: %v", round, err)
		}
		c.want("SELECT count(*) FROM wide WHERE c"+n+" = 1", "20")
		c.awaitStatus("v"+n, "running")
		c.want("SELECT s, n FROM v"+n, "6|1")
	}
	nonePending(t, e)
}

// nonePending waits until all jobs of committed transactions have caught up, indexes
// too, which have no status to wait for.
func nonePending(t *testing.T, e *Engine) {
	t.Helper()
	var left map[uint32]bool
	poll(t, func() (done bool) {
		var err error
		if left, err = e.PendingObjects(); err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	}, func() string { return fmt.Sprint("pending ", left) })
}

// The views of a block that was committed right before a crash are built by the next
// start, those that read others too, and what they had stored by then is forgotten.
func TestPendingViewsBeginAnew(t *testing.T) {
	dir := t.TempDir()
	e := open(t, config(dir))
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, a int)")
	c.exec("INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
	c.exec("BEGIN")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT a %% 3 AS g, count(*) AS n FROM t GROUP BY a %% 3")
	c.exec("CREATE MATERIALIZED VIEW w AS SELECT sum(n) AS s FROM v")
	c.exec("CREATE INDEX vi ON v (n)")
	c.exec("COMMIT")
	c.want("SELECT s FROM w", "100")
	snap := e.Catalog.Current().In(catalog.DatabaseOID)
	mark := &state.Commit{Epoch: e.NextEpoch()}
	for _, n := range []string{"v", "w", "vi"} {
		mark.Meta = append(mark.Meta, state.KV{Key: jobs.PendingKey(snap.Get("public", n).Header().OID), Val: []byte{1}})
	}
	if err := e.Commit(mark); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, config(dir))
	c = connect(t, e)
	c.awaitStatus("v", "running")
	c.awaitStatus("w", "running")
	c.exec("INSERT INTO t VALUES (101, 101)")
	c.want("SELECT s FROM w", "101")
	c.want("SELECT g, n FROM v WHERE n = 34 ORDER BY g", "1|34\n2|34")
	c.want("CHECK MATERIALIZED VIEW v", "")
	nonePending(t, e)
}

// A block whose commit fails leaves everything as it was, and running.
func TestBlockWhoseCommitFails(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, a int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
	c.exec("INSERT INTO t VALUES (1, 1)")
	full := errors.New("the disk is full")
	for _, rows := range []bool{false, true} {
		c.exec("BEGIN")
		c.exec("CREATE TABLE u (t int REFERENCES t (k))")
		c.exec("INSERT INTO u VALUES (1)")
		c.exec("CREATE MATERIALIZED VIEW w AS SELECT count(*) AS n FROM u")
		if rows {
			c.exec("INSERT INTO t VALUES (2, 2)")
			c.exec("CREATE INDEX ti ON t (a)")
		} else {
			c.exec("ALTER TABLE t ADD COLUMN b int DEFAULT 5")
		}
		e.CommitFault = func(c *state.Commit) error {
			for _, kv := range c.Meta {
				if strings.HasPrefix(string(kv.Key), string(jobs.CatalogPrefix)) {
					return full
				}
			}
			return nil
		}
		if err := c.try("COMMIT"); !errors.Is(err, full) {
			t.Fatal(err)
		}
		e.CommitFault = nil
		c.want("SELECT count(*) FROM pg_class WHERE relname IN ('u', 'w', 'ti')", "0")
		c.want("SELECT * FROM t", "1|1")
		c.exec("INSERT INTO t VALUES (9, 9)")
		c.want("SELECT s FROM v", "10")
		c.exec("DELETE FROM t WHERE k = 9")
		c.want("SELECT s FROM v", "1")
	}
}

// A view of a block that cannot be built is left as failed; it can be begun anew.
func TestPendingViewThatFails(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, a int)")
	c.exec("INSERT INTO t VALUES (1, 0), (2, 5)")
	c.exec("BEGIN")
	c.exec("CREATE MATERIALIZED VIEW v WITH (on_error = 'fail') AS SELECT k, 10 / a AS q FROM t")
	c.exec("CREATE TABLE u (x int)")
	c.exec("COMMIT")
	c.awaitStatus("v", "failed")
	c.want("SELECT count(*) FROM u", "0")
	c.exec("UPDATE t SET a = 2 WHERE k = 1")
	c.exec("ALTER MATERIALIZED VIEW v RESUME")
	c.want("SELECT q FROM v ORDER BY k", "5\n2")
	c.exec("INSERT INTO t VALUES (3, 1)")
	c.want("SELECT q FROM v ORDER BY k", "5\n2\n10")
}
