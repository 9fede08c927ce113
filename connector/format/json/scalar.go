package json

import (
	"encoding/hex"
	"unicode/utf8"
	"unsafe"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// borrow lends b to a parser that does not keep its argument.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// value appends one raw JSON value.
func (d *Decoder) value(v vec.Vector, raw []byte) error {
	if raw[0] == 'n' {
		v.AppendNull()
		return nil
	}
	switch c := v.(type) {
	case *vec.Col[int64]:
		return d.int64(c, raw)
	case *vec.Col[int32]:
		if c.Typ.ID == types.Date {
			return d.date(c, raw)
		}
		n, err := d.integer(c.Typ, raw, 32)
		if err == nil {
			c.Vals = append(c.Vals, int32(n))
		}
		return err
	case *vec.Col[int16]:
		n, err := d.integer(c.Typ, raw, 16)
		if err == nil {
			c.Vals = append(c.Vals, int16(n))
		}
		return err
	case *vec.Col[bool]:
		if raw[0] == 't' || raw[0] == 'f' {
			c.Vals = append(c.Vals, raw[0] == 't')
			return nil
		}
	case *vec.Bytes:
		return d.bytes(c, raw)
	}
	return d.fixed(v, raw)
}

// scalar returns the text of a string, number or boolean; an object or array is
// an error.
func (d *Decoder) scalar(t types.T, raw []byte) ([]byte, error) {
	switch raw[0] {
	case '"':
		return d.unquote(raw)
	case '{':
		return nil, pgerr.New(pgerr.DatatypeMismatch, "a JSON object is not a value of type %s", t)
	case '[':
		return nil, pgerr.New(pgerr.DatatypeMismatch, "a JSON array is not a value of type %s", t)
	}
	return raw, nil
}

func (d *Decoder) int64(c *vec.Col[int64], raw []byte) error {
	var n int64
	var err error
	switch c.Typ.ID {
	case types.Int8, types.Oid:
		n, err = d.integer(c.Typ, raw, 64)
	case types.Timestamp, types.Timestamptz:
		n, err = d.timestamp(c.Typ, raw)
	default:
		return d.fixed(c, raw)
	}
	if err == nil {
		c.Vals = append(c.Vals, n)
	}
	return err
}

// integer reads a number that is integral, however it is written, or a string
// that is an integer's text form.
func (d *Decoder) integer(t types.T, raw []byte, width int) (int64, error) {
	if n, ok := parseInt(raw); ok && n<<(64-width)>>(64-width) == n && t.ID != types.Oid {
		return n, nil
	}
	text, err := d.scalar(t, raw)
	if err != nil {
		return 0, err
	}
	if raw[0] == '"' || raw[0] == 't' || raw[0] == 'f' || t.ID == types.Oid {
		x, err := types.ParseText(t, string(text), &d.opt)
		if err != nil {
			return 0, err
		}
		switch x := x.(type) {
		case int16:
			return int64(x), nil
		case int32:
			return int64(x), nil
		}
		return x.(int64), nil
	}
	dec, err := types.ParseDecimal(borrow(text))
	if err != nil {
		return 0, err
	}
	n, ok := dec.Int64()
	if !ok && dec.MinScale() > 0 || ok && dec.Cmp(types.DecimalFromInt64(n)) != 0 {
		return 0, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t, Short(text))
	}
	if !ok || n<<(64-width)>>(64-width) != n {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", Short(text), t)
	}
	return n, nil
}

// parseInt reads a plain integer of at most 18 digits.
func parseInt(b []byte) (int64, bool) {
	neg := b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// fixed appends a fixed-width value by its text form.
func (d *Decoder) fixed(v vec.Vector, raw []byte) error {
	t := v.Type()
	text, err := d.scalar(t, raw)
	if err != nil {
		return err
	}
	switch c := v.(type) {
	case *vec.Col[float64]:
		x, err := types.ParseFloat8(borrow(text))
		if err == nil {
			c.Vals = append(c.Vals, x)
		}
		return err
	case *vec.Col[float32]:
		x, err := types.ParseFloat4(borrow(text))
		if err == nil {
			c.Vals = append(c.Vals, x)
		}
		return err
	case *vec.Col[types.UUIDValue]:
		x, err := types.ParseUUID(borrow(text))
		if err == nil {
			c.Vals = append(c.Vals, x)
		}
		return err
	}
	x, err := types.ParseText(t, string(text), &d.opt)
	if err != nil {
		return err
	}
	v.AppendDatum(x)
	return nil
}

// bytes appends a value of variable width.
func (d *Decoder) bytes(c *vec.Bytes, raw []byte) error {
	t := c.Typ
	if d.Debezium && raw[0] == '"' {
		if done, err := d.encoded(c, raw); done {
			return err
		}
	}
	switch t.ID {
	case types.JSON, types.JSONB:
		return d.json(c, raw)
	case types.Array:
		if raw[0] == '[' {
			x, err := d.array(t, raw)
			if err == nil {
				c.AppendString(x)
			}
			return err
		}
	case types.Text, types.Varchar, types.Bpchar, types.Name:
		// As ->> does it, an object's text is its JSON.
		if raw[0] == '{' || raw[0] == '[' {
			if !utf8.Valid(raw) {
				return errEncoding
			}
			return d.textual(c, raw)
		}
	}
	text, err := d.scalar(t, raw)
	if err != nil {
		return err
	}
	return d.textual(c, text)
}

// textual appends a value by its text form.
func (d *Decoder) textual(c *vec.Bytes, text []byte) error {
	switch t := c.Typ; {
	case t.ID == types.Text, t.ID == types.Varchar && t.Mod < 0:
		c.Append(text)
		return nil
	case t.ID == types.Numeric:
		x, err := types.ParseDecimal(borrow(text))
		if err == nil {
			x, err = x.Typmod(t.Mod)
		}
		if err == nil {
			c.Data = types.AppendDecimal(c.Data, x)
			c.Finish()
		}
		return err
	case t.ID == types.Bytea && len(text) > 1 && text[0] == '\\' && text[1] == 'x':
		n := len(c.Data)
		data, err := hex.AppendDecode(c.Data, text[2:])
		if err == nil {
			c.Data = data
			c.Finish()
			return nil
		}
		c.Data = c.Data[:n] // blanks between digits are for the parser below
	}
	x, err := types.ParseText(c.Typ, string(text), &d.opt)
	if err != nil {
		return err
	}
	c.AppendDatum(x)
	return nil
}

// json appends the raw value itself.
func (d *Decoder) json(c *vec.Bytes, raw []byte) error {
	if !utf8.Valid(raw) {
		return errEncoding
	}
	if c.Typ.ID == types.JSON {
		c.Append(raw)
		return nil
	}
	n := len(c.Data)
	out, err := types.AppendJSONB(c.Data, borrow(raw))
	if err != nil {
		c.Data = c.Data[:n]
		return err
	}
	c.Data = out
	c.Finish()
	return nil
}

// array reads a JSON array as a SQL array, by way of its text form.
func (d *Decoder) array(t types.T, raw []byte) (string, error) {
	text, err := d.appendArrayText(nil, t.ElemType(), raw)
	if err != nil {
		return "", err
	}
	return types.ParseArray(t, string(text), &d.opt)
}

func (d *Decoder) appendArrayText(dst []byte, elem types.T, raw []byte) ([]byte, error) {
	dst = append(dst, '{')
	n := 0
	var failed error
	types.JSONArrayEach(raw, func(val []byte) bool {
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		isJSON := elem.ID == types.JSON || elem.ID == types.JSONB
		text := val
		switch {
		case val[0] == 'n':
			dst = append(dst, "NULL"...)
			return true
		case val[0] == '[' && !isJSON:
			dst, failed = d.appendArrayText(dst, elem, val)
			return failed == nil
		case !isJSON:
			text, failed = d.scalar(elem, val)
		case !utf8.Valid(val):
			failed = errEncoding
		}
		dst = append(dst, '"')
		for _, c := range text {
			if c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
		dst = append(dst, '"')
		return failed == nil
	})
	return append(dst, '}'), failed
}
