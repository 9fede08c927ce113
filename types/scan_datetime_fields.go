package types

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// field reads a field of the picture, of which rest follows.
func (d *dtScan) field(n *fmtNode, rest []fmtNode) error {
	if dst, width := d.plain(n); width > 0 {
		_, err := d.number(n, rest, width, dst)
		return err
	}
	switch n.pat {
	case "FX":
		d.fixed = true
	case "HH", "HH12":
		d.hour12 = 1
		_, err := d.number(n, rest, 2, &d.hour)
		return err
	case "YYYY", "IYYY", "YYY", "IYY", "YY", "IY", "Y", "I":
		return d.yearField(n, rest)
	case "Y,YYY":
		return d.groupedYear(n)
	case "MS":
		return d.fraction(n, rest, 3, &d.ms)
	case "US":
		return d.fraction(n, rest, 6, &d.us)
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		d.precision = int(n.pat[2] - '0')
		return d.fraction(n, rest, d.precision, &d.us)
	case "ID":
		if _, err := d.number(n, rest, 1, &d.weekday); err != nil {
			return err
		}
		if d.weekday++; d.weekday > 7 { // Sunday is the first day of others
			d.weekday = 1
		}
	case "TZH", "TZM":
		return d.zoneField(n, rest)
	case "TZ", "OF":
		return pgerr.New(pgerr.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", n.name())
	default:
		return d.wordField(n)
	}
	return nil
}

// plain tells of a field that is just a number where it goes and how wide it is.
func (d *dtScan) plain(n *fmtNode) (dst *int32, width int) {
	switch n.pat {
	case "HH24":
		return &d.hour, 2
	case "MI":
		return &d.min, 2
	case "SS":
		return &d.sec, 2
	case "SSSS", "SSSSS":
		return &d.secOfDay, len(n.pat)
	case "MM":
		return &d.month, 2
	case "DDD", "IDDD":
		return &d.doy, 3
	case "DD":
		return &d.day, 2
	case "D":
		return &d.weekday, 1
	case "WW", "IW":
		return &d.week, 2
	case "W":
		return &d.weekOfMonth, 1
	case "Q": // of which no date follows
		return nil, 1
	case "CC":
		return &d.century, 2
	case "J":
		return &d.julian, 1
	}
	return nil, 0
}

func (d *dtScan) yearField(n *fmtNode, rest []fmtNode) error {
	digits := len(n.pat)
	used, err := d.number(n, rest, digits, &d.year)
	if err != nil {
		return err
	}
	if digits < 4 && used < 4 { // towards the year 2020
		switch v := d.year; {
		case v < 70:
			d.year += 2000
		case v < 100:
			d.year += 1900
		case v < 520:
			d.year += 2000
		case v < 1000:
			d.year += 1000
		}
	}
	d.yearDigits = int32(digits)
	return nil
}

// groupedYear reads a year with a comma behind the thousands.
func (d *dtScan) groupedYear(n *fmtNode) error {
	bad := badDatetime("invalid input string for \"Y,YYY\"")
	thousands, used, _ := scanInt(d.s)
	if used == 0 || used >= len(d.s) || d.s[used] != ',' {
		return bad
	}
	rest := d.s[used+1:]
	blanks := len(rest) - len(strings.TrimLeft(rest, " \t\n\v\f\r"))
	years, n3, _ := scanInt(rest[:min(blanks+3, len(rest))])
	if n3 == 0 {
		return bad
	}
	d.s, d.yearDigits = rest[n3:], 4
	return n.set(&d.year, int32(years)+int32(thousands)*1000)
}

func (d *dtScan) fraction(n *fmtNode, rest []fmtNode, width int, dst *int32) error {
	used, err := d.number(n, rest, width, dst)
	if err != nil {
		return err
	}
	full := 6
	if n.pat == "MS" {
		full = 3
	}
	for ; used < full; used++ {
		*dst *= 10
	}
	return nil
}

// zoneField reads a part of an offset. A minus before the hours may have been
// skipped as a separator.
func (d *dtScan) zoneField(n *fmtNode, rest []fmtNode) error {
	if n.pat == "TZM" {
		if d.tzSign == 0 {
			d.tzSign = 1
		}
		_, err := d.number(n, rest, 2, &d.tzMin)
		return err
	}
	before := d.all[:len(d.all)-len(d.s)]
	d.tzSign = 1
	switch {
	case d.s != "" && strings.IndexByte("+- ", d.s[0]) >= 0:
		if d.s[0] == '-' {
			d.tzSign = -1
		}
		d.s = d.s[1:]
	case d.extra > 0 && strings.HasSuffix(before, "-"):
		d.tzSign = -1
	}
	_, err := d.number(n, rest, 2, &d.tzHour)
	return err
}

// formatWords are the values of fields that are words. A field has the first of them with
// which the text begins.
var formatWords = map[string][]string{
	"MONTH": monthNames[:], "MON": shortNames(monthNames[:]), "DAY": dayNames[:], "DY": shortNames(dayNames[:]),
	"RM": {"xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"},
	"AM": {"am", "pm"}, "PM": {"am", "pm"}, "A.M.": {"a.m.", "p.m."}, "P.M.": {"a.m.", "p.m."},
	"AD": {"ad", "bc"}, "BC": {"ad", "bc"}, "A.D.": {"a.d.", "b.c."}, "B.C.": {"a.d.", "b.c."},
}

func shortNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n[:3]
	}
	return out
}

func (d *dtScan) wordField(n *fmtNode) error {
	v := int32(-1)
	for k, w := range formatWords[n.pat] {
		if len(w) <= len(d.s) && strings.EqualFold(d.s[:len(w)], w) {
			v, d.s = int32(k), d.s[len(w):]
			break
		}
	}
	if v < 0 {
		word := d.s
		if k := strings.IndexAny(word, " \t\n\r\f"); k >= 0 {
			word = word[:k]
		}
		return badDatetime("invalid value \"%s\" for \"%s\"", word, n.name()).
			WithDetail("The given value did not match any of the allowed values for this field.")
	}
	switch n.pat {
	case "MONTH", "MON":
		return n.set(&d.month, v+1)
	case "RM":
		return n.set(&d.month, 12-v)
	case "DAY", "DY":
		err := n.set(&d.weekday, v)
		d.weekday++
		return err
	case "AD", "BC", "A.D.", "B.C.":
		return n.set(&d.bc, v)
	}
	d.hour12 = 1
	return n.set(&d.pm, v)
}
