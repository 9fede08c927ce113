package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/wire"
)

// The ways to run a text: parsed and planned for itself, by the plan cache, and by
// the plan cache as the second statement of a text that is parsed or not.
const (
	ownPlan = iota
	cached
	cachedPart
	cachedText
)

// effect is the answer of a text that changes w, and what w holds then, in a
// transaction that is rolled back; false if the plan cache has no plan for it.
func (h *quickHarness) effect(q string, way int) (got string, ok bool) {
	h.t.Helper()
	h.exec("BEGIN")
	defer h.exec("ROLLBACK")
	switch way {
	case ownPlan:
		got, ok = h.slow(h.l, q), true
	case cached:
		got, ok = h.quick(h.l, q)
	case cachedPart:
		got, ok = h.part("SELECT 1; ", q, false)
	case cachedText:
		got, ok = h.part("begin; ", q, true)
	}
	if !ok || h.l.s.TxStatus() == 'E' {
		return got, ok
	}
	c, err := h.l.Exec(context.Background(), "SELECT * FROM w ORDER BY k, v::text")
	if err != nil {
		h.t.Fatal(err)
	}
	return got + "\n" + rowsText(c, h.l.s.Options()), true
}

// part runs a text as the second statement of another, if the plan cache has it.
func (h *quickHarness) part(before, q string, known bool) (string, bool) {
	h.t.Helper()
	sts, err := h.l.s.Parse(context.Background(), before+q)
	if err != nil {
		h.t.Fatal(err)
	}
	if got := sts[1].(*statement).Stmt == nil; got != known {
		h.t.Errorf("%s: known without parsing: %v", q, got)
	}
	p, err := h.l.s.Prepare(context.Background(), sts[1], nil)
	if err != nil || p.(*prepared).taken == nil {
		return "", false
	}
	if len(p.Params()) > 0 {
		h.t.Errorf("%s has parameters", q)
	}
	o, err := p.Bind(context.Background(), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.answer(h.l, o), true
}

func TestQuickWritesDoWhatThePlanOfTheTextDoes(t *testing.T) {
	h := newQuickHarness(t)
	types := []string{"smallint", "bigint", "numeric(5,2)", "double precision", "varchar(3)", "char(4)", "boolean", "date", "interval", "jsonb", "int[]"}
	values := []string{"1", "-3", "- 3", "2147483648", "99999", "1.25", "-1.005", "- 2.5", "1e1", "'1'", "'abcd'", "'abc   '", "''", "'it''s'", "'today'", "'2020-01-01'",
		"'{1,2}'", "'[1]'", "'true'", "NULL", "DEFAULT", "'1 day'", "1 + 1", "'1'::text", "round(1.5, 1)", "ARRAY[1,2,3]"}
	shapes := []string{
		"INSERT INTO w VALUES (10, %s, 'x')",
		"INSERT INTO w (v, k) VALUES (%s, 11), (%[1]s, 12);",
		"INSERT INTO w VALUES (1, %s, 'x')", // duplicate key
		"INSERT INTO w VALUES (1, %s, 'x') ON CONFLICT (k) DO UPDATE SET v = excluded.v, t = 'again'",
		"INSERT INTO w VALUES (10, %s, 'x', 5)",
		"UPDATE w SET v = %s WHERE k = 1",
		"UPDATE w SET v = v + %s, t = 'u' WHERE k = 1",
		"UPDATE w SET t = t || 'x', v = %s WHERE k >= 1 AND t <> 'c'",
		"DELETE FROM w WHERE v = %s",
		"DELETE FROM w WHERE k = 2 OR v < %s",
		"UPDATE w SET v = %s FROM w x WHERE w.k = x.k + 1",
		"DELETE FROM w WHERE v = %s RETURNING k",
	}
	hits := 0
	for _, ty := range types {
		h.exec("CREATE TABLE w (k int PRIMARY KEY, v "+ty+", t text DEFAULT 'd' CHECK (t <> 'c'))", "INSERT INTO w VALUES (1, NULL, 'a'), (2, NULL, 'b')")
		for _, v := range values { // as many as are of the type
			_, _ = h.l.Exec(context.Background(), "UPDATE w SET v = "+v+" WHERE k = 1")
		}
		for _, s := range shapes {
			for _, v := range values {
				q := fmt.Sprintf(s, v)
				got, ok := h.effect(q, cached)
				if !ok {
					continue
				}
				hits++
				want, _ := h.effect(q, ownPlan)
				if got != want {
					t.Errorf("%s, v %s\n got %s\nwant %s", q, ty, got, want)
				}
				for _, way := range []int{cachedPart, cachedText} {
					if got, ok := h.effect(q, way); !ok || got != want {
						t.Errorf("%s, v %s, in a text of several (%d): %v\n got %s\nwant %s", q, ty, way, ok, got, want)
					}
				}
			}
		}
		h.exec("DROP TABLE w")
	}
	if hits < 500 {
		t.Errorf("only %d texts were run from the cache", hits)
	}
}

// A text of known statements is not parsed, and does and says what it would if it were:
// a comment makes it one that is.
func TestTextsOfKnownStatements(t *testing.T) {
	h := newQuickHarness(t)
	h.exec("CREATE TABLE w (k int PRIMARY KEY, v smallint, t text CHECK (t <> 'c'))")
	known := func(text string) bool { return h.l.s.(*Session).knownParts(text) != nil }
	run := func(text string) string {
		c, err := h.l.Exec(context.Background(), text)
		said := fmt.Sprint(err)
		if err != nil {
			said += fmt.Sprint(" at ", pgerr.From(err).Pos)
		} else if c != nil {
			said += rowsText(c, h.l.s.Options())
		}
		if h.l.s.TxStatus() != 'I' {
			h.exec("ROLLBACK")
		}
		rows, err := h.l.Exec(context.Background(), "SELECT * FROM w ORDER BY k")
		if err != nil {
			t.Fatal(err)
		}
		return said + "\n" + rowsText(rows, h.l.s.Options())
	}
	warm := "BEGIN; INSERT INTO w VALUES (1, 2, 'x;y'); UPDATE w SET v = 3 WHERE k = 1; DELETE FROM w WHERE k = 1; COMMIT"
	for range 3 {
		h.exec(strings.Split(strings.ReplaceAll(warm, "x;y", "z"), "; ")...)
	}
	if !known(warm) || known("SELECT 1; "+warm) || known("INSERT INTO w VALUES (1, 2, 'x')") || known("BEGIN; INSERT INTO w VALUES (1, 2, 'x'); VACUUM") {
		t.Error("the wrong texts are known")
	}
	for _, text := range []string{
		"BEGIN; INSERT INTO w VALUES (1, 2, 'x;''y'); UPDATE w SET v = 30 WHERE k = 1;;\n COMMIT ;",
		"INSERT INTO w VALUES (2, 2, 'x'); INSERT INTO w VALUES (2, 2, 'x')",
		"INSERT INTO w VALUES (2, 2, 'x'); UPDATE w SET v = 99999 WHERE k = 1",      // the constant's own plan reports it
		"INSERT INTO w VALUES (2, 2, 'x'); UPDATE w SET v = 2147483648 WHERE k = 1", // another template
		"INSERT INTO w VALUES (2, 2, 'c'); UPDATE w SET v = 1 WHERE k = 1",          // the check
		"BEGIN; UPDATE w SET v = 5 WHERE k = 1; ROLLBACK",
		"BEGIN; UPDATE w SET v = 6 WHERE k = 1; INSERT INTO w VALUES (1, 2, 'x'); COMMIT", // fails within the block
		"UPDATE w SET v = 7 WHERE k = 1; END",
		"DELETE FROM w WHERE k = 1; INSERT INTO w VALUES (1, 1, 'x'); ROLLBACK",
		"DELETE FROM w WHERE k = 1; DELETE FROM w WHERE k = 2; DELETE FROM w WHERE k = 3",
		"DELETE FROM w WHERE k = 1; DELETE FROM w WHERE k = ; DELETE FROM w WHERE k = 3",
	} {
		h.exec("DELETE FROM w", "INSERT INTO w VALUES (1, 2, 'a')")
		got := run(text)
		h.exec("DELETE FROM w", "INSERT INTO w VALUES (1, 2, 'a')")
		if want := run(text + " /**/"); got != want {
			t.Errorf("%s (known: %v)\n got %s\nwant %s", text, known(text), got, want)
		}
	}
}

func TestQuickWritesFollowTheCatalogAndTransaction(t *testing.T) {
	h := newQuickHarness(t)
	h.exec("CREATE TABLE w (k int PRIMARY KEY, v int)", "CREATE MATERIALIZED VIEW s AS SELECT sum(v) AS s FROM w")
	for i := range 5 {
		h.exec(fmt.Sprintf("INSERT INTO w VALUES (%d, %d)", i, i))
	}
	expect := func(want string) {
		t.Helper()
		c, err := h.l.Exec(context.Background(), "SELECT s, (SELECT count(*) FROM w) FROM s")
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsText(c, h.l.s.Options()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect("10|5|\n")
	text := "UPDATE w SET v = 100 WHERE k = 1"
	h.exec("UPDATE w SET v = 2 WHERE k = 1", "UPDATE w SET v = 3 WHERE k = 1")
	o := h.l.s.(wire.Quick).Quick(text) // planned for the catalog as it is
	if o == nil {
		t.Fatal("there is no plan")
	}
	h.session().Exec(context.Background(), "ALTER TABLE w ALTER v TYPE bigint")
	h.l.s.Begin(true)
	if got := h.answer(h.l, o); got != "UPDATE 1" {
		t.Error(got)
	}
	expect("109|5|\n")
	h.exec("UPDATE w SET v = 8 WHERE k = 2", "UPDATE w SET v = 9 WHERE k = 2")
	sts, err := h.l.s.Parse(context.Background(), "SELECT 1; UPDATE w SET v = 2 WHERE k = 2")
	if err != nil {
		t.Fatal(err)
	}
	h.l.s.Begin(true)
	p, err := h.l.s.Prepare(context.Background(), sts[1], nil)
	if err != nil || p.(*prepared).taken == nil {
		t.Fatalf("there is no plan, %v", err)
	}
	h.session().Exec(context.Background(), "ALTER TABLE w ALTER v TYPE int")
	if o, err = p.Bind(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if got := h.answer(h.l, o); got != "UPDATE 1" {
		t.Error(got)
	}
	expect("109|5|\n")
	h.exec("BEGIN", "INSERT INTO w VALUES (10, 1)", "SAVEPOINT a", "INSERT INTO w VALUES (11, 1)", "INSERT INTO w VALUES (12, 1)", "ROLLBACK TO a", "COMMIT")
	expect("110|6|\n")
	h.exec("BEGIN READ ONLY")
	if got := h.quickly("DELETE FROM w WHERE k = 10"); !strings.Contains(got, "cannot execute DELETE in a read-only transaction") {
		t.Error(got)
	}
	h.exec("ROLLBACK")
	expect("110|6|\n")
}

// quickly runs a text until the cache answers it.
func (h *quickHarness) quickly(q string) string {
	h.t.Helper()
	for range 3 {
		if got, ok := h.quick(h.l, q); ok {
			return got
		}
	}
	h.t.Fatalf("%s is not answered from the cache", q)
	return ""
}

func TestQuickWritesOfManySessions(t *testing.T) {
	h := newQuickHarness(t)
	h.exec("CREATE TABLE w (k int PRIMARY KEY, v int)", "INSERT INTO w VALUES (0, 0)")
	var wg sync.WaitGroup
	for i := range 4 {
		l := h.session()
		wg.Go(func() {
			for n := range 50 {
				for _, q := range []string{fmt.Sprintf("INSERT INTO w VALUES (%d, 1)", 1+i*100+n), fmt.Sprintf("UPDATE w SET v = v + %d WHERE k = 0", n)} {
					if _, err := l.Exec(context.Background(), q); err != nil {
						t.Error(q, err)
					}
				}
			}
		})
	}
	wg.Wait()
	c, err := h.l.Exec(context.Background(), "SELECT count(*), sum(v) FROM w")
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsText(c, h.l.s.Options()); got != "201|5100|\n" {
		t.Error(got)
	}
}
