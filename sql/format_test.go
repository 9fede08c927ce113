package sql

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// statements reads a corpus of testdata: statements with a semicolon at the end
// of a line.
func statements(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range strings.Split(string(b), ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// forget clears what a text's layout decides: places and source texts.
func forget(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			forget(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			forget(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); f.Name {
			case "Pos", "QueryText":
				v.Field(i).SetZero()
			default:
				forget(v.Field(i))
			}
		}
	}
}

// roundTrip formats a statement, parses the text again and compares the trees.
func roundTrip(t *testing.T, text string) {
	t.Helper()
	ps, err := Parse(text)
	if err != nil {
		t.Errorf("%s\n%v", text, err)
		return
	}
	for _, p := range ps {
		if u, ok := p.Stmt.(*Unsupported); ok {
			t.Errorf("%s: %v", text, u.Err)
			continue
		}
		out := Format(p.Stmt)
		again, err := Parse(out)
		if err != nil || len(again) != 1 {
			t.Errorf("%s\nis written as\n%s\n%v", p.Text, out, err)
			continue
		}
		forget(reflect.ValueOf(p.Stmt))
		forget(reflect.ValueOf(again[0].Stmt))
		if !reflect.DeepEqual(p.Stmt, again[0].Stmt) {
			t.Errorf("%s\nis written as\n%s\nwhich is another tree", p.Text, out)
		}
	}
}

func TestFormatRoundTrip(t *testing.T) {
	for _, file := range []string{"queries.sql", "statements.sql", "streaming.sql", "catalog.sql"} {
		for _, s := range statements(t, file) {
			roundTrip(t, s)
		}
	}
}

func TestFormatText(t *testing.T) {
	for in, want := range map[string]string{
		"select a+b*c-(d-e), -1, (-x) from T where a>1 and (b or c)": "SELECT a + b * c - (d - e), -1, - x FROM t WHERE a > 1 AND (b OR c)",
		`select "A b", "user", x::varchar(5)[] from s."T" as q`:      `SELECT "A b", "user", x::character varying(5)[] FROM s."T" AS q`,
		"select 1 union select 2 intersect select 3":                 "SELECT 1 UNION (SELECT 2 INTERSECT SELECT 3)",
		"select ts at time zone 'UTC', extract(hour from ts)":        "SELECT ts AT TIME ZONE 'UTC', EXTRACT('hour' FROM ts)",
		`select 'it''s', E'a\\b'`:                                    `SELECT 'it''s',  E'a\\b'`,
	} {
		p, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := Format(p[0].Stmt); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}
