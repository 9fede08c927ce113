package are

import "unicode"

// escape reads what follows a backslash.
func (p *parser) escape(look bool) (*node, error) {
	if p.done() {
		return nil, errEscape
	}
	c := p.src[p.at]
	if !p.extended {
		switch c {
		case 'A', 'Z', 'm', 'M', 'y', 'Y':
			p.at++
			return &node{kind: kindAssert, assert: map[rune]assertion{
				'A': textStart, 'Z': textEnd, 'm': wordStart, 'M': wordEnd, 'y': wordEdge, 'Y': noWordEdge}[c]}, nil
		case 'd', 's', 'w', 'D', 'S', 'W':
			p.at++
			return &node{kind: kindClass, class: classEscape(c)}, nil
		}
		if c >= '1' && c <= '9' {
			if n, ok := p.backNumber(); ok {
				if look || n >= len(p.groups) || p.groups[n] == nil {
					return nil, errBackref
				}
				return &node{kind: kindBack, index: n}, nil
			}
		}
	}
	r, err := p.charEscape()
	if err != nil {
		return nil, err
	}
	return p.char(r), nil
}

// backNumber reads the number of a back reference: one digit always is one, more
// are if there are as many groups. Otherwise it reads nothing.
func (p *parser) backNumber() (int, bool) {
	n, end := 0, p.at
	for end < len(p.src) && isDigit(p.src[end]) && n < 1<<20 {
		n = n*10 + int(p.src[end]-'0')
		end++
	}
	if end > p.at+1 && n >= len(p.groups) {
		return 0, false
	}
	p.at = end
	return n, true
}

func classEscape(c rune) *class {
	name := map[rune]string{'d': "digit", 's': "space", 'w': "word"}[c|0x20]
	if c < 'a' {
		return named()[name].negate()
	}
	return named()[name]
}

// charEscape reads an escape that stands for one character.
func (p *parser) charEscape() (rune, error) {
	if p.done() {
		return 0, errEscape
	}
	c := p.src[p.at]
	p.at++
	if p.extended {
		return c, nil
	}
	switch c {
	case 'a':
		return 7, nil
	case 'b':
		return '\b', nil
	case 'B':
		return '\\', nil
	case 'c':
		if p.done() {
			return 0, errEscape
		}
		p.at++
		return p.src[p.at-1] & 0o37, nil
	case 'e':
		return 0o33, nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'u':
		return p.digits(16, 4, 4)
	case 'U':
		return p.digits(16, 8, 8)
	case 'x':
		return p.digits(16, 1, 255)
	}
	if isDigit(c) {
		p.at--
		r, err := p.digits(8, 1, 3)
		if r > 0xff {
			p.at--
			r >>= 3
		}
		return r, err
	}
	if isAlpha(c) {
		return 0, errEscape
	}
	return c, nil
}

// digits reads a number of least to most digits.
func (p *parser) digits(base rune, least, most int) (rune, error) {
	n, got := rune(0), 0
	for ; got < most && !p.done(); got++ {
		c := p.src[p.at]
		switch {
		case isDigit(c) && c-'0' < base:
			c -= '0'
		case base == 16 && c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			c = -1
		}
		if c < 0 {
			break
		}
		if n = n*base + c; n > unicode.MaxRune {
			return 0, errEscape
		}
		p.at++
	}
	if got < least {
		return 0, errEscape
	}
	return n, nil
}
