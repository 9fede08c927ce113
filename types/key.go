package types

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Key encodings order as SQL orders and are equal exactly for equal values.
// A value begins with keyValue; a NULL is one byte, after or before all values.
// DESC inverts the bytes after the prefix.
const (
	keyNullFirst = 0x00
	keyValue     = 0x01
	keyNullLast  = 0x02
)

// AppendKeyNull appends a NULL.
func AppendKeyNull(dst []byte, nullsFirst bool) []byte {
	if nullsFirst {
		return append(dst, keyNullFirst)
	}
	return append(dst, keyNullLast)
}

// AppendKeyBool appends a boolean with its prefix.
func AppendKeyBool(dst []byte, v bool, desc bool) []byte {
	b := byte(0)
	if v {
		b = 1
	}
	if desc {
		b = ^b
	}
	return append(dst, keyValue, b)
}

// AppendKeyInt64 appends an integer, date, time or oid with its prefix. All
// integer widths share this form, so that keys of other widths compare.
func AppendKeyInt64(dst []byte, v int64, desc bool) []byte {
	u := uint64(v) ^ 1<<63
	if desc {
		u = ^u
	}
	return binary.BigEndian.AppendUint64(append(dst, keyValue), u)
}

// floatBits maps floats to ordered integers: -0 as 0, one NaN above infinity.
func floatBits(v float64) uint64 {
	switch {
	case v != v:
		return math.MaxUint64
	case v == 0:
		return 1 << 63
	}
	u := math.Float64bits(v)
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

// AppendKeyFloat64 appends a float with its prefix; float4 is widened first.
func AppendKeyFloat64(dst []byte, v float64, desc bool) []byte {
	u := floatBits(v)
	if desc {
		u = ^u
	}
	return binary.BigEndian.AppendUint64(append(dst, keyValue), u)
}

// AppendKeyString appends bytes or text with its prefix; 00 becomes 00 FF and
// the end is 00 01.
func AppendKeyString[S []byte | string](dst []byte, s S, desc bool) []byte {
	dst = append(dst, keyValue)
	start := len(dst)
	dst = appendEscaped(dst, s)
	return invertFrom(dst, start, desc)
}

func appendEscaped[S []byte | string](dst []byte, s S) []byte {
	from := 0
	for i := range len(s) {
		if s[i] == 0 {
			dst = append(append(dst, s[from:i+1]...), 0xff)
			from = i + 1
		}
	}
	return append(append(dst, s[from:]...), 0, 1)
}

func invertFrom(dst []byte, start int, desc bool) []byte {
	if desc {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// AppendKeyInterval appends an interval by its length.
func AppendKeyInterval(dst []byte, v IntervalValue, desc bool) []byte {
	dst = append(dst, keyValue)
	return invertFrom(appendKeyValue(dst, TInterval, v), len(dst), desc)
}

// AppendKeyUUID appends a UUID.
func AppendKeyUUID(dst []byte, v UUIDValue, desc bool) []byte {
	dst = append(dst, keyValue)
	return invertFrom(append(dst, v[:]...), len(dst), desc)
}

// AppendKeyBytes appends a value of any type whose kind is KBytes.
func AppendKeyBytes(dst []byte, t T, b []byte, desc bool) []byte {
	dst = append(dst, keyValue)
	return invertFrom(appendKeyBytesKind(dst, t, b), len(dst), desc)
}

// AppendKey appends one value of type t, NULL included.
func AppendKey(dst []byte, t T, d Datum, desc, nullsFirst bool) []byte {
	if d == nil {
		return AppendKeyNull(dst, nullsFirst)
	}
	dst = append(dst, keyValue)
	return invertFrom(appendKeyValue(dst, t, d), len(dst), desc)
}

// appendKeyValue appends a value without prefix or inversion.
func appendKeyValue(dst []byte, t T, d Datum) []byte {
	be := binary.BigEndian
	switch v := d.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case int16:
		return be.AppendUint64(dst, uint64(v)^1<<63)
	case int32:
		return be.AppendUint64(dst, uint64(v)^1<<63)
	case int64:
		return be.AppendUint64(dst, uint64(v)^1<<63)
	case float32:
		return be.AppendUint64(dst, floatBits(float64(v)))
	case float64:
		return be.AppendUint64(dst, floatBits(v))
	case IntervalValue:
		h, l := IntervalSpan(v)
		return be.AppendUint64(be.AppendUint64(dst, uint64(h)^1<<63), l)
	case UUIDValue:
		return append(dst, v[:]...)
	case string:
		return appendKeyBytesKind(dst, t, []byte(v))
	}
	return dst
}

func appendKeyBytesKind(dst []byte, t T, b []byte) []byte {
	if c := codecs[t.ID]; c != nil && c.key != nil {
		return c.key(dst, b)
	}
	switch t.ID {
	case Numeric:
		return AppendDecimalKey(dst, DecodeDecimal(b))
	case JSONB:
		return AppendJSONBKey(dst, b)
	case Bpchar:
		return appendEscaped(dst, bytes.TrimRight(b, " "))
	case Array:
		return appendArrayKey(dst, t, b)
	case Record:
		return appendRecordKey(dst, b)
	}
	switch {
	case t.IsRange():
		return appendRangeKey(dst, t, b)
	case t.IsMultirange():
		return appendArrayKey(dst, t.RangeType().ArrayType(), b)
	}
	return appendEscaped(dst, b)
}

// appendArrayKey orders by elements first, then by their number, then by the
// shape, as PostgreSQL's array_cmp does; NULL elements come last.
func appendArrayKey(dst []byte, t T, b []byte) []byte {
	v := ViewArray(b)
	for i := range v.n {
		if e, null := v.At(i); null {
			dst = append(dst, keyNullLast)
		} else {
			dst = appendElemKey(append(dst, keyValue), t.ElemType(), e)
		}
	}
	dst = append(dst, 0, byte(v.Dims()))
	for i := range v.Dims() {
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.DimLen(i)))
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.Lower(i))^1<<31)
	}
	return dst
}

func appendRecordKey(dst []byte, b []byte) []byte {
	v := ViewRecord(b)
	for i := range v.Len() {
		if e, null := v.At(i); null {
			dst = append(dst, keyNullLast)
		} else {
			dst = appendElemKey(append(dst, keyValue), v.Type(i), e)
		}
	}
	return append(dst, 0)
}

// DecodeKey reads one value that AppendKey wrote with desc false, for types
// whose keys lose nothing (not interval, jsonb, arrays, records; numeric loses
// its scale, char(n) its padding). ok false: malformed or such a type.
func DecodeKey(t T, b []byte) (d Datum, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, b, false
	}
	prefix := b[0]
	b = b[1:]
	if prefix != keyValue {
		return nil, b, prefix == keyNullFirst || prefix == keyNullLast
	}
	switch k := t.Kind(); k {
	case KBool:
		if len(b) < 1 {
			return nil, b, false
		}
		return b[0] != 0, b[1:], true
	case KInt16, KInt32, KInt64, KFloat32, KFloat64:
		if len(b) < 8 {
			return nil, b, false
		}
		return fixedFromKey(k, binary.BigEndian.Uint64(b)), b[8:], true
	case KUUID:
		if len(b) < 16 {
			return nil, b, false
		}
		return UUIDValue(b[:16]), b[16:], true
	case KBytes:
		switch t.ID {
		case Numeric:
			dec, rest, ok := DecodeDecimalKey(b)
			return DecimalDatum(dec), rest, ok
		case JSONB, Array, Record:
			return nil, b, false
		}
		if t.IsRange() || t.IsMultirange() {
			return nil, b, false
		}
		if c := codecs[t.ID]; c != nil && c.unkey != nil {
			s, rest, ok := c.unkey(b)
			return s, rest, ok
		}
		s, rest, ok := decodeEscaped(b)
		return s, rest, ok
	}
	return nil, b, false
}

func fixedFromKey(k Kind, u uint64) Datum {
	i := int64(u ^ 1<<63)
	f := u
	if u>>63 != 0 {
		f ^= 1 << 63
	} else {
		f = ^u
	}
	switch k {
	case KInt16:
		return int16(i)
	case KInt32:
		return int32(i)
	case KFloat32:
		return float32(math.Float64frombits(f))
	case KFloat64:
		return math.Float64frombits(f)
	}
	return i
}

func decodeEscaped(b []byte) (string, []byte, bool) {
	var out []byte
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 || i+1 >= len(b) {
			return "", b, false
		}
		out = append(out, b[:i]...)
		switch b[i+1] {
		case 1:
			return string(out), b[i+2:], true
		case 0xff:
			out = append(out, 0)
		default:
			return "", b, false
		}
		b = b[i+2:]
	}
}

// Compare orders two values of type t as SQL does, text bytewise; a NULL is
// above every value.
func Compare(t T, a, b Datum) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	switch x := a.(type) {
	case int16:
		return cmpInt(x, b.(int16))
	case int32:
		return cmpInt(x, b.(int32))
	case int64:
		return cmpInt(x, b.(int64))
	case float64:
		return CompareFloat64(x, b.(float64))
	case float32:
		return CompareFloat64(float64(x), float64(b.(float32)))
	case IntervalValue:
		return CompareInterval(x, b.(IntervalValue))
	case string:
		return CompareBytes(t, []byte(x), []byte(b.(string)))
	}
	return bytes.Compare(appendKeyValue(nil, t, a), appendKeyValue(nil, t, b))
}

// CompareFloat64 orders floats with NaN equal to itself and above all.
func CompareFloat64(a, b float64) int { return cmpInt(floatBits(a), floatBits(b)) }

// CompareBytes orders two values of a type whose kind is KBytes.
func CompareBytes(t T, a, b []byte) int {
	if c := codecs[t.ID]; c != nil && !c.ordersByBytes() {
		return c.compare(a, b)
	}
	switch t.ID {
	case Numeric:
		return DecodeDecimal(a).Cmp(DecodeDecimal(b))
	case Bpchar:
		return bytes.Compare(bytes.TrimRight(a, " "), bytes.TrimRight(b, " "))
	case JSONB, Array, Record:
		return bytes.Compare(appendKeyBytesKind(nil, t, a), appendKeyBytesKind(nil, t, b))
	}
	if t.IsRange() || t.IsMultirange() {
		return bytes.Compare(appendKeyBytesKind(nil, t, a), appendKeyBytesKind(nil, t, b))
	}
	return bytes.Compare(a, b)
}
