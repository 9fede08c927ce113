package planner

import (
	"strings"
	"testing"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

func bindTable(t *testing.T, c *catalog.Catalog, ddl string) (*NewTable, error) {
	t.Helper()
	st, err := sql.Parse(ddl)
	if err != nil {
		return nil, err
	}
	return testPlanner(c, ddl).BindCreateTable(st[0].Stmt.(*sql.CreateTable))
}

func TestBindCreateTable(t *testing.T) {
	c := testCatalog(t)
	made, err := bindTable(t, c, `CREATE TABLE x (id bigint, name varchar(20) NOT NULL DEFAULT 'a' || 'b', price numeric(8,3) CHECK (price > 0),
		total numeric GENERATED ALWAYS AS (price * 2) STORED, PRIMARY KEY (id, name), UNIQUE (price), CHECK (id > 0 AND price < 100))`)
	if err != nil {
		t.Fatal(err)
	}
	tb := made.Table
	if tb.Schema != "public" || len(tb.Columns) != 4 || tb.Columns[1].Type.String() != "character varying(20)" {
		t.Errorf("columns %+v", tb.Columns)
	}
	if k := tb.PrimaryKey; k == nil || k.Name != "x_pkey" || len(k.Columns) != 2 || !tb.Columns[0].NotNull {
		t.Errorf("primary key %+v", k)
	}
	var names []string
	for _, k := range tb.Checks {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); got != "x_price_check x_check" {
		t.Errorf("checks %s", got)
	}
	if made.Indexes[0].Name != "x_price_key" || tb.Columns[1].Default == "" || tb.Columns[3].Generated == "" {
		t.Errorf("%+v", tb)
	}
}

func TestBindCreateTableErrors(t *testing.T) {
	c := testCatalog(t)
	for _, x := range []struct{ ddl, want string }{
		{`CREATE TABLE x (a int, a int)`, "42701 at 0"},
		{`CREATE TABLE x (a nosuch)`, "42704 at 19"},
		{`CREATE TABLE x (a int PRIMARY KEY, b int PRIMARY KEY)`, "42P16 at 42"},
		{`CREATE TABLE x (a int, PRIMARY KEY (b))`, "42703 at 24"},
		{`CREATE TABLE x (a int CHECK (b > 0))`, "42703 at 30"},
		{`CREATE TABLE x (a int CHECK (a + 1))`, "42804"},
		{`CREATE TABLE x (a int DEFAULT b)`, "0A000 at 31"},
		{`CREATE TABLE x (a int DEFAULT 'x')`, "22P02 at 31"},
		{`CREATE TABLE x (a int, b int GENERATED ALWAYS AS (now()) STORED)`, "42804"},
		{`CREATE TABLE x (a int, b timestamptz GENERATED ALWAYS AS (now()) STORED)`, "42P17 at 0"},
		{`CREATE TABLE nosuch.x (a int)`, "3F000"},
		{`CREATE TABLE x (a int REFERENCES nosuch)`, "42P01"},
		{`CREATE TABLE x (a varchar(0))`, "22023"},
		{`CREATE TABLE x (a int CHECK ((SELECT true)))`, "0A000"},
		{`CREATE TABLE x (a int CHECK (sum(a) > 0))`, "42803"},
	} {
		_, err := bindTable(t, c, x.ddl)
		if err == nil {
			t.Errorf("%s: no error", x.ddl)
			continue
		}
		got := strings.SplitN(describeError(err), "\n", 2)[0]
		if !strings.HasPrefix(strings.TrimPrefix(got, "ERROR "), x.want) {
			t.Errorf("%s: %s, want %s", x.ddl, got, x.want)
		}
	}
}

func TestBindSourceAndViews(t *testing.T) {
	c := testCatalog(t)
	parse := func(text string) sql.Stmt {
		st, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return st[0].Stmt
	}
	text := `CREATE SOURCE s (id bigint, ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') INCLUDE offset AS off WITH (connector = 'kafka', topic = 'x') FORMAT PLAIN ENCODE JSON`
	src, err := testPlanner(c, text).BindCreateSource(parse(text).(*sql.CreateSource))
	if err != nil {
		t.Fatal(err)
	}
	if !src.AppendOnly || len(src.Watermarks) != 1 || src.Columns[2].Include != "offset" || src.Columns[2].Type != types.TInt8 || src.Connector.Encode != "json" {
		t.Errorf("%+v %+v", src, src.Connector)
	}
	text = `CREATE MATERIALIZED VIEW m (k, n) AS SELECT auction, count(*) FROM bids GROUP BY auction`
	mv, err := testPlanner(c, text).BindCreateMaterializedView(parse(text).(*sql.CreateMaterializedView))
	if err != nil {
		t.Fatal(err)
	}
	if len(mv.Key) != 1 || mv.Columns[0].Name != "k" || mv.AppendOnly || len(mv.DependsOn) != 1 {
		t.Errorf("%+v", mv)
	}
	c.Assign(mv, catalog.DatabaseOID)
	s, _, err := c.Current().Apply(catalog.Change{Create: mv})
	if err != nil {
		t.Fatal(err)
	}
	c.Publish(s)
	st, err := testPlanner(c, "").PlanMatView(mv)
	if err != nil || st.Columns[1].Name != "n" {
		t.Fatalf("%v %+v", err, st)
	}
	text = `CREATE SINK k FROM m WITH (connector = 'blackhole')`
	sink, err := testPlanner(c, text).BindCreateSink(parse(text).(*sql.CreateSink))
	if err != nil {
		t.Fatal(err)
	}
	if sink.Input != mv.OID || len(sink.Key) != 1 || len(sink.Columns) != 2 {
		t.Errorf("%+v", sink)
	}
	c.Assign(sink, catalog.DatabaseOID)
	if _, err := testPlanner(c, "").PlanSink(sink); err != nil {
		t.Fatal(err)
	}
}

// TestLargeStatements plans statements that are quadratic for a careless planner.
func TestLargeStatements(t *testing.T) {
	c := testCatalog(t)
	plan := func(text string) string { return explain(c, "plan", text) }
	in := strings.TrimSuffix(strings.Repeat("12345,", 10000), ",")
	if got := plan("SELECT a FROM t WHERE b IN (" + in + ")"); strings.HasPrefix(got, "ERROR") {
		t.Error(got)
	}
	or := strings.TrimSuffix(strings.Repeat("a = 7 OR ", 1500), " OR ")
	if got := plan("SELECT a, count(*) FROM t WHERE " + or + " GROUP BY a HAVING " + or); strings.HasPrefix(got, "ERROR") {
		t.Error(got)
	}
	union := strings.TrimSuffix(strings.Repeat("SELECT a FROM t UNION ALL ", 1000), " UNION ALL ")
	if got := plan(union); strings.HasPrefix(got, "ERROR") {
		t.Error(got)
	}
	with := "WITH c0 AS (SELECT a FROM t)"
	for i := range 30 {
		with += ", c" + itoa(i+1) + " AS (SELECT x.a FROM c" + itoa(i) + " x, c" + itoa(i) + " y)"
	}
	if got := plan(with + " SELECT * FROM c30"); !strings.HasPrefix(got, "ERROR 54001") {
		t.Error(got[:200])
	}
}
