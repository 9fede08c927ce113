package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// AssignArray makes the function that replaces a part of an array of type t: an
// element, or with slice a part that is an array itself. Its arguments are the array,
// a lower and an upper bound for each of the bounds, which tell those left out, and
// the new value.
func AssignArray(t types.T, bounds []types.Bounds, slice bool) *Func {
	args := ts(t)
	for range bounds {
		args = append(args, tI4, tI4)
	}
	val := t.ElemType()
	if slice {
		val = t
	}
	return fnNulls("array_assign", append(args, val), t, func(r *row) error {
		full := make([]types.Bounds, len(bounds))
		for i := range full {
			full[i] = bounds[i]
			for k, to := range []*int{&full[i].Lo, &full[i].Hi} {
				if r.isNull(1 + 2*i + k) {
					if k == 0 && bounds[i].OpenLo || k == 1 && bounds[i].OpenHi {
						continue
					}
					return pgerr.New(pgerr.NullValueNotAllowed, "array subscript in assignment must not be null")
				}
				*to = int(r.i4(1 + 2*i + k))
			}
		}
		var a []byte
		if !r.isNull(0) {
			a = r.b(0)
		}
		v, null := r.elemBytes(len(args))
		out, err := types.AssignArray(nil, a, full, v, null, slice)
		if err != nil {
			return err
		}
		return r.putB(out)
	})
}

// AssignJSON makes the function that replaces a part of a jsonb. Its arguments are
// the jsonb, the path as an array of texts, and the new value. array tells that the
// first step is a number.
func AssignJSON(array bool) *Func {
	return fnNulls("jsonb_assign", ts(tJSONB, tTextArray, tJSONB), tJSONB, func(r *row) error {
		v := r.view(1)
		path := make([]string, v.Len())
		for i := range path {
			b, null := v.At(i)
			if null {
				return pgerr.New(pgerr.NullValueNotAllowed, "jsonb subscript in assignment must not be null")
			}
			path[i] = string(b)
		}
		val := []byte("null")
		if !r.isNull(2) {
			val = r.b(2)
		}
		var j []byte
		if !r.isNull(0) {
			j = r.b(0)
		}
		out, err := types.AssignJSONB(nil, j, path, val, array)
		if err != nil {
			return err
		}
		return r.putB(out)
	})
}
