package exec

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// consolidator adds up the weights of identical rows.
type consolidator struct {
	format *rowFormat
	rows   *table // payload: weight, mark
	batch  rowBatch
	order  []uint32 // rows in the order they came
}

const (
	conWeight = 0
	conMark   = 8
)

func newConsolidator(ts []types.T) *consolidator {
	f := newRowFormat(ts, allColumns(ts), false)
	return &consolidator{format: f, rows: newTable(16, f.keyWidth())}
}

// add counts the rows of a chunk.
func (c *consolidator) add(in *vec.Chunk) {
	c.format.encode(&c.batch, in)
	for i := range in.Rows {
		c.addRow(c.batch.row(i), in.Weight(i))
	}
}

func (c *consolidator) addRow(row []byte, w int64) {
	id, added := c.rows.upsert(hashKey(row), row)
	if added {
		c.order = append(c.order, id)
	}
	r := c.rows.rec(id)
	le.PutUint64(r, le.Uint64(r)+uint64(w))
}

// weight returns the net weight of a row.
func (c *consolidator) weight(id uint32) int64 { return int64(le.Uint64(c.rows.rec(id))) }

// each calls f for the rows with a weight, retractions first.
func (c *consolidator) each(f func(id uint32, w int64) error) error {
	for _, sign := range [2]bool{true, false} {
		for _, id := range c.order {
			if w := c.weight(id); w != 0 && (w < 0) == sign {
				if err := f(id, w); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *consolidator) reset() {
	c.rows.reset()
	c.order = c.order[:0]
	if cap(c.order) > 1<<16 {
		c.order = nil
	}
}

// rowOutput emits encoded rows.
type rowOutput struct {
	*output
	format *rowFormat
	rows   [][]byte
}

func newRowOutput(f *rowFormat, ts []types.T, max int) *rowOutput {
	return &rowOutput{output: newOutput(ts, max), format: f}
}

// add appends a row, whose bytes must stay valid until the flush.
func (o *rowOutput) add(row []byte, w int64, emit Emit) error {
	o.rows = append(o.rows, row)
	o.diff = append(o.diff, w)
	o.ones = o.ones && w == 1
	if len(o.rows) >= o.max {
		return o.flush(emit)
	}
	return nil
}

func (o *rowOutput) flush(emit Emit) error {
	if len(o.rows) == 0 {
		return nil
	}
	o.format.decode(o.c, 0, o.rows)
	o.c.Rows = len(o.rows)
	o.rows = o.rows[:0]
	return o.output.flush(emit)
}
