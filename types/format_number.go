package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// ToCharNumeric is to_char of a numeric. Decimal and group separators are those
// of the C locale.
func ToCharNumeric(d Decimal, format string) (string, error) {
	f, err := parseNumFormat(format)
	if err != nil || f == nil {
		return "", err
	}
	w := numWriter{numFormat: *f}
	switch {
	case f.roman:
		n, err := DecimalToInt64(d, 32)
		if err != nil {
			return "", err
		}
		w.digits = roman(int(n))
	case f.sci:
		if d.IsNaN() || d.IsInf() {
			return f.sciHashes(), nil
		}
		return scientific(d, f.post), nil
	default:
		if f.multi > 0 {
			d = d.Mul(fromMag(bigPow10(f.multi), false, 0))
			w.pre += f.multi
		}
		w.number(d.Round(f.post).String())
	}
	return w.run()
}

// ToCharInt is to_char of an integer of the given width in bits, which bounds
// what the pattern V may multiply it to.
func ToCharInt(v int64, width int, format string) (string, error) {
	f, err := parseNumFormat(format)
	if err != nil || f == nil {
		return "", err
	}
	w := numWriter{numFormat: *f}
	switch {
	case f.roman:
		if int64(int32(v)) != v {
			return "", pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
		}
		w.digits = roman(int(v))
	case f.sci:
		if width == 32 {
			return sciFloat(float64(v), f.post), nil
		}
		return scientific(DecimalFromInt64(v), f.post), nil
	default:
		d := DecimalFromInt64(v)
		switch {
		case f.multi > 0 && width == 32:
			d = DecimalFromInt64(int64(int32(v) * wrappingPow10(f.multi)))
			w.pre += f.multi
		case f.multi > 0:
			d = d.Mul(fromMag(bigPow10(f.multi), false, 0))
			w.pre += f.multi
			if _, err := DecimalToInt64(d, width); err != nil {
				return "", err
			}
		}
		w.number(d.Round(f.post).String())
	}
	return w.run()
}

// wrappingPow10 is what PostgreSQL multiplies integers by for digits behind V: out of
// range it is the least integer.
func wrappingPow10(n int) int32 {
	if n > 9 {
		return math.MinInt32
	}
	return int32(pow10tab[n])
}

// ToCharFloat is to_char of a float of so many certain decimal digits: 6 for
// real, 15 for double precision.
func ToCharFloat(x float64, digits int, format string) (string, error) {
	f, err := parseNumFormat(format)
	if err != nil || f == nil {
		return "", err
	}
	w := numWriter{numFormat: *f}
	switch {
	case f.roman:
		r := math.RoundToEven(x)
		if !(r >= math.MinInt32 && r <= math.MaxInt32) {
			r = 0
		}
		w.digits = roman(int(r))
	case f.sci:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return f.sciHashes(), nil
		}
		return sciFloat(x, f.post), nil
	default:
		if f.multi > 0 {
			x *= math.Pow(10, float64(f.multi))
			w.pre += f.multi
		}
		whole := len(floatText(math.Abs(x), 0))
		if whole >= digits {
			w.post = 0
		} else if whole+w.post > digits {
			w.post = digits - whole
		}
		w.number(floatText(x, w.post))
	}
	return w.run()
}

// floatText prints as C's %.*f does.
func floatText(x float64, post int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(x, 'f', post, 64)
}

func sciFloat(x float64, post int) string {
	s := strconv.FormatFloat(x, 'e', post, 64)
	if s[0] != '-' {
		return " " + s
	}
	return s
}

func (f *numFormat) sciHashes() string {
	b := []byte(strings.Repeat("#", f.pre+f.post+6))
	b[0] = ' '
	if f.pre+1 < len(b) {
		b[f.pre+1] = '.'
	}
	return string(b)
}

// scientific writes a finite decimal with post digits behind the point.
func scientific(d Decimal, post int) string {
	sign, exp := " ", 0
	if d.Sign() < 0 {
		sign = "-"
	}
	digits := strings.Repeat("0", post+1)
	if !d.IsZero() {
		all := strings.Replace(d.Abs().String(), ".", "", 1)
		exp = len(all) - d.Scale() - 1
		exp -= len(all) - len(strings.TrimLeft(all, "0"))
		r := d.Abs().roundAt(exp - post)
		digits = strings.TrimLeft(strings.Replace(r, ".", "", 1), "0")
		if len(digits) < post+1 {
			digits += strings.Repeat("0", post+1-len(digits))
		}
		// Rounding up to a power of ten leaves two digits before the point.
		whole := 1
		if strings.Trim(digits, "0") == "1" && strings.TrimLeft(all, "0")[0] != '1' {
			whole = 2
		}
		digits = digits[:whole+post]
	}
	s := sign + digits[:len(digits)-post]
	if post > 0 {
		s += "." + digits[len(digits)-post:]
	}
	e := strconv.Itoa(max(exp, -exp))
	if len(e) < 2 {
		e = "0" + e
	}
	if exp < 0 {
		return s + "e-" + e
	}
	return s + "e+" + e
}

// roundAt rounds to a multiple of 10^exp and prints the digits.
func (d Decimal) roundAt(exp int) string {
	if exp <= 0 {
		return d.Round(-exp).String()
	}
	q, err := d.Div(fromMag(bigPow10(exp), false, 0))
	if err != nil {
		return d.String()
	}
	return q.Round(0).Mul(fromMag(bigPow10(exp), false, 0)).Round(0).String()
}

// roman writes a number in Roman numerals; beyond 1 to 3999 it is all hashes.
func roman(n int) string {
	if n < 1 || n > 3999 {
		return strings.Repeat("#", 15)
	}
	var b strings.Builder
	for _, r := range [...]struct {
		v int
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= r.v {
			b.WriteString(r.s)
			n -= r.v
		}
	}
	return b.String()
}

// numWriter lays the digits of a number into a picture.
type numWriter struct {
	numFormat
	out       []byte
	digits    string // with the point
	neg       bool
	blanks    int // positions of the picture before the first digit
	keep      int // digits from here on are left out with FM, unless 0 stands for them; -1: none
	at        int // next of digits
	pos       int // positions seen
	last      int // position of the last one
	signDone  bool
	signAtEnd bool
	begun     bool // the last position was a digit, for the group separators
	brackets  bool
	ended     bool
}

// number takes over the printed value and finds out where its digits go.
func (w *numWriter) number(s string) {
	s, w.neg = strings.CutPrefix(s, "-")
	w.digits = s
	whole := len(s)
	if p := strings.IndexByte(s, '.'); p >= 0 {
		whole = p
	}
	switch {
	case whole < w.pre:
		w.blanks = w.pre - whole
	case whole > w.pre:
		w.digits = strings.Repeat("#", w.pre) + "." + strings.Repeat("#", w.post)
	}
}

func (w *numWriter) prepare() {
	w.keep = -1
	w.brackets = w.bracket
	if w.plus || w.minus {
		w.signDone = w.minus
	} else {
		if !w.neg && w.fill {
			w.brackets = false
			w.signDone = w.signPlace == 0
		}
		w.signAtEnd = w.signPlace == 'e' || w.signPlace == 'b' && w.pre == w.preAtSign
	}
	count := w.pre + w.post - 1
	if w.fill && w.point {
		w.keep = w.lastRelevant()
	}
	if !w.signDone && w.blanks == 0 {
		count++
	}
	w.last = count
	if w.blanks > 0 {
		w.last++
	}
	if w.point {
		w.last++
	}
}

// lastRelevant is the index of the last digit that FM keeps.
func (w *numWriter) lastRelevant() int {
	p := strings.IndexByte(w.digits, '.')
	if p < 0 {
		return -1
	}
	k := p
	for i := p + 1; i < len(w.digits); i++ {
		if w.digits[i] != '0' {
			k = i
		}
	}
	if w.zeroEnd > w.blanks {
		k = max(k, min(len(w.digits)-1, w.zeroEnd-w.blanks))
	}
	return k
}

func (w *numWriter) put(c byte) { w.out = append(w.out, c) }

// run writes the number. What follows a digit position behind the end of the
// number is not shown.
func (w *numWriter) run() (string, error) {
	w.prepare()
	for _, t := range w.toks {
		if err := w.token(t); err != nil {
			return "", err
		}
		if w.ended {
			break
		}
	}
	return string(w.out), nil
}

func (w *numWriter) token(t numTok) error {
	switch t.kind {
	case '9', '0', '.':
		w.position(t.kind)
	case ',', 'L':
		if t.kind == ',' && w.begun {
			w.put(',')
		} else if t.kind == 'L' || !w.fill {
			w.put(' ')
		}
	case 'R':
		s := w.digits
		if t.lit == "rn" {
			s = strings.ToLower(s)
		}
		if !w.fill {
			s = strings.Repeat(" ", max(15-len(s), 0)) + s
		}
		w.out = append(w.out, s...)
	case 't':
		if w.roman || strings.HasPrefix(w.digits, "#") || w.neg || w.point {
			break
		}
		if n := len(w.digits); n == 0 || !isDigit(w.digits[n-1]) {
			return pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a number", w.digits)
		}
		w.out = append(w.out, ordinal(w.digits, t.lit == "TH")...)
	case 'M':
		w.signOr(w.neg, '-')
	case 'P':
		w.signOr(!w.neg && !w.roman, '+')
	case '+':
		if w.ended = w.roman; !w.ended {
			w.put(w.signChar())
		}
	case '"':
		w.out = append(w.out, t.lit...)
	}
	return nil
}

func (w *numWriter) signOr(is bool, c byte) {
	if is {
		w.put(c)
	} else if !w.fill {
		w.put(' ')
	}
}

func (w *numWriter) signChar() byte {
	if w.neg {
		return '-'
	}
	return '+'
}

// bareZero: the 0 of 0.5 is not shown by a picture whose digits before the point
// are all 9.
func (w *numWriter) bareZero() bool {
	return w.zeroStart < 0 && w.at == 0 && strings.HasPrefix(w.digits, "0") && w.post != 0
}

// bareWhole: with FM nothing follows the point.
func (w *numWriter) bareWhole() bool {
	return w.keep >= 0 && w.keep < len(w.digits) && w.digits[w.keep] == '.'
}

func (w *numWriter) position(kind byte) {
	if w.roman {
		return
	}
	w.begun = false
	zeros := w.zeroStart >= 0 && w.zeroStart <= w.pos
	if !w.signDone && (w.pos >= w.blanks || w.zeroStart == w.pos && w.zeroStart >= 0) && (!w.bareZero() || w.bareWhole()) {
		w.leadSign()
	}
	switch {
	case w.pos < w.blanks && !zeros:
		if !w.fill {
			w.put(' ')
		}
	case w.pos < w.blanks:
		w.put('0')
		w.begun = true
	default:
		w.digit(kind)
	}
	end := w.last
	if w.keep >= 0 && w.keep == w.at {
		end = w.pos
	}
	if w.pos+1 == end {
		if w.brackets && w.signDone {
			if w.neg {
				w.put('>')
			} else {
				w.put(' ')
			}
		} else if w.signPlace != 0 && w.signAtEnd {
			w.put(w.signChar())
		}
	}
	w.pos++
}

func (w *numWriter) digit(kind byte) {
	switch {
	case w.at < len(w.digits) && w.digits[w.at] == '.':
		if !w.bareWhole() || w.fill {
			w.put('.')
		}
	case w.keep >= 0 && w.at > w.keep && kind != '0':
	case w.bareZero():
		if !w.fill {
			w.put(' ')
		} else if w.bareWhole() {
			w.put('0')
		}
	case w.at < len(w.digits):
		w.put(w.digits[w.at])
		w.begun = true
	default:
		w.ended = true
	}
	if w.at < len(w.digits) {
		w.at++
	}
}

func (w *numWriter) leadSign() {
	switch {
	case w.signPlace != 0:
		if w.signAtEnd {
			return
		}
		w.put(w.signChar())
	case w.brackets:
		if w.neg {
			w.put('<')
		} else {
			w.put(' ')
		}
	case w.neg:
		w.put('-')
	case !w.fill:
		w.put(' ')
	}
	w.signDone = true
}
