package types

import (
	"encoding/binary"
	"strings"
	"time"
)

// usualRule is when summer time begins and ends where a POSIX zone names one
// but not its rule.
const usualRule = ",M3.2.0,M11.1.0"

// posixZone reads a zone by its rule: UTC-3, <+02>-02, PST8PDT,M3.2.0,M11.1.0.
// The name may be missing. Offsets count west of Greenwich. nil if it is none.
func posixZone(n string) *Zone {
	std, rest := posixName(n)
	off, rest, ok := posixOffset(rest)
	if !ok {
		return nil
	}
	if rest == "" {
		return &Zone{name: n, loc: time.FixedZone(std, off)}
	}
	dst, rules := posixName(rest)
	if dst == "" {
		return nil
	}
	if i := strings.IndexByte(rules, ','); i < 0 {
		if _, left, ok := posixOffset(rules); rules != "" && (!ok || left != "") {
			return nil
		}
		n += usualRule
	}
	return ruleZone(n, std, off)
}

// posixName cuts a zone's abbreviation from the front.
func posixName(s string) (name, rest string) {
	if strings.HasPrefix(s, "<") {
		if end := strings.IndexByte(s, '>'); end > 1 {
			return s[1:end], s[end+1:]
		}
		return "", s
	}
	i := 0
	for i < len(s) && !isDigit(s[i]) && strings.IndexByte(",-+", s[i]) < 0 {
		i++
	}
	return s[:i], s[i:]
}

// posixOffset cuts [+-]hh[:mm[:ss]] from the front, and gives seconds east.
func posixOffset(s string) (off int, rest string, ok bool) {
	sign := -1
	if s != "" && (s[0] == '+' || s[0] == '-') {
		if s[0] == '-' {
			sign = 1
		}
		s = s[1:]
	}
	for unit, limit := 3600, 167; unit > 0; unit, limit = unit/60, 59 {
		i := 0
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		v, fits := atoiSmall(s[:i])
		if !fits || v > limit {
			return 0, s, false
		}
		off, s = off+v*unit, s[i:]
		if unit == 1 || !strings.HasPrefix(s, ":") {
			break
		}
		s = s[1:]
	}
	return sign * off, s, true
}

// ruleZone is the zone of a POSIX rule. Package time reads such rules only at the
// end of a zone's file, so it gets one without any change before the rule.
func ruleZone(rule, std string, off int) *Zone {
	var b []byte
	for range 2 { // a block that is skipped, and the one that counts
		b = append(append(b, "TZif2"...), make([]byte, 15)...)
		for _, count := range []int{0, 0, 0, 0, 1, len(std) + 1} { // of what follows
			b = binary.BigEndian.AppendUint32(b, uint32(count))
		}
		b = binary.BigEndian.AppendUint32(b, uint32(off))
		b = append(append(b, 0, 0), std...)
		b = append(b, 0)
	}
	loc, err := time.LoadLocationFromTZData(rule, append(b, "\n"+rule+"\n"...))
	if err != nil {
		return nil
	}
	return &Zone{name: rule, loc: loc}
}
