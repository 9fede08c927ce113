package kafka

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// envelopes reads FORMAT DEBEZIUM: change events with the row before and after,
// with or without their schema around them. Only the last state of each key
// counts, so that events that come twice, and further snapshots, do no harm.
type envelopes struct {
	*decoder
	find  *json.Finder
	inKey *json.Finder
	key   columnDecoder
	// was and is hold the keys of a row before and after an update.
	was, is *vec.Chunk
	all     []int
	b       []byte
}

func newEnvelopes(d *decoder, spec *connector.SourceSpec, place []int) (recordFormat, error) {
	e := &envelopes{decoder: d, inKey: json.NewFinder("$.payload"),
		find: json.NewFinder("$.op", "$.before", "$.after", "$.payload.op", "$.payload.before", "$.payload.after")}
	var err error
	e.key, err = newColumnDecoder(spec, place, spec.PrimaryKey)
	e.key.NullBad = false
	var ts []types.T
	for i, k := range spec.PrimaryKey {
		ts, e.all = append(ts, spec.Columns[k].Typ), append(e.all, i)
	}
	e.was, e.is = vec.NewChunk(ts, 1), vec.NewChunk(ts, 1)
	return e.append, err
}

func (e *envelopes) append(c *vec.Chunk, rec *kgo.Record) error {
	if rec.Value == nil {
		return nil // it follows a deletion, for the sake of compaction
	}
	f, err := e.find.Find(rec.Value)
	if err != nil {
		return err
	}
	if f[0] == nil {
		f = f[3:]
	}
	switch op, before, after := string(f[0]), f[1], f[2]; op {
	case `"c"`, `"r"`, `"u"`:
		if after == nil {
			return pgerr.New(pgerr.InvalidTextRepresentation, "the change event has no row after the change")
		}
		if err := e.value.append(c, after); err != nil {
			return err
		}
		if err := e.around(c, rec); err != nil {
			return err
		}
		c.AddWeight(1)
		if op == `"u"` && before != nil && e.moved(before, after) {
			return e.drop(c, before, nil)
		}
		return nil
	case `"d"`:
		return e.drop(c, before, rec.Key)
	case `"m"`:
		return nil // a message that concerns no table
	case `"t"`:
		return pgerr.Unsupported("TRUNCATE in a change stream", "Delete the rows instead, or create the source again.")
	case "":
		return pgerr.New(pgerr.InvalidTextRepresentation, "the record is no change event").
			WithDetail("It has no field \"op\".")
	}
	return pgerr.New(pgerr.InvalidTextRepresentation, "unknown operation %s of a change event", json.Short(f[0]))
}

// drop appends the end of the row that was before, or of that with the record's
// key.
func (e *envelopes) drop(c *vec.Chunk, before, key []byte) error {
	err := error(errNoKey)
	if before != nil {
		err = e.key.append(c, before)
	}
	if err != nil && key != nil {
		if f, ferr := e.inKey.Find(key); ferr == nil && f[0] != nil {
			key = f[0]
		}
		err = e.key.append(c, key)
	}
	if err == nil {
		gone(c)
	}
	return err
}

// moved reports whether an update changed the key. An event whose former row is
// not whole has not.
func (e *envelopes) moved(before, after []byte) bool {
	e.was.Reset()
	e.is.Reset()
	if e.key.Append(e.was, e.all, before) != nil || e.key.Append(e.is, e.all, after) != nil {
		return false
	}
	e.was.AddWeight(1)
	e.is.AddWeight(1)
	e.b = vec.AppendRow(e.b[:0], e.was, nil, 0)
	n := len(e.b)
	e.b = vec.AppendRow(e.b, e.is, nil, 0)
	return !bytes.Equal(e.b[:n], e.b[n:])
}
