package engine

import (
	"context"
	"testing"
)

// Temporary objects go with their session, and after a crash before anything else.
func TestTemporaryObjectsEnd(t *testing.T) {
	cfg := config(t.TempDir())
	e := open(t, cfg)
	a, b := connect(t, e), connect(t, e)
	for _, c := range []*client{a, b} {
		c.exec("CREATE TEMP TABLE x (id serial PRIMARY KEY, v int UNIQUE); INSERT INTO x (v) VALUES (1), (2); CREATE INDEX ON x (v)")
		c.exec("CREATE TEMP VIEW y AS SELECT count(*) AS c FROM x; CREATE TEMP SEQUENCE z")
	}
	b.exec("INSERT INTO x (v) VALUES (3)")
	a.want("SELECT c FROM y", "2")
	b.want("SELECT c FROM y", "3")
	left := "SELECT count(*) FROM pg_class WHERE relpersistence = 't'"
	other := connect(t, e)
	other.exec("CREATE TABLE keep (id int PRIMARY KEY); INSERT INTO keep VALUES (1)")
	if other.one(left) == "0" {
		t.Fatal("there are no temporary objects")
	}
	a.l.Close()
	b.want("SELECT c FROM y", "3")
	b.l.Close()
	other.want(left, "0")
	other.want("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'", "0")

	c := connect(t, e)
	c.exec("CREATE TEMP TABLE x AS SELECT 1 AS a; CREATE INDEX ON x (a)")
	e.Close() // the session does not end before
	e = open(t, cfg)
	c = connect(t, e)
	c.want(left, "0")
	c.want("SELECT * FROM keep", "1")
	c.exec("CREATE TEMP TABLE x (b int)")
	c.want("SELECT * FROM x", "")
}

// A plan of one session's temporary table is no other's.
func TestTemporaryTableShadowsInPlans(t *testing.T) {
	h := newQuickHarness(t)
	a, b := h.session(), h.session()
	run := func(l *Local, text, want string) {
		t.Helper()
		for range 3 {
			if got, ok := h.quick(l, text); ok && got != want {
				t.Fatalf("%s: %s, want %s", text, got, want)
			}
			if got := h.slow(l, text); got != want {
				t.Fatalf("%s: %s, want %s", text, got, want)
			}
		}
	}
	h.exec("CREATE TABLE shadow (id int PRIMARY KEY, v int)", "INSERT INTO shadow VALUES (1, 10)")
	before := h.slow(a, "SELECT v FROM shadow WHERE id = 1")
	run(a, "SELECT v FROM shadow WHERE id = 1", before)
	if _, err := b.Exec(context.Background(), "CREATE TEMP TABLE shadow (id int PRIMARY KEY, v int); INSERT INTO shadow VALUES (1, 20)"); err != nil {
		t.Fatal(err)
	}
	after := h.slow(b, "SELECT v FROM shadow WHERE id = 1")
	if after == before {
		t.Fatal("the temporary table is not found")
	}
	run(b, "SELECT v FROM shadow WHERE id = 1", after)
	run(a, "SELECT v FROM shadow WHERE id = 1", before)
}
