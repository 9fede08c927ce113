package expr

import "github.com/streamdb/streamdb/types"

// enumFuncs is the table of functions over enums. They read the labels an enum
// has now, and look at their argument's type more than at its value.
func enumFuncs() []*Func {
	end := func(name string, last bool) *Func {
		return poly(stable(safe(fnNulls(name, ts(AnyEnum), types.T{}, func(r *row) error {
			ls := r.typ(0).Labels()
			if len(ls) == 0 {
				return r.null()
			}
			if last {
				return r.putI8(ls[len(ls)-1].Code)
			}
			return r.putI8(ls[0].Code)
		}))), sameAs(0))
	}
	toArray := func(a []types.T) types.T { return arrayOf(a[0]) }
	all := poly(stable(safe(fnNulls("enum_range", ts(AnyEnum), types.T{}, func(r *row) error { return r.putEnumRange(nil, nil) }))), toArray)
	some := poly(stable(safe(fnNulls("enum_range", ts(AnyEnum, AnyEnum), types.T{}, func(r *row) error {
		return r.putEnumRange(r.datum(0), r.datum(1))
	}))), toArray)
	return []*Func{end("enum_first", false), end("enum_last", true), all, some}
}

// putEnumRange puts the values from lo to hi, where nil is an end.
func (r *row) putEnumRange(lo, hi types.Datum) error {
	var out []types.Datum
	for _, l := range r.typ(0).Labels() {
		if (lo == nil || l.Code >= lo.(int64)) && (hi == nil || l.Code <= hi.(int64)) {
			out = append(out, l.Code)
		}
	}
	return r.put(types.ArrayDatum(out))
}
