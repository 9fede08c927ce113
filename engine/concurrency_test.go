package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
)

// parallel runs f in n goroutines, each with a client of its own.
func parallel(t *testing.T, e *Engine, n int, f func(i int, c *client)) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		c := connect(t, e)
		wg.Go(func() { f(i, c) })
	}
	wg.Wait()
}

// Money moves between accounts in single statements and in blocks; a view of a
// view shows the same sum at every read.
func TestTransfersKeepTheSum(t *testing.T) {
	for _, key := range []string{"PRIMARY KEY", ""} {
		t.Run("key "+key, func(t *testing.T) {
			e := open(t, config(t.TempDir()))
			c := connect(t, e)
			c.exec("CREATE TABLE acc (id int %s, grp int, bal int)", key)
			c.exec("INSERT INTO acc SELECT i, i %% 3, 100 FROM generate_series(0, 19) i")
			c.exec("CREATE MATERIALIZED VIEW per AS SELECT grp, sum(bal) AS s FROM acc GROUP BY grp")
			c.exec("CREATE MATERIALIZED VIEW total AS SELECT sum(s) AS s FROM per")
			var done atomic.Bool
			var readers sync.WaitGroup
			for range 2 {
				r := connect(t, e)
				readers.Go(func() {
					for !done.Load() {
						if got := r.one("SELECT s FROM total"); got != "2000" {
							t.Errorf("the sum is %s", got)
							return
						}
						if got := r.one("SELECT sum(bal) FROM acc"); got != "2000" {
							t.Errorf("the table's sum is %s", got)
							return
						}
					}
				})
			}
			var conflicts, moved atomic.Int64
			parallel(t, e, 8, func(i int, c *client) {
				rnd := rand.New(rand.NewPCG(uint64(i), 7))
				for range 40 {
					a, b, n := rnd.IntN(20), rnd.IntN(20), rnd.IntN(5)
					if a == b {
						continue
					}
					err := transfer(c, rnd.IntN(2) == 0, a, b, n)
					switch {
					case err == nil:
						moved.Add(1)
					case code(err) == "40001":
						conflicts.Add(1)
					default:
						t.Errorf("transfer: %v", err)
						return
					}
				}
			})
			done.Store(true)
			readers.Wait()
			if moved.Load() == 0 {
				t.Fatal("nothing was moved")
			}
			t.Logf("%d moved, %d conflicts", moved.Load(), conflicts.Load())
			c.same("SELECT grp, s FROM per ORDER BY grp", "SELECT grp, sum(bal) FROM acc GROUP BY grp ORDER BY grp")
		})
	}
}

func transfer(c *client, block bool, a, b, n int) error {
	if !block {
		return c.try("UPDATE acc SET bal = bal + CASE WHEN id = %d THEN %d ELSE %d END WHERE id IN (%d, %d)", a, n, -n, a, b)
	}
	for _, q := range []string{"BEGIN", fmt.Sprintf("UPDATE acc SET bal = bal - %d WHERE id = %d", n, b),
		fmt.Sprintf("UPDATE acc SET bal = bal + %d WHERE id = %d", n, a), "COMMIT"} {
		if err := c.try("%s", q); err != nil {
			_ = c.try("ROLLBACK")
			return err
		}
	}
	return nil
}

// Eight writers insert, update and delete; statements of their own are never
// refused, and what one session has written another sees in a view of a view.
func TestConcurrentWritersAndStrictReads(t *testing.T) {
	for _, key := range []string{"PRIMARY KEY", ""} {
		t.Run("key "+key, func(t *testing.T) {
			e := open(t, config(t.TempDir()))
			c := connect(t, e)
			c.exec("CREATE TABLE t (id int %s, w int, x int)", key)
			c.exec("CREATE MATERIALIZED VIEW v AS SELECT w, id %% 10 AS d, count(*) AS n, sum(x) AS s FROM t GROUP BY w, id %% 10")
			c.exec("CREATE MATERIALIZED VIEW vv AS SELECT w, sum(n) AS n, sum(s) AS s FROM v GROUP BY w")
			parallel(t, e, 8, func(w int, c *client) {
				r := connect(t, e)
				rnd := rand.New(rand.NewPCG(uint64(w), 1))
				n, live := 0, map[int]bool{}
				for i := range 60 {
					id := w*1000 + i
					var err error
					switch k := rnd.IntN(4); {
					case k < 2 || len(live) == 0:
						err = c.try("INSERT INTO t VALUES (%d, %d, %d)", id, w, i)
						live[id] = true
						n++
					case k == 2:
						err = c.try("UPDATE t SET x = x + 1 WHERE w = %d", w)
					default:
						for id = range live {
							break
						}
						err = c.try("DELETE FROM t WHERE id = %d", id)
						delete(live, id)
						n--
					}
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
					want := fmt.Sprint(n)
					if n == 0 {
						want = ""
					}
					if got := r.one(fmt.Sprintf("SELECT n FROM vv WHERE w = %d", w)); got != want {
						t.Errorf("writer %d: %s rows in the view, want %s", w, got, want)
						return
					}
				}
			})
			c.same("SELECT w, n, s FROM vv ORDER BY w", "SELECT w, count(*), sum(x) FROM t GROUP BY w ORDER BY w")
		})
	}
}

// All sessions change the same row: each statement counts exactly once.
func TestHotRow(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (k int PRIMARY KEY, n int)")
	c.exec("CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS n FROM t")
	c.exec("INSERT INTO t VALUES (1, 0)")
	var done atomic.Int64
	parallel(t, e, 8, func(_ int, c *client) {
		for range 25 {
			switch err := c.try("UPDATE t SET n = n + 1"); {
			case err == nil:
				done.Add(1)
			case code(err) != "40001":
				t.Error(err)
			}
		}
	})
	if done.Load() < 150 {
		t.Fatalf("only %d of 200 updates went through", done.Load())
	}
	c.want("SELECT n FROM v", fmt.Sprint(done.Load()))
}

// Views are made over a large table while others write to it, and graphs merge.
func TestCreationUnderWrites(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE a (id int PRIMARY KEY, g int, x int)")
	c.exec("CREATE TABLE b (g int PRIMARY KEY, name text)")
	c.exec("CREATE TABLE u (x int)")
	c.exec("INSERT INTO a SELECT i, i %% 100, i FROM generate_series(1, 200000) i")
	c.exec("INSERT INTO b SELECT i, 'g' || i FROM generate_series(0, 99) i")
	c.exec("CREATE MATERIALIZED VIEW mid AS SELECT g, x FROM a WHERE x %% 2 = 0")
	var done atomic.Bool
	var writes atomic.Int64
	var wg sync.WaitGroup
	for w := range 3 {
		c := connect(t, e)
		wg.Go(func() {
			for i := 0; !done.Load(); i++ {
				id := 1_000_000*(w+1) + i
				qs := []string{fmt.Sprintf("INSERT INTO a VALUES (%d, %d, %d)", id, i%100, i), fmt.Sprintf("DELETE FROM a WHERE id = %d", id-5),
					fmt.Sprintf("UPDATE b SET name = name || 'x' WHERE g = %d", i%100), fmt.Sprintf("UPDATE a SET x = x + 1 WHERE id = %d", 1+i*37%200000)}
				if i%7 == 0 { // one transaction over the tables of several graphs
					qs = []string{"BEGIN", qs[0], fmt.Sprintf("INSERT INTO u VALUES (%d)", i), "COMMIT"}
				}
				for _, q := range qs {
					if err := c.try("%s", q); err != nil && code(err) != "40001" {
						t.Errorf("%s: %v", q, err)
						return
					}
				}
				writes.Add(1)
			}
		})
	}
	join := "SELECT b.name, count(*) AS n, sum(a.x) AS s FROM a JOIN b ON a.g = b.g GROUP BY b.name"
	c.exec("%s", "CREATE MATERIALIZED VIEW j AS "+join)
	agg := "SELECT g, count(*) AS n, sum(x) AS s FROM a GROUP BY g"
	c.exec("%s", "CREATE MATERIALIZED VIEW agg AS "+agg)
	onView := "SELECT g, min(x) AS lo, max(x) AS hi FROM mid GROUP BY g"
	c.exec("%s", "CREATE MATERIALIZED VIEW m2 AS "+onView)
	two := "SELECT agg.g, agg.n, u.x FROM agg LEFT JOIN u ON u.x = agg.g"
	c.exec("%s", "CREATE MATERIALIZED VIEW two AS "+two)
	for i := range 3 { // others come and go
		c.exec("CREATE MATERIALIZED VIEW tmp%d AS SELECT count(*) AS n FROM j", i)
		c.exec("DROP MATERIALIZED VIEW tmp%d", i)
	}
	before := writes.Load()
	poll(t, func() bool { return writes.Load() > before+20 || t.Failed() }, func() string { return "the writers do not get on" })
	done.Store(true)
	wg.Wait()
	c.same("SELECT * FROM j ORDER BY 1", join+" ORDER BY 1")
	c.same("SELECT * FROM agg ORDER BY 1", agg+" ORDER BY 1")
	c.same("SELECT * FROM m2 ORDER BY 1", onView+" ORDER BY 1")
	c.same("SELECT * FROM two ORDER BY 1, 3", two+" ORDER BY 1, 3")
}

// Several tables are joined and dropped while writers and transactions go on.
func TestGraphsMergeAndObjectsGoUnderWrites(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	for i := range 4 {
		c.exec("CREATE TABLE t%d (a int)", i)
		c.exec("CREATE MATERIALIZED VIEW v%d AS SELECT count(*) AS n FROM t%d", i, i)
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	for w := range 4 {
		c := connect(t, e)
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 3))
			for !done.Load() {
				i, j := rnd.IntN(4), rnd.IntN(4)
				for _, q := range []string{"BEGIN", fmt.Sprintf("INSERT INTO t%d VALUES (%d)", i, w), fmt.Sprintf("INSERT INTO t%d VALUES (%d)", j, w), "COMMIT"} {
					if err := c.try("%s", q); err != nil && code(err) != "40001" && !strings.HasPrefix(code(err), "42P01") && code(err) != "25P02" {
						t.Errorf("%s: %v", q, err)
						return
					}
				}
				_ = c.try("INSERT INTO gone VALUES (1)")
			}
		})
	}
	for i := range 15 {
		c.exec("CREATE TABLE gone (a int)")
		c.exec("CREATE MATERIALIZED VIEW x AS SELECT p.a, count(*) AS n FROM t%d p JOIN gone q ON p.a = q.a GROUP BY p.a", i%4)
		c.exec("CREATE MATERIALIZED VIEW y AS SELECT sum(n) AS n FROM x")
		if i%2 == 0 {
			c.exec("DROP TABLE gone CASCADE")
		} else {
			c.exec("DROP MATERIALIZED VIEW y")
			c.exec("DROP MATERIALIZED VIEW x")
			c.exec("DROP TABLE gone")
		}
	}
	done.Store(true)
	wg.Wait()
	for i := range 4 {
		c.same(fmt.Sprintf("SELECT n FROM v%d", i), fmt.Sprintf("SELECT count(*) FROM t%d", i))
	}
}

// Views that are created and dropped leave no goroutines behind.
func TestCreateAndDropLeaksNothing(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (a int, b int)")
	c.exec("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i")
	round := func() {
		c.exec("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
		c.exec("CREATE MATERIALIZED VIEW w AS SELECT x.a, y.n FROM t x JOIN v y ON x.a = y.a")
		c.exec("CREATE TABLE u (a int)")
		c.exec("INSERT INTO u VALUES (1)")
		c.exec("INSERT INTO t VALUES (1, 1)")
		c.exec("DROP MATERIALIZED VIEW v CASCADE")
		c.exec("DROP TABLE u")
	}
	round()
	before := runtime.NumGoroutine()
	for range 30 {
		round()
	}
	goroutines(t, before+2)
}

// While a view is being created it cannot be read, and it can be dropped.
func TestViewUnderCreation(t *testing.T) {
	e := open(t, config(t.TempDir()))
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	e.Fault = func(job string) error {
		if job == "slow" {
			held <- struct{}{}
			<-hold
		}
		return nil
	}
	c, d := connect(t, e), connect(t, e)
	c.exec("CREATE TABLE t (a int)")
	c.exec("INSERT INTO t VALUES (1)")
	made := make(chan error, 1)
	ctx := context.Background()
	go func() {
		_, err := d.l.Exec(ctx, "CREATE MATERIALIZED VIEW slow AS SELECT a FROM t")
		made <- err
	}()
	<-held
	c.awaitStatus("slow", "creating")
	if err := c.try("SELECT * FROM slow"); code(err) != "55000" {
		t.Fatal(err)
	}
	if err := c.try("CREATE MATERIALIZED VIEW onto AS SELECT * FROM slow"); code(err) != "55000" {
		t.Fatal(err)
	}
	c.exec("CREATE MATERIALIZED VIEW quick AS SELECT count(*) AS n FROM t")
	c.exec("INSERT INTO t VALUES (2)")
	c.want("SELECT n FROM quick", "2")
	c.exec("DROP MATERIALIZED VIEW slow")
	if err := <-made; code(err) != "57014" {
		t.Fatal(err)
	}
	close(hold)
	c.exec("CREATE MATERIALIZED VIEW slow AS SELECT a FROM t")
	c.want("SELECT a FROM slow ORDER BY a", "1\n2")
}

// TestUniqueUnderConcurrency: of many writers of the same values, one wins each,
// alone and in blocks; the others get a duplicate key, or with ON CONFLICT nothing.
func TestUniqueUnderConcurrency(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE u (id int PRIMARY KEY, a int UNIQUE, b text)")
	c.exec("CREATE UNIQUE INDEX u_b ON u (lower(b)) WHERE a < 1000")
	c.exec("CREATE TABLE bag (a int UNIQUE)")
	const writers, values = 4, 40
	var won, bagWon [writers]int
	var wg sync.WaitGroup
	for w := range writers {
		c := connect(t, e)
		wg.Go(func() {
			for v := range values {
				err := c.try("INSERT INTO u VALUES (%d, %d, 'X%d')", w*1000+v, v, v)
				if err == nil {
					won[w]++
				} else if pgerr.CodeOf(err) != pgerr.UniqueViolation {
					t.Error(err)
				}
				c.exec("INSERT INTO u VALUES (%d, %d, 'x%d') ON CONFLICT DO NOTHING", 10000+w*1000+v, 500+v, 500+v)
				c.exec("BEGIN")
				err = c.try("INSERT INTO bag VALUES (%d)", v)
				if end := c.try("COMMIT"); err == nil {
					err = end
				}
				if err == nil {
					bagWon[w]++
				} else if pgerr.CodeOf(err) != pgerr.UniqueViolation {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sum := func(ns [writers]int) (n int) {
		for _, x := range ns {
			n += x
		}
		return n
	}
	if sum(won) != values || sum(bagWon) != values {
		t.Errorf("%d and %d writers won %d values", sum(won), sum(bagWon), values)
	}
	for _, q := range []string{"SELECT count(*), count(DISTINCT a), count(DISTINCT lower(b)) FROM u", "SELECT count(*) + 40, count(DISTINCT a) + 40, 80 FROM bag"} {
		if got := c.query(q); len(got) != 1 || got[0] != "80|80|80" {
			t.Errorf("%s: %v", q, got)
		}
	}
}

// TestForUpdateConflicts: a transaction that has read a row FOR UPDATE does not
// commit after another one has changed the row; plain reads do not matter.
func TestForUpdateConflicts(t *testing.T) {
	e := open(t, config(t.TempDir()))
	a, b := connect(t, e), connect(t, e)
	a.exec("CREATE TABLE k (id int PRIMARY KEY, n int)")
	a.exec("CREATE TABLE bag (n int)")
	a.exec("CREATE TABLE log (x int)")
	a.exec("INSERT INTO k VALUES (1, 1), (2, 2)")
	a.exec("INSERT INTO bag VALUES (1), (2)")
	a.exec("CREATE VIEW kv AS SELECT id, n FROM k WHERE id < 10")
	a.exec("CREATE VIEW kb AS SELECT kv.id, bag.n FROM kv JOIN bag ON bag.n = kv.id")
	first, second := "UPDATE k SET n = n + 1 WHERE id = 1", "UPDATE k SET n = n + 1 WHERE id = 2"
	for _, x := range []struct {
		read, change string
		conflict     bool
	}{
		{"SELECT id FROM kv WHERE id = 1 FOR UPDATE", first, true},
		{"SELECT id FROM kv WHERE id = 1 FOR UPDATE", second, false},
		{"SELECT id FROM kb WHERE n = 2 FOR NO KEY UPDATE", second, true},
		{"SELECT id FROM kb WHERE n = 2 FOR NO KEY UPDATE", first, false},
		{"SELECT id FROM kb WHERE n = 2 FOR UPDATE", "UPDATE bag SET n = 2 + 0 * n WHERE n = 2", false}, // the row is what it was
		{"SELECT count(*) FROM (SELECT id FROM k ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) s", first, true},
		{"SELECT count(*) FROM (SELECT id FROM k ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) s", second, false},
		{"WITH w AS (SELECT id FROM k WHERE id = 2 FOR SHARE) SELECT count(*) FROM w", second, true},
		{"SELECT 1 WHERE EXISTS (SELECT FROM k WHERE id = 1 FOR UPDATE)", first, true},
		{"SELECT (SELECT k.n FROM k WHERE k.id = bag.n FOR UPDATE) FROM bag WHERE n = 1", first, true},
		{"SELECT s.id FROM (SELECT id FROM k) s, bag WHERE s.id = bag.n AND s.id = 2 FOR UPDATE OF s", second, true},
		{"SELECT s.id FROM (SELECT id FROM k) s, bag WHERE s.id = bag.n AND s.id = 2 FOR UPDATE OF bag", second, false},
		{"SELECT * FROM (k JOIN bag ON bag.n = k.id) j WHERE j.id = 1 FOR UPDATE", first, true},
		{"INSERT INTO log SELECT id FROM k WHERE id = 1 FOR UPDATE RETURNING x", first, true},
		{"UPDATE log SET x = 1 WHERE x IN (SELECT id FROM k WHERE id = 1 FOR UPDATE) RETURNING x", first, true},
		{"SELECT * FROM k WHERE id = 1 FOR UPDATE", "UPDATE k SET n = n + 1 WHERE id = 1", true},
		{"SELECT * FROM k WHERE id = 1 FOR UPDATE", "UPDATE k SET n = n + 1 WHERE id = 2", false},
		{"SELECT * FROM k WHERE id = 1", "UPDATE k SET n = n + 1 WHERE id = 1", false},
		{"SELECT k.id FROM k JOIN bag ON bag.n = k.id FOR SHARE OF bag", "UPDATE bag SET n = 5 WHERE n = 2", true},
		{"SELECT k.id FROM k JOIN bag ON bag.n = k.id FOR SHARE OF k", "UPDATE bag SET n = 6 WHERE n = 5", false},
		{"SELECT id FROM k WHERE id = 2 FOR UPDATE", "DELETE FROM k WHERE id = 2", true},
	} {
		a.exec("BEGIN")
		a.query(x.read)
		a.exec("INSERT INTO log VALUES (1)")
		b.exec("%s", x.change)
		err := a.try("COMMIT")
		if x.conflict && pgerr.CodeOf(err) != pgerr.SerializationFailure || !x.conflict && err != nil {
			t.Errorf("%s, then %s: %v", x.read, x.change, err)
		}
	}
	if got := b.query("SELECT count(*) FROM log"); got[0] != "8" {
		t.Errorf("%s transactions committed", got[0])
	}
}
