package expr

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var (
	tJSON, tJSONB = types.TJSON, types.TJSONB
	tTextArray    = types.ArrayOf(types.Text)
)

// textElems returns the elements of a text array; a NULL element is marked.
func textElems(b []byte) (out []string, hasNull bool) {
	v := types.ViewArray(b)
	for i := range v.Len() {
		e, null := v.At(i)
		hasNull = hasNull || null
		out = append(out, string(e))
	}
	return out, hasNull
}

// pathSteps returns the elements of a text array as steps of a path to edit.
func pathSteps(b []byte) []string {
	v := types.ViewArray(b)
	out := make([]string, v.Len())
	for i := range out {
		e, null := v.At(i)
		if out[i] = string(e); null {
			out[i] = types.JSONNullStep
		}
	}
	return out
}

// putJSON ends with a raw JSON value, as JSON or as text.
func (r *row) putJSON(val []byte, ok, asText bool) error {
	if !ok {
		return r.null()
	}
	if asText {
		t, null := types.JSONAsText(val)
		if null {
			return r.null()
		}
		val = t
	}
	return r.putB(val)
}

// jsonAccess makes the rows of -> and ->> and their paths for json and jsonb.
func jsonAccess() []*Func {
	var out []*Func
	for _, t := range ts(tJSON, tJSONB) {
		for _, text := range []bool{false, true} {
			ret, op, path := t, "->", "#>"
			if text {
				ret, op, path = tText, "->>", "#>>"
			}
			add := func(op string, by types.T, f func(*row) error) {
				g := fn(op, ts(t, by), ret, withChars(t, 0, f))
				g.MayFail = t.ID == types.JSON
				out = append(out, g)
			}
			add(op, tText, func(r *row) error {
				if len(r.b(0)) == 0 || firstByte(r.b(0)) != '{' {
					return r.null()
				}
				v, ok := types.JSONField(r.b(0), r.s(1))
				return r.putJSON(v, ok, text)
			})
			add(op, tI4, func(r *row) error {
				if c, i := firstByte(r.b(0)), r.i4(1); c != '[' {
					// A scalar jsonb counts as an array of it.
					return r.putJSON(r.b(0), t.ID == types.JSONB && c != '{' && (i == 0 || i == -1), text)
				}
				v, ok := types.JSONIndex(r.b(0), r.i4(1))
				return r.putJSON(v, ok, text)
			})
			add(path, tTextArray, func(r *row) error {
				keys, hasNull := textElems(r.b(1))
				if hasNull {
					return r.null()
				}
				v, ok := types.JSONFollow(r.b(0), keys)
				return r.putJSON(v, ok, text)
			})
		}
	}
	return out
}

// withChars is f where argument at, of type t, may have escapes only that mean
// characters: jsonb has no others, and json may not be taken apart with them.
func withChars(t types.T, at int, f func(*row) error) func(*row) error {
	if t.ID != types.JSON {
		return f
	}
	return func(r *row) error {
		if err := jsonChars(t, r.args[at], r.i); err != nil {
			return err
		}
		return f(r)
	}
}

func firstByte(b []byte) byte {
	for _, c := range b {
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

func jsonOps() []*Func {
	bytesErr := func(r *row) func([]byte, error) error {
		return func(b []byte, err error) error {
			if err != nil {
				return err
			}
			return r.putB(b)
		}
	}
	existsAll := func(all bool) func(r *row) error {
		return func(r *row) error {
			v := types.ViewArray(r.b(1))
			for i := range v.Len() {
				e, null := v.At(i)
				if !null && types.JSONBExists(r.b(0), string(e)) != all {
					return r.putBool(!all)
				}
			}
			return r.putBool(all)
		}
	}
	out := []*Func{
		safe(fn("@>", ts(tJSONB, tJSONB), types.TBool, func(r *row) error { return r.putBool(types.JSONBContains(r.b(0), r.b(1))) })),
		safe(fn("<@", ts(tJSONB, tJSONB), types.TBool, func(r *row) error { return r.putBool(types.JSONBContains(r.b(1), r.b(0))) })),
		safe(fn("?", ts(tJSONB, tText), types.TBool, func(r *row) error { return r.putBool(types.JSONBExists(r.b(0), r.s(1))) })),
		safe(fn("?|", ts(tJSONB, tTextArray), types.TBool, existsAll(false))),
		safe(fn("?&", ts(tJSONB, tTextArray), types.TBool, existsAll(true))),
		safe(fn("||", ts(tJSONB, tJSONB), tJSONB, func(r *row) error { return r.putB(types.AppendJSONBConcat(nil, r.b(0), r.b(1))) })),
		fn("-", ts(tJSONB, tText), tJSONB, func(r *row) error { return bytesErr(r)(types.AppendJSONBDelete(nil, r.b(0), r.s(1))) }),
		fn("-", ts(tJSONB, tI4), tJSONB, func(r *row) error { return bytesErr(r)(types.AppendJSONBDeleteIndex(nil, r.b(0), r.i4(1))) }),
		fn("-", ts(tJSONB, tTextArray), tJSONB, func(r *row) error {
			keys, b := pathSteps(r.b(1)), r.b(0)
			var err error
			if c := firstByte(b); c != '{' && c != '[' {
				return pgerr.New(pgerr.InvalidParameterValue, "cannot delete from scalar")
			}
			for _, k := range keys {
				if k == types.JSONNullStep {
					continue
				}
				if b, err = types.AppendJSONBDelete(nil, b, k); err != nil {
					return err
				}
			}
			return r.putB(b)
		}),
		fn("#-", ts(tJSONB, tTextArray), tJSONB, func(r *row) error {
			keys := pathSteps(r.b(1))
			return bytesErr(r)(types.AppendJSONBDeletePath(nil, r.b(0), keys))
		}),
	}
	return append(out, jsonAccess()...)
}

func jsonFuncs() []*Func {
	var out []*Func
	both := func(name string, args func(t types.T) []types.T, ret types.T, f func(r *row, t types.T) error) {
		for _, t := range ts(tJSON, tJSONB) {
			to := ret
			if ret == tJSON {
				to = t
			}
			out = append(out, fn(strings.Replace(name, "json", t.TypName(), 1), args(t), to, func(r *row) error { return f(r, t) }))
		}
	}
	one := func(t types.T) []types.T { return ts(t) }
	both("json_typeof", one, tText, func(r *row, _ types.T) error { return r.putS(types.JSONType(r.b(0))) })
	both("json_array_length", one, tI4, func(r *row, _ types.T) error {
		if firstByte(r.b(0)) != '[' {
			what := "a scalar"
			if firstByte(r.b(0)) == '{' {
				what = "a non-array"
			}
			return pgerr.New(pgerr.InvalidParameterValue, "cannot get array length of %s", what)
		}
		return r.putI4(types.JSONLen(r.b(0)))
	})
	both("json_strip_nulls", one, tJSON, func(r *row, t types.T) error {
		if t.ID == types.JSON {
			if err := types.CheckJSONChars(r.b(0)); err != nil {
				return err
			}
			return r.putB(stripNulls(nil, r.b(0)))
		}
		return r.putB(types.AppendJSONBStripNulls(nil, r.b(0)))
	})
	for _, text := range []bool{false, true} {
		name, ret := "json_extract_path", tJSON
		if text {
			name, ret = "json_extract_path_text", tText
		}
		both(name, func(t types.T) []types.T { return ts(t, tText) }, ret, func(r *row, t types.T) error {
			return withChars(t, 0, func(r *row) error {
				var keys []string
				for k := 1; k < len(r.args); k++ {
					keys = append(keys, r.s(k))
				}
				v, ok := types.JSONFollow(r.b(0), keys)
				return r.putJSON(v, ok, text)
			})(r)
		})
		out[len(out)-1].Variadic, out[len(out)-2].Variadic = true, true
	}
	out = append(out,
		safe(fn("jsonb_pretty", ts(tJSONB), tText, func(r *row) error { return r.putB(types.AppendJSONBPretty(nil, r.b(0))) })),
		jsonbEdit("jsonb_set", types.AppendJSONBSet, true), jsonbEdit("jsonb_insert", types.AppendJSONBInsert, false),
		jsonbSetLax(),
	)
	return append(out, jsonBuildFuncs()...)
}

// stripNulls writes json text compactly without the members that are null.
func stripNulls(dst, b []byte) []byte {
	sep := false
	comma := func() {
		if sep {
			dst = append(dst, ',')
		}
		sep = true
	}
	switch firstByte(b) {
	case '{':
		dst = append(dst, '{')
		types.JSONObjectEach(b, func(k, v []byte) bool {
			if firstByte(v) != 'n' {
				comma()
				dst = stripNulls(append(append(dst, k...), ':'), v)
			}
			return true
		})
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		types.JSONArrayEach(b, func(v []byte) bool {
			comma()
			dst = stripNulls(dst, v)
			return true
		})
		return append(dst, ']')
	}
	return append(dst, bytes.TrimSpace(b)...)
}

// jsonbEdit makes jsonb_set and jsonb_insert, whose last argument has a default.
func jsonbEdit(name string, f func(dst, b []byte, path []string, val []byte, flag bool) ([]byte, error), def bool) *Func {
	g := fn(name, ts(tJSONB, tTextArray, tJSONB, types.TBool), tJSONB, func(r *row) error {
		path := pathSteps(r.b(1))
		flag := def
		if len(r.args) > 3 {
			flag = r.bool(3)
		}
		b, err := f(nil, r.b(0), path, r.b(2), flag)
		if err != nil {
			return err
		}
		return r.putB(b)
	})
	g.Optional = 1
	return g
}

// jsonbSetLax is jsonb_set with a say in what a NULL value does.
func jsonbSetLax() *Func {
	f := fnNulls("jsonb_set_lax", ts(tJSONB, tTextArray, tJSONB, tBool, tText), tJSONB, func(r *row) error {
		if r.isNull(0) || r.isNull(1) || len(r.args) > 3 && r.isNull(3) {
			return r.null()
		}
		how := "use_json_null"
		if len(r.args) > 4 {
			if r.isNull(4) {
				return pgerr.New(pgerr.InvalidParameterValue, `null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"`)
			}
			how = r.s(4)
		}
		path := pathSteps(r.b(1))
		create := len(r.args) < 4 || r.bool(3)
		val := []byte("null")
		if !r.isNull(2) {
			val = r.b(2)
		} else {
			switch how {
			case "raise_exception":
				return pgerr.New(pgerr.NullValueNotAllowed, "JSON value must not be null").
					WithDetail(`Exception was raised because null_value_treatment is "raise_exception".`).
					WithHint(`To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.`)
			case "return_target":
				return r.putB(r.b(0))
			case "use_json_null":
			case "delete_key":
				b, err := types.AppendJSONBDeletePath(nil, r.b(0), path)
				if err != nil {
					return err
				}
				return r.putB(b)
			default:
				return pgerr.New(pgerr.InvalidParameterValue, `null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"`)
			}
		}
		b, err := types.AppendJSONBSet(nil, r.b(0), path, val, create)
		if err != nil {
			return err
		}
		return r.putB(b)
	})
	f.Optional = 2
	return f
}

// appendJSON appends a SQL value as JSON, as to_json does.
func appendJSON(dst []byte, t types.T, d types.Datum, opt *types.Options) []byte {
	if d == nil {
		return append(dst, "null"...)
	}
	switch t.ID {
	case types.Bool:
		if d.(bool) {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric:
		at := len(dst)
		dst = types.AppendText(dst, t, d, opt)
		if c := dst[len(dst)-1]; c == 'N' || c == 'y' { // NaN and infinities are strings
			s := string(dst[at:])
			return types.AppendJSONString(dst[:at], s)
		}
		return dst
	case types.JSON, types.JSONB:
		return append(dst, d.(string)...)
	case types.Array:
		return appendJSONArray(dst, t, d.(string), false, opt)
	case types.Record:
		return appendJSONRecord(dst, t, d.(string), false, opt)
	case types.Timestamp, types.Timestamptz:
		s := textOf(t, d, opt.ISODates())
		if t.ID == types.Timestamptz && !infiniteTS(d.(int64)) {
			var era bool
			s, era = strings.CutSuffix(s, " BC")
			if c := s[len(s)-3]; c == '+' || c == '-' { // JSON dates have minutes in the offset
				s += ":00"
			}
			if era {
				s += " BC"
			}
		}
		return types.AppendJSONString(dst, strings.Replace(s, " ", "T", 1))
	}
	if t.ID == types.Date {
		opt = opt.ISODates()
	}
	return types.AppendJSONString(dst, textOf(t, d, opt))
}

// appendJSONArray appends an array; pretty puts a line feed between the parts of
// its first dimension.
func appendJSONArray(dst []byte, t types.T, a string, pretty bool, opt *types.Options) []byte {
	v := types.ViewArray([]byte(a))
	if v.Dims() == 0 {
		return append(dst, "[]"...)
	}
	next := 0
	et := t.ElemType()
	var level func(dim int)
	level = func(dim int) {
		dst = append(dst, '[')
		for i := range v.DimLen(dim) {
			if i > 0 {
				dst = append(dst, ',')
				if pretty && dim == 0 {
					dst = append(dst, "\n "...)
				}
			}
			if dim+1 < v.Dims() {
				level(dim + 1)
				continue
			}
			e, null := v.At(next)
			next++
			if null {
				dst = append(dst, "null"...)
			} else {
				dst = appendJSON(dst, et, types.ElemDatum(et.Kind(), e), opt)
			}
		}
		dst = append(dst, ']')
	}
	level(0)
	return dst
}

// appendJSONRecord names the fields as the type does, else f1, f2, …; pretty puts
// a line feed between them.
func appendJSONRecord(dst []byte, t types.T, rec string, pretty bool, opt *types.Options) []byte {
	v := types.ViewRecord([]byte(rec))
	fields := t.Fields()
	dst = append(dst, '{')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
			if pretty {
				dst = append(dst, "\n "...)
			}
		}
		if i < len(fields) {
			dst = append(types.AppendJSONString(dst, fields[i].Name), ':')
		} else {
			dst = append(types.AppendInt(append(dst, `"f`...), int64(i+1)), `":`...)
		}
		e, null := v.At(i)
		if null {
			dst = append(dst, "null"...)
		} else {
			dst = appendJSON(dst, v.Type(i), types.ElemDatum(v.Type(i).Kind(), e), opt)
		}
	}
	return append(dst, '}')
}

// finishJSON ends with JSON text, in canonical form for jsonb.
func (r *row) finishJSON(b []byte, binary bool) error {
	if !binary {
		return r.putB(b)
	}
	d := r.dst.(*vec.Bytes)
	out, err := types.AppendJSONB(d.Data, string(b))
	if err != nil {
		return err
	}
	d.Data = out
	d.Finish()
	return nil
}

func jsonBuildFuncs() []*Func {
	var out []*Func
	for _, binary := range []bool{false, true} {
		t, pre := tJSON, "json"
		if binary {
			t, pre = tJSONB, "jsonb"
		}
		toJSON := stable(fn("to_"+pre, ts(AnyElement), t, func(r *row) error {
			return r.finishJSON(appendJSON(nil, r.typ(0), r.datum(0), r.c.options()), binary)
		}))
		build := stable(fnNulls(pre+"_build_array", ts(Any), t, func(r *row) error {
			b := []byte{'['}
			for k := range r.args {
				if k > 0 {
					b = append(b, ", "...)
				}
				b = appendJSON(b, r.typ(k), r.datum(k), r.c.options())
			}
			return r.finishJSON(append(b, ']'), binary)
		}))
		object := stable(fnNulls(pre+"_build_object", ts(Any), t, func(r *row) error { return buildObject(r, binary) }))
		build.Variadic, object.Variadic = true, true
		build.Optional, object.Optional = 1, 1
		texts := fn(pre+"_object", ts(tTextArray), t, func(r *row) error { return jsonObject(r, binary) })
		texts2 := fn(pre+"_object", ts(tTextArray, tTextArray), t, func(r *row) error { return jsonObject(r, binary) })
		out = append(out, toJSON, build, object, texts, texts2)
	}
	// The flag asks for line feeds between what lies at the top.
	toText := func(r *row) error {
		b := appendJSON(nil, r.typ(0), r.datum(0), r.c.options())
		if len(r.args) > 1 && r.bool(1) {
			b = feedLines(b)
		}
		return r.putB(b)
	}
	for _, f := range []*Func{fn("row_to_json", ts(types.TRecord, tBool), tJSON, toText), fn("array_to_json", ts(AnyArray, tBool), tJSON, toText)} {
		f.Optional = 1
		out = append(out, stable(f))
	}
	return out
}

var errKeyNotScalar = pgerr.New(pgerr.InvalidParameterValue, "key value must be scalar, not array, composite, or json")

// scalarKey tells whether values of a type can name a field of a JSON object.
func scalarKey(t types.T) bool {
	return t.ID != types.Array && t.ID != types.Record && t.ID != types.JSON && t.ID != types.JSONB
}

// feedLines puts a line feed behind every comma of the outermost level.
func feedLines(b []byte) []byte {
	var out []byte
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		c := b[i]
		out = append(out, c)
		switch {
		case quoted && c == '\\':
			i++
			out = append(out, b[i])
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 1:
			out = append(out, "\n "...)
		}
	}
	return out
}

// jsonKey is the text that a value has as a member's name.
func jsonKey(t types.T, v vec.Vector, i int, opt *types.Options) string {
	if b, ok := v.(*vec.Col[bool]); ok {
		return strconv.FormatBool(b.Vals[i])
	}
	if t.ID == types.Timestamp || t.ID == types.Timestamptz {
		b, _ := types.JSONAsText(appendJSON(nil, t, v.Datum(i), opt))
		return string(b)
	}
	return string(appendVecText(nil, t, v, i, opt))
}

func buildObject(r *row, binary bool) error {
	if len(r.args)%2 != 0 {
		return pgerr.New(pgerr.InvalidParameterValue, "argument list must have even number of elements").
			WithHint("The arguments of %s must consist of alternating keys and values.", map[bool]string{false: "json_build_object()", true: "jsonb_build_object()"}[binary])
	}
	b := []byte{'{'}
	for k := 0; k < len(r.args); k += 2 {
		if k > 0 {
			b = append(b, ", "...)
		}
		if r.isNull(k) {
			if binary {
				return pgerr.New(pgerr.InvalidParameterValue, "argument %d: key must not be null", k+1)
			}
			return pgerr.New(pgerr.InvalidParameterValue, "argument %d cannot be null", k+1).
				WithHint("Object keys should be text.")
		}
		if !scalarKey(r.typ(k)) {
			return errKeyNotScalar
		}
		b = types.AppendJSONString(b, jsonKey(r.typ(k), r.args[k], r.i, r.c.options()))
		b = append(b, " : "...)
		b = appendJSON(b, r.typ(k+1), r.datum(k+1), r.c.options())
	}
	return r.finishJSON(append(b, '}'), binary)
}

// jsonObject is json_object of one array of pairs or of two arrays.
func jsonObject(r *row, binary bool) error {
	kv := types.ViewArray(r.b(0))
	vals, step := kv, 2
	n := kv.Len() / 2
	bad := func(msg string) error { return pgerr.New(pgerr.ArraySubscriptError, "%s", msg) }
	if len(r.args) > 1 {
		vals, step, n = types.ViewArray(r.b(1)), 1, kv.Len()
		switch {
		case kv.Dims() > 1 || kv.Dims() != vals.Dims():
			return bad("wrong number of array subscripts")
		case vals.Len() != n:
			return bad("mismatched array dimensions")
		}
	} else {
		switch d := kv.Dims(); {
		case d == 1 && kv.Len()%2 != 0:
			return bad("array must have even number of elements")
		case d == 2 && kv.DimLen(1) != 2:
			return bad("array must have two columns")
		case d > 2:
			return bad("wrong number of array subscripts")
		}
	}
	b := []byte{'{'}
	for i := range n {
		key, null := kv.At(i * step)
		if null {
			return pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for object key")
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(types.AppendJSONString(b, key), " : "...)
		at := i
		if step == 2 {
			at = 2*i + 1
		}
		if v, null := vals.At(at); null {
			b = append(b, "null"...)
		} else {
			b = types.AppendJSONString(b, v)
		}
	}
	return r.finishJSON(append(b, '}'), binary)
}
