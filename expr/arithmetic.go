package expr

import (
	"math"
	"math/bits"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var (
	errInt2Range = pgerr.New(pgerr.NumericValueOutOfRange, "smallint out of range")
	errInt4Range = pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
	errInt8Range = pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
	errDivZero   = pgerr.New(pgerr.DivisionByZero, "division by zero")
	errOverflow  = pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
	errUnderflow = pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
)

func rangeError[T ordered]() error {
	var z T
	switch any(z).(type) {
	case int16:
		return errInt2Range
	case int32:
		return errInt4Range
	}
	return errInt8Range
}

// intArgs gives a binary kernel its loop's three slices, of equal length.
func intArgs[T vec.Fixed](dst vec.Vector, args []vec.Vector, n int) (out, a, b []T) {
	d := dst.(*vec.Col[T])
	d.Resize(n)
	out = d.Vals
	return out, args[0].(*vec.Col[T]).Vals[:len(out)], args[1].(*vec.Col[T]).Vals[:len(out)]
}

// addInts computes every row and gathers the overflow signs; only when one is
// set does it look for the rows.
func addInts[T ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	var bad T
	for i := range out {
		s := a[i] + b[i]
		out[i] = s
		bad |= (a[i] ^ s) & (b[i] ^ s)
	}
	if bad >= 0 {
		return nil
	}
	return recheck(c, dst, args, n, rangeError[T](), func(i int) bool {
		return (a[i]^out[i])&(b[i]^out[i]) < 0
	})
}

func subInts[T ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	var bad T
	for i := range out {
		s := a[i] - b[i]
		out[i] = s
		bad |= (a[i] ^ b[i]) & (a[i] ^ s)
	}
	if bad >= 0 {
		return nil
	}
	return recheck(c, dst, args, n, rangeError[T](), func(i int) bool {
		return (a[i]^b[i])&(a[i]^out[i]) < 0
	})
}

// recheck reports the rows for which bad holds.
func recheck(c *Ctx, dst vec.Vector, args []vec.Vector, n int, err error, bad func(int) bool) error {
	for i := range n {
		if bad(i) {
			if e := failRow(c, dst, args, i, err); e != nil {
				return e
			}
		}
	}
	return nil
}

// mulNarrow multiplies in 64 bits, which a product of two narrow integers fits.
func mulNarrow[T int16 | int32](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	bad := false
	for i := range out {
		p := int64(a[i]) * int64(b[i])
		out[i] = T(p)
		bad = bad || int64(T(p)) != p
	}
	if !bad {
		return nil
	}
	return recheck(c, dst, args, n, rangeError[T](), func(i int) bool {
		return int64(out[i]) != int64(a[i])*int64(b[i])
	})
}

func mulInt8(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[int64](dst, args, n)
	bad := false
	for i := range out {
		p, ok := mul64(a[i], b[i])
		out[i] = p
		bad = bad || !ok
	}
	if !bad {
		return nil
	}
	return recheck(c, dst, args, n, errInt8Range, func(i int) bool {
		_, ok := mul64(a[i], b[i])
		return !ok
	})
}

func mul64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	h := int64(hi) - a>>63&b - b>>63&a
	return int64(lo), h == int64(lo)>>63
}

// divInts truncates toward zero, as C and PostgreSQL do.
func divInts[T ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	for i := range out {
		switch b[i] {
		case 0:
			if err := failRow(c, dst, args, i, errDivZero); err != nil {
				return err
			}
			out[i] = 0
		case -1:
			if out[i] = -a[i]; a[i] != 0 && out[i] == a[i] {
				if err := failRow(c, dst, args, i, rangeError[T]()); err != nil {
					return err
				}
			}
		default:
			out[i] = a[i] / b[i]
		}
	}
	return nil
}

func modInts[T ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	for i := range out {
		switch b[i] {
		case 0:
			if err := failRow(c, dst, args, i, errDivZero); err != nil {
				return err
			}
			out[i] = 0
		case -1:
			out[i] = 0
		default:
			out[i] = a[i] % b[i]
		}
	}
	return nil
}

func negInts[T ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[T])
	d.Resize(n)
	a := args[0].(*vec.Col[T]).Vals[:n]
	for i, x := range a {
		d.Vals[i] = -x
		if x != 0 && -x == x {
			if err := failRow(c, dst, args, i, rangeError[T]()); err != nil {
				return err
			}
		}
	}
	return nil
}

func absInts[T ordered](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[T])
	d.Resize(n)
	a := args[0].(*vec.Col[T]).Vals[:n]
	for i, x := range a {
		if x < 0 {
			x = -x
		}
		if d.Vals[i] = x; x < 0 {
			if err := failRow(c, dst, args, i, rangeError[T]()); err != nil {
				return err
			}
		}
	}
	return nil
}

func andInts[T ordered](_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return nil
}

func orInts[T ordered](_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	for i := range out {
		out[i] = a[i] | b[i]
	}
	return nil
}

func xorInts[T ordered](_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	for i := range out {
		out[i] = a[i] ^ b[i]
	}
	return nil
}

func notInts[T ordered](_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	d := dst.(*vec.Col[T])
	d.Resize(n)
	for i, x := range args[0].(*vec.Col[T]).Vals[:n] {
		d.Vals[i] = ^x
	}
	return nil
}

// shiftInts shifts as C does on x86: by the low bits of the count.
func shiftInts[T ordered](left bool) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[T])
		d.Resize(n)
		a, b := args[0].(*vec.Col[T]).Vals[:n], args[1].(*vec.Col[int32]).Vals[:n]
		mask := int32(31)
		if _, wide := any(d).(*vec.Col[int64]); wide {
			mask = 63
		}
		for i := range d.Vals {
			s := uint(b[i] & mask)
			if left {
				d.Vals[i] = a[i] << s
			} else {
				d.Vals[i] = a[i] >> s
			}
		}
		return nil
	}
}

type float interface{ float32 | float64 }

func isInf[T float](x T) bool { return x-x != 0 && x == x }

func addFloats[T float](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	bad := false
	for i := range out {
		s := a[i] + b[i]
		out[i] = s
		bad = bad || s-s != 0
	}
	return floatRange(c, dst, args, bad, out, a, b)
}

func subFloats[T float](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	bad := false
	for i := range out {
		s := a[i] - b[i]
		out[i] = s
		bad = bad || s-s != 0
	}
	return floatRange(c, dst, args, bad, out, a, b)
}

// floatRange fails the rows that became infinite out of finite arguments.
func floatRange[T float](c *Ctx, dst vec.Vector, args []vec.Vector, bad bool, out, a, b []T) error {
	if !bad {
		return nil
	}
	return recheck(c, dst, args, len(out), errOverflow, func(i int) bool {
		return isInf(out[i]) && !isInf(a[i]) && !isInf(b[i])
	})
}

func mulFloats[T float](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	bad := false
	for i := range out {
		p := a[i] * b[i]
		out[i] = p
		bad = bad || p-p != 0 || p == 0
	}
	if !bad {
		return nil
	}
	if err := floatRange(c, dst, args, true, out, a, b); err != nil {
		return err
	}
	return recheck(c, dst, args, n, errUnderflow, func(i int) bool {
		return out[i] == 0 && a[i] != 0 && b[i] != 0
	})
}

func divFloats[T float](c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	out, a, b := intArgs[T](dst, args, n)
	bad := false
	for i := range out {
		q := a[i] / b[i]
		out[i] = q
		bad = bad || b[i] == 0 || q-q != 0 || q == 0
	}
	if !bad {
		return nil
	}
	for i := range out {
		var err error
		switch {
		case b[i] == 0 && a[i] == a[i]:
			err = errDivZero
		case isInf(out[i]) && !isInf(a[i]):
			err = errOverflow
		case out[i] == 0 && a[i] != 0 && !isInf(b[i]):
			err = errUnderflow
		default:
			continue
		}
		if err = failRow(c, dst, args, i, err); err != nil {
			return err
		}
	}
	return nil
}

func mapFloats[T float](f func(T) T) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d := dst.(*vec.Col[T])
		d.Resize(n)
		for i, x := range args[0].(*vec.Col[T]).Vals[:n] {
			d.Vals[i] = f(x)
		}
		return nil
	}
}

// decimals lifts an operation on two numerics.
func decimals(f func(a, b types.Decimal) (types.Decimal, error)) Kernel {
	return rows(func(r *row) error {
		x, err := f(r.dec(0), r.dec(1))
		if err != nil {
			return err
		}
		return r.putDec(x)
	})
}

func infallible(f func(a, b types.Decimal) types.Decimal) func(a, b types.Decimal) (types.Decimal, error) {
	return func(a, b types.Decimal) (types.Decimal, error) { return f(a, b), nil }
}

func intOps[T ordered](t types.T, mul Kernel) []*Func {
	bin := func(name string, k Kernel, fails bool) *Func {
		return &Func{Name: name, Args: ts(t, t), Ret: t, Eval: k, MayFail: fails}
	}
	return []*Func{
		bin("+", addInts[T], true), bin("-", subInts[T], true), bin("*", mul, true),
		bin("/", divInts[T], true), bin("%", modInts[T], true),
		bin("&", andInts[T], false), bin("|", orInts[T], false), bin("#", xorInts[T], false),
		{Name: "<<", Args: ts(t, types.TInt4), Ret: t, Eval: shiftInts[T](true)},
		{Name: ">>", Args: ts(t, types.TInt4), Ret: t, Eval: shiftInts[T](false)},
		{Name: "~", Args: ts(t), Ret: t, Eval: notInts[T]},
		{Name: "-", Args: ts(t), Ret: t, Eval: negInts[T], MayFail: true},
		{Name: "+", Args: ts(t), Ret: t, Eval: identity},
		{Name: "@", Args: ts(t), Ret: t, Eval: absInts[T], MayFail: true},
	}
}

func floatOps[T float](t types.T) []*Func {
	bin := func(name string, k Kernel) *Func {
		return &Func{Name: name, Args: ts(t, t), Ret: t, Eval: k, MayFail: true}
	}
	return []*Func{
		bin("+", addFloats[T]), bin("-", subFloats[T]), bin("*", mulFloats[T]), bin("/", divFloats[T]),
		{Name: "-", Args: ts(t), Ret: t, Eval: mapFloats(func(x T) T { return -x })},
		{Name: "+", Args: ts(t), Ret: t, Eval: identity},
		{Name: "@", Args: ts(t), Ret: t, Eval: mapFloats(func(x T) T { return T(math.Abs(float64(x))) })},
	}
}

func identity(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	dst.Reset()
	dst.AppendRange(args[0], 0, n)
	return nil
}

func numericOps() []*Func {
	t := types.TNumeric
	bin := func(name string, k Kernel) *Func {
		return &Func{Name: name, Args: ts(t, t), Ret: t, Eval: k, MayFail: true}
	}
	un := func(name string, f func(types.Decimal) types.Decimal) *Func {
		return safe(fn(name, ts(t), t, func(r *row) error { return r.putDec(f(r.dec(0))) }))
	}
	return []*Func{
		bin("+", smallDecimals(smallAdd, types.Decimal.Add)), bin("-", smallDecimals(smallSub, types.Decimal.Sub)),
		bin("*", smallDecimals(smallMul, types.Decimal.Mul)), bin("/", decimals(types.Decimal.Div)),
		bin("%", decimals(types.Decimal.Mod)),
		un("-", types.Decimal.Neg), un("@", types.Decimal.Abs),
		{Name: "+", Args: ts(t), Ret: t, Eval: identity},
	}
}

func arithmeticOps() []*Func {
	out := intOps[int16](types.TInt2, mulNarrow[int16])
	out = append(out, intOps[int32](types.TInt4, mulNarrow[int32])...)
	out = append(out, intOps[int64](types.TInt8, mulInt8)...)
	out = append(out, floatOps[float32](types.TFloat4)...)
	out = append(out, floatOps[float64](types.TFloat8)...)
	out = append(out, numericOps()...)
	byKey := map[string]*Func{}
	for _, f := range out {
		if len(f.Args) == 2 {
			byKey[f.Name+f.Args[0].TypName()] = f
		}
	}
	for _, m := range mixedPairs()[:4] {
		for _, name := range []string{"+", "-", "*", "/"} {
			if as := byKey[name+m[2].TypName()]; as != nil {
				out = append(out, &Func{Name: name, Args: ts(m[0], m[1]), Ret: as.Ret, As: as},
					&Func{Name: name, Args: ts(m[1], m[0]), Ret: as.Ret, As: as})
			}
		}
	}
	return out
}
