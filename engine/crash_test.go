package engine

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamdb/streamdb/catalog"
)

// crashDirVar names the data directory for the process that is to be killed.
const crashDirVar = "STREAMDB_TEST_CRASH_DIR"

// TestCrashVictim is not a test: it is what the child process of TestKill runs,
// until it is killed. It reports each acknowledged row on its output.
func TestCrashVictim(t *testing.T) {
	dir := os.Getenv(crashDirVar)
	if dir == "" {
		return
	}
	f := newFeed()
	f.rest = time.Millisecond
	f.allow(1 << 40)
	cfg := withConnectors(dir, f.definition())
	cfg.NoSync = false // what is not synced may still be in the memory of the process
	e := open(t, cfg)
	c := connect(t, e)
	if e.Catalog.Current().In(catalog.DatabaseOID).Get("public", "t") == nil {
		crashSchema(c)
	}
	f.set(func() { f.gone = 1 << 39 }) // a view that read the source again would not count right
	fmt.Println("ready")
	var wg sync.WaitGroup
	for w := range 3 {
		c := connect(t, e)
		wg.Go(func() { victimWriter(c, w) })
	}
	for i := 0; ; i++ { // creation is interrupted at any point
		c.exec("CREATE OR REPLACE MATERIALIZED VIEW turned AS SELECT w, count(*) AS n, %d AS ver FROM t GROUP BY w", i)
		c.exec("CREATE OR REPLACE MATERIALIZED VIEW once AS SELECT n, s, m, %d AS ver FROM (SELECT count(*) AS n, sum(n) AS s, max(n) AS m FROM src) q", i)
		c.exec("CREATE MATERIALIZED VIEW tmp%d AS SELECT t.w, p.id, count(*) AS n FROM t JOIN pairs p ON p.id = t.id GROUP BY t.w, p.id", i%2)
		if i%2 == 1 {
			c.exec("DROP MATERIALIZED VIEW tmp0")
			c.exec("DROP MATERIALIZED VIEW tmp1")
		}
	}
}

func crashSchema(c *client) {
	c.exec("CREATE TABLE t (id bigint PRIMARY KEY, w int, x int)")
	c.exec("CREATE TABLE pairs (id bigint, half int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT w, count(*) AS n, sum(x) AS s FROM t GROUP BY w")
	c.exec("CREATE MATERIALIZED VIEW vv AS SELECT sum(n) AS n, sum(s) AS s FROM v")
	c.exec("CREATE MATERIALIZED VIEW j AS SELECT t.w, count(*) AS n FROM t JOIN pairs ON t.id = pairs.id GROUP BY t.w")
	c.exec("CREATE MATERIALIZED VIEW turned AS SELECT w, count(*) AS n, -1 AS ver FROM t GROUP BY w")
	c.exec("CREATE MATERIALIZED VIEW onturned AS SELECT ver, sum(n) AS n FROM turned GROUP BY ver")
	c.exec("CREATE INDEX turned_n ON turned (n)")
	c.exec("CREATE SOURCE src WITH (connector = 'feed')")
	c.exec("CREATE MATERIALIZED VIEW once AS SELECT count(*) AS n, sum(n) AS s, max(n) AS m FROM src")
	c.exec("CREATE MATERIALIZED VIEW onceper AS SELECT n %% 7 AS k, count(*) AS n FROM src GROUP BY n %% 7")
}

// victimWriter inserts rows and updates them; each acknowledged transaction is
// told on the output.
func victimWriter(c *client, w int) {
	seed := time.Now().UnixNano()
	for i := int64(0); ; i++ {
		id := seed + i*8 + int64(w)
		qs := []string{fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 1)", id, w)}
		switch i % 4 {
		case 1:
			qs = []string{"BEGIN", qs[0], fmt.Sprintf("INSERT INTO pairs VALUES (%d, 1), (%d, 2)", id, id), "COMMIT"}
		case 2:
			qs = append(qs, fmt.Sprintf("UPDATE t SET x = x + 1 WHERE id = %d", id))
		}
		ok := true
		for _, q := range qs {
			if err := c.try("%s", q); err != nil {
				ok = false
				_ = c.try("ROLLBACK")
				break
			}
		}
		if ok {
			fmt.Printf("ack %d %d\n", id, i%4)
		}
	}
}

// TestKill kills the process at random moments: nothing acknowledged is lost,
// views are what their queries say, sources count exactly once and interrupted
// creations leave nothing.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acked := map[string]string{}
	for round := range 5 {
		runVictim(t, dir, acked, 150*time.Millisecond+time.Duration(rand.IntN(500))*time.Millisecond)
		checkAfterCrash(t, dir, acked, round)
	}
	if len(acked) < 50 {
		t.Fatalf("only %d rows were written", len(acked))
	}
}

func runVictim(t *testing.T, dir string, acked map[string]string, life time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashVictim$")
	cmd.Env = append(os.Environ(), crashDirVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	sc := bufio.NewScanner(out)
	ready, acks := false, 0
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		switch {
		case len(f) == 1 && f[0] == "ready":
			ready = true
		case len(f) == 3 && f[0] == "ack":
			acked[f[1]] = f[2]
			// A slow machine has something to lose too.
			if acks++; acks == 10 {
				time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
			}
		default:
			fmt.Fprintln(&log, sc.Text())
		}
	}
	_ = cmd.Wait()
	if !ready || log.Len() > 0 {
		t.Fatalf("the process to be killed failed:\n%s", log.String())
	}
}

func checkAfterCrash(t *testing.T, dir string, acked map[string]string, round int) {
	t.Helper()
	f := newFeed()
	e, err := Open(withConnectors(dir, f.definition()))
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	defer e.Close()
	c := connect(t, e)
	have := map[string]string{}
	for _, r := range c.query("SELECT id, x FROM t") {
		id, x, _ := strings.Cut(r, "|")
		have[id] = x
	}
	pairs := map[string]string{}
	for _, r := range c.query("SELECT id, count(*) FROM pairs GROUP BY id") {
		id, n, _ := strings.Cut(r, "|")
		pairs[id] = n
	}
	for id, kind := range acked {
		want := map[string]string{"2": "2"}[kind]
		if want == "" {
			want = "1"
		}
		if have[id] != want {
			t.Fatalf("round %d: acknowledged row %s is %q, want %q", round, id, have[id], want)
		}
	}
	for id, n := range pairs {
		if n != "2" || have[id] == "" {
			t.Fatalf("round %d: half of a transaction: %s %s %q", round, id, n, have[id])
		}
	}
	c.same("SELECT w, n, s FROM v ORDER BY w", "SELECT w, count(*), sum(x) FROM t GROUP BY w ORDER BY w")
	c.same("SELECT n, s FROM vv", "SELECT count(*), sum(x) FROM t")
	c.same("SELECT w, n FROM j ORDER BY w", "SELECT t.w, count(*) FROM t JOIN pairs ON t.id = pairs.id GROUP BY t.w ORDER BY t.w")
	c.want("SELECT n = m + 1 AND s = n * (n - 1) / 2 FROM once WHERE n > 0", "t")
	c.want("SELECT count(*) FROM (SELECT k, n, max(n) OVER () AS hi FROM onceper) x WHERE hi - n > 1", "0")
	for _, v := range []string{"turned", "onturned", "vv"} {
		c.want("CHECK MATERIALIZED VIEW "+v, "")
	}
	c.same("SELECT n FROM onturned", "SELECT sum(n) FROM turned WHERE n > 0 HAVING count(*) > 0")
	for _, r := range c.query("SHOW JOBS") {
		if f := strings.Split(r, "|"); f[3] != "running" {
			t.Fatalf("round %d: job %s", round, r)
		}
	}
	for i := range 2 {
		if e.Catalog.Current().In(catalog.DatabaseOID).Get("public", fmt.Sprintf("tmp%d", i)) != nil {
			c.same(fmt.Sprintf("SELECT * FROM tmp%d ORDER BY 1, 2", i),
				"SELECT t.w, p.id, count(*) AS n FROM t JOIN pairs p ON p.id = t.id GROUP BY t.w, p.id ORDER BY 1, 2")
			c.exec("DROP MATERIALIZED VIEW tmp%d", i)
		}
	}
	left := 0
	_ = e.Store.MetaScan([]byte("creating/"), func(_, _ []byte) error { left++; return nil })
	if left > 0 {
		t.Fatalf("round %d: %d creations are still marked", round, left)
	}
	if _, err := c.l.Exec(context.Background(), "INSERT INTO t VALUES (0, 9, 0); DELETE FROM t WHERE id = 0"); err != nil {
		t.Fatal(err)
	}
}
