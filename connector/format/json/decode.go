package json

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Decoder decodes objects into rows of fixed columns. It belongs to one
// goroutine.
type Decoder struct {
	cols   []connector.Column
	names  map[string]int
	folded map[string]int
	vals   []span // of the present record, by column
	next   int    // where the next field is expected: records repeat their order
	buf    []byte
	opt    types.Options
}

// span is a field's raw value in the record; to 0: missing.
type span struct{ from, to int }

// NewDecoder makes a decoder of the given columns.
func NewDecoder(cols []connector.Column) *Decoder {
	d := &Decoder{cols: cols, names: map[string]int{}, folded: map[string]int{}, vals: make([]span, len(cols))}
	for i, c := range cols {
		d.names[c.Name] = i
		d.folded[strings.ToLower(c.Name)] = i
	}
	return d
}

// Append appends the object's fields to the columns at of c, one value each, and
// leaves the weight to the caller. On error nothing is appended.
func (d *Decoder) Append(c *vec.Chunk, at []int, rec []byte) error {
	for i := range d.vals {
		d.vals[i] = span{}
	}
	if err := d.fields(rec); err != nil {
		return err
	}
	for i, s := range d.vals {
		v := c.Cols[at[i]]
		err := error(nil)
		if s.to == 0 {
			v.AppendNull()
		} else {
			err = d.value(v, rec[s.from:s.to])
		}
		if err != nil {
			for _, k := range at {
				vec.Truncate(c.Cols[k], c.Rows)
			}
			return pgerr.From(err).WithDetail("Field \"%s\" of the record: %s", d.cols[i].Name, short(rec[s.from:s.to]))
		}
	}
	return nil
}

func short(b []byte) string {
	if len(b) > 100 {
		return string(bytes.ToValidUTF8(b[:100], nil)) + "..."
	}
	return string(bytes.ToValidUTF8(b, nil))
}

// fields finds the values of the columns in the record. Of repeated fields the
// last counts.
func (d *Decoder) fields(b []byte) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errSyntax(b, i)
	}
	i = space(b, i+1)
	d.next = 0
	for first := true; ; first = false {
		if i < len(b) && b[i] == '}' {
			break
		}
		if !first {
			if i >= len(b) || b[i] != ',' {
				return errSyntax(b, i)
			}
			i = space(b, i+1)
		}
		if i >= len(b) || b[i] != '"' {
			return errSyntax(b, i)
		}
		e, escaped, err := str(b, i+1)
		if err != nil {
			return err
		}
		col := d.column(b[i+1:e], escaped)
		if i = space(b, e+1); i >= len(b) || b[i] != ':' {
			return errSyntax(b, i)
		}
		i = space(b, i+1)
		if e, err = value(b, i); err != nil {
			return err
		}
		if col >= 0 {
			d.vals[col] = span{i, e}
		}
		i = space(b, e)
	}
	if i = space(b, i+1); i != len(b) {
		return errSyntax(b, i)
	}
	return nil
}

// column returns the column a field belongs to, or -1.
func (d *Decoder) column(name []byte, escaped bool) int {
	if escaped {
		name = types.JSONUnquote(append(append([]byte{'"'}, name...), '"'))
	}
	if d.next < len(d.cols) && d.cols[d.next].Name == string(name) {
		d.next++
		return d.next - 1
	}
	if i, ok := d.names[string(name)]; ok {
		d.next = i + 1
		return i
	}
	for _, c := range name {
		if c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			if i, ok := d.folded[strings.ToLower(string(name))]; ok {
				return i
			}
			break
		}
	}
	return -1
}

// value appends one raw JSON value.
func (d *Decoder) value(v vec.Vector, raw []byte) error {
	if raw[0] == 'n' {
		v.AppendNull()
		return nil
	}
	switch c := v.(type) {
	case *vec.Col[int64]:
		if c.Typ.ID == types.Int8 {
			if n, ok := parseInt(raw); ok {
				c.Vals = append(c.Vals, n)
				return nil
			}
		}
	case *vec.Col[int32]:
		if c.Typ.ID == types.Int4 {
			if n, ok := parseInt(raw); ok && int64(int32(n)) == n {
				c.Vals = append(c.Vals, int32(n))
				return nil
			}
		}
	case *vec.Col[bool]:
		if raw[0] == 't' || raw[0] == 'f' {
			c.Vals = append(c.Vals, raw[0] == 't')
			return nil
		}
	case *vec.Bytes:
		if done, err := d.bytes(c, raw); done || err != nil {
			return err
		}
	}
	return d.parse(v, raw)
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

// bytes appends text, json and jsonb without a detour.
func (d *Decoder) bytes(c *vec.Bytes, raw []byte) (done bool, err error) {
	switch c.Typ.ID {
	case types.Text:
		s := raw
		if raw[0] == '"' {
			if s, err = d.unquote(raw); err != nil {
				return false, err
			}
		}
		c.Append(s)
		return true, nil
	case types.JSON:
		c.Append(raw)
		return true, nil
	case types.JSONB:
		n := len(c.Data)
		out, err := types.AppendJSONB(c.Data, string(raw))
		if err != nil {
			c.Data = c.Data[:n]
			return false, err
		}
		c.Data = out
		c.Finish()
		return true, nil
	}
	return false, nil
}

// unquote returns the value of a JSON string; it is borrowed until the next call.
func (d *Decoder) unquote(raw []byte) ([]byte, error) {
	s := raw[1 : len(raw)-1]
	if bytes.IndexByte(s, '\\') >= 0 {
		s = types.JSONUnquote(raw)
	}
	if !utf8.Valid(s) {
		return nil, pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\"")
	}
	return s, nil
}

// parse reads a value by the text form of the column's type: numbers and
// booleans as they stand, strings without their quotes; arrays of scalars become
// SQL arrays.
func (d *Decoder) parse(v vec.Vector, raw []byte) error {
	t := v.Type()
	text := raw
	switch {
	case raw[0] == '"':
		s, err := d.unquote(raw)
		if err != nil {
			return err
		}
		text = s
	case raw[0] == '[' && t.ID == types.Array:
		text = arrayText(raw)
	case raw[0] == '{' || raw[0] == '[':
		return pgerr.New(pgerr.DatatypeMismatch, "a JSON %s is not a value of type %s", kindName(raw[0]), t)
	}
	if isIntegral(t) && raw[0] != '"' {
		text = integral(text)
	}
	x, err := types.ParseText(t, string(text), &d.opt)
	if err != nil {
		return err
	}
	v.AppendDatum(x)
	return nil
}

func kindName(c byte) string {
	if c == '{' {
		return "object"
	}
	return "array"
}

func isIntegral(t types.T) bool {
	return t.ID == types.Int2 || t.ID == types.Int4 || t.ID == types.Int8
}

// integral drops a fraction of zeros, which some producers write for integers.
func integral(b []byte) []byte {
	if i := bytes.IndexByte(b, '.'); i > 0 && len(bytes.Trim(b[i+1:], "0")) == 0 {
		return b[:i]
	}
	return b
}

// arrayText rewrites a JSON array as the text form of a SQL array.
func arrayText(raw []byte) []byte {
	out := []byte{'{'}
	n := 0
	types.JSONArrayEach(raw, func(val []byte) bool {
		if n++; n > 1 {
			out = append(out, ',')
		}
		switch val[0] {
		case 'n':
			out = append(out, "NULL"...)
		case '[':
			out = append(out, arrayText(val)...)
		case '"':
			out = append(out, '"')
			for _, c := range types.JSONUnquote(val) {
				if c == '"' || c == '\\' {
					out = append(out, '\\')
				}
				out = append(out, c)
			}
			out = append(out, '"')
		default:
			out = append(out, val...)
		}
		return true
	})
	return append(out, '}')
}
