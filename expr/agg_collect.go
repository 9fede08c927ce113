package expr

import (
	"math"
	"math/big"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// collectAggs is the table of aggregates that keep the rows of their group.
func collectAggs() []*AggFunc {
	agg := func(name string, args []types.T, ret types.T, skipNull bool, f func(c *Ctx, a *collectAcc, dst vec.Vector) error) *AggFunc {
		return &AggFunc{Name: name, Args: args, Ret: ret, OrderMatters: true,
			Make: func(m MakeArgs) AggImpl { return collect(m, skipNull, f) }}
	}
	arr := agg("array_agg", ts(AnyNonArray), types.T{}, false, finishArray)
	arr.RetFn = func(a []types.T) types.T { return arrayOf(a[0]) }
	arr2 := agg("array_agg", ts(AnyArray), types.T{}, false, finishArray)
	arr2.RetFn = sameAs(0)
	return []*AggFunc{
		agg("string_agg", ts(tText, tText), tText, true, finishString), agg("string_agg", ts(tBytea, tBytea), tBytea, true, finishString),
		arr, arr2,
		agg("json_agg", ts(AnyElement), tJSON, false, func(c *Ctx, a *collectAcc, dst vec.Vector) error { return finishJSONAgg(c, a, dst, false) }),
		agg("jsonb_agg", ts(AnyElement), tJSONB, false, func(c *Ctx, a *collectAcc, dst vec.Vector) error { return finishJSONAgg(c, a, dst, true) }),
		agg("json_object_agg", ts(Any, Any), tJSON, false, func(c *Ctx, a *collectAcc, dst vec.Vector) error { return finishJSONObject(c, a, dst, false) }),
		agg("jsonb_object_agg", ts(Any, Any), tJSONB, false, func(c *Ctx, a *collectAcc, dst vec.Vector) error { return finishJSONObject(c, a, dst, true) }),
	}
}

// rows calls f for every row as often as it counts.
func (a *collectAcc) rows(f func(c *vec.Chunk) error) error {
	return a.s.each(&a.multiset, func(c *vec.Chunk, w int64) error {
		for range w {
			if err := f(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// finishString puts the delimiter of each row but the first before its value.
func finishString(_ *Ctx, a *collectAcc, dst vec.Vector) error {
	d := dst.(*vec.Bytes)
	at := len(d.Data)
	first := true
	err := a.rows(func(c *vec.Chunk) error {
		if !first && !c.Cols[1].IsNull(0) {
			d.Data = append(d.Data, c.Cols[1].(*vec.Bytes).At(0)...)
		}
		first = false
		d.Data = append(d.Data, c.Cols[0].(*vec.Bytes).At(0)...)
		return nil
	})
	if err != nil {
		d.Data = d.Data[:at]
		return err
	}
	if first {
		d.AppendNull()
		return nil
	}
	d.Finish()
	return nil
}

func finishArray(_ *Ctx, a *collectAcc, dst vec.Vector) error {
	var ds []types.Datum
	nested := false
	err := a.rows(func(c *vec.Chunk) error {
		nested = c.Cols[0].Type().ID == types.Array
		ds = append(ds, c.Cols[0].Datum(0))
		return nil
	})
	if err != nil {
		return err
	}
	if len(ds) == 0 {
		dst.AppendNull()
		return nil
	}
	var s string
	if nested {
		for _, d := range ds {
			if d == nil {
				return pgerr.New(pgerr.NullValueNotAllowed, "cannot accumulate null arrays")
			}
			if v := types.ViewArray([]byte(d.(string))); v.Dims() == 0 {
				return pgerr.New(pgerr.ArraySubscriptError, "cannot accumulate empty arrays")
			}
		}
		if s, err = stackArrays(dst.Type(), ds); err != nil {
			return pgerr.New(pgerr.ArraySubscriptError, "cannot accumulate arrays of different dimensionality")
		}
	} else {
		s, _ = makeArray(dst.Type(), ds)
	}
	dst.AppendDatum(s)
	return nil
}

func putJSONText(dst vec.Vector, b []byte, binary bool) error {
	d := dst.(*vec.Bytes)
	if !binary {
		d.Append(b)
		return nil
	}
	out, err := types.AppendJSONB(d.Data, string(b))
	if err != nil {
		return err
	}
	d.Data = out
	d.Finish()
	return nil
}

func finishJSONAgg(c *Ctx, a *collectAcc, dst vec.Vector, binary bool) error {
	var b []byte
	err := a.rows(func(row *vec.Chunk) error {
		if b == nil {
			b = append(b, '[')
		} else {
			b = append(b, ", "...)
			if k := row.Cols[0].Type().ID; k == types.Array || k == types.Record {
				b = append(b, "\n "...)
			}
		}
		b = appendJSON(b, row.Cols[0].Type(), row.Cols[0].Datum(0), c.options())
		return nil
	})
	if err != nil {
		return err
	}
	if b == nil {
		dst.AppendNull()
		return nil
	}
	return putJSONText(dst, append(b, ']'), binary)
}

func finishJSONObject(c *Ctx, a *collectAcc, dst vec.Vector, binary bool) error {
	var b []byte
	err := a.rows(func(row *vec.Chunk) error {
		if row.Cols[0].IsNull(0) {
			return pgerr.New(pgerr.InvalidParameterValue, "field name must not be null")
		}
		if !scalarKey(row.Cols[0].Type()) {
			return errKeyNotScalar
		}
		if b == nil {
			b = append(b, "{ "...)
		} else {
			b = append(b, ", "...)
		}
		b = types.AppendJSONString(b, jsonKey(row.Cols[0].Type(), row.Cols[0], 0, c.options()))
		b = append(b, " : "...)
		b = appendJSON(b, row.Cols[1].Type(), row.Cols[1].Datum(0), c.options())
		return nil
	})
	if err != nil {
		return err
	}
	if b == nil {
		dst.AppendNull()
		return nil
	}
	return putJSONText(dst, append(b, " }"...), binary)
}

// orderedSetAggs are the aggregates with WITHIN GROUP. Their rows are the direct
// arguments followed by the key.
func orderedSetAggs() []*AggFunc {
	agg := func(name string, args []types.T, ret types.T, f func(c *Ctx, a *collectAcc, dst vec.Vector) error) *AggFunc {
		return &AggFunc{Name: name, Args: args, Ret: ret, OrderedSet: true, Make: func(m MakeArgs) AggImpl {
			impl := newCollector(m, true)
			impl.nullCol = len(m.Args) - 1
			return AggImpl{New: func() Acc { return &collectAcc{s: impl, finish: f} }}
		}}
	}
	many := types.ArrayOf(types.Float8)
	mode := agg("mode", ts(AnyElement), types.T{}, finishMode)
	mode.RetFn = sameAs(0)
	disc := agg("percentile_disc", ts(tF8, AnyElement), types.T{}, finishPercentile)
	disc.RetFn = sameAs(1)
	discs := agg("percentile_disc", ts(many, AnyElement), types.T{}, finishPercentile)
	discs.RetFn = func(a []types.T) types.T { return arrayOf(a[1]) }
	return []*AggFunc{mode, disc, discs,
		agg("percentile_cont", ts(tF8, tF8), tF8, finishPercentileCont), agg("percentile_cont", ts(tF8, tIv), tIv, finishPercentileCont),
		agg("percentile_cont", ts(many, tF8), many, finishPercentileCont),
		agg("percentile_cont", ts(many, tIv), types.ArrayOf(types.Interval), finishPercentileCont),
	}
}

// finishMode returns the most frequent value, the first of equals in order.
func finishMode(_ *Ctx, a *collectAcc, dst vec.Vector) error {
	var best, start *entry
	var bestN, n int64
	a.each(func(e *entry) bool {
		if start == nil || e.prefix() != start.prefix() {
			start, n = e, 0
		}
		if n += e.w; n > bestN {
			best, bestN = start, n
		}
		return true
	})
	if best == nil {
		dst.AppendNull()
		return nil
	}
	if err := a.s.decode(best); err != nil {
		return err
	}
	dst.AppendFrom(a.s.out.Cols[len(a.s.out.Cols)-1], 0)
	return nil
}

func finishPercentile(_ *Ctx, a *collectAcc, dst vec.Vector) error {
	return a.fractions(dst, func(p float64, n int64) (types.Datum, error) {
		rank := max(int64(math.Ceil(p*float64(n))), 1) - 1
		return a.keyAt(rank)
	})
}

func finishPercentileCont(_ *Ctx, a *collectAcc, dst vec.Vector) error {
	return a.fractions(dst, func(p float64, n int64) (types.Datum, error) {
		at := p * float64(n-1)
		lo, hi := math.Floor(at), math.Ceil(at)
		x, err := a.keyAt(int64(lo))
		if err != nil || lo == hi {
			return x, err
		}
		y, err := a.keyAt(int64(hi))
		if err != nil {
			return nil, err
		}
		if f, ok := x.(float64); ok {
			return f + (at-lo)*(y.(float64)-f), nil
		}
		d, err := types.SubInterval(y.(types.IntervalValue), x.(types.IntervalValue))
		if err == nil {
			d, err = types.MulInterval(d, at-lo)
		}
		if err == nil {
			d, err = types.AddInterval(x.(types.IntervalValue), d)
		}
		return d, err
	})
}

// keyAt returns the key of the row of a rank.
func (a *collectAcc) keyAt(rank int64) (types.Datum, error) {
	e := a.at(rank)
	if e == nil {
		return nil, nil
	}
	if err := a.s.decode(e); err != nil {
		return nil, err
	}
	return a.s.out.Cols[len(a.s.out.Cols)-1].Datum(0), nil
}

// fractions computes one value for each fraction of the direct argument.
func (a *collectAcc) fractions(dst vec.Vector, f func(p float64, n int64) (types.Datum, error)) error {
	n := a.total()
	if n == 0 {
		dst.AppendNull()
		return nil
	}
	var first *entry
	a.each(func(e *entry) bool { first = e; return false })
	if err := a.s.decode(first); err != nil {
		return err
	}
	arg := a.s.out.Cols[0]
	if arg.IsNull(0) {
		dst.AppendNull()
		return nil
	}
	one := func(p types.Datum) (types.Datum, error) {
		if p == nil {
			return nil, nil
		}
		x := p.(float64)
		if !(x >= 0 && x <= 1) {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "percentile value %v is not between 0 and 1", x)
		}
		return f(x, n)
	}
	if arg.Type().ID != types.Array {
		d, err := one(arg.Datum(0))
		if err != nil {
			return err
		}
		dst.AppendDatum(d)
		return nil
	}
	var out []types.Datum
	for _, p := range types.ArrayElems(arg.Type(), arg.Datum(0)) {
		d, err := one(p)
		if err != nil {
			return err
		}
		out = append(out, d)
	}
	dst.AppendDatum(types.ArrayShaped(arg.Datum(0), out))
	return nil
}

// spread is a form of the variance family.
type spreadForm struct{ pop, root bool }

func varianceAggs() []*AggFunc {
	var out []*AggFunc
	for name, f := range map[string]spreadForm{
		"var_pop": {pop: true}, "var_samp": {}, "variance": {}, "stddev_pop": {true, true}, "stddev_samp": {root: true}, "stddev": {root: true},
	} {
		for _, t := range ts(types.TInt2, tI4, tI8, tNum) {
			out = append(out, &AggFunc{Name: name, Args: ts(t), Ret: tNum, Make: func(MakeArgs) AggImpl {
				return AggImpl{New: func() Acc { return &decimalSum{withSquares: true, finish: f.decimal} }}
			}})
		}
		for _, t := range ts(types.TFloat4, tF8) {
			out = append(out, &AggFunc{Name: name, Args: ts(t), Ret: tF8, Make: func(MakeArgs) AggImpl {
				return AggImpl{New: func() Acc { return &floatSum{withSquares: true, finish: f.float} }}
			}})
		}
	}
	return out
}

func (f spreadForm) decimal(a *decimalSum, dst vec.Vector) error {
	if n := a.total(); n == 0 || n == 1 && !f.pop {
		dst.AppendNull()
		return nil
	}
	if _, ok := a.special(); ok {
		return appendDecimal(dst, types.DecimalNaN())
	}
	n := types.DecimalFromInt64(a.n)
	scale := a.scale()
	sum, squares := a.sum.Round(scale), a.squares.Round(2*scale)
	num := squares.Mul(n).Sub(sum.Mul(sum))
	if num.Sign() <= 0 {
		return appendDecimal(dst, types.DecimalFromInt64(0))
	}
	den := n.Mul(n)
	if !f.pop {
		den = n.Mul(n.Sub(types.DecimalFromInt64(1)))
	}
	v, err := num.Div(den)
	if err == nil && f.root {
		s := v.Scale()
		if v, err = v.Sqrt(); err == nil {
			v = v.Round(s)
		}
	}
	if err != nil {
		return err
	}
	return appendDecimal(dst, v)
}

func (f spreadForm) float(a *floatSum, dst vec.Vector) error {
	if n := a.total(); n == 0 || n == 1 && !f.pop {
		dst.AppendNull()
		return nil
	}
	if _, ok := a.special(); ok {
		return putFloat(dst, math.NaN())
	}
	n := new(big.Rat).SetInt64(a.n)
	sum := a.sum.rational()
	num := new(big.Rat).Mul(n, a.squares.rational())
	num.Sub(num, sum.Mul(sum, sum))
	den := new(big.Rat).Mul(n, n)
	if !f.pop {
		den.Sub(den, n)
	}
	v, _ := num.Quo(num, den).Float64()
	if f.root {
		v = math.Sqrt(v)
	}
	return putFloat(dst, v)
}
