package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// set returns what argument k, a range or a multirange, covers.
func (r *row) set(k int) types.RangeSet { return types.SetOf(r.typ(k), r.b(k)) }

// putRange puts a range.
func (r *row) putRange(x types.Range) error {
	d := r.dst.(*vec.Bytes)
	d.Data = types.AppendRange(d.Data, x)
	d.Finish()
	return nil
}

// putSet puts a multirange.
func (r *row) putSet(s types.RangeSet) error {
	d := r.dst.(*vec.Bytes)
	d.Data = types.AppendMultirange(d.Data, s)
	d.Finish()
	return nil
}

// rangeOps are the operators of ranges and multiranges, but for the comparisons
// that all types have.
func rangeOps() []*Func {
	var out []*Func
	type test = func(t types.T, a, b types.RangeSet) bool
	tests := map[string]test{
		"&&": func(t types.T, a, b types.RangeSet) bool { return a.Overlaps(t, b) },
		"@>": func(t types.T, a, b types.RangeSet) bool { return a.Contains(t, b) },
		"<@": func(t types.T, a, b types.RangeSet) bool { return b.Contains(t, a) },
		"<<": func(t types.T, a, b types.RangeSet) bool { return a.LeftOf(t, b) },
		">>": func(t types.T, a, b types.RangeSet) bool { return b.LeftOf(t, a) },
		"&<": func(t types.T, a, b types.RangeSet) bool { return a.NotRightOf(t, b) },
		"&>": func(t types.T, a, b types.RangeSet) bool { return a.NotLeftOf(t, b) },
		"-|-": func(t types.T, a, b types.RangeSet) bool {
			return a.Adjacent(t, b)
		},
	}
	for _, name := range []string{"&&", "@>", "<@", "<<", ">>", "&<", "&>", "-|-"} {
		f := tests[name]
		for _, l := range ts(AnyRange, AnyMultirange) {
			for _, rt := range ts(AnyRange, AnyMultirange) {
				out = append(out, safe(fn(name, ts(l, rt), types.TBool, func(r *row) error {
					return r.putBool(f(r.typ(0), r.set(0), r.set(1)))
				})))
			}
		}
	}
	for _, t := range ts(AnyRange, AnyMultirange) {
		out = append(out,
			safe(fn("@>", ts(t, AnyElement), types.TBool, func(r *row) error {
				b, _ := r.elemBytes(1)
				return r.putBool(r.set(0).HasValue(r.typ(0), b))
			})),
			safe(fn("<@", ts(AnyElement, t), types.TBool, func(r *row) error {
				b, _ := r.elemBytes(0)
				return r.putBool(r.set(1).HasValue(r.typ(1), b))
			})))
	}
	one := func(name, what string, f func(t types.T, a, b types.RangeSet) types.RangeSet) {
		g := fn(name, ts(AnyRange, AnyRange), types.T{}, func(r *row) error {
			x, err := f(r.typ(0), r.set(0), r.set(1)).OneRange(what)
			if err != nil {
				return err
			}
			return r.putRange(x)
		})
		m := fn(name, ts(AnyMultirange, AnyMultirange), types.T{}, func(r *row) error {
			return r.putSet(f(r.typ(0), r.set(0), r.set(1)))
		})
		out = append(out, poly(g, sameAs(0)), poly(m, sameAs(0)))
	}
	one("+", "union", func(t types.T, a, b types.RangeSet) types.RangeSet { return a.Union(t, b) })
	one("-", "difference", func(t types.T, a, b types.RangeSet) types.RangeSet { return a.Minus(t, b) })
	one("*", "intersection", func(t types.T, a, b types.RangeSet) types.RangeSet { return a.Intersect(t, b) })
	return out
}

// rangeFuncs are the functions of ranges and multiranges.
func rangeFuncs() []*Func {
	var out []*Func
	flag := func(name string, f func(x types.Range) bool) {
		for _, t := range ts(AnyRange, AnyMultirange) {
			out = append(out, safe(fn(name, ts(t), types.TBool, func(r *row) error { return r.putBool(f(r.set(0).Span())) })))
		}
	}
	flag("isempty", func(x types.Range) bool { return x.Empty })
	flag("lower_inc", func(x types.Range) bool { return !x.Empty && x.Lo.Inc })
	flag("upper_inc", func(x types.Range) bool { return !x.Empty && x.Hi.Inc })
	flag("lower_inf", func(x types.Range) bool { return !x.Empty && x.Lo.Inf })
	flag("upper_inf", func(x types.Range) bool { return !x.Empty && x.Hi.Inf })
	bound := func(name string, pick func(x types.Range) types.Bound) {
		for _, t := range ts(AnyRange, AnyMultirange) {
			f := safe(fn(name, ts(t), types.T{}, func(r *row) error {
				x := r.set(0).Span()
				b := pick(x)
				appendElem(r.dst, r.dst.Type().Kind(), b.Val, x.Empty || b.Inf)
				return nil
			}))
			out = append(out, poly(f, func(a []types.T) types.T { return a[0].RangeSub() }))
		}
	}
	bound("lower", func(x types.Range) types.Bound { return x.Lo })
	bound("upper", func(x types.Range) types.Bound { return x.Hi })
	merge := func(r *row) error { return r.putRange(r.set(0).Union(r.typ(0), r.setIf(1)).Span()) }
	out = append(out, poly(safe(fn("range_merge", ts(AnyRange, AnyRange), types.T{}, merge)), sameAs(0)),
		poly(safe(fn("range_merge", ts(AnyMultirange), types.T{}, merge)), func(a []types.T) types.T { return a[0].RangeType() }),
		poly(safe(fn("multirange", ts(AnyRange), types.T{}, func(r *row) error { return r.putSet(r.set(0)) })),
			func(a []types.T) types.T { return a[0].MultirangeType() }),
		poly(set("unnest", ts(AnyMultirange), types.T{}, func(r *row, dst vec.Vector) error { return appendElems(dst, r.b(0)) }),
			func(a []types.T) types.T { return a[0].RangeType() }))
	for id := types.Int4range; id <= types.Tstzrange; id++ {
		out = append(out, RangeConstructors(types.T{ID: id, Mod: -1})...)
	}
	return out
}

// setIf is what argument k covers, nothing if there is no such argument.
func (r *row) setIf(k int) types.RangeSet {
	if k >= len(r.args) {
		return nil
	}
	return r.set(k)
}

// RangeConstructors are the functions that make values of a range type and of its
// multirange type, called after them.
func RangeConstructors(t types.T) []*Func {
	sub, name := t.RangeSub(), t.TypName()
	m := t.MultirangeType()
	make2 := func(r *row, flags string) error {
		lo, loNull := r.elemBytes(0)
		lo = append([]byte(nil), lo...)
		hi, hiNull := r.elemBytes(1)
		x, err := types.MakeRange(t, types.Range{Lo: types.Bound{Val: lo, Inf: loNull, Inc: flags[0] == '['},
			Hi: types.Bound{Val: hi, Inf: hiNull, Inc: flags[1] == ']'}})
		if err != nil {
			return err
		}
		return r.putRange(x)
	}
	many := fnNulls(m.TypName(), ts(t), m, func(r *row) error {
		var rs []types.Range
		for k := range r.args {
			if r.isNull(k) && len(r.args) == 1 {
				return r.null()
			}
			if r.isNull(k) {
				return pgerr.New(pgerr.NullValueNotAllowed, "multirange values cannot contain null members")
			}
			rs = append(rs, types.ViewRange(r.b(k)))
		}
		return r.putSet(types.NewRangeSet(m, rs))
	})
	many.Variadic = true
	return []*Func{
		fnNulls(name, ts(sub, sub), t, func(r *row) error { return make2(r, "[)") }),
		fnNulls(name, ts(sub, sub, tText), t, func(r *row) error {
			if r.isNull(2) {
				return pgerr.New(pgerr.DataException, "range constructor flags argument must not be null")
			}
			switch f := r.s(2); f {
			case "[)", "[]", "()", "(]":
				return make2(r, f)
			}
			return pgerr.New(pgerr.SyntaxError, "invalid range bound flags").
				WithHint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".")
		}),
		fn(m.TypName(), nil, m, func(r *row) error { return r.putSet(nil) }),
		many,
	}
}

// rangeAggs are the aggregates over ranges.
func rangeAggs() []*AggFunc {
	agg := func(name string, arg types.T, ret func([]types.T) types.T, f func(t types.T, sets []types.RangeSet) types.RangeSet) *AggFunc {
		return &AggFunc{Name: name, Args: ts(arg), RetFn: ret, DistinctIsNoop: true, Make: func(m MakeArgs) AggImpl {
			return collect(m, true, func(_ *Ctx, a *collectAcc, dst vec.Vector) error {
				var sets []types.RangeSet
				var t types.T
				err := a.rows(func(c *vec.Chunk) error {
					t = c.Cols[0].Type()
					b := append([]byte(nil), c.Cols[0].(*vec.Bytes).At(0)...)
					sets = append(sets, types.SetOf(t, b))
					return nil
				})
				if err != nil {
					return err
				}
				if sets == nil {
					dst.AppendNull()
					return nil
				}
				out, d := f(t, sets), dst.(*vec.Bytes)
				if dst.Type().IsRange() {
					d.Data = types.AppendRange(d.Data, out.Span())
				} else {
					d.Data = types.AppendMultirange(d.Data, out)
				}
				d.Finish()
				return nil
			})
		}}
	}
	union := func(t types.T, sets []types.RangeSet) types.RangeSet {
		var all []types.Range
		for _, s := range sets {
			all = append(all, s...)
		}
		return types.NewRangeSet(t, all)
	}
	common := func(t types.T, sets []types.RangeSet) types.RangeSet {
		out := sets[0]
		for _, s := range sets[1:] {
			out = out.Intersect(t, s)
		}
		return out
	}
	return []*AggFunc{
		agg("range_agg", AnyRange, func(a []types.T) types.T { return a[0].MultirangeType() }, union),
		agg("range_agg", AnyMultirange, sameAs(0), union),
		agg("range_intersect_agg", AnyRange, sameAs(0), common),
		agg("range_intersect_agg", AnyMultirange, sameAs(0), common),
	}
}
