package json

import (
	"encoding/base64"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Finder finds the raw values at some paths of records. It belongs to one
// goroutine.
type Finder struct {
	d   *Decoder
	out [][]byte
}

// NewFinder makes a finder of the given paths, which are valid.
func NewFinder(paths ...string) *Finder {
	cols := make([]connector.Column, len(paths))
	for i, p := range paths {
		cols[i].Path = p
	}
	d, err := NewDecoder(cols)
	if err != nil {
		panic(err)
	}
	return &Finder{d, make([][]byte, len(paths))}
}

// Find returns the values in the order of the paths, nil for what is missing or
// null. They are borrowed from rec, the slice until the next call.
func (f *Finder) Find(rec []byte) ([][]byte, error) {
	clear(f.d.vals)
	if err := f.d.locate(rec); err != nil {
		return nil, err
	}
	for i, s := range f.d.vals {
		f.out[i] = nil
		if s.to > 0 && rec[s.from] != 'n' {
			f.out[i] = rec[s.from:s.to]
		}
	}
	return f.out, nil
}

// IsValue reports whether b is one JSON value and nothing else.
func IsValue(b []byte) bool {
	e, err := value(b, space(b, 0))
	return err == nil && space(b, e) == len(b)
}

// AppendValue appends a JSON value that stands alone to v as column col. On error
// nothing is appended.
func (d *Decoder) AppendValue(v vec.Vector, col int, b []byte) error {
	i := space(b, 0)
	e, err := value(b, i)
	if err == nil && space(b, e) != len(b) {
		err = errSyntax(b, e)
	}
	if err != nil {
		return err
	}
	d.vals[col] = span{i, e, true}
	n := v.Len()
	if err = d.fill(v, col, b); err != nil {
		vec.Truncate(v, n)
	}
	return err
}

// encoded reads what Debezium puts into strings: bytes in base64, and documents.
// done tells that the value was one of those.
func (d *Decoder) encoded(c *vec.Bytes, raw []byte) (done bool, err error) {
	switch c.Typ.ID {
	case types.Bytea:
		s, err := d.unquote(raw)
		if err != nil {
			return true, err
		}
		n := len(c.Data)
		out, err := base64.StdEncoding.AppendDecode(c.Data, s)
		if err != nil {
			c.Data = c.Data[:n]
			return true, pgerr.New(pgerr.InvalidTextRepresentation, "invalid base64 in a value of type bytea")
		}
		c.Data = out
		c.Finish()
		return true, nil
	case types.JSON, types.JSONB:
		s, err := d.unquote(raw)
		if err != nil || string(s) == connector.Unavailable {
			return err != nil, err
		}
		return true, d.json(c, s)
	}
	return false, nil
}
