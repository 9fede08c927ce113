package types

import (
	"github.com/streamdb/streamdb/pgerr"
)

// Bounds are the subscripts of an assignment in one dimension, both included; those
// of an element are the same. Open says that a bound was left out.
type Bounds struct {
	Lo, Hi         int
	OpenLo, OpenHi bool
}

// maxArrayElems is how many elements an array may have.
const maxArrayElems = 134217727

func errSubscript(msg string) error { return pgerr.New(pgerr.ArraySubscriptError, "%s", msg) }

// AssignArray appends the array a (nil: NULL) with the part that bounds tell replaced.
// With slice the new elements are those of the array val in their order, else it is
// the element val; null: that is NULL. As in PostgreSQL an array of one dimension
// grows as needed, with NULLs between, and others do not grow.
func AssignArray(dst, a []byte, bounds []Bounds, val []byte, null, slice bool) ([]byte, error) {
	var v ArrayView
	if a != nil {
		v = ViewArray(a)
	}
	if slice {
		if null { // a NULL array changes nothing
			if a == nil {
				return append(dst, 0), nil
			}
			return append(dst, a...), nil
		}
	}
	if v.Dims() != 0 && v.Dims() != len(bounds) && !(slice && len(bounds) < v.Dims()) {
		return dst, errSubscript("wrong number of array subscripts")
	}
	dims, full, err := assignedDims(&v, bounds)
	if err != nil {
		return dst, err
	}
	var src ArrayView
	if slice {
		src = ViewArray(val)
	}
	return assignElems(dst, &v, dims, full, val, null, slice, &src)
}

// assignedDims are the dimensions afterwards, as length and lower bound, and the
// bounds with none left out.
func assignedDims(v *ArrayView, bounds []Bounds) (dims [][2]int, full []Bounds, err error) {
	full = append(full, bounds...)
	if v.Dims() == 0 {
		for _, b := range full {
			if b.OpenLo || b.OpenHi {
				return nil, nil, pgerr.New(pgerr.ArraySubscriptError, "array slice subscript must provide both boundaries").
					WithDetail("When assigning to a slice of an empty array value, slice boundaries must be fully specified.")
			}
			if b.Hi < b.Lo {
				return nil, nil, errSubscript("upper bound cannot be less than lower bound")
			}
			dims = append(dims, [2]int{b.Hi - b.Lo + 1, b.Lo})
		}
		return dims, full, checkElems(dims)
	}
	for i := range v.Dims() {
		dims = append(dims, [2]int{v.DimLen(i), v.Lower(i)})
		if i >= len(full) {
			full = append(full, Bounds{OpenLo: true, OpenHi: true})
		}
		b := &full[i]
		if b.OpenLo {
			b.Lo = v.Lower(i)
		}
		if b.OpenHi {
			b.Hi = v.Lower(i) + v.DimLen(i) - 1
		}
		if b.Hi < b.Lo {
			return nil, nil, errSubscript("upper bound cannot be less than lower bound")
		}
	}
	if len(dims) > 1 {
		for i, b := range full {
			if b.Lo < dims[i][1] || b.Hi >= dims[i][1]+dims[i][0] {
				return nil, nil, errSubscript("array subscript out of range")
			}
		}
		return dims, full, nil
	}
	lo, hi := min(dims[0][1], full[0].Lo), max(dims[0][1]+dims[0][0]-1, full[0].Hi)
	dims[0] = [2]int{hi - lo + 1, lo}
	return dims, full, checkElems(dims)
}

func checkElems(dims [][2]int) error {
	n := 1
	for _, d := range dims {
		if n *= d[0]; n > maxArrayElems {
			return pgerr.New(pgerr.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", maxArrayElems)
		}
	}
	return nil
}

// assignElems writes the elements in order: of the old array, or new ones.
func assignElems(dst []byte, v *ArrayView, dims [][2]int, full []Bounds, val []byte, null, slice bool, src *ArrayView) ([]byte, error) {
	b := ArrayBuilder{dims: dims}
	total := 1
	for _, d := range dims {
		total *= d[0]
	}
	at := make([]int, len(dims)) // of the element, from 0
	next := 0                    // of src
	for range total {
		in, old, wasIn := true, 0, v.Dims() > 0
		for i := range dims {
			s := at[i] + dims[i][1]
			in = in && s >= full[i].Lo && s <= full[i].Hi
			if wasIn {
				k := s - v.Lower(i)
				wasIn = k >= 0 && k < v.DimLen(i)
				old = old*v.DimLen(i) + k
			}
		}
		elem, isNull := val, null
		switch {
		case in && slice:
			if next >= src.Len() {
				return dst, errSubscript("source array too small")
			}
			elem, isNull = src.At(next)
			next++
		case in:
		case wasIn:
			elem, isNull = v.At(old)
		default:
			isNull = true
		}
		if isNull {
			b.AddNull()
		} else {
			b.Add(elem)
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < dims[i][0] {
				break
			}
			at[i] = 0
		}
	}
	return b.Append(dst), nil
}
