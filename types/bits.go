package types

import (
	"bytes"
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// A bit string is stored as its bits, the first in the highest bit of the first byte,
// and a byte that tells how many of the last byte count; 0 if there are none.

// BitsValue is a bit string; bits of Data beyond Len are 0.
type BitsValue struct {
	Data []byte
	Len  int
}

// NewBits returns n zeros.
func NewBits(n int) BitsValue { return BitsValue{make([]byte, (n+7)/8), n} }

// At returns bit i, counted from 0.
func (v BitsValue) At(i int) byte { return v.Data[i/8] >> (7 - i%8) & 1 }

// Set makes bit i 1.
func (v BitsValue) Set(i int) { v.Data[i/8] |= 0x80 >> (i % 8) }

// Clear makes bit i 0.
func (v BitsValue) Clear(i int) { v.Data[i/8] &^= 0x80 >> (i % 8) }

// Slice returns a copy of bits [lo, hi).
func (v BitsValue) Slice(lo, hi int) BitsValue {
	out := NewBits(hi - lo)
	if lo%8 == 0 {
		copy(out.Data, v.Data[lo/8:])
		return out.trim()
	}
	for i := range out.Data {
		at := lo/8 + i
		x := v.Data[at] << (lo % 8)
		if at+1 < len(v.Data) {
			x |= v.Data[at+1] >> (8 - lo%8)
		}
		out.Data[i] = x
	}
	return out.trim()
}

// trim clears the bits beyond the end.
func (v BitsValue) trim() BitsValue {
	if r := v.Len % 8; r > 0 {
		v.Data[len(v.Data)-1] &= ^byte(0xff >> r)
	}
	return v
}

// Not returns v with all bits turned around.
func (v BitsValue) Not() BitsValue {
	out := NewBits(v.Len)
	for i, x := range v.Data {
		out.Data[i] = ^x
	}
	return out.trim()
}

// Resize returns v cut, or with zeros at its end.
func (v BitsValue) Resize(n int) BitsValue {
	out := NewBits(n)
	copy(out.Data, v.Data)
	return out.trim()
}

// Concat returns v followed by w.
func (v BitsValue) Concat(w BitsValue) BitsValue {
	out := v.Resize(v.Len + w.Len)
	r := v.Len % 8
	for i, x := range w.Data {
		at := v.Len/8 + i
		out.Data[at] |= x >> r
		if r > 0 && at+1 < len(out.Data) {
			out.Data[at+1] |= x << (8 - r)
		}
	}
	return out
}

// Shift moves the bits to the left, or with n negative to the right.
func (v BitsValue) Shift(n int) BitsValue {
	switch {
	case n >= v.Len || n <= -v.Len:
		return NewBits(v.Len)
	case n >= 0:
		return v.Slice(n, v.Len).Resize(v.Len)
	}
	return NewBits(-n).Concat(v.Slice(0, v.Len+n))
}

// AppendBits appends the stored form.
func AppendBits(dst []byte, v BitsValue) []byte {
	used := 0
	if v.Len > 0 {
		used = (v.Len-1)%8 + 1
	}
	return append(append(dst, v.Data...), byte(used))
}

// ViewBits reads the stored form; Data is that of b.
func ViewBits(b []byte) BitsValue {
	if len(b) < 2 {
		return BitsValue{}
	}
	n := len(b) - 1
	return BitsValue{b[:n:n], 8*(n-1) + int(b[n])}
}

// ParseBits reads binary digits, or after x hexadecimal ones.
func ParseBits(s string) (BitsValue, error) {
	hex := false
	if s != "" && (s[0]|0x20 == 'b' || s[0]|0x20 == 'x') {
		hex = s[0]|0x20 == 'x'
		s = s[1:]
	}
	if !hex {
		out := NewBits(len(s))
		for i, c := range []byte(s) {
			switch c {
			case '1':
				out.Set(i)
			case '0':
			default:
				return out, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid binary digit", firstRune(s[i:]))
			}
		}
		return out, nil
	}
	out := NewBits(4 * len(s))
	for i := range len(s) {
		x, ok := hexVal(s[i])
		if !ok {
			return out, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid hexadecimal digit", firstRune(s[i:]))
		}
		out.Data[i/2] |= x << (4 * (1 - i%2))
	}
	return out, nil
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// fitBits applies the length of a type: a bit string of another length than that of
// bit(n) is 22026, one longer than that of bit varying(n) 22001, unless the cast is
// explicit.
func fitBits(v BitsValue, t T, explicit bool) (BitsValue, error) {
	n := int(t.Mod)
	switch {
	case n <= 0 || v.Len == n || t.ID == Varbit && v.Len < n:
		return v, nil
	case explicit:
		return v.Resize(n), nil
	case t.ID == Varbit:
		return v, pgerr.New(pgerr.StringDataRightTruncation, "bit string too long for type bit varying(%d)", n)
	}
	return v, pgerr.New(pgerr.StringDataLengthMismatch, "bit string length %d does not match type bit(%d)", v.Len, n)
}

func parseBits(s string, t T) (string, error) {
	v, err := ParseBits(s)
	if err == nil {
		v, err = fitBits(v, t, false)
	}
	if err != nil {
		return "", err
	}
	return string(AppendBits(nil, v)), nil
}

func appendBitsText(dst, b []byte) []byte {
	v := ViewBits(b)
	for i := range v.Len {
		dst = append(dst, '0'+v.At(i))
	}
	return dst
}

func appendBitsBinary(dst, b []byte) []byte {
	v := ViewBits(b)
	return append(binary.BigEndian.AppendUint32(dst, uint32(v.Len)), v.Data...)
}

func parseBitsBinary(b []byte, t T) (string, error) {
	if len(b) < 4 {
		return "", errBinary()
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	if n < 0 || (n+7)/8 != len(b)-4 {
		return "", pgerr.New(pgerr.InvalidBinaryRepresentation, "invalid length in external bit string")
	}
	v, err := fitBits(BitsValue{bytes.Clone(b[4:]), n}.trim(), t, false)
	if err != nil {
		return "", err
	}
	return string(AppendBits(nil, v)), nil
}

// compareBits orders by the bytes first, then by length.
func compareBits(a, b []byte) int {
	x, y := ViewBits(a), ViewBits(b)
	if c := bytes.Compare(x.Data[:min(len(x.Data), len(y.Data))], y.Data[:min(len(x.Data), len(y.Data))]); c != 0 {
		return c
	}
	return cmpInt(int64(x.Len), int64(y.Len))
}

// appendBitsKey puts a byte 1 before each byte, and ends with 0 and the bits that
// count of the last one.
func appendBitsKey(dst, b []byte) []byte {
	n := len(b) - 1
	for _, x := range b[:n] {
		dst = append(dst, 1, x)
	}
	return append(dst, 0, b[n])
}

func readBitsKey(b []byte) (string, []byte, bool) {
	var out []byte
	for len(b) >= 2 && b[0] == 1 {
		out = append(out, b[1])
		b = b[2:]
	}
	if len(b) < 2 || b[0] != 0 {
		return "", b, false
	}
	return string(append(out, b[1])), b[2:], true
}

// IntToBits returns the last n bits of a number of the given width, with its sign
// before them where n is larger.
func IntToBits(x int64, n int) BitsValue {
	out := NewBits(n)
	for i := range n {
		if at := n - 1 - i; x>>min(at, 63)&1 == 1 {
			out.Set(i)
		}
	}
	return out
}

// Int reads a bit string as a number of the given width: 22003 if it is longer.
func (v BitsValue) Int(width int) (int64, error) {
	if v.Len > width {
		return 0, errOutOfRange(intName(width))
	}
	var x uint64
	for i := range v.Len {
		x = x<<1 | uint64(v.At(i))
	}
	if width == 32 {
		return int64(int32(x)), nil
	}
	return int64(x), nil
}
