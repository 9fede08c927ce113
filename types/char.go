package types

import "fmt"

// The type "char" has one byte. One that is no ASCII is read and written as a
// backslash and three octal digits; zero is kept as the empty string.

func charOf(s string) string {
	octal := func(c byte) bool { return c >= '0' && c <= '7' }
	if len(s) == 4 && s[0] == '\\' && octal(s[1]) && octal(s[2]) && octal(s[3]) {
		s = string([]byte{(s[1]-'0')<<6 | (s[2]-'0')<<3 | (s[3] - '0')})
	}
	if s == "" || s[0] == 0 {
		return ""
	}
	return s[:1]
}

func appendChar(dst, b []byte) []byte {
	if len(b) == 1 && b[0] >= 0x80 {
		return fmt.Appendf(dst, "\\%03o", b[0])
	}
	return append(dst, b...)
}
