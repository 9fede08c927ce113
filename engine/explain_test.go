package engine

import (
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
)

// numbersOut takes what differs from run to run out of a plan.
func numbersOut(lines []string) string {
	text := strings.Join(lines, "\n")
	text = regexp.MustCompile(`time=\d+\.\d+\.\.\d+\.\d+`).ReplaceAllString(text, "time=T")
	text = regexp.MustCompile(`(Time|Busy|Backpressure): \d+\.\d+ ms`).ReplaceAllString(text, "$1: T")
	return regexp.MustCompile(`Memory: \d+kB`).ReplaceAllString(text, "Memory: M")
}

func TestExplainAnalyze(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec("CREATE TABLE t (id int PRIMARY KEY, g int, x int)")
	c.exec("INSERT INTO t SELECT i, i %% 10, i FROM generate_series(1, 3000) i")
	is := func(q, want string) {
		t.Helper()
		if got := numbersOut(c.query(q)); got != strings.TrimSpace(want) {
			t.Fatalf("%s\n%s\nwant\n%s", q, got, want)
		}
	}
	is("EXPLAIN ANALYZE SELECT g, count(*) FROM t WHERE x > 10 GROUP BY g", `
Project  (actual time=T rows=10 loops=1)
  Output: g, count
  Batches: 1  Self Time: T
  ->  Hash Aggregate  (actual time=T rows=10 loops=1)
        Group Key: (g)
        Aggregates: count(*)
        Batches: 1  Self Time: T  Memory: M
        ->  Project  (actual time=T rows=2990 loops=1)
              Output: g
              Batches: 3  Self Time: T
              ->  Filter  (actual time=T rows=2990 loops=1)
                    Cond: (x > 10)
                    Batches: 3  Self Time: T
                    ->  Scan on t (g, x)  (actual time=T rows=3000 loops=1)
                          Batches: 3  Self Time: T
Planning Time: T
Execution Time: T`)
	is("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS, COSTS OFF) SELECT id FROM t WHERE id = 7", `
Project  (actual rows=1 loops=1)
  Output: id
  Batches: 1
  ->  Filter  (actual rows=1 loops=1)
        Cond: (id = 7)
        Batches: 1
        ->  Key Scan on t (id)  (actual rows=1 loops=1)
              Prefix: (7)
              Batches: 1`)
	for _, q := range []string{"CREATE TABLE u AS SELECT x FROM t", "SELECT x INTO u FROM t", "DECLARE c CURSOR FOR SELECT x FROM t", "CREATE TABLE u AS EXECUTE px"} {
		if strings.Contains(q, "EXECUTE") {
			c.exec("PREPARE px AS SELECT x FROM t")
		}
		is("EXPLAIN "+q, `
Project
  Output: x
  ->  Scan on t (x)`)
	}
	// A bound of the key bounds what is read.
	is("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) SELECT id FROM t WHERE id < 4", `
Project  (actual rows=3 loops=1)
  Output: id
  Batches: 1
  ->  Filter  (actual rows=3 loops=1)
        Cond: (id < 4)
        Batches: 1
        ->  Key Scan on t (id)  (actual rows=4 loops=1)
              To: 4
              Batches: 1`)
	c.exec("PREPARE p (int) AS SELECT id FROM t WHERE id = $1")
	is("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) EXECUTE p (8)", `
Project  (actual rows=1 loops=1)
  Output: id
  Batches: 1
  ->  Filter  (actual rows=1 loops=1)
        Cond: (id = 8)
        Batches: 1
        ->  Key Scan on t (id)  (actual rows=1 loops=1)
              Prefix: (8)
              Batches: 1`)
	if err := c.try("EXPLAIN EXECUTE p"); code(err) != "42601" {
		t.Error(err)
	}
	// Statements that change tables are run.
	is("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) INSERT INTO t VALUES (9001, 1, 1), (9002, 1, 1)", `
Values (2 rows)  (actual rows=2 loops=1)
  Batches: 1`)
	c.want("SELECT count(*) FROM t WHERE id > 9000", "2")
	c.exec("EXPLAIN ANALYZE DELETE FROM t WHERE id > 9000")
	c.exec("EXPLAIN ANALYZE WITH d AS (DELETE FROM t WHERE id = 1 RETURNING id) SELECT count(*) FROM d")
	c.want("SELECT count(*) FROM t", "2999")
	c.exec("EXPLAIN DELETE FROM t")
	c.want("SELECT count(*) FROM t", "2999")
	c.exec("BEGIN")
	c.exec("EXPLAIN ANALYZE DELETE FROM t")
	c.exec("ROLLBACK")
	c.want("SELECT count(*) FROM t", "2999")
	if err := c.try("EXPLAIN ANALYZE SELECT 1 / (x - 5) FROM t"); code(err) != "22012" {
		t.Fatal(err)
	}
	for q, want := range map[string]string{
		"EXPLAIN (FOO) SELECT 1": "42601", "EXPLAIN (FORMAT bar) SELECT 1": "22023",
		"EXPLAIN (TIMING) SELECT 1": "22023", "EXPLAIN (WAL) SELECT 1": "22023", "EXPLAIN (ANALYZE maybe) SELECT 1": "42601",
		"EXPLAIN ANALYZE CREATE TABLE q AS SELECT 1": "0A000", "EXPLAIN MATERIALIZED VIEW t": "42809", "EXPLAIN MATERIALIZED VIEW none": "42P01",
	} {
		if err := c.try("%s", q); code(err) != want {
			t.Errorf("%s: %v, want %s", q, err, want)
		}
	}
}

// shownPlan is a node of EXPLAIN (FORMAT JSON).
type shownPlan struct {
	Type  string `json:"Node Type"`
	Rel   string `json:"Relation Name"`
	Rows  int    `json:"Actual Rows"`
	In    int    `json:"Rows In"`
	Out   int    `json:"Rows Out"`
	State int    `json:"State Bytes"`
	Plans []shownPlan
}

func (p *shownPlan) find(kind string) *shownPlan {
	if p.Type == kind {
		return p
	}
	for i := range p.Plans {
		if f := p.Plans[i].find(kind); f != nil {
			return f
		}
	}
	return nil
}

func planOf(t *testing.T, c *client, q string) *shownPlan {
	t.Helper()
	var out []struct {
		Plan     shownPlan
		Planning *float64 `json:"Planning Time"`
	}
	if err := json.Unmarshal([]byte(c.one(q)), &out); err != nil || len(out) != 1 {
		t.Fatalf("%s: %v", c.one(q), err)
	}
	return &out[0].Plan
}

func TestExplainStructured(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec(`CREATE TABLE "T x" (id int PRIMARY KEY, g text)`)
	c.exec(`INSERT INTO "T x" SELECT i, 'g"' || i %% 10 FROM generate_series(1, 500) i`)
	p := planOf(t, c, `EXPLAIN (FORMAT JSON, ANALYZE) SELECT a.g FROM "T x" a JOIN "T x" b USING (id) WHERE a.g <> '"'`)
	if j := p.find("Hash Join"); j == nil || j.Rows != 500 || len(j.Plans) != 2 {
		t.Fatalf("%+v", p)
	}
	if s := p.find("Scan"); s == nil || s.Rel != "T x" || s.Rows != 500 {
		t.Fatalf("%+v", p)
	}
	if got := c.one("EXPLAIN (FORMAT YAML) SELECT 1 AS a"); got != "- Plan: \n    Node Type: \"Project\"\n    Output: \"1 AS a\"\n    Plans: \n      - Node Type: \"Result\"" {
		t.Fatal(got)
	}
	c.exec(`CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM "T x" GROUP BY g`)
	c.exec(`INSERT INTO "T x" VALUES (1000, 'new')`)
	v := planOf(t, c, "EXPLAIN (ANALYZE, FORMAT JSON) MATERIALIZED VIEW v")
	if a := v.find("Hash Aggregate"); a == nil || a.In != 501 || a.Out != 11 || a.State == 0 {
		t.Fatalf("%+v", v)
	}
	text := c.one("EXPLAIN ANALYZE MATERIALIZED VIEW v")
	if !strings.Contains(text, "(rows in=501 out=11 batches=") || !strings.Contains(text, "Backpressure: ") {
		t.Fatal(text)
	}
}

// xmlPlan is a node of EXPLAIN (FORMAT XML).
type xmlPlan struct {
	Type   string    `xml:"Node-Type"`
	Rel    string    `xml:"Relation-Name"`
	Output []string  `xml:"Output>Item"`
	Cond   string    `xml:"Cond"`
	Rows   *int      `xml:"Actual-Rows"`
	Plans  []xmlPlan `xml:"Plans>Plan"`
}

func (p *xmlPlan) find(kind string) *xmlPlan {
	if p.Type == kind {
		return p
	}
	for i := range p.Plans {
		if f := p.Plans[i].find(kind); f != nil {
			return f
		}
	}
	return nil
}

func TestExplainXML(t *testing.T) {
	e := open(t, config(t.TempDir()))
	c := connect(t, e)
	c.exec(`CREATE TABLE "T & x" (id int PRIMARY KEY, g text)`)
	c.exec(`INSERT INTO "T & x" SELECT i, 'g' || i %% 10 FROM generate_series(1, 50) i`)
	text := c.one(`EXPLAIN (FORMAT XML, ANALYZE) SELECT g FROM "T & x" WHERE g <> '<"&>'`)
	var out struct {
		XMLName xml.Name `xml:"http://www.postgresql.org/2009/explain explain"`
		Plan    *xmlPlan `xml:"Query>Plan"`
		Time    *float64 `xml:"Query>Execution-Time"`
	}
	if err := xml.Unmarshal([]byte(text), &out); err != nil || out.Plan == nil || out.Time == nil {
		t.Fatalf("%s: %v", text, err)
	}
	scan, filter := out.Plan.find("Scan"), out.Plan.find("Filter")
	if scan == nil || scan.Rel != "T & x" || len(scan.Output) == 0 || scan.Rows == nil || *scan.Rows != 50 {
		t.Errorf("the scan is %+v of %s", scan, text)
	}
	if filter == nil || !strings.Contains(filter.Cond, `'<"&>'`) {
		t.Errorf("the filter is %+v of %s", filter, text)
	}
}
