package expr

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var le = binary.LittleEndian

func weightOf(diff []int64, i int) int64 {
	if diff == nil {
		return 1
	}
	return diff[i]
}

// countAgg counts rows, or rows whose arguments are not NULL.
type countAgg struct{ star bool }

func (countAgg) Size() int { return 8 }

func (a countAgg) Add(_ *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	var nulls vec.Bitmap
	if !a.star {
		nulls = args[0].Nulls()
	}
	for i, s := range st {
		if skip.Get(i) || nulls.Get(i) {
			continue
		}
		p := s[off : off+8]
		le.PutUint64(p, le.Uint64(p)+uint64(weightOf(diff, i)))
	}
	return nil
}

func (countAgg) Result(_ *Ctx, st []byte, dst vec.Vector) error {
	dst.AppendDatum(int64(le.Uint64(st)))
	return nil
}

// sumIntAgg sums integers in 128 bits beside the count of values, so that the
// order of additions and retractions cannot overflow. finish is given both.
type sumIntAgg struct {
	finish func(n int64, hi int64, lo uint64, dst vec.Vector) error
}

func (sumIntAgg) Size() int { return 24 }

func (sumIntAgg) Add(_ *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	switch v := args[0].(type) {
	case *vec.Col[int16]:
		addSums(st, off, v.Vals, v.Null, diff, skip)
	case *vec.Col[int32]:
		addSums(st, off, v.Vals, v.Null, diff, skip)
	case *vec.Col[int64]:
		addSums(st, off, v.Vals, v.Null, diff, skip)
	}
	return nil
}

func addSums[T ordered](st [][]byte, off int, vals []T, nulls vec.Bitmap, diff []int64, skip vec.Bitmap) {
	check := len(nulls) > 0 || len(skip) > 0
	for i, s := range st {
		if check && (nulls.Get(i) || skip.Get(i)) {
			continue
		}
		w, x := weightOf(diff, i), int64(vals[i])
		hi, lo := mulWide(x, w)
		p := s[off : off+24]
		le.PutUint64(p, le.Uint64(p)+uint64(w))
		l, carry := bits.Add64(le.Uint64(p[8:]), lo, 0)
		h, _ := bits.Add64(le.Uint64(p[16:]), uint64(hi), carry)
		le.PutUint64(p[8:], l)
		le.PutUint64(p[16:], h)
	}
}

// mulWide is the signed 128-bit product.
func mulWide(a, b int64) (int64, uint64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(hi) - (a>>63)&b - (b>>63)&a, lo
}

func (a sumIntAgg) Result(_ *Ctx, st []byte, dst vec.Vector) error {
	n := int64(le.Uint64(st))
	if n == 0 {
		dst.AppendNull()
		return nil
	}
	return a.finish(n, int64(le.Uint64(st[16:])), le.Uint64(st[8:]), dst)
}

func finishBigint(_ int64, hi int64, lo uint64, dst vec.Vector) error {
	if hi != int64(lo)>>63 {
		return errInt8Range
	}
	dst.AppendDatum(int64(lo))
	return nil
}

func finishNumeric(_ int64, hi int64, lo uint64, dst vec.Vector) error {
	return appendDecimal(dst, types.DecimalFromInt128(hi, lo, 0))
}

func finishAvg(n int64, hi int64, lo uint64, dst vec.Vector) error {
	q, err := types.DecimalFromInt128(hi, lo, 0).Div(types.DecimalFromInt64(n))
	if err != nil {
		return err
	}
	return appendDecimal(dst, q)
}

func appendDecimal(dst vec.Vector, d types.Decimal) error {
	b := dst.(*vec.Bytes)
	b.Data = types.AppendDecimal(b.Data, d)
	b.Finish()
	return nil
}

// extremeAgg is min or max over values that are never taken away, of a kind
// that fits 16 bytes: a flag and the value.
type extremeAgg[T vec.Fixed] struct {
	max  bool
	cmp  func(a, b T) int
	put  func(b []byte, x T)
	take func(b []byte) T
}

func (extremeAgg[T]) Size() int { return 17 }

func (a extremeAgg[T]) Add(_ *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	v := args[0].(*vec.Col[T])
	for i, s := range st {
		if skip.Get(i) || v.Null.Get(i) || weightOf(diff, i) <= 0 {
			continue
		}
		p := s[off : off+17]
		if p[0] != 0 {
			d := a.cmp(v.Vals[i], a.take(p[1:]))
			if d == 0 || d > 0 != a.max {
				continue
			}
		}
		p[0] = 1
		a.put(p[1:], v.Vals[i])
	}
	return nil
}

func (a extremeAgg[T]) Result(_ *Ctx, st []byte, dst vec.Vector) error {
	d := dst.(*vec.Col[T])
	if st[0] == 0 {
		d.AppendNull()
		return nil
	}
	d.Vals = append(d.Vals, a.take(st[1:]))
	return nil
}

func compareInts[T ordered](a, b T) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

func intExtreme[T ordered](isMax bool) FlatAgg {
	return extremeAgg[T]{isMax, compareInts[T],
		func(b []byte, x T) { le.PutUint64(b, uint64(int64(x))) },
		func(b []byte) T { return T(le.Uint64(b)) }}
}

// flatExtreme returns the append-only form of min or max; nil if the kind has
// none.
func flatExtreme(t types.T, isMax bool) FlatAgg {
	switch t.Kind() {
	case types.KInt16:
		return intExtreme[int16](isMax)
	case types.KInt32:
		return intExtreme[int32](isMax)
	case types.KInt64:
		return intExtreme[int64](isMax)
	case types.KFloat32:
		return extremeAgg[float32]{isMax, compareFloats[float32],
			func(b []byte, x float32) { le.PutUint32(b, math.Float32bits(x)) },
			func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }}
	case types.KFloat64:
		return extremeAgg[float64]{isMax, compareFloats[float64],
			func(b []byte, x float64) { le.PutUint64(b, math.Float64bits(x)) },
			func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }}
	case types.KInterval:
		return extremeAgg[types.IntervalValue]{isMax, compareIntervals, putInterval, takeInterval}
	}
	return nil
}

func putInterval(b []byte, x types.IntervalValue) {
	le.PutUint64(b, uint64(x.Micros))
	le.PutUint32(b[8:], uint32(x.Days))
	le.PutUint32(b[12:], uint32(x.Months))
}

func takeInterval(b []byte) types.IntervalValue {
	return types.IntervalValue{Micros: int64(le.Uint64(b)), Days: int32(le.Uint32(b[8:])), Months: int32(le.Uint32(b[12:]))}
}

// boolAgg is bool_and or bool_or by counting true and false values.
type boolAgg struct{ or bool }

func (boolAgg) Size() int { return 16 }

func (boolAgg) Add(_ *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	v := args[0].(*vec.Col[bool])
	for i, s := range st {
		if skip.Get(i) || v.Null.Get(i) {
			continue
		}
		p := s[off : off+8]
		if v.Vals[i] {
			p = s[off+8 : off+16]
		}
		le.PutUint64(p, le.Uint64(p)+uint64(weightOf(diff, i)))
	}
	return nil
}

func (a boolAgg) Result(_ *Ctx, st []byte, dst vec.Vector) error {
	f, t := int64(le.Uint64(st)), int64(le.Uint64(st[8:]))
	switch {
	case f+t == 0:
		dst.AppendNull()
	case a.or:
		dst.AppendDatum(t > 0)
	default:
		dst.AppendDatum(f == 0)
	}
	return nil
}

// bitAgg is bit_and, bit_or or bit_xor by a counter a bit, and the number of
// values in front.
type bitAgg[T ordered] struct {
	op   byte
	bits int
}

func (a bitAgg[T]) Size() int { return 8 * (a.bits + 1) }

func (a bitAgg[T]) Add(_ *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	v := args[0].(*vec.Col[T])
	for i, s := range st {
		if skip.Get(i) || v.Null.Get(i) {
			continue
		}
		w := uint64(weightOf(diff, i))
		p := s[off:]
		le.PutUint64(p, le.Uint64(p)+w)
		for x := uint64(v.Vals[i]) & (1<<(a.bits-1)<<1 - 1); x != 0; x &= x - 1 {
			q := p[8*(1+bits.TrailingZeros64(x)):]
			le.PutUint64(q, le.Uint64(q)+w)
		}
	}
	return nil
}

func (a bitAgg[T]) Result(_ *Ctx, st []byte, dst vec.Vector) error {
	n := int64(le.Uint64(st))
	if n == 0 {
		dst.AppendNull()
		return nil
	}
	var x uint64
	for b := range a.bits {
		k := int64(le.Uint64(st[8*(b+1):]))
		if a.op == '&' && k == n || a.op == '|' && k > 0 || a.op == '#' && k&1 == 1 {
			x |= 1 << b
		}
	}
	d := dst.(*vec.Col[T])
	d.Vals = append(d.Vals, T(x))
	return nil
}
