package expr

import (
	"math"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var tMoney = types.TMoney

// factor reads argument k, a number of any kind but numeric.
func (r *row) factor(k int) float64 {
	switch v := r.args[k].(type) {
	case *vec.Col[float32]:
		return float64(v.Vals[r.i])
	case *vec.Col[float64]:
		return v.Vals[r.i]
	}
	return float64(r.int(k))
}

// moneyOps are the operators of money, but for the comparisons that all types have.
func moneyOps() []*Func {
	out := []*Func{
		fn("+", ts(tMoney, tMoney), tMoney, func(r *row) error { return putI8Err(r)(types.AddMoney(r.i8(0), r.i8(1))) }),
		fn("-", ts(tMoney, tMoney), tMoney, func(r *row) error { return putI8Err(r)(types.SubMoney(r.i8(0), r.i8(1))) }),
		fn("/", ts(tMoney, tMoney), tF8, func(r *row) error {
			if r.i8(1) == 0 {
				return errDivZero
			}
			return r.putF8(float64(r.i8(0)) / float64(r.i8(1)))
		}),
	}
	for _, t := range ts(types.TInt2, tI4, tI8, types.TFloat4, tF8) {
		times := func(m, n int) func(r *row) error {
			return func(r *row) error {
				if isInt(t.ID) {
					return putI8Err(r)(types.MoneyTimes(r.i8(m), r.int(n)))
				}
				return putI8Err(r)(types.MoneyFromFloat(float64(r.i8(m)) * r.factor(n)))
			}
		}
		out = append(out, fn("*", ts(tMoney, t), tMoney, times(0, 1)), fn("*", ts(t, tMoney), tMoney, times(1, 0)),
			fn("/", ts(tMoney, t), tMoney, func(r *row) error {
				switch {
				case r.factor(1) == 0:
					return errDivZero
				case !isInt(t.ID):
					return putI8Err(r)(types.MoneyFromFloat(float64(r.i8(0)) / r.factor(1)))
				case r.i8(0) == math.MinInt64 && r.int(1) == -1:
					return pgerr.New(pgerr.NumericValueOutOfRange, "money out of range")
				}
				return r.putI8(r.i8(0) / r.int(1)) // cents left over are dropped
			}))
	}
	return out
}

func moneyFuncs() []*Func {
	return []*Func{
		safe(fn("cash_words", ts(tMoney), tText, func(r *row) error { return r.putS(types.MoneyWords(r.i8(0))) })),
	}
}

func finishMoney(n int64, hi int64, lo uint64, dst vec.Vector) error {
	if hi != int64(lo)>>63 {
		return pgerr.New(pgerr.NumericValueOutOfRange, "money out of range")
	}
	return finishBigint(n, hi, lo, dst)
}
