package kafka

import (
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// encoder makes records of the sink log.
type encoder struct {
	s          *sink
	json       *json.Encoder
	key, value []byte
}

// Encode implements connector.Encoder.
func (e *encoder) Encode(dst []byte, c *vec.Chunk) ([]byte, int, error) {
	n := 0
	keyed := len(e.s.spec.Key) > 0
	for i := range c.Rows {
		w := c.Weight(i)
		if w < 0 && !e.s.upsert {
			return dst, n, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "a row was taken away from the append-only sink \"%s\"", e.s.spec.Name).
				WithHint("Use FORMAT UPSERT with a primary_key.")
		}
		if keyed {
			e.key = e.json.AppendObject(e.key[:0], c, e.s.spec.Key, i)
		}
		switch {
		case w < 0:
			dst = appendRecord(dst, e.key, nil, true, true)
			n++
			continue
		case e.s.upsert:
			w = min(w, 1)
		}
		e.value = e.json.AppendObject(e.value[:0], c, nil, i)
		for range w {
			dst = appendRecord(dst, e.key, e.value, keyed, false)
			n++
		}
	}
	return dst, n, nil
}
