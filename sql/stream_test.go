package sql

import (
	"strings"
	"testing"
)

// mustParse parses a text and returns its last statement.
func mustParse(t *testing.T, text string) Stmt {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(p) == 0 {
		t.Fatalf("%s: no statement", text)
	}
	s := p[len(p)-1].Stmt
	if u, ok := s.(*Unsupported); ok {
		t.Fatalf("%s: %v", text, u.Err)
	}
	return s
}

func TestCreateSource(t *testing.T) {
	text := `SELECT 1; CREATE SOURCE IF NOT EXISTS shop.bids (
  auction BIGINT, price NUMERIC(10,2) NOT NULL, tags VARCHAR[], addr STRUCT<street VARCHAR, geo STRUCT<lat DOUBLE PRECISION, lon DOUBLE PRECISION>>,
  ts TIMESTAMPTZ, day DATE AS (ts::date), twice AS price * 2, *,
  WATERMARK FOR ts AS ts - INTERVAL '5 seconds', PRIMARY KEY (auction) NOT ENFORCED
) INCLUDE KEY AS k INCLUDE HEADER 'h1' BYTEA AS h INCLUDE TIMESTAMP AS kts
WITH (connector = 'kafka', 'topic' = 'it''s', properties.bootstrap.server = '127.0.0.1:9092', properties.sasl.password = SECRET s.pw, scan.startup.mode = earliest, n = -3,)
FORMAT UPSERT ENCODE AVRO (schema.registry = 'http://127.0.0.1:8081')`
	s := mustParse(t, text).(*CreateSource)
	if s.Name.Schema != "shop" || s.Name.Name != "bids" || !s.IfNotExists || !s.Wildcard || len(s.Columns) != 7 {
		t.Fatalf("%+v", s)
	}
	addr := s.Columns[3].Type
	if len(addr.Fields) != 2 || addr.Fields[1].Type.Fields[1].Name != "lon" || addr.Fields[1].Type.Fields[1].Type.Name != "float8" {
		t.Errorf("struct: %+v", addr)
	}
	if s.Columns[5].Generated == nil || s.Columns[5].Type.Name != "date" || s.Columns[6].Generated == nil || s.Columns[6].Type != nil {
		t.Errorf("generated: %+v", s.Columns[5:])
	}
	if len(s.Constraints) != 1 || s.Constraints[0].Kind != ConPrimaryKey || s.Constraints[0].Columns[0] != "auction" {
		t.Errorf("constraints: %+v", s.Constraints)
	}
	if w := s.Watermarks[0]; w.Column != "ts" || !strings.HasPrefix(text[w.Expr.Offset():], "- INTERVAL") {
		t.Errorf("watermark: %+v", w)
	}
	if i := s.Includes; len(i) != 3 || i[0].As != "k" || i[1].Inner != "h1" || i[1].Type.Name != "bytea" || i[2].What != "timestamp" {
		t.Errorf("include: %+v", i)
	}
	want := []Option{{Name: "connector", Kind: OptString, Value: "kafka"}, {Name: "topic", Kind: OptString, Value: "it's"},
		{Name: "properties.bootstrap.server", Kind: OptString, Value: "127.0.0.1:9092"},
		{Name: "properties.sasl.password", Kind: OptSecret, Value: "s.pw"},
		{Name: "scan.startup.mode", Kind: OptWord, Value: "earliest"}, {Name: "n", Kind: OptNumber, Value: "-3"}}
	if len(s.Options) != len(want) {
		t.Fatalf("options: %+v", s.Options)
	}
	for i, o := range s.Options {
		o.At = At{}
		if o != want[i] {
			t.Errorf("option %d: %+v, want %+v", i, o, want[i])
		}
	}
	if f := s.Format; f.Format != "upsert" || f.Encode != "avro" || f.EncodeOptions[0].Name != "schema.registry" {
		t.Errorf("format: %+v", f)
	}
	if !strings.HasPrefix(text[s.Columns[1].Pos:], "price NUMERIC") {
		t.Errorf("column at %q", text[s.Columns[1].Pos:])
	}
}

func TestStreamStatements(t *testing.T) {
	k := mustParse(t, `CREATE SINK s INTO t (a, b) AS WITH x AS (SELECT 1 a) SELECT a, 2 FROM x WITH (type = 'append-only') FORMAT PLAIN ENCODE JSON (force_append_only = true)`).(*CreateSink)
	if k.Into.Name != "t" || len(k.Columns) != 2 || k.Query.With == nil || k.Format.Format != "plain" || k.QueryText != "WITH x AS (SELECT 1 a) SELECT a, 2 FROM x" {
		t.Errorf("%+v", k)
	}
	k = mustParse(t, `CREATE SINK s FROM public.mv WITH (connector = 'kafka')`).(*CreateSink)
	if k.From.Schema != "public" || len(k.Options) != 1 || k.Query != nil {
		t.Errorf("%+v", k)
	}
	m := mustParse(t, `CREATE OR REPLACE MATERIALIZED VIEW mv (a, b) WITH (source.rate.limit = 10) AS SELECT window_start, count(*) FROM TUMBLE(bids, ts, INTERVAL '10 seconds') GROUP BY 1 EMIT ON WINDOW CLOSE`).(*CreateMaterializedView)
	if !m.EmitOnWindowClose || !m.OrReplace || m.Options[0].Name != "source.rate.limit" || len(m.Columns) != 2 || !strings.HasSuffix(m.QueryText, "GROUP BY 1") {
		t.Errorf("%+v", m)
	}
	w := m.Query.From[0].(*WindowTable)
	if w.Kind != Tumble || w.Table.(*TableRef).Name.Name != "bids" || w.Time.Parts[0] != "ts" || len(w.Args) != 1 {
		t.Errorf("%+v", w)
	}
	w = mustParse(t, `SELECT * FROM SESSION(TABLE bids, DESCRIPTOR(ts), INTERVAL '1 minute', bidder) AS w`).(*Select).From[0].(*WindowTable)
	if w.Kind != Session || len(w.PartitionBy) != 1 || w.Alias.Name != "w" {
		t.Errorf("%+v", w)
	}
	x := mustParse(t, `EXPLAIN (VERBOSE, FORMAT json) CREATE MATERIALIZED VIEW mv AS SELECT 1 EMIT ON WINDOW CLOSE`).(*Explain)
	if !x.Verbose || x.Options[1].Value != "json" || !x.Stmt.(*CreateMaterializedView).EmitOnWindowClose {
		t.Errorf("%+v", x)
	}
	b := mustParse(t, `SUBSCRIBE TO (SELECT a FROM mv) WITH (snapshot = false, progress) AS OF now() UP TO now() + '1 h'::interval`).(*Subscribe)
	if b.Query == nil || len(b.Options) != 2 || b.AsOf == nil || b.UpTo == nil {
		t.Errorf("%+v", b)
	}
	if c := mustParse(t, `COPY (SUBSCRIBE mv WITH (progress)) TO STDOUT`).(*Copy); c.Query.(*Subscribe).Relation.Name != "mv" {
		t.Errorf("%+v", c)
	}
	if d := mustParse(t, `DECLARE c BINARY CURSOR WITH HOLD FOR SUBSCRIBE mv`).(*DeclareCursor); d.Name != "c" || !d.Hold || !d.Binary || d.Subscribe == nil || d.Query != nil {
		t.Errorf("%+v", d)
	}
	if h := mustParse(t, `SHOW SOURCES FROM shop LIKE 'b%'`).(*Show); h.What != "sources" || h.From.Name != "shop" || h.Like != "b%" {
		t.Errorf("%+v", h)
	}
	if h := mustParse(t, `SHOW CREATE MATERIALIZED VIEW shop.mv`).(*Show); h.What != "create" || h.Kind != "materialized view" || h.From.Schema != "shop" {
		t.Errorf("%+v", h)
	}
	if h := mustParse(t, `SHOW server_version`).(*Show); h.What != "" || h.Name != "server_version" {
		t.Errorf("%+v", h)
	}
	if d := mustParse(t, `DROP SOURCE IF EXISTS shop.bids, b CASCADE`).(*Drop); d.Kind != "source" || !d.IfExists || !d.Cascade || len(d.Targets) != 2 {
		t.Errorf("%+v", d)
	}
	if a := mustParse(t, `ALTER SINK s RENAME TO s2`).(*Alter); a.Kind != "sink" || a.Actions[0].NewName != "s2" {
		t.Errorf("%+v", a)
	}
	if a := mustParse(t, `ALTER SOURCE s SET (a.b.c = 'x')`).(*Alter); a.Actions[0].Options[0].Name != "a.b.c" {
		t.Errorf("%+v", a)
	}
	text := `SELECT o.*, r.rate FROM orders o JOIN shop.rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur`
	j := mustParse(t, text).(*Select).From[0].(*JoinTable)
	if r := j.Right.(*TableRef); r.AsOf.(*ColumnRef).Parts[1] != "ts" || r.Alias.Name != "r" || j.On == nil {
		t.Errorf("%+v", r)
	}
	c := mustParse(t, `CREATE TABLE t (a int PRIMARY KEY, ts timestamp, WATERMARK FOR ts AS ts) APPEND ONLY WITH (connector = 'datagen') FORMAT PLAIN ENCODE JSON`).(*CreateTable)
	if !c.AppendOnly || len(c.Columns) != 2 || !c.Columns[0].IsPrimaryKey() || len(c.Watermarks) != 1 || c.Format == nil {
		t.Errorf("%+v", c)
	}
	if c := mustParse(t, `CANCEL JOBS 1, 2`).(*Cancel); len(c.Jobs) != 2 {
		t.Errorf("%+v", c)
	}
	if s := mustParse(t, `CREATE SECRET pw WITH (backend = 'meta') AS 'x''y'`).(*CreateSecret); s.Value != "x'y" {
		t.Errorf("%+v", s)
	}
}

// None of our words may become reserved.
func TestWordsStayFree(t *testing.T) {
	for _, s := range []string{
		"SELECT source, sink, watermark, emit, subscribe, flush, secret, connection, struct FROM sources",
		"CREATE TABLE source (sink int, watermark text, format text, include int, connector text)",
		"SELECT a AS source, b sink FROM jobs AS watermark",
		"SELECT struct < 3, struct<b and c FROM t",
		"CREATE TABLE sink AS SELECT format, include FROM source",
		"CREATE VIEW watermark AS SELECT 1 AS emit",
		"CREATE MATERIALIZED VIEW source AS SELECT windows, close FROM emit",
		"SELECT tumble(1, 2, 3), hop, session FROM cumulate",
		"SELECT * FROM tumble(1, 2)",
		"INSERT INTO secret (connection, cancel) VALUES (1, 2)",
		"DROP TABLE source, sink", "SHOW watermark", "SELECT flush() , describe FROM cancel",
		"CREATE TABLE t (a int) WITH (fillfactor = 70)", "CREATE TABLE t (a int GENERATED ALWAYS AS (1) STORED)",
		"CREATE TABLE t (LIKE source)", "CREATE TEMP TABLE t (a int) ON COMMIT DROP",
		"SELECT system_time FROM t", "PREPARE subscribe AS SELECT 1", "DECLARE sink CURSOR FOR SELECT 1",
	} {
		mustParse(t, s)
	}
}
