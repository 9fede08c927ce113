package sql

import (
	"strconv"
	"strings"
)

// Template is a SELECT, INSERT, UPDATE or DELETE with its constants taken out, so
// that texts which differ in them alone can share a plan. Only constants are taken
// out whose value cannot matter to the statement's shape, and in whose place a
// parameter may stand: those that stand alone on the right of a comparison with a
// name, and in statements that change tables also whole values of VALUES, and
// numbers that are added to a name and the like. All others (of LIMIT, ordinals,
// type modifiers, after a type's name, in other lists) stay part of the text. The
// zero value is ready; Read reuses its memory.
type Template struct {
	// Kind is the first word of the statement.
	Kind TemplateKind
	// Key is the text with each constant replaced by a mark of its type, which
	// occurs nowhere else in it.
	Key []byte
	// Constants are what was taken out, in order.
	Constants []Constant
	text      string
}

// TemplateKind tells what the statement of a Template does.
type TemplateKind byte

// The statements that have templates.
const (
	SelectTemplate TemplateKind = iota
	InsertTemplate
	UpdateTemplate
	DeleteTemplate
)

var templateWords = [...]string{"select", "insert", "update", "delete"}

// Constant is a constant of a Template.
type Constant struct {
	Kind       ConstantKind
	Int        int64  // of integers
	Text       string // of others: a string, unescaped, or the number
	start, end int
}

// ConstantKind is the type that PostgreSQL gives a constant by its form.
type ConstantKind byte

// The kinds; their values are the marks in keys.
const (
	Int4Constant    ConstantKind = 1
	Int8Constant    ConstantKind = 2
	UnknownConstant ConstantKind = 3
	NumericConstant ConstantKind = 4 // with a decimal point; not of SELECT
)

// maxTemplateText bounds the texts worth looking at.
const maxTemplateText = 4 << 10

// Read takes the constants out of text and reports whether it could. It refuses
// all that is not one plain statement of these: others, several, comments,
// parameters, strings other than '...', and strings left in that may mean the
// current time, which a plan would keep. A true answer does not mean that the text
// is valid.
func (t *Template) Read(text string) bool {
	t.Key, t.Constants, t.text = t.Key[:0], t.Constants[:0], text
	if len(text) > maxTemplateText {
		return false
	}
	r := templateReader{t: t, s: text}
	return r.lead() && r.read()
}

// Text returns the text with $1, $2, ... in place of the constants.
func (t *Template) Text() string {
	var b strings.Builder
	at := 0
	for i, c := range t.Constants {
		b.WriteString(t.text[at:c.start] + " $" + strconv.Itoa(i+1) + " ")
		at = c.end
	}
	b.WriteString(t.text[at:])
	return b.String()
}

// templateReader walks over a text; pos is the next byte.
type templateReader struct {
	t      *Template
	s      string
	pos    int
	copied int   // what is before is in the key
	name   bool  // the last token is a name
	place  place // what the last token lets follow
	depth  int   // of brackets
	inList bool  // the rows of VALUES of an INSERT
}

// place tells whether a constant may be taken out where it stands.
type place byte

const (
	nowhere  place = iota
	compared       // behind an operator that compares with a name, or assigns to it
	value          // where a value of VALUES begins
	operand        // behind an operator of arithmetic on a name
)

// lead reads the first word.
func (r *templateReader) lead() bool {
	for r.pos < len(r.s) && spaceByte(r.s[r.pos]) {
		r.pos++
	}
	end := r.pos + len("select") // as long as the others
	if end >= len(r.s) || !spaceByte(r.s[end]) {
		return false
	}
	for i, w := range templateWords {
		if strings.EqualFold(r.s[r.pos:end], w) {
			r.t.Kind, r.pos = TemplateKind(i), end
			return true
		}
	}
	return false
}

func (r *templateReader) read() bool {
	for r.pos < len(r.s) {
		c := r.s[r.pos]
		switch {
		case spaceByte(c):
			r.pos++
		case identStart(c):
			if !r.word() {
				return false
			}
		case c == '"':
			if !r.quotedName() {
				return false
			}
		case digit(c):
			if !r.number() {
				return false
			}
		case c == '\'':
			if !r.string() {
				return false
			}
		case c == '-' && r.place != nowhere && r.negative():
		case opByte(c):
			if !r.operator() {
				return false
			}
		case c == ';':
			return r.end()
		case c < ' ' || c == '$' || c == ':' && !strings.HasPrefix(r.s[r.pos:], "::"):
			return false
		case c == ':':
			r.pos += 2
			r.name, r.place = false, nowhere
		default:
			r.pos++
			r.name, r.place = false, nowhere
			r.punctuation(c)
		}
	}
	r.t.Key = append(r.t.Key, r.s[r.copied:]...)
	return true
}

// end accepts semicolons and space at the end, which the key leaves out.
func (r *templateReader) end() bool {
	r.t.Key = append(r.t.Key, r.s[r.copied:r.pos]...)
	for _, c := range []byte(r.s[r.pos:]) {
		if c != ';' && !spaceByte(c) {
			return false
		}
	}
	return true
}

// punctuation takes note of brackets, and of where values begin.
func (r *templateReader) punctuation(c byte) {
	switch c {
	case '(', '[':
		r.depth++
	case ')', ']':
		r.depth--
	}
	if r.inList && r.depth == 1 && (c == '(' || c == ',') {
		r.place = value
	}
}

func (r *templateReader) word() bool {
	start := r.pos
	for r.pos++; r.pos < len(r.s) && identByte(r.s[r.pos]); r.pos++ {
		if r.s[r.pos] == '$' {
			return false
		}
	}
	r.name, r.place = true, nowhere
	if r.t.Kind == InsertTemplate && r.depth == 0 {
		r.inList = strings.EqualFold(r.s[start:r.pos], "values")
	}
	// A string with a letter before it, or U&.
	return r.pos == len(r.s) || r.s[r.pos] != '\'' && r.s[r.pos] != '"' && r.s[r.pos] != '&'
}

func (r *templateReader) quotedName() bool {
	for r.pos++; r.pos < len(r.s); r.pos++ {
		switch c := r.s[r.pos]; {
		case c == '"':
			r.pos++
			r.name, r.place = true, nowhere
			return r.pos == len(r.s) || r.s[r.pos] != '"'
		case c < ' ':
			return false
		}
	}
	return false
}

// operator reads an operator; a constant may follow if a name is before it.
func (r *templateReader) operator() bool {
	if rest := r.s[r.pos:]; strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
		return false
	}
	end := operatorEnd(r.s, r.pos)
	op := r.s[r.pos:end]
	r.place = nowhere
	if r.name {
		switch op {
		case "=", "<", ">", "<=", ">=", "<>", "!=":
			r.place = compared
		case "+", "-", "*", "/":
			if r.t.Kind == UpdateTemplate {
				r.place = operand
			}
		}
	}
	r.pos, r.name = end, false
	return true
}

// negative takes out a negative number at the minus sign, which PostgreSQL's
// grammar reads as one constant.
func (r *templateReader) negative() bool {
	start := r.pos + 1
	for start < len(r.s) && r.s[start] == ' ' {
		start++
	}
	if end, ok := decimalAt(r.s, r.pos+1); ok && r.takesDecimal(end) {
		return true
	}
	end, v, ok := integerAt(r.s, start)
	if !ok || v > 1<<31-1 || !r.alone(end) {
		return false
	}
	r.take(end, Constant{Kind: Int4Constant, Int: -v})
	return true
}

func (r *templateReader) number() bool {
	end, v, ok := integerAt(r.s, r.pos)
	if ok && r.place != nowhere && r.alone(end) {
		kind := Int4Constant
		if v > 1<<31-1 {
			kind = Int8Constant
		}
		r.take(end, Constant{Kind: kind, Int: v})
		return true
	}
	if end, ok := decimalAt(r.s, r.pos); ok && r.takesDecimal(end) {
		return true
	}
	r.pos = numberEnd(r.s, r.pos)
	r.name, r.place = false, nowhere
	return r.pos == len(r.s) || !identStart(r.s[r.pos])
}

// takesDecimal takes out the number with a decimal point that ends at end, if it
// may.
func (r *templateReader) takesDecimal(end int) bool {
	if r.t.Kind == SelectTemplate || r.place == nowhere || !r.alone(end) {
		return false
	}
	r.take(end, Constant{Kind: NumericConstant, Text: r.s[r.pos:end]})
	return true
}

// decimalAt finds the end of the number with digits on both sides of a decimal
// point at i, and nothing else that could belong to it.
func decimalAt(s string, i int) (end int, ok bool) {
	for end = i; end < len(s) && digit(s[end]); end++ {
	}
	if end == i || end == len(s) || s[end] != '.' {
		return end, false
	}
	point := end
	for end++; end < len(s) && digit(s[end]); end++ {
	}
	return end, end > point+1 && (end == len(s) || s[end] != '.' && !identByte(s[end]))
}

// integerAt reads the decimal integer at i, with all that could belong to the
// number; false if it is none that fits into int8.
func integerAt(s string, i int) (end int, v int64, ok bool) {
	for end = i; end < len(s) && digit(s[end]); end++ {
		if v > (1<<63-1-9)/10 {
			return end, 0, false
		}
		v = v*10 + int64(s[end]-'0')
	}
	return end, v, end > i && (end == len(s) || s[end] != '.' && !identByte(s[end]))
}

func (r *templateReader) string() bool {
	escaped := false
	for end := r.pos + 1; end < len(r.s); end++ {
		switch c := r.s[end]; {
		case c == '\'' && end+1 < len(r.s) && r.s[end+1] == '\'':
			escaped = true
			end++
		case c == '\'':
			end++
			text := r.s[r.pos+1 : end-1]
			if r.place == nowhere || r.place == operand || !r.alone(end) {
				r.pos, r.name, r.place = end, false, nowhere
				return !namesTime(text) && continuation(r.s, end) < 0
			}
			if escaped {
				text = strings.ReplaceAll(text, "''", "'")
			}
			r.take(end, Constant{Kind: UnknownConstant, Text: text})
			return true
		case c < ' ':
			return false
		}
	}
	return false
}

// namesTime reports whether a string may stand for a time relative to now.
func namesTime(s string) bool {
	if len(s) < len("now") {
		return false
	}
	s = lowerASCII(s)
	return strings.Contains(s, "now") || strings.Contains(s, "today") || strings.Contains(s, "tomorrow") || strings.Contains(s, "yesterday")
}

// take takes out the constant that ends at end.
func (r *templateReader) take(end int, c Constant) {
	c.start, c.end = r.pos, end
	t := r.t
	t.Key = append(append(t.Key, r.s[r.copied:r.pos]...), byte(c.Kind))
	t.Constants = append(t.Constants, c)
	r.pos, r.copied, r.name, r.place = end, end, false, nowhere
}

// alone reports whether nothing that stands at i can belong to the value before:
// the text ends, or a bracket is closed, or the comparison, the value of a list or
// the assignment is over.
func (r *templateReader) alone(i int) bool {
	for i < len(r.s) && spaceByte(r.s[i]) {
		i++
	}
	if i == len(r.s) || r.s[i] == ')' || r.s[i] == ';' || r.s[i] == ',' && (r.place == value || r.t.Kind == UpdateTemplate) {
		return true
	}
	if r.place == value {
		return false
	}
	end := i
	for end < len(r.s) && identByte(r.s[end]) {
		end++
	}
	switch w := r.s[i:end]; len(w) {
	case 2:
		return strings.EqualFold(w, "or")
	case 3:
		return strings.EqualFold(w, "and")
	case 5:
		return strings.EqualFold(w, "limit") || strings.EqualFold(w, "order") || r.t.Kind == UpdateTemplate && strings.EqualFold(w, "where")
	}
	return false
}
