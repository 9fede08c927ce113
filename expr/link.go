package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var errIntervalRange = pgerr.New(pgerr.DatetimeFieldOverflow, "interval out of range")

// parseText reads a value's text form.
func parseText(s string, t types.T, opt *types.Options) (types.Datum, error) {
	return types.ParseText(t, s, opt)
}

func compareEncoded(t types.T, a, b []byte) int { return types.CompareBytes(t, a, b) }

func divInterval(v types.IntervalValue, by float64) (types.IntervalValue, error) {
	return types.DivInterval(v, by)
}

// appendVecText appends the text form of row i of v, which is not NULL.
func appendVecText(dst []byte, t types.T, v vec.Vector, i int, opt *types.Options) []byte {
	switch c := v.(type) {
	case *vec.Bytes:
		return types.AppendTextBytes(dst, t, c.At(i), opt)
	case *vec.Col[int64]:
		return types.AppendTextInt64(dst, t, c.Vals[i], opt)
	case *vec.Col[int32]:
		if t.ID != types.Date {
			return types.AppendInt(dst, int64(c.Vals[i]))
		}
	}
	return types.AppendText(dst, t, v.Datum(i), opt)
}

// appendElems appends the elements of an array to a vector of its element type.
func appendElems(dst vec.Vector, arr []byte) error {
	v := types.ViewArray(arr)
	k := dst.Type().Kind()
	for i := range v.Len() {
		b, null := v.At(i)
		appendElem(dst, k, b, null)
	}
	return nil
}

// appendElem appends one element in its stored form.
func appendElem(dst vec.Vector, k types.Kind, b []byte, null bool) {
	switch d := dst.(type) {
	case *vec.Bytes:
		if null {
			d.AppendNull()
		} else {
			d.Append(b)
		}
	default:
		if null {
			dst.AppendNull()
		} else {
			dst.AppendDatum(types.ElemDatum(k, b))
		}
	}
}

// makeArray builds a one-dimensional array.
func makeArray(_ types.T, ds []types.Datum) (string, error) {
	return types.ArrayDatum(ds).(string), nil
}

// stackArrays builds an array one dimension higher than its parts.
func stackArrays(_ types.T, ds []types.Datum) (string, error) {
	var dims []int32
	b := types.ArrayBuilder{}
	for k, d := range ds {
		s, _ := d.(string)
		v := types.ViewArray([]byte(s))
		var own []int32
		for i := range v.Dims() {
			own = append(own, int32(v.DimLen(i)), int32(v.Lower(i)))
		}
		if k == 0 {
			dims = own
		} else if !equalDims(dims, own) {
			return "", pgerr.New(pgerr.ArraySubscriptError, "multidimensional arrays must have array expressions with matching dimensions")
		}
		for i := range v.Len() {
			if e, null := v.At(i); null {
				b.AddNull()
			} else {
				b.Add(e)
			}
		}
	}
	if len(dims) == 0 {
		return string(b.Append(nil)), nil
	}
	return string(shaped(append([]int32{int32(len(ds)), 1}, dims...), &b)), nil
}

func equalDims(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// recordField takes a field out of a record.
func recordField(rec []byte, index int) (types.Datum, error) {
	v := types.ViewRecord(rec)
	if index >= v.Len() {
		return nil, pgerr.New(pgerr.DataCorrupted, "record has no field %d", index+1)
	}
	b, null := v.At(index)
	if null {
		return nil, nil
	}
	return types.ElemDatum(v.Type(index).Kind(), b), nil
}

// appendText returns a datum's text form.
func textOf(t types.T, d types.Datum, opt *types.Options) string {
	if s, ok := d.(string); ok && (isString(t) || t.ID == types.JSONB || t.ID == types.JSON) {
		return s
	}
	return string(types.AppendText(nil, t, d, opt))
}

// shaped returns the builder's elements as an array of the given dimensions, a
// length and a lower bound each.
func shaped(dims []int32, b *types.ArrayBuilder) []byte {
	flat := b.Append(nil)
	if len(flat) < 9 {
		return flat
	}
	out := []byte{byte(len(dims) / 2)}
	for _, d := range dims {
		out = le.AppendUint32(out, uint32(d))
	}
	return append(out, flat[9:]...)
}
