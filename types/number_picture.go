package types

import (
	"strings"
	"sync/atomic"

	"github.com/streamdb/streamdb/pgerr"
)

// numTok is a piece of a number's picture. kind is one of 9 0 . , L R(oman)
// t(h) M(I) P(L) +(SG) and " for literal text in lit.
type numTok struct {
	kind byte
	lit  string
}

// numFormat is a number's picture, read by to_char and to_number alike. Where
// it depends on what came before (digits before and after the point, signs),
// the counts are those of the whole picture.
type numFormat struct {
	toks                     []numTok
	pre, post, multi         int // digits before and after the point, and after V
	zeroStart, zeroEnd       int // first position of a 0 before the point (-1: none); positions up to the last 0
	fill, roman, sci, point  bool
	plus, minus, bracket     bool
	signPlace                byte // S: 'b' before, 'e' behind the number; 0: no S
	preAtSign                int
	multiplied, hasZero, blk bool
}

type numPicture struct {
	text string
	f    *numFormat
}

// lastNumFormat remembers the picture read last: a column is usually formatted
// by one constant.
var lastNumFormat atomic.Pointer[numPicture]

// numWords are the patterns of letters, a longer one before its prefixes. Each
// counts in upper case or in lower case, not mixed.
var numWords = []string{"EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "B", "C", "D", "G", "L", "S", "V"}

// parseNumFormat reads a picture; an empty one gives nil.
func parseNumFormat(text string) (*numFormat, error) {
	if last := lastNumFormat.Load(); last != nil && last.text == text {
		return last.f, nil
	}
	if text == "" {
		return nil, nil
	}
	f := &numFormat{zeroStart: -1}
	for s := text; s != ""; {
		word := numWord(s)
		switch {
		case word != "":
			if err := f.word(word); err != nil {
				return nil, err
			}
			s = s[len(word):]
		case s[0] == '"':
			s = f.quoted(s[1:])
		default:
			if strings.HasPrefix(s, `\"`) {
				s = s[1:]
			}
			f.toks = append(f.toks, numTok{'"', s[:1]})
			s = s[1:]
		}
	}
	if f.roman {
		*f = numFormat{toks: f.toks, fill: f.fill, roman: true, zeroStart: -1}
	}
	lastNumFormat.Store(&numPicture{strings.Clone(text), f})
	return f, nil
}

func numWord(s string) string {
	if strings.IndexByte(",.09", s[0]) >= 0 {
		return s[:1]
	}
	for _, w := range numWords {
		if strings.HasPrefix(s, w) || strings.HasPrefix(s, strings.ToLower(w)) {
			return s[:len(w)]
		}
	}
	return ""
}

func (f *numFormat) quoted(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return s[i+1:]
		}
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		f.toks = append(f.toks, numTok{'"', s[i : i+1]})
	}
	return ""
}

func (f *numFormat) word(w string) error {
	bad := func(msg string) error { return pgerr.New(pgerr.SyntaxError, "%s", msg) }
	up := strings.ToUpper(w)
	if f.sci && up != "EEEE" {
		return bad(`"EEEE" must be the last pattern used`)
	}
	switch up {
	case "9", "0":
		if f.bracket {
			return bad(`"` + up + `" must be ahead of "PR"`)
		}
		f.digit(up[0])
		return nil
	case ".", "D":
		switch {
		case f.point:
			return bad("multiple decimal points")
		case f.multiplied:
			return bad(`cannot use "V" and decimal point together`)
		}
		f.point = true
		f.add('.', w)
	case ",", "G":
		f.add(',', up)
	case "L":
		f.add('L', w)
	case "FM":
		f.fill = true
	case "B":
		f.blk = f.pre == 0 && f.post == 0 && !f.hasZero
	case "V":
		if f.point {
			return bad(`cannot use "V" and decimal point together`)
		}
		f.multiplied = true
	case "RN":
		f.roman = true
		f.add('R', w)
	case "TH":
		f.add('t', w)
	case "EEEE":
		return f.exponent(bad)
	default:
		return f.sign(up, bad)
	}
	return nil
}

func (f *numFormat) add(kind byte, lit string) { f.toks = append(f.toks, numTok{kind, lit}) }

func (f *numFormat) digit(c byte) {
	f.add(c, "")
	if c == '0' {
		if !f.hasZero && !f.point {
			f.zeroStart = f.pre
		}
		f.hasZero = f.hasZero || !f.point
	}
	switch {
	case f.point:
		f.post++
	case c == '9' && f.multiplied:
		f.multi++
	default:
		f.pre++
	}
	if c == '0' {
		f.zeroEnd = f.pre + f.post
	}
}

func (f *numFormat) exponent(bad func(string) error) error {
	switch {
	case f.sci:
		return bad(`cannot use "EEEE" twice`)
	case f.blk || f.fill || f.signPlace != 0 || f.bracket || f.minus || f.plus || f.roman || f.multiplied:
		return pgerr.New(pgerr.SyntaxError, `"EEEE" is incompatible with other formats`).
			WithDetail(`"EEEE" may only be used together with digit and decimal point patterns.`)
	}
	f.sci = true
	return nil
}

func (f *numFormat) sign(w string, bad func(string) error) error {
	if f.signPlace != 0 && w != "S" && w != "PR" && (w == "MI" || w == "PL" || w == "SG") {
		return bad(`cannot use "S" and "` + w + `" together`)
	}
	switch w {
	case "S":
		switch {
		case f.signPlace != 0:
			return bad(`cannot use "S" twice`)
		case f.plus || f.minus || f.bracket:
			return bad(`cannot use "S" and "PL"/"MI"/"SG"/"PR" together`)
		case f.point:
			f.signPlace = 'e'
		default:
			f.signPlace, f.preAtSign = 'b', f.pre
		}
	case "MI":
		f.minus = true
		f.add('M', w)
	case "PL":
		f.plus = true
		f.add('P', w)
	case "SG":
		f.plus, f.minus = true, true
		f.add('+', w)
	case "PR":
		if f.signPlace != 0 || f.plus || f.minus {
			return bad(`cannot use "PR" and "S"/"PL"/"MI"/"SG" together`)
		}
		f.bracket = true
	}
	return nil
}
