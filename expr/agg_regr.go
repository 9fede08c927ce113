package expr

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/streamdb/streamdb/vec"
)

// pairSum holds the exact sums of the regression family over pairs (Y, X) that
// are both not NULL. Pairs with a NaN or an infinity are counted apart.
type pairSum struct {
	n, special       int64
	x, y, xx, yy, xy exactSum
	dirty            bool
	finish           func(s *moments) (float64, bool)
	counts           bool  // regr_count
	least            int64 // of fewer pairs the result is NULL
}

// moments are the sums as rationals: n, Σx, Σy and the central sums n·Sxx,
// n·Syy, n·Sxy.
type moments struct{ n, x, y, sxx, syy, sxy *big.Rat }

func regressionAggs() []*AggFunc {
	var out []*AggFunc
	agg := func(name string, f func(s *moments) (float64, bool)) {
		out = append(out, &AggFunc{Name: name, Args: ts(tF8, tF8), Ret: tF8, Make: func(MakeArgs) AggImpl {
			return AggImpl{New: func() Acc { return &pairSum{finish: f} }}
		}})
	}
	ratio := func(a, b *big.Rat) (float64, bool) {
		if b.Sign() == 0 {
			return 0, false
		}
		f, _ := new(big.Rat).Quo(a, b).Float64()
		return f, true
	}
	sampled := func(s *moments) *big.Rat { return new(big.Rat).Mul(s.n, new(big.Rat).Sub(s.n, big.NewRat(1, 1))) }
	agg("covar_pop", func(s *moments) (float64, bool) { return ratio(s.sxy, new(big.Rat).Mul(s.n, s.n)) })
	out = append(out, &AggFunc{Name: "covar_samp", Args: ts(tF8, tF8), Ret: tF8, Make: func(MakeArgs) AggImpl {
		f := func(s *moments) (float64, bool) { return ratio(s.sxy, sampled(s)) }
		return AggImpl{New: func() Acc { return &pairSum{finish: f, least: 2} }}
	}})
	agg("regr_avgx", func(s *moments) (float64, bool) { return ratio(s.x, s.n) })
	agg("regr_avgy", func(s *moments) (float64, bool) { return ratio(s.y, s.n) })
	agg("regr_sxx", func(s *moments) (float64, bool) { return ratio(s.sxx, s.n) })
	agg("regr_syy", func(s *moments) (float64, bool) { return ratio(s.syy, s.n) })
	agg("regr_sxy", func(s *moments) (float64, bool) { return ratio(s.sxy, s.n) })
	agg("regr_slope", func(s *moments) (float64, bool) { return ratio(s.sxy, s.sxx) })
	agg("regr_intercept", func(s *moments) (float64, bool) {
		if s.sxx.Sign() == 0 {
			return 0, false
		}
		slope := new(big.Rat).Quo(s.sxy, s.sxx)
		return ratio(new(big.Rat).Sub(s.y, slope.Mul(slope, s.x)), s.n)
	})
	agg("regr_r2", func(s *moments) (float64, bool) {
		if s.sxx.Sign() == 0 {
			return 0, false
		} else if s.syy.Sign() == 0 {
			return 1, true
		}
		return ratio(new(big.Rat).Mul(s.sxy, s.sxy), new(big.Rat).Mul(s.sxx, s.syy))
	})
	agg("corr", func(s *moments) (float64, bool) {
		r2, ok := ratio(new(big.Rat).Mul(s.sxy, s.sxy), new(big.Rat).Mul(s.sxx, s.syy))
		return math.Copysign(math.Sqrt(r2), float64(s.sxy.Sign())), ok
	})
	return append(out, &AggFunc{Name: "regr_count", Args: ts(tF8, tF8), Ret: tI8, Make: func(MakeArgs) AggImpl {
		return AggImpl{New: func() Acc { return &pairSum{counts: true} }}
	}})
}

func (a *pairSum) Add(_ *Ctx, args []vec.Vector, i int, w int64) error {
	if args[0].IsNull(i) || args[1].IsNull(i) {
		return nil
	}
	a.dirty = true
	y, x := floatAt(args[0], i), floatAt(args[1], i)
	if x-x != 0 || y-y != 0 {
		a.special += w
		return nil
	}
	a.n += w
	for w != 0 {
		part := max(min(w, 1<<20-1), -(1<<20 - 1))
		w -= part
		addProduct(&a.x, x, 1, part)
		addProduct(&a.y, y, 1, part)
		addProduct(&a.xx, x, x, part)
		addProduct(&a.yy, y, y, part)
		addProduct(&a.xy, x, y, part)
	}
	if a.n == 0 {
		for _, s := range a.sums() {
			s.normalize()
		}
	}
	return nil
}

// addProduct adds w·x·y exactly.
func addProduct(s *exactSum, x, y float64, w int64) {
	m, e := mantissa(x)
	k, f := mantissa(y)
	hi, lo := bits.Mul64(m, k)
	if (x < 0) != (y < 0) {
		w = -w
	}
	s.add(hi, lo, e+f, w)
}

func (a *pairSum) sums() []*exactSum { return []*exactSum{&a.x, &a.y, &a.xx, &a.yy, &a.xy} }

func (a *pairSum) Result(_ *Ctx, dst vec.Vector) error {
	switch {
	case a.counts:
		dst.AppendDatum(a.n + a.special)
		return nil
	case a.n+a.special == 0 || a.n+a.special < a.least:
		dst.AppendNull()
		return nil
	case a.special > 0:
		return putFloat(dst, math.NaN())
	}
	m := &moments{n: new(big.Rat).SetInt64(a.n), x: a.x.rational(), y: a.y.rational()}
	central := func(s *exactSum, p, q *big.Rat) *big.Rat {
		v := new(big.Rat).Mul(m.n, s.rational())
		return v.Sub(v, new(big.Rat).Mul(p, q))
	}
	m.sxx, m.syy, m.sxy = central(&a.xx, m.x, m.x), central(&a.yy, m.y, m.y), central(&a.xy, m.x, m.y)
	f, ok := a.finish(m)
	if !ok {
		dst.AppendNull()
		return nil
	}
	return putFloat(dst, f)
}

func (a *pairSum) Delta(emit func(sub, val []byte)) {
	if !a.dirty {
		return
	}
	a.dirty = false
	if a.n == 0 && a.special == 0 {
		emit(nil, nil)
		return
	}
	b := binary.AppendVarint(binary.AppendVarint(nil, a.n), a.special)
	for _, s := range a.sums() {
		b = s.appendTo(b)
	}
	emit(nil, b)
}

func (a *pairSum) Load(_, val []byte) error {
	r := reader{b: val}
	a.n, a.special = r.varint(), r.varint()
	for _, s := range a.sums() {
		s.read(&r)
	}
	if r.bad {
		return errState
	}
	return nil
}

func (a *pairSum) MemSize() int { return 400 }
