package types

import (
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// fmtNode is one piece of a format picture: a pattern or literal text.
type fmtNode struct {
	pat    string // upper case; empty: literal
	lit    string
	style  byte // 'U' upper, 'l' lower, 'C' capitalised, by the pattern's own letters
	fill   bool // FM: no padding
	local  bool // TM: names of the locale, without padding
	th     byte // 0, 't' or 'T': ordinal suffix
	isText bool // quoted literal
}

// dtPatterns in an order in which a longer one comes before its prefixes.
var dtPatterns = []string{
	"SSSSS", "SSSS", "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "IDDD", "ID", "IW", "I",
	"MONTH", "MON", "MM", "MI", "MS", "HH24", "HH12", "HH", "SS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "FX",
	"A.M.", "P.M.", "AM", "PM", "B.C.", "A.D.", "BC", "AD", "DDD", "DD", "DAY", "DY", "D", "WW", "W",
	"CC", "J", "Q", "RM", "TZH", "TZM", "TZ", "OF",
}

func parseDTFormat(f string) []fmtNode {
	if last := lastDTFormat.Load(); last != nil && last.text == f {
		return last.nodes
	}
	f = strings.Clone(f) // it may be lent from a vector
	n := scanDTFormat(f)
	lastDTFormat.Store(&dtFormat{f, n})
	return n
}

// lastDTFormat remembers the format parsed last: a column is usually formatted
// by one constant.
var lastDTFormat atomic.Pointer[dtFormat]

type dtFormat struct {
	text  string
	nodes []fmtNode
}

func scanDTFormat(f string) []fmtNode {
	var out []fmtNode
	for f != "" {
		prefix, n := f[:min(2, len(f))], fmtNode{}
		switch {
		case isPattern(prefix, "FM"):
			n.fill, f = true, f[2:]
		case isPattern(prefix, "TM"):
			n.local, f = true, f[2:]
		}
		if n.pat = leadingPattern(f); n.pat != "" {
			n.style, f = letterStyle(f[:len(n.pat)]), f[len(n.pat):]
			if len(f) > 1 && (f[:2] == "TH" || f[:2] == "th") {
				n.th, f = f[0], f[2:]
			} else {
				f = strings.TrimPrefix(f, "SP") // spelled out, which is never done
			}
			out = append(out, n)
			continue
		}
		if f == "" {
			break
		}
		if f[0] == '"' {
			lit, size := quotedText(f)
			if f = f[size:]; lit != "" {
				out = append(out, fmtNode{lit: lit, isText: true})
			}
			continue
		}
		if strings.HasPrefix(f, `\"`) {
			f = f[1:]
		}
		_, size := utf8.DecodeRuneInString(f)
		out = append(out, fmtNode{lit: f[:size]})
		f = f[size:]
	}
	return out
}

// leadingPattern is the longest pattern with which f begins.
func leadingPattern(f string) string {
	for _, p := range dtPatterns {
		if len(p) <= len(f) && isPattern(f[:len(p)], p) {
			return p
		}
	}
	return ""
}

// quotedText reads a text in double quotes, with which f begins, and says how long
// it is in f. The last quote may be missing.
func quotedText(f string) (text string, size int) {
	var lit []byte
	i := 1
	for ; i < len(f) && f[i] != '"'; i++ {
		if f[i] == '\\' && i+1 < len(f) {
			i++
		}
		lit = append(lit, f[i])
	}
	return string(lit), min(i+1, len(f))
}

// isNumber reports whether the pattern gives a number, which alone has an ordinal
// suffix; behind others it is swallowed.
func (n *fmtNode) isNumber() bool {
	switch n.pat {
	case "MONTH", "MON", "DAY", "DY", "A.M.", "P.M.", "AM", "PM", "B.C.", "A.D.", "BC", "AD", "RM", "TZH", "TZM", "TZ", "OF", "FX":
		return false
	}
	return true
}

// isPattern reports whether s, which is p but for its letters' case, is written as
// patterns are: all in capitals, all in small letters, or, of names, as a name.
func isPattern(s, p string) bool {
	switch s {
	case p:
		return true
	case "Month", "Mon", "Day", "Dy":
		return strings.EqualFold(s, p)
	}
	return strings.ToLower(p) == s
}

func letterStyle(s string) byte {
	lower := func(c byte) bool { return c >= 'a' && c <= 'z' }
	switch {
	case lower(s[0]):
		return 'l'
	case len(s) > 1 && lower(s[1]):
		return 'C'
	}
	return 'U'
}

func styled(s string, style byte) string { return string(appendStyled(nil, s, style)) }

// appendStyled appends ASCII letters in a style.
func appendStyled(dst []byte, s string, style byte) []byte {
	for i := range len(s) {
		c := s[i]
		upper := style == 'U' || style == 'C' && i == 0
		switch {
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case !upper && c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

var romanMonths = [...]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

// dtClock is a timestamp or interval taken apart for to_char.
type dtClock struct {
	year, month, day int
	days             int
	tod              int64
	off              int
	abbrev           string
	interval         bool
}

// ToCharTimestamp appends to_char of a timestamp (z nil) or of a timestamptz in
// zone z. An infinity gives nothing. The format is not kept.
func ToCharTimestamp(dst []byte, us int64, format string, z *Zone) ([]byte, error) {
	if isInfTS(us) {
		return dst, nil
	}
	var c dtClock
	if z != nil {
		c.off, c.abbrev = z.Offset(us), z.Abbrev(us)
		us += int64(c.off) * usPerSec
	}
	c.days, c.tod = splitTS(us)
	c.year, c.month, c.day = DaysToCivil(c.days)
	return c.format(dst, format)
}

// ToCharInterval appends to_char of an interval.
func ToCharInterval(dst []byte, v IntervalValue, format string) ([]byte, error) {
	c := dtClock{year: int(v.Months / 12), month: int(v.Months % 12), day: int(v.Days), tod: v.Micros, interval: true}
	return c.format(dst, format)
}

func (c *dtClock) format(dst []byte, f string) ([]byte, error) {
	nodes := parseDTFormat(f)
	for i := range nodes {
		n := &nodes[i]
		if n.pat == "" {
			dst = append(dst, n.lit...)
			continue
		}
		start := len(dst)
		var err error
		if dst, err = c.field(dst, n); err != nil {
			return dst, err
		}
		if n.th != 0 && n.isNumber() && len(dst) > start {
			dst = append(dst, ordinal(dst[start:], n.th == 'T')...)
		}
	}
	return dst, nil
}

// ordinal is the suffix of a number, by its last digits.
func ordinal[T string | []byte](num T, upper bool) string {
	last, teen := num[len(num)-1], len(num) > 1 && num[len(num)-2] == '1'
	s := "th"
	if !teen {
		switch last {
		case '1':
			s = "st"
		case '2':
			s = "nd"
		case '3':
			s = "rd"
		}
	}
	if upper {
		return strings.ToUpper(s)
	}
	return s
}

// appendZeros appends v with zeros in front to a width that counts its sign.
func appendZeros(dst []byte, v, width int) []byte {
	u := uint64(v)
	if v < 0 {
		dst, width, u = append(dst, '-'), width-1, -u
	}
	for x := u; x >= 10; x /= 10 {
		width--
	}
	for ; width > 1; width-- {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, u, 10)
}

// pad appends v with as many digits as the width says, without FM.
func pad(dst []byte, v, width int, n *fmtNode) []byte {
	switch {
	case n.fill:
		return strconv.AppendInt(dst, int64(v), 10)
	case v < 0:
		width++
	}
	return appendZeros(dst, v, width)
}

// blank appends spaces up to a width behind what stands from start on, without FM
// and TM.
func blank(dst []byte, start, width int, n *fmtNode) []byte {
	for !n.fill && !n.local && len(dst)-start < width {
		dst = append(dst, ' ')
	}
	return dst
}

func (c *dtClock) field(dst []byte, n *fmtNode) ([]byte, error) {
	start := len(dst)
	dst, ok := c.timePart(dst, n)
	if !ok {
		dst, ok = c.numberPart(dst, n)
	}
	if ok {
		return dst, nil
	}
	if c.interval && n.pat != "RM" && n.pat != "FX" {
		return dst, pgerr.New(pgerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
			WithHint("Intervals are not tied to specific calendar dates.")
	}
	dow := floorMod(c.days+6, 7)
	switch n.pat {
	case "MONTH":
		return blank(appendStyled(dst, monthNames[c.month-1], n.style), start, 9, n), nil
	case "MON":
		return appendStyled(dst, monthNames[c.month-1][:3], n.style), nil
	case "DAY":
		return blank(appendStyled(dst, dayNames[dow], n.style), start, 9, n), nil
	case "DY":
		return appendStyled(dst, dayNames[dow][:3], n.style), nil
	case "RM":
		if c.month == 0 && c.year == 0 {
			return dst, nil
		}
		m := romanMonths[floorMod(c.month+11, 12)]
		switch {
		case c.month < 0: // -1 is December
			m = romanMonths[12+c.month]
		case c.month == 0 && c.year < 0:
			m = romanMonths[0]
		}
		return blank(appendCapitals(dst, m, n.style), start, 4, n), nil
	case "BC", "AD", "B.C.", "A.D.":
		return appendEra(dst, c.year <= 0, "BC", "AD", n), nil
	case "TZ":
		return appendCapitals(dst, c.abbrev, n.style), nil
	case "TZH":
		return c.offsetHours(dst), nil
	case "TZM":
		return appendZeros(dst, c.offsetMinutes(), 2), nil
	case "OF":
		dst = c.offsetHours(dst)
		if m := c.offsetMinutes(); m != 0 {
			dst = appendZeros(append(dst, ':'), m, 2)
		}
	}
	return dst, nil
}

func (c *dtClock) offsetHours(dst []byte) []byte {
	if c.off < 0 {
		return appendZeros(append(dst, '-'), -c.off/3600, 2)
	}
	return appendZeros(append(dst, '+'), c.off/3600, 2)
}

func (c *dtClock) offsetMinutes() int { return max(c.off, -c.off) / 60 % 60 }

// appendCapitals appends capitals, or small letters if the style is small.
func appendCapitals(dst []byte, s string, style byte) []byte {
	if style == 'l' {
		return appendStyled(dst, s, style)
	}
	return append(dst, s...)
}

// appendEra appends one of two signs of two letters, with points if the pattern
// has them.
func appendEra(dst []byte, first bool, a, b string, n *fmtNode) []byte {
	s := b
	if first {
		s = a
	}
	if strings.IndexByte(n.pat, '.') < 0 {
		return appendCapitals(dst, s, n.style)
	}
	dst = append(appendCapitals(dst, s[:1], n.style), '.')
	return append(appendCapitals(dst, s[1:], n.style), '.')
}

func (c *dtClock) timePart(dst []byte, n *fmtNode) ([]byte, bool) {
	h := int(c.tod / usPerHour)
	us := int(c.tod % usPerSec)
	switch n.pat {
	case "HH", "HH12":
		negative := h < 0
		if h %= 12; h == 0 {
			h = 12
		}
		if negative && h > 0 && !n.fill {
			return appendZeros(dst, h, 3), true // as wide as with its sign
		}
		return pad(dst, h, 2, n), true
	case "HH24":
		return pad(dst, h, 2, n), true
	case "MI":
		return pad(dst, int(c.tod/usPerMin%60), 2, n), true
	case "SS":
		return pad(dst, int(c.tod/usPerSec%60), 2, n), true
	case "MS":
		return appendZeros(dst, us/1000, 3), true
	case "US":
		return appendZeros(dst, us, 6), true
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		k := int(n.pat[2] - '0')
		return appendZeros(dst, us/int(pow10tab[6-k]), k), true
	case "SSSS", "SSSSS":
		return strconv.AppendInt(dst, c.tod/usPerSec, 10), true
	case "AM", "PM", "A.M.", "P.M.":
		return appendEra(dst, h%24 >= 12, "PM", "AM", n), true
	}
	return dst, false
}

// looseDatePart is a field of a date for an interval, whose fields are taken for
// those of a date, as PostgreSQL does.
func (c *dtClock) looseDatePart(dst []byte, n *fmtNode) ([]byte, bool) {
	span := (c.year*12+c.month)*30 + c.day
	switch n.pat {
	case "DDD":
		return pad(dst, span, 3, n), true
	case "WW":
		return pad(dst, (span-1)/7+1, 2, n), true
	case "W":
		return strconv.AppendInt(dst, int64((c.day-1)/7+1), 10), true
	case "J":
		return strconv.AppendInt(dst, int64(looseJulian(c.year, c.month, c.day)), 10), true
	case "IW":
		_, week := looseISOWeek(c.year, c.month, c.day)
		return pad(dst, week, 2, n), true
	case "IDDD":
		year, _ := looseISOWeek(c.year, c.month, c.day)
		return pad(dst, looseJulian(c.year, c.month, c.day)-looseFirstMonday(year)+1, 3, n), true
	case "IYYY", "IYY", "IY", "I":
	default:
		return dst, false
	}
	digits := len(n.pat)
	y, _ := looseISOWeek(c.year, c.month, c.day)
	y %= [...]int{1: 10, 2: 100, 3: 1000, 4: math.MaxInt}[digits]
	if digits == 1 || n.fill {
		return strconv.AppendInt(dst, int64(y), 10), true
	}
	if c.year < 0 { // the width goes by the plain year
		digits++
	}
	return appendZeros(dst, y, digits), true
}

// looseFirstMonday is the Julian day at which an ISO year begins.
func looseFirstMonday(year int) int {
	d := looseJulian(year, 1, 4)
	return d - floorMod(d, 7)
}

// looseISOWeek is the ISO year and week of a date whose month and day need not
// exist.
func looseISOWeek(y, month, day int) (year, week int) {
	d := looseJulian(y, month, day)
	if d < looseFirstMonday(y) {
		y--
	}
	week = (d-looseFirstMonday(y))/7 + 1
	if week >= 52 && d >= looseFirstMonday(y+1) {
		y++
		week = (d-looseFirstMonday(y))/7 + 1
	}
	return y, week
}

// looseJulian is the Julian day by a formula that takes any month and day, in 32 bits.
func looseJulian(y, m, d int) int {
	if m > 2 {
		m, y = m+1, y+4800
	} else {
		m, y = m+13, y+4799
	}
	century := y / 100
	return int(int32(y*365 - 32167 + y/4 - century + century/4 + 7834*m/256 + d))
}

func (c *dtClock) numberPart(dst []byte, n *fmtNode) ([]byte, bool) {
	y := c.year
	if y <= 0 && !c.interval {
		y = 1 - y
	}
	switch n.pat {
	case "YYYY":
		return pad(dst, y, 4, n), true
	case "YYY":
		return pad(dst, y%1000, 3, n), true
	case "YY":
		return pad(dst, y%100, 2, n), true
	case "Y":
		return pad(dst, y%10, 1, n), true
	case "Y,YYY":
		dst = append(strconv.AppendInt(dst, int64(y/1000), 10), ',')
		return appendZeros(dst, y%1000, 3), true
	case "MM":
		return pad(dst, c.month, 2, n), true
	case "DD":
		if n.fill {
			return strconv.AppendInt(dst, int64(c.day), 10), true
		}
		return appendZeros(dst, c.day, 2), true
	case "Q":
		if c.month == 0 {
			return dst, true
		}
		return pad(dst, (c.month-1)/3+1, 1, n), true
	case "CC":
		if c.interval {
			return pad(dst, y/100, 2, n), true
		}
		return pad(dst, spanOf(c.year, 100), 2, n), true
	}
	if c.interval {
		return c.looseDatePart(dst, n)
	}
	isoYear, iw := isoWeek(c.days)
	iy := isoYear
	if iy <= 0 {
		iy = 1 - iy
	}
	doy := c.days - CivilToDays(c.year, 1, 1) + 1
	switch n.pat {
	case "IYYY":
		return pad(dst, iy, 4, n), true
	case "IYY":
		return pad(dst, iy%1000, 3, n), true
	case "IY":
		return pad(dst, iy%100, 2, n), true
	case "I":
		return pad(dst, iy%10, 1, n), true
	case "IW":
		return pad(dst, iw, 2, n), true
	case "ID":
		return strconv.AppendInt(dst, int64(floorMod(c.days+5, 7)+1), 10), true
	case "IDDD":
		return pad(dst, c.days-isoWeekStart(isoYear, 1)+1, 3, n), true
	case "D":
		return strconv.AppendInt(dst, int64(floorMod(c.days+6, 7)+1), 10), true
	case "DDD":
		return pad(dst, doy, 3, n), true
	case "WW":
		return pad(dst, (doy-1)/7+1, 2, n), true
	case "W":
		return strconv.AppendInt(dst, int64((c.day-1)/7+1), 10), true
	case "J":
		return strconv.AppendInt(dst, int64(c.days+epochJulian), 10), true
	}
	return dst, false
}
