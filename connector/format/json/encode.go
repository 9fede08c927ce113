package json

import (
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Encoder writes rows as objects: numbers and booleans as JSON has them, jsonb as
// it is, arrays as arrays, everything else as the string of its text form, with
// times in UTC.
type Encoder struct {
	heads [][]byte // `"name":`
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
		if t.ID == types.Int8 || t.ID == types.Oid {
			return types.AppendInt(dst, c.Vals[i])
		}
		n := len(dst)
		dst = append(dst, '"')
		return append(types.AppendTextInt64(dst[:n+1], t, c.Vals[i], &e.opt), '"')
	case *vec.Col[int32]:
		if t.ID == types.Int4 {
			return types.AppendInt(dst, int64(c.Vals[i]))
		}
	case *vec.Col[int16]:
		return types.AppendInt(dst, int64(c.Vals[i]))
	case *vec.Col[bool]:
		if c.Vals[i] {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case *vec.Bytes:
		b := c.At(i)
		switch t.ID {
		case types.JSON, types.JSONB:
			return append(dst, b...)
		case types.Text, types.Varchar, types.Bpchar, types.Name:
			return types.AppendJSONString(dst, b)
		}
	}
	return e.datum(dst, t, v.Datum(i))
}

func (e *Encoder) datum(dst []byte, t types.T, d types.Datum) []byte {
	if d == nil {
		return append(dst, "null"...)
	}
	if t.ID == types.Array {
		return e.array(dst, t, d)
	}
	text := types.AppendText(nil, t, d, &e.opt)
	if isNumber(t) && len(text) > 0 && (text[0] == '-' && len(text) > 1 && text[1]-'0' <= 9 || text[0]-'0' <= 9) {
		return append(dst, text...)
	}
	if t.ID == types.Bool {
		if d.(bool) {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	}
	if t.ID == types.JSONB || t.ID == types.JSON {
		return append(dst, text...)
	}
	return types.AppendJSONString(dst, text)
}

// isNumber: NaN and the infinities of these types become strings.
func isNumber(t types.T) bool {
	switch t.ID {
	case types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric, types.Oid:
		return true
	}
	return false
}

func (e *Encoder) array(dst []byte, t types.T, d types.Datum) []byte {
	dst = append(dst, '[')
	for i, x := range types.ArrayElems(t, d) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.datum(dst, t.ElemType(), x)
	}
	return append(dst, ']')
}
