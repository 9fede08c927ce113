package sql

import "strings"

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokWord   tokenKind = iota // unquoted name or keyword; val is in lower case
	tokIdent                   // "quoted" name; val is unescaped
	tokUIdent                  // U&"..." name; val is the raw inside
	tokString                  // any string constant; val is its source text
	tokNumber                  // integer or float
	tokParam                   // $1
	tokOp                      // operator or punctuation; val is its text
)

// token is one token; start and end are byte offsets in the lexed text.
type token struct {
	kind       tokenKind
	start, end int
	val        string
}

// lexError is an unterminated token at pos; PostgreSQL's scanner words it.
type lexError struct {
	pos int
	msg string
}

func (e *lexError) Error() string { return e.msg }

func identStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func digit(c byte) bool     { return c >= '0' && c <= '9' }
func identByte(c byte) bool { return identStart(c) || digit(c) || c == '$' }
func spaceByte(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func opByte(c byte) bool    { return strings.IndexByte("~!@#^&|`?+-*/%<>=", c) >= 0 }

// lowerASCII folds A-Z only, as PostgreSQL does for multi-byte encodings.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// lexer walks over a text; each take method consumes one token from pos.
type lexer struct {
	s    string
	pos  int
	toks []token
}

// lex returns the tokens of s without comments and white space. It agrees with
// PostgreSQL's scanner on where tokens begin and end; bytes the scanner would
// refuse become tokens of their own, and the grammar reports them.
func lex(s string) ([]token, *lexError) {
	l := &lexer{s: s, toks: make([]token, 0, len(s)/5+4)}
	for l.pos < len(s) {
		c := s[l.pos]
		var err *lexError
		switch {
		case spaceByte(c):
			l.pos++
		case c == '-' && l.peek(1) == '-':
			l.lineComment()
		case c == '/' && l.peek(1) == '*':
			err = l.blockComment()
		case c == '\'' || c == '"':
			err = l.takeQuoted(0)
		case c == '$':
			err = l.takeDollar()
		case identStart(c):
			err = l.takeWord()
		case digit(c) || c == '.' && digit(l.peek(1)):
			l.add(tokNumber, numberEnd(s, l.pos))
		case c == ':' && (l.peek(1) == ':' || l.peek(1) == '='), c == '.' && l.peek(1) == '.':
			l.add(tokOp, l.pos+2)
		case opByte(c):
			l.add(tokOp, operatorEnd(s, l.pos))
		default:
			l.add(tokOp, l.pos+1)
		}
		if err != nil {
			return l.toks, err
		}
	}
	return l.toks, nil
}

// peek returns the byte n after pos, or 0.
func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.s) {
		return l.s[l.pos+n]
	}
	return 0
}

func (l *lexer) addVal(k tokenKind, end int, val string) {
	l.toks = append(l.toks, token{k, l.pos, end, val})
	l.pos = end
}

func (l *lexer) add(k tokenKind, end int) { l.addVal(k, end, l.s[l.pos:end]) }

func (l *lexer) lineComment() {
	for l.pos < len(l.s) && l.s[l.pos] != '\n' && l.s[l.pos] != '\r' {
		l.pos++
	}
}

// blockComment skips a comment; they nest.
func (l *lexer) blockComment() *lexError {
	depth, i := 0, l.pos
	for i+1 < len(l.s) {
		switch l.s[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			depth--
			i += 2
			if depth == 0 {
				l.pos = i
				return nil
			}
		default:
			i++
		}
	}
	return &lexError{l.pos, "unterminated /* comment"}
}

// takeQuoted reads a quoted string or name whose quote stands prefix bytes
// after pos.
func (l *lexer) takeQuoted(prefix int) *lexError {
	if l.peek(prefix) == '"' {
		end, val, err := quotedIdent(l.s, l.pos+prefix)
		if err != nil {
			return err
		}
		k := tokIdent
		if prefix > 0 {
			k = tokUIdent
		}
		l.addVal(k, end, val)
		return nil
	}
	end := stringEnd(l.s, l.pos+prefix, prefix == 1 && l.s[l.pos]|0x20 == 'e')
	if end < 0 {
		return &lexError{l.pos, "unterminated quoted string"}
	}
	l.add(tokString, end)
	return nil
}

// takeWord reads a name, a keyword, or a string with a letter before it.
func (l *lexer) takeWord() *lexError {
	c, next := l.s[l.pos]|0x20, l.peek(1)
	switch {
	case next == '\'' && (c == 'e' || c == 'b' || c == 'x'):
		return l.takeQuoted(1)
	case next == '\'' && c == 'n': // the scanner reads NCHAR, then a string
		l.addVal(tokWord, l.pos+1, "nchar")
		return nil
	case c == 'u' && next == '&' && (l.peek(2) == '\'' || l.peek(2) == '"'):
		return l.takeQuoted(2)
	}
	end := l.pos + 1
	for end < len(l.s) && identByte(l.s[end]) {
		end++
	}
	l.addVal(tokWord, end, lowerASCII(l.s[l.pos:end]))
	return nil
}

// takeDollar reads $1, or a dollar-quoted string.
func (l *lexer) takeDollar() *lexError {
	s, i := l.s, l.pos+1
	if i < len(s) && digit(s[i]) {
		for i < len(s) && digit(s[i]) {
			i++
		}
		l.add(tokParam, i)
		return nil
	}
	if i < len(s) && identStart(s[i]) {
		for i < len(s) && identByte(s[i]) && s[i] != '$' {
			i++
		}
	}
	if i >= len(s) || s[i] != '$' {
		l.add(tokOp, l.pos+1)
		return nil
	}
	tag := s[l.pos : i+1]
	n := strings.Index(s[i+1:], tag)
	if n < 0 {
		return &lexError{l.pos, "unterminated dollar-quoted string"}
	}
	l.add(tokString, i+1+n+len(tag))
	return nil
}

// stringEnd returns the end of the string whose opening quote is at i, with its
// continuations ('a' <newline> 'b'), or -1.
func stringEnd(s string, i int, escapes bool) int {
	for i++; ; {
		for ; i < len(s) && s[i] != '\''; i++ {
			if escapes && s[i] == '\\' {
				i++
			}
		}
		if i >= len(s) {
			return -1
		}
		i++
		if i < len(s) && s[i] == '\'' {
			i++
			continue
		}
		next := continuation(s, i)
		if next < 0 {
			return i
		}
		i = next
	}
}

// continuation returns the offset behind the quote that goes on with a string
// which ended before i, or -1. Only white space with a line break may lie
// between, and comments behind the break.
func continuation(s string, i int) int {
	newline := false
	for i < len(s) {
		switch {
		case spaceByte(s[i]):
			newline = newline || s[i] == '\n' || s[i] == '\r'
			i++
		case newline && s[i] == '-' && i+1 < len(s) && s[i+1] == '-':
			for i < len(s) && s[i] != '\n' && s[i] != '\r' {
				i++
			}
		case newline && s[i] == '\'':
			return i + 1
		default:
			return -1
		}
	}
	return -1
}

// quotedIdent reads the quoted name whose quote is at i.
func quotedIdent(s string, i int) (end int, val string, err *lexError) {
	for j := i + 1; ; j++ {
		n := strings.IndexByte(s[j:], '"')
		if n < 0 {
			return 0, "", &lexError{i, "unterminated quoted identifier"}
		}
		j += n
		if j+1 < len(s) && s[j+1] == '"' {
			j++
			continue
		}
		if j == i+1 {
			return 0, "", &lexError{i, "zero-length delimited identifier"}
		}
		return j + 1, strings.ReplaceAll(s[i+1:j], `""`, `"`), nil
	}
}

// numberEnd returns the end of the number at i.
func numberEnd(s string, i int) int {
	if s[i] == '0' && i+1 < len(s) {
		if j := radixEnd(s, i+2, s[i+1]|0x20); j > i+2 {
			return j
		}
	}
	return decimalEnd(s, i, true)
}

// decimalEnd is where a decimal number ends that begins at i, with underscores
// between digits if they are allowed.
func decimalEnd(s string, i int, underscores bool) int {
	digits := func(j int) int {
		for j < len(s) && (digit(s[j]) || underscores && s[j] == '_' && j+1 < len(s) && digit(s[j+1]) && j > i && digit(s[j-1])) {
			j++
		}
		return j
	}
	j := digits(i)
	if j < len(s) && s[j] == '.' && !(j+1 < len(s) && s[j+1] == '.') {
		j = digits(j + 1)
	}
	if j < len(s) && s[j]|0x20 == 'e' {
		k := j + 1
		if k < len(s) && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if k < len(s) && digit(s[k]) {
			j = digits(k)
		}
	}
	return j
}

// radixEnd returns the end of the digits of radix letter x, o or b from i on.
func radixEnd(s string, i int, radix byte) int {
	valid := ""
	switch radix {
	case 'x':
		valid = "0123456789abcdefABCDEF"
	case 'o':
		valid = "01234567"
	case 'b':
		valid = "01"
	default:
		return i
	}
	in := func(j int) bool { return j < len(s) && strings.IndexByte(valid, s[j]) >= 0 }
	for in(i) || i < len(s) && s[i] == '_' && in(i+1) {
		i++
	}
	return i
}

// operatorEnd returns the end of the operator at i. It stops before a comment,
// and does not end in + or - unless it has a character that SQL operators lack.
func operatorEnd(s string, i int) int {
	j := i
	for j < len(s) && opByte(s[j]) {
		if j > i && j+1 < len(s) && (s[j:j+2] == "--" || s[j:j+2] == "/*") {
			break
		}
		j++
	}
	for j-i > 1 && (s[j-1] == '+' || s[j-1] == '-') && !strings.ContainsAny(s[i:j-1], "~!@#%^&|`?") {
		j--
	}
	return j
}
