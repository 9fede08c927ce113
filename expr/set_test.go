package expr

import (
	"strings"
	"testing"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// expandSet runs a set-returning function over literals and shows its rows.
func expandSet(t *testing.T, name string, args ...Expr) string {
	t.Helper()
	f, err := ResolveFunc(name, typesOf(args))
	if err != nil {
		return show(nil, err)
	}
	e, err := BindCall(f, args)
	if err != nil {
		return show(nil, err)
	}
	call := e.(*Call)
	c := &Ctx{Session: testSession()}
	var in []vec.Vector
	for _, a := range call.Args {
		d, err := EvalConst(c, a)
		if err != nil {
			return show(nil, err)
		}
		in = append(in, vec.Const(a.Type(), d, 1))
	}
	cols := []types.T{call.Typ}
	if f.Cols != nil {
		_, cols = f.Cols(typesOf(call.Args))
	}
	out := vec.NewChunk(cols, 4)
	if err := f.EvalSet(c, out.Cols, in, 0); err != nil {
		return show(nil, err)
	}
	var rows []string
	for i := range out.Cols[0].Len() {
		var vals []string
		for k, v := range out.Cols {
			if v.IsNull(i) {
				vals = append(vals, "NULL")
			} else {
				vals = append(vals, string(types.AppendText(nil, cols[k], v.Datum(i), nil)))
			}
		}
		rows = append(rows, strings.Join(vals, "|"))
	}
	return strings.Join(rows, " ")
}

func TestSetFunctions(t *testing.T) {
	l := func(s, ty string) Expr { return lit(t, s, ty) }
	ints := &Const{Val: types.ArrayDatum([]types.Datum{int32(7), nil, int32(9)}), Typ: types.ArrayOf(types.Int4)}
	for _, k := range []struct {
		name string
		args []Expr
		want string
	}{
		{"generate_series", []Expr{l("1", "int4"), l("3", "int4")}, "1 2 3"},
		{"generate_series", []Expr{l("5", "int4"), l("1", "int4"), l("-2", "int4")}, "5 3 1"},
		{"generate_series", []Expr{l("3", "int4"), l("1", "int4")}, ""},
		{"generate_series", []Expr{l("1", "int4"), l("3", "int4"), l("0", "int4")}, "22023 step size cannot equal zero"},
		{"generate_series", []Expr{l("2147483646", "int4"), l("2147483647", "int4")}, "2147483646 2147483647"},
		{"generate_series", []Expr{l("1", "int4"), l("3", "int8")}, "1 2 3"},
		{"generate_series", []Expr{l("1", "numeric"), l("2", "numeric"), l("0.5", "numeric")}, "1 1.5 2.0"},
		{"generate_series", []Expr{l("2020-01-31", "timestamp"), l("2020-04-01", ""), l("1 month", "")}, "2020-01-31 00:00:00 2020-02-29 00:00:00 2020-03-29 00:00:00"},
		{"unnest", []Expr{ints}, "7 NULL 9"},
		{"generate_subscripts", []Expr{ints, l("1", "int4")}, "1 2 3"},
		{"_pg_expandarray", []Expr{ints}, "7|1 NULL|2 9|3"},
		{"jsonb_each", []Expr{l(`{"a":1,"b":null}`, "jsonb")}, "a|1 b|null"},
		{"jsonb_each_text", []Expr{l(`{"a":"x","b":null}`, "jsonb")}, "a|x b|NULL"},
		{"jsonb_array_elements_text", []Expr{l(`[1,"x",null]`, "jsonb")}, "1 x NULL"},
		{"json_array_elements", []Expr{l(`{"a":1}`, "json")}, "22023 cannot call json_array_elements on a non-array"},
		{"jsonb_object_keys", []Expr{l(`{"b":1,"a":2}`, "jsonb")}, "a b"},
		{"regexp_matches", []Expr{l("foobarbequebazilbarfbonk", "text"), l("(b[^b]+)(b[^b]+)", ""), l("g", "")}, "{bar,beque} {bazil,barf}"},
		{"regexp_split_to_table", []Expr{l("a1b2c", "text"), l(`\d`, "")}, "a b c"},
		{"string_to_table", []Expr{l("x,y", "text"), l(",", "")}, "x y"},
	} {
		if got := expandSet(t, k.name, k.args...); got != k.want {
			t.Errorf("%s: %q, want %q", k.name, got, k.want)
		}
	}
}
