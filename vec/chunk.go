package vec

import (
	"sync"

	"github.com/streamdb/streamdb/types"
)

// MaxRows is the usual number of rows of a full chunk.
const MaxRows = 1024

// Chunk is a bag of rows with weights. Diff == nil means every weight is +1.
type Chunk struct {
	Rows int
	Cols []Vector
	Diff []int64

	own []int64 // memory for Diff, kept over Reset
}

// NewChunk makes an empty chunk with a vector per type.
func NewChunk(ts []types.T, capacity int) *Chunk {
	c := &Chunk{Cols: make([]Vector, len(ts))}
	for i, t := range ts {
		c.Cols[i] = New(t, capacity)
	}
	return c
}

// Types returns the columns' types.
func (c *Chunk) Types() []types.T {
	ts := make([]types.T, len(c.Cols))
	for i, v := range c.Cols {
		ts[i] = v.Type()
	}
	return ts
}

// Weight returns how often row i counts.
func (c *Chunk) Weight(i int) int64 {
	if c.Diff == nil {
		return 1
	}
	return c.Diff[i]
}

// Reset empties the chunk and keeps its memory. Diff becomes nil.
func (c *Chunk) Reset() {
	c.Rows, c.Diff = 0, nil
	for _, v := range c.Cols {
		v.Reset()
	}
}

// needDiff makes Diff explicit for the rows present.
func (c *Chunk) needDiff() {
	if c.Diff != nil {
		return
	}
	if cap(c.own) <= c.Rows {
		c.own = make([]int64, 0, max(c.Rows+1, MaxRows))
	}
	c.Diff = c.own[:c.Rows]
	for i := range c.Diff {
		c.Diff[i] = 1
	}
}

// AddWeight ends a row whose values the caller appended to every column.
func (c *Chunk) AddWeight(w int64) {
	if w != 1 || c.Diff != nil {
		c.needDiff()
		c.Diff = append(c.Diff, w)
	}
	c.Rows++
}

// AppendRow appends a row of datums with weight w.
func (c *Chunk) AppendRow(w int64, row ...types.Datum) {
	for i, d := range row {
		c.Cols[i].AppendDatum(d)
	}
	c.AddWeight(w)
}

// AppendFrom appends row i of src with weight w.
func (c *Chunk) AppendFrom(src *Chunk, i int, w int64) {
	for k, v := range c.Cols {
		v.AppendFrom(src.Cols[k], i)
	}
	c.AddWeight(w)
}

// Gather appends the rows sel of src with their weights.
func (c *Chunk) Gather(src *Chunk, sel []int32) {
	if src.Diff != nil || c.Diff != nil {
		c.needDiff()
		for _, i := range sel {
			c.Diff = append(c.Diff, src.Weight(int(i)))
		}
	}
	for k, v := range c.Cols {
		v.Gather(src.Cols[k], sel)
	}
	c.Rows += len(sel)
}

// AppendRange appends rows [lo, hi) of src with their weights.
func (c *Chunk) AppendRange(src *Chunk, lo, hi int) {
	if src.Diff != nil || c.Diff != nil {
		c.needDiff()
		for i := lo; i < hi; i++ {
			c.Diff = append(c.Diff, src.Weight(i))
		}
	}
	for k, v := range c.Cols {
		v.AppendRange(src.Cols[k], lo, hi)
	}
	c.Rows += hi - lo
}

// Clone returns a deep copy that shares no memory with c.
func (c *Chunk) Clone() *Chunk {
	d := NewChunk(c.Types(), c.Rows)
	d.AppendRange(c, 0, c.Rows)
	return d
}

// Row boxes row i; for edges, not for hot paths.
func (c *Chunk) Row(i int) []types.Datum {
	r := make([]types.Datum, len(c.Cols))
	for k, v := range c.Cols {
		r[k] = v.Datum(i)
	}
	return r
}

// MemSize returns the memory held, in bytes.
func (c *Chunk) MemSize() int {
	n := 8 * max(cap(c.Diff), cap(c.own))
	for _, v := range c.Cols {
		n += v.MemSize()
	}
	return n
}

// Pool recycles chunks of one shape between tasks. The zero value with Types
// set is ready; it is safe for concurrent use.
type Pool struct {
	Types []types.T
	p     sync.Pool
}

// pooledRows is the room of a new chunk. One that is used again has grown to what
// its use needs, which in most views is little.
const pooledRows = 32

// Get returns an empty chunk.
func (p *Pool) Get() *Chunk {
	if c, _ := p.p.Get().(*Chunk); c != nil {
		c.Reset()
		return c
	}
	return NewChunk(p.Types, pooledRows)
}

// Put gives a chunk back; the caller must not use it any more.
func (p *Pool) Put(c *Chunk) { p.p.Put(c) }
