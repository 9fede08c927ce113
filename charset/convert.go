package charset

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// Decode appends the UTF-8 of text in the set to dst. Text of SQL_ASCII and UTF8
// is appended as it is; whether it is UTF-8 is the caller's to check.
func (s *Set) Decode(dst, b []byte) ([]byte, error) {
	if s.Raw() {
		return append(dst, b...), nil
	}
	if !s.Convertible() {
		return dst, s.unsupported()
	}
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			if c == 0 {
				return dst, s.Invalid(b[:1])
			}
			dst, b = append(dst, c), b[1:]
			continue
		}
		n := 1
		if s.len != nil {
			n = s.len(b)
		}
		if n > len(b) || n < 0 {
			return dst, s.Invalid(b[:min(max(n, -n), len(b))])
		}
		r := s.rune(b[:n])
		if r == utf8.RuneError {
			return dst, untranslatable(b[:n], s.Name, UTF8.Name)
		}
		dst, b = utf8.AppendRune(dst, r), b[n:]
	}
	return dst, nil
}

// rune returns the character of the bytes b, or RuneError.
func (s *Set) rune(b []byte) rune {
	if s.one != nil {
		return s.one.runes[b[0]-0x80]
	}
	var to [8]byte
	n, used, err := s.many.NewDecoder().Transform(to[:], b, true)
	r, size := utf8.DecodeRune(to[:n])
	if err != nil || used != len(b) || size != n {
		return utf8.RuneError
	}
	return r
}

// Encode appends valid UTF-8 text in the set to dst.
func (s *Set) Encode(dst, text []byte) ([]byte, error) {
	if s.Raw() {
		return append(dst, text...), nil
	}
	if !s.Convertible() {
		return dst, s.unsupported()
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			dst, i = append(dst, c), i+1
			continue
		}
		_, n := utf8.DecodeRune(text[i:])
		var ok bool
		if dst, ok = s.appendChar(dst, text[i:i+n]); !ok {
			return dst, untranslatable(text[i:i+n], UTF8.Name, s.Name)
		}
		i += n
	}
	return dst, nil
}

// appendChar appends one character; false if the set lacks it.
func (s *Set) appendChar(dst, char []byte) ([]byte, bool) {
	if s.one != nil {
		r, _ := utf8.DecodeRune(char)
		b, ok := s.one.bytes[r]
		return append(dst, b), ok
	}
	var to [8]byte
	n, _, err := s.many.NewEncoder().Transform(to[:], char, true)
	if err != nil || s.len(to[:n]) != n {
		return dst, false
	}
	return append(dst, to[:n]...), true
}

// Whole returns how many bytes at the beginning of b are whole characters.
func (s *Set) Whole(b []byte) int {
	if s.len == nil {
		return len(b)
	}
	at := 0
	for at < len(b) {
		n := 1
		if b[at] >= utf8.RuneSelf {
			// Bytes that are no character are Decode's to refuse.
			n = max(1, s.len(b[at:]))
		}
		if at+n > len(b) {
			break
		}
		at += n
	}
	return at
}

// Chars counts the characters of text in the set.
func (s *Set) Chars(b []byte) (int, error) {
	if s.len == nil {
		return len(b), nil
	}
	chars := 0
	for i := 0; i < len(b); chars++ {
		n := 1
		if b[i] >= utf8.RuneSelf {
			n = s.len(b[i:])
		}
		if n < 0 || i+n > len(b) {
			return 0, s.Invalid(b[i:min(i+max(n, -n), len(b))])
		}
		i += n
	}
	return chars, nil
}

// The lengths of a character of more than one byte by its beginning; -n if its n
// bytes are no character.

func pairLen(b []byte) int {
	if len(b) > 1 && b[1] == 0 {
		return -2
	}
	return 2
}

// big5Len leaves out the rows that only Hong Kong has.
func big5Len(b []byte) int {
	if b[0] < 0xa1 || b[0] > 0xf9 {
		return -2
	}
	return pairLen(b)
}

// eucLen is that of sets with two bytes of the upper half.
func eucLen(b []byte) int { return within(b, 2, 0xa1, 0xfe) }

// within wants n bytes, each from low to high.
func within(b []byte, n int, low, high byte) int {
	for _, c := range b[:min(n, len(b))] {
		if c < low || c > high {
			return -n
		}
	}
	return n
}

// eucJPLen knows the half-width letters and the second plane too.
func eucJPLen(b []byte) int {
	switch b[0] {
	case 0x8e:
		if within(b[1:], 1, 0xa1, 0xdf) < 0 {
			return -2
		}
		return 2
	case 0x8f:
		if within(b[1:], 2, 0xa1, 0xfe) < 0 {
			return -3
		}
		return 3
	}
	return eucLen(b)
}

func sjisLen(b []byte) int {
	if b[0] >= 0xa1 && b[0] <= 0xdf {
		return 1
	}
	if c := b[0]; c < 0x81 || c == 0xa0 || c > 0xfc || len(b) > 1 && (b[1] < 0x40 || b[1] == 0x7f || b[1] > 0xfc) {
		return -2
	}
	return 2
}

func gb18030Len(b []byte) int {
	switch {
	case len(b) > 1 && b[1] >= '0' && b[1] <= '9':
		return 4
	case b[0] == 0x80 || b[0] == 0xff || len(b) > 1 && (b[1] < 0x40 || b[1] == 0x7f || b[1] == 0xff):
		return -2
	}
	return 2
}

// Invalid is the error of bytes that are no character of the set.
func (s *Set) Invalid(b []byte) error {
	return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": %s", s.Name, hex(b))
}

func untranslatable(b []byte, from, to string) error {
	return pgerr.New(pgerr.UntranslatableCharacter,
		"character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"", hex(b), from, to)
}

func hex(b []byte) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = fmt.Sprintf("0x%02x", c)
	}
	return strings.Join(parts, " ")
}

func (s *Set) unsupported() error {
	return pgerr.Unsupported("the encoding "+s.Name, "Use UTF8, which has all characters.")
}
