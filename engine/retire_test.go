package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/wire"
)

// endings are statements that end something that runs, by what is sent in one go.
var endings = [][]string{
	{"DROP MATERIALIZED VIEW vv"},
	{"DROP MATERIALIZED VIEW v CASCADE"},
	{"DROP MATERIALIZED VIEW j, st"},
	{"DROP TABLE t CASCADE"},
	{"DROP TABLE lone"},
	{"DROP TABLE u CASCADE"},
	{"DROP INDEX ta"},
	{"DROP INDEX vi"},
	{"DROP SINK k"},
	{"DROP SOURCE s CASCADE"},
	{"DROP VIEW plain CASCADE"},
	{"DROP TYPE mood CASCADE"},
	{"DROP SEQUENCE q CASCADE"},
	{"DROP SCHEMA x CASCADE"},
	{"DROP OWNED BY r CASCADE"},
	{"DROP DATABASE d"},
	{"DROP TABLE tmp CASCADE"},
	{"ALTER TABLE t DROP COLUMN c CASCADE"},
	{"ALTER TABLE t ADD COLUMN d int DEFAULT 3"},
	{"ALTER TABLE t DROP CONSTRAINT tb"},
	{"ALTER TABLE t ADD CONSTRAINT tab UNIQUE (a, b)"},
	{"ALTER TABLE u DROP CONSTRAINT u_t_fkey"},
	{"ALTER TABLE lone ALTER COLUMN n TYPE bigint"},
	{"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT sum(a) + 1 AS s FROM t"},
	{"BEGIN", "DROP TABLE lone", "CREATE TABLE other (n int)", "COMMIT"},
	{"BEGIN", "DROP MATERIALIZED VIEW v CASCADE", "CREATE MATERIALIZED VIEW v AS SELECT sum(b) AS s FROM t", "COMMIT"},
	{"BEGIN", "DROP MATERIALIZED VIEW v CASCADE", "INSERT INTO t VALUES (-1, -1, -1, -1)", "DROP INDEX ta", "DROP TABLE lone", "COMMIT"},
	{"BEGIN", "DROP MATERIALIZED VIEW j", "ALTER TABLE t ADD COLUMN d int DEFAULT 3", "UPDATE lone SET n = n + 0", "COMMIT"},
	{"BEGIN", "ALTER TABLE t DROP COLUMN c CASCADE", "INSERT INTO u VALUES (-1, 0)", "COMMIT"},
	{"BEGIN", "DROP SINK k", "DROP SOURCE s CASCADE", "CREATE TABLE other AS SELECT a FROM t", "DELETE FROM u", "COMMIT"},
	{"BEGIN", "DROP TABLE u CASCADE", "CREATE UNIQUE INDEX tab ON t (a, b)", "CREATE MATERIALIZED VIEW w AS SELECT * FROM v", "COMMIT"},
}

// What ends objects leaves all as it was when its commit fails: views follow what they
// read, sinks deliver each change once, and a restart finds the same.
func TestEndingsWhoseCommitFails(t *testing.T) {
	for _, how := range []string{"no space", "this commit"} {
		t.Run(how, func(t *testing.T) {
			mem, f, s := vfs.NewMem(), newFeed(), &targetSink{}
			space := func(n uint64) { mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: n, TotalBytes: 1 << 30}) }
			space(1 << 30)
			cfg := withConnectors("data", f.definition(), s.definition())
			cfg.Fs = mem
			var failing atomic.Bool
			start := func() (*Engine, *client) {
				e := open(t, cfg)
				e.CommitFault = func(c *state.Commit) error {
					entries := slices.ContainsFunc(c.Meta, func(kv state.KV) bool { return strings.HasPrefix(string(kv.Key), string(jobs.CatalogPrefix)) })
					if failing.Load() && entries {
						return pgerr.New(pgerr.DiskFull, "No space left on device")
					}
					return nil
				}
				return e, connect(t, e)
			}
			e, c := start()
			endingsSchema(c, e)
			n := 0
			check := func(after string) {
				n++
				followsAfter(t, e, c, f, s, n, after)
			}
			check("the creation")
			for _, sts := range endings {
				for _, st := range sts[:len(sts)-1] {
					c.exec("%s", st)
				}
				if failing.Store(how == "this commit"); !failing.Load() {
					space(1 << 20)
				}
				err := c.try("%s", sts[len(sts)-1])
				if pe := pgerr.From(err); pe == nil || pe.Code != pgerr.DiskFull || !strings.Contains(pe.Msg, "No space left on device") {
					t.Fatalf("%q: %v", sts, err)
				}
				failing.Store(false)
				space(1 << 30)
				check(strings.Join(sts, "; "))
			}
			c.exec("DROP TABLE tmp CASCADE")
			e.Close()
			e, c = start()
			check("a restart")
			c.exec("DROP DATABASE d")
			c.exec("DROP SCHEMA x CASCADE")
			c.exec("DROP TABLE t, u, lone, m, owned CASCADE")
			c.exec("DROP SOURCE s CASCADE")
			if js, gs := e.JobsInOrder(), e.Graphs(); len(js)+len(gs) > 0 {
				t.Fatalf("%d jobs and %d graphs are left", len(js), len(gs))
			}
		})
	}
}

func endingsSchema(c *client, e *Engine) {
	for _, st := range []string{
		"CREATE ROLE r",
		"CREATE TABLE t (k int PRIMARY KEY, a int, b int CONSTRAINT tb UNIQUE, c int)",
		"CREATE TABLE u (k int PRIMARY KEY, t int REFERENCES t)",
		"CREATE TABLE lone (n int)",
		"INSERT INTO t VALUES (0, 0, 0, 0)",
		"CREATE INDEX ta ON t (a)",
		"CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t",
		"CREATE MATERIALIZED VIEW vv AS SELECT s + 1 AS s FROM v",
		"CREATE INDEX vi ON v (s)",
		"CREATE MATERIALIZED VIEW j AS SELECT t.a, count(*) AS n FROM t JOIN u ON u.t = t.k GROUP BY t.a",
		"CREATE MATERIALIZED VIEW onc AS SELECT max(c) AS m FROM t",
		"CREATE VIEW plain AS SELECT a + b AS ab FROM t",
		"CREATE MATERIALIZED VIEW onplain AS SELECT sum(ab) AS s FROM plain",
		"CREATE SINK k FROM v WITH (connector = 'target')",
		"CREATE SOURCE s WITH (connector = 'feed')",
		"CREATE MATERIALIZED VIEW sv AS SELECT count(*) AS n, sum(n) AS s FROM s",
		"CREATE MATERIALIZED VIEW st AS SELECT count(*) AS n FROM s JOIN t ON t.k = s.n",
		"CREATE TYPE mood AS ENUM ('low', 'high')",
		"CREATE SEQUENCE q",
		"CREATE TABLE m (k int DEFAULT nextval('q'), f mood)",
		"CREATE MATERIALIZED VIEW mm AS SELECT f, count(*) AS n FROM m GROUP BY f",
		"CREATE SCHEMA x",
		"CREATE TABLE x.t (k int)",
		"CREATE MATERIALIZED VIEW x.v AS SELECT count(*) AS n FROM x.t, t",
		"CREATE TABLE owned (k int)",
		"CREATE MATERIALIZED VIEW onowned AS SELECT count(*) AS n FROM owned",
		"ALTER TABLE owned OWNER TO r",
		"CREATE TEMPORARY TABLE tmp (k int)",
		"CREATE DATABASE d",
	} {
		c.exec("%s", st)
	}
	d := connectTo(c, e, "d")
	d.exec("CREATE TABLE t (k int)")
	d.exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
	d.l.Close()
}

// connectTo is a session in another database than the client's.
func connectTo(c *client, e *Engine, database string) *client {
	c.t.Helper()
	l := &Local{}
	s, err := e.NewSession(context.Background(), wire.Startup{User: e.Catalog.Current().RoleName(catalog.BootstrapOID), Database: database, Client: l})
	if err != nil {
		c.t.Fatal(err)
	}
	l.s = s
	return &client{c.t, l}
}

// followsAfter makes the n-th change of everything and looks whether it arrives
// everywhere.
func followsAfter(t *testing.T, e *Engine, c *client, f *feedSource, s *targetSink, n int, after string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("after %s", after)
		}
	}()
	c.exec("INSERT INTO t VALUES (%d, %d, %[1]d, %[1]d)", n, n%5+1)
	c.exec("INSERT INTO u VALUES (%d, %[1]d)", n)
	c.exec("INSERT INTO lone VALUES (%d)", n)
	c.exec("INSERT INTO m (f) VALUES ('high')")
	c.exec("INSERT INTO x.t VALUES (%d)", n)
	c.exec("INSERT INTO owned VALUES (%d)", n)
	for view, query := range map[string]string{
		"v": "SELECT sum(a) FROM t", "vv": "SELECT sum(a) + 1 FROM t", "onc": "SELECT max(c) FROM t", "onplain": "SELECT sum(a + b) FROM t",
		"j":  "SELECT t.a, count(*) FROM t JOIN u ON u.t = t.k GROUP BY t.a",
		"mm": "SELECT f, count(*) FROM m GROUP BY f", "x.v": "SELECT count(*) FROM x.t, t", "onowned": "SELECT count(*) FROM owned",
	} {
		c.same("SELECT * FROM "+view+" ORDER BY 1", query+" ORDER BY 1")
	}
	c.want("SELECT max(n), count(*) FROM lone", fmt.Sprintf("%d|%[1]d", n))
	c.want(fmt.Sprintf("SELECT count(*) > 0, bool_and(a = %d) FROM t WHERE a = %[1]d", n%5+1), "t|t")
	c.want("SELECT count(*) FROM v WHERE s = (SELECT sum(a) FROM t)", "1")
	if err := c.try("INSERT INTO t VALUES (-1, 0, %d, 0)", n); code(err) != "23505" {
		t.Fatal(err)
	}
	if err := c.try("INSERT INTO u VALUES (-1, -1)"); code(err) != "23503" {
		t.Fatal(err)
	}
	f.allow(int64(n + 1))
	for view, want := range map[string]string{
		"SELECT n, s FROM sv": fmt.Sprintf("%d|%d", n+1, n*(n+1)/2),
		"SELECT n FROM st":    fmt.Sprint(n + 1),
	} {
		poll(t, func() bool { return c.one(view) == want }, func() string { return after + ": " + view + ": " + c.one(view) + "\n" + c.one("SHOW JOBS") })
	}
	row := "+1:" + c.one("SELECT s FROM v")
	delivered := func() (k int) {
		s.set(func() {
			for _, r := range s.rows {
				if r == row {
					k++
				}
			}
		})
		return k
	}
	poll(t, func() bool { return delivered() == 1 }, func() string { return after + ": " + c.one("SHOW SINKS") })
	d := connectTo(c, e, "d")
	d.exec("INSERT INTO t VALUES (%d)", n)
	d.want("SELECT n FROM v", fmt.Sprint(n))
	d.l.Close()
	for _, r := range c.query("SHOW JOBS") {
		if r := strings.Split(r, "|"); r[3] != "running" {
			t.Fatalf("after %s: %s", after, r)
		}
	}
}
