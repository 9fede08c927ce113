package sql

import "github.com/streamdb/streamdb/pgerr"

// What the grammar takes and PostgreSQL 15 does not: it is that of a later version.

// checkNumbers refuses numbers with underscores or of another radix than ten, and
// letters behind a parameter. In a text that is all PostgreSQL's an error of the grammar
// before it counts first.
func checkNumbers(text string, toks []token, native bool) *pgerr.Error {
	for _, t := range toks {
		what, end := "", 0
		switch t.kind {
		case tokNumber:
			what, end = "numeric literal", decimalEnd(text, t.start, false)
		case tokParam:
			what, end = "parameter", t.end
		default:
			continue
		}
		if end == len(text) || !identStart(text[end]) {
			continue
		}
		if t.kind == tokNumber && end == t.end {
			continue // the grammar says so too
		}
		for end < len(text) && identByte(text[end]) && text[end] != '$' {
			end++
		}
		junk := pgerr.New(pgerr.SyntaxError, "trailing junk after %s at or near \"%s\"", what, text[t.start:end]).At(PosToChar(text, t.start))
		if native {
			if _, e := callGrammar(text[:t.start], 0, text); e != nil && e.Pos > 0 && e.Pos < junk.Pos {
				return e
			}
		}
		return junk
	}
	return nil
}

// unnamedQuery is a subquery in FROM without an alias. Something of it is at offset.
type unnamedQuery struct {
	offset int
	values bool
}

func (u *unnamedQuery) error(text string, t []token) *pgerr.Error {
	what, as := "subquery", "SELECT"
	if u.values {
		what, as = "VALUES", "VALUES"
	}
	return pgerr.New(pgerr.SyntaxError, "%s in FROM must have an alias", what).
		WithHint("For example, FROM (%s ...) [AS] foo.", as).At(PosToChar(text, u.open(t)))
}

// open finds the bracket that the subquery begins with, from within it: the outermost
// that has nothing but the query in it.
func (u *unnamedQuery) open(t []token) int {
	i := 0
	for i < len(t) && t[i].start < u.offset {
		i++
	}
	found := u.offset
	for depth := 0; i > 0; i-- {
		switch {
		case isOp(t, i-1, ")"):
			depth++
		case !isOp(t, i-1, "("):
		case depth > 0:
			depth--
		default:
			found = t[i-1].start
			if beginsItem(t, i-2) || isOp(t, i-2, "(") && joined(t, i-1) {
				return found
			}
		}
	}
	return found
}

// beginsItem tells a token that an item of FROM stands behind.
func beginsItem(t []token, i int) bool {
	return isWord(t, i, "from") || isWord(t, i, "join") || isWord(t, i, "lateral") || isWord(t, i, "using") || isOp(t, i, ",")
}

// joined reports whether a join follows on the bracket that opens at i.
func joined(t []token, i int) bool {
	depth := 0
	for ; i < len(t); i++ {
		switch {
		case isOp(t, i, "("):
			depth++
		case isOp(t, i, ")"):
			if depth--; depth == 0 {
				for _, w := range [...]string{"join", "inner", "left", "right", "full", "cross", "natural"} {
					if isWord(t, i+1, w) {
						return true
					}
				}
				return false
			}
		}
	}
	return false
}
