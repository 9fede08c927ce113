package types

import "strings"

// appendVectorText appends the text of an int2vector or oidvector: its elements
// with blanks between.
func appendVectorText(dst []byte, t T, a []byte) []byte {
	v := ViewArray(a)
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ' ')
		}
		b, _ := v.At(i)
		dst = AppendText(dst, t.ElemType(), ElemDatum(t.ElemType().Kind(), b), nil)
	}
	return dst
}

// parseVector reads the text of an int2vector or oidvector.
func parseVector(t T, s string) (Datum, error) {
	elems := strings.Fields(s)
	b := ArrayBuilder{}
	for _, e := range elems {
		d, err := ParseText(t.ElemType(), e, nil)
		if err != nil {
			return nil, err
		}
		b.AddDatum(d)
	}
	if len(elems) > 0 {
		b.dims = [][2]int{{len(elems), 0}}
	}
	return string(b.Append(nil)), nil
}
