package expr

import (
	"bytes"
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
	return out
}

// WithColumns is a function that needs a column definition list with one.
func WithColumns(f *Func, names []string, cols []types.T) *Func {
	g := *f
	g.NeedsColumns, g.Volatility = false, Stable // reading text may depend on the session
	g.Cols = func([]types.T) ([]string, []types.T) { return names, cols }
	many := strings.HasSuffix(f.Name, "set")
	g.EvalSet = func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
		b := args[0].(*vec.Bytes).At(i)
		if !many {
			if firstByte(b) != '{' {
				what := "a scalar"
				if firstByte(b) == '[' {
					what = "an array"
				}
				return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", f.Name, what)
			}
			return appendJSONRow(c, dst, names, cols, b)
		}
		if firstByte(b) != '[' {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot call %s on %s", f.Name, jsonShape(b, "a non-array"))
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
		d, err := fromJSON(v, cols[k], name, c.options())
		if err != nil {
			return err
		}
		dst[k].AppendDatum(d)
	}
	return nil
}

// fromJSON makes a value of type t of a JSON value: arrays of arrays, everything
// else by its text.
func fromJSON(v []byte, t types.T, key string, opt *types.Options) (types.Datum, error) {
	v = bytes.TrimSpace(v)
	first := firstByte(v)
	switch {
	case t.ID == types.JSON:
		return string(v), nil
	case t.ID == types.JSONB:
		b, err := types.AppendJSONB(nil, string(v))
		return string(b), err
	case first == 'n':
		return nil, nil
	case t.ID == types.Array && first == '[':
		return arrayFromJSON(v, t, key, opt)
	case t.ID == types.Array && first != '"':
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected JSON array").
			WithHint("See the value of key \"%s\".", key)
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

func arrayFromJSON(v []byte, t types.T, key string, opt *types.Options) (types.Datum, error) {
	var ds []types.Datum
	var err error
	nested := false
	types.JSONArrayEach(v, func(e []byte) bool {
		var d types.Datum
		if firstByte(e) == '[' && t.ElemType().ID != types.JSON && t.ElemType().ID != types.JSONB {
			nested = true
			d, err = arrayFromJSON(e, t, key, opt)
		} else {
			d, err = fromJSON(e, t.ElemType(), key, opt)
		}
		ds = append(ds, d)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if nested {
		return stackArrays(t, ds)
	}
	return makeArray(t, ds)
}
