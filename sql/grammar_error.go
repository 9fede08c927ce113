package sql

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// grammarErrors are what PostgreSQL's grammar says with another SQLSTATE than that of a
// syntax error, or with a hint: the library brings neither. The first whose part is in a
// message counts.
var grammarErrors = []struct {
	part string
	code pgerr.Code
	hint string
}{
	{"memory exhausted", pgerr.StatementTooComplex, ""},
	{"stack depth limit", pgerr.StatementTooComplex, ""},
	{"LIMIT #,# syntax", pgerr.SyntaxError, "Use separate LIMIT and OFFSET clauses."},
	{"UNENCRYPTED PASSWORD", pgerr.FeatureNotSupported, "Remove UNENCRYPTED to store the password in encrypted form instead."},
	{"missing argument", pgerr.SyntaxError, "Use NONE to denote the missing argument of a unary operator."},
	{"implemented", pgerr.FeatureNotSupported, ""},
	{"not supported", pgerr.FeatureNotSupported, ""},
	{"only supported for ON DELETE actions", pgerr.FeatureNotSupported, ""},
	{"constraints cannot be marked", pgerr.FeatureNotSupported, ""},
	{"cannot include schema elements", pgerr.FeatureNotSupported, ""},
	{"current database cannot be changed", pgerr.FeatureNotSupported, ""},
	{"aggregates cannot have output arguments", pgerr.FeatureNotSupported, ""},
	{"ordered-set aggregate with a VARIADIC", pgerr.FeatureNotSupported, ""},
	{"column number must be in range", pgerr.InvalidParameterValue, ""},
	{"precision for type float must be", pgerr.InvalidParameterValue, ""},
	{"invalid byte sequence", pgerr.CharacterNotInRepertoire, ""},
	{"frame start", pgerr.WindowingError, ""},
	{"frame end", pgerr.WindowingError, ""},
}

// unicodeEscape adds to the error of an escape, which stands at the beginning of at,
// what depends on the kind of string it is in.
func unicodeEscape(e *pgerr.Error, at string) {
	switch {
	case e.Msg != "invalid Unicode escape":
	case strings.HasPrefix(at, `\u`) || strings.HasPrefix(at, `\U`):
		e.Code, e.Hint = pgerr.InvalidEscapeSequence, `Unicode escapes must be \uXXXX or \UXXXXXXXX.`
	default:
		e.Hint = `Unicode escapes must be \XXXX or \+XXXXXX.`
	}
}

// grammarError makes an error of a message of the grammar.
func grammarError(msg string) *pgerr.Error {
	for _, g := range grammarErrors {
		if !strings.Contains(msg, g.part) || strings.HasPrefix(msg, "syntax error") {
			continue
		}
		e := pgerr.New(g.code, "%s", msg)
		if g.hint != "" {
			e = e.WithHint("%s", g.hint)
		}
		return e
	}
	return pgerr.New(pgerr.SyntaxError, "%s", msg)
}
