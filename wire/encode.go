package wire

import (
	"encoding/binary"
	"strconv"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// encoder appends the wire form of row i of v, which is not NULL. It must not
// allocate for the types that results are made of.
type encoder func(dst []byte, v vec.Vector, i int, o *types.Options) []byte

// typlen is the size RowDescription tells.
func typlen(c Column) int16 {
	if c.Type.ID == types.Array {
		return -1
	}
	return c.Type.Size()
}

// encoderOf picks the encoder of a type in a format.
func encoderOf(t types.T, format int16) encoder {
	if format == 1 {
		return binaryEncoder(t)
	}
	return textEncoder(t)
}

func textEncoder(t types.T) encoder {
	switch t.ID {
	case types.Bool:
		return textBool
	case types.Int2:
		return textInt[int16]
	case types.Int4:
		return textInt[int32]
	case types.Int8, types.Oid:
		return textInt[int64]
	case types.Text, types.Varchar, types.Name, types.JSON, types.JSONB, types.JSONPath, types.Bpchar, types.Unknown:
		return raw
	case types.Numeric:
		return textNumeric
	case types.Bytea:
		return textBytea
	case types.Date:
		return textDate
	case types.Time:
		return textTime
	case types.Timestamp:
		return textTimestamp
	case types.Timestamptz:
		return textTimestamptz()
	case types.Float8:
		return textFloat8
	case types.Float4:
		return textFloat4
	}
	return textGeneral
}

func binaryEncoder(t types.T) encoder {
	switch t.ID {
	case types.Bool:
		return binBool
	case types.Int2:
		return bin2
	case types.Int4, types.Date:
		return bin4
	case types.Int8, types.Money, types.Time, types.Timestamp, types.Timestamptz:
		return bin8
	case types.Oid:
		return binOid
	case types.Float4:
		return binFloat4
	case types.Float8:
		return binFloat8
	case types.Text, types.Varchar, types.Name, types.JSON, types.Bpchar, types.Char, types.Bytea, types.Unknown:
		return raw
	case types.JSONB:
		return binJSONB
	case types.Numeric:
		return binNumeric
	case types.Interval:
		return binInterval
	case types.UUID:
		return binUUID
	}
	if t.ID.IsReg() {
		return binOid
	}
	return binGeneral
}

func raw(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return append(dst, v.(*vec.Bytes).At(i)...)
}

func textBool(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	if v.(*vec.Col[bool]).Vals[i] {
		return append(dst, 't')
	}
	return append(dst, 'f')
}

func textInt[T int16 | int32 | int64](dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return strconv.AppendInt(dst, int64(any(v).(*vec.Col[T]).Vals[i]), 10)
}

func textNumeric(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return types.AppendDecimalText(dst, types.DecodeDecimal(v.(*vec.Bytes).At(i)))
}

func textBytea(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
	b := v.(*vec.Bytes).At(i)
	if o != nil && o.ByteaEscape {
		return textGeneral(dst, v, i, o)
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '\\', 'x')
	for _, x := range b {
		dst = append(dst, hex[x>>4], hex[x&15])
	}
	return dst
}

func textDate(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
	return types.AppendDateStyle(dst, v.(*vec.Col[int32]).Vals[i], o)
}

func textTime(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return types.AppendTime(dst, v.(*vec.Col[int64]).Vals[i])
}

func textTimestamp(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
	return types.AppendTimestampStyle(dst, v.(*vec.Col[int64]).Vals[i], o)
}

// textTimestamptz makes an encoder with a zone for sessions without one.
func textTimestamptz() encoder {
	utc := types.UTC()
	return func(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
		z := utc
		if o != nil && o.DateStyle != "" {
			return types.AppendTimestamptzStyle(dst, v.(*vec.Col[int64]).Vals[i], o)
		}
		if o != nil && o.Zone != nil {
			z = o.Zone
		}
		return types.AppendTimestamptz(dst, v.(*vec.Col[int64]).Vals[i], z)
	}
}

func textFloat8(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
	if o != nil && o.ExtraFloatDigits < 0 {
		return textGeneral(dst, v, i, o)
	}
	return types.AppendFloat64(dst, v.(*vec.Col[float64]).Vals[i])
}

func textFloat4(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
	if o != nil && o.ExtraFloatDigits < 0 {
		return textGeneral(dst, v, i, o)
	}
	return types.AppendFloat32(dst, v.(*vec.Col[float32]).Vals[i])
}

func binBool(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	if v.(*vec.Col[bool]).Vals[i] {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func bin2(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return binary.BigEndian.AppendUint16(dst, uint16(v.(*vec.Col[int16]).Vals[i]))
}

func bin4(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v.(*vec.Col[int32]).Vals[i]))
}

func bin8(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v.(*vec.Col[int64]).Vals[i]))
}

func binOid(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v.(*vec.Col[int64]).Vals[i]))
}

func binFloat4(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return types.AppendFloat32Binary(dst, v.(*vec.Col[float32]).Vals[i])
}

func binFloat8(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return types.AppendFloat64Binary(dst, v.(*vec.Col[float64]).Vals[i])
}

func binJSONB(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return append(append(dst, 1), v.(*vec.Bytes).At(i)...)
}

func binNumeric(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	return types.AppendDecimalBinary(dst, types.DecodeDecimal(v.(*vec.Bytes).At(i)))
}

func binInterval(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	x := v.(*vec.Col[types.IntervalValue]).Vals[i]
	dst = binary.BigEndian.AppendUint64(dst, uint64(x.Micros))
	dst = binary.BigEndian.AppendUint32(dst, uint32(x.Days))
	return binary.BigEndian.AppendUint32(dst, uint32(x.Months))
}

func binUUID(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	u := v.(*vec.Col[types.UUIDValue]).Vals[i]
	return append(dst, u[:]...)
}
