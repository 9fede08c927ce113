package types

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

func errInterval() *pgerr.Error { return errTypeRange("interval") }

// intervalUnit is a unit's size: so many months, days or microseconds.
type intervalUnit struct {
	months, days, us int64
}

var intervalUnits = map[string]intervalUnit{
	"us": {us: 1}, "usec": {us: 1}, "usecs": {us: 1}, "microsecon": {us: 1}, "microsecond": {us: 1}, "microseconds": {us: 1}, "useconds": {us: 1},
	"millisecon": {us: 1000}, "ms": {us: 1000}, "msec": {us: 1000}, "msecs": {us: 1000}, "mseconds": {us: 1000}, "millisecond": {us: 1000}, "milliseconds": {us: 1000},
	"s": {us: usPerSec}, "sec": {us: usPerSec}, "secs": {us: usPerSec}, "second": {us: usPerSec}, "seconds": {us: usPerSec},
	"m": {us: usPerMin}, "min": {us: usPerMin}, "mins": {us: usPerMin}, "minute": {us: usPerMin}, "minutes": {us: usPerMin},
	"h": {us: usPerHour}, "hr": {us: usPerHour}, "hrs": {us: usPerHour}, "hour": {us: usPerHour}, "hours": {us: usPerHour},
	"d": {days: 1}, "day": {days: 1}, "days": {days: 1}, "w": {days: 7}, "week": {days: 7}, "weeks": {days: 7},
	"mon": {months: 1}, "mons": {months: 1}, "month": {months: 1}, "months": {months: 1},
	"y": {months: 12}, "yr": {months: 12}, "yrs": {months: 12}, "year": {months: 12}, "years": {months: 12},
	"dec": {months: 120}, "decs": {months: 120}, "decade": {months: 120}, "decades": {months: 120},
	"c": {months: 1200}, "cent": {months: 1200}, "century": {months: 1200}, "centuries": {months: 1200},
	"mil": {months: 12000}, "mils": {months: 12000}, "millennium": {months: 12000}, "millennia": {months: 12000},
}

// maxUnitName is how many letters of a unit's name count.
const maxUnitName = 10

// intervalAcc gathers an interval with wide fields.
type intervalAcc struct {
	years, months, days int64   // years and months each have their own range
	us                  float64 // fraction beyond usWhole
	usWhole             int64
	over                bool
	bare                intervalUnit // of a last number without a unit
	minutes             bool         // two parts with a colon are minutes and seconds
	seen                uint16       // fields met so far, by bit; none may come twice
}

// add adds whole.frac units; the fraction cascades to smaller fields.
func (a *intervalAcc) add(whole int64, frac float64, u intervalUnit) {
	mul := func(dst *int64, k int64) {
		p := whole * k
		if p/k != whole {
			a.over = true
			return
		}
		s := *dst + p
		a.over = a.over || (s > *dst) != (p > 0) && p != 0
		*dst = s
	}
	switch {
	case u.months >= 12:
		mul(&a.years, u.months/12)
		a.months += int64(math.RoundToEven(frac * float64(u.months)))
	case u.months > 0:
		mul(&a.months, 1)
		a.fracDays(frac * 30)
	case u.days > 0:
		mul(&a.days, u.days)
		a.fracDays(frac * float64(u.days))
	default:
		mul(&a.usWhole, u.us)
		a.us += frac * float64(u.us)
	}
}

func (a *intervalAcc) fracDays(f float64) {
	d := math.Trunc(f)
	a.days += int64(d)
	us, fits := addInt64(a.usWhole, int64(math.RoundToEven((f-d)*float64(usPerDay))))
	a.over = a.over || !fits && us != a.usWhole
	a.usWhole = us
}

func (a *intervalAcc) value() (IntervalValue, bool) {
	us, fits := addInt64(a.usWhole, int64(math.RoundToEven(a.us)))
	narrow := func(v int64) bool { return v == int64(int32(v)) }
	if a.over || !fits && a.us != 0 || !narrow(a.years) || !narrow(a.months) || !narrow(a.days) {
		return IntervalValue{}, false
	}
	return IntervalValue{Months: int32(a.years*12 + a.months), Days: int32(a.days), Micros: us}, true
}

// ParseInterval reads every input style of PostgreSQL: verbose, ISO 8601 and
// SQL standard. 22007 when malformed, 22008 when a field is out of range.
func ParseInterval(s string) (IntervalValue, error) { return parseInterval(s, -1) }

// parseInterval reads an interval with a type's modifier, which says what a number
// without a unit counts and which fields stay.
func parseInterval(s string, mod int32) (IntervalValue, error) {
	t := trimSpace(s)
	a := intervalAcc{bare: bareUnit(mod), minutes: mod >= 0 && mod>>16 == fieldsMinToSecond}
	ok := false
	if len(t) > 1 && (t[0] == 'P') {
		ok = a.parseISO(t[1:])
	} else {
		ok = a.parseVerbose(t)
	}
	if !ok && !a.over {
		return IntervalValue{}, errDateSyntax("interval", s)
	}
	v, ok := a.value()
	if ok && a.years*12+a.months != int64(v.Months) {
		return v, errInterval() // the years and the months by themselves are in range
	}
	if !ok {
		return v, pgerr.New(pgerr.IntervalFieldOverflow, "interval field value out of range: \"%s\"", s)
	}
	return RestrictInterval(v, mod), nil
}

// scanNumber reads [sign]digits[.digits]; frac carries the sign.
func (a *intervalAcc) scanNumber(t string) (whole int64, frac float64, neg bool, n int) {
	i := 0
	if i < len(t) && (t[i] == '-' || t[i] == '+') {
		neg = t[i] == '-'
		i++
	}
	start := i
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	end := i
	if i < len(t) && t[i] == '.' {
		i++
		for i < len(t) && t[i] >= '0' && t[i] <= '9' {
			i++
		}
		if i-end > 1 {
			frac, _ = strconv.ParseFloat("0"+t[end:i], 64)
		}
	}
	if i == start || end == start && i == end+1 {
		return 0, 0, false, 0
	}
	if end > start {
		sign := ""
		if neg {
			sign = "-"
		}
		v, err := strconv.ParseInt(sign+t[start:end], 10, 64)
		if err != nil {
			a.over = true
		}
		whole = v
	}
	if neg {
		frac = -frac
	}
	return whole, frac, neg, i
}

// parseVerbose reads '1 day 02:03:04', '1-2', '@ 3 mons ago' and mixtures.
func (a *intervalAcc) parseVerbose(t string) bool {
	any, ago := false, false
	for {
		for t != "" && (isSpace(t[0]) || t[0] == '@' || t[0] == ',') {
			t = t[1:]
		}
		if t == "" {
			break
		}
		if len(t) >= 3 && strings.EqualFold(t[:3], "ago") && any {
			ago = true
			t = t[3:]
			if trimSpace(t) != "" {
				return false
			}
			continue
		}
		if (t[0] == '-' || t[0] == '+') && len(t) > 1 && isSpace(t[1]) {
			t = t[:1] + trimSpace(t[1:])
		}
		w, f, neg, n := a.scanNumber(t)
		if n == 0 {
			return false
		}
		any = true
		rest := t[n:]
		if t[n-1] == '.' && rest != "" && isLetter(rest[0]) {
			return false
		}
		switch {
		case rest != "" && rest[0] == ':' && f != 0:
			rest = rest[1:] // no hours: a number before a time
		case rest != "" && rest[0] == ':':
			m, ok := a.clock(w, neg, rest)
			if !ok || !a.once(seenHour|seenMinute|seenSeconds) {
				return false
			}
			t = rest[m:]
			continue
		case rest != "" && rest[0] == '-' && f == 0: // years-months
			mo, _, _, k := a.scanNumber(rest[1:])
			if k == 0 || rest[1] == '-' || rest[1] == '+' || mo > 11 || !a.once(fieldBits(intervalUnit{months: 1}, 0)) {
				return false
			}
			a.add(w, 0, intervalUnit{months: 12})
			if neg {
				mo = -mo
			}
			a.months += mo
			t = rest[1+k:]
			continue
		}
		rest = strings.TrimLeft(rest, " \t\n\r\v\f")
		k := 0
		for k < len(rest) && (rest[k]|0x20 >= 'a' && rest[k]|0x20 <= 'z') {
			k++
		}
		if k == 0 {
			u := a.bare
			if rest != "" {
				u = intervalUnit{days: 1}
			}
			if rest != "" && !beforeClock(rest) && !a.beforeHours(rest) || !a.once(fieldBits(u, f)) {
				return false
			}
			a.add(w, f, u)
			t = rest
			continue
		}
		word := strings.ToLower(rest[:min(k, maxUnitName)])
		u, ok := intervalUnits[word]
		if !ok {
			return false
		}
		if !a.once(fieldBits(u, f)) {
			return false
		}
		a.add(w, f, u)
		t = rest[k:]
	}
	if ago {
		a.over = a.over || a.usWhole == math.MinInt64
		a.years = -a.years
		a.months, a.days, a.usWhole, a.us = -a.months, -a.days, -a.usWhole, -a.us
	}
	return any
}

// beforeHours reports whether a text is a last number that counts hours: one
// before it counts days.
func (a *intervalAcc) beforeHours(t string) bool {
	_, _, _, n := a.scanNumber(t)
	return a.bare == intervalUnit{us: usPerHour} && n == len(t)
}

const (
	seenHour    = 1 << 0
	seenMinute  = 1 << 1
	seenSecond  = 1 << 2
	seenMilli   = 1 << 3
	seenMicro   = 1 << 4
	seenSeconds = seenSecond | seenMilli | seenMicro
)

// fieldBits names the fields that a number of units takes.
func fieldBits(u intervalUnit, frac float64) uint16 {
	switch u {
	case intervalUnit{us: usPerHour}:
		return seenHour
	case intervalUnit{us: usPerMin}:
		return seenMinute
	case intervalUnit{us: usPerSec}:
		if frac != 0 {
			return seenSeconds
		}
		return seenSecond
	case intervalUnit{us: 1000}:
		return seenMilli
	case intervalUnit{us: 1}:
		return seenMicro
	case intervalUnit{days: 1}:
		return 1 << 5
	case intervalUnit{days: 7}:
		return 1 << 6
	}
	return 1 << (7 + bits.Len64(uint64(u.months))/2) // months, years, decades, centuries and millennia
}

// once notes fields, and tells whether none of them came before.
func (a *intervalAcc) once(fields uint16) bool {
	fresh := a.seen&fields == 0
	a.seen |= fields
	return fresh
}

// beforeClock reports whether a text begins with a time: a bare number before it
// counts days.
func beforeClock(t string) bool {
	i := strings.IndexFunc(t, func(r rune) bool { return r != '-' && r != '+' && (r < '0' || r > '9') })
	return i > 0 && t[i] == ':'
}

// clock reads :mm[:ss[.f]] after hours and returns the bytes used. Two parts
// with a fraction are minutes and seconds.
func (a *intervalAcc) clock(h int64, neg bool, t string) (int, bool) {
	sign := int64(1)
	if neg {
		sign = -1
	}
	m, f, _, n := a.scanNumber(t[1:])
	if n == 0 && len(t) > 1 && !isSpace(t[1]) || n > 0 && (t[1] == '-' || t[1] == '+') {
		return 0, false // nothing behind a colon is zero
	}
	used := 1 + n
	if f != 0 && used < len(t) && t[used] == ':' {
		return 0, false
	}
	if n > 0 && used < len(t) && t[used] == ':' {
		rest := t[used+1:]
		s, sf, _, k := a.scanNumber(rest)
		if k == 0 && rest != "" && !isSpace(rest[0]) || m > 59 || s > 60 {
			return 0, false
		}
		a.add(h, 0, intervalUnit{us: usPerHour})
		a.add(sign*m, 0, intervalUnit{us: usPerMin})
		a.add(sign*s, float64(sign)*sf, intervalUnit{us: usPerSec})
		return used + 1 + k, a.clockFits(neg)
	}
	big, small := usPerHour, usPerMin
	if a.minutes || f != 0 || strings.IndexByte(t[1:1+n], '.') >= 0 {
		big, small = usPerMin, usPerSec
	}
	if m > 60 {
		return 0, false
	}
	a.add(h, 0, intervalUnit{us: big})
	a.add(sign*m, float64(sign)*f, intervalUnit{us: small})
	return used, a.clockFits(neg)
}

// clockFits tells whether a time is in range; one below it is no time at all.
func (a *intervalAcc) clockFits(neg bool) bool {
	if us, fits := addInt64(a.usWhole, int64(math.RoundToEven(a.us))); us != math.MinInt64 && (fits || a.us == 0) {
		return !a.over || !neg
	}
	a.over = !neg
	return false
}

// AppendInterval appends v in the postgres style: 1 year 2 mons -3 days +04:05:06.
func AppendInterval(dst []byte, v IntervalValue) []byte {
	start, before := len(dst), false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if before && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(strconv.AppendInt(dst, n, 10), ' ')
		dst = append(dst, unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		before = n < 0
	}
	part(int64(v.Months/12), "year")
	part(int64(v.Months%12), "mon")
	part(int64(v.Days), "day")
	if len(dst) > start && v.Micros == 0 {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	us := uint64(v.Micros)
	if v.Micros < 0 {
		dst = append(dst, '-')
		us = -us
	} else if before {
		dst = append(dst, '+')
	}
	h := us / uint64(usPerHour)
	if h < 10 {
		dst = append(dst, '0')
	}
	dst = append(strconv.AppendUint(dst, h, 10), ':')
	dst = append2(dst, int(us/uint64(usPerMin)%60))
	dst = append2(append(dst, ':'), int(us/uint64(usPerSec)%60))
	return appendFrac(dst, int64(us%uint64(usPerSec)))
}

// IntervalSpan returns the 128-bit length in microseconds by which intervals
// compare: months of 30 days, days of 24 hours.
func IntervalSpan(v IntervalValue) (hi int64, lo uint64) {
	days := int64(v.Days) + int64(v.Months)*30
	neg := days < 0
	m := uint64(days)
	if neg {
		m = -m
	}
	h, l := bits.Mul64(m, uint64(usPerDay))
	if neg {
		var b uint64
		l, b = bits.Sub64(0, l, 0)
		h, _ = bits.Sub64(0, h, b)
	}
	l, c := bits.Add64(l, uint64(v.Micros), 0)
	h, _ = bits.Add64(h, uint64(v.Micros>>63), c)
	return int64(h), l
}

// CompareInterval orders intervals: 1 month equals 30 days.
func CompareInterval(a, b IntervalValue) int {
	ah, al := IntervalSpan(a)
	bh, bl := IntervalSpan(b)
	if ah != bh {
		return cmpInt(ah, bh)
	}
	return cmpInt(al, bl)
}

// HashInterval hashes v so that equal intervals hash alike.
func HashInterval(v IntervalValue, seed uint64) uint64 {
	h, l := IntervalSpan(v)
	return mix64(mix64(seed^uint64(h)) ^ l)
}

func addInt32(a, b int32) (int32, bool) {
	s := int64(a) + int64(b)
	return int32(s), s == int64(int32(s))
}

func addInt64(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

// AddInterval returns a + b; 22008 on overflow.
func AddInterval(a, b IntervalValue) (IntervalValue, error) {
	m, ok1 := addInt32(a.Months, b.Months)
	d, ok2 := addInt32(a.Days, b.Days)
	us, ok3 := addInt64(a.Micros, b.Micros)
	if !ok1 || !ok2 || !ok3 {
		return IntervalValue{}, errInterval()
	}
	return IntervalValue{Months: m, Days: d, Micros: us}, nil
}

// NegInterval returns -v; 22008 on overflow.
func NegInterval(v IntervalValue) (IntervalValue, error) {
	if v.Months == math.MinInt32 || v.Days == math.MinInt32 || v.Micros == math.MinInt64 {
		return v, errInterval()
	}
	return IntervalValue{Months: -v.Months, Days: -v.Days, Micros: -v.Micros}, nil
}

// SubInterval returns a - b; 22008 on overflow.
func SubInterval(a, b IntervalValue) (IntervalValue, error) {
	m, d := int64(a.Months)-int64(b.Months), int64(a.Days)-int64(b.Days)
	us := a.Micros - b.Micros
	if m != int64(int32(m)) || d != int64(int32(d)) || (us < a.Micros) != (b.Micros > 0) {
		return IntervalValue{}, errInterval()
	}
	return IntervalValue{Months: int32(m), Days: int32(d), Micros: us}, nil
}

// MulInterval returns v × f, fractions cascading downwards and rounded to
// microseconds as PostgreSQL does.
func MulInterval(v IntervalValue, f float64) (IntervalValue, error) {
	return scaleInterval(v, func(x float64) float64 { return x * f })
}

// DivInterval returns v / f; 22012 for zero.
func DivInterval(v IntervalValue, f float64) (IntervalValue, error) {
	if f == 0 {
		return v, errDivZero()
	}
	return scaleInterval(v, func(x float64) float64 { return x / f })
}

func roundMicro(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }

func scaleInterval(v IntervalValue, f func(float64) float64) (IntervalValue, error) {
	month, day := f(float64(v.Months)), f(float64(v.Days))
	if math.IsNaN(month) || math.IsNaN(day) || math.Abs(month) > math.MaxInt32 || math.Abs(day) > math.MaxInt32 {
		return v, errInterval()
	}
	r := IntervalValue{Months: int32(month), Days: int32(day)}
	remDays := roundMicro((month - float64(r.Months)) * 30)
	secs := roundMicro((day - float64(r.Days) + remDays - math.Trunc(remDays)) * 86400)
	if math.Abs(secs) >= 86400 {
		whole := math.Trunc(secs / 86400)
		remDays += whole
		secs -= whole * 86400
	}
	var fits bool
	if r.Days, fits = addInt32(r.Days, int32(remDays)); !fits {
		return v, errInterval()
	}
	us := math.RoundToEven(f(float64(v.Micros)) + secs*1e6)
	if math.IsNaN(us) || us >= math.MaxInt64 || us < math.MinInt64 {
		return v, errInterval()
	}
	r.Micros = int64(us)
	return r, nil
}

// JustifyHours turns each 24 hours into a day.
func JustifyHours(v IntervalValue) (IntervalValue, error) {
	days := v.Micros / usPerDay
	d, ok := addInt32(v.Days, int32(days))
	if !ok {
		return v, errInterval()
	}
	v.Micros, v.Days = v.Micros%usPerDay, d
	if v.Days > 0 && v.Micros < 0 {
		v.Micros += usPerDay
		v.Days--
	} else if v.Days < 0 && v.Micros > 0 {
		v.Micros -= usPerDay
		v.Days++
	}
	return v, nil
}

// JustifyDays turns each 30 days into a month.
func JustifyDays(v IntervalValue) (IntervalValue, error) {
	m, ok := addInt32(v.Months, v.Days/30)
	if !ok {
		return v, errInterval()
	}
	v.Days, v.Months = v.Days%30, m
	if v.Months > 0 && v.Days < 0 {
		v.Days += 30
		v.Months--
	} else if v.Months < 0 && v.Days > 0 {
		v.Days -= 30
		v.Months++
	}
	return v, nil
}

// JustifyInterval does both, and makes all fields of one sign.
func JustifyInterval(v IntervalValue) (IntervalValue, error) {
	if v.Days > 0 && v.Micros > 0 || v.Days < 0 && v.Micros < 0 { // else they cannot overflow
		var fits bool
		if v.Months, fits = addInt32(v.Months, v.Days/30); !fits {
			return v, errInterval()
		}
		v.Days %= 30
	}
	v.Days, v.Micros = v.Days+int32(v.Micros/usPerDay), v.Micros%usPerDay
	var fits bool
	if v.Months, fits = addInt32(v.Months, v.Days/30); !fits {
		return v, errInterval()
	}
	v.Days %= 30
	if v.Months > 0 && (v.Days < 0 || v.Days == 0 && v.Micros < 0) {
		v.Days += 30
		v.Months--
	} else if v.Months < 0 && (v.Days > 0 || v.Days == 0 && v.Micros > 0) {
		v.Days -= 30
		v.Months++
	}
	if v.Days > 0 && v.Micros < 0 {
		v.Micros += usPerDay
		v.Days--
	} else if v.Days < 0 && v.Micros > 0 {
		v.Micros -= usPerDay
		v.Days++
	}
	return v, nil
}
