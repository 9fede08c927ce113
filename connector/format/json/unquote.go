package json

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

var (
	errEncoding  = pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\"")
	errNul       = pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail("\\u0000 cannot be converted to text.")
	errSurrogate = pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json").
			WithDetail("Unicode surrogates must come in pairs, the high one first.")
)

// unquote returns the text of a JSON string whose syntax was checked; raw
// includes the quotes. The result is borrowed from raw or from d until the next
// call.
func (d *Decoder) unquote(raw []byte) ([]byte, error) {
	s := raw[1 : len(raw)-1]
	if bytes.IndexByte(s, '\\') >= 0 {
		var err error
		if d.text, err = appendUnescaped(d.text[:0], s); err != nil {
			return nil, err
		}
		s = d.text
	}
	if !utf8.Valid(s) {
		return nil, errEncoding
	}
	return s, nil
}

var unescaped = [...]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnescaped appends s with its escapes, which are well formed, replaced.
func appendUnescaped(dst, s []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...), nil
		}
		dst = append(dst, s[:i]...)
		c := s[i+1]
		if c != 'u' {
			dst, s = append(dst, unescaped[c]), s[i+2:]
			continue
		}
		r := hex4(s[i+2:])
		s = s[i+6:]
		if r == 0 {
			return dst, errNul
		}
		if utf16.IsSurrogate(r) {
			if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
				return dst, errSurrogate
			}
			if r = utf16.DecodeRune(r, hex4(s[2:])); r == utf8.RuneError {
				return dst, errSurrogate
			}
			s = s[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
}

func hex4(b []byte) rune {
	return hexDigit(b[0])<<12 | hexDigit(b[1])<<8 | hexDigit(b[2])<<4 | hexDigit(b[3])
}
