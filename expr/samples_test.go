package expr

import (
	"os"
	"strings"
	"testing"
)

// TestAgainstPostgres runs testdata/scalar.txt, whose results come from
// PostgreSQL 15: a function or operator, arguments as text::type, => and the
// result's text or the error's code and message.
func TestAgainstPostgres(t *testing.T) {
	b, err := os.ReadFile("testdata/scalar.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimRight(string(b), "\n"), "\n") {
		head, want, _ := strings.Cut(line, "\t=>\t")
		f := strings.Split(head, "\t")
		var args []Expr
		for _, a := range f[1:] {
			i := strings.LastIndex(a, "::")
			args = append(args, lit(t, a[:i], a[i+2:]))
		}
		call := NewCall
		if len(tables().ops[f[0]]) > 0 {
			call = NewOp
		}
		e, err := call(f[0], args...)
		got := show(e, err)
		if err == nil && e.Type().ID != 0 {
			got = strings.ReplaceAll(got, "\n", `\n`)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", head, got, want)
		}
	}
}
