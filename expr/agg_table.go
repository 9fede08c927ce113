package expr

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func flat(f FlatAgg) func(MakeArgs) AggImpl {
	return func(MakeArgs) AggImpl { return AggImpl{Flat: f} }
}

func decimalAgg(finish func(a *decimalSum, dst vec.Vector) error) func(MakeArgs) AggImpl {
	return func(MakeArgs) AggImpl {
		return AggImpl{New: func() Acc { return &decimalSum{finish: finish} }}
	}
}

func floatAgg(finish func(a *floatSum, dst vec.Vector) error) func(MakeArgs) AggImpl {
	return func(MakeArgs) AggImpl {
		return AggImpl{New: func() Acc { return &floatSum{finish: finish} }}
	}
}

// basicAggs is the table of count, sum, avg, min, max and their like.
func basicAggs() []*AggFunc {
	agg := func(name string, arg, ret types.T, mk func(MakeArgs) AggImpl) *AggFunc {
		return &AggFunc{Name: name, Args: ts(arg), Ret: ret, Make: mk}
	}
	out := []*AggFunc{
		{Name: "count", Ret: types.TInt8, Make: flat(countAgg{star: true}), Doc: "the number of rows"},
		agg("count", Any, types.TInt8, flat(countAgg{})),
		agg("sum", types.TInt2, types.TInt8, flat(sumIntAgg{finishBigint})),
		agg("sum", types.TInt4, types.TInt8, flat(sumIntAgg{finishBigint})),
		agg("sum", types.TInt8, types.TNumeric, flat(sumIntAgg{finishNumeric})),
		agg("sum", types.TNumeric, types.TNumeric, decimalAgg(finishDecimalSum)),
		agg("sum", types.TFloat4, types.TFloat4, floatAgg(finishFloatSum)),
		agg("sum", types.TFloat8, types.TFloat8, floatAgg(finishFloatSum)),
		agg("sum", types.TMoney, types.TMoney, flat(sumIntAgg{finishMoney})),
		agg("sum", types.TInterval, types.TInterval, flat(intervalSum{})),
		agg("avg", types.TInt2, types.TNumeric, flat(sumIntAgg{finishAvg})),
		agg("avg", types.TInt4, types.TNumeric, flat(sumIntAgg{finishAvg})),
		agg("avg", types.TInt8, types.TNumeric, flat(sumIntAgg{finishAvg})),
		agg("avg", types.TNumeric, types.TNumeric, decimalAgg(finishDecimalAvg)),
		agg("avg", types.TFloat4, types.TFloat8, floatAgg(finishFloatAvg)),
		agg("avg", types.TFloat8, types.TFloat8, floatAgg(finishFloatAvg)),
		agg("avg", types.TInterval, types.TInterval, flat(intervalSum{avg: true})),
	}
	for _, t := range comparableTypes() {
		if t.ID == types.Bool || t.ID == types.Bytea || t.ID == types.UUID || t.ID == types.JSONB || t.ID == types.Char || t.ID == types.Name || t.ID == types.Macaddr || t.ID == types.Macaddr8 ||
			t.ID == types.Bit || t.ID == types.Varbit {
			continue
		}
		out = append(out, extreme("min", t, t), extreme("max", t, t))
	}
	same := func(a []types.T) types.T { return a[0] }
	for _, name := range []string{"min", "max"} {
		for _, any := range ts(AnyArray, AnyEnum) {
			f := extreme(name, any, types.T{})
			f.RetFn = same
			out = append(out, f)
		}
	}
	for _, name := range []string{"bool_and", "every", "bool_or"} {
		f := agg(name, types.TBool, types.TBool, flat(boolAgg{or: name == "bool_or"}))
		f.DistinctIsNoop = true
		out = append(out, f)
	}
	for name, op := range map[string]byte{"bit_and": '&', "bit_or": '|', "bit_xor": '#'} {
		out = append(out, agg(name, types.TInt2, types.TInt2, flat(bitAgg[int16]{op, 16})),
			agg(name, types.TInt4, types.TInt4, flat(bitAgg[int32]{op, 32})),
			agg(name, types.TInt8, types.TInt8, flat(bitAgg[int64]{op, 64})))
	}
	// Retractions need the values themselves, so it may as well be exact.
	out = append(out, &AggFunc{Name: "approx_count_distinct", Args: ts(Any), Ret: types.TInt8, DistinctIsNoop: true,
		Doc: "the number of different values; exact", Make: func(m MakeArgs) AggImpl {
			m.Distinct = true
			return distinctOf(agg("count", Any, types.TInt8, flat(countAgg{})), m)
		}})
	return out
}

func extreme(name string, arg, ret types.T) *AggFunc {
	isMax := name == "max"
	finish := finishMin
	if isMax {
		finish = finishMax
	}
	return &AggFunc{Name: name, Args: ts(arg), Ret: ret, DistinctIsNoop: true, Make: func(m MakeArgs) AggImpl {
		if m.AppendOnly {
			if f := flatExtreme(m.Args[0], isMax); f != nil {
				return AggImpl{Flat: f}
			}
		}
		m.OrderBy, m.Args = nil, m.Args[:1]
		if m.AppendOnly {
			s := newCollector(m, true)
			return AggImpl{New: func() Acc { return &bestAcc{collectAcc{s: s, finish: finish}, isMax} }}
		}
		return collect(m, true, finish)
	}}
}

// bestAcc is min or max of values that are never taken away: it keeps one row.
type bestAcc struct {
	collectAcc
	isMax bool
}

func (a *bestAcc) Add(c *Ctx, args []vec.Vector, i int, w int64) error {
	if w <= 0 {
		return nil
	}
	if err := a.collectAcc.Add(c, args, i, 1); err != nil || len(a.blocks) == 0 {
		return err
	}
	blk := a.blocks[0]
	blk[0].w = 1
	if len(blk) > 1 {
		blk[1].w = 1
		drop := 1
		if a.isMax {
			drop = 0
		}
		a.dirty[blk[drop].key] = blk[drop].split
		a.remove(0, drop)
	}
	return nil
}
