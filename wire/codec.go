package wire

import (
	"unsafe"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// parseText reads a value of the text format. b may be reused afterwards.
func parseText(t types.T, b []byte, o *types.Options) (types.Datum, error) {
	s := string(b)
	if err := types.CheckText(s); err != nil {
		return nil, err
	}
	return types.ParseText(t, s, o)
}

// parseBinary reads a value of the binary format. b may be reused afterwards. A
// value of fixed size that is too short is 08P01, as in PostgreSQL, one that is
// too long 22P03. An enum comes as its label.
func parseBinary(t types.T, b []byte) (types.Datum, error) {
	if n := int(t.Size()); n > 0 && t.Kind() != types.KBytes && t.ID != types.Enum && len(b) < n {
		return nil, errShort
	}
	return types.ParseBinary(t, b)
}

var errShort = pgerr.New(pgerr.ProtocolViolation, "insufficient data left in message")

// appendText appends a value of the text format to a vector, without
// allocating for the types that most columns have.
func appendText(v vec.Vector, b []byte, o *types.Options) error {
	// The parsers keep nothing of their argument, so it may share b's memory.
	s := unsafe.String(unsafe.SliceData(b), len(b))
	if err := types.CheckText(s); err != nil {
		return err
	}
	t := v.Type()
	switch c := v.(type) {
	case *vec.Col[int32]:
		if t.ID == types.Int4 {
			x, err := types.ParseInt4(s)
			if err == nil {
				c.Vals = append(c.Vals, x)
			}
			return err
		}
	case *vec.Col[int64]:
		if t.ID == types.Int8 {
			x, err := types.ParseInt8(s)
			if err == nil {
				c.Vals = append(c.Vals, x)
			}
			return err
		}
	case *vec.Col[float64]:
		x, err := types.ParseFloat8(s)
		if err == nil {
			c.Vals = append(c.Vals, x)
		}
		return err
	case *vec.Bytes:
		if t.ID == types.Text || t.ID == types.Varchar && t.Mod < 0 {
			c.Append(b)
			return nil
		}
	}
	d, err := types.ParseText(t, string(b), o)
	if err == nil {
		v.AppendDatum(d)
	}
	return err
}

// textGeneral and binGeneral encode the types without an encoder of their own.

func textGeneral(dst []byte, v vec.Vector, i int, o *types.Options) []byte {
	switch c := v.(type) {
	case *vec.Bytes:
		return types.AppendTextBytes(dst, c.Typ, c.At(i), o)
	case *vec.Col[int64]:
		return types.AppendTextInt64(dst, c.Typ, c.Vals[i], o)
	}
	return types.AppendText(dst, v.Type(), v.Datum(i), o)
}

func binGeneral(dst []byte, v vec.Vector, i int, _ *types.Options) []byte {
	if c, ok := v.(*vec.Bytes); ok {
		return types.AppendBinaryBytes(dst, c.Typ, c.At(i))
	}
	return types.AppendBinary(dst, v.Type(), v.Datum(i))
}
