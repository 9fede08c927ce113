package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// decoder turns records into rows of the columns asked for. Columns not asked
// for are decoded all the same and dropped: whether a record is bad must not
// depend on the query that reads it, or two views of one source would disagree.
type decoder struct {
	types  []types.T
	fields []int // by JSON column: its place in the chunk, -1: not asked for
	meta   []metaColumn
	spare  *vec.Chunk // for metadata columns not asked for
	json   *json.Decoder
	opt    types.Options
}

// newDecoder makes a decoder of the columns asked for among all.
func newDecoder(all []connector.Column, asked []int) (*decoder, error) {
	d := &decoder{}
	place := make([]int, len(all))
	for k := range place {
		place[k] = -1
	}
	for at, k := range asked {
		place[k] = at
		d.types = append(d.types, all[k].Typ)
	}
	var fields []connector.Column
	var spare []types.T
	for k, c := range all {
		switch {
		case c.Include == "":
			fields = append(fields, c)
			d.fields = append(d.fields, place[k])
		case place[k] >= 0:
			d.meta = append(d.meta, metaColumn{at: place[k], col: c})
		case c.Include == "KEY" || c.Include == "PAYLOAD" || c.Include == "HEADER" || c.Include == "HEADERS": // the others always fit
			spare = append(spare, c.Typ)
			d.meta = append(d.meta, metaColumn{at: -len(spare), col: c})
		}
	}
	d.spare = vec.NewChunk(spare, 1)
	var err error
	d.json, err = json.NewDecoder(fields)
	return d, err
}

var errNullValue = pgerr.New(pgerr.NullValueNotAllowed, "the record has no value").
	WithHint("A record without a value means a deletion, which FORMAT PLAIN does not have.")

// decode appends one row to c, or nothing and the reason.
func (d *decoder) decode(c *vec.Chunk, rec *kgo.Record) error {
	if len(d.fields) > 0 {
		if rec.Value == nil {
			return errNullValue
		}
		if err := d.json.Append(c, d.fields, rec.Value); err != nil {
			return err
		}
	}
	d.spare.Reset()
	for i := range d.meta {
		m := &d.meta[i]
		v := vec.Vector(nil)
		if m.at >= 0 {
			v = c.Cols[m.at]
		} else {
			v = d.spare.Cols[-m.at-1]
		}
		if err := m.fill(v, rec, &d.opt); err != nil {
			for _, v := range c.Cols {
				vec.Truncate(v, c.Rows)
			}
			return pgerr.From(err).WithDetail("In the column \"%s\" of INCLUDE %s.", m.col.Name, m.col.Include)
		}
	}
	c.AddWeight(1)
	return nil
}
