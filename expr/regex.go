package expr

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// compileRegex translates a POSIX advanced regular expression with PostgreSQL's
// option letters to Go's syntax. What Go's linear-time matcher cannot do (back
// references, look-around) is refused.
func compileRegex(pattern, flags string) (*regex, error) {
	t := translator{src: pattern, dotNL: true}
	if err := t.options(flags); err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(t.src, "***="):
		t.src, t.literal = t.src[4:], true
	case strings.HasPrefix(t.src, "***:"):
		t.src = t.src[4:]
	}
	if !t.literal && strings.HasPrefix(t.src, "(?") {
		if end := strings.IndexByte(t.src, ')'); end > 2 && isLetters(t.src[2:end]) {
			if err := t.options(t.src[2:end]); err != nil {
				return nil, err
			}
			t.src = t.src[end+1:]
		}
	}
	body, err := t.translate()
	if err != nil {
		return nil, err
	}
	prefix := ""
	if t.fold {
		prefix += "i"
	}
	if t.dotNL {
		prefix += "s"
	}
	if t.lines {
		prefix += "m"
	}
	if prefix != "" {
		body = "(?" + prefix + ")" + body
	}
	re, err := regexp.Compile(body)
	if err != nil {
		return nil, regexError(err)
	}
	return newRegex(re, body, !t.lazy), nil
}

func isLetters(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

func regexError(err error) error {
	msg := "invalid regular expression"
	if e, ok := err.(*syntax.Error); ok {
		switch e.Code {
		case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
			msg += ": parentheses () not balanced"
		case syntax.ErrMissingBracket:
			msg += ": brackets [] not balanced"
		case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
			msg += ": quantifier operand invalid"
		case syntax.ErrInvalidRepeatSize:
			msg += ": invalid repetition count(s)"
		case syntax.ErrInvalidCharRange:
			msg += ": invalid character range"
		case syntax.ErrTrailingBackslash:
			msg += `: invalid escape \ sequence`
		case syntax.ErrLarge:
			msg += ": regular expression is too complex"
		default:
			msg += ": " + e.Code.String()
		}
	}
	return pgerr.New(pgerr.InvalidRegularExpression, "%s", msg)
}

type translator struct {
	src      string
	out      strings.Builder
	fold     bool
	dotNL    bool // . and [^x] match a newline
	lines    bool // ^ and $ match at newlines
	literal  bool
	expanded bool
	lazy     bool // a non-greedy quantifier occurs
	wordPrev bool // the atom before is a word character
}

func (t *translator) options(flags string) error {
	for _, c := range flags {
		switch c {
		case 'i':
			t.fold = true
		case 'c':
			t.fold = false
		case 'n', 'm':
			t.dotNL, t.lines = false, true
		case 'p':
			t.dotNL, t.lines = false, false
		case 'w':
			t.dotNL, t.lines = true, true
		case 's':
			t.dotNL, t.lines = true, false
		case 'x':
			t.expanded = true
		case 't':
			t.expanded = false
		case 'q':
			t.literal = true
		case 'e':
		case 'b':
			return pgerr.Unsupported("basic regular expressions", "Write the pattern as an advanced regular expression.")
		default:
			return pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", c)
		}
	}
	return nil
}

func (t *translator) translate() (string, error) {
	if t.literal {
		return regexp.QuoteMeta(t.src), nil
	}
	s := t.src
	for i := 0; i < len(s); {
		c := s[i]
		word := false
		switch {
		case c == '\\':
			n, err := t.escape(s[i:])
			if err != nil {
				return "", err
			}
			i += n
			continue
		case c == '[':
			n, err := t.bracket(s[i:])
			if err != nil {
				return "", err
			}
			i += n
			continue
		case c == '(' && strings.HasPrefix(s[i:], "(?"):
			if !strings.HasPrefix(s[i:], "(?:") {
				return "", pgerr.Unsupported("look-around in regular expressions", "Matching is in linear time, without look-ahead and look-behind.")
			}
			t.out.WriteString("(?:")
			i += 3
			t.wordPrev = false
			continue
		case t.expanded && (c == ' ' || c == '\t' || c == '\n'):
			i++
			continue
		case t.expanded && c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			continue
		case c == '?' && i > 0 && (s[i-1] == '*' || s[i-1] == '+' || s[i-1] == '?' || s[i-1] == '}'):
			t.lazy = true
		case c == '$' && !t.lines:
			t.out.WriteString(`\z`)
			i++
			continue
		default:
			word = isWord(c)
		}
		t.out.WriteByte(c)
		t.wordPrev = word
		i++
	}
	return t.out.String(), nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

// escape translates the escape at the start of s and returns its length.
func (t *translator) escape(s string) (int, error) {
	if len(s) == 1 {
		return 0, pgerr.New(pgerr.InvalidRegularExpression, `invalid regular expression: invalid escape \ sequence`)
	}
	prev := t.wordPrev
	t.wordPrev = false
	boundary := func(ok bool) (int, error) {
		if !ok {
			return 0, pgerr.Unsupported("a word boundary constraint of one side here", `Use \y next to a word character.`)
		}
		t.out.WriteString(`\b`)
		return 2, nil
	}
	switch c := s[1]; c {
	case 'd', 's', 'w', 'D', 'S', 'W':
		t.wordPrev = c == 'w' || c == 'd'
		t.out.WriteString(classEscape(c, false))
	case 'm':
		return boundary(len(s) > 2 && (isWord(s[2]) || s[2] == '(' || s[2] == '\\' && len(s) > 3 && (s[3] == 'w' || s[3] == 'd')))
	case 'M':
		return boundary(prev || t.closesGroup())
	case 'y':
		t.out.WriteString(`\b`)
	case 'Y':
		t.out.WriteString(`\B`)
	case 'A':
		t.out.WriteString(`\A`)
	case 'Z':
		t.out.WriteString(`\z`)
	case 'n', 't', 'r', 'f', 'v', 'a':
		t.out.WriteString(s[:2])
	case 'e':
		t.out.WriteString(`\x1b`)
	case 'u', 'x', 'U':
		return t.hexEscape(s)
	default:
		if c >= '1' && c <= '9' {
			return 0, pgerr.Unsupported("a back reference in a regular expression", "Matching is in linear time, without back references.")
		}
		if c == '0' {
			t.out.WriteString(`\x00`)
			return 2, nil
		}
		if isWord(c) && c < 0x80 && c != '_' {
			return 0, pgerr.New(pgerr.InvalidRegularExpression, `invalid regular expression: invalid escape \ sequence`)
		}
		_, n := utf8.DecodeRuneInString(s[1:])
		t.out.WriteString(regexp.QuoteMeta(s[1 : 1+n]))
		return 1 + n, nil
	}
	return 2, nil
}

// closesGroup reports whether the text so far ends a group or a quantifier, for
// which \M is taken as a plain word boundary.
func (t *translator) closesGroup() bool {
	s := t.out.String()
	return s != "" && strings.ContainsRune(")+*}]", rune(s[len(s)-1]))
}

func (t *translator) hexEscape(s string) (int, error) {
	n := map[byte]int{'u': 4, 'U': 8}[s[1]]
	i := 2
	for i < len(s) && (n == 0 || i < 2+n) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0 {
		i++
	}
	if i == 2 || n > 0 && i != 2+n {
		return 0, pgerr.New(pgerr.InvalidRegularExpression, `invalid regular expression: invalid escape \ sequence`)
	}
	t.out.WriteString(`\x{` + s[2:i] + `}`)
	return i, nil
}

func classEscape(c byte, inside bool) string {
	class := map[byte]string{'d': `\p{Nd}`, 's': `\s\v`, 'w': `\p{L}\p{Nd}_`, 'D': `\p{Nd}`, 'S': `\s\v`, 'W': `\p{L}\p{Nd}_`}[c]
	if inside {
		return class
	}
	if c < 'a' {
		return "[^" + class + "]"
	}
	return "[" + class + "]"
}

// bracket translates the bracket expression at the start of s.
func (t *translator) bracket(s string) (int, error) {
	if strings.HasPrefix(s, "[[:<:]]") || strings.HasPrefix(s, "[[:>:]]") {
		t.out.WriteString(`\b`)
		return 7, nil
	}
	i := 1
	t.out.WriteByte('[')
	t.wordPrev = false
	if i < len(s) && s[i] == '^' {
		t.out.WriteByte('^')
		if !t.dotNL {
			t.out.WriteString(`\n`)
		}
		i++
	}
	for first := true; i < len(s); first = false {
		switch c := s[i]; {
		case c == ']' && !first:
			t.out.WriteByte(']')
			return i + 1, nil
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return 0, regexError(&syntax.Error{Code: syntax.ErrMissingBracket})
			}
			t.out.WriteString(posixClass(s[i+2 : i+end]))
			i += end + 2
		case strings.HasPrefix(s[i:], "[.") || strings.HasPrefix(s[i:], "[="):
			return 0, pgerr.Unsupported("a collating element in a regular expression", "")
		case c == '\\' && i+1 < len(s):
			switch e := s[i+1]; e {
			case 'd', 's', 'w':
				t.out.WriteString(classEscape(e, true))
			case 'n', 't', 'r', 'f', 'v', 'a':
				t.out.WriteString(s[i : i+2])
			case 'D', 'S', 'W':
				return 0, pgerr.New(pgerr.InvalidRegularExpression, `invalid regular expression: invalid escape \ sequence`)
			default:
				if e < utf8.RuneSelf {
					t.out.WriteByte('\\')
				}
				t.out.WriteByte(e)
			}
			i += 2
		case c == '[' || c == ']' || c == '\\' || c == '&' || c == '~':
			t.out.WriteString(`\` + string(c))
			i++
		default:
			t.out.WriteByte(c)
			i++
		}
	}
	return 0, regexError(&syntax.Error{Code: syntax.ErrMissingBracket})
}

// posixClass returns the contents of a class, Unicode-aware as PostgreSQL's.
func posixClass(name string) string {
	switch name {
	case "alpha":
		return `\p{L}`
	case "digit":
		return `\p{Nd}`
	case "alnum":
		return `\p{L}\p{Nd}`
	case "upper":
		return `\p{Lu}`
	case "lower":
		return `\p{Ll}`
	case "space":
		return `\s\v`
	}
	return "[:" + name + ":]"
}

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
