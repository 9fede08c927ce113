package expr

import (
	"math"
	"math/big"

	"github.com/streamdb/streamdb/types"
)

// Transcendental functions of numerics are computed in binary floating point of
// ample precision and rounded to the scale PostgreSQL gives the result.

// minSigDigits is PostgreSQL's NUMERIC_MIN_SIG_DIGITS.
const minSigDigits = 16

// rat returns a finite decimal exactly.
func rat(d types.Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// fromRat rounds half away from zero at the scale.
func fromRat(r *big.Rat, scale int) types.Decimal {
	n := new(big.Int).Mul(r.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	neg := n.Sign() < 0
	n.Abs(n)
	n.Lsh(n, 1)
	n.Add(n, r.Denom())
	n.Quo(n, new(big.Int).Lsh(r.Denom(), 1))
	if neg {
		n.Neg(n)
	}
	return types.DecimalFromBig(n, scale)
}

func fromFloat(f *big.Float, scale int) types.Decimal {
	r, _ := f.Rat(nil)
	if r == nil {
		r = new(big.Rat)
	}
	return fromRat(r, scale)
}

// exp10 returns the decimal exponent of a nonzero finite decimal.
func exp10(d types.Decimal) int {
	f, _ := new(big.Float).SetString(d.Abs().String())
	if f == nil || f.Sign() == 0 {
		return 0
	}
	m := new(big.Float)
	e2 := f.MantExp(m)
	x, _ := m.Float64()
	return int(math.Floor(math.Log10(x) + float64(e2)*math.Log10(2) + 1e-12))
}

func clampScale(s int, ds ...types.Decimal) int {
	for _, d := range ds {
		s = max(s, d.Scale())
	}
	return min(max(s, 0), 1000)
}

func decSqrt(d types.Decimal) (types.Decimal, error) {
	if d.IsNaN() || d.IsInf() && d.Sign() > 0 {
		return d, nil
	}
	if d.Sign() < 0 {
		return d, errSqrt
	}
	// PostgreSQL estimates the weight of the result in digits of base 10000.
	weight := floorDivInt(exp10(d), 4)
	sweight := (weight + 1) * 4 / 2
	sweight--
	if weight < -1 {
		sweight = -((-(weight + 1))*4/2 + 1)
	}
	scale := clampScale(minSigDigits-sweight, d)
	if d.IsZero() {
		return types.DecimalFromInt64(0).Round(clampScale(minSigDigits-1, d)), nil
	}
	prec := uint(200 + 4*(scale+max(exp10(d), 0)))
	f := new(big.Float).SetPrec(prec).SetRat(rat(d))
	return fromFloat(f.Sqrt(f), scale), nil
}

func floorDivInt(a, b int) int { return int(floorDiv(int64(a), int64(b))) }

// bigLn computes the natural logarithm of a positive number.
func bigLn(x *big.Float, prec uint) *big.Float {
	m := new(big.Float).SetPrec(prec)
	e := x.MantExp(m) // x = m * 2^e, m in [0.5, 1)
	ln := lnSeries(m, prec)
	ln2 := lnSeries(new(big.Float).SetPrec(prec).SetFloat64(0.5), prec)
	ln2.Neg(ln2)
	return ln.Add(ln, ln2.Mul(ln2, new(big.Float).SetPrec(prec).SetInt64(int64(e))))
}

// lnSeries computes ln m for m in [0.5, 1] as 2 artanh((m-1)/(m+1)).
func lnSeries(m *big.Float, prec uint) *big.Float {
	one := new(big.Float).SetPrec(prec).SetInt64(1)
	z := new(big.Float).SetPrec(prec).Sub(m, one)
	z.Quo(z, new(big.Float).SetPrec(prec).Add(m, one))
	z2 := new(big.Float).SetPrec(prec).Mul(z, z)
	sum, term := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec).Set(z)
	for k := int64(1); term.Sign() != 0 && term.MantExp(nil) > -int(prec); k += 2 {
		sum.Add(sum, new(big.Float).SetPrec(prec).Quo(term, new(big.Float).SetPrec(prec).SetInt64(k)))
		term.Mul(term, z2)
	}
	return sum.Add(sum, sum)
}

// bigExp computes e^x by halving the argument and squaring the result.
func bigExp(x *big.Float, prec uint) *big.Float {
	k := max(x.MantExp(nil), 0) + 8
	prec += uint(2 * k)
	r := new(big.Float).SetPrec(prec).SetMantExp(new(big.Float).SetPrec(prec).Set(x), -k)
	sum, term := new(big.Float).SetPrec(prec).SetInt64(1), new(big.Float).SetPrec(prec).SetInt64(1)
	for n := int64(1); term.Sign() != 0 && term.MantExp(nil) > -int(prec); n++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(n))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

func bigOf(d types.Decimal, prec uint) *big.Float { return new(big.Float).SetPrec(prec).SetRat(rat(d)) }

func decExp(d types.Decimal) (types.Decimal, error) {
	if d.IsNaN() {
		return d, nil
	}
	if d.IsInf() {
		if d.Sign() > 0 {
			return d, nil
		}
		return types.DecimalFromInt64(0), nil
	}
	val := d.Float64() * 0.434294481903252
	if val > 131072 {
		return d, errNumOverflow
	}
	val = math.Max(val, -1000)
	scale := clampScale(minSigDigits-int(val), d)
	prec := uint(256 + 4*scale + 4*int(math.Abs(val)))
	return fromFloat(bigExp(bigOf(d, prec), prec), scale), nil
}

// lnWeight estimates the decimal weight of ln d.
func lnWeight(d types.Decimal) int {
	l, _ := bigLn(bigOf(d, 128), 128).Float64()
	if l == 0 {
		return 0
	}
	return int(math.Log10(math.Abs(l)))
}

func checkLog(d types.Decimal) error {
	if d.IsNaN() {
		return nil
	}
	if d.IsZero() {
		return errLogZero
	} else if d.Sign() < 0 {
		return errLogNeg
	}
	return nil
}

func decLn(d types.Decimal) (types.Decimal, error) {
	if err := checkLog(d); err != nil || d.IsNaN() || d.IsInf() {
		return d, err
	}
	scale := clampScale(minSigDigits-lnWeight(d), d)
	return fromFloat(bigLn(bigOf(d, uint(256+4*scale)), uint(256+4*scale)), scale), nil
}

func decLog(base, d types.Decimal) (types.Decimal, error) {
	if err := checkLog(base); err != nil {
		return d, err
	}
	if err := checkLog(d); err != nil {
		return d, err
	}
	switch {
	case base.IsNaN() || d.IsNaN() || base.IsInf() && d.IsInf():
		return types.DecimalNaN(), nil
	case base.IsInf():
		return types.DecimalFromInt64(0), nil
	case d.IsInf():
		return d, nil
	}
	lb, ld := bigLn(bigOf(base, 256), 256), bigLn(bigOf(d, 256), 256)
	if lb.Sign() == 0 {
		return d, errDivZero
	}
	q, _ := new(big.Float).Quo(ld, lb).Float64()
	weight := 0
	if q != 0 {
		weight = int(math.Log10(math.Abs(q)))
	}
	scale := clampScale(minSigDigits-weight, base, d)
	prec := uint(256 + 4*scale)
	lb, ld = bigLn(bigOf(base, prec), prec), bigLn(bigOf(d, prec), prec)
	return fromFloat(ld.Quo(ld, lb), scale), nil
}

func decPower(x, y types.Decimal) (types.Decimal, error) {
	one := types.DecimalFromInt64(1)
	switch {
	case x.IsNaN() || y.IsNaN():
		if x.Cmp(one) == 0 || y.IsZero() {
			return one, nil
		}
		return types.DecimalNaN(), nil
	case x.IsInf() || y.IsInf():
		return types.DecimalFromFloat64(math.Pow(x.Float64(), y.Float64())), nil
	case x.IsZero() && y.Sign() < 0:
		return x, errPower
	}
	n, isInt := y.Int64()
	isInt = isInt && y.Cmp(y.Trunc(0)) == 0
	if x.Sign() < 0 && y.Cmp(y.Trunc(0)) != 0 {
		return x, errPowerNeg
	}
	if x.IsZero() {
		return types.DecimalFromInt64(0).Round(clampScale(minSigDigits, x, y)).Add(boolDecimal(y.IsZero())), nil
	}
	lx, _ := bigLn(bigOf(x.Abs(), 128), 128).Float64()
	val := lx * y.Float64() * 0.434294481903252
	if val > 131072 {
		return x, errNumOverflow
	}
	scale := clampScale(minSigDigits-int(math.Max(val, -1000)), x, y)
	if isInt && n >= -100000 && n <= 100000 {
		scale = clampScale(minSigDigits, x, y)
		if val < -float64(scale)-10 {
			return types.DecimalFromInt64(0).Round(scale), nil
		}
		return fromRat(ratPower(rat(x), n), scale), nil
	}
	prec := uint(512 + 4*scale + 4*int(math.Abs(val)))
	l := bigLn(bigOf(x.Abs(), prec), prec)
	z := fromFloat(bigExp(l.Mul(l, bigOf(y, prec)), prec), scale)
	if x.Sign() < 0 && isInt && n&1 == 1 {
		z = z.Neg()
	}
	return z, nil
}

func boolDecimal(b bool) types.Decimal {
	if b {
		return types.DecimalFromInt64(1)
	}
	return types.DecimalFromInt64(0)
}

func ratPower(x *big.Rat, n int64) *big.Rat {
	e := big.NewInt(max(n, -n))
	num, den := new(big.Int).Exp(x.Num(), e, nil), new(big.Int).Exp(x.Denom(), e, nil)
	if n < 0 {
		num, den = den, num
	}
	return new(big.Rat).SetFrac(num, den)
}
