package are

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// bracket reads what follows an opening bracket.
func (p *parser) bracket() (*node, error) {
	for mark, a := range map[string]assertion{"[:<:]]": wordStart, "[:>:]]": wordEnd} {
		if strings.HasPrefix(string(p.src[p.at:min(len(p.src), p.at+6)]), mark) {
			p.at += 6
			return &node{kind: kindAssert, assert: a}, nil
		}
	}
	negate := p.peek(0) == '^'
	if negate {
		p.at++
	}
	var spans []span
	for first := true; ; first = false {
		if p.done() {
			return nil, errBrackets
		}
		if p.src[p.at] == ']' && !first {
			p.at++
			break
		}
		more, err := p.bracketPart(first)
		if err != nil {
			return nil, err
		}
		spans = append(spans, more...)
	}
	c := newClass(spans)
	if negate {
		c = c.negate()
		if !p.dotNL {
			c = c.without('\n')
		}
	}
	return &node{kind: kindClass, class: c}, nil
}

// bracketPart reads a character, range or class within brackets.
func (p *parser) bracketPart(first bool) ([]span, error) {
	if p.src[p.at] == '-' && !first && p.peek(1) != ']' {
		return nil, errRange
	}
	lo, cls, err := p.element()
	if err != nil {
		return nil, err
	}
	isRange := p.peek(0) == '-' && p.peek(1) != ']' && p.at+1 < len(p.src)
	if cls != nil {
		if isRange {
			return nil, errRange
		}
		return cls.spans, nil
	}
	hi := lo
	if isRange {
		p.at++
		var end *class
		if hi, end, err = p.element(); err != nil {
			return nil, err
		}
		if end != nil || hi < lo {
			return nil, errRange
		}
	}
	return p.cased(span{lo, hi}), nil
}

// element reads one character or class within brackets.
func (p *parser) element() (rune, *class, error) {
	if p.done() {
		return 0, nil, errBrackets
	}
	c := p.src[p.at]
	switch next := p.peek(1); {
	case c == '[' && (next == '.' || next == '=' || next == ':'):
		return p.namedElement(next)
	case c == '[' && p.at+1 >= len(p.src):
		return 0, nil, errBrackets
	case c == '\\' && !p.extended:
		p.at++
		switch e := p.peek(0); e {
		case 'd', 's', 'w', 'D', 'S', 'W':
			p.at++
			return 0, classEscape(e), nil
		}
		if isDigit(p.peek(0)) && p.peek(0) != '0' { // no back reference, but an octal number
			r, err := p.digits(8, 1, 3)
			return r, nil, err
		}
		r, err := p.charEscape()
		return r, nil, err
	}
	p.at++
	return c, nil, nil
}

// namedElement reads [.x.], [=x=] and [:name:].
func (p *parser) namedElement(mark rune) (rune, *class, error) {
	start := p.at + 2
	end := start
	for end < len(p.src) && !(p.src[end] == mark && end+1 < len(p.src) && p.src[end+1] == ']') {
		end++
	}
	if end >= len(p.src) {
		return 0, nil, errBrackets
	}
	p.at = end + 2
	name := string(p.src[start:end])
	switch {
	case mark == ':':
		c := named()[name]
		if c == nil {
			return 0, nil, errClass
		}
		if p.fold && (name == "upper" || name == "lower") {
			c = named()["alpha"]
		}
		return 0, c, nil
	case end == start:
		return 0, nil, errCollating
	case end > start+1:
		return 0, nil, pgerr.Unsupported("the name of a collating element in a regular expression", "Write the character itself.")
	case mark == '=':
		return 0, newClass(p.cased(span{p.src[start], p.src[start]})), nil
	}
	return p.src[start], nil, nil
}

// cased returns a span, with all cases where case does not count.
func (p *parser) cased(s span) []span {
	if p.fold {
		return cases(s)
	}
	return []span{s}
}
