package json

import (
	"bytes"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Encoder writes rows as objects, values as to_json of PostgreSQL does in time
// zone UTC: numbers with their scale, booleans, json as it is, arrays as arrays,
// dates and times in ISO 8601, and everything else as the string of its text
// form. It belongs to one goroutine.
type Encoder struct {
	heads [][]byte // `"name":`
	text  []byte
	opt   types.Options
}

// NewEncoder makes an encoder of rows with the given columns.
func NewEncoder(cols []connector.Column) *Encoder {
	e := &Encoder{}
	for _, c := range cols {
		e.heads = append(e.heads, append(types.AppendJSONString(nil, c.Name), ':'))
	}
	return e
}

// AppendObject appends the object of columns cols of row i; nil means all.
func (e *Encoder) AppendObject(dst []byte, c *vec.Chunk, cols []int, i int) []byte {
	dst = append(dst, '{')
	n := len(cols)
	if cols == nil {
		n = len(c.Cols)
	}
	for j := range n {
		k := j
		if cols != nil {
			k = cols[j]
		}
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.heads[k]...)
		dst = e.value(dst, c.Cols[k], i)
	}
	return append(dst, '}')
}

func (e *Encoder) value(dst []byte, v vec.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	t := v.Type()
	switch c := v.(type) {
	case *vec.Col[int64]:
		return e.int64(dst, t, c.Vals[i])
	case *vec.Col[int32]:
		return e.int32(dst, t, c.Vals[i])
	case *vec.Col[int16]:
		return types.AppendInt(dst, int64(c.Vals[i]))
	case *vec.Col[float64]:
		e.text = types.AppendFloat64(e.text[:0], c.Vals[i])
		return appendNumber(dst, e.text)
	case *vec.Col[bool]:
		return appendBool(dst, c.Vals[i])
	case *vec.Bytes:
		return e.bytes(dst, t, c.At(i))
	}
	return e.datum(dst, t, v.Datum(i))
}

func (e *Encoder) int64(dst []byte, t types.T, x int64) []byte {
	switch t.ID {
	case types.Int8, types.Oid:
		return types.AppendInt(dst, x)
	case types.Timestamp, types.Timestamptz:
		return appendISO(dst, x, t.ID == types.Timestamptz)
	case types.Enum:
		return types.AppendJSONString(dst, types.EnumLabel(t, x))
	}
	dst = append(dst, '"')
	return append(types.AppendTextInt64(dst, t, x, &e.opt), '"')
}

func (e *Encoder) int32(dst []byte, t types.T, x int32) []byte {
	if t.ID != types.Date {
		return types.AppendInt(dst, int64(x))
	}
	dst = append(dst, '"')
	return append(types.AppendDate(dst, x), '"')
}

// appendISO appends 2024-01-02T03:04:05.678, with +00:00 if zoned; the word of an
// infinite time stays as it is.
func appendISO(dst []byte, us int64, zoned bool) []byte {
	dst = append(dst, '"')
	from := len(dst)
	dst = types.AppendTimestamp(dst, us)
	at := bytes.IndexByte(dst[from:], ' ')
	if at < 0 {
		return append(dst, '"')
	}
	dst[from+at] = 'T'
	if !zoned {
		return append(dst, '"')
	}
	if bc := []byte(" BC"); bytes.HasSuffix(dst, bc) {
		return append(append(dst[:len(dst)-len(bc)], "+00:00 BC"...), '"')
	}
	return append(dst, "+00:00\""...)
}

// bytes appends a value of a type of variable width.
func (e *Encoder) bytes(dst []byte, t types.T, b []byte) []byte {
	switch t.ID {
	case types.JSON, types.JSONB:
		return append(dst, b...)
	case types.Text, types.Varchar, types.Bpchar, types.Name:
		return types.AppendJSONString(dst, b)
	case types.Array:
		v := types.ViewArray(b)
		dst, _ = e.array(dst, t.ElemType(), &v, 0, 0)
		return dst
	case types.Record:
		return e.record(dst, t, b)
	}
	e.text = types.AppendTextBytes(e.text[:0], t, b, &e.opt)
	if t.ID == types.Numeric {
		return appendNumber(dst, e.text)
	}
	return types.AppendJSONString(dst, e.text)
}

// appendNumber appends a number's text; NaN and the infinities become strings.
func appendNumber(dst, text []byte) []byte {
	if d := text[len(text)-1]; d-'0' <= 9 {
		return append(dst, text...)
	}
	return append(append(append(dst, '"'), text...), '"')
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// datum appends one boxed value that is not NULL.
func (e *Encoder) datum(dst []byte, t types.T, d types.Datum) []byte {
	switch x := d.(type) {
	case int64:
		return e.int64(dst, t, x)
	case int32:
		return e.int32(dst, t, x)
	case int16:
		return types.AppendInt(dst, int64(x))
	case bool:
		return appendBool(dst, x)
	case string:
		return e.bytes(dst, t, []byte(x))
	}
	e.text = types.AppendText(e.text[:0], t, d, &e.opt)
	if t.ID == types.Float4 || t.ID == types.Float8 {
		return appendNumber(dst, e.text)
	}
	return types.AppendJSONString(dst, e.text)
}

// record appends an object.
func (e *Encoder) record(dst []byte, t types.T, b []byte) []byte {
	v := types.ViewRecord(b)
	dst = append(dst, '{')
	for i, f := range t.Fields() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(types.AppendJSONString(dst, f.Name), ':')
		x, null := v.At(i)
		switch {
		case null:
			dst = append(dst, "null"...)
		case f.Typ.Kind() == types.KBytes:
			dst = e.bytes(dst, f.Typ, x)
		default:
			dst = e.datum(dst, f.Typ, types.ElemDatum(f.Typ.Kind(), x))
		}
	}
	return append(dst, '}')
}

// array appends dimension dim of an array from element at on, and returns the
// element after it.
func (e *Encoder) array(dst []byte, elem types.T, v *types.ArrayView, dim, at int) ([]byte, int) {
	dst = append(dst, '[')
	n := 0
	if dim < v.Dims() {
		n = v.DimLen(dim)
	}
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dim < v.Dims()-1 {
			dst, at = e.array(dst, elem, v, dim+1, at)
			continue
		}
		b, null := v.At(at)
		at++
		switch {
		case null:
			dst = append(dst, "null"...)
		case elem.Kind() == types.KBytes:
			dst = e.bytes(dst, elem, b)
		default:
			dst = e.datum(dst, elem, types.ElemDatum(elem.Kind(), b))
		}
	}
	return append(dst, ']'), at
}
