package vec

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/streamdb/streamdb/types"
)

// AppendKey appends the order-preserving key of columns cols of row i: keys
// compare bytewise as ORDER BY compares the rows, and equal SQL values give
// equal keys whatever their representation. desc and nullsFirst have an element
// a column; nil means ascending and NULLs last. No type without an order (json)
// may be among the columns.
func AppendKey(dst []byte, c *Chunk, cols []int, desc, nullsFirst []bool, i int) []byte {
	for j, k := range cols {
		v := c.Cols[k]
		if v.IsNull(i) {
			dst = types.AppendKeyNull(dst, nullsFirst != nil && nullsFirst[j])
			continue
		}
		dst = appendKeyValue(dst, v, i, desc != nil && desc[j])
	}
	return dst
}

func appendKeyValue(dst []byte, v Vector, i int, desc bool) []byte {
	switch c := v.(type) {
	case *Col[bool]:
		return types.AppendKeyBool(dst, c.Vals[i], desc)
	case *Col[int16]:
		return types.AppendKeyInt64(dst, int64(c.Vals[i]), desc)
	case *Col[int32]:
		return types.AppendKeyInt64(dst, int64(c.Vals[i]), desc)
	case *Col[int64]:
		return types.AppendKeyInt64(dst, c.Vals[i], desc)
	case *Col[float32]:
		return types.AppendKeyFloat64(dst, float64(c.Vals[i]), desc)
	case *Col[float64]:
		return types.AppendKeyFloat64(dst, c.Vals[i], desc)
	case *Col[types.IntervalValue]:
		return types.AppendKeyInterval(dst, c.Vals[i], desc)
	case *Col[types.UUIDValue]:
		return types.AppendKeyUUID(dst, c.Vals[i], desc)
	case *Bytes:
		return types.AppendKeyBytes(dst, c.Typ, c.At(i), desc)
	}
	panic("vec: unknown vector")
}

// AppendGroupKey appends a key of columns cols of row i (nil: all) that is equal
// exactly for rows that GROUP BY takes together: NULLs are alike, 1.0 is 1.00.
// It says nothing of order and is cheaper than AppendKey.
func AppendGroupKey(dst []byte, c *Chunk, cols []int, i int) []byte {
	n := len(cols)
	if cols == nil {
		n = len(c.Cols)
	}
	for j := range n {
		k := j
		if cols != nil {
			k = cols[j]
		}
		v := c.Cols[k]
		if v.IsNull(i) {
			dst = append(dst, 0)
			continue
		}
		dst = appendGroupValue(append(dst, 1), v, i)
	}
	return dst
}

func appendGroupValue(dst []byte, v Vector, i int) []byte {
	switch c := v.(type) {
	case *Col[float32]:
		return binary.LittleEndian.AppendUint64(dst, floatBits(float64(c.Vals[i])))
	case *Col[float64]:
		return binary.LittleEndian.AppendUint64(dst, floatBits(c.Vals[i]))
	case *Col[types.IntervalValue]:
		hi, lo := IntervalKey(c.Vals[i])
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, uint64(hi)), lo)
	case *Bytes:
		if !needsCanonical(c.Typ) {
			return appendValue(dst, v, i)
		}
		return types.AppendKeyBytes(dst, c.Typ, c.At(i), false)
	}
	return appendValue(dst, v, i)
}

// EqualRows reports whether columns acols of row i of a equal columns bcols of
// row j of b as GROUP BY sees it (NULLs are alike). The columns' types must
// agree; nil means all columns.
func EqualRows(a *Chunk, i int, acols []int, b *Chunk, j int, bcols []int) bool {
	n := len(acols)
	if acols == nil {
		n = len(a.Cols)
	}
	for x := range n {
		p, q := x, x
		if acols != nil {
			p = acols[x]
		}
		if bcols != nil {
			q = bcols[x]
		}
		if !EqualValues(a.Cols[p], i, b.Cols[q], j) {
			return false
		}
	}
	return true
}

// EqualValues is EqualRows for one value.
func EqualValues(a Vector, i int, b Vector, j int) bool {
	if x, y := a.IsNull(i), b.IsNull(j); x || y {
		return x && y
	}
	switch p := a.(type) {
	case *Col[bool]:
		return p.Vals[i] == b.(*Col[bool]).Vals[j]
	case *Col[int16]:
		return p.Vals[i] == b.(*Col[int16]).Vals[j]
	case *Col[int32]:
		return p.Vals[i] == b.(*Col[int32]).Vals[j]
	case *Col[int64]:
		return p.Vals[i] == b.(*Col[int64]).Vals[j]
	case *Col[float32]:
		return equalFloats(float64(p.Vals[i]), float64(b.(*Col[float32]).Vals[j]))
	case *Col[float64]:
		return equalFloats(p.Vals[i], b.(*Col[float64]).Vals[j])
	case *Col[types.IntervalValue]:
		return types.CompareInterval(p.Vals[i], b.(*Col[types.IntervalValue]).Vals[j]) == 0
	case *Col[types.UUIDValue]:
		return p.Vals[i] == b.(*Col[types.UUIDValue]).Vals[j]
	case *Bytes:
		x, y := p.At(i), b.(*Bytes).At(j)
		return bytes.Equal(x, y) || needsCanonical(p.Typ) && types.CompareBytes(p.Typ, x, y) == 0
	}
	panic("vec: unknown vector")
}

// SameRows reports whether rows i and j of a chunk have the same values, such that
// AppendRow makes the same bytes of them: 1.0 and 1.00 are not the same.
func SameRows(c *Chunk, i, j int) bool {
	for _, v := range c.Cols {
		if x, y := v.IsNull(i), v.IsNull(j); x || y {
			if x != y {
				return false
			}
			continue
		}
		if !sameValues(v, i, j) {
			return false
		}
	}
	return true
}

func sameValues(v Vector, i, j int) bool {
	switch c := v.(type) {
	case *Col[float32]:
		return math.Float32bits(c.Vals[i]) == math.Float32bits(c.Vals[j])
	case *Col[float64]:
		return math.Float64bits(c.Vals[i]) == math.Float64bits(c.Vals[j])
	case *Col[types.IntervalValue]:
		return c.Vals[i] == c.Vals[j]
	case *Bytes:
		return bytes.Equal(c.At(i), c.At(j))
	}
	return EqualValues(v, i, v, j)
}

func equalFloats(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
