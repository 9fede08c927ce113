package types

import (
	"strings"
	"unicode"

	"github.com/streamdb/streamdb/pgerr"
)

// dtScan is the state of to_timestamp and to_date.
type dtScan struct {
	s                    string
	year, month, day     int
	hour, min, sec, us   int
	ssss, doy, julian    int
	isoYear, isoWk, isoD int
	week, century        int
	yearDigits           int
	hour12, pm, am, bc   bool
	off                  int
	hasOff               bool
	offNeg, badOff       bool
}

// ToTimestampFormat is to_timestamp(text, format) in zone z.
func ToTimestampFormat(s, format string, z *Zone) (int64, error) {
	d, err := scanDateTime(s, format)
	if err != nil {
		return 0, err
	}
	days, tod, err := d.resolve(s)
	if err != nil {
		return 0, err
	}
	us, ok := tsFromDays(days, tod)
	if !ok {
		return 0, errTS()
	}
	if d.badOff {
		return 0, pgerr.New(pgerr.InvalidTimeZoneDisplacement, "time zone displacement out of range: \"%s\"", s)
	}
	if d.hasOff {
		return us - int64(d.off)*usPerSec, nil
	}
	return z.ToUTC(us), nil
}

// ToDateFormat is to_date(text, format).
func ToDateFormat(s, format string) (int32, error) {
	d, err := scanDateTime(s, format)
	if err != nil {
		return 0, err
	}
	days, _, err := d.resolve(s)
	if err != nil {
		return 0, err
	}
	if days < int(minDateDays) || days >= int(maxDateDays) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return int32(days), nil
}

func scanDateTime(s, format string) (*dtScan, error) {
	d := &dtScan{s: s, month: 1, day: 1, julian: -1, ssss: -1}
	nodes := parseDTFormat(format)
	for i, n := range nodes {
		if d.s == "" {
			break
		}
		if n.pat == "" {
			d.literal(n)
			continue
		}
		d.s = strings.TrimLeft(d.s, " \t\n")
		next := i+1 < len(nodes) && nodes[i+1].pat != "" && !strings.HasPrefix(nodes[i+1].pat, "M") || i+1 < len(nodes) && (nodes[i+1].pat == "MM" || nodes[i+1].pat == "MI" || nodes[i+1].pat == "MS")
		if err := d.field(n, next); err != nil {
			return nil, err
		}
		if n.th != 0 && len(d.s) >= 2 {
			d.s = d.s[2:]
		}
	}
	return d, nil
}

// literal skips input that stands for literal text: separators match any
// separator, a quoted text as many characters.
func (d *dtScan) literal(n fmtNode) {
	if n.isText {
		d.s = d.s[min(len(n.lit), len(d.s)):]
		return
	}
	sep := func(c byte) bool {
		return c > ' ' && c < 0x7f && !isAlpha(string(c)) && (c < '0' || c > '9')
	}
	c := n.lit[0]
	switch {
	case isSpace(c):
		d.s = strings.TrimLeft(d.s, " \t\n")
	case sep(c):
		d.s = strings.TrimLeft(d.s, " ")
		if d.s != "" && sep(d.s[0]) && d.s[0] != '+' && !(d.s[0] == '-' && c != '-') {
			d.s = d.s[1:]
		}
	default:
		d.s = d.s[1:]
	}
}

func (d *dtScan) int(width int, n fmtNode, adjacent bool) (int, error) {
	limit := len(d.s)
	if !n.fill && adjacent || width == 1 {
		limit = min(width, limit)
	}
	i := 0
	if limit > 0 && (d.s[0] == '-' || d.s[0] == '+') {
		i = 1
	}
	start := i
	for i < limit && d.s[i] >= '0' && d.s[i] <= '9' {
		i++
	}
	v, ok := atoiSmall(d.s[start:i])
	if !ok {
		return 0, pgerr.New(pgerr.InvalidDatetimeFormat, "invalid value \"%s\" for \"%s\"", d.s[:min(width, len(d.s))], n.pat).
			WithDetail("Value must be an integer.")
	}
	if start == 1 && d.s[0] == '-' {
		v = -v
	}
	d.s = d.s[i:]
	return v, nil
}

func (d *dtScan) field(n fmtNode, adjacent bool) error {
	var targets = map[string]struct {
		p *int
		w int
	}{
		"MM": {&d.month, 2}, "DD": {&d.day, 2}, "DDD": {&d.doy, 3}, "HH24": {&d.hour, 2}, "MI": {&d.min, 2}, "SS": {&d.sec, 2},
		"SSSS": {&d.ssss, 5}, "SSSSS": {&d.ssss, 5}, "J": {&d.julian, 7}, "IYYY": {&d.isoYear, 4}, "IW": {&d.isoWk, 2}, "ID": {&d.isoD, 1},
		"WW": {&d.week, 2}, "CC": {&d.century, 2},
	}
	if t, ok := targets[n.pat]; ok {
		v, err := d.int(t.w, n, adjacent)
		if err == nil {
			*t.p = v
		}
		return err
	}
	switch n.pat {
	case "YYYY", "YYY", "YY", "Y":
		return d.yearField(n, adjacent)
	case "Y,YYY":
		i := strings.IndexByte(d.s, ',')
		if i < 0 || len(d.s) < i+4 {
			return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input string for \"Y,YYY\"")
		}
		d.year = wrapInt(d.s[:i])*1000 + wrapInt(d.s[i+1:i+4])
		d.s, d.yearDigits = d.s[i+4:], 4
		return nil
	case "HH", "HH12":
		v, err := d.int(2, n, adjacent)
		if err == nil && (v < 1 || v > 12) {
			return pgerr.New(pgerr.InvalidDatetimeFormat, "hour \"%d\" is invalid for the 12-hour clock", v).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		d.hour, d.hour12 = v, true
		return err
	case "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		w := map[string]int{"MS": 3, "US": 6}[n.pat]
		if w == 0 {
			w = int(n.pat[2] - '0')
		}
		return d.fraction(w, n, adjacent)
	case "MONTH", "MON", "DAY", "DY", "AM", "PM", "A.M.", "P.M.", "BC", "AD", "B.C.", "A.D.", "RM":
		return d.wordField(n)
	case "TZH", "TZM", "TZ", "OF":
		return d.zoneField(n, adjacent)
	case "Q", "D", "W", "IDDD":
		_, err := d.int(1, n, adjacent)
		return err
	}
	return nil
}

func (d *dtScan) yearField(n fmtNode, adjacent bool) error {
	before := len(d.s)
	v, err := d.int(len(n.pat), n, adjacent)
	if err != nil {
		return err
	}
	d.yearDigits = before - len(d.s)
	if len(n.pat) < 4 && d.yearDigits < 4 { // towards the year 2020
		switch {
		case v < 70:
			v += 2000
		case v < 100:
			v += 1900
		case v < 520:
			v += 2000
		case v < 1000:
			v += 1000
		}
	}
	d.year = v
	return nil
}

func (d *dtScan) fraction(w int, n fmtNode, adjacent bool) error {
	before := d.s
	v, err := d.int(w, n, adjacent)
	if err != nil {
		return err
	}
	used := len(before) - len(d.s)
	for ; used < 6; used++ {
		v *= 10
	}
	d.us = v
	return nil
}

func (d *dtScan) wordField(n fmtNode) error {
	i := 0
	for i < len(d.s) && (isAlpha(d.s[i:i+1]) || d.s[i] == '.') {
		i++
	}
	w := strings.ToLower(d.s[:i])
	word := d.s
	if k := strings.IndexFunc(word, unicode.IsSpace); k >= 0 {
		word = word[:k]
	}
	bad := pgerr.New(pgerr.InvalidDatetimeFormat, "invalid value \"%s\" for \"%s\"", word, styled(n.pat, n.style)).
		WithDetail("The given value did not match any of the allowed values for this field.")
	names := func(list []string, short bool) int {
		for k, m := range list {
			if !short && strings.HasPrefix(w, m) {
				d.s = d.s[len(m):]
				return k
			}
		}
		for k, m := range list {
			if strings.HasPrefix(w, m[:3]) && short {
				d.s = d.s[3:]
				return k
			}
		}
		return -1
	}
	switch n.pat {
	case "MONTH", "MON":
		k := names(monthNames[:], n.pat == "MON")
		if k < 0 {
			return bad
		}
		d.month = k + 1
		return nil
	case "DAY", "DY":
		if names(dayNames[:], n.pat == "DY") < 0 {
			return bad
		}
		return nil
	case "RM":
		for k := len(romanMonths) - 1; k >= 0; k-- {
			if w == strings.ToLower(romanMonths[k]) {
				d.month, d.s = k+1, d.s[i:]
				return nil
			}
		}
		return bad
	}
	d.s = d.s[i:]
	switch strings.ReplaceAll(w, ".", "") {
	case "am":
		d.am = true
	case "pm":
		d.pm = true
	case "bc":
		d.bc = true
	case "ad":
	default:
		return bad
	}
	return nil
}

func (d *dtScan) zoneField(n fmtNode, adjacent bool) error {
	switch n.pat {
	case "TZH":
		d.offNeg = strings.HasPrefix(d.s, "-")
		if d.offNeg || strings.HasPrefix(d.s, "+") {
			d.s = d.s[1:]
		}
		v, err := d.int(2, n, adjacent)
		d.badOff = d.badOff || v < 0 || v > 15
		if d.offNeg {
			v = -v
		}
		d.off, d.hasOff = v*3600, true
		return err
	case "TZM":
		v, err := d.int(2, n, adjacent)
		d.badOff = d.badOff || v < 0 || v > 59
		if d.offNeg {
			v = -v
		}
		d.off, d.hasOff = d.off+v*60, true
		return err
	}
	return pgerr.New(pgerr.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", n.pat).
		WithHint("Use TZH and TZM for a numeric offset.")
}

func (d *dtScan) resolve(s string) (days int, tod int64, err error) {
	if d.hour12 {
		d.hour %= 12
		if d.pm {
			d.hour += 12
		}
	}
	tod = int64(d.hour)*usPerHour + int64(d.min)*usPerMin + int64(d.sec)*usPerSec + int64(d.us)
	if d.ssss >= 0 {
		tod = int64(d.ssss)*usPerSec + int64(d.us)
	}
	if d.hour < 0 || d.hour > 23 || d.min < 0 || d.min > 59 || d.sec < 0 || d.sec > 59 || d.ssss >= 86400 {
		return 0, 0, errDateRange(s)
	}
	y := d.year
	switch {
	case d.julian >= 0:
		return d.julian - epochJulian, tod, nil
	case d.isoYear != 0:
		wk, wd := max(d.isoWk, 1), max(d.isoD, 1)
		if wk > 53 || wd > 7 {
			return 0, 0, errDateRange(s)
		}
		return isoWeekStart(d.isoYear, wk) + wd - 1, tod, nil
	case d.century > 0 && d.yearDigits == 0:
		y = (d.century-1)*100 + 1
	}
	// Without a year, y stays 0: PostgreSQL reads 1 BC then.
	if d.bc && y > 0 {
		y = 1 - y
	} else if y < 0 {
		y++
	}
	switch {
	case d.doy > 0:
		if d.doy > 366 {
			return 0, 0, errDateRange(s)
		}
		return CivilToDays(y, 1, 1) + d.doy - 1, tod, nil
	case d.week > 0:
		return CivilToDays(y, 1, 1) + (d.week-1)*7, tod, nil
	case d.month < 1 || d.month > 12 || d.day < 1 || d.day > daysIn(y, d.month):
		return 0, 0, errDateRange(s)
	}
	return CivilToDays(y, d.month, d.day), tod, nil
}
