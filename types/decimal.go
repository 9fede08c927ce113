package types

import (
	"encoding/binary"
	"math/big"
	"math/bits"

	"github.com/streamdb/streamdb/pgerr"
)

// Limits of numeric, as PostgreSQL's.
const (
	maxNumericScale   = 16383  // NUMERIC_DSCALE_MAX
	maxNumericInteger = 131072 // digits before the decimal point
	maxResultScale    = 1000   // NUMERIC_MAX_DISPLAY_SCALE: of division and friends
	minSigDigits      = 16     // NUMERIC_MIN_SIG_DIGITS
)

type decForm uint8

const (
	decFinite decForm = iota
	decNegInf
	decPosInf
	decNaN
)

// Decimal is a numeric value: coefficient × 10^-scale, or NaN or an infinity.
// The zero Decimal is 0. Magnitudes below 2^128 are held in two words; only
// larger ones allocate. Decimals are values: copy freely, never modify big.
type Decimal struct {
	big    *big.Int // magnitude, when it exceeds 128 bits
	hi, lo uint64
	scale  int32
	form   decForm
	neg    bool
}

// The special values of numeric.
func DecimalNaN() Decimal    { return Decimal{form: decNaN} }
func DecimalInf() Decimal    { return Decimal{form: decPosInf} }
func DecimalNegInf() Decimal { return Decimal{form: decNegInf} }

// IsNaN reports whether d is NaN.
func (d Decimal) IsNaN() bool { return d.form == decNaN }

// IsInf reports whether d is an infinity.
func (d Decimal) IsInf() bool { return d.form == decPosInf || d.form == decNegInf }

// IsZero reports whether d is a finite zero.
func (d Decimal) IsZero() bool { return d.form == decFinite && d.big == nil && d.hi|d.lo == 0 }

// Scale returns the display scale: digits after the decimal point.
func (d Decimal) Scale() int { return int(d.scale) }

// Sign returns -1, 0 or 1; NaN counts as 1, as it sorts above everything.
func (d Decimal) Sign() int {
	switch {
	case d.form == decNegInf:
		return -1
	case d.form != decFinite:
		return 1
	case d.IsZero():
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// DecimalFromInt64 returns v with scale 0.
func DecimalFromInt64(v int64) Decimal {
	if v < 0 {
		return Decimal{lo: uint64(-v), neg: true}
	}
	return Decimal{lo: uint64(v)}
}

// DecimalFromScaled returns v × 10^-scale; scale is 0 to 16383.
func DecimalFromScaled(v int64, scale int) Decimal {
	d := DecimalFromInt64(v)
	d.scale = int32(scale)
	return d
}

// DecimalFromInt128 returns the two's complement value hi:lo × 10^-scale.
func DecimalFromInt128(hi int64, lo uint64, scale int) Decimal {
	d := Decimal{hi: uint64(hi), lo: lo, scale: int32(scale)}
	if hi < 0 {
		var b uint64
		d.lo, b = bits.Sub64(0, lo, 0)
		d.hi, _ = bits.Sub64(0, uint64(hi), b)
		d.neg = true
	}
	return d
}

// DecimalFromBig returns c × 10^-scale and takes ownership of c.
func DecimalFromBig(c *big.Int, scale int) Decimal {
	neg := c.Sign() < 0
	if neg {
		c.Neg(c)
	}
	return fromMag(c, neg, int32(scale))
}

// fromMag owns c, which is not negative.
func fromMag(c *big.Int, neg bool, scale int32) Decimal {
	if c.BitLen() > 128 {
		return Decimal{big: c, neg: neg, scale: scale}
	}
	var buf [16]byte
	c.FillBytes(buf[:])
	d := Decimal{hi: binary.BigEndian.Uint64(buf[:]), lo: binary.BigEndian.Uint64(buf[8:]), scale: scale}
	d.neg = neg && d.hi|d.lo != 0
	return d
}

// mag returns the magnitude of the coefficient; the caller must not change it.
func (d *Decimal) mag() *big.Int {
	if d.big != nil {
		return d.big
	}
	c := new(big.Int)
	if d.hi == 0 {
		return c.SetUint64(d.lo)
	}
	c.SetUint64(d.hi)
	c.Lsh(c, 64)
	return c.Or(c, new(big.Int).SetUint64(d.lo))
}

func (d *Decimal) signed() *big.Int {
	if d.neg {
		return new(big.Int).Neg(d.mag())
	}
	return d.mag()
}

var pow10tab = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12,
	1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

func bigPow10(n int) *big.Int {
	if n < 20 {
		return new(big.Int).SetUint64(pow10tab[n])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// mul128 multiplies hi:lo by m; ok is false on overflow of 128 bits.
func mul128(hi, lo, m uint64) (rhi, rlo uint64, ok bool) {
	h, l := bits.Mul64(lo, m)
	o, hh := bits.Mul64(hi, m)
	s, c := bits.Add64(h, hh, 0)
	return s, l, o == 0 && c == 0
}

// div128 divides hi:lo by m.
func div128(hi, lo, m uint64) (qhi, qlo, r uint64) {
	if hi == 0 {
		return 0, lo / m, lo % m
	}
	qhi, r = hi/m, hi%m
	qlo, r = bits.Div64(r, lo, m)
	return qhi, qlo, r
}

// rescaleUp returns d with a scale of at least its own; the value is the same.
func (d Decimal) rescaleUp(scale int32) Decimal {
	for n := int(scale - d.scale); n > 0 && d.big == nil; {
		k := min(n, 19)
		hi, lo, ok := mul128(d.hi, d.lo, pow10tab[k])
		if !ok {
			break
		}
		d.hi, d.lo, d.scale = hi, lo, d.scale+int32(k)
		n -= k
	}
	if n := int(scale - d.scale); n > 0 {
		c := new(big.Int).Mul(d.mag(), bigPow10(n))
		return fromMag(c, d.neg, scale)
	}
	return d
}

func specialAdd(a, b Decimal) Decimal {
	switch {
	case a.form == decNaN || b.form == decNaN:
		return DecimalNaN()
	case a.form == decFinite:
		return Decimal{form: b.form}
	case b.form == decFinite || a.form == b.form:
		return Decimal{form: a.form}
	}
	return DecimalNaN()
}

// Add returns d + o.
func (d Decimal) Add(o Decimal) Decimal {
	if d.form|o.form != 0 {
		return specialAdd(d, o)
	}
	if d.scale < o.scale {
		d = d.rescaleUp(o.scale)
	} else if o.scale < d.scale {
		o = o.rescaleUp(d.scale)
	}
	if d.big == nil && o.big == nil {
		if d.neg == o.neg {
			lo, c := bits.Add64(d.lo, o.lo, 0)
			hi, c := bits.Add64(d.hi, o.hi, c)
			if c == 0 {
				d.lo, d.hi = lo, hi
				return d
			}
		} else {
			lo, b := bits.Sub64(d.lo, o.lo, 0)
			hi, b := bits.Sub64(d.hi, o.hi, b)
			if b != 0 {
				lo, b = bits.Sub64(0, lo, 0)
				hi, _ = bits.Sub64(0, hi, b)
				d.neg = o.neg
			}
			d.lo, d.hi = lo, hi
			d.neg = d.neg && hi|lo != 0
			return d
		}
	}
	return DecimalFromBig(new(big.Int).Add(d.signed(), o.signed()), int(d.scale))
}

// Sub returns d - o.
func (d Decimal) Sub(o Decimal) Decimal { return d.Add(o.Neg()) }

// Neg returns -d.
func (d Decimal) Neg() Decimal {
	switch d.form {
	case decPosInf:
		return DecimalNegInf()
	case decNegInf:
		return DecimalInf()
	case decFinite:
		d.neg = !d.neg && !d.IsZero()
	}
	return d
}

// Abs returns |d|.
func (d Decimal) Abs() Decimal {
	if d.form == decNegInf {
		return DecimalInf()
	}
	d.neg = false
	return d
}

// Mul returns d × o. The result's scale is the sum of both, at most 16383.
func (d Decimal) Mul(o Decimal) Decimal {
	if d.form|o.form != 0 {
		return specialMul(d, o)
	}
	scale, neg := d.scale+o.scale, d.neg != o.neg
	var r Decimal
	if d.big == nil && o.big == nil && d.hi == 0 && o.hi == 0 {
		r.hi, r.lo = bits.Mul64(d.lo, o.lo)
		r.scale, r.neg = scale, neg && r.hi|r.lo != 0
	} else {
		r = fromMag(new(big.Int).Mul(d.mag(), o.mag()), neg, scale)
	}
	if scale > maxNumericScale {
		r = r.Round(maxNumericScale)
	}
	return r
}

func specialMul(a, b Decimal) Decimal {
	s := a.Sign() * b.Sign()
	switch {
	case a.form == decNaN || b.form == decNaN || s == 0:
		return DecimalNaN()
	case s < 0:
		return DecimalNegInf()
	}
	return DecimalInf()
}

// Cmp orders numerics as SQL does: -Infinity < finite < Infinity < NaN = NaN.
func (d Decimal) Cmp(o Decimal) int {
	if d.form|o.form != 0 {
		return cmpInt(d.rank(), o.rank())
	}
	if s, t := d.Sign(), o.Sign(); s != t {
		return cmpInt(s, t)
	}
	c := d.cmpMag(o)
	if d.neg {
		return -c
	}
	return c
}

func (d Decimal) rank() int { return [...]int{1, 0, 2, 3}[d.form] }

func (d Decimal) cmpMag(o Decimal) int {
	if d.scale < o.scale {
		d = d.rescaleUp(o.scale)
	} else if o.scale < d.scale {
		o = o.rescaleUp(d.scale)
	}
	if d.big != nil || o.big != nil {
		return d.mag().Cmp(o.mag())
	}
	if d.hi != o.hi {
		return cmpInt(d.hi, o.hi)
	}
	return cmpInt(d.lo, o.lo)
}

func cmpInt[N int | int16 | int32 | int64 | uint64 | uint32](a, b N) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

type roundMode uint8

const (
	roundHalfUp roundMode = iota // away from zero at .5
	roundTrunc
	roundFloor
	roundCeil
)

// Round rounds half away from zero to scale digits after the point; a negative
// scale rounds before it. The result's scale is max(scale, 0), also when that
// is larger than d's.
func (d Decimal) Round(scale int) Decimal { return d.toScale(scale, roundHalfUp) }

// Trunc is Round towards zero.
func (d Decimal) Trunc(scale int) Decimal { return d.toScale(scale, roundTrunc) }

// Ceil returns the smallest integer not below d.
func (d Decimal) Ceil() Decimal { return d.toScale(0, roundCeil) }

// Floor returns the largest integer not above d.
func (d Decimal) Floor() Decimal { return d.toScale(0, roundFloor) }

func (d Decimal) toScale(scale int, mode roundMode) Decimal {
	if d.form != decFinite {
		return d
	}
	if int(d.scale) <= scale {
		return d.rescaleUp(int32(scale))
	}
	drop := int(d.scale) - scale
	if d.big == nil && drop <= 19 {
		m := pow10tab[drop]
		hi, lo, r := div128(d.hi, d.lo, m)
		if roundsUp(mode, d.neg, r != 0, r >= m-r) {
			var c uint64
			lo, c = bits.Add64(lo, 1, 0)
			hi += c
		}
		d.hi, d.lo = hi, lo
	} else {
		d = d.toScaleBig(drop, mode)
	}
	d.scale = int32(scale)
	d.neg = d.neg && !d.IsZero()
	if scale < 0 {
		d = d.rescaleUp(0)
	}
	return d
}

func (d Decimal) toScaleBig(drop int, mode roundMode) Decimal {
	m := d.mag()
	if float64(drop) > float64(m.BitLen())*0.30103+2 {
		up := roundsUp(mode, d.neg, m.Sign() != 0, false)
		r := Decimal{neg: d.neg}
		if up {
			r.lo = 1
		}
		return r
	}
	p := bigPow10(drop)
	q, r := new(big.Int).QuoRem(m, p, new(big.Int))
	if roundsUp(mode, d.neg, r.Sign() != 0, new(big.Int).Lsh(r, 1).Cmp(p) >= 0) {
		q.Add(q, big.NewInt(1))
	}
	return fromMag(q, d.neg, 0)
}

func roundsUp(mode roundMode, neg, inexact, half bool) bool {
	switch mode {
	case roundHalfUp:
		return inexact && half
	case roundFloor:
		return inexact && neg
	case roundCeil:
		return inexact && !neg
	}
	return false
}

func errNumericOverflow() *pgerr.Error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
}

// CheckRange is the error of a value with more digits than a numeric can have.
func (d Decimal) CheckRange() error {
	if d.big != nil && d.digits()-int(d.scale) > maxNumericInteger {
		return errNumericOverflow()
	}
	return nil
}

func errDivZero() *pgerr.Error { return pgerr.New(pgerr.DivisionByZero, "division by zero") }

// digits returns the number of decimal digits of the coefficient; 0 for zero.
func (d *Decimal) digits() int {
	if d.big != nil {
		n := int(float64(d.big.BitLen()-1)*0.30102999566398120) + 1
		if d.big.CmpAbs(bigPow10(n)) >= 0 {
			n++
		}
		return n
	}
	n, hi, lo := 0, d.hi, d.lo
	for hi != 0 {
		hi, lo, _ = div128(hi, lo, 1e19)
		n += 19
	}
	return n + digits64(lo)
}

func digits64(v uint64) int {
	if v == 0 {
		return 0
	}
	n := (bits.Len64(v) * 1233) >> 12
	if n < 20 && v >= pow10tab[n] {
		n++
	}
	return n
}

// lead returns the weight and the first digit in base 10000, the base whose
// digit boundaries decide PostgreSQL's result scales.
func (d *Decimal) lead() (weight int, first int64) {
	nd := d.digits()
	if nd == 0 {
		return 0, 0
	}
	e := nd - 1 - int(d.scale)
	weight = e >> 2
	keep := e - 4*weight + 1 // decimal digits in the first base-10000 digit
	if nd <= keep {
		first = int64(d.lo)
		for i := nd; i < keep; i++ {
			first *= 10
		}
		return weight, first
	}
	t := Decimal{big: d.big, hi: d.hi, lo: d.lo, scale: int32(nd - keep)}
	t = t.Trunc(0)
	return weight, int64(t.lo)
}

func clampScale(rscale int, scales ...int32) int {
	for _, s := range scales {
		rscale = max(rscale, int(s))
	}
	return min(max(rscale, 0), maxResultScale)
}

// Div returns d / o rounded to the scale PostgreSQL selects: at least 16
// significant digits and at least both operands' scales.
func (d Decimal) Div(o Decimal) (Decimal, error) {
	if d.form|o.form != 0 {
		return specialDiv(d, o)
	}
	if o.IsZero() {
		return Decimal{}, errDivZero()
	}
	w1, f1 := d.lead()
	w2, f2 := o.lead()
	qw := w1 - w2
	if f1 <= f2 {
		qw--
	}
	return d.quo(o, clampScale(minSigDigits-qw*4, d.scale, o.scale), roundHalfUp), nil
}

func specialDiv(a, b Decimal) (Decimal, error) {
	switch {
	case a.form == decNaN || b.form == decNaN:
		return DecimalNaN(), nil
	case a.IsInf() && b.IsInf():
		return DecimalNaN(), nil
	case a.IsInf() && b.IsZero():
		return Decimal{}, errDivZero()
	case a.IsInf():
		return specialMul(a, DecimalFromInt64(int64(b.Sign()))), nil
	}
	return Decimal{}, nil
}

// quo divides finite decimals; o is not zero. The result has scale rscale.
func (d Decimal) quo(o Decimal, rscale int, mode roundMode) Decimal {
	neg := d.neg != o.neg
	shift := rscale + int(o.scale) - int(d.scale)
	if shift >= 0 && d.big == nil && o.big == nil && o.hi == 0 {
		if n := d.rescaleUp(d.scale + int32(shift)); n.big == nil {
			hi, lo, r := div128(n.hi, n.lo, o.lo)
			if roundsUp(mode, neg, r != 0, r >= o.lo-r) {
				var c uint64
				lo, c = bits.Add64(lo, 1, 0)
				hi += c
			}
			return Decimal{hi: hi, lo: lo, scale: int32(rscale), neg: neg && hi|lo != 0}
		}
	}
	num, den := d.mag(), o.mag()
	if shift >= 0 {
		num = new(big.Int).Mul(num, bigPow10(shift))
	} else {
		den = new(big.Int).Mul(den, bigPow10(-shift))
	}
	q, r := new(big.Int).QuoRem(num, den, new(big.Int))
	if roundsUp(mode, neg, r.Sign() != 0, r.Lsh(r, 1).Cmp(den) >= 0) {
		q.Add(q, big.NewInt(1))
	}
	return fromMag(q, neg, int32(rscale))
}

// DivTrunc returns the integral quotient, as div(numeric, numeric) does.
func (d Decimal) DivTrunc(o Decimal) (Decimal, error) {
	if d.form|o.form != 0 {
		return specialDiv(d, o)
	}
	if o.IsZero() {
		return Decimal{}, errDivZero()
	}
	return d.quo(o, 0, roundTrunc), nil
}

// Mod returns the remainder of truncated division; its sign is d's.
func (d Decimal) Mod(o Decimal) (Decimal, error) {
	switch {
	case d.form == decNaN || o.form == decNaN:
		return DecimalNaN(), nil
	case o.IsZero():
		return Decimal{}, errDivZero()
	case d.IsInf():
		return DecimalNaN(), nil
	case o.IsInf():
		return d, nil
	}
	s := max(d.scale, o.scale)
	a, b := d.rescaleUp(s), o.rescaleUp(s)
	if a.big == nil && b.big == nil && b.hi == 0 {
		_, _, r := div128(a.hi, a.lo, b.lo)
		return Decimal{lo: r, scale: s, neg: d.neg && r != 0}, nil
	}
	return fromMag(new(big.Int).Rem(a.mag(), b.mag()), d.neg, s), nil
}
