package sql

import (
	"strings"
	"testing"
)

// Where NextPart does not give up, its parts are the statements that the parser finds.
func TestPartsAreTheParsersStatements(t *testing.T) {
	for _, c := range []struct {
		text  string
		plain bool
	}{
		{"BEGIN; UPDATE t SET a = 1 WHERE k = 2;\n DELETE FROM t WHERE k = 3 ;COMMIT", true},
		{";; SELECT 1 ;\t; SELECT 2;;", true},
		{"INSERT INTO t VALUES ('a;b', 'it''s; here', '''', ''); SELECT 1", true},
		{`SELECT ";" FROM "a"";b"; SELECT 2`, true},
		{"SELECT 1 - -2; SELECT 4 / 2 * 3", true},
		{"SELECT 'é;'; SELECT 'ß'", true},
		{"  ", true},
		{"", true},
		{"SELECT 1; -- x; y\nSELECT 2", false},
		{"SELECT 1 /* ; */; SELECT 2", false},
		{"SELECT $$;$$; SELECT 2", false},
		{`SELECT E'\';'; SELECT 2`, false},
		{`SELECT U&";"; SELECT 2`, false},
		{`SELECT '\;'; SELECT 2`, false},
		{"SELECT B'1;'; SELECT 1", false},
		{"SELECT 'x; SELECT 1", false},
	} {
		var got []string
		plain := true
		for at := 0; ; {
			p, next, ok := NextPart(c.text, at)
			if plain = ok; !ok || p.Start == p.End {
				break
			}
			got, at = append(got, c.text[p.Start:p.End]), next
		}
		if plain != c.plain {
			t.Errorf("%q: plain is %v", c.text, plain)
		}
		if !plain {
			continue
		}
		ps, err := Parse(c.text)
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		var want []string
		for _, p := range ps {
			want = append(want, p.Text)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: parts %q, want %q", c.text, got, want)
		}
	}
}
