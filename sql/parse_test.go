package sql

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

var corpora = []string{"queries.sql", "statements.sql", "streaming.sql", "catalog.sql"}

func TestParseSpans(t *testing.T) {
	text := "  SELECT 1 /* a; b */ ; -- c\n;;\tSELECT ';' ; SHOW SOURCES;SELECT $2, $1"
	want := []struct {
		text   string
		params int
	}{{"SELECT 1", 0}, {"SELECT ';'", 0}, {"SHOW SOURCES", 0}, {"SELECT $2, $1", 2}}
	ps, err := Parse(text)
	if err != nil || len(ps) != len(want) {
		t.Fatalf("%v %+v", err, ps)
	}
	for i, p := range ps {
		if p.Text != want[i].text || text[p.Start:p.End] != p.Text || p.NumParams != want[i].params {
			t.Errorf("statement %d: %+v", i, p)
		}
	}
	for _, empty := range []string{"", " ", ";", "-- ping", "/* */;\n;"} {
		if ps, err := Parse(empty); err != nil || len(ps) != 0 {
			t.Errorf("%q: %v %v", empty, ps, err)
		}
	}
	s := mustParse(t, "SELECT 1; CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1; SHOW SOURCES").(*Show)
	if s.What != "sources" {
		t.Errorf("%+v", s)
	}
}

// errorCase has the token at which an error is reported, as the text from there
// on, and what the message contains.
type errorCase struct {
	text, from, msg string
	code            pgerr.Code
}

// The position is in characters of the whole text, which is what psql's caret
// needs, whatever was blanked out before the grammar saw the statement.
func TestErrorPositions(t *testing.T) {
	for _, c := range []errorCase{
		{`SELECT 1 FROM WHERE`, `WHERE`, `syntax error at or near "WHERE"`, "42601"},
		{`SELECT 'äöü€日本', a,, b`, `, b`, `at or near ","`, "42601"},
		{`SELECT 1; SELEC 2`, `SELEC 2`, `at or near "SELEC"`, "42601"},
		{`SELECT 1 +`, ``, `syntax error at end of input`, "42601"},
		{`SELECT 'abc`, `'abc`, `unterminated quoted string at or near "'abc"`, "42601"},
		{`SELECT 1 /* x`, `/* x`, `unterminated /* comment at or near "/* x"`, "42601"},
		{`SELECT ""`, `""`, `zero-length delimited identifier`, "42601"},
		{`SELECT $a$ x`, `$a$ x`, `unterminated dollar-quoted string`, "42601"},
		{`CREATE SOURCE s (a int, b timestamp AS (c +), WATERMARK FOR b AS b - 1) WITH (connector = 'x')`, `), WATERMARK`, `at or near ")"`, "42601"},
		{`CREATE SOURCE s (a int, WATERMARK FOR b AS b - INTERVAL '5' seconds)`, `seconds)`, `near "seconds"`, "42601"},
		{`SELECT 'äöü€'; CREATE SOURCE s (a int,, b int)`, `, b int`, `near ","`, "42601"},
		{`CREATE SOURCE s (a int, b int,) WITH (x = 1)`, `) WITH`, `near ")"`, "42601"},
		{`SELECT '日本'; CREATE SINK s FROM mv WITH (connector 'x')`, `'x')`, `near "'x'"`, "42601"},
		{`CREATE SINK s AS SELECT a FROM FROM t WITH (x = 1)`, `FROM t WITH`, `near "FROM"`, "42601"},
		{"CREATE MATERIALIZED VIEW v AS\nSELECT a,, b FROM t EMIT ON WINDOW CLOSE", `, b FROM`, `near ","`, "42601"},
		{`CREATE SOURCE s (a nosuch type) WITH (x = 1)`, `type)`, `near "type"`, "42601"},
		{`CREATE SOURCE s (a int) FORMAT`, ``, `end of input`, "42601"},
		{`SHOW SOURCES FRM x`, `FRM x`, `near "FRM"`, "42601"},
		{`SUBSCRIBE (SELECT 1 FROM)`, `)`, `near ")"`, "42601"},
		{`SELECT x FROM t JOIN r FOR SYSTEM_TIME AS OF PROCTIME() ON a = = b`, `= b`, `near "="`, "42601"},
		{`CREATE SOURCE s (a int, WATERMARK FOR a AS)`, `)`, `near ")"`, "42601"},
		{`CREATE TABLE t (a int) INCLUDE nothing WITH (connector = 'x')`, `nothing`, `near "nothing"`, "42601"},
		{`DROP SOURCE`, ``, `end of input`, "42601"},
		{`SELECT 1, 1_2_3`, `1_2_3`, `trailing junk after numeric literal at or near "1_2_3"`, "42601"},
		{`SELECT 0x1F`, `0x1F`, `trailing junk after numeric literal at or near "0x1F"`, "42601"},
		{`SELECT 'ä' || $1a`, `$1a`, `trailing junk after parameter at or near "$1a"`, "42601"},
		{`SELEC 1_0`, `SELEC`, `syntax error at or near "SELEC"`, "42601"},
		{`SELECT * FROM (SELECT 1) WHERE true`, `(SELECT 1)`, `subquery in FROM must have an alias`, "42601"},
		{`SELECT * FROM a JOIN ((SELECT 1) UNION (VALUES (2))) ON true`, `((SELECT`, `subquery in FROM must have an alias`, "42601"},
		{`SELECT * FROM ((SELECT 1) JOIN b ON true)`, `(SELECT 1)`, `subquery in FROM must have an alias`, "42601"},
		{`SELECT * FROM (SELECT * FROM (VALUES (1, 2)))`, `(VALUES`, `VALUES in FROM must have an alias`, "42601"},
		{`SELECT 1; DELETE FROM t USING LATERAL (TABLE u)`, `(TABLE u)`, `subquery in FROM must have an alias`, "42601"},
		{`CREATE MATERIALIZED VIEW v AS SELECT f(1, (2)) FROM (SELECT f(1, (2)) FROM t) EMIT ON WINDOW CLOSE`, `(SELECT f`, `subquery in FROM must have an alias`, "42601"},
		{`INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 1`, `ON CONFLICT`, `requires inference specification`, "42601"},
	} {
		_, err := Parse(c.text)
		var e *pgerr.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: no error", c.text)
			continue
		}
		off := len(c.text)
		if c.from != "" {
			off = strings.Index(c.text, c.from)
		}
		if want := utf8.RuneCountInString(c.text[:off]) + 1; e.Pos != want || !strings.Contains(e.Msg, c.msg) || e.Code != c.code {
			t.Errorf("%s:\n got %q %s at %d, want %q at %d", c.text, e.Msg, e.Code, e.Pos, c.msg, want)
		}
	}
}

func TestInvalidText(t *testing.T) {
	for _, s := range []string{"SELECT '\xff'", "SELECT '\x00'", "\xc3"} {
		if _, err := Parse(s); pgerr.CodeOf(err) != pgerr.CharacterNotInRepertoire {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestUnsupported(t *testing.T) {
	for _, s := range []string{
		"CREATE TRIGGER x AFTER INSERT ON t EXECUTE FUNCTION f()",
		"CREATE TABLE t (a int) PARTITION BY RANGE (a)", "SELECT XMLELEMENT(NAME x)", "SELECT JSON_OBJECT('a': 1)", "CREATE TABLE t (a int) INHERITS (u)",
		"MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE RETURNING 1", "CALL p()", "PREPARE TRANSACTION 'x'",
		"DROP TRIGGER x ON t", "ALTER TABLE t ENABLE TRIGGER ALL",
	} {
		ps, err := Parse(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		u, ok := ps[0].Stmt.(*Unsupported)
		if !ok || pgerr.CodeOf(u.Err) != pgerr.FeatureNotSupported || !strings.Contains(u.Err.Error(), "is not supported") {
			t.Errorf("%s: %+v", s, ps[0].Stmt)
		}
	}
}

// The guard must refuse what would overrun the C stack, and nothing that people
// or programs write.
func TestDeep(t *testing.T) {
	rep := strings.Repeat
	nested := func(n int, open, core, close string) string { return rep(open, n) + core + rep(close, n) }
	hostile := map[string]string{
		"additions": "SELECT 1" + rep("+1", 30000), "spaced additions": "SELECT 1" + rep(" + 1", 200000),
		"union": "SELECT 1" + rep(" UNION ALL SELECT 1", 50000), "except": "SELECT 1" + rep(" EXCEPT SELECT 1", 100000),
		"intersect": "VALUES (1)" + rep(" INTERSECT VALUES (1)", 50000), "table union": "TABLE t" + rep(" UNION TABLE t", 50000),
		"brackets": "SELECT " + nested(200000, "(", "1", ")"), "open brackets": "SELECT " + rep("(", 200000),
		"joins": "SELECT * FROM a" + rep(" CROSS JOIN a", 50000), "natural joins": "SELECT * FROM a" + rep(" NATURAL JOIN a", 50000),
		"casts": "SELECT 1" + rep("::int", 50000), "collate": "SELECT a" + rep(` COLLATE "C"`, 50000),
		"concat": "SELECT a" + rep("||a", 50000), "time zone": "SELECT a" + rep(" AT TIME ZONE b", 50000),
		"is null": "SELECT a" + rep(" IS NULL", 50000), "isnull": "SELECT a" + rep(" ISNULL", 50000),
		"distinct from": "SELECT a" + rep(" IS DISTINCT FROM a", 50000), "minus": "SELECT " + rep("- ", 200000) + "1",
		"not": "SELECT " + rep("NOT ", 200000) + "true", "functions": "SELECT " + nested(100000, "f(", "1", ")"),
		"case": "SELECT " + nested(50000, "CASE WHEN ", "true", " THEN 1 END"), "case else": "SELECT " + nested(50000, "CASE WHEN a THEN 1 ELSE ", "1", " END"),
		"subqueries": "SELECT " + nested(50000, "(SELECT ", "1", ")"), "from subqueries": "SELECT * FROM " + nested(50000, "(SELECT * FROM ", "t", ") x"),
		"arrays": "SELECT " + nested(50000, "ARRAY[", "1", "]"), "rows": "SELECT " + nested(50000, "ROW(", "1", ")"),
		"like": "SELECT a" + rep(" LIKE a", 50000), "custom operator": "SELECT a" + rep(" OPERATOR(pg_catalog.+) a", 50000),
		"qualified words": "SELECT a.from" + rep(" + a.from", 50000), "qualified or": "SELECT a.or" + rep("+a.or", 50000),
		"inner chains":  "SELECT " + rep("(1"+rep("+1", 3000)+")+", 20) + "1",
		"case chains":   "SELECT " + rep("CASE WHEN a THEN 1"+rep("+1", 3000)+" END + ", 20) + "1",
		"between":       "SELECT a BETWEEN b" + rep("+b", 30000) + " AND c" + rep("+c", 30000),
		"and in braces": "SELECT " + nested(100000, "(a AND ", "b", ")"),
		"with":          nested(50000, "WITH a AS (", "SELECT 1", ") SELECT 1"),
		"streaming":     "CREATE SOURCE s (a int AS 1" + rep("+1", 30000) + ") WITH (connector = 'x')",
		"structs":       "SELECT a::" + nested(100000, "STRUCT<a ", "int", ">"),
		"struct list":   "SELECT 1" + rep(", a::STRUCT<a int>", 20000),
		"unterminated":  "SELECT 1" + rep("+1", 30000) + " 'x",
	}
	for name, s := range hostile {
		_, err := Parse(s)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if c := pgerr.CodeOf(err); c != pgerr.StatementTooComplex && c != pgerr.SyntaxError {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := make([]string, 10000)
	for i := range in {
		in[i] = "12345"
	}
	legal := map[string]string{
		"or": "SELECT a = 1" + rep(" OR a = 1", 1500), "many or": "SELECT a = 1" + rep(" OR a = 1", 20000), "and": "SELECT a" + rep(" AND a > 1", 5000),
		"in":       "SELECT a IN (" + strings.Join(in, ",") + ")",
		"brackets": "SELECT " + nested(300, "(", "1", ")"), "functions": "SELECT " + nested(300, "f(", "1", ")"),
		"values":    "INSERT INTO t VALUES " + rep("(1, 'x', 2 + 3), ", 20000) + "(1, 'x', 5)",
		"additions": "SELECT 1" + rep("+1", 1500), "union": "SELECT 1" + rep(" UNION ALL SELECT 1", 1000),
		"case":   "SELECT CASE" + rep(" WHEN a = 1 THEN 'x'", 3000) + " END",
		"script": rep("SELECT 1 + 2;", 5000), "mixed script": "SHOW SOURCES;" + rep("SELECT 1 + 2;", 2000),
	}
	for name, s := range legal {
		if _, err := Parse(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("SELECT 1"); err != nil {
		t.Errorf("after the hostile texts: %v", err)
	}
}

// A native statement behind one of ours is parsed alone; it must come out as it
// does in one call with all places moved.
func TestNativeBehindStreaming(t *testing.T) {
	const head = "SHOW SOURCES;"
	for _, file := range corpora {
		for _, s := range statements(t, file) {
			a, err := Parse(s)
			if err != nil {
				t.Errorf("%s: %v", s, err)
				continue
			}
			b, err := Parse(head + s)
			if err != nil || len(b) != len(a)+1 {
				t.Errorf("%s: %v", s, err)
				continue
			}
			for i := range a {
				if got := b[i+1].Start - len(head); got != a[i].Start || b[i+1].Text != a[i].Text || Format(b[i+1].Stmt) != Format(a[i].Stmt) {
					t.Errorf("%s: starts at %d, want %d", s, got, a[i].Start)
				}
			}
		}
	}
	b, err := Parse(head + " SELECT  a")
	if err != nil {
		t.Fatal(err)
	}
	if p := b[1].Stmt.(*Select).Targets[0].Expr.Offset(); p != int32(len(head)+9) {
		t.Errorf("column at %d", p)
	}
}

// Our lexer must see the tokens that PostgreSQL's scanner sees.
func TestLexerAgainstScanner(t *testing.T) {
	more := []string{"a--b\n+c", "1..2", "1.e5", "a/*x/*y*/z*/b", `U&"d" E'\'' 'a' 
 'b' n'x' x'1f' $1a`, "a<-1 b@-c d=-e f*/*g*/h", "$$a$$ $x$b$y$c$x$ a$b", "x:=1 y=>2 z::int", "0x1F 1_000 0b11", "äö ÄÖ"}
	for _, file := range corpora {
		more = append(more, statements(t, file)...)
	}
	for _, s := range more {
		compareTokens(t, s)
	}
}

func compareTokens(t *testing.T, s string) {
	t.Helper()
	want, err := pg.Scan(s)
	got, lexErr := lex(s)
	if err != nil {
		return
	}
	if lexErr != nil {
		t.Errorf("%q: %v", s, lexErr)
		return
	}
	i := 0
	for _, k := range want.Tokens {
		if k.Token == pg.Token_SQL_COMMENT || k.Token == pg.Token_C_COMMENT {
			continue
		}
		if i >= len(got) || got[i].start != int(k.Start) || got[i].end != int(k.End) {
			t.Errorf("%q: token %d is %q", s, i, s[k.Start:k.End])
			return
		}
		i++
	}
	if i != len(got) {
		t.Errorf("%q: %d tokens, want %d", s, len(got), i)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "Abc": `"Abc"`, "a b": `"a b"`, `a"b`: `"a""b"`, "select": `"select"`, "source": "source", "": `""`, "1a": `"1a"`, "ä": `"ä"`} {
		if got := QuoteIdent(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"a": "'a'", "it's": "'it''s'", `a\b`: ` E'a\\b'`} {
		if got := QuoteLiteral(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func FuzzLexer(f *testing.F) {
	f.Add("SELECT 'a' $1 /* x */ U&\"b\"")
	f.Fuzz(func(t *testing.T, s string) {
		toks, _ := lex(s)
		end := 0
		for _, k := range toks {
			if k.start < end || k.end <= k.start || k.end > len(s) {
				t.Fatalf("token %+v after %d of %d bytes", k, end, len(s))
			}
			end = k.end
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, file := range corpora {
		for _, s := range statements(f, file) {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		ps, err := parse(s, true)
		if err != nil {
			var e *pgerr.Error
			if !errors.As(err, &e) || e.Pos > utf8.RuneCountInString(s)+1 || e.Code == pgerr.Internal {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		for _, p := range ps {
			if s[p.Start:p.End] != p.Text {
				t.Fatalf("%q: span of %q", s, p.Text)
			}
			if _, ok := p.Stmt.(*Unsupported); !ok {
				Format(p.Stmt)
			}
		}
	})
}
