package json

import (
	"bytes"
	"unicode"
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
	seen   []field      // the fields of earlier records by their place
	vals   []span       // of the present record, by column
	name   []byte       // an unescaped or folded field name
	text   []byte       // an unescaped string
	spare  []vec.Vector // by column: takes the values of columns not asked for
	opt    types.Options
}

// field is what the n-th field of records was: records mostly repeat the order
// of their fields, which saves the look-up.
type field struct {
	name  string
	col   int // -1: none
	exact bool
}

// maxSeen bounds the memory of fields.
const maxSeen = 256

// span is a field's raw value in the record; to 0: missing. Exact tells that the
// field's name is the column's to the letter.
type span struct {
	from, to int
	exact    bool
}

// NewDecoder makes a decoder of the given columns.
func NewDecoder(cols []connector.Column) *Decoder {
	d := &Decoder{cols: cols, names: map[string]int{}, folded: map[string]int{}, vals: make([]span, len(cols))}
	for i, c := range cols {
		d.names[c.Name] = i
		d.folded[string(appendFolded(nil, []byte(c.Name)))] = i
	}
	return d
}

// Append appends the object's fields to the columns at of c, one value each, and
// leaves the weight to the caller. A negative place means that the column's value
// is checked and dropped: whether a record is good must not depend on who reads
// it. On error nothing is appended. Rec is not kept.
func (d *Decoder) Append(c *vec.Chunk, at []int, rec []byte) error {
	clear(d.vals)
	if err := d.fields(rec); err != nil {
		return err
	}
	for i, s := range d.vals {
		v := d.target(c, at, i)
		if s.to == 0 {
			v.AppendNull()
			continue
		}
		if err := d.value(v, rec[s.from:s.to]); err != nil {
			for _, k := range at {
				if k >= 0 {
					vec.Truncate(c.Cols[k], c.Rows)
				}
			}
			return pgerr.From(err).WithDetail("Field \"%s\" of the record: %s", d.cols[i].Name, short(rec[s.from:s.to]))
		}
	}
	return nil
}

func (d *Decoder) target(c *vec.Chunk, at []int, col int) vec.Vector {
	if at[col] >= 0 {
		return c.Cols[at[col]]
	}
	if d.spare == nil {
		d.spare = make([]vec.Vector, len(d.cols))
	}
	if d.spare[col] == nil {
		d.spare[col] = vec.New(d.cols[col].Typ, 1)
	}
	d.spare[col].Reset()
	return d.spare[col]
}

// short makes text for a message of a piece of a record.
func short(b []byte) string {
	if len(b) > 100 {
		return string(bytes.ToValidUTF8(b[:100], []byte("?"))) + "..."
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

// fields finds the values of the columns in the record. Of repeated fields the
// last counts.
func (d *Decoder) fields(b []byte) error {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errSyntax(b, i)
	}
	i = space(b, i+1)
	for n := 0; ; n++ {
		if i < len(b) && b[i] == '}' && n == 0 {
			break
		}
		if i >= len(b) || b[i] != '"' {
			return errSyntax(b, i)
		}
		e, escaped, err := str(b, i+1)
		if err != nil {
			return err
		}
		col, exact := d.field(n, b[i+1:e], escaped)
		if i = space(b, e+1); i >= len(b) || b[i] != ':' {
			return errSyntax(b, i)
		}
		i = space(b, i+1)
		if e, err = value(b, i); err != nil {
			return err
		}
		if col >= 0 && (exact || !d.vals[col].exact) {
			d.vals[col] = span{i, e, exact}
		}
		if i = space(b, e); i < len(b) && b[i] == ',' {
			i = space(b, i+1)
			continue
		}
		if i >= len(b) || b[i] != '}' {
			return errSyntax(b, i)
		}
		break
	}
	if i = space(b, i+1); i != len(b) {
		return errSyntax(b, i)
	}
	return nil
}

// field returns the column the n-th field belongs to, -1 for none.
func (d *Decoder) field(n int, name []byte, escaped bool) (col int, exact bool) {
	if n < len(d.seen) {
		if f := &d.seen[n]; f.name == string(name) {
			return f.col, f.exact
		}
	}
	if escaped {
		var err error
		if d.name, err = appendUnescaped(d.name[:0], name); err != nil {
			return -1, false // no column is named like that
		}
		return d.lookUp(d.name)
	}
	col, exact = d.lookUp(name)
	if n == len(d.seen) && n < maxSeen {
		d.seen = append(d.seen, field{string(name), col, exact})
	}
	return col, exact
}

func (d *Decoder) lookUp(name []byte) (col int, exact bool) {
	if i, ok := d.names[string(name)]; ok {
		return i, true
	}
	d.name = appendFolded(d.name[:0], name)
	if i, ok := d.folded[string(d.name)]; ok {
		return i, false
	}
	return -1, false
}

// appendFolded appends the name in lower case. Dst may share its start.
func appendFolded(dst, name []byte) []byte {
	for len(name) > 0 {
		if c := name[0]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst, name = append(dst, c), name[1:]
			continue
		}
		r, n := utf8.DecodeRune(name)
		name = name[n:]
		// A lower case form may be longer than its capital, which must not
		// overwrite what is still to be read.
		if l := unicode.ToLower(r); utf8.RuneLen(l) == n {
			r = l
		} else if r == utf8.RuneError && n == 1 {
			r = '?'
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
