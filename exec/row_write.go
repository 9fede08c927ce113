package exec

import (
	"math"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// rowSize returns the length of row i of c in an exact format.
func (f *rowFormat) rowSize(c *vec.Chunk, i int) int {
	n := f.fixed
	for _, x := range f.vars {
		if v := c.Cols[f.cols[x.k]].(*vec.Bytes); len(v.Null) == 0 || !v.Null.Get(i) {
			n += int(v.Off[i+1] - v.Off[i])
		}
	}
	return n
}

// write makes dst, of rowSize bytes, row i of c in an exact format: what encode
// makes of a whole chunk, for rows of which one is kept here and there, or that
// have a place of their own.
func (f *rowFormat) write(dst []byte, c *vec.Chunk, i int) {
	f.writeFixed(dst, c, i)
	end := f.fixed
	for _, x := range f.vars {
		if v := c.Cols[f.cols[x.k]].(*vec.Bytes); len(v.Null) == 0 || !v.Null.Get(i) {
			end += copy(dst[end:], v.Data[v.Off[i]:v.Off[i+1]])
		}
	}
}

// writeFixed writes what stands before the tail of the row. It decides already how
// most rows compare.
func (f *rowFormat) writeFixed(dst []byte, c *vec.Chunk, i int) {
	clear(dst[f.nulls:f.fixed])
	end := f.fixed
	for k, col := range f.cols {
		p := dst[f.off[k]:]
		null := false
		switch v := c.Cols[col].(type) {
		case *vec.Bytes:
			if null = len(v.Null) > 0 && v.Null.Get(i); !null {
				end += int(v.Off[i+1] - v.Off[i])
			}
			le.PutUint32(p, uint32(end))
		case *vec.Col[int64]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			le.PutUint64(p, uint64(v.Vals[i]))
		case *vec.Col[int32]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			le.PutUint32(p, uint32(v.Vals[i]))
		case *vec.Col[int16]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			le.PutUint16(p, uint16(v.Vals[i]))
		case *vec.Col[bool]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			p[0] = 0
			if v.Vals[i] {
				p[0] = 1
			}
		case *vec.Col[float32]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			le.PutUint32(p, math.Float32bits(v.Vals[i]))
		case *vec.Col[float64]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			le.PutUint64(p, math.Float64bits(v.Vals[i]))
		case *vec.Col[types.IntervalValue]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			f.putInterval(p, v.Vals[i])
		case *vec.Col[types.UUIDValue]:
			null = len(v.Null) > 0 && v.Null.Get(i)
			copy(p, v.Vals[i][:])
		}
		if null {
			dst[f.nulls+k/8] |= 1 << (k % 8)
			if f.typs[k].Kind() != types.KBytes {
				clear(p[:f.width(f.typs[k])])
			}
		}
	}
}
