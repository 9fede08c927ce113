package expr

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// scaleCount counts the live values of one scale.
type scaleCount struct {
	scale int
	n     int64
}

// decimalSum sums numerics exactly. The scale of the result is the largest
// scale among the values that are still there, so it counts values by scale.
type decimalSum struct {
	n, nan, pos, neg int64 // finite values and the special ones
	sum, squares     types.Decimal
	// small is a part of the sum that is not in it yet, in units of smallScale.
	small       int64
	smallScale  uint8
	scales      []scaleCount
	withSquares bool
	dirty       bool
	finish      func(a *decimalSum, dst vec.Vector) error
}

func (a *decimalSum) Add(_ *Ctx, args []vec.Vector, i int, w int64) error {
	v := args[0]
	if v.IsNull(i) {
		return nil
	}
	a.dirty = true
	var d types.Decimal
	switch x := v.(type) {
	case *vec.Col[int16]:
		d = types.DecimalFromInt64(int64(x.Vals[i]))
	case *vec.Col[int32]:
		d = types.DecimalFromInt64(int64(x.Vals[i]))
	case *vec.Col[int64]:
		d = types.DecimalFromInt64(x.Vals[i])
	case *vec.Bytes:
		b := x.At(i)
		if c, s, ok := types.DecodeSmallDecimal(b); ok && a.addSmall(c, s, w) {
			return nil
		}
		d = types.DecodeDecimal(b)
	}
	switch {
	case d.IsNaN():
		a.nan += w
		return nil
	case d.IsInf() && d.Sign() > 0:
		a.pos += w
		return nil
	case d.IsInf():
		a.neg += w
		return nil
	}
	a.n += w
	a.count(d.Scale(), w)
	if a.withSquares {
		a.squares = a.squares.Add(times(d.Mul(d), w))
	}
	a.sum = a.sum.Add(times(d, w))
	a.empty()
	return nil
}

// empty forgets the scale of sums of nothing. That no value is left does not make
// them 0: within an epoch a value may be taken away before it is added.
func (a *decimalSum) empty() {
	if len(a.scales) > 0 {
		return
	}
	if a.sum.Sign() == 0 {
		a.sum = types.Decimal{}
	}
	if a.squares.Sign() == 0 {
		a.squares = types.Decimal{}
	}
}

// addSmall adds w times a short number to the small part, if it fits there.
func (a *decimalSum) addSmall(c int64, scale uint8, w int64) bool {
	if a.withSquares {
		return false
	}
	if scale != a.smallScale {
		if a.small != 0 {
			a.fold()
		}
		a.smallScale = scale
	}
	if w != 1 {
		var ok bool
		if c, ok = mulSmall(c, w); !ok {
			return false
		}
	}
	sum, ok := addSmallInts(a.small, c)
	if !ok {
		a.fold()
		sum = c
	}
	a.small = sum
	a.n += w
	a.count(int(scale), w)
	a.empty()
	return true
}

// fold adds the small part to the sum.
func (a *decimalSum) fold() {
	if a.small != 0 {
		var buf [16]byte
		a.sum = a.sum.Add(types.DecodeDecimal(types.AppendSmallDecimal(buf[:0], a.small, a.smallScale)))
		a.small = 0
	}
}

func times(d types.Decimal, w int64) types.Decimal {
	switch w {
	case 1:
		return d
	case -1:
		return d.Neg()
	}
	return d.Mul(types.DecimalFromInt64(w))
}

func (a *decimalSum) count(scale int, w int64) {
	for k := range a.scales {
		if a.scales[k].scale == scale {
			if a.scales[k].n += w; a.scales[k].n == 0 {
				a.scales = append(a.scales[:k], a.scales[k+1:]...)
			}
			return
		}
	}
	a.scales = append(a.scales, scaleCount{scale, w})
}

func (a *decimalSum) scale() int {
	s := 0
	for _, c := range a.scales {
		if c.n > 0 {
			s = max(s, c.scale)
		}
	}
	return s
}

func (a *decimalSum) total() int64 { return a.n + a.nan + a.pos + a.neg }

// special returns the result when a value is NaN or infinite.
func (a *decimalSum) special() (types.Decimal, bool) {
	switch {
	case a.nan > 0 || a.pos > 0 && a.neg > 0:
		return types.DecimalNaN(), true
	case a.pos > 0:
		return types.DecimalInf(), true
	case a.neg > 0:
		return types.DecimalNegInf(), true
	}
	return types.Decimal{}, false
}

func (a *decimalSum) Result(_ *Ctx, dst vec.Vector) error {
	if a.total() == 0 {
		dst.AppendNull()
		return nil
	}
	a.fold()
	return a.finish(a, dst)
}

func finishDecimalSum(a *decimalSum, dst vec.Vector) error {
	if d, ok := a.special(); ok {
		return appendDecimal(dst, d)
	}
	return appendDecimal(dst, a.sum.Round(a.scale()))
}

func finishDecimalAvg(a *decimalSum, dst vec.Vector) error {
	if d, ok := a.special(); ok {
		return appendDecimal(dst, d)
	}
	q, err := a.sum.Round(a.scale()).Div(types.DecimalFromInt64(a.n))
	if err != nil {
		return err
	}
	return appendDecimal(dst, q)
}

func (a *decimalSum) Delta(emit func(sub, val []byte)) {
	if !a.dirty {
		return
	}
	a.dirty = false
	a.fold()
	if a.total() == 0 && a.nan == 0 && a.pos == 0 && a.neg == 0 && len(a.scales) == 0 {
		emit(nil, nil)
		return
	}
	var b []byte
	for _, x := range []int64{a.n, a.nan, a.pos, a.neg, int64(len(a.scales))} {
		b = binary.AppendVarint(b, x)
	}
	for _, c := range a.scales {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(c.scale)), c.n)
	}
	for _, d := range []types.Decimal{a.sum, a.squares} {
		enc := types.AppendDecimal(nil, d)
		b = append(binary.AppendUvarint(b, uint64(len(enc))), enc...)
	}
	emit(nil, b)
}

func (a *decimalSum) Load(_, val []byte) error {
	r := reader{b: val}
	a.n, a.nan, a.pos, a.neg = r.varint(), r.varint(), r.varint(), r.varint()
	for k := r.varint(); k > 0 && !r.bad; k-- {
		a.scales = append(a.scales, scaleCount{int(r.varint()), r.varint()})
	}
	a.sum, a.squares = types.DecodeDecimal(r.bytes()), types.DecodeDecimal(r.bytes())
	if r.bad {
		return errState
	}
	return nil
}

func (a *decimalSum) MemSize() int { return 256 + 16*len(a.scales) }

// reader takes values off a stored state; bad is set when it runs short.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() int64 {
	x, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return x
}

// bytes returns a length-prefixed value; a zero decimal when damaged.
func (r *reader) bytes() []byte {
	l, n := binary.Uvarint(r.b)
	if n <= 0 || uint64(len(r.b)-n) < l || l == 0 {
		r.bad = true
		return types.AppendDecimal(nil, types.Decimal{})
	}
	v := r.b[n : n+int(l)]
	r.b = r.b[n+int(l):]
	return v
}

// intervalSum sums the three fields of intervals apart, and counts.
type intervalSum struct{ avg bool }

func (intervalSum) Size() int { return 32 }

func (intervalSum) Add(_ *Ctx, st [][]byte, off int, args []vec.Vector, diff []int64, skip vec.Bitmap) error {
	v := args[0].(*vec.Col[types.IntervalValue])
	for i, s := range st {
		if skip.Get(i) || v.Null.Get(i) {
			continue
		}
		x, w := v.Vals[i], weightOf(diff, i)
		p := s[off : off+32]
		for k, y := range [4]int64{w, x.Micros * w, int64(x.Days) * w, int64(x.Months) * w} {
			le.PutUint64(p[8*k:], le.Uint64(p[8*k:])+uint64(y))
		}
	}
	return nil
}

func (a intervalSum) Result(_ *Ctx, st []byte, dst vec.Vector) error {
	n := int64(le.Uint64(st))
	if n == 0 {
		dst.AppendNull()
		return nil
	}
	us, days, months := int64(le.Uint64(st[8:])), int64(le.Uint64(st[16:])), int64(le.Uint64(st[24:]))
	if int64(int32(days)) != days || int64(int32(months)) != months {
		return errIntervalRange
	}
	v := types.IntervalValue{Micros: us, Days: int32(days), Months: int32(months)}
	if a.avg {
		var err error
		if v, err = divInterval(v, float64(n)); err != nil {
			return err
		}
	}
	dst.AppendDatum(v)
	return nil
}
