package charset

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// table is the upper half of a set of one byte a character; the lower one is
// ASCII in all of them.
type table struct {
	runes [128]rune // of the bytes from 0x80; RuneError: none
	bytes map[rune]byte
}

// iso takes the characters of a map of ISO, whose first 32 of the upper half are
// control characters.
func iso(m *charmap.Charmap) *table {
	t := &table{bytes: map[rune]byte{}}
	for i := range t.runes {
		b := byte(0x80 + i)
		if i < 0x20 {
			t.set(b, rune(b))
		} else {
			t.set(b, m.DecodeByte(b))
		}
	}
	return t
}

// other takes those of another map, but for the bytes that PostgreSQL knows as
// something else. It has nothing where browsers take a control character.
func other(m *charmap.Charmap, instead map[byte]rune) *table {
	t := &table{bytes: map[rune]byte{}}
	for i := range t.runes {
		b := byte(0x80 + i)
		r := m.DecodeByte(b)
		if i < 0x20 && r == rune(b) {
			r = utf8.RuneError
		}
		if x, ok := instead[b]; ok {
			r = x
		}
		t.set(b, r)
	}
	return t
}

func (t *table) set(b byte, r rune) {
	t.runes[b-0x80] = r
	if r != utf8.RuneError {
		t.bytes[r] = b
	}
}
