package types

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// ToCharNumeric is to_char of a number with the patterns 9 0 . , D G S MI PL SG
// PR V L FM TH and quoted text. Decimal and group separators are those of the C
// locale. EEEE and RN give 0A000.
func ToCharNumeric(d Decimal, format string) (string, error) {
	p, err := parseNumFormat(format)
	if err != nil {
		return "", err
	}
	return p.format(d), nil
}

type numTok struct {
	kind byte // '9' '0' '.' ',' 'G' 'S' 'M' 'P' '+' 'L' 't' '"'
	lit  string
}

type numFormat struct {
	toks             []numTok
	pre, post        int // digits before and after the point
	firstZero        int // index of the first 0 among the digits before; -1
	lastZero         int // index of the last 0 among the digits after; -1
	fill             bool
	sign, pr         bool // S/MI/PL/SG given; PR given
	multiply         int  // digits after V
	hasPoint, afterV bool
}

func parseNumFormat(f string) (*numFormat, error) {
	p := &numFormat{firstZero: -1, lastZero: -1}
	for f != "" {
		up := strings.ToUpper(f)
		two := up[:min(2, len(up))]
		n := 1
		switch {
		case strings.HasPrefix(up, "EEEE") || two == "RN":
			return nil, pgerr.Unsupported("the number format pattern "+up[:min(4, len(up))], "Use 9, 0, D, G, S, MI, PR and FM patterns.")
		case two == "FM":
			p.fill, n = true, 2
		case two == "MI" || two == "PL" || two == "SG":
			p.sign = true
			p.toks = append(p.toks, numTok{kind: map[string]byte{"MI": 'M', "PL": 'P', "SG": '+'}[two]})
			n = 2
		case two == "PR":
			p.pr, n = true, 2
		case two == "TH":
			p.toks = append(p.toks, numTok{kind: 't', lit: f[:2]})
			n = 2
		case up[0] == '9' || up[0] == '0':
			p.digit(up[0])
		case up[0] == '.' || up[0] == 'D':
			if p.hasPoint {
				return nil, pgerr.New(pgerr.SyntaxError, "multiple decimal points")
			}
			p.hasPoint = true
			p.toks = append(p.toks, numTok{kind: '.'})
		case up[0] == ',' || up[0] == 'G':
			p.toks = append(p.toks, numTok{kind: up[0]})
		case up[0] == 'S':
			if p.sign {
				return nil, pgerr.New(pgerr.SyntaxError, "cannot use \"S\" twice")
			}
			p.sign = true
			p.toks = append(p.toks, numTok{kind: 'S'})
		case up[0] == 'V':
			p.afterV = true
		case up[0] == 'L':
			p.toks = append(p.toks, numTok{kind: 'L'})
		case f[0] == '"':
			end := strings.IndexByte(f[1:], '"')
			if end < 0 {
				end = len(f) - 1
			}
			p.toks = append(p.toks, numTok{'"', f[1 : 1+end]})
			n = min(end+2, len(f))
		default:
			p.toks = append(p.toks, numTok{'"', f[:1]})
		}
		f = f[n:]
	}
	return p, nil
}

func (p *numFormat) digit(c byte) {
	if p.hasPoint {
		if c == '0' {
			p.lastZero = p.post
		}
		p.post++
	} else {
		if c == '0' && p.firstZero < 0 {
			p.firstZero = p.pre
		}
		p.pre++
		if p.afterV {
			p.multiply++
		}
	}
	p.toks = append(p.toks, numTok{kind: c})
}

func (p *numFormat) format(d Decimal) string {
	if p.multiply > 0 {
		d = d.Mul(fromMag(bigPow10(p.multiply), false, 0))
	}
	r := d.Round(p.post)
	neg := d.Sign() < 0 && !r.IsZero()
	digits := r.Abs().String()
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "0" && p.pre > 0 {
		whole = ""
	}
	over := len(whole) > p.pre || d.form != decFinite
	if d.form != decFinite {
		neg = d.form == decNegInf
	}
	cells := make([]byte, p.pre)
	for i := range cells {
		at := i - (p.pre - len(whole))
		switch {
		case over:
			cells[i] = '#'
		case at >= 0:
			cells[i] = whole[at]
		case p.firstZero >= 0 && i >= p.firstZero:
			cells[i] = '0'
		case whole == "" && i == p.pre-1 && p.post == 0:
			cells[i] = '0'
		default:
			cells[i] = ' '
		}
	}
	if over {
		frac = strings.Repeat("#", p.post)
	}
	return p.place(cells, frac, neg)
}

// place lays the digits into the picture with the sign where it belongs.
func (p *numFormat) place(cells []byte, frac string, neg bool) string {
	var b []byte
	keepFrac := len(frac)
	if p.fill {
		for keepFrac > 0 && keepFrac-1 > p.lastZero && frac[keepFrac-1] == '0' {
			keepFrac--
		}
	}
	signAt := p.signMode()
	first := 0
	for first < len(cells) && cells[first] == ' ' {
		first++
	}
	i, j := 0, 0
	wrote := false
	lead := func() {
		if !wrote {
			b = p.leadSign(b, neg, signAt)
			wrote = true
		}
	}
	for k, t := range p.toks {
		switch t.kind {
		case '9', '0':
			if i < len(cells) {
				if cells[i] == ' ' {
					if !p.fill {
						b = append(b, ' ')
					}
				} else {
					lead()
					b = append(b, cells[i])
				}
				i++
			} else {
				lead()
				if j < keepFrac {
					b = append(b, frac[j])
				}
				j++
			}
		case '.':
			lead()
			b = append(b, '.')
		case ',', 'G':
			if i > first || i == first && i > 0 && i == len(cells) {
				b = append(b, ',')
			} else if !p.fill {
				b = append(b, ' ')
			}
		case 'S':
			if k != 0 && signAt == 'e' {
				b = append(b, signChar(neg, true))
			}
		case 'M':
			if neg {
				b = append(b, '-')
			} else if !p.fill {
				b = append(b, ' ')
			}
		case 'P':
			if !neg {
				b = append(b, '+')
			} else if !p.fill {
				b = append(b, ' ')
			}
		case '+':
			b = append(b, signChar(neg, true))
		case 't':
			if !neg && j == 0 && len(b) > 0 {
				b = append(b, ordinal(string(b), t.lit[0] == 'T')...)
			}
		case 'L':
			if !p.fill {
				b = append(b, ' ')
			}
		case '"':
			b = append(b, t.lit...)
		}
	}
	if p.pr {
		switch {
		case neg:
			b = append(b, '>')
		case !p.fill:
			b = append(b, ' ')
		}
	}
	return string(b)
}

// signMode says where the sign stands: 'n' before the number as usual, 'b' by a
// leading S, 'e' by a trailing S, 'o' by other patterns.
func (p *numFormat) signMode() byte {
	if p.pr {
		return 'p'
	}
	if !p.sign {
		return 'n'
	}
	seenDigit := false
	for _, t := range p.toks {
		switch t.kind {
		case '9', '0':
			seenDigit = true
		case 'S':
			if seenDigit {
				return 'e'
			}
			return 'b'
		}
	}
	return 'o'
}

func signChar(neg, plus bool) byte {
	switch {
	case neg:
		return '-'
	case plus:
		return '+'
	}
	return ' '
}

func (p *numFormat) leadSign(b []byte, neg bool, mode byte) []byte {
	switch mode {
	case 'n':
		if neg || !p.fill {
			return append(b, signChar(neg, false))
		}
	case 'b':
		return append(b, signChar(neg, true))
	case 'p':
		if neg {
			return append(b, '<')
		}
		if !p.fill {
			return append(b, ' ')
		}
	}
	return b
}
