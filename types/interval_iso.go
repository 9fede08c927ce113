package types

import (
	"math"
	"strconv"
)

// isoNumber reads a number of ISO 8601's durations, which may have a fraction and
// an exponent; n is the bytes it takes, and width its leading digits.
func isoNumber(t string) (whole int64, frac float64, n, width int) {
	if t == "" || !isDigit(t[0]) && t[0] != '-' && t[0] != '.' {
		return 0, 0, 0, 0
	}
	digits := func(i int) int {
		for i < len(t) && isDigit(t[i]) {
			i++
		}
		return i
	}
	first := 0
	if t[0] == '-' {
		first = 1
	}
	n = digits(first)
	width = n - first
	if n < len(t) && t[n] == '.' {
		n = digits(n + 1)
	}
	if e := n + 1; n < len(t) && t[n]|0x20 == 'e' {
		if e < len(t) && (t[e] == '-' || t[e] == '+') {
			e++
		}
		if end := digits(e); end > e {
			n = end
		}
	}
	v, err := strconv.ParseFloat(t[:n], 64)
	if err != nil || math.Abs(v) > 1e15 {
		return 0, 0, 0, 0
	}
	w := math.Trunc(v)
	return int64(w), v - w, n, width
}

// parseISO reads what follows the P of a duration: 1Y2M3DT4H5M6S, or one of the
// other forms 0001-02-03T04:05:06 and 00010203T040506.
func (a *intervalAcc) parseISO(t string) bool {
	if t == "" {
		return false
	}
	inTime, have := false, false
	year, month, day := intervalUnit{months: 12}, intervalUnit{months: 1}, intervalUnit{days: 1}
	hour, minute, second := intervalUnit{us: usPerHour}, intervalUnit{us: usPerMin}, intervalUnit{us: usPerSec}
	for t != "" {
		if t[0] == 'T' {
			inTime, have, t = true, false, t[1:]
			continue
		}
		w, f, n, width := isoNumber(t)
		if n == 0 {
			return false
		}
		c := byte(0)
		if t = t[n:]; t != "" {
			c = t[0]
		}
		packed := !have && (c == 0 || c == 'T')
		switch {
		case !inTime && packed && width == 8:
			a.add(w/10000, 0, year)
			a.add(w/100%100, 0, month)
			a.add(w%100, f, day)
			continue
		case inTime && packed && c == 0 && width == 6:
			a.add(w/10000, 0, hour)
			a.add(w/100%100, 0, minute)
			a.add(w%100, 0, second)
			a.add(0, f, intervalUnit{us: 1}) // there, unlike elsewhere, of a microsecond
			return true
		case !inTime && (c == 0 || c == 'T' || c == '-'):
			var ok bool
			if t, ok = a.isoParts(w, f, t, '-', year, month, day); have || !ok || t != "" && t[0] != 'T' {
				return false
			}
			continue
		case inTime && (c == 0 || c == ':'):
			var ok bool
			t, ok = a.isoParts(w, f, t, ':', hour, minute, second)
			return !have && ok && t == ""
		}
		have, t = true, t[1:]
		switch {
		case c == 'Y' && !inTime:
			a.add(w, f, year)
		case c == 'M' && !inTime:
			a.add(w, f, month)
		case c == 'W' && !inTime:
			a.add(w, f, intervalUnit{days: 7})
		case c == 'D' && !inTime:
			a.add(w, f, day)
		case c == 'H' && inTime:
			a.add(w, f, hour)
		case c == 'M' && inTime:
			a.add(w, f, minute)
		case c == 'S' && inTime:
			a.add(w, f, second)
		default:
			return false
		}
	}
	return true
}

// isoParts adds up to three numbers between separators, the first of which has been
// read, and returns what follows.
func (a *intervalAcc) isoParts(whole int64, frac float64, t string, sep byte, units ...intervalUnit) (rest string, ok bool) {
	a.add(whole, frac, units[0])
	for _, u := range units[1:] {
		if t == "" || t[0] != sep {
			break
		}
		w, f, n, _ := isoNumber(t[1:])
		if n == 0 {
			return t, false
		}
		a.add(w, f, u)
		t = t[1+n:]
	}
	return t, true
}
