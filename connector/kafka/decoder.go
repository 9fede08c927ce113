package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// decoder turns records into rows of the columns asked for.
type decoder struct {
	types  []types.T
	fields []int // chunk columns of the JSON fields, in the JSON decoder's order
	meta   []metaColumn
	json   *json.Decoder
}

// metaColumn is a column filled from the record around the value.
type metaColumn struct {
	at  int
	col connector.Column
}

var errNullValue = pgerr.New(pgerr.NullValueNotAllowed, "the record has no value").
	WithHint("A record without a value means a deletion, which FORMAT PLAIN does not have.")

// decode appends one row to c, or nothing and the reason.
func (d *decoder) decode(c *vec.Chunk, rec *kgo.Record) error {
	if rec.Value == nil && len(d.fields) > 0 {
		return errNullValue
	}
	if len(d.fields) > 0 {
		if err := d.json.Append(c, d.fields, rec.Value); err != nil {
			return err
		}
	}
	for _, m := range d.meta {
		if err := m.fill(c.Cols[m.at], rec); err != nil {
			d.undo(c)
			return err
		}
	}
	c.AddWeight(1)
	return nil
}

// undo takes the values of an unfinished row back.
func (d *decoder) undo(c *vec.Chunk) {
	for _, v := range c.Cols {
		vec.Truncate(v, c.Rows)
	}
}

// unixTo2000 is 2000-01-01 in ms since 1970.
const unixTo2000 = 946684800000

func (m *metaColumn) fill(v vec.Vector, rec *kgo.Record) error {
	switch m.col.Include {
	case "KEY":
		return appendBytes(v, rec.Key)
	case "PARTITION":
		return appendInt(v, int64(rec.Partition))
	case "OFFSET":
		return appendInt(v, rec.Offset)
	case "TIMESTAMP":
		v.AppendDatum((rec.Timestamp.UnixMilli() - unixTo2000) * 1000)
		return nil
	case "HEADER":
		for i := len(rec.Headers) - 1; i >= 0; i-- {
			if rec.Headers[i].Key == m.col.Header {
				return appendBytes(v, rec.Headers[i].Value)
			}
		}
		v.AppendNull()
		return nil
	case "PAYLOAD":
		return appendBytes(v, rec.Value)
	}
	return pgerr.Unsupported("INCLUDE "+m.col.Include, "Available: KEY, PARTITION, OFFSET, TIMESTAMP, HEADER 'name', PAYLOAD.")
}

// appendBytes appends raw bytes to a bytea or text column, or parses them as the
// column's type.
func appendBytes(v vec.Vector, b []byte) error {
	if b == nil {
		v.AppendNull()
		return nil
	}
	if v.Type().ID == types.Bytea {
		v.(*vec.Bytes).Append(b)
		return nil
	}
	d, err := types.ParseText(v.Type(), string(b), &types.Options{})
	if err != nil {
		return err
	}
	v.AppendDatum(d)
	return nil
}

func appendInt(v vec.Vector, n int64) error {
	switch v := v.(type) {
	case *vec.Col[int64]:
		v.Vals = append(v.Vals, n)
	case *vec.Col[int32]:
		if int64(int32(n)) != n {
			return pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
		}
		v.Vals = append(v.Vals, int32(n))
	default:
		d, err := types.CastDatum(n, types.TInt8, v.Type(), false, &types.Options{})
		if err != nil {
			return err
		}
		v.AppendDatum(d)
	}
	return nil
}
