package expr

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// smallOp computes x op y for numerics with coefficients x and y and their scales;
// ok is false when the result, or what leads to it, needs more than an int64.
type smallOp func(x int64, sx uint8, y int64, sy uint8) (z int64, sz uint8, ok bool)

// smallDecimals lifts an operation on two numerics that does not fail. small does
// the same for short ones, without making Decimals of them.
func smallDecimals(small smallOp, f func(a, b types.Decimal) types.Decimal) Kernel {
	return func(_ *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		d, a, b := dst.(*vec.Bytes), args[0].(*vec.Bytes), args[1].(*vec.Bytes)
		d.Reset()
		hasNull := len(a.Null) > 0 || len(b.Null) > 0
		for i := range n {
			if hasNull && anyNull(args, i) {
				d.AppendNull()
				continue
			}
			p, q := a.At(i), b.At(i)
			x, sx, ok := types.DecodeSmallDecimal(p)
			y, sy, ok2 := types.DecodeSmallDecimal(q)
			if ok && ok2 {
				if z, sz, ok := small(x, sx, y, sy); ok {
					d.Data = types.AppendSmallDecimal(d.Data, z, sz)
					d.Finish()
					continue
				}
			}
			d.Data = types.AppendDecimal(d.Data, f(types.DecodeDecimal(p), types.DecodeDecimal(q)))
			d.Finish()
		}
		return nil
	}
}

var pow10 = [...]int64{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
	10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000}

// mulSmall multiplies if the product fits.
func mulSmall(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if (x < 0) != (y < 0) {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return uint64(-x)
	}
	return uint64(x)
}

// addSmallInts adds if the sum fits; the least int64 counts as too large.
func addSmallInts(x, y int64) (int64, bool) {
	z := x + y
	return z, (x^z)&(y^z) >= 0 && z != math.MinInt64
}

// align brings two coefficients to one scale.
func align(x int64, sx uint8, y int64, sy uint8) (int64, int64, uint8, bool) {
	switch {
	case sx == sy:
		return x, y, sx, true
	case sx < sy:
		if int(sy-sx) >= len(pow10) {
			return 0, 0, 0, false
		}
		x, ok := mulSmall(x, pow10[sy-sx])
		return x, y, sy, ok
	}
	y, x, s, ok := align(y, sy, x, sx)
	return x, y, s, ok
}

func smallAdd(x int64, sx uint8, y int64, sy uint8) (int64, uint8, bool) {
	x, y, s, ok := align(x, sx, y, sy)
	z, fits := addSmallInts(x, y)
	return z, s, ok && fits
}

func smallSub(x int64, sx uint8, y int64, sy uint8) (int64, uint8, bool) {
	return smallAdd(x, sx, -y, sy)
}

func smallMul(x int64, sx uint8, y int64, sy uint8) (int64, uint8, bool) {
	z, ok := mulSmall(x, y)
	return z, sx + sy, ok && int(sx)+int(sy) < 255
}

// compareNumerics orders the encodings of two numerics.
func compareNumerics(a, b []byte) int {
	x, sx, ok := types.DecodeSmallDecimal(a)
	y, sy, ok2 := types.DecodeSmallDecimal(b)
	if ok && ok2 {
		if x, y, _, ok = align(x, sx, y, sy); ok {
			return cmp.Compare(x, y)
		}
	}
	return types.DecodeDecimal(a).Cmp(types.DecodeDecimal(b))
}
