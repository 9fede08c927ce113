package types

import (
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// ToNumber is to_number(text, format); null for an empty format.
func ToNumber(s, format string) (d Decimal, null bool, err error) {
	f, err := parseNumFormat(format)
	if err != nil {
		return d, false, err
	}
	switch {
	case f == nil:
		return d, true, nil
	case f.roman:
		return d, false, pgerr.New(pgerr.FeatureNotSupported, `"RN" not supported for input`)
	case f.sci:
		return d, false, pgerr.New(pgerr.FeatureNotSupported, `"EEEE" not supported for input`)
	}
	r := numReader{f: f, s: s}
	for _, t := range f.toks {
		if r.s == "" {
			break
		}
		r.token(t)
	}
	text := strings.TrimSuffix(string(r.digits), ".")
	if r.sign != 0 {
		text = string(r.sign) + text
	}
	if text == "" {
		text = " "
	}
	if d, err = ParseDecimal(text); err != nil {
		return d, false, err
	}
	if prec := f.pre + f.multi + r.post; prec <= 1000 {
		if d, err = d.Typmod(int32(prec<<16|r.post) + 4); err != nil {
			return d, false, err
		}
	}
	if f.multiplied {
		by, err := DecimalFromInt64(10).Power(DecimalFromInt64(int64(-f.multi)))
		return d.Mul(by), false, err
	}
	return d, false, nil
}

// numReader reads a number by a picture. Characters that are no part of a
// number are passed over one for one with the picture's.
type numReader struct {
	f         *numFormat
	s         string
	digits    []byte
	sign      byte
	pre, post int
	dec       bool
}

func (r *numReader) token(t numTok) {
	switch t.kind {
	case '9', '0', '.':
		r.position(t.kind)
	case ',':
		// With FM a separator before the first digit stands for nothing.
		if !(t.lit == "," && r.f.fill) && r.s[0] == ',' {
			r.s = r.s[1:]
		}
	case 'L':
		r.passOver(1)
	case 't':
		r.passOver(2)
	case 'M':
		r.signOrPass(r.s[0] == '-')
	case 'P':
		r.signOrPass(r.s[0] == '+')
	case '+':
		r.signOrPass(r.s[0] == '-' || r.s[0] == '+')
	case '"':
		_, n := utf8.DecodeRuneInString(r.s)
		r.s = r.s[n:]
	}
}

func (r *numReader) signOrPass(is bool) {
	if is {
		r.sign, r.s = r.s[0], r.s[1:]
		return
	}
	r.passOver(1)
}

// passOver skips up to n characters that cannot belong to a number.
func (r *numReader) passOver(n int) {
	for ; n > 0 && r.s != "" && strings.IndexByte("0123456789.,+-", r.s[0]) < 0; n-- {
		_, k := utf8.DecodeRuneInString(r.s)
		r.s = r.s[k:]
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// position reads what stands for one digit or the point of the picture: it
// takes one character in any case.
func (r *numReader) position(kind byte) {
	if r.s[0] == ' ' {
		r.s = r.s[1:]
	}
	if r.s == "" {
		return
	}
	if r.sign == 0 && kind != '.' && r.pre+r.post == 0 {
		c := r.s[0]
		switch {
		case c == '-' || c == '+':
			r.sign, r.s = c, r.s[1:]
		case c == '<' && r.f.bracket:
			r.sign, r.s = '-', r.s[1:]
		}
	}
	if r.s == "" {
		return
	}
	read, c := false, r.s[0]
	switch {
	case isDigit(c):
		if r.dec && r.post == r.f.post {
			r.s = r.s[1:]
			return
		}
		r.digits = append(r.digits, c)
		if r.dec {
			r.post++
		} else {
			r.pre++
		}
		read = true
	case c == '.' && r.f.point && !r.dec:
		r.digits = append(r.digits, '.')
		r.dec, read = true, true
	}
	r.signBehind(read)
	if r.s != "" {
		r.s = r.s[1:]
	}
}

// signBehind looks for a sign behind the character just read.
func (r *numReader) signBehind(read bool) {
	if r.sign != 0 || r.pre+r.post == 0 {
		return
	}
	isSign := func(c byte) bool { return c == '-' || c == '+' }
	switch {
	case r.f.signPlace != 0 && read:
		if len(r.s) > 1 && isSign(r.s[1]) {
			r.sign, r.s = r.s[1], r.s[1:]
		}
	case r.f.signPlace == 0 && !read && (r.f.plus || r.f.minus):
		if isSign(r.s[0]) {
			r.sign = r.s[0]
		}
	}
}
