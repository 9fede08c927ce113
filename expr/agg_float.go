package expr

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/streamdb/streamdb/vec"
)

// exactSum adds floating-point values without any rounding: a fixed-point
// number of signed 32-bit digits, kept in int64 so that carries wait. Only the
// range of digits in use is held. What is added and taken away again leaves no
// trace.
type exactSum struct {
	digits []int64
	low    int // weight of digits[0] is 2^(32*low + floatBase)
	adds   int // since the last normalisation
}

// floatBase is below the lowest bit of the square of the least float64.
const floatBase = -2176

// add adds w * (hi<<64|lo) * 2^exp; w is in (-2^20, 2^20).
func (s *exactSum) add(hi, lo uint64, exp int, w int64) {
	if hi|lo == 0 || w == 0 {
		return
	}
	at := exp - floatBase
	k, shift := at>>5, uint(at&31)
	top := hi >> 1 >> (63 - shift)
	hi = hi<<shift | lo>>1>>(63-shift)
	lo <<= shift
	s.reserve(k, 5)
	d := s.digits[k-s.low:]
	d[0] += int64(lo&math.MaxUint32) * w
	d[1] += int64(lo>>32) * w
	d[2] += int64(hi&math.MaxUint32) * w
	d[3] += int64(hi>>32) * w
	d[4] += int64(top) * w
	if s.adds++; s.adds >= 1<<10 {
		s.normalize()
	}
}

// reserve makes digits k..k+n-1 exist.
func (s *exactSum) reserve(k, n int) {
	if len(s.digits) == 0 {
		s.low = k
		s.digits = append(s.digits[:0], make([]int64, n)...)
		return
	}
	if k < s.low {
		grown := make([]int64, len(s.digits)+s.low-k)
		copy(grown[s.low-k:], s.digits)
		s.digits, s.low = grown, k
	}
	for s.low+len(s.digits) < k+n {
		s.digits = append(s.digits, 0)
	}
}

// normalize brings every digit into [-2^31, 2^31) and drops zeros at both ends,
// so that equal sums have equal forms.
func (s *exactSum) normalize() {
	s.adds = 0
	var carry int64
	for i, d := range s.digits {
		d += carry
		carry = (d + 1<<31) >> 32
		s.digits[i] = d - carry<<32
	}
	for carry != 0 {
		d := carry
		carry = (d + 1<<31) >> 32
		s.digits = append(s.digits, d-carry<<32)
	}
	n := len(s.digits)
	for n > 0 && s.digits[n-1] == 0 {
		n--
	}
	lead := 0
	for lead < n && s.digits[lead] == 0 {
		lead++
	}
	s.digits = append(s.digits[:0], s.digits[lead:n]...)
	if s.low += lead; len(s.digits) == 0 {
		s.low, s.digits = 0, nil
	}
}

// integer returns the sum as mantissa * 2^exp.
func (s *exactSum) integer() (*big.Int, int) {
	s.normalize()
	x := new(big.Int)
	for i := len(s.digits) - 1; i >= 0; i-- {
		x.Lsh(x, 32)
		x.Add(x, big.NewInt(s.digits[i]))
	}
	return x, 32*s.low + floatBase
}

// rational returns the sum exactly.
func (s *exactSum) rational() *big.Rat {
	x, exp := s.integer()
	r := new(big.Rat).SetInt(x)
	two := new(big.Int).Lsh(big.NewInt(1), uint(max(exp, -exp)))
	if exp >= 0 {
		return r.Mul(r, new(big.Rat).SetInt(two))
	}
	return r.Quo(r, new(big.Rat).SetInt(two))
}

// float returns the sum rounded once.
func (s *exactSum) float() float64 {
	x, exp := s.integer()
	if x.Sign() == 0 {
		return 0
	}
	f := new(big.Float).SetInt(x)
	f.SetMantExp(f, exp)
	v, _ := f.Float64()
	return v
}

func (s *exactSum) appendTo(b []byte) []byte {
	s.normalize()
	b = binary.AppendVarint(b, int64(len(s.digits)))
	b = binary.AppendVarint(b, int64(s.low))
	for _, d := range s.digits {
		b = binary.AppendVarint(b, d)
	}
	return b
}

func (s *exactSum) read(r *reader) {
	n := r.varint()
	s.low = int(r.varint())
	s.digits = nil
	for ; n > 0 && !r.bad; n-- {
		s.digits = append(s.digits, r.varint())
	}
}

// floatSum is sum, avg and the variance family over floats. NaN and infinities
// are counted apart.
type floatSum struct {
	n, nan, pos, neg int64
	sum, squares     exactSum
	withSquares      bool
	dirty            bool
	finish           func(a *floatSum, dst vec.Vector) error
}

func (a *floatSum) Add(_ *Ctx, args []vec.Vector, i int, w int64) error {
	if args[0].IsNull(i) {
		return nil
	}
	a.dirty = true
	x := floatAt(args[0], i)
	switch {
	case x != x:
		a.nan += w
		return nil
	case math.IsInf(x, 1):
		a.pos += w
		return nil
	case math.IsInf(x, -1):
		a.neg += w
		return nil
	}
	a.n += w
	for w != 0 {
		part := max(min(w, 1<<20-1), -(1<<20 - 1))
		w -= part
		a.addFinite(x, part)
	}
	if a.n == 0 {
		a.sum.normalize()
		a.squares.normalize()
	}
	return nil
}

func floatAt(v vec.Vector, i int) float64 {
	if f, ok := v.(*vec.Col[float32]); ok {
		return float64(f.Vals[i])
	}
	return v.(*vec.Col[float64]).Vals[i]
}

// mantissa splits a finite float into an integer and a power of two.
func mantissa(x float64) (m uint64, exp int) {
	b := math.Float64bits(x)
	m, exp = b&(1<<52-1), int(b>>52&0x7ff)
	if exp == 0 {
		return m, -1074
	}
	return m | 1<<52, exp - 1075
}

func (a *floatSum) addFinite(x float64, w int64) {
	m, exp := mantissa(x)
	if a.withSquares {
		hi, lo := bits.Mul64(m, m)
		a.squares.add(hi, lo, 2*exp, w)
	}
	if x < 0 {
		w = -w
	}
	a.sum.add(0, m, exp, w)
}

func (a *floatSum) total() int64 { return a.n + a.nan + a.pos + a.neg }

func (a *floatSum) Result(_ *Ctx, dst vec.Vector) error {
	if a.total() == 0 {
		dst.AppendNull()
		return nil
	}
	return a.finish(a, dst)
}

func (a *floatSum) special() (float64, bool) {
	switch {
	case a.nan > 0 || a.pos > 0 && a.neg > 0:
		return math.NaN(), true
	case a.pos > 0:
		return math.Inf(1), true
	case a.neg > 0:
		return math.Inf(-1), true
	}
	return 0, false
}

func finishFloatSum(a *floatSum, dst vec.Vector) error {
	x, ok := a.special()
	if !ok {
		if x = a.sum.float(); math.IsInf(x, 0) {
			return errOverflow
		}
	}
	return putFloat(dst, x)
}

func putFloat(dst vec.Vector, x float64) error {
	if d, ok := dst.(*vec.Col[float32]); ok {
		if y := float32(x); isInf(y) && !math.IsInf(x, 0) {
			return errOverflow
		}
		d.Vals = append(d.Vals, float32(x))
		return nil
	}
	d := dst.(*vec.Col[float64])
	d.Vals = append(d.Vals, x)
	return nil
}

func finishFloatAvg(a *floatSum, dst vec.Vector) error {
	x, ok := a.special()
	if !ok {
		if x = a.sum.float(); math.IsInf(x, 0) {
			return errOverflow
		}
		x /= float64(a.n)
	}
	return putFloat(dst, x)
}

func (a *floatSum) Delta(emit func(sub, val []byte)) {
	if !a.dirty {
		return
	}
	a.dirty = false
	if a.n == 0 && a.nan == 0 && a.pos == 0 && a.neg == 0 {
		emit(nil, nil)
		return
	}
	var b []byte
	for _, x := range []int64{a.n, a.nan, a.pos, a.neg} {
		b = binary.AppendVarint(b, x)
	}
	emit(nil, a.squares.appendTo(a.sum.appendTo(b)))
}

func (a *floatSum) Load(_, val []byte) error {
	r := reader{b: val}
	a.n, a.nan, a.pos, a.neg = r.varint(), r.varint(), r.varint(), r.varint()
	a.sum.read(&r)
	a.squares.read(&r)
	if r.bad {
		return errState
	}
	return nil
}

func (a *floatSum) MemSize() int { return 160 + 8*(cap(a.sum.digits)+cap(a.squares.digits)) }
