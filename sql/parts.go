package sql

// Part is the text of a statement within a text of several: text[Start:End], without
// white space around it.
type Part struct{ Start, End int }

// NextPart returns the first statement of text at or behind pos that is not empty, and
// the position behind its semicolon. It knows as much of the lexer as statements with
// templates need, and gives up (ok is false) on everything else in which a semicolon
// may be part of something: comments, dollars, backslashes, and strings with a letter
// before them. At the end of the text the part is empty.
func NextPart(text string, pos int) (p Part, next int, ok bool) {
	for pos < len(text) && (spaceByte(text[pos]) || text[pos] == ';') {
		pos++
	}
	p = Part{pos, pos}
	for ; pos < len(text); pos++ {
		switch c := text[pos]; {
		case c == ';':
			return p, pos + 1, true
		case spaceByte(c):
			continue
		case c == '$' || c == '\\':
			return p, pos, false
		case (c == '-' || c == '/') && pos+1 < len(text) && (text[pos+1] == c || text[pos+1] == '*'):
			return p, pos, false
		case c == '\'' || c == '"':
			if pos > p.Start && (identByte(text[pos-1]) || text[pos-1] == '&') {
				return p, pos, false
			}
			end := quoteEnd(text, pos)
			if end < 0 {
				return p, pos, false
			}
			pos = end
		}
		p.End = pos + 1
	}
	return p, pos, true
}

// quoteEnd returns the position of the quote that ends what begins at pos, over doubled
// ones; -1: there is none, or a backslash before it.
func quoteEnd(text string, pos int) int {
	quote := text[pos]
	for i := pos + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			return -1
		case quote:
			if i+1 == len(text) || text[i+1] != quote {
				return i
			}
			i++
		}
	}
	return -1
}
