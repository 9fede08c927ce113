package expr

import (
	"math"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// set makes the table row of a set-returning function of one column. NULL
// arguments give no row.
func set(name string, args []types.T, ret types.T, f func(r *row, dst vec.Vector) error) *Func {
	return &Func{Name: name, Args: args, Ret: ret, Set: true, MayFail: true,
		EvalSet: func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
			if anyNull(args, i) {
				return nil
			}
			r := row{c: c, args: args, i: i}
			return f(&r, dst[0])
		}}
}

// record gives a set-returning function several columns.
func record(f *Func, names []string, cols ...types.T) *Func {
	f.Ret = types.TRecord
	f.Cols = func([]types.T) ([]string, []types.T) { return names, cols }
	return f
}

var errStepZero = pgerr.New(pgerr.InvalidParameterValue, "step size cannot equal zero")

// maxSeries bounds what one call may yield, so that a slip of the pen does not
// eat all memory.
const maxSeries = 100_000_000

var errSeries = pgerr.New(pgerr.ProgramLimitExceeded, "set-returning function yields more than %d rows", maxSeries)

func setFuncs() []*Func {
	out := []*Func{
		set("generate_subscripts", ts(AnyArray, tI4), tI4, func(r *row, dst vec.Vector) error { return subscripts(r, dst, false) }),
		set("generate_subscripts", ts(AnyArray, tI4, types.TBool), tI4, func(r *row, dst vec.Vector) error { return subscripts(r, dst, r.bool(2)) }),
		poly(set("unnest", ts(AnyArray), types.T{}, func(r *row, dst vec.Vector) error { return appendElems(dst, r.b(0)) }), elemOf(0)),
		{Name: "string_to_table", Args: ts(tText, tText), Ret: tText, Set: true, NotStrict: true, EvalSet: stringToTable},
		{Name: "string_to_table", Args: ts(tText, tText, tText), Ret: tText, Set: true, NotStrict: true, EvalSet: stringToTable},
	}
	for _, t := range ts(tI4, tI8) {
		out = append(out, set("generate_series", ts(t, t), t, seriesInt), set("generate_series", ts(t, t, t), t, seriesInt))
	}
	out = append(out, set("generate_series", ts(tNum, tNum), tNum, seriesNumeric), set("generate_series", ts(tNum, tNum, tNum), tNum, seriesNumeric),
		set("generate_series", ts(tTS, tTS, tIv), tTS, seriesTime), stable(set("generate_series", ts(tTSTZ, tTSTZ, tIv), tTSTZ, seriesTime)))
	expand := poly(set("_pg_expandarray", ts(AnyArray), types.T{}, nil), nil)
	expand.EvalSet = expandArray
	expand.Ret = types.TRecord
	expand.Cols = func(a []types.T) ([]string, []types.T) { return []string{"x", "n"}, ts(a[0].ElemType(), tI4) }
	out = append(out, expand, keywords(), optionsToTable(), aclExplode())
	out = append(out, emptySets()...)
	return append(out, jsonSets()...)
}

// emptySets describe what this server does not have.
func emptySets() []*Func {
	none := func(name string, arg types.T, names []string, cols ...types.T) *Func {
		return record(&Func{Name: name, Args: ts(arg), Set: true,
			EvalSet: func(*Ctx, []vec.Vector, []vec.Vector, int) error { return nil }}, names, cols...)
	}
	rel := types.TRegclass
	return []*Func{
		none("pg_partition_ancestors", rel, []string{"relid"}, rel),
		none("pg_partition_tree", rel, []string{"relid", "parentrelid", "isleaf", "level"}, rel, rel, types.TBool, tI4),
		none("ts_token_type", types.TOid, []string{"tokid", "alias", "description"}, tI4, tText, tText),
	}
}

func keywords() *Func {
	f := record(&Func{Name: "pg_get_keywords", Set: true, EvalSet: func(*Ctx, []vec.Vector, []vec.Vector, int) error { return nil }},
		[]string{"word", "catcode", "barelabel", "catdesc", "baredesc"}, tText, types.TChar, types.TBool, tText, tText)
	f.EvalSet = func(_ *Ctx, dst []vec.Vector, _ []vec.Vector, _ int) error {
		word := ""
		for _, c := range quotedKeywords {
			if c != ' ' {
				word += string(c)
				continue
			}
			if word != "" {
				for k, d := range []types.Datum{word, "R", true, "reserved", "can be bare label"} {
					dst[k].AppendDatum(d)
				}
			}
			word = ""
		}
		return nil
	}
	return f
}

// optionsToTable splits options like name=value, as pg_foreign_table has them.
func optionsToTable() *Func {
	return record(&Func{Name: "pg_options_to_table", Args: ts(types.ArrayOf(types.Text)), Set: true,
		EvalSet: func(_ *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
			if anyNull(args, i) {
				return nil
			}
			v := types.ViewArray(args[0].(*vec.Bytes).At(i))
			for k := range v.Len() {
				if b, null := v.At(k); !null {
					name, value, _ := strings.Cut(string(b), "=")
					dst[0].AppendDatum(name)
					dst[1].AppendDatum(value)
				}
			}
			return nil
		}}, []string{"option_name", "option_value"}, tText, tText)
}

func expandArray(_ *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
	if anyNull(args, i) {
		return nil
	}
	v := types.ViewArray(args[0].(*vec.Bytes).At(i))
	for k := range v.Len() {
		b, null := v.At(k)
		appendElem(dst[0], dst[0].Type().Kind(), b, null)
		dst[1].AppendDatum(int32(k + 1))
	}
	return nil
}

func subscripts(r *row, dst vec.Vector, reverse bool) error {
	v, d := r.view(0), r.i4(1)
	if d < 1 || d > v.Dims() {
		return nil
	}
	n := v.DimLen(d - 1)
	for i := range n {
		if reverse {
			i = n - 1 - i
		}
		dst.AppendDatum(int32(v.Lower(d-1) + i))
	}
	return nil
}

func seriesInt(r *row, dst vec.Vector) error {
	from, to, step := r.int(0), r.int(1), int64(1)
	if len(r.args) > 2 {
		step = r.int(2)
	}
	if step == 0 {
		return errStepZero
	}
	if step > 0 && from > to || step < 0 && from < to {
		return nil
	}
	if math.Abs(float64(to)-float64(from))/math.Abs(float64(step)) > maxSeries {
		return errSeries
	}
	for x := from; ; {
		switch d := dst.(type) {
		case *vec.Col[int32]:
			d.Vals = append(d.Vals, int32(x))
		case *vec.Col[int64]:
			d.Vals = append(d.Vals, x)
		}
		next := x + step
		if step > 0 && (next > to || next < x) || step < 0 && (next < to || next > x) {
			return nil
		}
		x = next
	}
}

func seriesNumeric(r *row, dst vec.Vector) error {
	from, to, step := r.dec(0), r.dec(1), types.DecimalFromInt64(1)
	if len(r.args) > 2 {
		step = r.dec(2)
	}
	for k, d := range []types.Decimal{from, to, step} {
		what := []string{"start value", "stop value", "step size"}[k]
		if d.IsNaN() {
			return pgerr.New(pgerr.InvalidParameterValue, "%s cannot be NaN", what)
		} else if d.IsInf() {
			return pgerr.New(pgerr.InvalidParameterValue, "%s cannot be infinity", what)
		}
	}
	if step.IsZero() {
		return errStepZero
	}
	for n := 0; ; n++ {
		if c := from.Cmp(to); step.Sign() > 0 && c > 0 || step.Sign() < 0 && c < 0 {
			return nil
		}
		if n > maxSeries {
			return errSeries
		}
		if err := appendDecimal(dst, from); err != nil {
			return err
		}
		from = from.Add(step)
	}
}

func seriesTime(r *row, dst vec.Vector) error {
	from, to, step := r.i8(0), r.i8(1), r.iv(2)
	sign := compareIntervals(step, types.IntervalValue{})
	if sign == 0 {
		return errStepZero
	}
	if infiniteTS(from) || infiniteTS(to) {
		return errTimestampRange
	}
	var z *types.Zone
	if r.typ(0).ID == types.Timestamptz {
		z = r.zone()
	}
	d := dst.(*vec.Col[int64])
	for n := 0; sign > 0 && from <= to || sign < 0 && from >= to; n++ {
		if n > maxSeries {
			return errSeries
		}
		d.Vals = append(d.Vals, from)
		var err error
		if from, err = addInterval(from, step, z); err != nil {
			return err
		}
	}
	return nil
}

func jsonSets() []*Func {
	var out []*Func
	for _, t := range ts(tJSON, tJSONB) {
		pre := t.TypName()
		for _, text := range []bool{false, true} {
			suffix, ret := "", t
			if text {
				suffix, ret = "_text", tText
			}
			elems := set(pre+"_array_elements"+suffix, ts(t), ret, func(r *row, dst vec.Vector) error {
				if text {
					if err := jsonChars(t, r.args[0], r.i); err != nil {
						return err
					}
				}
				return jsonElements(r, dst, pre+"_array_elements"+suffix, text)
			})
			elems.Cols = func([]types.T) ([]string, []types.T) { return []string{"value"}, ts(ret) }
			each := record(&Func{Name: pre + "_each" + suffix, Args: ts(t), Set: true, MayFail: true}, []string{"key", "value"}, tText, ret)
			each.EvalSet = func(_ *Ctx, dst, args []vec.Vector, i int) error {
				if err := jsonChars(t, args[0], i); err != nil {
					return err
				}
				return jsonEach(dst, args, i, pre+"_each"+suffix, text)
			}
			out = append(out, elems, each)
		}
		out = append(out, set(pre+"_object_keys", ts(t), tText, func(r *row, dst vec.Vector) error {
			if err := jsonChars(t, r.args[0], r.i); err != nil {
				return err
			}
			if firstByte(r.b(0)) != '{' {
				return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", pre+"_object_keys", jsonShape(r.b(0), "an array"))
			}
			types.JSONObjectEach(r.b(0), func(k, _ []byte) bool {
				dst.(*vec.Bytes).Append(types.JSONUnquote(k))
				return true
			})
			return nil
		}))
	}
	return out
}

// jsonChars is the check of withChars for row i of v, of type t.
func jsonChars(t types.T, v vec.Vector, i int) error {
	if t.ID != types.JSON || v.IsNull(i) {
		return nil
	}
	return types.CheckJSONChars(v.(*vec.Bytes).At(i))
}

func jsonShape(b []byte, other string) string {
	if c := firstByte(b); c == '[' || c == '{' {
		return other
	}
	return "a scalar"
}

func appendJSONValue(dst vec.Vector, val []byte, text bool) {
	if text {
		t, null := types.JSONAsText(val)
		if null {
			dst.AppendNull()
			return
		}
		val = t
	}
	dst.(*vec.Bytes).Append(val)
}

func jsonElements(r *row, dst vec.Vector, name string, text bool) error {
	if firstByte(r.b(0)) != '[' {
		if !strings.HasPrefix(name, "jsonb") {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", name, jsonShape(r.b(0), "a non-array"))
		}
		return pgerr.New(pgerr.InvalidParameterValue, "cannot extract elements from %s", jsonShape(r.b(0), "an object"))
	}
	types.JSONArrayEach(r.b(0), func(v []byte) bool {
		appendJSONValue(dst, v, text)
		return true
	})
	return nil
}

func jsonEach(dst, args []vec.Vector, i int, name string, text bool) error {
	if args[0].IsNull(i) {
		return nil
	}
	b := args[0].(*vec.Bytes).At(i)
	if firstByte(b) != '{' {
		if strings.HasPrefix(name, "jsonb") {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on a non-object", name)
		}
		return pgerr.New(pgerr.InvalidParameterValue, "cannot deconstruct %s", jsonShape(b, "an array as an object"))
	}
	types.JSONObjectEach(b, func(k, v []byte) bool {
		dst[0].(*vec.Bytes).Append(types.JSONUnquote(k))
		appendJSONValue(dst[1], v, text)
		return true
	})
	return nil
}
