package kafka

import (
	"encoding/hex"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// checkColumn refuses columns that can not be filled.
func checkColumn(c connector.Column) error {
	var ok bool
	switch c.Include {
	case "", "KEY", "PAYLOAD":
		if c.Typ.ID == types.Record || c.Typ.ID == types.Void || c.Typ.ID.IsReg() {
			return pgerr.Unsupported("type "+c.Typ.String()+" in a Kafka connector", "Give the column another type.")
		}
		return nil
	case "PARTITION":
		ok = c.Typ.ID == types.Int4 || c.Typ.ID == types.Int8
	case "OFFSET":
		ok = c.Typ.ID == types.Int8
	case "TIMESTAMP":
		ok = c.Typ.ID == types.Timestamptz || c.Typ.ID == types.Timestamp
	case "HEADER":
		ok = c.Typ.ID == types.Bytea || c.Typ.ID == types.Text
	case "HEADERS":
		ok = c.Typ.ID == types.JSON || c.Typ.ID == types.JSONB
	default:
		return pgerr.Unsupported("INCLUDE "+c.Include, "Available: KEY, PARTITION, OFFSET, TIMESTAMP, HEADER 'name', HEADERS, PAYLOAD.")
	}
	if !ok {
		return pgerr.New(pgerr.DatatypeMismatch, "column \"%s\" of INCLUDE %s cannot be of type %s", c.Name, c.Include, c.Typ)
	}
	return nil
}

// metaColumn is a column filled from the record around the value; at is its
// place in the chunk.
type metaColumn struct {
	at  int
	col connector.Column
}

// unixTo2000 is 2000-01-01 in ms since 1970.
const unixTo2000 = 946684800000

// fill appends the column's value to v.
func (m *metaColumn) fill(v vec.Vector, rec *kgo.Record, opt *types.Options) error {
	switch m.col.Include {
	case "KEY":
		return appendBytes(v, rec.Key, opt)
	case "PAYLOAD":
		return appendBytes(v, rec.Value, opt)
	case "PARTITION":
		appendInt(v, int64(rec.Partition))
	case "OFFSET":
		appendInt(v, rec.Offset)
	case "TIMESTAMP":
		appendInt(v, (rec.Timestamp.UnixMilli()-unixTo2000)*1000)
	case "HEADER":
		// Of headers of one name the last counts.
		for i := len(rec.Headers) - 1; i >= 0; i-- {
			if rec.Headers[i].Key == m.col.Header {
				return appendBytes(v, rec.Headers[i].Value, opt)
			}
		}
		v.AppendNull()
	case "HEADERS":
		return appendHeaders(v, rec.Headers)
	}
	return nil
}

// appendHeaders appends all headers in their order, those of one name too, as an
// array of {"key": ..., "value": ...}. A value that is no text is given as
// "bytes", in hex.
func appendHeaders(v vec.Vector, hs []kgo.RecordHeader) error {
	b := []byte{'['}
	for i, h := range hs {
		if i > 0 {
			b = append(b, ", "...)
		}
		key := strings.ReplaceAll(strings.ToValidUTF8(h.Key, "\ufffd"), "\x00", "\ufffd")
		b = types.AppendJSONString(append(b, `{"key": `...), key)
		switch {
		case h.Value == nil:
			b = append(b, `, "value": null}`...)
		case types.CheckText(string(h.Value)) == nil:
			b = append(types.AppendJSONString(append(b, `, "value": `...), string(h.Value)), '}')
		default:
			b = append(hex.AppendEncode(append(b, `, "bytes": "\\x`...), h.Value), `"}`...)
		}
	}
	d, err := types.ParseText(v.Type(), string(append(b, ']')), &types.Options{})
	if err != nil {
		return err
	}
	v.AppendDatum(d)
	return nil
}

// appendBytes appends raw bytes to a bytea column, or parses them as the text
// form of the column's type.
func appendBytes(v vec.Vector, b []byte, opt *types.Options) error {
	if b == nil {
		v.AppendNull()
		return nil
	}
	if v.Type().ID == types.Bytea {
		v.(*vec.Bytes).Append(b)
		return nil
	}
	s := string(b)
	if err := types.CheckText(s); err != nil {
		return err
	}
	d, err := types.ParseText(v.Type(), s, opt)
	if err != nil {
		return err
	}
	v.AppendDatum(d)
	return nil
}

func appendInt(v vec.Vector, n int64) {
	switch v := v.(type) {
	case *vec.Col[int64]:
		v.Vals = append(v.Vals, n)
	case *vec.Col[int32]:
		v.Vals = append(v.Vals, int32(n))
	}
}
