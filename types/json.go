package types

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// maxJSONDepth bounds nesting, so that hostile input cannot exhaust the stack.
const maxJSONDepth = 6400

// jsonParser reads JSON text; with canon it writes canonical jsonb. Unicode escapes
// are what they are in json text, and have to mean characters only with chars.
type jsonParser struct {
	s      string
	i      int
	depth  int
	canon  bool
	chars  bool
	out    []byte
	keyBuf []byte
}

// ValidateJSON checks JSON text: 22P02 with a detail when malformed.
func ValidateJSON(s string) error {
	p := jsonParser{s: s}
	return p.document()
}

// ParseJSONB reads JSON text and returns the canonical text of the jsonb value:
// keys by length and then bytes, the last of duplicates, numbers as numerics.
func ParseJSONB(s string) (string, error) {
	p := jsonParser{s: s, canon: true, chars: true, out: make([]byte, 0, len(s)+len(s)/8)}
	if err := p.document(); err != nil {
		return "", err
	}
	return string(p.out), nil
}

// AppendJSONB is ParseJSONB into a buffer.
func AppendJSONB(dst []byte, s string) ([]byte, error) {
	p := jsonParser{s: s, canon: true, chars: true, out: dst}
	err := p.document()
	return p.out, err
}

// CheckJSONChars returns an error if a Unicode escape in valid JSON text means no
// character of text. What takes json text apart demands that of all of it.
func CheckJSONChars(b []byte) error {
	if !bytes.Contains(b, []byte(`\u`)) {
		return nil
	}
	p := jsonParser{s: string(b), chars: true}
	return p.document()
}

func (p *jsonParser) document() error {
	if err := p.value(); err != nil {
		return err
	}
	p.space()
	if p.i < len(p.s) {
		return p.unexpected("end of input")
	}
	return nil
}

func (p *jsonParser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return
		}
	}
}

// bad is the error of the input up to end.
func (p *jsonParser) bad(end int, detail string, args ...any) error {
	return p.at(end, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail(detail, args...))
}

// at shows where in the input an error is: the end of its line up to end, at most
// about 50 bytes of it.
func (p *jsonParser) at(end int, e *pgerr.Error) error {
	line, start := 1, 0
	quoted := false
	for i := 0; i < end; i++ {
		switch c := p.s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			line, start = line+1, i+1
		}
	}
	from := start
	for end-from >= 50 {
		_, n := utf8.DecodeRuneInString(p.s[from:])
		from += n
	}
	before, after := "...", ""
	if from-start <= 3 {
		before, from = "", start
	}
	if end < len(p.s) && p.s[end] != '\n' && p.s[end] != '\r' {
		after = "..."
	}
	e.Where = fmt.Sprintf("JSON data, line %d: %s%s%s", line, before, p.s[from:end], after)
	return e
}

// runeEnd is where the character at i ends.
func (p *jsonParser) runeEnd(i int) int {
	_, n := utf8.DecodeRuneInString(p.s[i:])
	return i + n
}

// token names the word or sign at the position for a message, quoted.
func (p *jsonParser) token() string {
	j := p.i
	for j < len(p.s) && (isAlpha(p.s[j:j+1]) || p.s[j] >= '0' && p.s[j] <= '9' || p.s[j] == '_' || p.s[j] >= 0x80) {
		j++
	}
	if j == p.i && j < len(p.s) {
		j++
	}
	return "\"" + p.s[p.i:j] + "\""
}

// unexpected is the error of the token at the position, which is read to its end:
// it may be wrong by itself.
func (p *jsonParser) unexpected(want string) error {
	if p.i >= len(p.s) {
		return p.ended()
	}
	start, token := p.i, p.token()
	end := start + len(token) - 2
	switch c := p.s[start]; {
	case c == '"' || c == '-' || c >= '0' && c <= '9':
		q := jsonParser{s: p.s, i: start, chars: p.chars}
		read := q.number
		if c == '"' {
			read = func() error { _, err := q.str(); return err }
		}
		if err := read(); err != nil {
			return err
		}
		token, end = "\""+p.s[start:q.i]+"\"", q.i
	case strings.IndexByte("{}[]:,", c) >= 0 || token == `"true"` || token == `"false"` || token == `"null"`:
	default:
		return p.bad(end, "Token %s is invalid.", token)
	}
	return p.bad(end, "Expected %s, but found %s.", want, token)
}

func (p *jsonParser) ended() error { return p.bad(len(p.s), "The input string ended unexpectedly.") }

func (p *jsonParser) value() error {
	p.space()
	if p.i >= len(p.s) {
		return p.ended()
	}
	switch c := p.s[p.i]; {
	case c == '{' || c == '[':
		if p.depth++; p.depth > maxJSONDepth {
			return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
				WithHint("JSON values may nest at most %d levels deep.", maxJSONDepth)
		}
		var err error
		if c == '{' {
			err = p.object()
		} else {
			err = p.array()
		}
		p.depth--
		return err
	case c == '"':
		start := len(p.out)
		s, err := p.str()
		if err == nil && p.canon {
			p.out = AppendJSONString(p.out[:start], s)
		}
		return err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(p.s[p.i:], w) {
			t := p.token()
			if len(t) == len(w)+2 {
				p.i += len(w)
				if p.canon {
					p.out = append(p.out, w...)
				}
				return nil
			}
		}
	}
	return p.unexpected("JSON value")
}

func (p *jsonParser) number() error {
	start := p.i
	digits := func() bool {
		from := p.i
		for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
			p.i++
		}
		return p.i > from
	}
	at := func(c byte) bool { return p.i < len(p.s) && p.s[p.i] == c }
	if at('-') {
		p.i++
	}
	ok := true
	if at('0') {
		p.i++
	} else {
		ok = digits()
	}
	if at('.') {
		p.i++
		ok = digits() && ok
	}
	if at('e') || at('E') {
		p.i++
		if at('+') || at('-') {
			p.i++
		}
		ok = digits() && ok
	}
	end := p.i
	for p.i < len(p.s) && (isAlpha(p.s[p.i:p.i+1]) || p.s[p.i] >= '0' && p.s[p.i] <= '9' || p.s[p.i] == '_' || p.s[p.i] >= 0x80) {
		p.i++
	}
	if !ok || p.i != end {
		return p.bad(p.i, "Token \"%s\" is invalid.", p.s[start:p.i])
	}
	if p.canon {
		d, err := ParseDecimal(p.s[start:end])
		if err != nil {
			return err
		}
		p.out = AppendDecimalText(p.out, d)
	}
	return nil
}

// str reads a string and returns it unescaped.
func (p *jsonParser) str() (string, error) {
	p.i++
	start := p.i
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '"' {
			p.i++
			return p.s[start : p.i-1], nil
		}
		if c == '\\' {
			return p.strEscaped(start)
		}
		if c < 0x20 {
			return "", p.bad(p.i, "Character with value 0x%02x must be escaped.", c)
		}
		p.i++
	}
	return "", p.bad(len(p.s), "Token \"%s\" is invalid.", p.s[start-1:])
}

func (p *jsonParser) strEscaped(start int) (string, error) {
	b := append([]byte(nil), p.s[start:p.i]...)
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '"':
			p.i++
			return string(b), nil
		case c < 0x20:
			return "", p.bad(p.i, "Character with value 0x%02x must be escaped.", c)
		case c != '\\':
			b = append(b, c)
			p.i++
			continue
		}
		if p.i+1 >= len(p.s) {
			break
		}
		e := p.s[p.i+1]
		p.i += 2
		if e == 'u' {
			r, err := p.unicode(start)
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
			continue
		}
		k := strings.IndexByte(`"\/bfnrt`, e)
		if k < 0 {
			r, _ := utf8.DecodeRuneInString(p.s[p.i-1:])
			return "", p.bad(p.runeEnd(p.i-1), "Escape sequence \"\\%c\" is invalid.", r)
		}
		b = append(b, "\"\\/\b\f\n\r\t"[k])
	}
	return "", p.bad(len(p.s), "Token \"%s\" is invalid.", p.s[start-1:])
}

// hex4 reads four hexadecimal digits of a string that begins at start.
func (p *jsonParser) hex4(start int) (rune, error) {
	r := rune(0)
	for range 4 {
		if p.i >= len(p.s) {
			return 0, p.bad(len(p.s), "Token \"%s\" is invalid.", p.s[start-1:])
		}
		v, ok := hexVal(p.s[p.i])
		if !ok {
			return 0, p.bad(p.runeEnd(p.i), "\"\\u\" must be followed by four hexadecimal digits.")
		}
		r = r<<4 | rune(v)
		p.i++
	}
	return r, nil
}

// unicode reads the digits after \u, and the second half of a surrogate pair.
func (p *jsonParser) unicode(start int) (rune, error) {
	const lowMissing = "Unicode low surrogate must follow a high surrogate."
	r, err := p.hex4(start)
	switch {
	case err != nil || !p.chars:
		return r, err
	case r == 0:
		return 0, p.at(p.i, pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
			WithDetail("\\u0000 cannot be converted to text."))
	case r >= 0xdc00 && r < 0xe000:
		return 0, p.bad(p.i, lowMissing)
	case r < 0xd800 || r >= 0xdc00:
		return r, nil
	}
	if !strings.HasPrefix(p.s[p.i:], `\u`) {
		if p.i < len(p.s) && p.s[p.i] == '\\' { // the escape is read to its end
			return 0, p.bad(min(p.i+2, len(p.s)), lowMissing)
		}
		return 0, p.bad(p.runeEnd(p.i), lowMissing)
	}
	p.i += 2
	lo, err := p.hex4(start)
	if err != nil {
		return 0, err
	}
	if full := utf16.DecodeRune(r, lo); full != utf8.RuneError {
		return full, nil
	}
	if lo >= 0xd800 && lo < 0xdc00 {
		return 0, p.bad(p.i, "Unicode high surrogate must not follow a high surrogate.")
	}
	return 0, p.bad(p.i, lowMissing)
}

func (p *jsonParser) array() error {
	p.i++
	p.emit("[")
	p.space()
	if p.i < len(p.s) && p.s[p.i] == ']' {
		p.i++
		p.emit("]")
		return nil
	}
	for n := 0; ; n++ {
		if n > 0 {
			p.emit(", ")
		}
		if err := p.value(); err != nil {
			return err
		}
		p.space()
		switch {
		case p.i < len(p.s) && p.s[p.i] == ',':
			p.i++
		case p.i < len(p.s) && p.s[p.i] == ']':
			p.i++
			p.emit("]")
			return nil
		default:
			return p.unexpected("\",\" or \"]\"")
		}
	}
}

func (p *jsonParser) emit(s string) {
	if p.canon {
		p.out = append(p.out, s...)
	}
}

type jsonMember struct {
	key      string
	from, to int // of the value in out
}

func (p *jsonParser) object() error {
	p.i++
	base := len(p.out)
	p.space()
	if p.i < len(p.s) && p.s[p.i] == '}' {
		p.i++
		p.emit("{}")
		return nil
	}
	var ms []jsonMember
	for n := 0; ; n++ {
		p.space()
		if p.i >= len(p.s) || p.s[p.i] != '"' {
			if n == 0 {
				return p.unexpected("string or \"}\"")
			}
			return p.unexpected("string")
		}
		key, err := p.str()
		if err != nil {
			return err
		}
		p.space()
		if p.i >= len(p.s) || p.s[p.i] != ':' {
			return p.unexpected("\":\"")
		}
		p.i++
		from := len(p.out)
		if err := p.value(); err != nil {
			return err
		}
		if p.canon {
			ms = append(ms, jsonMember{key, from, len(p.out)})
		}
		p.space()
		switch {
		case p.i < len(p.s) && p.s[p.i] == ',':
			p.i++
			continue
		case p.i < len(p.s) && p.s[p.i] == '}':
			p.i++
			if p.canon {
				p.finishObject(base, ms)
			}
			return nil
		}
		return p.unexpected("\",\" or \"}\"")
	}
}

// jsonKeyLess is the order of keys in jsonb: by length, then by bytes.
func jsonKeyLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// finishObject replaces the values written since base by the sorted object.
func (p *jsonParser) finishObject(base int, ms []jsonMember) {
	vals := append([]byte(nil), p.out[base:]...)
	sort.SliceStable(ms, func(i, j int) bool { return jsonKeyLess(ms[i].key, ms[j].key) })
	p.out = append(p.out[:base], '{')
	first := true
	for i, m := range ms {
		if i+1 < len(ms) && ms[i+1].key == m.key {
			continue
		}
		if !first {
			p.out = append(p.out, ", "...)
		}
		first = false
		p.out = append(AppendJSONString(p.out, m.key), ": "...)
		p.out = append(p.out, vals[m.from-base:m.to-base]...)
	}
	p.out = append(p.out, '}')
}

// AppendJSONString appends s quoted, escaped as PostgreSQL does.
func AppendJSONString[S []byte | string](dst []byte, s S) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			const digits = "0123456789abcdef"
			dst = append(dst, `\u00`...)
			dst = append(dst, digits[c>>4], digits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
