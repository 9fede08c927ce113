package types

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/streamdb/streamdb/pgerr"
)

// fmtNode is one piece of a format picture: a pattern or literal text.
type fmtNode struct {
	pat    string // upper case; empty: literal
	lit    string
	style  byte // 'U' upper, 'l' lower, 'C' capitalised, by the pattern's own letters
	fill   bool // FM: no padding
	th     byte // 0, 't' or 'T': ordinal suffix
	isText bool // quoted literal
}

// dtPatterns in an order in which a longer one comes before its prefixes.
var dtPatterns = []string{
	"SSSSS", "SSSS", "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "IDDD", "ID", "IW", "I",
	"MONTH", "MON", "MM", "MI", "MS", "HH24", "HH12", "HH", "SS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6",
	"A.M.", "P.M.", "AM", "PM", "B.C.", "A.D.", "BC", "AD", "DDD", "DD", "DAY", "DY", "D", "WW", "W",
	"CC", "J", "Q", "RM", "TZH", "TZM", "TZ", "OF",
}

func parseDTFormat(f string) []fmtNode {
	if last := lastDTFormat.Load(); last != nil && last.text == f {
		return last.nodes
	}
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
	fill := false
next:
	for f != "" {
		up := strings.ToUpper(f)
		switch {
		case strings.HasPrefix(up, "FM"):
			fill, f = true, f[2:]
			continue
		case strings.HasPrefix(up, "FX") || strings.HasPrefix(up, "TM") && len(f) > 2 && strings.ContainsAny(up[2:3], "DM"):
			f = f[2:]
			continue
		case f[0] == '"':
			var lit []byte
			i := 1
			for ; i < len(f) && f[i] != '"'; i++ {
				if f[i] == '\\' && i+1 < len(f) {
					i++
				}
				lit = append(lit, f[i])
			}
			out = append(out, fmtNode{lit: string(lit), isText: true})
			f = f[min(i+1, len(f)):]
			continue
		case f[0] == '\\' && len(f) > 1 && f[1] == '"':
			out = append(out, fmtNode{lit: `"`})
			f = f[2:]
			continue
		}
		for _, p := range dtPatterns {
			if strings.HasPrefix(up, p) {
				n := fmtNode{pat: p, fill: fill, style: letterStyle(f[:len(p)])}
				fill, f = false, f[len(p):]
				if len(f) > 1 && strings.EqualFold(f[:2], "th") {
					n.th, f = f[0], f[2:]
				}
				out = append(out, n)
				continue next
			}
		}
		out = append(out, fmtNode{lit: f[:1]})
		f = f[1:]
	}
	return out
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

func styled(s string, style byte) string {
	switch style {
	case 'U':
		return strings.ToUpper(s)
	case 'l':
		return strings.ToLower(s)
	}
	return strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
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

// ToCharTimestamp is to_char of a timestamp (z nil) or of a timestamptz in
// zone z. An infinity gives the empty string.
func ToCharTimestamp(us int64, format string, z *Zone) (string, error) {
	if isInfTS(us) {
		return "", nil
	}
	var c dtClock
	if z != nil {
		c.off, c.abbrev = z.Offset(us), z.Abbrev(us)
		us += int64(c.off) * usPerSec
	}
	c.days, c.tod = splitTS(us)
	c.year, c.month, c.day = DaysToCivil(c.days)
	return c.format(format)
}

// ToCharInterval is to_char of an interval.
func ToCharInterval(v IntervalValue, format string) (string, error) {
	return (&dtClock{year: int(v.Months / 12), month: int(v.Months % 12), day: int(v.Days), tod: v.Micros, interval: true}).format(format)
}

func (c *dtClock) format(f string) (string, error) {
	var b strings.Builder
	for _, n := range parseDTFormat(f) {
		if n.pat == "" {
			b.WriteString(n.lit)
			continue
		}
		s, err := c.field(n)
		if err != nil {
			return "", err
		}
		b.WriteString(s)
		if n.th != 0 {
			b.WriteString(ordinal(s, n.th == 'T'))
		}
	}
	return b.String(), nil
}

func ordinal(num string, upper bool) string {
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

func pad(v, width int, n fmtNode) string {
	if n.fill {
		return strconv.Itoa(v)
	}
	if v < 0 {
		width++
	}
	return fmt.Sprintf("%0*d", width, v)
}

func (c *dtClock) field(n fmtNode) (string, error) {
	if s, ok := c.timePart(n); ok {
		return s, nil
	}
	if s, ok := c.numberPart(n); ok {
		return s, nil
	}
	if c.interval && n.pat != "RM" {
		return "", pgerr.New(pgerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
			WithHint("Intervals are not tied to specific calendar dates.")
	}
	blank := func(s string, w int) string {
		if n.fill {
			return s
		}
		return fmt.Sprintf("%-*s", w, s)
	}
	dow := floorMod(c.days+6, 7)
	switch n.pat {
	case "MONTH":
		return blank(styled(monthNames[c.month-1], n.style), 9), nil
	case "MON":
		return styled(monthNames[c.month-1][:3], n.style), nil
	case "DAY":
		return blank(styled(dayNames[dow], n.style), 9), nil
	case "DY":
		return styled(dayNames[dow][:3], n.style), nil
	case "RM":
		if c.month == 0 {
			return "", nil
		}
		return blank(styledRoman(romanMonths[(c.month+11)%12], n.style), 4), nil
	case "BC", "AD", "B.C.", "A.D.":
		s := "AD"
		if c.year <= 0 {
			s = "BC"
		}
		return styledEra(s, n), nil
	case "TZ":
		return styledRoman(c.abbrev, n.style), nil
	case "TZH":
		return fmt.Sprintf("%+03d", c.off/3600), nil
	case "TZM":
		return fmt.Sprintf("%02d", max(c.off, -c.off)/60%60), nil
	case "OF":
		s := fmt.Sprintf("%+03d", c.off/3600)
		if m := max(c.off, -c.off) / 60 % 60; m != 0 {
			s += fmt.Sprintf(":%02d", m)
		}
		return s, nil
	}
	return "", nil
}

func styledRoman(s string, style byte) string {
	if style == 'l' {
		return strings.ToLower(s)
	}
	return s
}

func styledEra(s string, n fmtNode) string {
	if strings.IndexByte(n.pat, '.') >= 0 {
		s = s[:1] + "." + s[1:] + "."
	}
	return styledRoman(s, n.style)
}

func (c *dtClock) timePart(n fmtNode) (string, bool) {
	h := int(c.tod / usPerHour)
	us := int(c.tod % usPerSec)
	switch n.pat {
	case "HH", "HH12":
		negative := h < 0
		if h %= 12; h == 0 {
			h = 12
		}
		if negative && h > 0 && !n.fill {
			return fmt.Sprintf("%03d", h), true // as wide as with its sign
		}
		return pad(h, 2, n), true
	case "HH24":
		return pad(h, 2, n), true
	case "MI":
		return pad(int(c.tod/usPerMin%60), 2, n), true
	case "SS":
		return pad(int(c.tod/usPerSec%60), 2, n), true
	case "MS":
		return fmt.Sprintf("%03d", us/1000), true
	case "US":
		return fmt.Sprintf("%06d", us), true
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		k := int(n.pat[2] - '0')
		return fmt.Sprintf("%0*d", k, us/int(pow10tab[6-k])), true
	case "SSSS", "SSSSS":
		return strconv.Itoa(int(c.tod / usPerSec)), true
	case "AM", "PM", "A.M.", "P.M.":
		s := "AM"
		if h%24 >= 12 {
			s = "PM"
		}
		return styledEra(s, n), true
	}
	return "", false
}

// isoYearPart is the ISO year of an interval's fields taken for a date, which is
// what PostgreSQL gives.
func (c *dtClock) isoYearPart(n fmtNode) (string, bool) {
	digits, ok := map[string]int{"IYYY": 4, "IYY": 3, "IY": 2, "I": 1}[n.pat]
	if !ok {
		return "", false
	}
	y := looseISOYear(c.year, c.month, c.day)
	y %= []int{1: 10, 2: 100, 3: 1000, 4: math.MaxInt}[digits]
	if digits == 1 || n.fill {
		return strconv.Itoa(y), true
	}
	if c.year < 0 { // the width goes by the plain year
		digits++
	}
	return fmt.Sprintf("%0*d", digits, y), true
}

// looseISOYear is the ISO year of a date whose month and day need not exist.
func looseISOYear(year, month, day int) int {
	firstMonday := func(y int) int {
		d := looseJulian(y, 1, 4)
		return d - floorMod(d, 7)
	}
	d := looseJulian(year, month, day)
	if d < firstMonday(year) {
		year--
	}
	if (d-firstMonday(year))/7+1 >= 52 && d >= firstMonday(year+1) {
		year++
	}
	return year
}

// looseJulian is the Julian day by a formula that takes any month and day.
func looseJulian(y, m, d int) int {
	if m > 2 {
		m, y = m+1, y+4800
	} else {
		m, y = m+13, y+4799
	}
	century := y / 100
	return y*365 - 32167 + y/4 - century + century/4 + 7834*m/256 + d
}

func (c *dtClock) numberPart(n fmtNode) (string, bool) {
	y := c.year
	if y <= 0 && !c.interval {
		y = 1 - y
	}
	switch n.pat {
	case "YYYY":
		return pad(y, 4, n), true
	case "YYY":
		return pad(y%1000, 3, n), true
	case "YY":
		return pad(y%100, 2, n), true
	case "Y":
		return pad(y%10, 1, n), true
	case "Y,YYY":
		return fmt.Sprintf("%d,%03d", y/1000, y%1000), true
	case "MM":
		return pad(c.month, 2, n), true
	case "DD":
		if n.fill {
			return strconv.Itoa(c.day), true
		}
		return fmt.Sprintf("%02d", c.day), true
	case "Q":
		if c.month == 0 {
			return "", true
		}
		return pad((c.month-1)/3+1, 1, n), true
	case "CC":
		if c.interval {
			return pad(y/100, 2, n), true
		}
		return pad(spanOf(c.year, 100), 2, n), true
	}
	if c.interval {
		return c.isoYearPart(n)
	}
	isoYear, iw := isoWeek(c.days)
	iy := isoYear
	if iy <= 0 {
		iy = 1 - iy
	}
	doy := c.days - CivilToDays(c.year, 1, 1) + 1
	switch n.pat {
	case "IYYY":
		return pad(iy, 4, n), true
	case "IYY":
		return pad(iy%1000, 3, n), true
	case "IY":
		return pad(iy%100, 2, n), true
	case "I":
		return pad(iy%10, 1, n), true
	case "IW":
		return pad(iw, 2, n), true
	case "ID":
		return strconv.Itoa(floorMod(c.days+5, 7) + 1), true
	case "IDDD":
		return pad(c.days-isoWeekStart(isoYear, 1)+1, 3, n), true
	case "D":
		return strconv.Itoa(floorMod(c.days+6, 7) + 1), true
	case "DDD":
		return pad(doy, 3, n), true
	case "WW":
		return pad((doy-1)/7+1, 2, n), true
	case "W":
		return strconv.Itoa((c.day-1)/7 + 1), true
	case "J":
		return strconv.Itoa(c.days + epochJulian), true
	}
	return "", false
}
