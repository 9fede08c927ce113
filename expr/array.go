package expr

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func sameAs(k int) func([]types.T) types.T { return func(a []types.T) types.T { return a[k] } }

func elemOf(k int) func([]types.T) types.T {
	return func(a []types.T) types.T { return a[k].ElemType() }
}

// poly gives a function a result type that depends on its arguments.
func poly(f *Func, ret func([]types.T) types.T) *Func { f.RetFn = ret; return f }

// elemBytes returns argument k in the form array elements are stored in.
func (r *row) elemBytes(k int) (b []byte, null bool) {
	if r.isNull(k) {
		return nil, true
	}
	if v, ok := r.args[k].(*vec.Bytes); ok {
		return v.At(r.i), false
	}
	return types.AppendElem(nil, r.datum(k)), false
}

func (r *row) view(k int) types.ArrayView { return types.ViewArray(r.b(k)) }

func arrayFuncs() []*Func {
	dimension := func(f func(v types.ArrayView, d int) int) func(r *row) error {
		return func(r *row) error {
			v, d := r.view(0), r.i4(1)
			if d < 1 || d > v.Dims() {
				return r.null()
			}
			return r.putI4(f(v, d-1))
		}
	}
	length := func(v types.ArrayView, d int) int { return v.DimLen(d) }
	lower := func(v types.ArrayView, d int) int { return v.Lower(d) }
	upper := func(v types.ArrayView, d int) int { return v.Lower(d) + v.DimLen(d) - 1 }
	out := []*Func{
		safe(fn("array_length", ts(AnyArray, tI4), tI4, dimension(length))),
		safe(fn("array_lower", ts(AnyArray, tI4), tI4, dimension(lower))),
		safe(fn("array_upper", ts(AnyArray, tI4), tI4, dimension(upper))),
		safe(fn("cardinality", ts(AnyArray), tI4, func(r *row) error { v := r.view(0); return r.putI4(v.Len()) })),
		safe(fn("array_ndims", ts(AnyArray), tI4, func(r *row) error {
			v := r.view(0)
			if v.Dims() == 0 {
				return r.null()
			}
			return r.putI4(v.Dims())
		})),
		safe(fn("array_dims", ts(AnyArray), tText, arrayDims)),
		poly(fnNulls("array_append", ts(AnyCompatibleArray, AnyCompatible), types.T{}, func(r *row) error { return arrayAdd(r, 0, 1, false) }), sameAs(0)),
		poly(fnNulls("array_prepend", ts(AnyCompatible, AnyCompatibleArray), types.T{}, func(r *row) error { return arrayAdd(r, 1, 0, true) }), sameAs(1)),
		poly(fnNulls("array_cat", ts(AnyCompatibleArray, AnyCompatibleArray), types.T{}, arrayCat), sameAs(0)),
		fnNulls("array_position", ts(AnyCompatibleArray, AnyCompatible), tI4, arrayPosition),
		fnNulls("array_position", ts(AnyCompatibleArray, AnyCompatible, tI4), tI4, arrayPosition),
		fnNulls("array_positions", ts(AnyCompatibleArray, AnyCompatible), types.ArrayOf(types.Int4), arrayPositions),
		poly(fnNulls("array_remove", ts(AnyCompatibleArray, AnyCompatible), types.T{}, func(r *row) error { return arrayReplace(r, true) }), sameAs(0)),
		poly(fnNulls("array_replace", ts(AnyCompatibleArray, AnyCompatible, AnyCompatible), types.T{}, func(r *row) error { return arrayReplace(r, false) }), sameAs(0)),
		stable(safe(fn("array_to_string", ts(AnyArray, tText), tText, arrayToString))),
		stable(safe(fnNulls("array_to_string", ts(AnyArray, tText, tText), tText, arrayToString))),
		safe(fnNulls("string_to_array", ts(tText, tText), tTextArray, stringToArray)),
		safe(fnNulls("string_to_array", ts(tText, tText, tText), tTextArray, stringToArray)),
		poly(safe(fn("array_subscript", ts(AnyArray, tI4), types.T{}, func(r *row) error {
			v := r.view(0)
			b, null := v.Subscript(r.i4(1))
			appendElem(r.dst, r.dst.Type().Kind(), b, null)
			return nil
		})), elemOf(0)),
		poly(safe(fn("array_subscript", ts(AnyArray, tI4, tI4), types.T{}, subscriptMany)), elemOf(0)),
		poly(safe(fn("array_subscript", ts(AnyArray, tI4, tI4, tI4), types.T{}, subscriptMany)), elemOf(0)),
		safe(fn("array_subscript", ts(tJSONB, tI4), tJSONB, func(r *row) error {
			if firstByte(r.b(0)) != '[' {
				return r.null()
			}
			v, ok := types.JSONIndex(r.b(0), r.i4(1))
			return r.putJSON(v, ok, false)
		})),
		safe(fn("array_subscript", ts(tJSONB, tText), tJSONB, func(r *row) error {
			v, ok := types.JSONFollow(r.b(0), []string{r.s(1)})
			return r.putJSON(v, ok, false)
		})),
		poly(fn("trim_array", ts(AnyArray, tI4), types.T{}, trimArray), sameAs(0)),
	}
	for _, args := range [][]types.T{ts(AnyElement, types.ArrayOf(types.Int4)), ts(AnyElement, types.ArrayOf(types.Int4), types.ArrayOf(types.Int4))} {
		out = append(out, poly(fnNulls("array_fill", args, types.T{}, arrayFill), func(a []types.T) types.T { return arrayOf(a[0]) }))
	}
	bounds := ts(AnyArray)
	for range 6 { // the most dimensions an array has
		bounds = append(bounds, tI4, tI4)
		out = append(out, poly(safe(fn("array_slice", slices.Clone(bounds), types.T{}, arraySlice)), sameAs(0)))
	}
	for n := 4; n <= 6; n++ {
		out = append(out, poly(safe(fn("array_subscript", append(ts(AnyArray), slices.Repeat(ts(tI4), n)...), types.T{}, subscriptMany)), elemOf(0)))
	}
	return out
}

func arrayOps() []*Func {
	b := types.TBool
	return []*Func{
		safe(fn("@>", ts(AnyArray, AnyArray), b, func(r *row) error { return r.putBool(types.ArrayContains(r.typ(0), r.b(0), r.b(1))) })),
		safe(fn("<@", ts(AnyArray, AnyArray), b, func(r *row) error { return r.putBool(types.ArrayContains(r.typ(0), r.b(1), r.b(0))) })),
		safe(fn("&&", ts(AnyArray, AnyArray), b, func(r *row) error { return r.putBool(types.ArrayOverlaps(r.typ(0), r.b(0), r.b(1))) })),
		poly(fnNulls("||", ts(AnyCompatibleArray, AnyCompatibleArray), types.T{}, arrayCat), sameAs(0)),
		poly(fnNulls("||", ts(AnyCompatibleArray, AnyCompatible), types.T{}, func(r *row) error { return arrayAdd(r, 0, 1, false) }), sameAs(0)),
		poly(fnNulls("||", ts(AnyCompatible, AnyCompatibleArray), types.T{}, func(r *row) error { return arrayAdd(r, 1, 0, true) }), sameAs(1)),
	}
}

// subscriptMany is a[i][j]…: NULL unless there are as many subscripts as
// dimensions.
func subscriptMany(r *row) error {
	v := r.view(0)
	if v.Dims() != len(r.args)-1 {
		return r.null()
	}
	at := 0
	for d := range v.Dims() {
		i := r.i4(d+1) - v.Lower(d)
		if i < 0 || i >= v.DimLen(d) {
			return r.null()
		}
		at = at*v.DimLen(d) + i
	}
	b, null := v.At(at)
	appendElem(r.dst, r.dst.Type().Kind(), b, null)
	return nil
}

func arrayDims(r *row) error {
	v := r.view(0)
	if v.Dims() == 0 {
		return r.null()
	}
	var b []byte
	for i := range v.Dims() {
		b = append(types.AppendInt(append(b, '['), int64(v.Lower(i))), ':')
		b = append(types.AppendInt(b, int64(v.Lower(i)+v.DimLen(i)-1)), ']')
	}
	return r.putB(b)
}

func arrayAdd(r *row, arr, elem int, front bool) error {
	var a []byte
	if !r.isNull(arr) {
		a = r.b(arr)
	}
	e, null := r.elemBytes(elem)
	d := r.dst.(*vec.Bytes)
	at := len(d.Data)
	out, err := types.AppendArrayAppend(d.Data, a, e, null, front)
	if err != nil {
		d.Data = d.Data[:at]
		return err
	}
	d.Data = out
	d.Finish()
	return nil
}

func arrayCat(r *row) error {
	switch {
	case r.isNull(0) && r.isNull(1):
		return r.null()
	case r.isNull(0):
		return r.putB(r.b(1))
	case r.isNull(1):
		return r.putB(r.b(0))
	}
	b, err := concatArrays(r.b(0), r.b(1))
	if err != nil {
		return err
	}
	return r.putB(b)
}

var errIncompatible = pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays")

// concatArrays is a || b. Arrays of the same number of dimensions are joined
// along the first; one of a dimension less is an element of the other.
func concatArrays(a, b []byte) ([]byte, error) {
	v, w := types.ViewArray(a), types.ViewArray(b)
	if v.Dims() == 0 {
		return b, nil
	} else if w.Dims() == 0 {
		return a, nil
	}
	dv, dw := dimsOf(v), dimsOf(w)
	var dims []int32
	switch {
	case len(dv) == len(dw):
		dims = append(dims, dv...)
		dims[0] += dw[0]
		if !equalDims(dv[2:], dw[2:]) {
			return nil, errIncompatible
		}
	case len(dv) == len(dw)+2:
		dims = append(dims, dv...)
		dims[0]++
		if !equalDims(dv[2:], dw) {
			return nil, errIncompatible
		}
	case len(dw) == len(dv)+2:
		dims = append(dims, dw...)
		dims[0]++
		if !equalDims(dw[2:], dv) {
			return nil, errIncompatible
		}
	default:
		return nil, errIncompatible
	}
	var out types.ArrayBuilder
	for _, x := range []types.ArrayView{v, w} {
		for i := range x.Len() {
			if e, null := x.At(i); null {
				out.AddNull()
			} else {
				out.Add(e)
			}
		}
	}
	return shaped(dims, &out), nil
}

func arrayPosition(r *row) error {
	if r.isNull(0) {
		return r.null()
	}
	v := r.view(0)
	if v.Dims() > 1 {
		return pgerr.New(pgerr.FeatureNotSupported, "searching for elements in multidimensional arrays is not supported")
	}
	if v.Dims() == 0 {
		return r.null()
	}
	from := v.Lower(0)
	if len(r.args) > 2 {
		if r.isNull(2) {
			return pgerr.New(pgerr.NullValueNotAllowed, "initial position must not be null")
		}
		from = r.i4(2)
	}
	e, null := r.elemBytes(1)
	p := types.ArrayPosition(r.typ(0), r.b(0), e, null, from)
	if p == 0 {
		return r.null()
	}
	return r.putI4(p)
}

// equalElem compares stored elements; NULLs are alike.
func equalElem(t types.T, a []byte, an bool, b []byte, bn bool) bool {
	if an || bn {
		return an && bn
	}
	k := t.Kind()
	if k == types.KBytes {
		return types.CompareBytes(t, a, b) == 0
	}
	return types.Compare(t, types.ElemDatum(k, a), types.ElemDatum(k, b)) == 0
}

func arrayPositions(r *row) error {
	if r.isNull(0) {
		return r.null()
	}
	v := r.view(0)
	if v.Dims() > 1 {
		return pgerr.New(pgerr.FeatureNotSupported, "searching for elements in multidimensional arrays is not supported")
	}
	e, null := r.elemBytes(1)
	var out []types.Datum
	for i := range v.Len() {
		if b, bn := v.At(i); equalElem(r.typ(0).ElemType(), b, bn, e, null) {
			out = append(out, int32(i+v.Lower(0)))
		}
	}
	return r.put(types.ArrayDatum(out))
}

// arrayReplace is array_remove and array_replace.
func arrayReplace(r *row, remove bool) error {
	if r.isNull(0) {
		return r.null()
	}
	v := r.view(0)
	if remove && v.Dims() > 1 {
		return pgerr.New(pgerr.FeatureNotSupported, "removing elements from multidimensional arrays is not supported")
	}
	old, oldNull := r.elemBytes(1)
	var b types.ArrayBuilder
	for i := range v.Len() {
		e, null := v.At(i)
		if equalElem(r.typ(0).ElemType(), e, null, old, oldNull) {
			if remove {
				continue
			}
			e, null = r.elemBytes(2)
		}
		if null {
			b.AddNull()
		} else {
			b.Add(e)
		}
	}
	if remove {
		return r.putB(b.Append(nil))
	}
	return r.putB(shaped(dimsOf(v), &b))
}

func dimsOf(v types.ArrayView) []int32 {
	var dims []int32
	for i := range v.Dims() {
		dims = append(dims, int32(v.DimLen(i)), int32(v.Lower(i)))
	}
	return dims
}

func arrayToString(r *row) error {
	if r.isNull(0) || r.isNull(1) {
		return r.null()
	}
	v := r.view(0)
	et := r.typ(0).ElemType()
	var b []byte
	any := false
	for i := range v.Len() {
		e, null := v.At(i)
		if null && (len(r.args) < 3 || r.isNull(2)) {
			continue
		}
		if any {
			b = append(b, r.b(1)...)
		}
		any = true
		switch {
		case null:
			b = append(b, r.b(2)...)
		case et.Kind() == types.KBytes:
			b = types.AppendTextBytes(b, et, e, r.c.options())
		default:
			b = types.AppendText(b, et, types.ElemDatum(et.Kind(), e), r.c.options())
		}
	}
	return r.putB(b)
}

// splitString splits as string_to_array does; a NULL separator gives characters.
func splitString(s, sep string, sepNull bool) []string {
	switch {
	case s == "":
		return nil
	case sepNull:
		var out []string
		for len(s) > 0 {
			_, n := utf8.DecodeRuneInString(s)
			out, s = append(out, s[:n]), s[n:]
		}
		return out
	case sep == "":
		return []string{s}
	}
	return strings.Split(s, sep)
}

// stringToTable is string_to_array as rows.
func stringToTable(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
	r := row{c: c, args: args, i: i}
	if r.isNull(0) {
		return nil
	}
	sep := ""
	if !r.isNull(1) {
		sep = r.s(1)
	}
	for _, p := range splitString(r.s(0), sep, r.isNull(1)) {
		if len(args) > 2 && !r.isNull(2) && p == r.s(2) {
			dst[0].AppendNull()
		} else {
			dst[0].AppendDatum(strings.Clone(p))
		}
	}
	return nil
}

func stringToArray(r *row) error {
	if r.isNull(0) {
		return r.null()
	}
	sep := ""
	if !r.isNull(1) {
		sep = r.s(1)
	}
	var b types.ArrayBuilder
	for _, p := range splitString(r.s(0), sep, r.isNull(1)) {
		if len(r.args) > 2 && !r.isNull(2) && p == r.s(2) {
			b.AddNull()
		} else {
			b.Add([]byte(p))
		}
	}
	return r.putB(b.Append(nil))
}

// arraySlice is a[lo:hi][lo:hi]…; dimensions without bounds are taken whole.
func arraySlice(r *row) error {
	v := r.view(0)
	n := v.Dims()
	if len(r.args)-1 > 2*n {
		return r.putB([]byte{0})
	}
	lo, num := make([]int, n), make([]int, n)
	var dims []int32
	for d := range n {
		first, last := v.Lower(d), v.Lower(d)+v.DimLen(d)-1
		if 2*d+2 < len(r.args) {
			first, last = max(first, r.i4(2*d+1)), min(last, r.i4(2*d+2))
		}
		if first > last {
			return r.putB([]byte{0})
		}
		lo[d], num[d] = first-v.Lower(d), last-first+1
		dims = append(dims, int32(num[d]), 1)
	}
	var b types.ArrayBuilder
	var walk func(d, at int)
	walk = func(d, at int) {
		for i := range num[d] {
			k := at*v.DimLen(d) + lo[d] + i
			if d+1 < n {
				walk(d+1, k)
			} else if e, null := v.At(k); null {
				b.AddNull()
			} else {
				b.Add(e)
			}
		}
	}
	walk(0, 0)
	return r.putB(shaped(dims, &b))
}

func subArray(v types.ArrayView, from, to int) []byte {
	var b types.ArrayBuilder
	for i := from; i < to; i++ {
		if e, null := v.At(i); null {
			b.AddNull()
		} else {
			b.Add(e)
		}
	}
	return b.Append(nil)
}

func trimArray(r *row) error {
	v, n := r.view(0), r.i4(1)
	size := 0
	if v.Dims() > 0 {
		size = v.DimLen(0)
	}
	if n < 0 || n > size {
		return pgerr.New(pgerr.ArraySubscriptError, "number of elements to trim must be between 0 and %d", size)
	}
	switch {
	case n == size:
		return r.putB(subArray(v, 0, 0))
	case v.Dims() == 1:
		return r.putB(subArray(v, 0, size-n))
	}
	var b types.ArrayBuilder
	for i := range v.Len() / size * (size - n) {
		if e, null := v.At(i); null {
			b.AddNull()
		} else {
			b.Add(e)
		}
	}
	dims := []int32{int32(size - n), 1}
	for d := 1; d < v.Dims(); d++ {
		dims = append(dims, int32(v.DimLen(d)), 1)
	}
	return r.putB(shaped(dims, &b))
}

func arrayFill(r *row) error {
	if r.isNull(1) || len(r.args) > 2 && r.isNull(2) {
		return pgerr.New(pgerr.NullValueNotAllowed, "dimension array or low bound array cannot be null")
	}
	sizes, err := boundsOf(r.view(1), "dimension")
	if err != nil {
		return err
	}
	lower := make([]int32, len(sizes))
	for i := range lower {
		lower[i] = 1
	}
	if len(r.args) > 2 {
		if lower, err = boundsOf(r.view(2), "low bound"); err != nil {
			return err
		}
		if len(lower) != len(sizes) {
			return pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
				WithDetail("Low bound array has different size than dimensions array.")
		}
	}
	if len(sizes) > 6 {
		return pgerr.New(pgerr.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (6)", len(sizes))
	}
	n := min(len(sizes), 1)
	var dims []int32
	for i, d := range sizes {
		if n *= int(d); d < 0 || n > 134217727 {
			return errArraySize
		}
		if int64(lower[i])+int64(d) > math.MaxInt32 {
			return pgerr.New(pgerr.ProgramLimitExceeded, "array lower bound is too large: %d", lower[i])
		}
		dims = append(dims, d, lower[i])
	}
	e, null := r.elemBytes(0)
	if n*(len(e)+8) > maxText {
		return errArraySize
	}
	var b types.ArrayBuilder
	for range n {
		if null {
			b.AddNull()
		} else {
			b.Add(e)
		}
	}
	if n == 0 {
		dims = nil
	}
	return r.putB(shaped(dims, &b))
}

var errArraySize = pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (134217727)")

// boundsOf reads the dimensions or lower bounds given to array_fill.
func boundsOf(v types.ArrayView, what string) ([]int32, error) {
	if v.Dims() > 1 {
		return nil, pgerr.New(pgerr.ArraySubscriptError, "wrong number of array subscripts").
			WithDetail("Dimension array must be one dimensional.")
	}
	var out []int32
	for i := range v.Len() {
		b, null := v.At(i)
		if null {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "dimension values cannot be null")
		}
		out = append(out, types.ElemDatum(types.KInt32, b).(int32))
	}
	return out, nil
}
