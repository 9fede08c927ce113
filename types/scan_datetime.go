package types

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// dtFields are the fields that a text has given by a format picture. 0 stands for a
// field that is missing, as in PostgreSQL.
type dtFields struct {
	year, yearDigits, century, month, day int32
	week, weekOfMonth, weekday, doy       int32
	julian                                int32
	iso, gregorian                        bool // which calendar the fields belong to
	hour, min, sec, secOfDay, ms, us      int32
	precision                             int // of FF1 to FF6
	hour12, pm, bc                        int32
	tzSign, tzHour, tzMin                 int32
}

// dtScan reads a text by a format picture.
type dtScan struct {
	dtFields
	all, s string // the text, and what is left of it
	strict bool   // jsonpath: what is no field must match, and nothing may be left
	fixed  bool   // FX: no characters are skipped
	// extra counts the spaces that were skipped beyond those of the picture.
	extra int
}

func scanDateTime(s string, nodes []fmtNode, strict bool) (*dtScan, error) {
	d := &dtScan{all: s, s: s, strict: strict, fixed: strict}
	for i := range nodes {
		n := &nodes[i]
		if d.s == "" {
			if strict {
				return nil, badDatetime("input string is too short for datetime format")
			}
			return d, nil
		}
		if !d.fixed && n.pat != "FX" && (n.pat != "" || i == 0) {
			d.extra += d.skipSpace()
		}
		if n.pat == "" {
			if err := d.literal(n); err != nil {
				return nil, err
			}
			continue
		}
		if err := d.calendar(n); err != nil {
			return nil, err
		}
		if err := d.field(n, nodes[i+1:]); err != nil {
			return nil, err
		}
		if n.th != 0 && n.isNumber() {
			d.skipRune()
			d.skipRune()
		}
		if !d.fixed {
			d.extra = d.skipSpace()
		}
	}
	if d.skipSpace(); strict && d.s != "" {
		return nil, badDatetime("trailing characters remain in input string after datetime format")
	}
	return d, nil
}

func badDatetime(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidDatetimeFormat, format, args...)
}

func (d *dtScan) skipSpace() int {
	n := 0
	for n < len(d.s) && isSpace(d.s[n]) {
		n++
	}
	d.s = d.s[n:]
	return n
}

func (d *dtScan) skipRune() {
	_, size := utf8.DecodeRuneInString(d.s)
	d.s = d.s[size:]
}

// isSeparator reports whether c is a sign of ASCII that is no letter, digit or space.
func isSeparator(c byte) bool {
	return c > ' ' && c < 0x7f && !isAlpha(string(c)) && (c < '0' || c > '9')
}

// literal skips input that stands for literal text. A separator or space stands for
// any one of them, or none; other characters for any other, unless that many spaces
// were skipped before.
func (d *dtScan) literal(n *fmtNode) error {
	if !n.isText && (isSeparator(n.lit[0]) || isSpace(n.lit[0])) {
		return d.separator(n.lit)
	}
	for i, c := range n.lit {
		if d.s == "" {
			if d.strict {
				return badDatetime("input string is too short for datetime format")
			}
			return nil
		}
		lit := n.lit[i : i+utf8.RuneLen(c)]
		switch {
		case d.strict && !strings.HasPrefix(d.s, lit):
			return badDatetime("unmatched format character \"%s\"", lit)
		case !d.fixed && d.extra > 0:
			d.extra--
		default:
			d.skipRune()
		}
	}
	return nil
}

func (d *dtScan) separator(lit string) error {
	switch {
	case d.strict:
		if d.s[0] != lit[0] {
			return badDatetime("unmatched format separator \"%s\"", lit)
		}
		d.s = d.s[1:]
	case d.fixed:
		d.skipRune()
	default:
		d.extra--
		if isSpace(d.s[0]) || isSeparator(d.s[0]) {
			d.s = d.s[1:]
			d.extra++
		}
	}
	return nil
}

// calendar refuses fields of the ISO calendar beside those of the Gregorian one.
func (d *dtScan) calendar(n *fmtNode) error {
	switch n.pat {
	case "IYYY", "IYY", "IY", "I", "IW", "ID", "IDDD":
		d.iso = true
	case "Y,YYY", "YYYY", "YYY", "YY", "Y", "MONTH", "MON", "MM", "RM", "DDD", "DD", "D", "WW", "W":
		d.gregorian = true
	}
	if d.iso && d.gregorian {
		return badDatetime("invalid combination of date conventions").
			WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
	}
	return nil
}

// name is the pattern as it is written in the picture.
func (n *fmtNode) name() string { return styled(n.pat, n.style) }

// set gives a field its value, which may be given again but not changed.
func (n *fmtNode) set(dst *int32, v int32) error {
	if *dst != 0 && *dst != v {
		return badDatetime("conflicting values for \"%s\" field in formatting string", n.name()).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	*dst = v
	return nil
}

// endsNumber reports whether what follows a field of the picture cannot begin with a
// digit, so that the field may take all digits there are.
func (n *fmtNode) endsNumber(rest []fmtNode) bool {
	switch {
	case n.th != 0 || len(rest) == 0:
		return true
	case rest[0].pat == "":
		c := rest[0].lit[0]
		return c < '0' || c > '9'
	}
	return !rest[0].isNumber() && rest[0].pat != "TZM"
}

// number reads an integer of a width, and returns how many characters that took.
func (d *dtScan) number(n *fmtNode, rest []fmtNode, width int, dst *int32) (int, error) {
	start := d.s
	d.skipSpace()
	item := d.s[:min(width, len(d.s))]
	var v int64
	var ok bool
	if n.fill || n.endsNumber(rest) {
		var used int
		if v, used, ok = scanInt(d.s); used > 0 {
			d.s = d.s[used:]
		} else {
			d.s = start
		}
	} else {
		if len(item) < width {
			return 0, badDatetime("source string too short for \"%s\" formatting field", n.name()).
				WithDetail("Field requires %d characters, but only %d remain.", width, len(item)).
				WithHint(`If your source string is not fixed-width, try using the "FM" modifier.`)
		}
		var used int
		if v, used, ok = scanInt(item); used > 0 && used < width {
			return 0, badDatetime("invalid value \"%s\" for \"%s\"", wholeRunes(item), n.name()).
				WithDetail("Field requires %d characters, but only %d could be parsed.", width, used).
				WithHint(`If your source string is not fixed-width, try using the "FM" modifier.`)
		}
		d.s = d.s[used:]
	}
	used := len(start) - len(d.s)
	switch {
	case used == 0:
		return 0, badDatetime("invalid value \"%s\" for \"%s\"", wholeRunes(item), n.name()).WithDetail("Value must be an integer.")
	case !ok:
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", n.name()).
			WithDetail("Value must be in the range %d to %d.", math.MinInt32, math.MaxInt32)
	case dst == nil:
		return used, nil
	}
	return used, n.set(dst, int32(v))
}

// wholeRunes leaves out a character that was cut at the end.
func wholeRunes(s string) string {
	for s != "" && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// scanInt reads the integer with which s begins, after spaces, and says how long
// it is; ok is false for one that is not within 32 bits.
func scanInt(s string) (v int64, used int, ok bool) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	start := i
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	digits := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == digits {
		return 0, 0, true
	}
	v, err := strconv.ParseInt(s[start:i], 10, 32)
	return v, i, err == nil
}
