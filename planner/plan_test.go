package planner

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

var rewrite = flag.Bool("rewrite", false, "write the plans found into testdata")

// testCatalog is shared by the plan and error tests; schema.sql of the error
// tests has the same tables for PostgreSQL.
func testCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c := catalog.Hold(catalog.New())
	for _, ddl := range []string{
		`CREATE TABLE t (a int PRIMARY KEY, b int, c text, d numeric(10,2))`,
		`CREATE TABLE u (a int, b bigint, e timestamp, f text)`,
		`CREATE TABLE pairs (k1 int, k2 text, v int, PRIMARY KEY (k1, k2))`,
		`CREATE TABLE docs (id bigint PRIMARY KEY, j jsonb, tags text[])`,
		`CREATE SOURCE bids (auction bigint, bidder bigint, price bigint, ts timestamp) WITH (connector = 'nexmark')`,
		`CREATE VIEW tv AS SELECT a, b * 2 AS b2 FROM t WHERE b > 0`,
		`CREATE TABLE g (a int NOT NULL, b int GENERATED ALWAYS AS (a * 2) STORED, c text DEFAULT 'none', d timestamptz DEFAULT now(), CHECK (a > 0), CONSTRAINT short CHECK (length(c) < 10))`,
		`CREATE INDEX ix ON t (b, c)`,
	} {
		create(t, c, ddl)
	}
	return c
}

func create(t testing.TB, c *catalog.Catalog, ddl string) {
	t.Helper()
	st, err := sql.Parse(ddl)
	if err != nil {
		t.Fatalf("%s: %v", ddl, err)
	}
	p := testPlanner(c, ddl)
	var o catalog.Object
	switch s := st[0].Stmt.(type) {
	case *sql.CreateTable:
		made, bindErr := p.BindCreateTable(s)
		if err = bindErr; err == nil {
			o = made.Table
		}
	case *sql.CreateSource:
		o, err = p.BindCreateSource(s)
	case *sql.CreateView:
		o, err = p.BindCreateView(s)
	case *sql.CreateIndex:
		o, err = p.BindCreateIndex(s)
	default:
		t.Fatalf("%s: unexpected %T", ddl, s)
	}
	if err != nil {
		t.Fatalf("%s: %v", ddl, err)
	}
	c.Assign(o, catalog.DatabaseOID)
	s, _, err := c.Current().Apply(catalog.Change{Create: o})
	if err != nil {
		t.Fatalf("%s: %v", ddl, err)
	}
	c.Publish(s)
}

func testPlanner(c *catalog.Catalog, text string) *Planner {
	return &Planner{Cat: c.Current().In(catalog.DatabaseOID), Text: text, Session: &expr.Session{SearchPath: []string{"public"}, Database: "streamdb", User: "streamdb"}}
}

// explain plans a statement in a mode and describes the result or the error.
func explain(c *catalog.Catalog, mode, text string) string {
	st, err := sql.Parse(text)
	if err != nil {
		return describeError(err)
	}
	p := testPlanner(c, text)
	switch s := st[0].Stmt.(type) {
	case *sql.Select:
		if mode == "stream" {
			r, err := p.PlanStream(s, Target{Rel: 1})
			if err != nil {
				return describeError(err)
			}
			return strings.Join(Explain(r.Root, nil).Lines(), "\n") + "\n"
		}
		r, err := p.PlanQuery(s)
		if err != nil {
			return describeError(err)
		}
		var cols []string
		for _, c := range r.Columns {
			cols = append(cols, c.Name+" "+c.Typ.String())
		}
		out := strings.Join(Explain(r.Root, nil).Lines(), "\n") + "\n"
		if mode == "types" {
			out = strings.Join(cols, ", ") + "\n"
			for i, t := range r.ParamTypes {
				out += fmt.Sprintf("$%d %s\n", i+1, t)
			}
		}
		return out
	case *sql.Insert:
		r, err := p.PlanMutation(s)
		if err != nil {
			return describeError(err)
		}
		return describeDML(r)
	case *sql.Update:
		r, err := p.PlanMutation(s)
		if err != nil {
			return describeError(err)
		}
		return describeDML(r)
	case *sql.Delete:
		r, err := p.PlanMutation(s)
		if err != nil {
			return describeError(err)
		}
		return describeDML(r)
	}
	return fmt.Sprintf("unexpected %T\n", st[0].Stmt)
}

func describeError(err error) string {
	e := pgerr.From(err)
	s := fmt.Sprintf("ERROR %s at %d: %s\n", e.Code, e.Pos, e.Msg)
	if e.Detail != "" {
		s += "DETAIL: " + e.Detail + "\n"
	}
	if e.Hint != "" {
		s += "HINT: " + e.Hint + "\n"
	}
	return s
}

func describeDML(m *Mutation) string {
	out := strings.Join(Explain(m.Source, nil).Lines(), "\n") + "\n"
	for i, c := range m.Checks {
		out += fmt.Sprintf("Check %s: %s\n", m.Table.Checks[i].Name, exprText(c, columnLabels(m.RowSchema())))
	}
	if len(m.NotNull) > 0 {
		out += "Not Null: " + columnLabels(m.RowSchema()).list(m.NotNull) + "\n"
	}
	if m.Conflict != nil {
		out += fmt.Sprintf("On Conflict: %v", m.Conflict.Arbiters)
		if m.Conflict.Nothing {
			out += " do nothing"
		}
		out += "\n"
		for i, e := range m.Conflict.Set {
			if e != nil {
				out += "  Set " + m.Table.Columns[i].Name + " = " + exprText(e, append(columnLabels(m.RowSchema()), columnLabels(m.RowSchema())...)) + "\n"
			}
		}
	}
	if m.Returning != nil {
		out += "Returning: " + outputs(m.Returning, m.Columns, columnLabels(m.ReturningSchema())) + "\n"
	}
	return out
}

// TestPlans runs the files of testdata: a mode and a statement, a line ----, and
// the plan or error, up to an empty line. -rewrite replaces the results.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	c := testCatalog(t)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { runPlanFile(t, c, f) })
	}
}

func runPlanFile(t *testing.T, c *catalog.Catalog, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		head, want, _ := strings.Cut(block+"\n", "----\n")
		if strings.HasPrefix(head, "#") && !strings.Contains(block, "----") {
			out.WriteString(block + "\n\n")
			continue
		}
		mode, text, _ := strings.Cut(strings.TrimSpace(head), "\n")
		got := explain(c, mode, text)
		if got != want && !*rewrite {
			t.Errorf("%s: %s\ngot:\n%swant:\n%s", file, text, got, want)
		}
		out.WriteString(strings.TrimSpace(head) + "\n----\n" + got + "\n")
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
