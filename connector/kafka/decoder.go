package kafka

import (
	"bytes"
	"slices"
	"strings"

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
	value  columnDecoder // of the columns in the record's value
	meta   []metaColumn
	spare  *vec.Chunk // for metadata columns not asked for
	opt    types.Options
	format recordFormat
	rows   int // the most that one record gives
	// headers tells that it looks at the headers of records.
	headers bool
}

// recordFormat appends what a record says to c: a row, or none, or nothing and
// why it cannot.
type recordFormat func(c *vec.Chunk, rec *kgo.Record) error

// columnDecoder decodes some columns from JSON objects.
type columnDecoder struct {
	*json.Decoder
	at []int // by column: its place in the chunk, -1: not asked for
}

func newColumnDecoder(spec *connector.SourceSpec, place, which []int) (columnDecoder, error) {
	var cols []connector.Column
	d := columnDecoder{}
	for _, k := range which {
		cols = append(cols, spec.Columns[k])
		d.at = append(d.at, place[k])
	}
	var err error
	if d.Decoder, err = json.NewDecoder(cols); err != nil {
		return d, err
	}
	d.NullBad, d.Debezium = spec.NullBad, spec.Format == "DEBEZIUM"
	return d, nil
}

func (d *columnDecoder) append(c *vec.Chunk, rec []byte) error { return d.Append(c, d.at, rec) }

// newDecoder makes a decoder of the columns asked for among all.
func newDecoder(spec *connector.SourceSpec, asked []int) (*decoder, error) {
	d := &decoder{rows: 1}
	place := make([]int, len(spec.Columns))
	for k := range place {
		place[k] = -1
	}
	for at, k := range asked {
		place[k] = at
		d.types = append(d.types, spec.Columns[k].Typ)
	}
	key := map[int]bool{}
	if spec.Format == "UPSERT" {
		for _, k := range spec.PrimaryKey {
			key[k] = true
		}
	}
	var fields []int
	var spare []types.T
	for k, c := range spec.Columns {
		switch {
		case key[k]: // read from the record's key
		case c.Include == "":
			fields = append(fields, k)
		case place[k] >= 0:
			d.meta = append(d.meta, metaColumn{at: place[k], col: c})
		case c.Include == "KEY" || c.Include == "PAYLOAD" || c.Include == "HEADER" || c.Include == "HEADERS": // the others always fit
			spare = append(spare, c.Typ)
			d.meta = append(d.meta, metaColumn{at: -len(spare), col: c})
		}
	}
	d.spare = vec.NewChunk(spare, 1)
	d.headers = slices.ContainsFunc(d.meta, func(m metaColumn) bool { return strings.HasPrefix(m.col.Include, "HEADER") })
	var err error
	if d.value, err = newColumnDecoder(spec, place, fields); err != nil {
		return nil, err
	}
	switch spec.Format {
	case "UPSERT":
		d.format, err = newUpserts(d, spec, place)
	case "DEBEZIUM":
		d.rows = 2 // an update of the key
		d.format, err = newEnvelopes(d, spec, place)
	default:
		d.format = d.plain
	}
	return d, err
}

// decode appends the record's row to c, or nothing and the reason.
func (d *decoder) decode(c *vec.Chunk, rec *kgo.Record) error {
	err := d.format(c, rec)
	if err != nil {
		for _, v := range c.Cols {
			vec.Truncate(v, c.Rows)
		}
	}
	return err
}

var errNullValue = pgerr.New(pgerr.NullValueNotAllowed, "the record has no value").
	WithHint("A record without a value means a deletion, which FORMAT PLAIN does not have.")

func (d *decoder) plain(c *vec.Chunk, rec *kgo.Record) error {
	if len(d.value.at) > 0 {
		if rec.Value == nil {
			return errNullValue
		}
		if err := d.value.append(c, rec.Value); err != nil {
			return err
		}
	}
	if err := d.around(c, rec); err != nil {
		return err
	}
	c.AddWeight(1)
	return nil
}

// around appends the columns of INCLUDE.
func (d *decoder) around(c *vec.Chunk, rec *kgo.Record) error {
	if len(d.meta) == 0 {
		return nil
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
			return pgerr.From(err).WithDetail("In the column \"%s\" of INCLUDE %s.", m.col.Name, m.col.Include)
		}
	}
	return nil
}

// gone ends a row that tells that its key, which was appended, is gone.
func gone(c *vec.Chunk) {
	for _, v := range c.Cols {
		if v.Len() == c.Rows {
			v.AppendNull()
		}
	}
	c.AddWeight(-1)
}

// upserts reads FORMAT UPSERT: the record's key is the row's, its value the rest,
// and no value the row's end.
type upserts struct {
	*decoder
	key   columnDecoder
	whole bool // the key is one column, and the record's key may be just its value
	text  bool // the record's key is its text form
	json  bool // ... or is JSON
	typ   types.T
}

func newUpserts(d *decoder, spec *connector.SourceSpec, place []int) (recordFormat, error) {
	u := &upserts{decoder: d, whole: len(spec.PrimaryKey) == 1, text: spec.KeyEncode == "TEXT", json: spec.KeyEncode == "JSON"}
	var err error
	u.key, err = newColumnDecoder(spec, place, spec.PrimaryKey)
	if u.whole {
		first := spec.Columns[spec.PrimaryKey[0]]
		u.typ = first.Typ
		u.text = u.text || first.Include == "KEY"
	}
	u.key.NullBad = false
	return u.append, err
}

func (u *upserts) append(c *vec.Chunk, rec *kgo.Record) error {
	if err := u.appendKey(c, rec.Key); err != nil {
		return pgerr.From(err).WithDetail("In the key of the record: %s", json.Short(rec.Key))
	}
	if rec.Value == nil {
		gone(c)
		return nil
	}
	if err := u.value.append(c, rec.Value); err != nil {
		return err
	}
	if err := u.around(c, rec); err != nil {
		return err
	}
	c.AddWeight(1)
	return nil
}

var errNoKey = pgerr.New(pgerr.NullValueNotAllowed, "the record has no key").
	WithHint("FORMAT UPSERT takes the primary key from the keys of records.")

func (u *upserts) appendKey(c *vec.Chunk, key []byte) error {
	switch object := bytes.HasPrefix(bytes.TrimLeft(key, " \t\r\n"), []byte("{")); {
	case key == nil:
		return errNoKey
	case object && !u.text:
		return u.key.append(c, key)
	case !u.whole:
		return pgerr.New(pgerr.InvalidTextRepresentation, "the key of the record is no JSON object with the columns of the primary key")
	case u.json || !u.text && json.IsValue(key):
		return u.key.AppendValue(c.Cols[u.key.at[0]], 0, key)
	}
	return appendBytes(c.Cols[u.key.at[0]], key, &u.opt)
}
