package types

import (
	"math"
	"math/big"

	"github.com/streamdb/streamdb/pgerr"
)

// Sqrt returns the square root at PostgreSQL's scale; 2201F below zero.
func (d Decimal) Sqrt() (Decimal, error) {
	if d.form == decNaN || d.form == decPosInf {
		return d, nil
	}
	if d.Sign() < 0 {
		return d, pgerr.New(pgerr.InvalidArgumentForPower, "cannot take square root of a negative number")
	}
	w, _ := d.lead()
	rscale := clampScale(minSigDigits-((w+1)*4/2-1), d.scale)
	// floor(sqrt(c × 10^k)) is the root at rscale; the remainder rounds it.
	shift := 2*rscale - int(d.scale)
	c := d.mag()
	if shift >= 0 {
		c = new(big.Int).Mul(c, bigPow10(shift))
	} else {
		c = new(big.Int).Quo(c, bigPow10(-shift))
	}
	r := new(big.Int).Sqrt(c)
	if rem := new(big.Int).Sub(c, new(big.Int).Mul(r, r)); rem.Cmp(r) > 0 {
		r.Add(r, big.NewInt(1))
	}
	return fromMag(r, false, int32(rscale)), nil
}

// Fixed-point arithmetic for logarithms and exponentials: integers scaled by
// 2^prec. Results carry guard bits far beyond the digits asked for.

// toFixed returns d × 2^prec.
func (d Decimal) toFixed(prec uint) *big.Int {
	n := new(big.Int).Lsh(d.mag(), prec)
	n.Quo(n, bigPow10(int(d.scale)))
	if d.neg {
		n.Neg(n)
	}
	return n
}

// fromFixed rounds x / 2^prec to a scale.
func fromFixed(x *big.Int, prec uint, scale int) Decimal {
	neg := x.Sign() < 0
	n := new(big.Int).Abs(x)
	n.Mul(n, bigPow10(scale))
	n.Add(n, new(big.Int).Lsh(big.NewInt(1), prec-1))
	return fromMag(n.Rsh(n, prec), neg, int32(scale))
}

// lnRatio returns ln(num/den) × 2^prec: the argument is brought near 1 by a
// power of two and square roots, then 2·atanh((x-1)/(x+1)) is summed.
func lnRatio(num, den *big.Int, prec uint) *big.Int {
	wp := prec + 64
	k := num.BitLen() - den.BitLen()
	x := new(big.Int).Lsh(num, wp+uint(max(-k, 0)))
	x.Quo(x, new(big.Int).Lsh(den, uint(max(k, 0))))
	r := lnNearOne(x, wp)
	if k != 0 {
		ln2 := lnNearOne(new(big.Int).Lsh(big.NewInt(2), wp), wp)
		r.Add(r, ln2.Mul(ln2, big.NewInt(int64(k))))
	}
	return r.Rsh(r, 64)
}

// lnNearOne returns ln(x / 2^wp) × 2^wp for x between 0.5 and 2.
func lnNearOne(x *big.Int, wp uint) *big.Int {
	const roots = 6
	ep := wp + 2*roots
	one := new(big.Int).Lsh(big.NewInt(1), ep)
	y := new(big.Int).Lsh(x, ep-wp)
	for range roots {
		y.Sqrt(y.Lsh(y, ep))
	}
	z := new(big.Int).Sub(y, one)
	z.Lsh(z, ep).Quo(z, y.Add(y, one))
	z2 := new(big.Int).Mul(z, z)
	z2.Rsh(z2, ep)
	sum, term := new(big.Int), new(big.Int).Set(z)
	for n := int64(1); term.Sign() != 0 && term.CmpAbs(big.NewInt(1)) > 0; n += 2 {
		sum.Add(sum, new(big.Int).Quo(term, big.NewInt(n)))
		term.Mul(term, z2).Rsh(term, ep)
	}
	return sum.Lsh(sum, roots+1).Rsh(sum, ep-wp)
}

// expFixed returns e^(x / 2^prec) × 2^prec.
func expFixed(x *big.Int, prec uint) *big.Int {
	// e^x = 2^k · e^r with r = x - k·ln2, and e^r = (e^(r/2^s))^(2^s).
	const s = 8
	wp := prec + 96
	ln2 := lnNearOne(new(big.Int).Lsh(big.NewInt(2), wp), wp)
	y := new(big.Int).Lsh(x, wp-prec)
	k := new(big.Int).Div(y, ln2)
	r := new(big.Int).Sub(y, new(big.Int).Mul(k, ln2))
	r.Rsh(r, s)
	one := new(big.Int).Lsh(big.NewInt(1), wp)
	sum, term := new(big.Int).Set(one), new(big.Int).Set(one)
	for n := int64(1); ; n++ {
		term.Mul(term, r).Rsh(term, wp)
		term.Quo(term, big.NewInt(n))
		if term.Sign() == 0 {
			break
		}
		sum.Add(sum, term)
	}
	for range s {
		sum.Mul(sum, sum).Rsh(sum, wp)
	}
	kk := k.Int64()
	if kk >= 0 {
		sum.Lsh(sum, uint(kk))
	} else {
		sum.Rsh(sum, uint(-kk))
	}
	return sum.Rsh(sum, wp-prec)
}

// bitsFor returns the fixed-point precision for so many decimal places.
func bitsFor(scale int) uint { return uint(float64(max(scale, 0))*3.3220) + 64 }

// lnWeight estimates the decimal weight of ln(d), by which scales are chosen.
func (d Decimal) lnWeight() int {
	lo, hi := DecimalFromScaled(9, 1), DecimalFromScaled(11, 1)
	if d.Cmp(lo) >= 0 && d.Cmp(hi) <= 0 {
		x := d.Sub(DecimalFromInt64(1))
		if x.IsZero() {
			return 0
		}
		w, first := x.lead()
		return w*4 + int(math.Log10(float64(first)))
	}
	return int(math.Log10(math.Abs(d.approxLn())))
}

// approxLn is a float estimate of ln(d), d above zero.
func (d Decimal) approxLn() float64 {
	nd := d.digits()
	top := d.Abs()
	top.scale = int32(nd - 1)
	return math.Log(top.Round(15).Float64()) + float64(nd-1-int(d.scale))*math.Ln10
}

func errLogZero(d Decimal) error {
	if d.IsZero() {
		return pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of zero")
	}
	return pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of a negative number")
}

func (d Decimal) lnTo(scale int) *big.Int {
	return lnRatio(d.mag(), bigPow10(int(d.scale)), bitsFor(scale))
}

// Ln returns the natural logarithm; 2201E at or below zero.
func (d Decimal) Ln() (Decimal, error) {
	if d.form == decNaN || d.form == decPosInf {
		return d, nil
	}
	if d.Sign() <= 0 {
		return d, errLogZero(d)
	}
	rscale := clampScale(minSigDigits-d.lnWeight(), d.scale)
	return fromFixed(d.lnTo(rscale), bitsFor(rscale), rscale), nil
}

// Log returns the logarithm of x to base d.
func (d Decimal) Log(x Decimal) (Decimal, error) {
	switch {
	case d.form == decNaN || x.form == decNaN:
		return DecimalNaN(), nil
	case x.form == decNegInf: // before what is wrong with the base
		return d, errLogZero(x)
	case d.Sign() <= 0:
		return d, errLogZero(d)
	case x.Sign() <= 0:
		return d, errLogZero(x)
	case d.IsInf() && x.IsInf():
		return DecimalNaN(), nil
	case d.IsInf():
		return Decimal{}, nil
	case x.IsInf():
		return DecimalInf(), nil
	}
	bw, xw := d.lnWeight(), x.lnWeight()
	rscale := clampScale(minSigDigits-(xw-bw), d.scale, x.scale)
	work := rscale + 16 + max(-bw, 0)*2 + max(xw, 0)
	lb := d.lnTo(work)
	if lb.Sign() == 0 {
		return d, errDivZero()
	}
	prec := bitsFor(work)
	q := new(big.Int).Lsh(x.lnTo(work), prec)
	return fromFixed(q.Quo(q, lb), prec, rscale), nil
}

// Log10 returns the decimal logarithm.
func (d Decimal) Log10() (Decimal, error) { return DecimalFromInt64(10).Log(d) }

// Exp returns e^d; 22003 when it overflows.
func (d Decimal) Exp() (Decimal, error) {
	switch d.form {
	case decNaN, decPosInf:
		return d, nil
	case decNegInf:
		return Decimal{}, nil
	}
	f := d.Float64()
	val := min(max(f*0.434294481903252, -2000), 2000)
	rscale := clampScale(minSigDigits-int(val), d.scale)
	if f >= 6000 {
		return d, errNumericOverflow()
	}
	if f <= -6000 {
		return Decimal{scale: int32(rscale)}, nil
	}
	prec := bitsFor(rscale + max(int(val), 0) + 8)
	return fromFixed(expFixed(d.toFixed(prec), prec), prec, rscale), nil
}

// Power returns d^e with PostgreSQL's scales and special cases: 2201F for zero
// to a negative power and for fractional powers of negative numbers.
func (d Decimal) Power(e Decimal) (Decimal, error) {
	if d.form|e.form != 0 {
		return specialPower(d, e)
	}
	if d.IsZero() && e.Sign() < 0 {
		return d, pgerr.New(pgerr.InvalidArgumentForPower, "zero raised to a negative power is undefined")
	}
	isInt := e.MinScale() == 0
	if d.Sign() < 0 && !isInt {
		return d, pgerr.New(pgerr.InvalidArgumentForPower, "a negative number raised to a non-integer power yields a complex result")
	}
	if isInt {
		if n, ok := e.Int64(); ok && n == int64(int32(n)) {
			return d.powInt(n)
		}
	}
	if d.IsZero() {
		return Decimal{scale: minSigDigits}, nil
	}
	neg := d.Sign() < 0 && !isEven(e)
	base := d.Abs()
	val := base.approxLn() * e.Float64()
	if w := base.lnWeight(); w < -8 { // near 1 the float estimate cancels
		if l, err := base.Ln(); err == nil {
			val = l.Float64() * e.Float64()
		}
	}
	if math.Abs(val) > 2000*3.01 {
		if val > 0 {
			return d, errNumericOverflow()
		}
		return Decimal{scale: maxResultScale}, nil
	}
	weight := int(val * 0.434294481903252)
	rscale := clampScale(minSigDigits-weight, d.scale, e.scale)
	work := rscale + max(weight, 0) + e.digits() + 16
	prec := bitsFor(work)
	x := new(big.Int).Mul(base.lnTo(work), e.signed())
	x.Quo(x, bigPow10(int(e.scale)))
	r := fromFixed(expFixed(x, prec), prec, rscale)
	r.neg = neg && !r.IsZero()
	return r, nil
}

// isEven reports whether the integer e is even.
func isEven(e Decimal) bool {
	r, _ := e.Mod(DecimalFromInt64(2))
	return r.IsZero()
}

func specialPower(d, e Decimal) (Decimal, error) {
	one := DecimalFromInt64(1)
	switch {
	case d.form == decFinite && d.Cmp(one) == 0, e.IsZero():
		return one, nil
	case d.form == decNaN || e.form == decNaN:
		return DecimalNaN(), nil
	case d.IsZero() && e.form == decNegInf:
		return d, pgerr.New(pgerr.InvalidArgumentForPower, "zero raised to a negative power is undefined")
	case e.form != decFinite:
		c := d.Abs().Cmp(one)
		switch {
		case c == 0:
			return one, nil
		case (c > 0) == (e.form == decPosInf):
			return DecimalInf(), nil
		}
		return Decimal{}, nil
	case d.form == decPosInf && e.Sign() > 0:
		return d, nil
	case d.form == decNegInf && e.MinScale() != 0:
		return d, pgerr.New(pgerr.InvalidArgumentForPower, "a negative number raised to a non-integer power yields a complex result")
	case e.Sign() < 0:
		return Decimal{}, nil
	case isEven(e):
		return DecimalInf(), nil
	}
	return d, nil
}

// powInt raises to an integer power at scale max(16, scale of d).
func (d Decimal) powInt(n int64) (Decimal, error) {
	rscale := clampScale(minSigDigits, d.scale)
	if n == 0 {
		return DecimalFromInt64(1).Round(rscale), nil
	}
	if d.IsZero() {
		return Decimal{scale: int32(rscale)}, nil
	}
	neg := d.neg && n&1 == 1
	base := d.Abs()
	est := base.approxLn() / math.Ln10 * float64(n)
	if est > maxNumericInteger {
		return d, errNumericOverflow()
	}
	if est < float64(-rscale-2) {
		return Decimal{scale: int32(rscale)}, nil
	}
	// Exact powers of moderate size, else with guard digits.
	if digits := float64(base.digits()) * math.Abs(float64(n)); digits < 4000 || n > 0 && base.scale == 0 {
		p := new(big.Int).Exp(base.mag(), big.NewInt(max(n, -n)), nil)
		s := int64(base.scale) * max(n, -n)
		if n > 0 {
			r := Decimal{big: p, scale: int32(s)}
			if p.BitLen() <= 128 {
				r = fromMag(p, false, int32(s))
			}
			r = r.Round(rscale)
			r.neg = neg && !r.IsZero()
			return r, nil
		}
		num := bigPow10(int(s) + rscale)
		q, rem := num.QuoRem(num, p, new(big.Int))
		if rem.Lsh(rem, 1).Cmp(p) >= 0 {
			q.Add(q, big.NewInt(1))
		}
		return fromMag(q, neg, int32(rscale)), nil
	}
	prec := uint(bitsFor(rscale+max(int(est), 0)+32)) + 64
	x := new(big.Float).SetPrec(prec).SetInt(base.mag())
	x.Quo(x, new(big.Float).SetPrec(prec).SetInt(bigPow10(int(base.scale))))
	y := powFloat(x, uint64(max(n, -n)))
	if n < 0 {
		y.Quo(new(big.Float).SetPrec(prec).SetInt64(1), y)
	}
	y.Mul(y, new(big.Float).SetPrec(prec).SetInt(bigPow10(rscale)))
	q, _ := y.Add(y, big.NewFloat(0.5)).Int(nil)
	return fromMag(q, neg && q.Sign() != 0, int32(rscale)), nil
}

// powFloat is x raised to n, by squares; x is used up.
func powFloat(x *big.Float, n uint64) *big.Float {
	y := new(big.Float).SetPrec(x.Prec()).SetInt64(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y.Mul(y, x)
		}
		if n > 1 {
			x.Mul(x, x)
		}
	}
	return y
}
