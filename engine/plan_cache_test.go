package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/connector/registry"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// quickHarness runs texts as the simple protocol does, and without the plan cache.
type quickHarness struct {
	t *testing.T
	e *Engine
	l *Local
}

func newQuickHarness(t *testing.T) *quickHarness {
	e, err := Open(jobs.Config{Dir: t.TempDir(), NoSync: true, Connectors: registry.All(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	h := &quickHarness{t: t, e: e}
	h.l = h.session()
	return h
}

func (h *quickHarness) session() *Local {
	l, err := h.e.OpenLocal()
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(l.Close)
	return l
}

func (h *quickHarness) exec(qs ...string) {
	h.t.Helper()
	for _, q := range qs {
		if _, err := h.l.Exec(context.Background(), q); err != nil {
			h.t.Fatal(q, err)
		}
	}
}

// slow is the answer of a text that is parsed and planned for itself.
func (h *quickHarness) slow(l *Local, q string) string {
	sts, err := l.s.Parse(context.Background(), q)
	if err != nil {
		return err.Error()
	}
	l.s.Begin(true)
	p, err := l.s.Prepare(context.Background(), sts[0], nil)
	if err != nil {
		l.s.Fail()
		return fmt.Sprintf("%+v", err)
	}
	o, err := p.Bind(context.Background(), nil)
	if err != nil {
		l.s.Fail()
		return err.Error()
	}
	return h.answer(l, o)
}

// quick is the cache's answer; false if it has none.
func (h *quickHarness) quick(l *Local, q string) (string, bool) {
	o := l.s.(wire.Quick).Quick(q)
	if o == nil {
		return "", false
	}
	l.s.Begin(true)
	return h.answer(l, o), true
}

func (h *quickHarness) answer(l *Local, o wire.Portal) string {
	var b strings.Builder
	for _, c := range o.Columns() {
		fmt.Fprintf(&b, "%s:%s ", c.Name, c.Type)
	}
	n := int64(0)
	for {
		c, err := o.Next(context.Background())
		if err != nil {
			l.s.Fail()
			return b.String() + err.Error()
		}
		if c == nil {
			break
		}
		n += int64(c.Rows)
		b.WriteString(rowsText(c, l.s.Options()))
	}
	b.WriteString(o.Tag(n))
	o.Close()
	if err := l.s.Sync(context.Background()); err != nil {
		h.t.Error(err)
	}
	return b.String()
}

func rowsText(c *vec.Chunk, o *types.Options) string {
	var b strings.Builder
	for r := range c.Rows {
		for _, v := range c.Cols {
			if d := v.Datum(r); d == nil {
				b.WriteString("NULL|")
			} else {
				b.Write(append(types.AppendText(nil, v.Type(), d, o), '|'))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// compare runs each text twice and expects both answers of the cache, if it has
// any, to be the text's own. It returns how many it had.
func (h *quickHarness) compare(l *Local, qs ...string) (hits int) {
	h.t.Helper()
	for range 2 {
		for _, q := range qs {
			got, ok := h.quick(l, q)
			want := h.slow(l, q)
			if ok {
				hits++
				if got != want {
					h.t.Errorf("%s\n got %s\nwant %s", q, got, want)
				}
			}
		}
	}
	return hits
}

func TestQuickAnswersAreThoseOfThePlanOfTheText(t *testing.T) {
	h := newQuickHarness(t)
	h.exec("CREATE TABLE i2 (k smallint PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE i4 (k int PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE i8 (k bigint PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE nu (k numeric PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE tx (k text PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE vc (k varchar(3) PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE da (k date PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE f8 (k double precision PRIMARY KEY, v text, d date, z timestamptz)",
		"CREATE TABLE uu (k uuid PRIMARY KEY, v text, d date, z timestamptz)")
	for _, tb := range []string{"i2", "i4", "i8", "nu", "f8"} {
		h.exec("INSERT INTO "+tb+" VALUES (1, 'a', current_date, '2020-01-01 00:00Z'), (2, 'it''s', NULL, NULL), (-3, NULL, '2020-02-02', now())",
			"CREATE MATERIALIZED VIEW v"+tb+" AS SELECT k, count(*) AS v, max(d) AS d, max(z) AS z FROM "+tb+" GROUP BY k")
	}
	h.exec("INSERT INTO tx VALUES ('1', 'a', current_date, now()), ('it''s', 'b', NULL, NULL)",
		"INSERT INTO vc VALUES ('1', 'a', current_date, now()), ('abc', 'b', NULL, NULL)",
		"INSERT INTO da VALUES ('2020-01-01', 'a', current_date, now()), (current_date, 'b', NULL, NULL)",
		"INSERT INTO uu VALUES ('00000000-0000-0000-0000-000000000001', 'a', NULL, NULL)")
	constants := []string{"1", "2", "-3", "- 3", "007", "32768", "2147483647", "2147483648", "-2147483648", "9223372036854775807",
		"9223372036854775808", "1.0", "1e0", "'1'", "'2'", "' 1 '", "'x'", "''", "'it''s'", "'abc'", "'abcd'", "'today'", "'now'", "'2020-01-01'", "'2020-13-01'",
		"'00000000-0000-0000-0000-000000000001'", "NULL", "true", "'1'::text", "1::bigint", "1 + 0"}
	shapes := []string{
		"SELECT * FROM %s WHERE k = %s",
		"SELECT v, k FROM %s WHERE k = %s;",
		"SELECT k, v = 'a', d = 'today', d < '2021-01-01' FROM %s WHERE k = %s LIMIT 1",
		"SELECT upper(v::text) AS u, 'x' || 5 FROM %s WHERE k = %s AND v::text <> 'a' ORDER BY 1 LIMIT 2",
		"SELECT 1 / (k::int - 2) FROM %s WHERE k = %s AND true",
		"SELECT z::text, z::date = '2020-01-01' FROM %s t WHERE (t.k = %s)",
		"SELECT count(*) FROM %s WHERE k = %s",
		"SELECT v FROM %s WHERE k = %s OR k = 2",
		"SELECT v = 'a' FROM %s WHERE k = %s GROUP BY v = 'a'",
		"SELECT v FROM %s WHERE k = %s LIMIT 0",
		"SELECT v FROM %s WHERE d < 'tomorrow'::date AND k = %s",
		"SELECT CASE WHEN k = 1 THEN 5 END, nope FROM %s WHERE k = %s",
		"SELECT current_date = d, \"k\" FROM %s WHERE %[2]s = %[2]s AND k = %[2]s",
	}
	tables := []string{"i2", "i4", "i8", "nu", "tx", "vc", "da", "f8", "uu", "vi2", "vi4", "vi8", "vnu", "vf8", "nope"}
	hits := 0
	for _, s := range shapes {
		for _, tb := range tables {
			var qs []string
			for _, c := range constants {
				qs = append(qs, fmt.Sprintf(s, tb, c))
			}
			hits += h.compare(h.l, qs...)
		}
	}
	if hits < 800 {
		t.Errorf("only %d texts were answered from the cache", hits)
	}
}

func TestQuickFollowsTheCatalogSettingsAndTransaction(t *testing.T) {
	h := newQuickHarness(t)
	h.exec("CREATE SCHEMA s", "CREATE TABLE t (k int PRIMARY KEY, v int)", "CREATE TABLE s.t (k int PRIMARY KEY, v text)",
		"INSERT INTO t VALUES (1, 10), (2, 20)", "INSERT INTO s.t VALUES (1, 'ten')")
	other := h.session()
	qs := []string{"SELECT v, '2020-06-01 12:00'::timestamptz FROM t WHERE k = 1", "SELECT v, '2020-06-01 12:00'::timestamptz FROM t WHERE k = 2"}
	expect := func(l *Local, hit bool, row string) {
		t.Helper()
		h.compare(l, qs...)
		got, ok := h.quick(l, qs[0])
		if ok != hit || ok && !strings.Contains(got, row) {
			t.Errorf("answered %v with %q, want %v with %q", ok, got, hit, row)
		}
	}
	expect(h.l, true, "10|2020-06-01 12:00:00+00|")
	expect(other, true, "10|2020-06-01 12:00:00+00|")
	h.exec("SET search_path = s", "SET timezone = 'Asia/Tokyo'")
	expect(h.l, true, "ten|2020-06-01 12:00:00+09|")
	expect(other, true, "10|2020-06-01 12:00:00+00|")
	h.exec("RESET ALL", "UPDATE t SET v = 11 WHERE k = 1")
	expect(h.l, true, "11|2020-06-01 12:00:00+00|")
	h.exec("CREATE INDEX t_v ON t (v)", "DROP TABLE s.t")
	expect(h.l, true, "11|")
	h.exec("BEGIN")
	expect(h.l, true, "11|")
	h.exec("UPDATE t SET v = 12 WHERE k = 1")
	expect(h.l, false, "")
	expect(other, true, "11|")
	h.exec("COMMIT")
	expect(other, true, "12|")
	h.exec("DROP TABLE t", "CREATE TABLE t (k bigint PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'new')")
	expect(other, true, "new|")
	h.exec("BEGIN")
	if _, err := h.l.Exec(context.Background(), "SELECT 1/0"); err == nil {
		t.Error("no error")
	}
	h.l.s.Fail()
	expect(h.l, false, "")
	h.exec("ROLLBACK")
}

func TestPlanCacheIsBounded(t *testing.T) {
	h := newQuickHarness(t)
	h.exec("CREATE TABLE t (k int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	for i := range 3 * planCacheEntries {
		q := fmt.Sprintf("SELECT k AS a%d FROM t WHERE k = 1", i)
		if o := h.l.s.(wire.Quick).Quick(q); o != nil {
			t.Fatalf("%s was answered when it came first", q)
		}
		if got, ok := h.quick(h.l, "SELECT k FROM t WHERE k = 1"); i > 0 && (!ok || got != "k:integer 1|\nSELECT 1") {
			t.Fatalf("after %d others: %v %s", i, ok, got)
		}
	}
	c := &h.e.plans
	if len(c.young) > planCacheEntries || len(c.old) > planCacheEntries || c.bytes > planCacheBytes {
		t.Errorf("%d and %d entries, %d bytes", len(c.young), len(c.old), c.bytes)
	}
	for i := range 2000 {
		h.l.s.(wire.Quick).Quick(fmt.Sprintf("SELECT k AS %q FROM t WHERE k = 1", strings.Repeat("x", 2000)+itoa(int64(i))))
	}
	if c.bytes > planCacheBytes {
		t.Errorf("%d bytes", c.bytes)
	}
}
