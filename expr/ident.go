package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

func identFuncs() []*Func {
	f := fn("parse_ident", ts(tText, tBool), tTextArray, parseIdent)
	f.Optional = 1
	return []*Func{f}
}

// parseIdent splits a qualified name; text behind it is an error unless the
// second argument is false.
func parseIdent(r *row) error {
	s, strict := r.s(0), len(r.args) < 2 || r.bool(1)
	bad := func(detail string) error {
		e := pgerr.New(pgerr.InvalidParameterValue, "string is not a valid identifier: \"%s\"", s)
		if detail != "" {
			return e.WithDetail("%s", detail)
		}
		return e
	}
	const blank = " \t\n\r\f\v"
	var out []string
	rest, afterDot := strings.TrimLeft(s, blank), false
	for {
		name, n := "", 0
		switch {
		case strings.HasPrefix(rest, `"`):
			if name, n = quotedIdent(rest); n < 0 {
				return bad("String has unclosed double quotes.")
			} else if name == "" {
				return bad("Quoted identifier must not be empty.")
			}
		case rest != "" && isWord(rest[0]) && !isDigit(rest[0]):
			for n < len(rest) && (isWord(rest[n]) || rest[n] == '$') {
				n++
			}
			name = strings.ToLower(rest[:n])
		case strings.HasPrefix(rest, "."):
			return bad(`No valid identifier before ".".`)
		case afterDot:
			return bad(`No valid identifier after ".".`)
		default:
			return bad("")
		}
		out = append(out, name)
		rest, afterDot = strings.TrimLeft(rest[n:], blank), false
		if !strings.HasPrefix(rest, ".") {
			break
		}
		rest, afterDot = strings.TrimLeft(rest[1:], blank), true
	}
	if rest != "" && strict {
		return bad("")
	}
	return r.put(types.ArrayDatum(strDatums(out)))
}

// quotedIdent reads a name in double quotes; n is -1 if they do not end.
func quotedIdent(s string) (name string, n int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			if i+1 == len(s) || s[i+1] != '"' {
				return b.String(), i + 1
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return "", -1
}

// isWord reports whether a byte belongs to a name: any but those of ASCII signs.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
