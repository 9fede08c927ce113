package are

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// maxRepeat is the greatest count in a quantifier.
const maxRepeat = 255

// maxNesting bounds the depth of parentheses.
const maxNesting = 500

// parser reads one pattern.
type parser struct {
	src   []rune
	at    int
	fold  bool // letters match in both cases
	dotNL bool // . and [^x] match a newline
	lines bool // ^ and $ match at newlines
	// literal patterns have no special characters, expanded ones white space and
	// comments, and extended ones neither escapes nor (? nor non-greedy quantifiers.
	literal, expanded, extended bool

	groups []*node // by number, from 1; nil while a group is open
	depth  int
}

func invalid(what string) error {
	return pgerr.New(pgerr.InvalidRegularExpression, "invalid regular expression: %s", what)
}

var (
	errParens     = invalid("parentheses () not balanced")
	errBrackets   = invalid("brackets [] not balanced")
	errBraces     = invalid("braces {} not balanced")
	errOperand    = invalid("quantifier operand invalid")
	errCount      = invalid("invalid repetition count(s)")
	errRange      = invalid("invalid character range")
	errClass      = invalid("invalid character class")
	errCollating  = invalid("invalid collating element")
	errEscape     = invalid(`invalid escape \ sequence`)
	errBackref    = invalid("invalid backreference number")
	errOption     = invalid("invalid embedded option")
	errTooComplex = invalid("regular expression is too complex")
)

// parse reads a pattern with PostgreSQL's option letters.
func parse(pattern, flags string) (*parser, *node, error) {
	p := &parser{dotNL: true, groups: []*node{nil}}
	for _, c := range flags {
		if err := p.option(c); err != nil {
			return nil, nil, err
		}
	}
	if err := p.prefixes(pattern); err != nil {
		return nil, nil, err
	}
	if p.literal {
		n := &node{kind: kindConcat}
		for _, r := range p.src {
			n.kids = append(n.kids, p.char(r))
		}
		return p, n, nil
	}
	n, err := p.either(false)
	if err == nil && p.at < len(p.src) {
		err = errParens
	}
	return p, n, err
}

func (p *parser) option(c rune) error {
	switch c {
	case 'i':
		p.fold = true
	case 'c':
		p.fold = false
	case 'n', 'm':
		p.dotNL, p.lines = false, true
	case 'p':
		p.dotNL, p.lines = false, false
	case 'w':
		p.dotNL, p.lines = true, true
	case 's':
		p.dotNL, p.lines = true, false
	case 'x':
		p.expanded = true
	case 't':
		p.expanded = false
	case 'q':
		p.literal = true
	case 'e':
		p.extended = true
	case 'b':
		return pgerr.Unsupported("basic regular expressions", "Write the pattern as an advanced regular expression.")
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", c)
	}
	return nil
}

// prefixes reads what a pattern may begin with: *** and options in (?xyz).
func (p *parser) prefixes(pattern string) error {
	defer func() {
		if p.src == nil {
			p.src = []rune(pattern)
		}
	}()
	if p.literal || p.extended {
		return nil
	}
	if rest, ok := strings.CutPrefix(pattern, "***"); ok {
		switch {
		case strings.HasPrefix(rest, "="):
			p.literal = true
			p.src = []rune(rest[1:])
			return nil
		case strings.HasPrefix(rest, ":"):
			pattern = rest[1:]
		default:
			return errOperand
		}
	}
	if len(pattern) < 3 || pattern[:2] != "(?" || !isAlpha(rune(pattern[2])) {
		return nil
	}
	end := 2
	for end < len(pattern) && isAlpha(rune(pattern[end])) {
		end++
	}
	if end == len(pattern) || pattern[end] != ')' {
		return errOption
	}
	for _, c := range pattern[2:end] {
		if err := p.option(c); c == 'b' && err != nil {
			return err
		} else if err != nil {
			return errOption
		}
	}
	pattern = pattern[end+1:]
	return nil
}

func isAlpha(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// peek returns the character k places on, 0 at the end.
func (p *parser) peek(k int) rune {
	if p.at+k < len(p.src) {
		return p.src[p.at+k]
	}
	return 0
}

func (p *parser) done() bool { return p.at >= len(p.src) }

// skip passes over comments, and in the expanded form white space.
func (p *parser) skip() {
	for !p.done() {
		switch c := p.src[p.at]; {
		case p.expanded && (c == ' ' || c >= '\t' && c <= '\r'):
			p.at++
		case p.expanded && c == '#':
			for !p.done() && p.src[p.at] != '\n' {
				p.at++
			}
		case !p.extended && c == '(' && p.peek(1) == '?' && p.peek(2) == '#':
			for !p.done() && p.src[p.at] != ')' {
				p.at++
			}
			if !p.done() {
				p.at++
			}
		default:
			return
		}
	}
}

// either reads alternatives, up to a closing parenthesis or the end. Within
// look-around nothing is captured.
func (p *parser) either(look bool) (*node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errTooComplex
	}
	defer func() { p.depth-- }()
	n := &node{kind: kindEither}
	for {
		b, err := p.branch(look)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, b)
		if p.peek(0) != '|' || p.done() {
			break
		}
		p.at++
	}
	if len(n.kids) == 1 {
		return n.kids[0], nil
	}
	return n, nil
}

func (p *parser) branch(look bool) (*node, error) {
	n := &node{kind: kindConcat}
	for {
		p.skip()
		if p.done() || p.src[p.at] == '|' || p.src[p.at] == ')' && (p.depth > 1 || !p.extended) {
			break
		}
		item, err := p.item(look)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, item)
	}
	if len(n.kids) == 1 {
		return n.kids[0], nil
	}
	return n, nil
}

// item reads a constraint, or an atom with its quantifier.
func (p *parser) item(look bool) (*node, error) {
	atom, err := p.atom(look)
	if err != nil || atom.kind == kindAssert || atom.kind == kindLook {
		return atom, err
	}
	p.skip()
	if p.done() {
		return atom, nil
	}
	rep := &node{kind: kindRepeat, kids: []*node{atom}, prefer: longer}
	switch c := p.src[p.at]; {
	case c == '*':
		rep.min, rep.max = 0, unlimited
		p.at++
	case c == '+':
		rep.min, rep.max = 1, unlimited
		p.at++
	case c == '?':
		rep.min, rep.max = 0, 1
		p.at++
	case c == '{' && isDigit(p.peek(1)):
		if err := p.bounds(rep); err != nil {
			return nil, err
		}
	default:
		return atom, nil
	}
	if !p.extended && p.peek(0) == '?' && !p.done() {
		p.at++
		if rep.prefer == longer {
			rep.prefer = shorter
		}
	}
	return rep, nil
}

// bounds reads {m}, {m,} and {m,n}.
func (p *parser) bounds(rep *node) (err error) {
	p.at++
	if rep.min, err = p.count(); err != nil {
		return err
	}
	rep.max, rep.prefer = rep.min, none
	p.blank()
	if p.peek(0) == ',' {
		p.at++
		p.blank()
		rep.prefer, rep.max = longer, unlimited
		if isDigit(p.peek(0)) {
			if rep.max, err = p.count(); err != nil {
				return err
			}
			p.blank()
			if rep.min > rep.max {
				return errCount
			}
		}
	}
	switch {
	case p.done():
		return errBraces
	case p.src[p.at] != '}':
		return errCount
	}
	p.at++
	return nil
}

// blank passes over white space within bounds.
func (p *parser) blank() {
	if p.expanded {
		p.skip()
	}
}

func (p *parser) count() (int, error) {
	n := 0
	for isDigit(p.peek(0)) && n <= maxRepeat {
		n = n*10 + int(p.src[p.at]-'0')
		p.at++
	}
	if n > maxRepeat {
		return 0, errCount
	}
	return n, nil
}

func (p *parser) atom(look bool) (*node, error) {
	c := p.src[p.at]
	p.at++
	switch c {
	case '(':
		return p.parenthesis(look)
	case '[':
		return p.bracket()
	case '\\':
		return p.escape(look)
	case '*', '+', '?':
		return nil, errOperand
	case '{':
		if isDigit(p.peek(0)) {
			return nil, errOperand
		}
	case '^':
		if p.lines {
			return &node{kind: kindAssert, assert: lineStart}, nil
		}
		return &node{kind: kindAssert, assert: textStart}, nil
	case '$':
		if p.lines {
			return &node{kind: kindAssert, assert: lineEnd}, nil
		}
		return &node{kind: kindAssert, assert: textEnd}, nil
	case '.':
		if p.dotNL {
			return &node{kind: kindClass, class: anything()}, nil
		}
		return &node{kind: kindClass, class: anything().without('\n')}, nil
	}
	return p.char(c), nil
}

// char is a plain character.
func (p *parser) char(r rune) *node {
	return &node{kind: kindClass, class: newClass(p.cased(span{r, r}))}
}

// parenthesis reads what follows an opening one.
func (p *parser) parenthesis(look bool) (*node, error) {
	n := &node{kind: kindGroup}
	within := look
	if !p.extended && p.peek(0) == '?' {
		p.at++
		behind := p.peek(0) == '<'
		if behind {
			p.at++
		}
		switch c := p.peek(0); {
		case c == ':' && !behind:
		case c == '=' || c == '!':
			n.kind, n.behind, n.negate, within = kindLook, behind, c == '!', true
		default:
			return nil, errOperand
		}
		p.at++
	} else if !look {
		n.index = len(p.groups)
		p.groups = append(p.groups, nil)
	}
	body, err := p.either(within)
	if err != nil {
		return nil, err
	}
	if p.done() {
		return nil, errParens
	}
	p.at++
	n.kids = []*node{body}
	if n.index > 0 {
		p.groups[n.index] = n
	}
	return n, nil
}
