package sql

import "strings"

// QuoteIdent writes a name so that it is read back unchanged: as it is where
// that is safe, else in double quotes. Keywords that cannot stand everywhere as a
// name are quoted.
func QuoteIdent(s string) string {
	if plainIdent(s) && !quotedKeyword[s] {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func plainIdent(s string) bool {
	if s == "" || !(s[0] >= 'a' && s[0] <= 'z' || s[0] == '_') {
		return false
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c == '_' || digit(c)) {
			return false
		}
	}
	return true
}

// QuoteLiteral writes a string constant. A text with a backslash becomes an E”
// string, which does not depend on standard_conforming_strings.
func QuoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.IndexByte(s, '\\') < 0 {
		return q
	}
	return " E" + strings.ReplaceAll(q, `\`, `\\`)
}

// QuoteName writes a qualified name.
func QuoteName(n Name) string {
	out := QuoteIdent(n.Name)
	if n.Schema != "" {
		out = QuoteIdent(n.Schema) + "." + out
	}
	if n.Catalog != "" {
		out = QuoteIdent(n.Catalog) + "." + out
	}
	return out
}
