package json

import (
	"encoding/binary"
	"math/bits"

	"github.com/streamdb/streamdb/pgerr"
)

func errSyntax(b []byte, at int) error {
	e := pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json")
	if at >= len(b) {
		return e.WithDetail("The input string ended unexpectedly.")
	}
	return e.WithDetail("Unexpected character \"%s\" at byte %d.", Short(b[at:at+1]), at+1)
}

// maxDepth bounds the nesting of skipped values.
const maxDepth = 1024

var errDepth = pgerr.New(pgerr.StatementTooComplex, "the JSON record is nested deeper than %d levels", maxDepth)

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks with its top bit the first byte of w that is a quote, a backslash
// or below 0x20; marks above the first are meaningless.
func special(w uint64) uint64 {
	q, s := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w | (q-ones)&^q | (s-ones)&^s) & highs
}

// str returns the end of the string whose opening quote is at i-1: the place of
// its closing quote, and whether it holds escapes.
func str(b []byte, i int) (end int, escaped bool, err error) {
	for {
		for i+8 <= len(b) {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
			i++
		}
		switch {
		case i >= len(b) || b[i] < ' ':
			return 0, false, errSyntax(b, i)
		case b[i] == '"':
			return i, escaped, nil
		}
		escaped = true
		if i, err = escape(b, i+1); err != nil {
			return 0, false, err
		}
	}
}

// escape returns the end of the escape whose backslash is at i-1.
func escape(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errSyntax(b, i)
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case 'u':
		for k := i + 1; k < i+5; k++ {
			if k >= len(b) || hexDigit(b[k]) < 0 {
				return 0, errSyntax(b, k)
			}
		}
		return i + 5, nil
	}
	return 0, errSyntax(b, i)
}

func hexDigit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// value returns the end of the value that begins at i.
func value(b []byte, i int) (end int, err error) {
	if i >= len(b) {
		return 0, errSyntax(b, i)
	}
	switch c := b[i]; {
	case c == '"':
		e, _, err := str(b, i+1)
		return e + 1, err
	case c == '-' || (c >= '0' && c <= '9'):
		return number(b, i)
	case c == '{' || c == '[':
		return nested(b, i)
	case c == 't':
		return word(b, i, "true")
	case c == 'f':
		return word(b, i, "false")
	case c == 'n':
		return word(b, i, "null")
	}
	return 0, errSyntax(b, i)
}

func word(b []byte, i int, w string) (int, error) {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return 0, errSyntax(b, i)
	}
	return i + len(w), nil
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func number(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	n := digits(b, i)
	if n == i || (b[i] == '0' && n > i+1) {
		return 0, errSyntax(b, i)
	}
	i = n
	if i < len(b) && b[i] == '.' {
		if n = digits(b, i+1); n == i+1 {
			return 0, errSyntax(b, n)
		}
		i = n
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if n = digits(b, i); n == i {
			return 0, errSyntax(b, n)
		}
		i = n
	}
	return i, nil
}

// brackets remembers which brackets are open, a bit each.
type brackets struct {
	objects [maxDepth / 64]uint64
	depth   int
}

func (s *brackets) open(c byte) error {
	if s.depth == maxDepth {
		return errDepth
	}
	bit := uint64(1) << (s.depth & 63)
	if c == '{' {
		s.objects[s.depth>>6] |= bit
	} else {
		s.objects[s.depth>>6] &^= bit
	}
	s.depth++
	return nil
}

func (s *brackets) inObject() bool {
	d := s.depth - 1
	return s.objects[d>>6]>>(d&63)&1 == 1
}

// nested skips an object or array by walking its values.
func nested(b []byte, i int) (int, error) {
	var s brackets
	if err := s.open(b[i]); err != nil {
		return 0, err
	}
	i++
	fresh := true // just after an opening bracket
	for {
		i = space(b, i)
		if i >= len(b) {
			return 0, errSyntax(b, i)
		}
		object := s.inObject()
		if object && b[i] == '}' || !object && b[i] == ']' {
			i++
			if s.depth--; s.depth == 0 {
				return i, nil
			}
			fresh = false
			continue
		}
		if !fresh {
			if b[i] != ',' {
				return 0, errSyntax(b, i)
			}
			i = space(b, i+1)
		}
		var err error
		if object {
			if i, err = key(b, i); err != nil {
				return 0, err
			}
		}
		if fresh = i < len(b) && (b[i] == '{' || b[i] == '['); fresh {
			err = s.open(b[i])
			i++
		} else {
			i, err = value(b, i)
		}
		if err != nil {
			return 0, err
		}
	}
}

// key skips a key and its colon.
func key(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return 0, errSyntax(b, i)
	}
	e, _, err := str(b, i+1)
	if err != nil {
		return 0, err
	}
	i = space(b, e+1)
	if i >= len(b) || b[i] != ':' {
		return 0, errSyntax(b, i)
	}
	return space(b, i+1), nil
}
