package expr

import (
	"bytes"
	"math/bits"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// byteaFuncs are the functions of bytea that are more than those of text.
func byteaFuncs() []*Func {
	out := []*Func{
		fn("get_byte", ts(tBytea, tI4), tI4, func(r *row) error {
			i, err := inRange(r.i4(1), len(r.b(0)))
			if err != nil {
				return err
			}
			return r.putI4(int(r.b(0)[i]))
		}),
		fn("set_byte", ts(tBytea, tI4, tI4), tBytea, func(r *row) error {
			i, err := inRange(r.i4(1), len(r.b(0)))
			if err != nil {
				return err
			}
			b := bytes.Clone(r.b(0))
			b[i] = byte(r.i4(2))
			return r.putB(b)
		}),
		fn("get_bit", ts(tBytea, tI8), tI4, func(r *row) error {
			i, err := inRange(int(r.i8(1)), 8*len(r.b(0)))
			if err != nil {
				return err
			}
			return r.putI4(int(r.b(0)[i/8] >> (i % 8) & 1))
		}),
		fn("set_bit", ts(tBytea, tI8, tI4), tBytea, setBit),
		safe(fn("bit_count", ts(tBytea), tI8, func(r *row) error {
			n := 0
			for _, c := range r.b(0) {
				n += bits.OnesCount8(c)
			}
			return r.putI8(int64(n))
		})),
		fn("overlay", ts(tBytea, tBytea, tI4), tBytea, overlayBytes),
		fn("overlay", ts(tBytea, tBytea, tI4, tI4), tBytea, overlayBytes),
	}
	for name, sides := range map[string][2]bool{"btrim": {true, true}, "ltrim": {true, false}, "rtrim": {false, true}} {
		out = append(out, safe(fn(name, ts(tBytea, tBytea), tBytea, func(r *row) error {
			return r.putB(trimBytes(r.b(0), r.b(1), sides[0], sides[1]))
		})))
	}
	return out
}

func inRange(i, n int) (int, error) {
	if i < 0 || i >= n {
		return 0, pgerr.New(pgerr.ArraySubscriptError, "index %d out of valid range, 0..%d", i, n-1)
	}
	return i, nil
}

func setBit(r *row) error {
	i, err := inRange(int(r.i8(1)), 8*len(r.b(0)))
	if err != nil {
		return err
	}
	b := bytes.Clone(r.b(0))
	switch r.i4(2) {
	case 0:
		b[i/8] &^= 1 << (i % 8)
	case 1:
		b[i/8] |= 1 << (i % 8)
	default:
		return pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
	}
	return r.putB(b)
}

func overlayBytes(r *row) error {
	b, with, at := r.b(0), r.b(1), r.i4(2)
	n := len(with)
	if len(r.args) > 3 {
		n = r.i4(3)
	}
	if at <= 0 {
		return errNegSubstring
	}
	if int64(int32(at+n)) != int64(at+n) {
		return errInt4Range
	}
	out := append([]byte(nil), b[:min(at-1, len(b))]...)
	out = append(out, with...)
	return r.putB(append(out, b[min(max(at+n-1, 0), len(b)):]...))
}

func trimBytes(b, set []byte, left, right bool) []byte {
	if len(set) == 0 {
		return b
	}
	for left && len(b) > 0 && bytes.IndexByte(set, b[0]) >= 0 {
		b = b[1:]
	}
	for right && len(b) > 0 && bytes.IndexByte(set, b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}

// likeBytes matches a LIKE pattern byte by byte.
func likeBytes(s, p []byte) (bool, error) {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '%':
			for i < len(p) && p[i] == '%' {
				i++
			}
			for k := 0; k <= len(s); k++ {
				ok, err := likeBytes(s[k:], p[i:])
				if ok || err != nil {
					return ok, err
				}
			}
			return false, nil
		case '\\':
			if i++; i == len(p) {
				return false, errEscapeEnd
			}
			if len(s) == 0 || s[0] != p[i] {
				return false, nil
			}
		case '_':
			if len(s) == 0 {
				return false, nil
			}
		default:
			if len(s) == 0 || s[0] != p[i] {
				return false, nil
			}
		}
		s = s[1:]
	}
	return len(s) == 0, nil
}

// byteaLike makes the rows of LIKE over bytea under the names it goes by.
func byteaLike(names []string, negate bool) []*Func {
	var out []*Func
	for _, name := range names {
		out = append(out, fn(name, ts(tBytea, tBytea), types.TBool, func(r *row) error {
			ok, err := likeBytes(r.b(0), r.b(1))
			if err != nil {
				return err
			}
			return r.putBool(ok != negate)
		}))
	}
	return out
}

// validText checks that bytes are UTF-8 and reports the first that are not.
func validText(b []byte) error {
	for i := 0; i < len(b); {
		if b[i] == 0 {
			return types.CheckText("\x00")
		}
		c, n := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && n <= 1 {
			return types.CheckText(string(b[i:]))
		}
		i += n
	}
	return nil
}
