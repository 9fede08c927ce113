package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
)

// wantConflict fails the test unless err asks to run the transaction again.
func wantConflict(t *testing.T, err error, message string) {
	t.Helper()
	if e := pgerr.From(err); err == nil || e.Code != pgerr.SerializationFailure || !strings.Contains(e.Msg, message) {
		t.Fatalf("got %v, want 40001 %s", err, message)
	}
}

// A row that was changed after the snapshot cannot be changed, though every other can.
func TestRepeatableReadConflicts(t *testing.T) {
	e := open(t, config(t.TempDir()))
	a, b := connect(t, e), connect(t, e)
	a.exec("CREATE TABLE acc (id int PRIMARY KEY, v int)")
	a.exec("INSERT INTO acc VALUES (1, 10), (2, 20)")
	for _, own := range []int{1, 2} {
		a.exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
		a.query("SELECT * FROM acc")
		b.exec("UPDATE acc SET v = v + 1 WHERE id = 1")
		a.exec("UPDATE acc SET v = v + 100 WHERE id = %d", own)
		err := a.try("COMMIT")
		if own == 1 {
			wantConflict(t, err, "concurrent update")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	a.want("SELECT * FROM acc ORDER BY id", "1|12\n2|120")
}

// What a serializable transaction has read, in whatever way, must be so when it
// commits; what it has not read may change.
func TestSerializableReads(t *testing.T) {
	setup := func(t *testing.T) (a, b *client) {
		e := open(t, config(t.TempDir()))
		a, b = connect(t, e), connect(t, e)
		a.exec("CREATE TABLE acc (id int PRIMARY KEY, grp int, v int)")
		a.exec("CREATE INDEX ON acc (grp)")
		a.exec("CREATE TABLE bag (v int)")
		a.exec("CREATE TABLE other (v int)")
		a.exec("CREATE TABLE result (v int)")
		a.exec("CREATE MATERIALIZED VIEW sums AS SELECT grp, sum(v) AS v FROM acc GROUP BY grp")
		a.exec("INSERT INTO acc VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30)")
		a.exec("INSERT INTO bag VALUES (1), (2)")
		return a, b
	}
	for _, c := range []struct {
		read, change string
		conflict     bool
	}{
		{"SELECT sum(v) FROM acc", "UPDATE acc SET v = 11 WHERE id = 1", true},
		{"SELECT sum(v) FROM acc", "INSERT INTO acc VALUES (4, 4, 4)", true},
		{"SELECT sum(v) FROM acc", "INSERT INTO other VALUES (4)", false},
		{"SELECT v FROM acc WHERE id = 1", "UPDATE acc SET v = 11 WHERE id = 1", true},
		{"SELECT v FROM acc WHERE id = 1", "DELETE FROM acc WHERE id = 1", true},
		{"SELECT v FROM acc WHERE id = 1", "UPDATE acc SET v = 21 WHERE id = 2", false},
		{"SELECT v FROM acc WHERE id = 9", "INSERT INTO acc VALUES (9, 9, 9)", true},
		{"SELECT v FROM acc WHERE id = 9", "INSERT INTO acc VALUES (8, 9, 9)", false},
		{"SELECT v FROM acc WHERE grp = 1", "UPDATE acc SET grp = 2 WHERE id = 1", true},
		{"SELECT count(*) FROM bag", "DELETE FROM bag WHERE v = 1", true},
		{"SELECT count(*) FROM bag", "INSERT INTO other VALUES (1)", false},
		{"SELECT * FROM sums", "UPDATE acc SET v = 11 WHERE id = 1", true},
		{"SELECT * FROM sums", "INSERT INTO bag VALUES (5)", false},
		{"UPDATE acc SET v = v WHERE id = 1", "UPDATE acc SET v = 21 WHERE id = 2", false},
		{"SELECT v FROM acc WHERE id = 1 FOR UPDATE", "UPDATE acc SET v = 11 WHERE id = 1", true},
	} {
		t.Run(c.read+"; "+c.change, func(t *testing.T) {
			a, b := setup(t)
			a.exec("BEGIN ISOLATION LEVEL SERIALIZABLE")
			a.query(c.read)
			b.exec("%s", strings.ReplaceAll(c.change, "%", "%%"))
			a.exec("INSERT INTO result VALUES (1)")
			err := a.try("COMMIT")
			if c.conflict {
				wantConflict(t, err, "")
			} else if err != nil {
				t.Fatal(err)
			}
			// One that only reads saw the state of one moment.
			a.exec("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY")
			a.query("SELECT * FROM acc, bag, sums")
			b.exec("INSERT INTO acc VALUES (100, 1, 1)")
			a.exec("COMMIT")
		})
	}
}

// Withdrawals are allowed while the sum of a pair of accounts is large enough, which
// each transaction looks up first. Only if they are serializable is the rule kept.
func TestNoWriteSkew(t *testing.T) {
	for _, look := range []string{
		"SELECT sum(v) FROM acc WHERE grp = %d",
		"SELECT coalesce((SELECT v FROM acc WHERE id = 2 * %[1]d), 0) + coalesce((SELECT v FROM acc WHERE id = 2 * %[1]d + 1), 0)",
		"SELECT v FROM sums WHERE grp = %d",
	} {
		t.Run(look, func(t *testing.T) {
			e := open(t, config(t.TempDir()))
			c := connect(t, e)
			c.exec("CREATE TABLE acc (id int PRIMARY KEY, grp int, v int)")
			c.exec("CREATE MATERIALIZED VIEW sums AS SELECT grp, sum(v) AS v FROM acc GROUP BY grp")
			c.exec("CREATE TABLE taken (grp int)")
			c.exec("INSERT INTO acc SELECT i, i / 2, 50 FROM generate_series(0, 5) i")
			var conflicts, done atomic.Int64
			parallel(t, e, 6, func(i int, c *client) {
				rnd := rand.New(rand.NewPCG(uint64(i), 3))
				for range 60 {
					grp, one := rnd.IntN(3), rnd.IntN(2)
					c.exec("BEGIN ISOLATION LEVEL SERIALIZABLE")
					if got := c.one(fmt.Sprintf(look, grp)); got == "0" {
						c.exec("ROLLBACK")
						continue
					}
					c.exec("UPDATE acc SET v = v - 10 WHERE id = %d", 2*grp+one)
					c.exec("INSERT INTO taken VALUES (%d)", grp)
					if err := c.try("COMMIT"); err != nil {
						if pgerr.From(err).Code != pgerr.SerializationFailure {
							t.Error(err)
						}
						conflicts.Add(1)
						continue
					}
					done.Add(1)
				}
			})
			if bad := c.query("SELECT * FROM sums WHERE v < 0"); len(bad) > 0 {
				t.Errorf("more was taken than there was: %v", bad)
			}
			c.want("SELECT 300 - 10 * (SELECT count(*) FROM taken) = (SELECT sum(v) FROM acc)", "t")
			t.Logf("%d withdrawals, %d conflicts", done.Load(), conflicts.Load())
		})
	}
}

// Single statements are transactions too: they run again instead of failing.
func TestSerializableStatements(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE seen (n int)")
	parallel(t, e, 4, func(_ int, c *client) {
		c.exec("SET default_transaction_isolation = serializable")
		for range 15 {
			c.exec("INSERT INTO seen SELECT count(*) FROM seen")
		}
	})
	c.want("SELECT count(*), count(DISTINCT n), min(n), max(n) FROM seen", "60|60|0|59")
}

// The snapshot of a transaction stays readable while others change what relations
// are; what no longer has the form of then is a conflict, and one's own changes show.
func TestRepeatableReadAndDDL(t *testing.T) {
	e := open(t, config(t.TempDir()))
	a, b := connect(t, e), connect(t, e)
	a.exec("CREATE TABLE t (id int PRIMARY KEY, v int)")
	a.exec("CREATE TABLE u (id int)")
	a.exec("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i")
	a.exec("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS c FROM t")
	a.exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
	a.want("SELECT count(*) FROM t", "100")
	b.exec("INSERT INTO t VALUES (101, 7)")
	b.exec("CREATE INDEX ON t (v)")
	b.exec("CREATE TABLE w AS SELECT 1 AS x")
	b.exec("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT count(*) + 1000 AS c FROM t")
	b.exec("COMMENT ON TABLE t IS 'x'")
	a.want("SELECT count(*) FROM t WHERE v = 7", "1")
	a.want("SELECT * FROM m", "100")
	a.want("SELECT count(*) FROM w", "0")
	b.exec("ALTER TABLE t ADD COLUMN z int DEFAULT 5")
	b.exec("DROP TABLE u")
	wantConflict(t, a.try("SELECT * FROM t"), "")
	a.exec("ROLLBACK")
	a.exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
	a.want("SELECT count(*) FROM t WHERE v = 7", "2")
	a.exec("ALTER TABLE t DROP COLUMN z")
	a.want("SELECT count(*) FROM t WHERE v = 7", "2")
	a.want("SELECT * FROM t WHERE id = 5", "5|5")
	a.exec("COMMIT")
}
