package types

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// CheckPathRegex tells whether a pattern of like_regex with XQuery's flags can be
// compiled. Package expr, which has the regular expressions, sets it once; nil: any is
// taken, and fails where it is used.
var CheckPathRegex func(pattern, flags string) error

// maxPathDepth bounds the nesting of a jsonpath.
const maxPathDepth = 1000

type pathToken struct {
	kind byte // 'i' identifier, 's' string, 'n' number, 'v' variable, 'o' sign, 0 end
	text string
	raw  string // as it stands in the input
}

// pathParser reads a jsonpath by recursive descent; levels of binding are those of
// PostgreSQL's grammar.
type pathParser struct {
	s      string
	at     int // behind tok
	tok    pathToken
	strict bool
	depth  int
	// filters and subscripts count those around: @ and last may stand there only.
	filters, subscripts int
	err                 error
}

// ParseJSONPath reads a jsonpath.
func ParseJSONPath(s string) (*JSONPathValue, error) {
	p := &pathParser{s: s}
	p.next()
	if p.tok.kind == 'i' && (strings.EqualFold(p.tok.text, "strict") || strings.EqualFold(p.tok.text, "lax")) {
		p.strict = strings.EqualFold(p.tok.text, "strict")
		p.next()
	}
	if p.err == nil && p.tok.kind == 0 {
		if strings.TrimSpace(s) == "" {
			return nil, errInput("jsonpath", s)
		}
		p.unexpected()
	}
	root := p.or()
	if p.err == nil && p.tok.kind != 0 {
		p.unexpected()
	}
	if p.err != nil {
		return nil, p.err
	}
	return &JSONPathValue{Strict: p.strict, Root: root}, nil
}

func (p *pathParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.tok = pathToken{}
	p.at = len(p.s)
}

func (p *pathParser) syntax(msg, near string) {
	if near == "" {
		p.fail(pgerr.New(pgerr.SyntaxError, "%s at end of jsonpath input", msg))
		return
	}
	p.fail(pgerr.New(pgerr.SyntaxError, "%s at or near \"%s\" of jsonpath input", msg, near))
}

func (p *pathParser) unexpected() {
	p.syntax("syntax error", p.tok.raw)
}

// special are the characters that end an unquoted name.
const pathSpecial = "?%$.[]{}()|&!=<>@#,*:-+/\\\" \t\n\r\f\v"

func (p *pathParser) next() {
	if p.err != nil {
		return
	}
	s := p.s
	for {
		for p.at < len(s) && isSpace(s[p.at]) {
			p.at++
		}
		if !strings.HasPrefix(s[p.at:], "/*") {
			break
		}
		end := strings.Index(s[p.at+2:], "*/")
		if end < 0 {
			p.syntax("unexpected end of comment", "")
			return
		}
		p.at += end + 4
	}
	start := p.at
	set := func(kind byte, text string, end int) {
		p.at = end
		p.tok = pathToken{kind, text, s[start:end]}
	}
	if start == len(s) {
		p.tok = pathToken{}
		return
	}
	switch c := s[start]; {
	case c == '"':
		if text, end, ok := p.quoted(start); ok {
			set('s', text, end)
		}
	case c == '$' && start+1 < len(s) && s[start+1] == '"':
		if text, end, ok := p.quoted(start + 1); ok {
			set('v', text, end)
		}
	case c == '$':
		end := start + 1
		for end < len(s) && strings.IndexByte(pathSpecial, s[end]) < 0 {
			end++
		}
		if end == start+1 {
			set('o', "$", end)
		} else {
			set('v', s[start+1:end], end)
		}
	case c >= '0' && c <= '9' || c == '.' && start+1 < len(s) && s[start+1] >= '0' && s[start+1] <= '9':
		p.number(start)
	case strings.IndexByte(pathSpecial, c) >= 0 && c != '\\':
		for _, two := range []string{"&&", "||", "==", "!=", "<>", "<=", ">=", "**"} {
			if strings.HasPrefix(s[start:], two) {
				set('o', two, start+2)
				return
			}
		}
		set('o', s[start:start+1], start+1)
	default:
		p.name(start)
	}
}

// number reads a numeric literal.
func (p *pathParser) number(start int) {
	s, i := p.s, start
	digits := func() {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
	}
	digits()
	whole := s[start:i]
	if i < len(s) && s[i] == '.' && (i+1 == len(s) || s[i+1] >= '0' && s[i+1] <= '9' || strings.IndexByte(pathSpecial, s[i+1]) >= 0 && s[i+1] != '.' && s[i+1] != '*') {
		i++
		digits()
	}
	if i+1 < len(s) && s[i] == '.' && strings.IndexByte(pathSpecial, s[i+1]) < 0 {
		_, n := utf8.DecodeRuneInString(s[i+1:])
		p.syntax("trailing junk after numeric literal", s[start:i+1+n])
		return
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		k := i + 1
		if k < len(s) && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if k == len(s) || s[k] < '0' || s[k] > '9' {
			p.syntax("trailing junk after numeric literal", s[start:min(k, len(s))])
			return
		}
		i = k
		digits()
	}
	if len(whole) > 1 && whole[0] == '0' {
		p.syntax("trailing junk after numeric literal", s[start:start+2])
		return
	}
	if i < len(s) && strings.IndexByte(pathSpecial, s[i]) < 0 {
		_, n := utf8.DecodeRuneInString(s[i:])
		p.syntax("trailing junk after numeric literal", s[start:i+n])
		return
	}
	p.at = i
	p.tok = pathToken{'n', s[start:i], s[start:i]}
}

// name reads an unquoted name, which may hold escapes.
func (p *pathParser) name(start int) {
	var b []byte
	i := start
	for i < len(p.s) {
		c := p.s[i]
		if c == '\\' {
			var ok bool
			if b, i, ok = p.escape(b, i); !ok {
				return
			}
			continue
		}
		if strings.IndexByte(pathSpecial, c) >= 0 {
			break
		}
		b = append(b, c)
		i++
	}
	p.at = i
	p.tok = pathToken{'i', string(b), p.s[start:i]}
}

func (p *pathParser) quoted(start int) (text string, end int, ok bool) {
	var b []byte
	i := start + 1
	for i < len(p.s) {
		switch c := p.s[i]; c {
		case '"':
			return string(b), i + 1, true
		case '\\':
			if b, i, ok = p.escape(b, i); !ok {
				return "", 0, false
			}
		default:
			b = append(b, c)
			i++
		}
	}
	p.syntax("unterminated quoted string", "")
	return "", 0, false
}

// escape reads an escape sequence at i: \b, \x41, \u0041, \u{41}, \" and the like.
func (p *pathParser) escape(b []byte, i int) ([]byte, int, bool) {
	if i+1 >= len(p.s) {
		p.syntax("unexpected end after backslash", "")
		return b, i, false
	}
	c := p.s[i+1]
	if k := strings.IndexByte("bfnrtv", c); k >= 0 {
		return append(b, "\b\f\n\r\t\v"[k]), i + 2, true
	}
	hex := func(from, n int) (rune, bool) {
		if from+n > len(p.s) || n == 0 {
			return 0, false
		}
		v, err := strconv.ParseUint(p.s[from:from+n], 16, 32)
		return rune(v), err == nil
	}
	switch c {
	case 'x':
		if r, ok := hex(i+2, 2); ok {
			return utf8.AppendRune(b, r), i + 4, true
		}
		p.syntax("invalid hexadecimal character sequence", p.s[i:min(i+2, len(p.s))])
		return b, i, false
	case 'u':
		r, n, ok := rune(0), 4, false
		from := i + 2
		if from < len(p.s) && p.s[from] == '{' {
			from++
			n = strings.IndexByte(p.s[from:], '}')
			if r, ok = hex(from, min(max(n, 0), 7)); ok && n <= 6 {
				n++ // the brace
			} else {
				ok = false
			}
		} else {
			r, ok = hex(from, 4)
		}
		switch {
		case !ok:
			p.syntax("invalid Unicode escape sequence", p.s[i:min(i+2, len(p.s))])
			return b, i, false
		case r == 0:
			p.fail(pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail("\\u0000 cannot be converted to text."))
			return b, i, false
		case r >= 0xd800 && r < 0xdc00 && strings.HasPrefix(p.s[from+n:], "\\u"):
			if lo, ok := hex(from+n+2, 4); ok && lo >= 0xdc00 && lo < 0xe000 {
				return utf8.AppendRune(b, (r-0xd800)<<10+(lo-0xdc00)+0x10000), from + n + 6, true
			}
			fallthrough
		case r >= 0xd800 && r < 0xe000:
			msg := "Unicode low surrogate must follow a high surrogate."
			p.fail(pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type jsonpath").WithDetail("%s", msg))
			return b, i, false
		}
		return utf8.AppendRune(b, r), from + n, true
	}
	_, n := utf8.DecodeRuneInString(p.s[i+1:])
	return append(b, p.s[i+1:i+1+n]...), i + 1 + n, true
}

func (p *pathParser) is(sign string) bool { return p.tok.kind == 'o' && p.tok.text == sign }

func (p *pathParser) word(w string) bool {
	return p.tok.kind == 'i' && strings.EqualFold(p.tok.text, w)
}

func (p *pathParser) take(sign string) bool {
	if p.is(sign) {
		p.next()
		return true
	}
	return false
}

func (p *pathParser) expect(sign string) {
	if !p.take(sign) {
		p.unexpected()
	}
}

func (p *pathParser) enter() bool {
	if p.depth++; p.depth > maxPathDepth {
		p.fail(pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded"))
	}
	return p.err == nil
}

// binary levels; only predicates may be operands of && and ||.
func (p *pathParser) or() *PathItem {
	if !p.enter() {
		return &PathItem{}
	}
	defer func() { p.depth-- }()
	l := p.and()
	for p.is("||") {
		l = p.predicates(PathOr, l, (*pathParser).and)
	}
	return l
}

func (p *pathParser) and() *PathItem {
	l := p.comparison()
	for p.is("&&") {
		l = p.predicates(PathAnd, l, (*pathParser).comparison)
	}
	return l
}

func (p *pathParser) predicates(op PathOp, l *PathItem, side func(*pathParser) *PathItem) *PathItem {
	if !l.predicate() {
		p.unexpected()
	}
	p.next()
	r := side(p)
	if !r.predicate() {
		p.unexpected()
	}
	return &PathItem{Op: op, Left: l, Right: r}
}

// predicate reports whether an item is a condition.
func (i *PathItem) predicate() bool {
	return i.Next == nil && (i.Op >= PathAnd && i.Op <= PathExists)
}

var pathComparisons = map[string]PathOp{"==": PathEq, "!=": PathNe, "<>": PathNe, "<": PathLt, "<=": PathLe, ">": PathGt, ">=": PathGe}

func (p *pathParser) comparison() *PathItem {
	l := p.additive()
	if p.err != nil || l.predicate() {
		return l
	}
	switch {
	case p.tok.kind == 'o' && pathComparisons[p.tok.text] != 0:
		op := pathComparisons[p.tok.text]
		p.next()
		r := p.additive()
		if r.predicate() {
			p.unexpected()
		}
		return &PathItem{Op: op, Left: l, Right: r}
	case p.word("starts"):
		p.next()
		if !p.word("with") {
			p.unexpected()
		}
		p.next()
		r := &PathItem{Op: PathString, Text: p.tok.text}
		if p.tok.kind == 'v' {
			r.Op = PathVariable
		} else if p.tok.kind != 's' {
			p.unexpected()
		}
		p.next()
		return &PathItem{Op: PathStartsWith, Left: l, Right: r}
	case p.word("like_regex"):
		return p.likeRegex(l)
	}
	return l
}

func (p *pathParser) likeRegex(l *PathItem) *PathItem {
	p.next()
	i := &PathItem{Op: PathLikeRegex, Left: l, Text: p.tok.text}
	if p.tok.kind != 's' {
		p.unexpected()
	}
	p.next()
	if p.word("flag") {
		p.next()
		if p.tok.kind != 's' {
			p.unexpected()
		}
		given := p.tok.text
		for _, c := range given {
			if !strings.ContainsRune("ismxq", c) {
				p.fail(pgerr.New(pgerr.SyntaxError, "invalid input syntax for type jsonpath").
					WithDetail("Unrecognized flag character \"%c\" in LIKE_REGEX predicate.", c))
			}
		}
		for _, c := range "ismxq" {
			if strings.ContainsRune(given, c) {
				i.Flags += string(c)
			}
		}
		p.next()
	}
	if p.err == nil && CheckPathRegex != nil {
		if err := CheckPathRegex(i.Text, i.Flags); err != nil {
			p.fail(err)
		}
	}
	return i
}

func (p *pathParser) additive() *PathItem {
	l := p.multiplicative()
	for p.is("+") || p.is("-") {
		op := PathAdd
		if p.is("-") {
			op = PathSub
		}
		l = p.arithmetic(op, l, (*pathParser).multiplicative)
	}
	return l
}

func (p *pathParser) multiplicative() *PathItem {
	l := p.unary()
	for p.is("*") || p.is("/") || p.is("%") {
		op := map[string]PathOp{"*": PathMul, "/": PathDiv, "%": PathMod}[p.tok.text]
		l = p.arithmetic(op, l, (*pathParser).unary)
	}
	return l
}

func (p *pathParser) arithmetic(op PathOp, l *PathItem, side func(*pathParser) *PathItem) *PathItem {
	if l.predicate() {
		p.unexpected()
	}
	p.next()
	r := side(p)
	if r.predicate() {
		p.unexpected()
	}
	return &PathItem{Op: op, Left: l, Right: r}
}

func (p *pathParser) unary() *PathItem {
	if !p.enter() {
		return &PathItem{}
	}
	defer func() { p.depth-- }()
	op := PathPlus
	switch {
	case p.is("-"):
		op = PathMinus
	case p.is("+"):
	case p.is("!"):
		p.next()
		i := &PathItem{Op: PathNot}
		if p.word("exists") {
			i.Left = p.primary()
		} else {
			p.expect("(")
			i.Left = p.or()
			p.expect(")")
		}
		if !i.Left.predicate() {
			p.unexpected()
		}
		return i
	default:
		return p.primary()
	}
	p.next()
	arg := p.unary()
	if arg.predicate() {
		p.unexpected()
	}
	return p.signed(op, arg)
}

// signed is a number with a sign where it is no more than that.
func (p *pathParser) signed(op PathOp, arg *PathItem) *PathItem {
	if arg.Op == PathNumber && arg.Next == nil {
		if op == PathMinus {
			arg.Num = arg.Num.Neg()
		}
		return arg
	}
	return &PathItem{Op: op, Left: arg}
}

// primary reads a value with its accessors, or a condition in parentheses.
func (p *pathParser) primary() *PathItem {
	i := &PathItem{}
	t := p.tok
	switch {
	case t.kind == 's':
		i.Op, i.Text = PathString, t.text
	case t.kind == 'v':
		i.Op, i.Text = PathVariable, t.text
	case t.kind == 'n':
		i.Op = PathNumber
		var err error
		if i.Num, err = ParseDecimal(t.text); err != nil {
			p.fail(err)
		}
	case p.is("$"):
		i.Op = PathRoot
	case p.is("@"):
		if i.Op = PathCurrent; p.filters == 0 {
			p.fail(pgerr.New(pgerr.SyntaxError, "@ is not allowed in root expressions"))
		}
	case t.kind == 'i' && (t.text == "true" || t.text == "false"):
		i.Op, i.Text = PathBool, t.text[:1]
	case t.kind == 'i' && t.text == "null":
	case p.word("last"):
		if i.Op = PathLast; p.subscripts == 0 {
			p.fail(pgerr.New(pgerr.SyntaxError, "LAST is allowed only in array subscripts"))
		}
	case p.word("exists"):
		p.next()
		p.expect("(")
		i.Op, i.Left = PathExists, p.or()
		if i.Left.predicate() {
			p.unexpected()
		}
		p.expect(")")
		return i
	case p.is("("):
		return p.parenthesised()
	default:
		p.unexpected()
		return i
	}
	p.next()
	return p.accessors(i)
}

func (p *pathParser) parenthesised() *PathItem {
	p.next()
	i := p.or()
	p.expect(")")
	if p.word("is") {
		p.next()
		if !p.word("unknown") || !i.predicate() {
			p.unexpected()
		}
		p.next()
		return &PathItem{Op: PathIsUnknown, Left: i}
	}
	return p.accessors(i)
}

// accessors reads .key, [1], ?(...) and the like behind an item.
func (p *pathParser) accessors(i *PathItem) *PathItem {
	last := i
	for last.Next != nil {
		last = last.Next
	}
	for p.err == nil {
		var a *PathItem
		switch {
		case p.is("."):
			a = p.dotted()
		case p.is("["):
			a = p.subscriptList()
		case p.is("?"):
			p.next()
			p.expect("(")
			p.filters++
			a = &PathItem{Op: PathFilter, Left: p.or()}
			p.filters--
			if !a.Left.predicate() {
				p.unexpected()
			}
			p.expect(")")
		default:
			return i
		}
		last.Next = a
		last = a
	}
	return i
}

var pathMethods = map[string]bool{"abs": true, "size": true, "type": true, "floor": true, "double": true, "ceiling": true, "keyvalue": true, "datetime": true}

func (p *pathParser) dotted() *PathItem {
	p.next()
	t := p.tok
	switch {
	case p.is("*"):
		p.next()
		return &PathItem{Op: PathAnyKey}
	case p.is("**"):
		p.next()
		return p.levels()
	case t.kind == 's':
		p.next()
		return &PathItem{Op: PathKey, Text: t.text}
	case t.kind != 'i':
		p.unexpected()
		return &PathItem{}
	}
	p.next()
	name := strings.ToLower(t.text)
	if !p.is("(") || !pathMethods[name] {
		return &PathItem{Op: PathKey, Text: t.text}
	}
	p.next()
	m := &PathItem{Op: PathMethod, Text: name}
	if name == "datetime" && p.tok.kind == 's' {
		m.Left = &PathItem{Op: PathString, Text: p.tok.text}
		p.next()
	}
	p.expect(")")
	return m
}

func (p *pathParser) levels() *PathItem {
	i := &PathItem{Op: PathAny, To: PathLastLevel}
	if !p.take("{") {
		return i
	}
	level := func() int32 {
		if p.word("last") {
			p.next()
			return PathLastLevel
		}
		n, err := strconv.ParseInt(p.tok.text, 10, 32)
		if p.tok.kind != 'n' || err != nil || n > math.MaxInt32 {
			p.unexpected()
		}
		p.next()
		return int32(n)
	}
	i.From = level()
	i.To = i.From
	if p.word("to") {
		p.next()
		i.To = level()
	}
	p.expect("}")
	return i
}

func (p *pathParser) subscriptList() *PathItem {
	p.next()
	if p.take("*") {
		p.expect("]")
		return &PathItem{Op: PathAnyArray}
	}
	i := &PathItem{Op: PathIndex}
	p.subscripts++
	for p.err == nil {
		r := &PathItem{Op: PathRange, Left: p.additive()}
		if p.word("to") {
			p.next()
			r.Right = p.additive()
		}
		i.Args = append(i.Args, r)
		if !p.take(",") {
			break
		}
	}
	p.subscripts--
	p.expect("]")
	return i
}
