package vec

import (
	"fmt"
	"math"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Vector is a dense column of one type. Its implementations are *Col[T] for
// fixed-width kinds and *Bytes for variable-width ones; hot loops switch to
// them, everything else goes through this interface.
type Vector interface {
	// Type returns the SQL type of the values.
	Type() types.T
	// Len returns the number of rows.
	Len() int
	// IsNull reports whether row i is NULL.
	IsNull(i int) bool
	// Nulls returns the null bitmap; nil if there is no null. It is borrowed.
	Nulls() Bitmap
	// SetNull makes row i NULL, whatever its value.
	SetNull(i int)
	// OrNulls makes every row NULL that is NULL in n.
	OrNulls(n Bitmap)
	// Reset empties the vector and keeps its memory.
	Reset()
	// Resize makes a fixed-width vector n rows long with no null and undefined
	// values, for kernels to fill; a Bytes vector becomes empty with room for n.
	Resize(n int)
	// AppendNull appends a NULL.
	AppendNull()
	// AppendDatum appends d, which must be nil or of the kind of Type.
	AppendDatum(d types.Datum)
	// Datum boxes row i; for edges, not for hot paths.
	Datum(i int) types.Datum
	// AppendFrom appends row i of src, a vector of the same kind.
	AppendFrom(src Vector, i int)
	// Gather appends the rows sel of src, a vector of the same kind.
	Gather(src Vector, sel []int32)
	// AppendRange appends rows [lo, hi) of src, a vector of the same kind.
	AppendRange(src Vector, lo, hi int)
	// Bytes returns the memory held, in bytes.
	MemSize() int
}

// Fixed lists the Go types of fixed-width kinds.
type Fixed interface {
	bool | int16 | int32 | int64 | float32 | float64 | types.IntervalValue | types.UUIDValue
}

// Col is a vector of fixed-width values.
type Col[T Fixed] struct {
	Typ  types.T
	Vals []T
	Null Bitmap
}

// Bytes is a vector of variable-width values: row i is Data[Off[i]:Off[i+1]].
// Off has one element more than there are rows, except that it may be nil when
// empty.
type Bytes struct {
	Typ  types.T
	Off  []uint32
	Data []byte
	Null Bitmap
	// Bound, when not nil, makes the vector hold SoftBytes at most, or a single value:
	// appending more panics with it.
	Bound *Bound
}

// SoftBytes is how many bytes the values of a chunk's column should take together
// at most. A column that comes to more is best cut into several chunks.
const SoftBytes = 16 << 20

// Bound tells how many rows a bounded vector could take when it panicked; 0: none
// has.
type Bound struct{ Rows int }

// errTooLarge is the panic of a vector whose values take more bytes than its
// offsets can count.
var errTooLarge = pgerr.New(pgerr.ProgramLimitExceeded, "the values of a column take more than 4 GB in %d rows or less", MaxRows).
	WithHint("Make the values shorter, or handle fewer rows at a time.")

// New makes an empty vector of type t with room for n rows.
func New(t types.T, n int) Vector {
	switch t.Kind() {
	case types.KBool:
		return newCol[bool](t, n)
	case types.KInt16:
		return newCol[int16](t, n)
	case types.KInt32:
		return newCol[int32](t, n)
	case types.KInt64:
		return newCol[int64](t, n)
	case types.KFloat32:
		return newCol[float32](t, n)
	case types.KFloat64:
		return newCol[float64](t, n)
	case types.KInterval:
		return newCol[types.IntervalValue](t, n)
	case types.KUUID:
		return newCol[types.UUIDValue](t, n)
	}
	return &Bytes{Typ: t, Off: append(make([]uint32, 0, n+1), 0)}
}

func newCol[T Fixed](t types.T, n int) *Col[T] { return &Col[T]{Typ: t, Vals: make([]T, 0, n)} }

// Retyped returns v with another type of the same kind. The values are shared.
func Retyped(v Vector, t types.T) Vector {
	switch c := v.(type) {
	case *Col[bool]:
		return retyped(c, t)
	case *Col[int16]:
		return retyped(c, t)
	case *Col[int32]:
		return retyped(c, t)
	case *Col[int64]:
		return retyped(c, t)
	case *Col[float32]:
		return retyped(c, t)
	case *Col[float64]:
		return retyped(c, t)
	case *Col[types.IntervalValue]:
		return retyped(c, t)
	case *Col[types.UUIDValue]:
		return retyped(c, t)
	case *Bytes:
		d := *c
		d.Typ = t
		return &d
	}
	return v
}

func retyped[T Fixed](c *Col[T], t types.T) Vector {
	return &Col[T]{Typ: t, Vals: c.Vals, Null: c.Null}
}

// Const makes a vector of n copies of d.
func Const(t types.T, d types.Datum, n int) Vector {
	v := New(t, n)
	for range n {
		v.AppendDatum(d)
	}
	return v
}

func (c *Col[T]) Type() types.T     { return c.Typ }
func (c *Col[T]) Len() int          { return len(c.Vals) }
func (c *Col[T]) IsNull(i int) bool { return c.Null.Get(i) }
func (c *Col[T]) Nulls() Bitmap     { return c.Null }
func (c *Col[T]) SetNull(i int)     { c.Null.Set(i) }
func (c *Col[T]) OrNulls(n Bitmap)  { orInto(&c.Null, n) }

func orInto(d *Bitmap, n Bitmap) {
	for len(*d) < len(n) {
		*d = append(*d, 0)
	}
	for i, w := range n {
		(*d)[i] |= w
	}
}

func (c *Col[T]) Reset() { c.Vals, c.Null = c.Vals[:0], c.Null[:0] }

func (c *Col[T]) Resize(n int) {
	if cap(c.Vals) < n {
		c.Vals = make([]T, n)
	}
	c.Vals, c.Null = c.Vals[:n], c.Null[:0]
}

func (c *Col[T]) AppendNull() {
	var zero T
	c.Null.Set(len(c.Vals))
	c.Vals = append(c.Vals, zero)
}

func (c *Col[T]) AppendDatum(d types.Datum) {
	if d == nil {
		c.AppendNull()
		return
	}
	x, ok := d.(T)
	if !ok {
		panic(fmt.Sprintf("vec: datum %T in a column of %s", d, c.Typ))
	}
	c.Vals = append(c.Vals, x)
}

func (c *Col[T]) Datum(i int) types.Datum {
	if c.Null.Get(i) {
		return nil
	}
	return c.Vals[i]
}

func (c *Col[T]) AppendFrom(src Vector, i int) {
	s := src.(*Col[T])
	if len(s.Null) > 0 && s.Null.Get(i) {
		c.Null.Set(len(c.Vals))
	}
	c.Vals = append(c.Vals, s.Vals[i])
}

func (c *Col[T]) Gather(src Vector, sel []int32) {
	s := src.(*Col[T])
	n := len(c.Vals)
	c.Vals = grow(c.Vals, len(sel))
	out, in := c.Vals[n:], s.Vals
	for j, i := range sel {
		out[j] = in[i]
	}
	gatherNulls(&c.Null, n, s.Null, sel)
}

func grow[T any](s []T, by int) []T {
	n := len(s) + by
	if cap(s) < n {
		t := make([]T, n, max(n, 2*cap(s)))
		copy(t, s)
		return t
	}
	return s[:n]
}

func gatherNulls(d *Bitmap, base int, s Bitmap, sel []int32) {
	if len(s) == 0 {
		return
	}
	for j, i := range sel {
		if s.Get(int(i)) {
			d.Set(base + j)
		}
	}
}

func (c *Col[T]) AppendRange(src Vector, lo, hi int) {
	s := src.(*Col[T])
	n := len(c.Vals)
	c.Vals = append(c.Vals, s.Vals[lo:hi]...)
	rangeNulls(&c.Null, n, s.Null, lo, hi)
}

func rangeNulls(d *Bitmap, base int, s Bitmap, lo, hi int) {
	if len(s) == 0 {
		return
	}
	for i := lo; i < hi; i++ {
		if s.Get(i) {
			d.Set(base + i - lo)
		}
	}
}

func (c *Col[T]) MemSize() int {
	var z T
	return cap(c.Vals)*sizeOf(any(z)) + 8*cap(c.Null)
}

func sizeOf(z any) int {
	switch z.(type) {
	case bool:
		return 1
	case int16:
		return 2
	case int32, float32:
		return 4
	case int64, float64:
		return 8
	}
	return 16
}

func (c *Bytes) Type() types.T { return c.Typ }
func (c *Bytes) Len() int {
	if len(c.Off) == 0 {
		return 0
	}
	return len(c.Off) - 1
}
func (c *Bytes) IsNull(i int) bool { return c.Null.Get(i) }
func (c *Bytes) Nulls() Bitmap     { return c.Null }
func (c *Bytes) SetNull(i int)     { c.Null.Set(i) }
func (c *Bytes) OrNulls(n Bitmap)  { orInto(&c.Null, n) }

// At returns row i's bytes, borrowed; empty for a NULL.
func (c *Bytes) At(i int) []byte { return c.Data[c.Off[i]:c.Off[i+1]] }

func (c *Bytes) Reset() {
	if c.Off == nil {
		c.Off = make([]uint32, 1, 2)
	}
	c.Off, c.Data, c.Null = c.Off[:1], c.Data[:0], c.Null[:0]
	c.Off[0] = 0
}

func (c *Bytes) Resize(n int) {
	if cap(c.Off) < n+1 {
		c.Off = make([]uint32, 1, n+1)
	}
	c.Reset()
}

// Append appends a value; b is copied.
func (c *Bytes) Append(b []byte) {
	c.Data = append(c.Data, b...)
	c.Finish()
}

// AppendString appends a value.
func (c *Bytes) AppendString(s string) {
	c.Data = append(c.Data, s...)
	c.Finish()
}

// Finish ends a value that the caller wrote by appending to Data.
func (c *Bytes) Finish() {
	if len(c.Off) == 0 {
		c.Off = append(c.Off, 0)
	}
	if len(c.Data) > SoftBytes {
		c.wide()
	}
	c.Off = append(c.Off, uint32(len(c.Data)))
}

// wide is asked before a row ends beyond SoftBytes.
func (c *Bytes) wide() {
	if n := len(c.Off) - 1; c.Bound != nil && n > 0 {
		c.Bound.Rows = n
		panic(c.Bound)
	}
	if len(c.Data) > math.MaxUint32 {
		panic(errTooLarge)
	}
}

func (c *Bytes) AppendNull() {
	c.Null.Set(c.Len())
	c.Finish()
}

func (c *Bytes) AppendDatum(d types.Datum) {
	if d == nil {
		c.AppendNull()
		return
	}
	s, ok := d.(string)
	if !ok {
		panic(fmt.Sprintf("vec: datum %T in a column of %s", d, c.Typ))
	}
	c.AppendString(s)
}

func (c *Bytes) Datum(i int) types.Datum {
	if c.Null.Get(i) {
		return nil
	}
	return string(c.At(i))
}

func (c *Bytes) AppendFrom(src Vector, i int) {
	s := src.(*Bytes)
	if len(s.Null) > 0 && s.Null.Get(i) {
		c.Null.Set(c.Len())
	}
	c.Append(s.At(i))
}

func (c *Bytes) Gather(src Vector, sel []int32) {
	s := src.(*Bytes)
	n := c.Len()
	if len(c.Off) == 0 {
		c.Off = append(c.Off, 0)
	}
	size := len(c.Data)
	for _, i := range sel {
		size += int(s.Off[i+1] - s.Off[i])
	}
	if size > math.MaxUint32 {
		panic(errTooLarge)
	}
	if cap(c.Data) < size {
		t := make([]byte, len(c.Data), max(size, 2*cap(c.Data)))
		copy(t, c.Data)
		c.Data = t
	}
	for _, i := range sel {
		c.Data = append(c.Data, s.Data[s.Off[i]:s.Off[i+1]]...)
		c.Off = append(c.Off, uint32(len(c.Data)))
	}
	gatherNulls(&c.Null, n, s.Null, sel)
}

func (c *Bytes) AppendRange(src Vector, lo, hi int) {
	if hi <= lo {
		return
	}
	s := src.(*Bytes)
	n := c.Len()
	if len(c.Off) == 0 {
		c.Off = append(c.Off, 0)
	}
	if len(c.Data)+int(s.Off[hi]-s.Off[lo]) > math.MaxUint32 {
		panic(errTooLarge)
	}
	base := uint32(len(c.Data)) - s.Off[lo]
	c.Data = append(c.Data, s.Data[s.Off[lo]:s.Off[hi]]...)
	for _, o := range s.Off[lo+1 : hi+1] {
		c.Off = append(c.Off, o+base)
	}
	rangeNulls(&c.Null, n, s.Null, lo, hi)
}

func (c *Bytes) MemSize() int { return 4*cap(c.Off) + cap(c.Data) + 8*cap(c.Null) }
