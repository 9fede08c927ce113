package types

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
)

// The flat encoding of an array is: the number of dimensions (0: empty), for
// each its length and lower bound, then a table of the elements' end offsets,
// then their bytes. The top bit of an end marks a NULL. Elements are encoded by
// AppendElem; all integers are little-endian.
const (
	elemNull = 1 << 31
	maxDims  = 6
)

// ArrayView reads an array's flat encoding without copying or allocating.
type ArrayView struct {
	dims []byte // 8 bytes a dimension
	ends []byte
	data []byte
	n    int
}

// ViewArray opens a flat encoding; malformed bytes give an empty array.
func ViewArray(b []byte) ArrayView {
	if len(b) == 0 || b[0] == 0 || b[0] > maxDims || len(b) < 1+8*int(b[0]) {
		return ArrayView{}
	}
	v := ArrayView{dims: b[1 : 1+8*int(b[0])], n: 1}
	rest := b[1+len(v.dims):]
	for i := range int(b[0]) {
		l := v.DimLen(i)
		if l < 0 || l > len(rest)/4+1 || v.n*l > len(rest)/4 {
			return ArrayView{}
		}
		v.n *= l
	}
	v.ends, v.data = rest[:4*v.n], rest[4*v.n:]
	return v
}

// Len returns the number of elements over all dimensions.
func (v *ArrayView) Len() int { return v.n }

// Dims returns the number of dimensions, 0 for an empty array.
func (v *ArrayView) Dims() int { return len(v.dims) / 8 }

// DimLen returns the length of dimension i, which counts from 0.
func (v *ArrayView) DimLen(i int) int { return int(int32(binary.LittleEndian.Uint32(v.dims[8*i:]))) }

// Lower returns the lower bound of dimension i.
func (v *ArrayView) Lower(i int) int { return int(int32(binary.LittleEndian.Uint32(v.dims[8*i+4:]))) }

// At returns the bytes of element i, from 0 in row-major order.
func (v *ArrayView) At(i int) (b []byte, null bool) { return tableAt(v.ends, v.data, i) }

func tableAt(ends, data []byte, i int) ([]byte, bool) {
	from := uint32(0)
	if i > 0 {
		from = binary.LittleEndian.Uint32(ends[4*i-4:]) &^ elemNull
	}
	to := binary.LittleEndian.Uint32(ends[4*i:])
	if to&elemNull != 0 {
		return nil, true
	}
	if from > to || int(to) > len(data) {
		return nil, true
	}
	return data[from:to], false
}

// AppendElem appends the bytes of one element: fixed little-endian for the
// fixed kinds, the bytes themselves for KBytes.
func AppendElem(dst []byte, d Datum) []byte {
	le := binary.LittleEndian
	switch v := d.(type) {
	case bool:
		if v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case int16:
		return le.AppendUint16(dst, uint16(v))
	case int32:
		return le.AppendUint32(dst, uint32(v))
	case int64:
		return le.AppendUint64(dst, uint64(v))
	case float32:
		return le.AppendUint32(dst, math.Float32bits(v))
	case float64:
		return le.AppendUint64(dst, math.Float64bits(v))
	case IntervalValue:
		dst = le.AppendUint64(dst, uint64(v.Micros))
		dst = le.AppendUint32(dst, uint32(v.Days))
		return le.AppendUint32(dst, uint32(v.Months))
	case UUIDValue:
		return append(dst, v[:]...)
	case string:
		return append(dst, v...)
	}
	return dst
}

// ElemDatum boxes the bytes of one element; NULL when they are too short.
func ElemDatum(k Kind, b []byte) Datum {
	le := binary.LittleEndian
	switch {
	case k == KBytes:
		return string(b)
	case k == KBool && len(b) == 1:
		return b[0] != 0
	case k == KInt16 && len(b) == 2:
		return int16(le.Uint16(b))
	case k == KInt32 && len(b) == 4:
		return int32(le.Uint32(b))
	case k == KInt64 && len(b) == 8:
		return int64(le.Uint64(b))
	case k == KFloat32 && len(b) == 4:
		return math.Float32frombits(le.Uint32(b))
	case k == KFloat64 && len(b) == 8:
		return math.Float64frombits(le.Uint64(b))
	case k == KInterval && len(b) == 16:
		return IntervalValue{Micros: int64(le.Uint64(b)), Days: int32(le.Uint32(b[8:])), Months: int32(le.Uint32(b[12:]))}
	case k == KUUID && len(b) == 16:
		return UUIDValue(b)
	}
	return nil
}

// ArrayBuilder builds a flat encoding; Reset makes it ready for the next one.
type ArrayBuilder struct {
	dims [][2]int // length, lower bound; nil: one dimension from 1
	ends []byte
	data []byte
}

// Reset empties the builder and keeps its memory.
func (b *ArrayBuilder) Reset() { b.dims, b.ends, b.data = nil, b.ends[:0], b.data[:0] }

// Add adds an element in its AppendElem form.
func (b *ArrayBuilder) Add(elem []byte) {
	b.data = append(b.data, elem...)
	b.ends = binary.LittleEndian.AppendUint32(b.ends, uint32(len(b.data)))
}

// AddString adds an element of a type that is kept as its bytes.
func (b *ArrayBuilder) AddString(elem string) {
	b.data = append(b.data, elem...)
	b.ends = binary.LittleEndian.AppendUint32(b.ends, uint32(len(b.data)))
}

// AddNull adds a NULL.
func (b *ArrayBuilder) AddNull() {
	b.ends = binary.LittleEndian.AppendUint32(b.ends, uint32(len(b.data))|elemNull)
}

// AddDatum adds a boxed element.
func (b *ArrayBuilder) AddDatum(d Datum) {
	if d == nil {
		b.AddNull()
		return
	}
	b.data = AppendElem(b.data, d)
	b.ends = binary.LittleEndian.AppendUint32(b.ends, uint32(len(b.data)))
}

// Append appends the flat encoding to dst.
func (b *ArrayBuilder) Append(dst []byte) []byte {
	n := len(b.ends) / 4
	if n == 0 {
		return append(dst, 0)
	}
	dims := b.dims
	if dims == nil {
		dims = [][2]int{{n, 1}}
	}
	dst = append(dst, byte(len(dims)))
	for _, d := range dims {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(d[0]))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(d[1]))
	}
	return append(append(dst, b.ends...), b.data...)
}

func (b *ArrayBuilder) addView(v ArrayView) {
	for i := range v.n {
		if e, null := v.At(i); null {
			b.AddNull()
		} else {
			b.Add(e)
		}
	}
}

// ArrayDatum makes the Datum of a one-dimensional array.
func ArrayDatum(elems []Datum) Datum {
	var b ArrayBuilder
	for _, e := range elems {
		b.AddDatum(e)
	}
	return string(b.Append(nil))
}

// ArrayElems boxes the elements of an array's Datum.
func ArrayElems(t T, d Datum) []Datum {
	s, _ := d.(string)
	v := ViewArray([]byte(s))
	out := make([]Datum, v.n)
	k := t.ElemType().Kind()
	for i := range out {
		if b, null := v.At(i); !null {
			out[i] = ElemDatum(k, b)
		}
	}
	return out
}

// Subscript returns element i by SQL's numbering of a one-dimensional array.
func (v *ArrayView) Subscript(i int) (b []byte, null bool) {
	if v.Dims() != 1 {
		return nil, true
	}
	i -= v.Lower(0)
	if i < 0 || i >= v.n {
		return nil, true
	}
	return v.At(i)
}

// AppendArrayAppend appends array a with one more element at its end or start.
func AppendArrayAppend(dst, a []byte, elem []byte, null, front bool) ([]byte, error) {
	v := ViewArray(a)
	if v.Dims() > 1 {
		return dst, pgerr.New(pgerr.DataException, "argument must be empty or one-dimensional array")
	}
	var b ArrayBuilder
	one := func() {
		if null {
			b.AddNull()
		} else {
			b.Add(elem)
		}
	}
	if front {
		one()
	}
	b.addView(v)
	if !front {
		one()
	}
	if v.Dims() == 1 {
		b.dims = [][2]int{{v.n + 1, v.Lower(0)}}
	}
	return b.Append(dst), nil
}

// AppendArrayConcat appends x || y; both of one dimension, or one empty.
func AppendArrayConcat(dst, x, y []byte) ([]byte, error) {
	a, c := ViewArray(x), ViewArray(y)
	switch {
	case a.n == 0:
		return append(dst, y...), nil
	case c.n == 0:
		return append(dst, x...), nil
	case a.Dims() != c.Dims():
		return dst, pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays").
			WithDetail("Arrays of %d and %d dimensions are not compatible for concatenation.", a.Dims(), c.Dims())
	}
	var b ArrayBuilder
	b.addView(a)
	b.addView(c)
	for i := range a.Dims() {
		l := a.DimLen(i)
		if i == 0 {
			l += c.DimLen(0)
		} else if l != c.DimLen(i) {
			return dst, pgerr.New(pgerr.ArraySubscriptError, "cannot concatenate incompatible arrays").
				WithDetail("Arrays with differing element dimensions are not compatible for concatenation.")
		}
		b.dims = append(b.dims, [2]int{l, a.Lower(i)})
	}
	return b.Append(dst), nil
}

// appendElemKey appends an element's key bytes, by which elements are equal.
func appendElemKey(dst []byte, t T, b []byte) []byte {
	if t.Kind() == KBytes {
		return appendKeyBytesKind(dst, t, b)
	}
	return appendKeyValue(dst, t, ElemDatum(t.Kind(), b))
}

// ArrayPosition returns the subscript of the first element equal to elem at or
// after subscript from; 0 if there is none.
func ArrayPosition(t T, a, elem []byte, null bool, from int) int {
	v := ViewArray(a)
	want := ""
	if !null {
		want = string(appendElemKey(nil, t.ElemType(), elem))
	}
	var buf []byte
	for i := range v.n {
		at := i + v.Lower(0)
		e, n := v.At(i)
		if at < from || n != null {
			continue
		}
		if buf = appendElemKey(buf[:0], t.ElemType(), e); n || string(buf) == want {
			return at
		}
	}
	return 0
}

func arrayKeySet(t T, a []byte) map[string]bool {
	v := ViewArray(a)
	set := make(map[string]bool, v.n)
	for i := range v.n {
		if e, null := v.At(i); !null {
			set[string(appendElemKey(nil, t.ElemType(), e))] = true
		}
	}
	return set
}

// ArrayContains reports a @> b: every element of b is in a, and NULL in none.
func ArrayContains(t T, a, b []byte) bool {
	set, v := arrayKeySet(t, a), ViewArray(b)
	for i := range v.n {
		e, null := v.At(i)
		if null || !set[string(appendElemKey(nil, t.ElemType(), e))] {
			return false
		}
	}
	return true
}

// ArrayOverlaps reports a && b.
func ArrayOverlaps(t T, a, b []byte) bool {
	set, v := arrayKeySet(t, a), ViewArray(b)
	for i := range v.n {
		if e, null := v.At(i); !null && set[string(appendElemKey(nil, t.ElemType(), e))] {
			return true
		}
	}
	return false
}

func errArray(s, detail string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "malformed array literal: \"%s\"", s).WithDetail("%s", detail)
}

type arrayParser struct {
	src  string
	s    string
	elem T
	opt  *Options
	b    ArrayBuilder
	lens []int
}

// ParseArray reads '{…}' into the flat encoding, as a string.
func ParseArray(t T, s string, opt *Options) (string, error) {
	p := arrayParser{src: s, s: trimSpace(s), elem: t.ElemType(), opt: opt}
	var lower []int
	if p.s != "" && p.s[0] == '[' {
		spec, rest, ok := strings.Cut(p.s, "=")
		if !ok {
			return "", errArray(s, "Missing \"=\" after array dimensions.")
		}
		for _, d := range strings.Split(strings.Trim(trimSpace(spec), "[]"), "][") {
			lo, hi, ok := strings.Cut(d, ":")
			l, e1 := strconv.ParseInt(lo, 10, 32)
			h, e2 := strconv.ParseInt(hi, 10, 32)
			if !ok || e1 != nil || e2 != nil || h < l {
				return "", errArray(s, "Array dimensions are malformed.")
			}
			lower = append(lower, int(l))
		}
		p.s = trimSpace(rest)
	}
	if p.s == "" || p.s[0] != '{' {
		return "", errArray(s, "Array value must start with \"{\" or dimension information.")
	}
	if err := p.list(0); err != nil {
		return "", err
	}
	if trimSpace(p.s) != "" {
		return "", errArray(s, "Junk after closing right brace.")
	}
	if len(p.b.ends) > 0 && (len(p.lens) > 1 || lower != nil) {
		if lower != nil && len(lower) != len(p.lens) {
			return "", errArray(s, "Specified array dimensions do not match array contents.")
		}
		for i, n := range p.lens {
			lo := 1
			if lower != nil {
				lo = lower[i]
			}
			p.b.dims = append(p.b.dims, [2]int{n, lo})
		}
	}
	return string(p.b.Append(nil)), nil
}

func (p *arrayParser) skip() {
	for p.s != "" && isSpace(p.s[0]) {
		p.s = p.s[1:]
	}
}

// list reads one brace list at a depth; all lists of a depth are equally long.
func (p *arrayParser) list(depth int) error {
	if depth >= maxDims {
		return pgerr.New(pgerr.ProgramLimitExceeded, "number of array dimensions exceeds the maximum allowed (%d)", maxDims)
	}
	p.s = p.s[1:]
	if depth == len(p.lens) {
		p.lens = append(p.lens, -1)
	}
	count, nested := 0, false
	for {
		p.skip()
		if p.s == "" {
			return errArray(p.src, "Unexpected end of input.")
		}
		if p.s[0] == '}' && count == 0 {
			if depth > 0 {
				return errArray(p.src, "Unexpected \"}\" character.")
			}
			break
		}
		var err error
		if p.s[0] == '{' {
			if count > 0 && !nested {
				return errArray(p.src, "Unexpected \"{\" character.")
			}
			nested = true
			err = p.list(depth + 1)
		} else {
			if nested || depth+1 < len(p.lens) {
				return errArray(p.src, "Multidimensional arrays must have sub-arrays with matching dimensions.")
			}
			err = p.element()
		}
		if err != nil {
			return err
		}
		count++
		p.skip()
		if p.s == "" {
			return errArray(p.src, "Unexpected end of input.")
		}
		if p.s[0] == '}' {
			break
		}
		if p.s[0] != ',' {
			return errArray(p.src, "Unexpected array element.")
		}
		p.s = p.s[1:]
		p.skip()
		if p.s != "" && p.s[0] == '}' {
			return errArray(p.src, "Unexpected \"}\" character.")
		}
	}
	p.s = p.s[1:]
	if p.lens[depth] >= 0 && p.lens[depth] != count {
		return errArray(p.src, "Multidimensional arrays must have sub-arrays with matching dimensions.")
	}
	p.lens[depth] = count
	return nil
}

func (p *arrayParser) element() error {
	var out []byte
	quoted := false
	if p.s[0] == '"' {
		quoted = true
		i := 1
		for ; ; i++ {
			if i >= len(p.s) {
				return errArray(p.src, "Unexpected end of input.")
			}
			if p.s[i] == '"' {
				break
			}
			if p.s[i] == '\\' {
				if i++; i >= len(p.s) {
					return errArray(p.src, "Unexpected end of input.")
				}
			}
			out = append(out, p.s[i])
		}
		p.s = p.s[i+1:]
	} else {
		i, keep := 0, 0 // keep: length up to the last character that is not a bare blank
		for ; i < len(p.s) && p.s[i] != ',' && p.s[i] != '}'; i++ {
			c := p.s[i]
			if c == '"' || c == '{' {
				return errArray(p.src, "Unexpected \""+string(c)+"\" character.")
			}
			esc := c == '\\'
			if esc {
				if i++; i >= len(p.s) {
					return errArray(p.src, "Unexpected end of input.")
				}
				quoted = true
			}
			out = append(out, p.s[i])
			if esc || !isSpace(c) {
				keep = len(out)
			}
		}
		out = out[:keep]
		p.s = p.s[i:]
		if len(out) == 0 {
			return errArray(p.src, "Unexpected \",\" character.")
		}
		if !quoted && strings.EqualFold(string(out), "null") {
			p.b.AddNull()
			return nil
		}
	}
	d, err := ParseText(p.elem, string(out), p.opt)
	if err != nil {
		return err
	}
	p.b.AddDatum(d)
	return nil
}

// AppendArrayText appends the '{…}' form of a flat encoding.
func AppendArrayText(dst []byte, t T, a []byte, opt *Options) []byte {
	if t.IsVector() {
		return appendVectorText(dst, t, a)
	}
	v := ViewArray(a)
	if v.n == 0 {
		return append(dst, '{', '}')
	}
	plain := true
	for i := range v.Dims() {
		plain = plain && v.Lower(i) == 1
	}
	if !plain {
		for i := range v.Dims() {
			dst = strconv.AppendInt(append(dst, '['), int64(v.Lower(i)), 10)
			dst = strconv.AppendInt(append(dst, ':'), int64(v.Lower(i)+v.DimLen(i)-1), 10)
			dst = append(dst, ']')
		}
		dst = append(dst, '=')
	}
	at := 0
	return appendArrayDim(dst, t.ElemType(), &v, 0, &at, opt)
}

func appendArrayDim(dst []byte, t T, v *ArrayView, dim int, at *int, opt *Options) []byte {
	dst = append(dst, '{')
	for i := range v.DimLen(dim) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dim+1 < v.Dims() {
			dst = appendArrayDim(dst, t, v, dim+1, at, opt)
			continue
		}
		b, null := v.At(*at)
		*at++
		if null {
			dst = append(dst, "NULL"...)
			continue
		}
		start := len(dst)
		dst = appendElemText(dst, t, b, opt)
		if arrayNeedsQuote(dst[start:]) {
			dst = quoteElem(dst, start)
		}
	}
	return append(dst, '}')
}

func appendElemText(dst []byte, t T, b []byte, opt *Options) []byte {
	if t.Kind() == KBytes {
		return AppendTextBytes(dst, t, b, opt)
	}
	return AppendText(dst, t, ElemDatum(t.Kind(), b), opt)
}

func arrayNeedsQuote(b []byte) bool {
	if len(b) == 0 || len(b) == 4 && strings.EqualFold(string(b), "null") {
		return true
	}
	for _, c := range b {
		if c == '"' || c == '\\' || c == '{' || c == '}' || c == ',' || isSpace(c) {
			return true
		}
	}
	return false
}

// quoteElem quotes dst[start:] with backslash escapes, in place.
func quoteElem(dst []byte, start int) []byte {
	raw := string(dst[start:])
	dst = append(dst[:start], '"')
	for i := range len(raw) {
		if raw[i] == '"' || raw[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, raw[i])
	}
	return append(dst, '"')
}
