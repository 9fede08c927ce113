package expr

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// jsonRecordFuncs make rows of JSON objects. Their columns come from the
// column definition list of the call.
func jsonRecordFuncs() []*Func {
	var out []*Func
	for _, t := range ts(tJSON, tJSONB) {
		for _, suffix := range []string{"_to_record", "_to_recordset"} {
			name := t.TypName() + suffix
			out = append(out, &Func{Name: name, Args: ts(t), Ret: types.TRecord, Set: true, MayFail: true, NeedsColumns: true,
				Params: []string{"from_json"},
				EvalSet: func(*Ctx, []vec.Vector, []vec.Vector, int) error {
					return pgerr.New(pgerr.FeatureNotSupported, "function returning record called in context that cannot accept type record").
						WithHint("Try calling the function in the FROM clause using a column definition list.")
				}})
		}
	}
	return append(out, populateFuncs()...)
}

// populateFuncs fill rows of the type of their first argument from JSON objects.
func populateFuncs() []*Func {
	var out []*Func
	for _, t := range ts(tJSON, tJSONB) {
		name := t.TypName() + "_populate_record"
		args := ts(AnyElement, t)
		one := fnNulls(name, args, types.T{}, func(r *row) error {
			if r.typ(0).ID != types.Record {
				return NotRow(name)
			}
			if r.isNull(1) {
				if r.isNull(0) {
					return r.null()
				}
				return r.putB(r.b(0))
			}
			if err := jsonChars(t, r.args[1], r.i); err != nil {
				return err
			}
			var base []byte
			if !r.isNull(0) {
				base = r.b(0)
			}
			rec, err := populate(r.b(1), base, r.typ(0), r.c.options())
			if err != nil {
				return err
			}
			return r.putS(rec)
		})
		one.RetFn = elemOfRow
		many := &Func{Name: name + "set", Args: args, Ret: types.TRecord, Set: true, MayFail: true, NotStrict: true,
			Cols: func(in []types.T) ([]string, []types.T) {
				var names []string
				var ts []types.T
				for _, f := range in[0].Fields() {
					names, ts = append(names, f.Name), append(ts, f.Typ)
				}
				return names, ts
			},
			EvalSet: func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
				if args[0].Type().ID != types.Record {
					return NotRow(name + "set")
				}
				if args[1].IsNull(i) {
					return nil
				}
				if err := jsonChars(t, args[1], i); err != nil {
					return err
				}
				return populateSet(c, name+"set", dst, args, i)
			}}
		for _, f := range []*Func{one, many} {
			f.Params = []string{"base", "from_json"}
			out = append(out, stable(f))
		}
	}
	return out
}

// elemOfRow is the type of the first argument.
func elemOfRow(args []types.T) types.T { return args[0].Base() }

// NotRow is the error of a first argument of another type than a row's.
func NotRow(name string) error {
	return pgerr.New(pgerr.DatatypeMismatch, "first argument of %s must be a row type", name)
}

// NeedsRow reports whether f fills rows of its first argument's type.
func (f *Func) NeedsRow() bool { return strings.Contains(f.Name, "_populate_record") }

func populateSet(c *Ctx, name string, dst, args []vec.Vector, i int) error {
	b := args[1].(*vec.Bytes).At(i)
	if firstByte(b) != '[' {
		return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", name, notArray(name, b))
	}
	var base []byte
	if !args[0].IsNull(i) {
		base = args[0].(*vec.Bytes).At(i)
	}
	var err error
	types.JSONArrayEach(b, func(v []byte) bool {
		if firstByte(v) != '{' {
			err = pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", name)
			return false
		}
		var ds []types.Datum
		if ds, err = populateFields(v, base, args[0].Type(), c.options()); err != nil {
			return false
		}
		for k, d := range ds {
			dst[k].AppendDatum(d)
		}
		return true
	})
	return err
}

// populate makes a record of type t of an object; base, if not nil, is a record
// that has the fields the object lacks.
func populate(obj, base []byte, t types.T, opt *types.Options) (string, error) {
	if firstByte(obj) != '{' {
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_composite on %s", jsonShape(obj, "an array"))
	}
	ds, err := populateFields(obj, base, t, opt)
	if err != nil {
		return "", err
	}
	return recordOf(t, ds), nil
}

func recordOf(t types.T, ds []types.Datum) string {
	fs := t.Fields()
	ts := make([]types.T, len(fs))
	for i, f := range fs {
		ts[i] = f.Typ
	}
	return string(types.AppendRecord(nil, ts, ds))
}

func populateFields(obj, base []byte, t types.T, opt *types.Options) ([]types.Datum, error) {
	fs := t.Fields()
	ds := make([]types.Datum, len(fs))
	v := types.ViewRecord(base)
	for i, f := range fs {
		var own []byte // what base has
		null := true
		if i < v.Len() {
			own, null = v.At(i)
		}
		val, ok := types.JSONField(obj, f.Name)
		if !ok {
			if !null {
				ds[i] = types.ElemDatum(f.Typ.Kind(), own)
			}
			continue
		}
		if null || f.Typ.ID != types.Record {
			own = nil
		}
		var err error
		if ds[i], err = fromJSON(val, f.Typ, f.Name, own, opt); err != nil {
			return nil, err
		}
	}
	return ds, nil
}

// notArray says what b, of json or jsonb, is instead of an array.
func notArray(name string, b []byte) string {
	if strings.HasPrefix(name, "jsonb") {
		return "a non-array"
	}
	return jsonShape(b, "an object")
}

// WithColumns is a function that needs a column definition list with one.
func WithColumns(f *Func, names []string, cols []types.T) *Func {
	g := *f
	g.NeedsColumns, g.Volatility = false, Stable // reading text may depend on the session
	g.Cols = func([]types.T) ([]string, []types.T) { return names, cols }
	many := strings.HasSuffix(f.Name, "set")
	g.EvalSet = func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
		if err := jsonChars(f.Args[0], args[0], i); err != nil {
			return err
		}
		b := args[0].(*vec.Bytes).At(i)
		if !many {
			if firstByte(b) != '{' {
				return pgerr.New(pgerr.InvalidParameterValue, "cannot call populate_composite on %s", jsonShape(b, "an array"))
			}
			return appendJSONRow(c, dst, names, cols, b)
		}
		if firstByte(b) != '[' {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", f.Name, notArray(f.Name, b))
		}
		var err error
		types.JSONArrayEach(b, func(v []byte) bool {
			if firstByte(v) != '{' {
				err = pgerr.New(pgerr.InvalidParameterValue, "argument of %s must be an array of objects", f.Name)
				return false
			}
			err = appendJSONRow(c, dst, names, cols, v)
			return err == nil
		})
		return err
	}
	return &g
}

// appendJSONRow appends the members of an object to the columns of their names.
func appendJSONRow(c *Ctx, dst []vec.Vector, names []string, cols []types.T, obj []byte) error {
	for k, name := range names {
		v, ok := types.JSONField(obj, name)
		if !ok {
			dst[k].AppendNull()
			continue
		}
		d, err := fromJSON(v, cols[k], name, nil, c.options())
		if err != nil {
			return err
		}
		dst[k].AppendDatum(d)
	}
	return nil
}

// fromJSON makes a value of type t of a JSON value: arrays of arrays, rows of objects,
// everything else by its text. A row keeps the fields of base that the object lacks.
func fromJSON(v []byte, t types.T, key string, base []byte, opt *types.Options) (types.Datum, error) {
	v = bytes.TrimSpace(v)
	first := firstByte(v)
	switch {
	case first == 'n':
		return nil, nil
	case t.ID == types.JSON:
		return string(v), nil
	case t.ID == types.JSONB:
		b, err := types.AppendJSONB(nil, string(v))
		return string(b), err
	case t.ID == types.Array && first == '[':
		return arrayFromJSON(v, t, key, opt)
	case t.ID == types.Array && first != '"':
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array").
			WithHint("See the value of key \"%s\".", key)
	case t.ID == types.Record && first != '"':
		return populate(v, base, t, opt)
	}
	text := string(v)
	if first == '"' {
		b, _ := types.JSONAsText(v)
		text = string(b)
	}
	d, err := types.ParseText(t.Base(), text, opt)
	if err != nil || t.Mod < 0 {
		return d, err
	}
	return castDatum(d, t.Base(), t, false, opt)
}

// jsonArray collects the elements of nested JSON arrays. How many dimensions there
// are is known at the first value that is no array, or at the first end of one.
type jsonArray struct {
	t           types.T
	key         string
	opt         *types.Options
	dims        int   // 0: not known yet
	sizes, read []int // by dimension: the length of arrays, -1 before the first has ended, and of the current one
	elems       types.ArrayBuilder
	n           int
}

func arrayFromJSON(v []byte, t types.T, key string, opt *types.Options) (types.Datum, error) {
	a := jsonArray{t: t, key: key, opt: opt}
	if err := a.add(v, 0); err != nil {
		return nil, err
	}
	if a.n == 0 || a.dims == 1 {
		return string(a.elems.Append(nil)), nil
	}
	dims := make([]int32, 0, 2*a.dims)
	for _, n := range a.sizes[:a.dims] {
		dims = append(dims, int32(n), 1)
	}
	return string(shaped(dims, &a.elems)), nil
}

// add reads an array of dimension d.
func (a *jsonArray) add(v []byte, d int) (err error) {
	if d == len(a.sizes) {
		a.sizes, a.read = append(a.sizes, -1), append(a.read, 0)
	}
	types.JSONArrayEach(v, func(e []byte) bool {
		deeper := firstByte(bytes.TrimSpace(e)) == '['
		if a.dims == 0 && !deeper {
			a.dims = d + 1
		}
		switch {
		case a.dims == d+1:
			var x types.Datum
			if x, err = fromJSON(e, a.t.ElemType(), a.key, nil, a.opt); err == nil {
				a.elems.AddDatum(x)
				a.n++
				a.read[d]++
			}
		case !deeper:
			err = a.notArray(d)
		default:
			err = a.add(e, d+1)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if a.dims == 0 {
		a.dims = d + 1
	}
	if a.sizes[d] >= 0 && a.sizes[d] != a.read[d] {
		return pgerr.New(pgerr.InvalidTextRepresentation, "malformed JSON array").
			WithDetail("Multidimensional arrays must have sub-arrays with matching dimensions.")
	}
	a.sizes[d], a.read[d] = a.read[d], 0
	if d > 0 {
		a.read[d-1]++
	}
	return nil
}

// notArray is the error of a value where an array of dimension d+1 should be.
func (a *jsonArray) notArray(d int) error {
	var at strings.Builder
	for _, i := range a.read[:d+1] {
		fmt.Fprintf(&at, "[%d]", i)
	}
	return pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array").
		WithHint("See the array element %s of key \"%s\".", at.String(), a.key)
}
