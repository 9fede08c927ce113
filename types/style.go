package types

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Interval styles other than postgres, the default.
const (
	StyleVerbose  = "postgres_verbose"
	StyleStandard = "sql_standard"
	StyleISO      = "iso_8601"
)

// appendFloatDigits appends v with at most digits significant digits, as C's %g
// does.
func appendFloatDigits(dst []byte, v float64, size, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 {
		return appendFloat(dst, v, size, digits)
	}
	return strconv.AppendFloat(dst, v, 'g', max(digits, 1), 64)
}

// onBoundary reports whether a decimal, digits with a point after the first and a
// power of ten, lies in the middle between v and its neighbour. It reads back as v
// because v is even, but PostgreSQL does not rely on that: 1e23 is shown as
// 9.999999999999999e+22. It happens to integers only.
func onBoundary(v float64, size int, digits []byte, exp int) bool {
	text := strings.Replace(strings.TrimPrefix(string(digits), "-"), ".", "", 1)
	q := exp - (len(text) - 1)
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || q < 0 {
		return false
	}
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(q)), nil))
	exact := func(f float64) *big.Int { i, _ := new(big.Float).SetFloat64(f).Int(nil); return i }
	v = math.Abs(v)
	at := exact(v)
	if n.Cmp(at) == 0 {
		return false
	}
	toward := math.Inf(n.Cmp(at))
	next := math.Nextafter(v, toward)
	if size == 32 {
		next = float64(math.Nextafter32(float32(v), float32(toward)))
	}
	if math.IsInf(next, 0) {
		return false
	}
	return n.Lsh(n, 1).Cmp(at.Add(at, exact(next))) == 0
}

// appendInside appends the shortest decimal that reads back as v and is not on
// the boundary to a neighbour.
func appendInside(dst []byte, v float64, size int) []byte {
	for prec := 0; prec < 17; prec++ {
		e := strconv.AppendFloat(nil, v, 'e', prec, size)
		i := bytes.IndexByte(e, 'e')
		back, err := strconv.ParseFloat(string(e), size)
		x, _ := strconv.Atoi(string(e[i+1:]))
		if err == nil && back == v && !onBoundary(v, size, e[:i], x) {
			return append(dst, e...)
		}
	}
	return strconv.AppendFloat(dst, v, 'e', -1, size)
}

// clockParts is an interval in the units that are shown; all of the time have
// one sign.
type clockParts struct {
	year, mon, day, hour, min, sec, frac int64
}

func partsOf(v IntervalValue) clockParts {
	return clockParts{int64(v.Months / 12), int64(v.Months % 12), int64(v.Days), v.Micros / usPerHour,
		v.Micros / usPerMin % 60, v.Micros / usPerSec % 60, v.Micros % usPerSec}
}

func (p clockParts) each(f func(int64)) {
	for _, n := range [...]int64{p.year, p.mon, p.day, p.hour, p.min, p.sec, p.frac} {
		f(n)
	}
}

func abs64(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// appendSeconds appends seconds without a sign; two says to fill up to two digits.
func (p clockParts) appendSeconds(dst []byte, two bool) []byte {
	if two {
		dst = append2(dst, int(abs64(p.sec)))
	} else {
		dst = strconv.AppendUint(dst, abs64(p.sec), 10)
	}
	return appendFrac(dst, int64(abs64(p.frac)))
}

// AppendIntervalStyle appends an interval in a style of IntervalStyle.
func AppendIntervalStyle(dst []byte, v IntervalValue, style string) []byte {
	switch style {
	case StyleVerbose:
		return partsOf(v).appendVerbose(dst)
	case StyleStandard:
		return partsOf(v).appendStandard(dst)
	case StyleISO:
		return partsOf(v).appendISO(dst)
	}
	return AppendInterval(dst, v)
}

func (p clockParts) appendVerbose(dst []byte) []byte {
	dst = append(dst, '@')
	zero, before := true, false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if zero {
			before = n < 0
			n = int64(abs64(n))
		} else if before {
			n = -n
		}
		dst = append(strconv.AppendInt(append(dst, ' '), n, 10), ' ')
		dst = append(dst, unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		zero = false
	}
	part(p.year, "year")
	part(p.mon, "mon")
	part(p.day, "day")
	part(p.hour, "hour")
	part(p.min, "min")
	if p.sec != 0 || p.frac != 0 {
		dst = append(dst, ' ')
		switch negative := p.sec < 0 || p.frac < 0; {
		case negative && zero:
			before = true
		case negative != before:
			dst = append(dst, '-')
		}
		dst = append(p.appendSeconds(dst, false), " sec"...)
		if abs64(p.sec) != 1 || p.frac != 0 {
			dst = append(dst, 's')
		}
		zero = false
	}
	if zero {
		dst = append(dst, " 0"...)
	}
	if before {
		dst = append(dst, " ago"...)
	}
	return dst
}

func (p clockParts) appendStandard(dst []byte) []byte {
	negative, positive := false, false
	p.each(func(n int64) { negative, positive = negative || n < 0, positive || n > 0 })
	long := p.year != 0 || p.mon != 0
	short := p.day != 0 || p.hour != 0 || p.min != 0 || p.sec != 0 || p.frac != 0
	signed := func(neg bool, n int64) {
		dst = append(dst, map[bool]byte{false: '+', true: '-'}[neg])
		dst = strconv.AppendUint(dst, abs64(n), 10)
	}
	clock := func() {
		dst = append2(append(dst, ':'), int(abs64(p.min)))
		dst = p.appendSeconds(append(dst, ':'), true)
	}
	number := func(n int64) { dst = strconv.AppendUint(dst, abs64(n), 10) }
	if !negative && !positive {
		return append(dst, '0')
	}
	if negative && positive || long && short {
		signed(p.year < 0 || p.mon < 0, p.year)
		dst = append(dst, '-')
		number(p.mon)
		dst = append(dst, ' ')
		signed(p.day < 0, p.day)
		dst = append(dst, ' ')
		signed(p.hour < 0 || p.min < 0 || p.sec < 0 || p.frac < 0, p.hour)
		clock()
		return dst
	}
	if negative {
		dst = append(dst, '-')
	}
	if long {
		number(p.year)
		dst = append(dst, '-')
		number(p.mon)
		return dst
	}
	if p.day != 0 {
		number(p.day)
		dst = append(dst, ' ')
	}
	number(p.hour)
	clock()
	return dst
}

func (p clockParts) appendISO(dst []byte) []byte {
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(strconv.AppendInt(dst, n, 10), unit)
		}
	}
	if p == (clockParts{}) {
		return append(dst, "PT0S"...)
	}
	dst = append(dst, 'P')
	part(p.year, 'Y')
	part(p.mon, 'M')
	part(p.day, 'D')
	if p.hour != 0 || p.min != 0 || p.sec != 0 || p.frac != 0 {
		dst = append(dst, 'T')
	}
	part(p.hour, 'H')
	part(p.min, 'M')
	if p.sec != 0 || p.frac != 0 {
		if p.sec < 0 || p.frac < 0 {
			dst = append(dst, '-')
		}
		dst = append(p.appendSeconds(dst, false), 'S')
	}
	return dst
}

// parseIntervalStyled is parseInterval by the session's IntervalStyle.
func parseIntervalStyled(s string, mod int32, opt *Options) (IntervalValue, error) {
	if rest, all := leadingMinus(s, opt); all {
		if v, err := parseInterval(rest, mod); err == nil {
			return IntervalValue{Micros: -v.Micros, Days: -v.Days, Months: -v.Months}, nil
		}
	}
	return parseInterval(s, mod)
}

// SignDependsOnStyle reports whether the text of an interval means something else
// in the style sql_standard than in the others.
func SignDependsOnStyle(s string) bool {
	_, all := leadingMinus(s, &Options{IntervalStyle: StyleStandard})
	return all
}

// leadingMinus finds out whether the minus before the first field of an interval
// stands for all fields, as it does in the style sql_standard when no other field
// has a sign. It returns the text without it.
func leadingMinus(s string, opt *Options) (rest string, all bool) {
	if opt == nil || opt.IntervalStyle != StyleStandard {
		return s, false
	}
	fs := strings.Fields(s)
	if len(fs) < 2 || fs[0][0] != '-' {
		return s, false
	}
	for _, f := range fs[1:] {
		if f[0] == '-' || f[0] == '+' {
			return s, false
		}
	}
	return strings.TrimLeft(s, " \t\n")[1:], true
}
