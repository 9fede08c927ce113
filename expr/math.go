package expr

import (
	"math"
	"math/big"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var (
	errPower    = pgerr.New(pgerr.InvalidArgumentForPower, "zero raised to a negative power is undefined")
	errPowerNeg = pgerr.New(pgerr.InvalidArgumentForPower, "a negative number raised to a non-integer power yields a complex result")
	errSqrt     = pgerr.New(pgerr.InvalidArgumentForPower, "cannot take square root of a negative number")
	errLogZero  = pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of zero")
	errLogNeg   = pgerr.New(pgerr.InvalidArgumentForLogarithm, "cannot take logarithm of a negative number")
	errInput    = pgerr.New(pgerr.NumericValueOutOfRange, "input is out of range")
)

// float1 lifts a function of one float that checks its own domain.
func float1(name string, f func(x float64) (float64, error)) *Func {
	return fn(name, ts(tF8), tF8, func(r *row) error {
		x := r.f8(0)
		y, err := f(x)
		if err != nil {
			return err
		}
		if math.IsInf(y, 0) && !math.IsInf(x, 0) {
			return errOverflow
		}
		return r.putF8(y)
	})
}

// unbounded lifts a function that may become infinite.
func unbounded(name string, f func(float64) float64) *Func {
	return safe(fn(name, ts(tF8), tF8, func(r *row) error { return r.putF8(f(r.f8(0))) }))
}

func total(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) { return f(x), nil }
}

func within(f func(float64) float64, ok func(float64) bool) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		if !ok(x) {
			return 0, errInput
		}
		return f(x), nil
	}
}

func logOf(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		if x == 0 {
			return 0, errLogZero
		} else if x < 0 {
			return 0, errLogNeg
		}
		return f(x), nil
	}
}

func sqrtFloat(x float64) (float64, error) {
	if x < 0 {
		return 0, errSqrt
	}
	return math.Sqrt(x), nil
}

func expFloat(x float64) (float64, error) {
	v := exactExp(x)
	if v == 0 && !math.IsInf(x, -1) {
		return 0, errUnderflow
	}
	return v, nil
}

func floatMath() []*Func {
	unit := func(x float64) bool { return !(x < -1 || x > 1) }
	finite := func(x float64) bool { return !math.IsInf(x, 0) }
	return []*Func{
		float1("sqrt", sqrtFloat), float1("cbrt", total(math.Cbrt)), float1("exp", expFloat),
		float1("ln", logOf(exactLog)), float1("log", logOf(math.Log10)), float1("log10", logOf(math.Log10)),
		float1("sin", within(exactSin, finite)), float1("cos", within(exactCos, finite)), float1("tan", within(exactTan, finite)),
		fn("cot", ts(tF8), tF8, func(r *row) error {
			if !finite(r.f8(0)) {
				return errInput
			}
			return r.putF8(1 / exactTan(r.f8(0))) // infinite at 0
		}),
		float1("asin", within(exactAsin, unit)), float1("acos", within(arcCosine, unit)), float1("atan", total(arcTangent)),
		unbounded("sinh", math.Sinh), unbounded("cosh", math.Cosh), float1("tanh", total(math.Tanh)),
		float1("asinh", total(math.Asinh)), float1("acosh", within(math.Acosh, func(x float64) bool { return !(x < 1) })),
		fn("atanh", ts(tF8), tF8, func(r *row) error {
			if !unit(r.f8(0)) {
				return errInput
			}
			return r.putF8(math.Atanh(r.f8(0))) // infinite at the ends
		}),
		float1("degrees", total(func(x float64) float64 { return x / (math.Pi / 180) })),
		float1("radians", total(func(x float64) float64 { return x * (math.Pi / 180) })),
		safe(fn("atan2", ts(tF8, tF8), tF8, func(r *row) error { return r.putF8(math.Atan2(r.f8(0), r.f8(1))) })),
		safe(fn("pi", nil, tF8, func(r *row) error { return r.putF8(math.Pi) })),
		fn("power", ts(tF8, tF8), tF8, powerFloat), fn("pow", ts(tF8, tF8), tF8, powerFloat),
		float1("ceil", total(math.Ceil)), float1("ceiling", total(math.Ceil)), float1("floor", total(math.Floor)),
		float1("round", total(math.RoundToEven)), float1("trunc", total(math.Trunc)),
		float1("sign", total(func(x float64) float64 {
			if x > 0 {
				return 1
			} else if x < 0 {
				return -1
			}
			return 0
		})),
		fn("width_bucket", ts(tF8, tF8, tF8, tI4), tI4, widthBucket),
	}
}

func powerFloat(r *row) error {
	x, y := r.f8(0), r.f8(1)
	switch {
	case x == 0 && y < 0:
		return errPower
	case x < 0 && !math.IsNaN(y) && y != math.Floor(y):
		return errPowerNeg
	}
	z := math.Pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return errOverflow
	}
	if z == 0 && x != 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return errUnderflow
	}
	return r.putF8(z)
}

func widthBucket(r *row) error {
	x, lo, hi, n := r.f8(0), r.f8(1), r.f8(2), r.i4(3)
	bad := func(s string) error { return pgerr.New(pgerr.InvalidArgumentForWidthBucket, "%s", s) }
	switch {
	case n <= 0:
		return bad("count must be greater than zero")
	case math.IsNaN(x) || math.IsNaN(lo) || math.IsNaN(hi):
		return bad("operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return bad("lower and upper bounds must be finite")
	case lo == hi:
		return bad("lower bound cannot equal upper bound")
	}
	if lo > hi {
		x, lo, hi = -x, -lo, -hi
	}
	switch {
	case x < lo:
		return r.putI4(0)
	case x >= hi:
		if n == math.MaxInt32 {
			return errInt4Range
		}
		return r.putI4(n + 1)
	}
	return r.putI4(min(int((x-lo)/(hi-lo)*float64(n)), n-1) + 1)
}

func dec1(name string, f func(types.Decimal) types.Decimal) *Func {
	return safe(fn(name, ts(tNum), tNum, func(r *row) error { return r.putDec(f(r.dec(0))) }))
}

func numericMath() []*Func {
	out := []*Func{
		dec1("abs", types.Decimal.Abs), dec1("ceil", types.Decimal.Ceil), dec1("ceiling", types.Decimal.Ceil),
		dec1("floor", types.Decimal.Floor), dec1("trim_scale", types.Decimal.TrimScale),
		dec1("round", func(d types.Decimal) types.Decimal { return d.Round(0) }),
		dec1("trunc", func(d types.Decimal) types.Decimal { return d.Trunc(0) }),
		fn("round", ts(tNum, tI4), tNum, func(r *row) error {
			d := roundScale(r.dec(0), r.i4(1), types.Decimal.Round)
			if err := d.CheckRange(); err != nil {
				return err
			}
			return r.putDec(d)
		}),
		safe(fn("trunc", ts(tNum, tI4), tNum, func(r *row) error { return r.putDec(roundScale(r.dec(0), r.i4(1), types.Decimal.Trunc)) })),
		dec1("sign", func(d types.Decimal) types.Decimal {
			if d.IsNaN() {
				return d
			}
			return types.DecimalFromInt64(int64(d.Sign()))
		}),
		safe(fn("scale", ts(tNum), tI4, func(r *row) error {
			d := r.dec(0)
			if d.IsNaN() || d.IsInf() {
				return r.null()
			}
			return r.putI4(d.Scale())
		})),
		safe(fn("min_scale", ts(tNum), tI4, func(r *row) error {
			d := r.dec(0)
			if d.IsNaN() || d.IsInf() {
				return r.null()
			}
			return r.putI4(d.MinScale())
		})),
		{Name: "mod", Args: ts(tNum, tNum), Ret: tNum, Eval: decimals(types.Decimal.Mod), MayFail: true},
		{Name: "div", Args: ts(tNum, tNum), Ret: tNum, Eval: decimals(types.Decimal.DivTrunc), MayFail: true},
		fn("sqrt", ts(tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Sqrt()) }),
		fn("exp", ts(tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Exp()) }),
		fn("ln", ts(tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Ln()) }),
		fn("log", ts(tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Log10()) }),
		fn("log10", ts(tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Log10()) }),
		fn("log", ts(tNum, tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Log(r.dec(1))) }),
		fn("power", ts(tNum, tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Power(r.dec(1))) }),
		fn("pow", ts(tNum, tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Power(r.dec(1))) }),
		fn("gcd", ts(tI8, tI8), tI8, func(r *row) error { return putGCD(r, false) }),
		fn("lcm", ts(tI8, tI8), tI8, func(r *row) error { return putGCD(r, true) }),
		fn("gcd", ts(tI4, tI4), tI4, func(r *row) error { return putGCD(r, false) }),
		fn("lcm", ts(tI4, tI4), tI4, func(r *row) error { return putGCD(r, true) }),
		fn("gcd", ts(tNum, tNum), tNum, func(r *row) error { return r.putDec(gcdDecimal(r.dec(0), r.dec(1))) }),
		fn("lcm", ts(tNum, tNum), tNum, func(r *row) error { return putDecErr(r)(lcmDecimal(r.dec(0), r.dec(1))) }),
		fn("width_bucket", ts(AnyCompatible, AnyCompatibleArray), tI4, widthBucketArray),
		fn("width_bucket", ts(tNum, tNum, tNum, tI4), tI4, widthBucketDecimal),
		fn("factorial", ts(tI8), tNum, factorial),
		{Name: "abs", Args: ts(types.TInt2), Ret: types.TInt2, Eval: absInts[int16], MayFail: true},
		{Name: "abs", Args: ts(tI4), Ret: tI4, Eval: absInts[int32], MayFail: true},
		{Name: "abs", Args: ts(tI8), Ret: tI8, Eval: absInts[int64], MayFail: true},
		{Name: "abs", Args: ts(types.TFloat4), Ret: types.TFloat4, Eval: mapFloats(func(x float32) float32 { return float32(math.Abs(float64(x))) })},
		{Name: "abs", Args: ts(tF8), Ret: tF8, Eval: mapFloats(math.Abs)},
		{Name: "mod", Args: ts(types.TInt2, types.TInt2), Ret: types.TInt2, Eval: modInts[int16], MayFail: true},
		{Name: "mod", Args: ts(tI4, tI4), Ret: tI4, Eval: modInts[int32], MayFail: true},
		{Name: "mod", Args: ts(tI8, tI8), Ret: tI8, Eval: modInts[int64], MayFail: true},
	}
	out = append(out, floatMath()...)
	out = append(out, degreeFuncs()...)
	return append(out, randomFuncs()...)
}

// mathOps are ^, |/ and ||/.
func mathOps() []*Func {
	return []*Func{
		fn("^", ts(tF8, tF8), tF8, powerFloat),
		fn("^", ts(tNum, tNum), tNum, func(r *row) error { return putDecErr(r)(r.dec(0).Power(r.dec(1))) }),
		fn("|/", ts(tF8), tF8, func(r *row) error {
			x, err := sqrtFloat(r.f8(0))
			if err != nil {
				return err
			}
			return r.putF8(x)
		}),
		safe(fn("||/", ts(tF8), tF8, func(r *row) error { return r.putF8(math.Cbrt(r.f8(0))) })),
	}
}

func putDecErr(r *row) func(types.Decimal, error) error {
	return func(d types.Decimal, err error) error {
		if err != nil {
			return err
		}
		return r.putDec(d)
	}
}

// roundScale rounds at a scale that may be negative; the result's scale is then
// 0.
func roundScale(d types.Decimal, scale int, f func(types.Decimal, int) types.Decimal) types.Decimal {
	scale = min(max(scale, -131073), 16383)
	if scale >= 0 || d.IsNaN() || d.IsInf() {
		return f(d, scale)
	}
	ten := types.DecimalFromBig(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil), 0)
	unit := types.DecimalFromBig(big.NewInt(1), -scale)
	return f(d.Mul(unit), 0).Mul(ten)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func putGCD(r *row, lcm bool) error {
	a, b := r.int(0), r.int(1)
	abs := func(x int64) uint64 {
		if x < 0 {
			return -uint64(x)
		}
		return uint64(x)
	}
	g := gcd(abs(a), abs(b))
	over := false
	if lcm && g != 0 {
		x := abs(a) / g
		over = abs(b) != 0 && x > math.MaxInt64/abs(b)
		g = x * abs(b)
	}
	if d, ok := r.dst.(*vec.Col[int32]); ok {
		if over || g > math.MaxInt32 {
			return errInt4Range
		}
		d.Vals = append(d.Vals, int32(g))
		return nil
	}
	if over || g > math.MaxInt64 {
		return errInt8Range
	}
	return r.putI8(int64(g))
}

func gcdDecimal(a, b types.Decimal) types.Decimal {
	if a.IsNaN() || b.IsNaN() || a.IsInf() || b.IsInf() {
		return types.DecimalNaN()
	}
	scale := max(a.Scale(), b.Scale())
	a, b = a.Abs().Round(scale), b.Abs().Round(scale)
	for !b.IsZero() {
		m, err := a.Mod(b)
		if err != nil {
			break
		}
		a, b = b, m
	}
	return a.Round(scale)
}

func lcmDecimal(a, b types.Decimal) (types.Decimal, error) {
	g := gcdDecimal(a, b)
	scale := max(a.Scale(), b.Scale())
	if g.IsNaN() {
		return g, nil
	}
	if a.IsZero() || b.IsZero() {
		return types.DecimalFromInt64(0).Round(scale), nil
	}
	q, err := a.Abs().DivTrunc(g)
	if err != nil {
		return q, err
	}
	m := q.Mul(b.Abs()).Round(scale)
	return m, m.CheckRange()
}

// widthBucketArray finds how many of the sorted lower bounds are at most the
// operand.
func widthBucketArray(r *row) error {
	v, t := r.view(1), r.typ(1).ElemType()
	if v.Dims() > 1 {
		return pgerr.New(pgerr.ArraySubscriptError, "thresholds must be one-dimensional array")
	}
	x, _ := r.elemBytes(0)
	key := types.AppendKey(nil, t, types.ElemDatum(t.Kind(), x), false, false)
	lo, hi := 0, v.Len()
	for i := range hi {
		if _, null := v.At(i); null {
			return pgerr.New(pgerr.NullValueNotAllowed, "thresholds array must not contain NULLs")
		}
	}
	for lo < hi {
		mid := (lo + hi) / 2
		b, _ := v.At(mid)
		if string(types.AppendKey(nil, t, types.ElemDatum(t.Kind(), b), false, false)) <= string(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return r.putI4(lo)
}

func factorial(r *row) error {
	n := r.i8(0)
	if n < 0 {
		return pgerr.New(pgerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	}
	if n > 32177 {
		return errNumOverflow
	}
	return r.putDec(types.DecimalFromBig(new(big.Int).MulRange(1, n), 0))
}

var errNumOverflow = pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")

func widthBucketDecimal(r *row) error {
	x, lo, hi, n := r.dec(0), r.dec(1), r.dec(2), r.i4(3)
	bad := func(s string) error { return pgerr.New(pgerr.InvalidArgumentForWidthBucket, "%s", s) }
	switch {
	case n <= 0:
		return bad("count must be greater than zero")
	case x.IsNaN() || lo.IsNaN() || hi.IsNaN():
		return bad("operand, lower bound, and upper bound cannot be NaN")
	case lo.IsInf() || hi.IsInf():
		return bad("lower and upper bounds must be finite")
	case lo.Cmp(hi) == 0:
		return bad("lower bound cannot equal upper bound")
	}
	if lo.Cmp(hi) > 0 {
		x, lo, hi = x.Neg(), lo.Neg(), hi.Neg()
	}
	switch {
	case x.Cmp(lo) < 0:
		return r.putI4(0)
	case x.Cmp(hi) >= 0:
		if n == math.MaxInt32 {
			return errInt4Range
		}
		return r.putI4(n + 1)
	}
	q, err := x.Sub(lo).Mul(types.DecimalFromInt64(int64(n))).DivTrunc(hi.Sub(lo))
	if err != nil {
		return err
	}
	k, _ := q.Int64()
	return r.putI4(int(k) + 1)
}
