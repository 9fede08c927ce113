package types

import (
	"encoding/binary"
	"math"

	"github.com/streamdb/streamdb/pgerr"
)

// AppendBinary appends a value's binary wire form, as the type's send function
// does. A NULL appends nothing.
func AppendBinary(dst []byte, t T, d Datum) []byte {
	be := binary.BigEndian
	switch v := d.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case int16:
		return be.AppendUint16(dst, uint16(v))
	case int32:
		return be.AppendUint32(dst, uint32(v))
	case int64:
		if t.ID == Enum {
			return append(dst, EnumLabel(t, v)...)
		}
		if t.Size() == 4 {
			return be.AppendUint32(dst, uint32(v))
		}
		return be.AppendUint64(dst, uint64(v))
	case float32:
		return AppendFloat32Binary(dst, v)
	case float64:
		return AppendFloat64Binary(dst, v)
	case IntervalValue:
		dst = be.AppendUint64(dst, uint64(v.Micros))
		return be.AppendUint32(be.AppendUint32(dst, uint32(v.Days)), uint32(v.Months))
	case UUIDValue:
		return append(dst, v[:]...)
	case string:
		return AppendBinaryBytes(dst, t, []byte(v))
	}
	return dst
}

// AppendFloat64Binary appends eight bytes; of all NaNs clients see the one that
// PostgreSQL makes.
func AppendFloat64Binary(dst []byte, v float64) []byte {
	b := math.Float64bits(v)
	if v != v {
		b = 0x7ff8000000000000
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

// AppendFloat32Binary appends four bytes, of NaNs like AppendFloat64Binary.
func AppendFloat32Binary(dst []byte, v float32) []byte {
	b := math.Float32bits(v)
	if v != v {
		b = 0x7fc00000
	}
	return binary.BigEndian.AppendUint32(dst, b)
}

// AppendBinaryBytes is AppendBinary for the types whose kind is KBytes.
func AppendBinaryBytes(dst []byte, t T, b []byte) []byte {
	if c := codecs[t.ID]; c != nil {
		return c.binary(dst, b)
	}
	switch t.ID {
	case Numeric:
		return AppendDecimalBinary(dst, DecodeDecimal(b))
	case JSONB, JSONPath:
		return append(append(dst, 1), b...)
	case Array:
		return appendArrayBinary(dst, t, b)
	case Record:
		return appendRecordBinary(dst, b)
	}
	switch {
	case t.IsRange():
		return appendRangeBinary(dst, t, b)
	case t.IsMultirange():
		return appendMultirangeBinary(dst, t, b)
	}
	return append(dst, b...)
}

// appendSized appends an element with its four bytes of length.
func appendSized(dst []byte, t T, b []byte, null bool) []byte {
	if null {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if t.Kind() == KBytes {
		dst = AppendBinaryBytes(dst, t, b)
	} else {
		dst = AppendBinary(dst, t, ElemDatum(t.Kind(), b))
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendArrayBinary(dst []byte, t T, a []byte) []byte {
	be := binary.BigEndian
	v, elem := ViewArray(a), t.ElemType()
	nulls := uint32(0)
	for i := range v.n {
		if _, null := v.At(i); null {
			nulls = 1
		}
	}
	dst = be.AppendUint32(dst, uint32(v.Dims()))
	dst = be.AppendUint32(dst, nulls)
	dst = be.AppendUint32(dst, elem.OID())
	for i := range v.Dims() {
		dst = be.AppendUint32(dst, uint32(v.DimLen(i)))
		dst = be.AppendUint32(dst, uint32(v.Lower(i)))
	}
	for i := range v.n {
		b, null := v.At(i)
		dst = appendSized(dst, elem, b, null)
	}
	return dst
}

func appendRecordBinary(dst []byte, rec []byte) []byte {
	v := ViewRecord(rec)
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.Len()))
	for i := range v.Len() {
		dst = binary.BigEndian.AppendUint32(dst, v.Type(i).OID())
		b, null := v.At(i)
		dst = appendSized(dst, v.Type(i), b, null)
	}
	return dst
}

func errBinary() *pgerr.Error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format")
}

// ParseBinary reads a value's binary wire form, modifier included; b is not kept.
func ParseBinary(t T, b []byte) (Datum, error) {
	be := binary.BigEndian
	t = t.Underlying()
	if t.ID == Enum {
		return box(ParseEnum(t, string(b)))
	}
	if n := t.Size(); n > 0 && t.Kind() != KBytes && len(b) != int(n) {
		return nil, errBinary()
	}
	switch t.Kind() {
	case KBool:
		return b[0] != 0, nil
	case KInt16:
		return int16(be.Uint16(b)), nil
	case KInt32:
		v := int32(be.Uint32(b))
		if t.ID == Date && v != DateInfinity && v != DateNegInfinity && (v < minDateDays || v >= maxDateDays) {
			return nil, errTypeRange("date")
		}
		return v, nil
	case KInt64:
		if t.Size() == 4 {
			return int64(be.Uint32(b)), nil
		}
		return checkBinaryInt64(t, int64(be.Uint64(b)))
	case KFloat32:
		return math.Float32frombits(be.Uint32(b)), nil
	case KFloat64:
		return math.Float64frombits(be.Uint64(b)), nil
	case KInterval:
		return IntervalValue{Micros: int64(be.Uint64(b)), Days: int32(be.Uint32(b[8:])), Months: int32(be.Uint32(b[12:]))}, nil
	case KUUID:
		return UUIDValue(b), nil
	}
	return parseBinaryBytes(t, b)
}

func checkBinaryInt64(t T, v int64) (Datum, error) {
	switch t.ID {
	case Time:
		if v < 0 || v > usPerDay {
			return nil, errTypeRange("time")
		}
		return RoundMicros(v, int(t.Mod)), nil
	case Timestamp, Timestamptz:
		if v != TimestampInfinity && v != TimestampNegInfinity && (v < minTS || v >= maxTS) {
			return nil, errTypeRange("timestamp")
		}
		return RoundMicros(v, int(t.Mod)), nil
	}
	return v, nil
}

func parseBinaryBytes(t T, b []byte) (Datum, error) {
	if c := codecs[t.ID]; c != nil {
		return box(c.parseBinary(b, t))
	}
	switch t.ID {
	case Numeric:
		d, err := ParseDecimalBinary(b)
		if err == nil {
			d, err = d.Typmod(t.Mod)
		}
		if err != nil {
			return nil, err
		}
		return DecimalDatum(d), nil
	case Bytea:
		return string(b), nil
	case JSONB, JSONPath:
		if len(b) == 0 || b[0] != 1 {
			v := 0
			if len(b) > 0 {
				v = int(b[0])
			}
			return nil, pgerr.New(pgerr.Internal, "unsupported %s version number %d", t.Base(), v)
		}
		b = b[1:]
	case Array:
		return parseArrayBinary(t, b)
	case Record:
		return parseRecordBinary(t, b)
	}
	switch {
	case t.IsRange():
		return parseRangeBinary(t, b)
	case t.IsMultirange():
		return parseMultirangeBinary(t, b)
	}
	s := string(b)
	if err := CheckText(s); err != nil {
		return nil, err
	}
	return ParseText(t, s, nil)
}

func parseArrayBinary(t T, b []byte) (Datum, error) {
	be := binary.BigEndian
	if len(b) < 12 {
		return nil, errBinary()
	}
	nd := int(be.Uint32(b))
	if nd < 0 || nd > maxDims || len(b) < 12+8*nd {
		return nil, errBinary()
	}
	if got := be.Uint32(b[8:]); got != t.ElemType().OID() {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "binary data has array element type %d instead of expected %d", got, t.ElemType().OID())
	}
	b = b[12:]
	var out ArrayBuilder
	n := min(nd, 1)
	for range nd {
		l := int(int32(be.Uint32(b)))
		if l < 0 || l > len(b) || n*l > 1<<27 {
			return nil, errBinary()
		}
		n *= l
		out.dims = append(out.dims, [2]int{l, int(int32(be.Uint32(b[4:])))})
		b = b[8:]
	}
	for range n {
		if len(b) < 4 {
			return nil, errBinary()
		}
		l := int(int32(be.Uint32(b)))
		b = b[4:]
		if l == -1 {
			out.AddNull()
			continue
		}
		if l < 0 || l > len(b) {
			return nil, errBinary()
		}
		d, err := ParseBinary(t.ElemType(), b[:l])
		if err != nil {
			return nil, err
		}
		out.AddDatum(d)
		b = b[l:]
	}
	if len(b) != 0 {
		return nil, errBinary()
	}
	return string(out.Append(nil)), nil
}
