package types

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// A macaddr is stored as its six bytes, a macaddr8 as its eight.

func appendMacaddr(dst, b []byte) []byte {
	const digits = "0123456789abcdef"
	for i, x := range b {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, digits[x>>4], digits[x&15])
	}
	return dst
}

// parseMacaddr reads six hexadecimal numbers with : or - between, or twelve digits
// in groups of six, four or two.
func parseMacaddr(s string, _ T) (string, error) {
	t := trimSpace(s)
	for _, sep := range []string{":", "-"} {
		if parts := strings.Split(t, sep); len(parts) == 6 {
			return macaddrOf(s, parts)
		}
	}
	for _, f := range []struct {
		sep   string
		width int
	}{{":", 6}, {"-", 6}, {".", 4}, {"-", 4}, {"", 12}} {
		groups := []string{t}
		if f.sep != "" {
			groups = strings.Split(t, f.sep)
		}
		if len(groups) != 12/f.width || strings.ContainsFunc(strings.Join(groups, ""), notHex) {
			continue
		}
		var parts []string
		for _, g := range groups {
			if len(g) != f.width {
				return "", errInput("macaddr", s)
			}
			for ; g != ""; g = g[2:] {
				parts = append(parts, g[:2])
			}
		}
		return macaddrOf(s, parts)
	}
	return "", errInput("macaddr", s)
}

func notHex(r rune) bool {
	_, ok := hexVal(byte(r))
	return r > 127 || !ok
}

func macaddrOf(s string, parts []string) (string, error) {
	out := make([]byte, 0, 6)
	for _, p := range parts {
		x := 0
		if p == "" || strings.ContainsFunc(p, notHex) {
			return "", errInput("macaddr", s)
		}
		for i := range len(p) {
			v, _ := hexVal(p[i])
			if x = min(16*x+int(v), 1<<20); x > 255 {
				return "", pgerr.New(pgerr.NumericValueOutOfRange, "invalid octet value in \"macaddr\" value: \"%s\"", s)
			}
		}
		out = append(out, byte(x))
	}
	return string(out), nil
}

// parseMacaddr8 reads eight bytes, or six into whose middle ff:fe is put, with the
// same separator, or none, after each.
func parseMacaddr8(s string, _ T) (string, error) {
	t := trimSpace(s)
	var out []byte
	var sep byte
	for len(t) >= 2 && len(out) < 8 {
		hi, ok1 := hexVal(t[0])
		lo, ok2 := hexVal(t[1])
		if !ok1 || !ok2 {
			return "", errInput("macaddr8", s)
		}
		out = append(out, hi<<4|lo)
		if t = t[2:]; t != "" && (t[0] == ':' || t[0] == '-' || t[0] == '.') {
			if sep != 0 && sep != t[0] {
				return "", errInput("macaddr8", s)
			}
			sep, t = t[0], t[1:]
		}
	}
	if t != "" || len(out) != 6 && len(out) != 8 {
		return "", errInput("macaddr8", s)
	}
	return Macaddr8Of(string(out)), nil
}

// Macaddr8Of widens a macaddr, in stored form.
func Macaddr8Of(m string) string {
	if len(m) == 6 {
		return m[:3] + "\xff\xfe" + m[3:]
	}
	return m
}

// MacaddrOf narrows a macaddr8: 22003 where its middle is not ff:fe.
func MacaddrOf(m string) (string, error) {
	if len(m) != 8 || m[3:5] != "\xff\xfe" {
		return "", pgerr.New(pgerr.NumericValueOutOfRange, "macaddr8 data out of range to convert to macaddr").
			WithHint("Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.")
	}
	return m[:3] + m[5:], nil
}

func parseMacaddrBinary(b []byte, _ T) (string, error) {
	if len(b) != 6 {
		return "", errBinary()
	}
	return string(b), nil
}

func parseMacaddr8Binary(b []byte, _ T) (string, error) {
	if len(b) != 6 && len(b) != 8 {
		return "", errBinary()
	}
	return Macaddr8Of(string(b)), nil
}
