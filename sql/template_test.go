package sql

import (
	"fmt"
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // want: the text with the constants' kinds and values, "" if refused
		{"SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = <1:5>"},
		{"select a from t where id=2147483647;", "select a from t where id=<1:2147483647>"},
		{" SELECT a FROM t WHERE id = 2147483648 ; ", " SELECT a FROM t WHERE id = <2:2147483648> "},
		{"SELECT a FROM t WHERE id = 9223372036854775808", "SELECT a FROM t WHERE id = 9223372036854775808"},
		{"SELECT a FROM t WHERE id = 007 AND b = -5", "SELECT a FROM t WHERE id = <1:7> AND b = <1:-5>"},
		{"SELECT a FROM t WHERE b = - 2147483648", "SELECT a FROM t WHERE b = - 2147483648"},
		{"SELECT a FROM t WHERE b =-5", "SELECT a FROM t WHERE b =<1:-5>"},
		{"SELECT a FROM t WHERE b = -5 - 1", "SELECT a FROM t WHERE b = -5 - 1"},
		{"SELECT a FROM t WHERE b = 'it''s' AND c >= 'x'", "SELECT a FROM t WHERE b = <3:it's> AND c >= <3:x>"},
		{"SELECT a FROM t WHERE b = '' AND \"c d\" = '\x7f'", "SELECT a FROM t WHERE b = <3:> AND \"c d\" = <3:\x7f>"},
		{"SELECT a FROM t WHERE b = 'x'\n'y'", ""},
		{"SELECT a FROM t WHERE id = 1 AND d < 'today'::date", ""},
		{"SELECT a FROM t WHERE id = 1 AND d < 'NO'\n'W'::date", ""},
		{"SELECT a FROM t WHERE id = 1 AND d < 'today'", "SELECT a FROM t WHERE id = <1:1> AND d < <3:today>"},
		{"SELECT a FROM t WHERE b = 'x'::bytea", "SELECT a FROM t WHERE b = 'x'::bytea"},
		{"SELECT a FROM t WHERE b = 5::bigint OR b = 5.0 OR b = 5e1 OR b = 0x1f", "SELECT a FROM t WHERE b = 5::bigint OR b = 5.0 OR b = 5e1 OR b = 0x1f"},
		{"SELECT a FROM t WHERE b = date '2020-01-01'", "SELECT a FROM t WHERE b = date '2020-01-01'"},
		{"SELECT a FROM t WHERE b = 5 + 1 OR b = 5 IS NULL", "SELECT a FROM t WHERE b = 5 + 1 OR b = 5 IS NULL"},
		{"SELECT 'x', 5, a::varchar(5) FROM t WHERE id = 1 LIMIT 5", "SELECT 'x', 5, a::varchar(5) FROM t WHERE id = <1:1> LIMIT 5"},
		{"SELECT a FROM t WHERE id = 1 ORDER BY 1", "SELECT a FROM t WHERE id = <1:1> ORDER BY 1"},
		{"SELECT a FROM t WHERE 1 = 1 AND f(id) = 2", "SELECT a FROM t WHERE 1 = 1 AND f(id) = 2"},
		{"SELECT a FROM t WHERE (id = 1)", "SELECT a FROM t WHERE (id = <1:1>)"},
		{"SELECT f(x => 1)", "SELECT f(x => 1)"},
		{"SELECT a @= 1, b == 1, c -= 1", "SELECT a @= 1, b == 1, c -= 1"},
		{"SELECT a FROM t WHERE id = $1", ""},
		{"SELECT a FROM t WHERE id = 1 -- x", ""},
		{"SELECT a FROM t WHERE id /* x */ = 1", ""},
		{"SELECT a FROM t WHERE id = 1; SELECT 2", ""},
		{"SELECT a FROM t WHERE id = E'x'", ""},
		{"SELECT a FROM t WHERE id = U&'x'", ""},
		{"SELECT a FROM t WHERE id = $$x$$", ""},
		{"SELECT a FROM t WHERE id = 'x", ""},
		{"SELECT a FROM t WHERE id = 1x", ""},
		{"SELECT a FROM t WHERE id = '\x01'", ""},
		{"SELECT f(a := 1)", ""},
		{"UPDATE t SET a = 1", "UPDATE t SET a = <1:1>"},
		{"UPDATE t SET a = 1.5, b = b + 2, c = 'x' || 'y', d = d * -0.25 WHERE id = -7", "UPDATE t SET a = <4:1.5>, b = b + <1:2>, c = 'x' || 'y', d = d * <4:-0.25> WHERE id = <1:-7>"},
		{"UPDATE t SET a = b + 'x', c = b - 1 * 2, d = 3 + b, e = 1.5.2 WHERE f = 1.", "UPDATE t SET a = b + 'x', c = b - 1 * 2, d = 3 + b, e = 1.5.2 WHERE f = 1."},
		{"INSERT INTO t VALUES (1, 'it''s', NULL, -2.50, - 3)", "INSERT INTO t VALUES (<1:1>, <3:it's>, NULL, <4:-2.50>, <1:-3>)"},
		{"insert into t (a, b) values (1,2),( 3 , 4 );", "insert into t (a, b) values (<1:1>,<1:2>),( <1:3> , <1:4> )"},
		{"INSERT INTO t VALUES (date '2020-01-01', 'x'::text, f(1, 2), ARRAY[1, 2], 1 + 2, (3), 4e0)", "INSERT INTO t VALUES (date '2020-01-01', 'x'::text, f(1, 2), ARRAY[1, 2], 1 + 2, (3), 4e0)"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 5, b = t.b - 1", "INSERT INTO t VALUES (<1:1>) ON CONFLICT (a) DO UPDATE SET a = 5, b = t.b - 1"},
		{"INSERT INTO t SELECT 1, 'x' FROM u WHERE c = 5", "INSERT INTO t SELECT 1, 'x' FROM u WHERE c = <1:5>"},
		{"INSERT INTO t VALUES ('now'::timestamptz)", ""},
		{"DELETE FROM t WHERE a = 1 AND b IN (1, 2)", "DELETE FROM t WHERE a = <1:1> AND b IN (1, 2)"},
		{"DELETES FROM t WHERE a = 1", ""},
		{"SELECT", ""},
		{"", ""},
	} {
		var tm Template
		got := ""
		if tm.Read(c.text) {
			got = string(tm.Key)
			for _, k := range tm.Constants {
				shown := fmt.Sprintf("<%d:%s>", k.Kind, k.Text)
				if k.Kind == Int4Constant || k.Kind == Int8Constant {
					shown = fmt.Sprintf("<%d:%d>", k.Kind, k.Int)
				}
				got = strings.Replace(got, string(rune(k.Kind)), shown, 1)
			}
		}
		if got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
	var tm Template
	if !tm.Read("SELECT a FROM t WHERE a=1 and b='x';") || tm.Text() != "SELECT a FROM t WHERE a= $1  and b= $2 ;" {
		t.Errorf("%q", tm.Text())
	}
	for _, text := range []string{"SELECT abalance FROM pgbench_accounts WHERE aid = 12345;", "INSERT INTO t VALUES (1, 'x', 1.5), (2, 'y', 2.5)"} {
		if n := testing.AllocsPerRun(100, func() { tm.Read(text) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// FuzzTemplates checks that a text that parses also does so with its constants
// taken out, with as many parameters.
func FuzzTemplates(f *testing.F) {
	for _, s := range []string{"SELECT a FROM t WHERE id = 5 AND b = 'x'", "SELECT a = -1 OR b<>'''' LIMIT 3", "select (select a where b=1 order by 1)",
		"INSERT INTO t VALUES (1, -2.5, 'x'), (f(1), 2, ARRAY[1,2])", "UPDATE t SET a = b + 1.5, c = 2 WHERE d = -1", "DELETE FROM t WHERE a = 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var tm Template
		if !tm.Read(text) {
			return
		}
		ps, err := Parse(text)
		if err != nil || len(ps) != 1 {
			return
		}
		qs, err := Parse(tm.Text())
		if err != nil || len(qs) != 1 || qs[0].NumParams != len(tm.Constants) {
			t.Fatalf("%q became %q: %v", text, tm.Text(), err)
		}
	})
}
