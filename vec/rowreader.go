package vec

import (
	"encoding/binary"
	"math"

	"github.com/streamdb/streamdb/types"
)

// RowReader decodes some columns of rows written by AppendRow and steps over the
// others, up to the last one wanted. It is made once for many rows and used by
// one goroutine.
type RowReader struct {
	cols []readColumn
	nb   int // bytes of the bitmap of NULLs
}

// readColumn is one column of the encoding, in order.
type readColumn struct {
	at    int // in the chunk; -1: not wanted
	width int // 0: a length comes first
}

// NewRowReader reads rows of columns of types ts; column cols[i] becomes column i
// of the chunk. A column must not be asked for twice.
func NewRowReader(ts []types.T, cols []int) *RowReader {
	r := &RowReader{nb: (len(ts) + 7) / 8}
	last := -1
	for _, c := range cols {
		last = max(last, c)
	}
	probe := NewChunk(ts[:last+1], 0)
	for _, v := range probe.Cols {
		r.cols = append(r.cols, readColumn{-1, fixedWidth(v)})
	}
	for i, c := range cols {
		r.cols[c].at = i
	}
	return r
}

// Read appends the columns of one row to the chunk, without its weight.
func (r *RowReader) Read(dst *Chunk, b []byte) error {
	if len(b) < r.nb {
		return errRow
	}
	nulls := b[:r.nb]
	b = b[r.nb:]
	for j := range r.cols {
		c := &r.cols[j]
		if nulls[j/8]>>(j%8)&1 == 1 {
			if c.at >= 0 {
				dst.Cols[c.at].AppendNull()
			}
			continue
		}
		n, skip := c.width, 0
		if n == 0 {
			l, m := binary.Uvarint(b)
			if m <= 0 || uint64(len(b)-m) < l {
				return errRow
			}
			n, skip = int(l), m
		}
		if len(b) < skip+n {
			return errRow
		}
		if c.at >= 0 {
			readValue(dst.Cols[c.at], b[skip:skip+n])
		}
		b = b[skip+n:]
	}
	return nil
}

// readValue appends the value whose encoding, without a length, is b.
func readValue(v Vector, b []byte) {
	switch c := v.(type) {
	case *Bytes:
		c.Append(b)
		return
	case *Col[bool]:
		c.Vals = append(c.Vals, b[0] != 0)
	case *Col[int16]:
		c.Vals = append(c.Vals, int16(binary.LittleEndian.Uint16(b)))
	case *Col[int32]:
		c.Vals = append(c.Vals, int32(binary.LittleEndian.Uint32(b)))
	case *Col[int64]:
		c.Vals = append(c.Vals, int64(binary.LittleEndian.Uint64(b)))
	case *Col[float32]:
		c.Vals = append(c.Vals, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case *Col[float64]:
		c.Vals = append(c.Vals, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case *Col[types.IntervalValue]:
		c.Vals = append(c.Vals, types.IntervalValue{
			Micros: int64(binary.LittleEndian.Uint64(b)),
			Days:   int32(binary.LittleEndian.Uint32(b[8:])),
			Months: int32(binary.LittleEndian.Uint32(b[12:])),
		})
	case *Col[types.UUIDValue]:
		c.Vals = append(c.Vals, types.UUIDValue(b[:16]))
	}
}
