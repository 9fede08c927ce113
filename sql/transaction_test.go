package sql

import (
	"reflect"
	"testing"
)

func TestPlainTransactionsAreAsTheGrammarReadsThem(t *testing.T) {
	for _, text := range []string{"BEGIN", " commit ; ", "/* x */ END;", "ROLLBACK", "Abort -- y"} {
		got, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		toks, _ := lex(text)
		want, err := parseNative(text, split(toks))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v, %v", text, got, want, err)
		}
	}
	for _, text := range []string{`"begin"`, "begins", "commit x", "checkpoint"} {
		toks, _ := lex(text)
		if p := plainTransaction(text, split(toks)[0]); p != nil {
			t.Errorf("%q is read as %+v", text, p)
		}
	}
}
