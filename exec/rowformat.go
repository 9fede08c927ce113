package exec

import (
	"math"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// rowFormat is the flat form operators keep rows in: every column at a fixed
// offset (variable ones as the end of their bytes in the tail), then the null
// bitmap, then the tail. Equal bytes mean identical rows; with norm set they
// mean rows that are equal in SQL, and such rows cannot be decoded unless
// the types are identity-safe.
type rowFormat struct {
	cols  []int
	typs  []types.T
	off   []int
	fixed int // bytes before the tail
	nulls int // offset of the null bitmap
	vars  []formatVar
	norm  bool
	value []byte       // scratch
	tails []*vec.Bytes // scratch: the variable columns of a chunk
}

// formatVar is a variable column: its number in cols, and whether its bytes are
// kept as they are.
type formatVar struct {
	k   int
	raw bool
}

// allColumns returns the positions of all columns.
func allColumns(ts []types.T) []int { return firstColumns(len(ts)) }

// firstColumns returns the positions of the first n columns.
func firstColumns(n int) []int {
	cols := make([]int, n)
	for i := range cols {
		cols[i] = i
	}
	return cols
}

// newRowFormat lays out columns cols of rows with types ts.
func newRowFormat(ts []types.T, cols []int, norm bool) *rowFormat {
	f := &rowFormat{cols: cols, norm: norm}
	for k, c := range cols {
		f.typs = append(f.typs, ts[c])
		f.off = append(f.off, f.fixed)
		f.fixed += f.width(ts[c])
		if ts[c].Kind() == types.KBytes {
			f.vars = append(f.vars, formatVar{k, !norm || identitySafe(ts[c])})
		}
	}
	f.nulls = f.fixed
	f.fixed += (len(cols) + 7) / 8
	return f
}

func (f *rowFormat) width(t types.T) int {
	switch t.Kind() {
	case types.KBool:
		return 1
	case types.KInt16:
		return 2
	case types.KInt32, types.KFloat32, types.KBytes:
		return 4
	case types.KInt64, types.KFloat64:
		return 8
	}
	return 16
}

// keyWidth returns the width of every row, or 0 if rows vary.
func (f *rowFormat) keyWidth() int {
	if len(f.vars) > 0 {
		return 0
	}
	return f.fixed
}

// rowBatch holds the encoded rows of one chunk.
type rowBatch struct {
	buf []byte
	off []int
}

func (b *rowBatch) row(i int) []byte { return b.buf[b.off[i]:b.off[i+1]] }

// encode replaces b's content by the rows of c.
func (f *rowFormat) encode(b *rowBatch, c *vec.Chunk) {
	n := c.Rows
	b.off = append(b.off[:0], 0)
	for range n {
		b.off = append(b.off, f.fixed)
	}
	f.tails = f.tails[:0]
	for _, x := range f.vars {
		v := c.Cols[f.cols[x.k]].(*vec.Bytes)
		f.tails = append(f.tails, v)
		f.addLengths(b.off[1:], x, v)
	}
	size := 0
	for i, l := range b.off {
		size += l
		b.off[i] = size
	}
	if cap(b.buf) < size {
		b.buf = make([]byte, size+size/4)
	}
	b.buf = b.buf[:size]
	for i := range n {
		clear(b.buf[b.off[i]+f.nulls : b.off[i]+f.fixed])
	}
	for k, col := range f.cols {
		f.encodeCol(b, k, c.Cols[col], n)
	}
	if len(f.vars) > 0 {
		f.encodeTails(b, n)
	}
}

func (f *rowFormat) encodeCol(b *rowBatch, k int, v vec.Vector, n int) {
	buf, off, o := b.buf, b.off[:n], f.off[k]
	switch c := v.(type) {
	case *vec.Col[bool]:
		for i, at := range off {
			buf[at+o] = 0
			if c.Vals[i] {
				buf[at+o] = 1
			}
		}
	case *vec.Col[int16]:
		for i, at := range off {
			le.PutUint16(buf[at+o:], uint16(c.Vals[i]))
		}
	case *vec.Col[int32]:
		for i, at := range off {
			le.PutUint32(buf[at+o:], uint32(c.Vals[i]))
		}
	case *vec.Col[int64]:
		for i, at := range off {
			le.PutUint64(buf[at+o:], uint64(c.Vals[i]))
		}
	case *vec.Col[float32]:
		for i, at := range off {
			x := c.Vals[i]
			if f.norm {
				x = float32(normFloat(float64(x)))
			}
			le.PutUint32(buf[at+o:], math.Float32bits(x))
		}
	case *vec.Col[float64]:
		for i, at := range off {
			x := c.Vals[i]
			if f.norm {
				x = normFloat(x)
			}
			le.PutUint64(buf[at+o:], math.Float64bits(x))
		}
	case *vec.Col[types.IntervalValue]:
		for i, at := range off {
			f.putInterval(buf[at+o:], c.Vals[i])
		}
	case *vec.Col[types.UUIDValue]:
		for i, at := range off {
			copy(buf[at+o:], c.Vals[i][:])
		}
	}
	nulls := v.Nulls()
	if len(nulls) == 0 {
		return
	}
	w := f.width(f.typs[k])
	for i, at := range off {
		if nulls.Get(i) {
			buf[at+f.nulls+k/8] |= 1 << (k % 8)
			clear(buf[at+o : at+o+w])
		}
	}
}

// normFloat maps equal floats to identical ones: -0 to 0, every NaN to one.
func normFloat(x float64) float64 {
	if x == 0 {
		return 0
	}
	if x != x {
		return math.NaN()
	}
	return x
}

func (f *rowFormat) putInterval(p []byte, v types.IntervalValue) {
	if f.norm {
		hi, lo := vec.IntervalKey(v)
		le.PutUint64(p, uint64(hi))
		le.PutUint64(p[8:], lo)
		return
	}
	le.PutUint64(p, uint64(v.Micros))
	le.PutUint32(p[8:], uint32(v.Days))
	le.PutUint32(p[12:], uint32(v.Months))
}

// addLengths adds to the lengths of the rows what a variable column takes.
func (f *rowFormat) addLengths(lengths []int, x formatVar, v *vec.Bytes) {
	nulls := v.Nulls()
	for i := range lengths {
		switch {
		case len(nulls) > 0 && nulls.Get(i):
		case x.raw:
			lengths[i] += int(v.Off[i+1] - v.Off[i])
		default:
			lengths[i] += len(f.stored(f.typs[x.k], v.At(i)))
		}
	}
}

// stored returns the bytes kept for b, a value of a column that is not raw. They
// are borrowed until the next call.
func (f *rowFormat) stored(t types.T, b []byte) []byte {
	f.value = types.AppendKeyBytes(f.value[:0], t, b, false)
	return f.value
}

// encodeTails writes the variable columns, f.tails, of n rows.
func (f *rowFormat) encodeTails(b *rowBatch, n int) {
	for i := range n {
		row := b.row(i)
		end := f.fixed
		for j, x := range f.vars {
			v := f.tails[j]
			switch {
			case len(v.Null) > 0 && v.Null.Get(i):
			case x.raw:
				end += copy(row[end:], v.Data[v.Off[i]:v.Off[i+1]])
			default:
				end += copy(row[end:], f.stored(f.typs[x.k], v.At(i)))
			}
			le.PutUint32(row[f.off[x.k]:], uint32(end))
		}
	}
}

// isNull reports whether column k of an encoded row is NULL.
func (f *rowFormat) isNull(row []byte, k int) bool {
	return row[f.nulls+k/8]>>(k%8)&1 == 1
}

// decode appends rows to the columns of dst from position at on, without
// weights. A nil row is a row of NULLs.
func (f *rowFormat) decode(dst *vec.Chunk, at int, rows [][]byte) {
	for k := range f.cols {
		f.decodeCol(dst.Cols[at+k], k, rows)
	}
}

func (f *rowFormat) decodeCol(v vec.Vector, k int, rows [][]byte) {
	o := f.off[k]
	switch c := v.(type) {
	case *vec.Col[bool]:
		decodeFixed(c, f, k, rows, func(r []byte) bool { return r[o] != 0 })
	case *vec.Col[int16]:
		decodeFixed(c, f, k, rows, func(r []byte) int16 { return int16(le.Uint16(r[o:])) })
	case *vec.Col[int32]:
		for _, r := range rows {
			if r == nil || f.isNull(r, k) {
				c.AppendNull()
				continue
			}
			c.Vals = append(c.Vals, int32(le.Uint32(r[o:])))
		}
	case *vec.Col[int64]:
		for _, r := range rows {
			if r == nil || f.isNull(r, k) {
				c.AppendNull()
				continue
			}
			c.Vals = append(c.Vals, int64(le.Uint64(r[o:])))
		}
	case *vec.Col[float32]:
		decodeFixed(c, f, k, rows, func(r []byte) float32 { return math.Float32frombits(le.Uint32(r[o:])) })
	case *vec.Col[float64]:
		decodeFixed(c, f, k, rows, func(r []byte) float64 { return math.Float64frombits(le.Uint64(r[o:])) })
	case *vec.Col[types.IntervalValue]:
		decodeFixed(c, f, k, rows, func(r []byte) types.IntervalValue {
			return types.IntervalValue{
				Micros: int64(le.Uint64(r[o:])),
				Days:   int32(le.Uint32(r[o+8:])),
				Months: int32(le.Uint32(r[o+12:])),
			}
		})
	case *vec.Col[types.UUIDValue]:
		decodeFixed(c, f, k, rows, func(r []byte) types.UUIDValue { return types.UUIDValue(r[o : o+16]) })
	case *vec.Bytes:
		prev := f.prevVar(k)
		for _, r := range rows {
			if r == nil || f.isNull(r, k) {
				c.AppendNull()
				continue
			}
			start := f.fixed
			if prev >= 0 {
				start = int(le.Uint32(r[prev:]))
			}
			c.Append(r[start:le.Uint32(r[o:])])
		}
	}
}

// prevVar returns the offset of the variable column before k, or -1. Ends are
// written for NULLs too.
func (f *rowFormat) prevVar(k int) int {
	for k--; k >= 0; k-- {
		if f.typs[k].Kind() == types.KBytes {
			return f.off[k]
		}
	}
	return -1
}

func decodeFixed[T vec.Fixed](c *vec.Col[T], f *rowFormat, k int, rows [][]byte, get func([]byte) T) {
	for _, r := range rows {
		if r == nil || f.isNull(r, k) {
			c.AppendNull()
			continue
		}
		c.Vals = append(c.Vals, get(r))
	}
}

// valid reports whether b can be a row of the format, for bytes read back from
// storage.
func (f *rowFormat) valid(b []byte) bool {
	if len(b) < f.fixed {
		return false
	}
	end := f.fixed
	for k, t := range f.typs {
		if t.Kind() == types.KBytes {
			e := int(le.Uint32(b[f.off[k]:]))
			if e < end || e > len(b) {
				return false
			}
			end = e
		}
	}
	return end == len(b)
}

// identitySafe reports whether equal values of t are identical.
func identitySafe(t types.T) bool {
	switch t.ID {
	case types.Numeric, types.Bpchar, types.JSONB, types.Array, types.Record, types.Numrange, types.Nummultirange,
		types.Float4, types.Float8, types.Interval:
		return false
	}
	return true
}

func allIdentitySafe(ts []types.T, cols []int) bool {
	for _, c := range cols {
		if !identitySafe(ts[c]) {
			return false
		}
	}
	return true
}

// sameFloat reports whether two floats are the same bits.
func sameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
