package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

func putSimilar(r *row, escape string) error {
	pattern, err := similarRegex(r.s(0), escape, false)
	if err != nil {
		return err
	}
	return r.putS(pattern)
}

// similarRegex translates a SIMILAR TO pattern to a regular expression. The escape
// character before a double quote parts the pattern in three, for substring:
// the middle is what it returns, and the first is to be as short as it can.
// With shortest the part before the first separator takes as little as it can.
func similarRegex(pattern, escape string, shortest bool) (string, error) {
	if len([]rune(escape)) > 1 {
		return "", pgerr.New(pgerr.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	s := similar{escape: escape, shortest: shortest}
	s.out.WriteString("^(?:")
	for p := pattern; p != ""; {
		n, err := s.next(p)
		if err != nil {
			return "", err
		}
		p = p[n:]
	}
	s.out.WriteString(")$")
	return s.out.String(), nil
}

// similar is the state of a translation. depth counts the open brackets of a
// character class; place is 1 behind a class's bracket, 2 behind [^, 3 later: a
// closing bracket ends a class only there.
type similar struct {
	out          strings.Builder
	escape       string
	depth, place int
	separators   int
	shortest     bool
}

// next translates what stands at the start of p and returns its length.
func (s *similar) next(p string) (int, error) {
	_, n := utf8.DecodeRuneInString(p)
	c := p[0]
	switch {
	case s.escape != "" && p[:n] == s.escape:
		if len(p) == n {
			return n, nil
		}
		_, k := utf8.DecodeRuneInString(p[n:])
		if p[n] == '"' && s.depth == 0 {
			return n + k, s.separate()
		}
		s.out.WriteString(`\` + p[n:n+k])
		s.place = 3
		return n + k, nil
	case s.depth > 0:
		if c == '\\' {
			s.out.WriteByte('\\')
		}
		s.inClass(c)
	case c == '[':
		s.depth, s.place = 1, 1
	case c == '%':
		s.out.WriteString(".*")
		s.lazy()
		return n, nil
	case c == '*' || c == '+' || c == '?' || c == '}':
		s.out.WriteByte(c)
		s.lazy()
		return n, nil
	case c == '_':
		s.out.WriteByte('.')
		return n, nil
	case c == '(':
		s.out.WriteString("(?:")
		return n, nil
	case c == '\\' || c == '.' || c == '^' || c == '$':
		s.out.WriteByte('\\')
	}
	s.out.WriteString(p[:n])
	return n, nil
}

// lazy makes the quantifier just written take as little as it can.
func (s *similar) lazy() {
	if s.shortest && s.separators == 0 {
		s.out.WriteByte('?')
	}
}

func (s *similar) inClass(c byte) {
	switch {
	case c == ']' && s.place > 2:
		s.depth--
	case c == '[':
		s.depth++
		s.place = 3
	case c == '^' && s.place < 3:
		s.place++
	default:
		s.place = 3
	}
}

// separate writes what stands for the escape character and a double quote.
func (s *similar) separate() error {
	s.separators++
	switch s.separators {
	case 1:
		s.out.WriteString("){1,1}?(")
	case 2:
		s.out.WriteString("){1,1}(?:")
	default:
		return pgerr.New(pgerr.InvalidUseOfEscapeCharacter, "SQL regular expression may not contain more than two escape-double-quote separators")
	}
	return nil
}
