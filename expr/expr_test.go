package expr

import (
	"strings"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// lit makes a typed constant from text, as 'text'::type does; typ "" leaves it
// an untyped literal and text NULL makes a NULL.
func lit(t *testing.T, text, typ string) Expr {
	t.Helper()
	if typ == "" {
		return &Const{Val: text, Typ: types.TUnknown}
	}
	name, isArray := strings.CutSuffix(typ, "[]")
	ty, ok := types.ByName(name)
	if isArray {
		ty = types.ArrayOf(ty.ID)
	}
	if !ok {
		t.Fatalf("type %s", typ)
	}
	if text == "NULL" {
		return &Const{Typ: ty}
	}
	d, err := types.ParseText(ty, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Const{Val: d, Typ: ty}
}

// show evaluates e and returns the text form; errors show as their code and
// message.
func show(e Expr, err error) string {
	if err == nil {
		var d types.Datum
		c := &Ctx{Session: testSession()}
		if d, err = EvalConst(c, e); err == nil {
			if d == nil {
				return "NULL"
			}
			return string(types.AppendText(nil, e.Type(), d, c.options()))
		}
	}
	p := pgerr.From(err)
	return string(p.Code) + " " + p.Msg
}

func testSession() *Session {
	s := &Session{User: "alice", Database: "db", SearchPath: []string{"public"}}
	s.Options.Name = func(_ types.T, oid int64) (string, bool) { return TypeName(nil, uint32(oid)) }
	s.Options.Resolve = func(_ types.T, name string) (int64, error) {
		elem, array := strings.CutSuffix(name, "[]")
		x, ok := types.ByName(elem)
		if array {
			x = x.ArrayType()
		}
		if !ok {
			return 0, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name)
		}
		return int64(x.OID()), nil
	}
	return s
}

type sample struct {
	op   string // an operator symbol, or a function name
	args []string
	want string
}

func runSamples(t *testing.T, list []sample) {
	t.Helper()
	for _, s := range list {
		var args []Expr
		for i := 0; i < len(s.args); i += 2 {
			args = append(args, lit(t, s.args[i], s.args[i+1]))
		}
		call := NewCall
		if len(tables().ops[s.op]) > 0 {
			call = NewOp
		}
		e, err := call(s.op, args...)
		if got := show(e, err); got != s.want {
			t.Errorf("%s%q = %q, want %q", s.op, s.args, got, s.want)
		}
	}
}

func TestScalars(t *testing.T) {
	runSamples(t, []sample{
		{"+", []string{"1", "int4", "2", "int4"}, "3"},
		{"+", []string{"2147483647", "int4", "1", "int4"}, "22003 integer out of range"},
		{"+", []string{"1", "int2", "2", "int8"}, "3"},
		{"+", []string{"1.50", "numeric", "2", "int4"}, "3.50"},
		{"+", []string{"1", "int4", "2", ""}, "3"},
		{"+", []string{"1", "int4", "x", ""}, `22P02 invalid input syntax for type integer: "x"`},
		{"/", []string{"7", "int4", "-2", "int4"}, "-3"},
		{"/", []string{"7", "int4", "0", "int4"}, "22012 division by zero"},
		{"/", []string{"-9223372036854775808", "int8", "-1", "int8"}, "22003 bigint out of range"},
		{"/", []string{"1", "numeric", "3", "numeric"}, "0.33333333333333333333"},
		{"/", []string{"1", "float8", "0", "float8"}, "22012 division by zero"},
		{"*", []string{"1e200", "float8", "1e200", "float8"}, "22003 value out of range: overflow"},
		{"*", []string{"3037000500", "int8", "3037000500", "int8"}, "22003 bigint out of range"},
		{"-", []string{"-32768", "int2"}, "22003 smallint out of range"},
		{"=", []string{"1.0", "numeric", "1.00", "numeric"}, "t"},
		{"=", []string{"ab ", "bpchar", "ab", "text"}, "t"},
		{"=", []string{"NaN", "float8", "NaN", "float8"}, "t"},
		{">", []string{"NaN", "float8", "Infinity", "float8"}, "t"},
		{"=", []string{"1 day", "interval", "24:00:00", "interval"}, "t"},
		{"=", []string{"1", "int4", "1", "text"}, "42883 operator does not exist: integer = text"},
		{"nosuch", []string{"1", "int4", "x", "text"}, "42883 function nosuch(integer, text) does not exist"},
		{"||", []string{"a", "text", "1", "int4"}, "a1"},
		{"||", []string{"a", "", "b", ""}, "ab"},
		{"length", []string{"héllo", ""}, "5"},
		{"substr", []string{"hello", "text", "0", "int4", "3", "int4"}, "he"},
		{"substring", []string{"hello", "text", "2", "int4"}, "ello"},
		{"split_part", []string{"a,b,c", "text", ",", "", "-1", "int4"}, "c"},
		{"lpad", []string{"hi", "text", "5", "int4", "xy", "text"}, "xyxhi"},
		{"initcap", []string{"hi THOMAS o'neil", "text"}, "Hi Thomas O'Neil"},
		{"concat_ws", []string{",", "text", "a", "text", "NULL", "int4", "3", "int4"}, "a,3"},
		{"format", []string{"%s %I %L|%5s|%-5s|", "text", "a", "text", "B c", "text", "it's", "text", "x", "text", "y", "text"}, `a "B c" 'it''s'|    x|y    |`},
		{"md5", []string{"abc", ""}, "900150983cd24fb0d6963f7d28e17f72"},
	})
}

func TestLazyBranches(t *testing.T) {
	in := vec.NewChunk([]types.T{types.TInt4, types.TInt4}, 4)
	for _, r := range [][2]int32{{10, 2}, {7, 0}, {9, 3}, {1, 0}} {
		in.AppendRow(1, r[0], r[1])
	}
	a, b := &Col{0, types.TInt4}, &Col{1, types.TInt4}
	zero := &Const{int32(0), types.TInt4}
	div, err := NewOp("/", a, b)
	if err != nil {
		t.Fatal(err)
	}
	isZero, _ := NewOp("=", b, zero)
	big, _ := NewOp(">", div, &Const{int32(3), types.TInt4})
	p, err := Compile(&Case{Whens: []When{{isZero, &Const{int32(-1), types.TInt4}}}, Else: div, Typ: types.TInt4})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Eval(&Ctx{}, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int32{5, -1, 3, -1} {
		if v.Datum(i) != want {
			t.Errorf("row %d: %v, want %d", i, v.Datum(i), want)
		}
	}
	p, _ = Compile(&And{Args: []Expr{&Not{isZero}, big}})
	sel, err := p.Filter(&Ctx{}, in, nil)
	if err != nil || len(sel) != 1 || sel[0] != 0 {
		t.Errorf("filter: %v %v", sel, err)
	}
	// With a collector the failing rows are named by their number in the chunk.
	p, _ = Compile(&Case{Whens: []When{{&Not{&Distinct{a, &Const{int32(1), types.TInt4}, true}}, div}}, Typ: types.TInt4})
	c := &Ctx{Errors: &RowErrors{}}
	v, err = p.Eval(c, in)
	if err != nil || len(c.Errors.Rows) != 1 || c.Errors.Rows[0] != 1 || v.Datum(0) != int32(5) || v.Datum(1) != nil || v.Datum(2) != int32(3) {
		t.Errorf("collector: %v %v", c.Errors, err)
	}
}

func TestPatterns(t *testing.T) {
	runSamples(t, []sample{
		{"~~", []string{"hello", "text", "h%o", ""}, "t"},
		{"~~", []string{"hello", "text", "h_llo", ""}, "t"},
		{"~~", []string{"h%llo", "text", `h\%llo`, ""}, "t"},
		{"~~*", []string{"HELLO", "text", "%ell%", ""}, "t"},
		{"~", []string{"foobar", "text", "^foo", ""}, "t"},
		{"~", []string{"foo\nbar", "text", "foo.bar", ""}, "t"},
		{"~", []string{"a word here", "text", `\mword\M`, ""}, "t"},
		{"~", []string{"abab", "text", `(ab)\1`, ""}, "t"},
		{"regexp_replace", []string{"foobarbaz", "text", "b..", "", "X", ""}, "fooXbaz"},
		{"regexp_replace", []string{"foobarbaz", "text", "b(..)", "", `X\1Y`, "", "g", ""}, "fooXarYXazY"},
		{"regexp_match", []string{"foobarbequebaz", "text", "(bar)(beque)", ""}, "{bar,beque}"},
		{"regexp_split_to_array", []string{"hello world", "text", `\s+`, ""}, "{hello,world}"},
		{"substring", []string{"foobar", "text", "o(.)b", ""}, "o"},
		{"power", []string{"2", "numeric", "10", "numeric"}, "1024.0000000000000000"},
		{"power", []string{"2", "int4", "10", "int4"}, "1024"},
		{"sqrt", []string{"2", "numeric"}, "1.414213562373095"},
		{"exp", []string{"1", "numeric"}, "2.7182818284590452"},
		{"ln", []string{"2", "numeric"}, "0.6931471805599453"},
		{"ln", []string{"10", "numeric"}, "2.3025850929940457"},
		{"log", []string{"100", "numeric"}, "2.0000000000000000"},
		{"log", []string{"2", "numeric", "64", "numeric"}, "6.0000000000000000"},
		{"round", []string{"1234.5678", "numeric", "-2", "int4"}, "1200"},
		{"round", []string{"2.5", "numeric"}, "3"},
		{"round", []string{"2.5", "float8"}, "2"},
		{"gcd", []string{"1071", "int4", "462", "int4"}, "21"},
		{"mod", []string{"-7", "int4", "3", "int4"}, "-1"},
		{"width_bucket", []string{"5.35", "float8", "0.024", "float8", "10.06", "float8", "5", "int4"}, "3"},
	})
}

func TestNamedRowToJSON(t *testing.T) {
	row := NewRow([]Expr{lit(t, "1", "int4"), lit(t, "x", "text"), lit(t, "NULL", "text")}, []string{"a", "b", "c"})
	for name, want := range map[string]string{"row_to_json": `{"a":1,"b":"x","c":null}`, "to_jsonb": `{"a": 1, "b": "x", "c": null}`} {
		if got := show(NewCall(name, row)); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func TestCoerce(t *testing.T) {
	lit := func(s string) Expr { return &Const{Val: s, Typ: types.TUnknown} }
	for _, k := range []struct {
		in   Expr
		to   types.T
		ctx  CastContext
		want string
	}{
		{lit("12"), types.TInt4, Implicit, "12"},
		{lit("x"), types.TInt4, Implicit, `22P02 invalid input syntax for type integer: "x"`},
		{lit("2020-02-30"), types.TDate, Implicit, `22008 date/time field value out of range: "2020-02-30"`},
		{lit("2020-01-01 00:00:00+02"), types.TTimestamptz, Implicit, "2019-12-31 22:00:00+00"},
		{lit("abcdef"), types.T{ID: types.Varchar, Mod: 7}, Explicit, "abc"},
		{lit("abcdef"), types.T{ID: types.Varchar, Mod: 7}, Assignment, "22001 value too long for type character varying(3)"},
		{&Const{Val: int64(1 << 40), Typ: types.TInt8}, types.TInt4, Assignment, "22003 integer out of range"},
		{&Const{Val: int64(5), Typ: types.TInt8}, types.TInt4, Implicit, "42846 cannot cast type bigint to integer"},
		{&Const{Val: 2.5, Typ: types.TFloat8}, types.TInt4, Explicit, "2"},
		{&Const{Val: 1e30, Typ: types.TFloat8}, types.TInt8, Explicit, "22003 bigint out of range"},
		{&Const{Val: true, Typ: types.TBool}, types.TText, Explicit, "true"},
		{&Const{Val: "ab  ", Typ: types.TBpchar}, types.TText, Implicit, "ab"},
		{&Const{Val: int32(7), Typ: types.TInt4}, types.NumericOf(5, 2), Assignment, "7.00"},
		{&Const{Val: true, Typ: types.TBool}, types.TDate, Explicit, "42846 cannot cast type boolean to date"},
	} {
		e, err := Coerce(k.in, k.to, k.ctx)
		if got := show(e, err); got != k.want {
			t.Errorf("%v to %s: %s, want %s", k.in, k.to, got, k.want)
		}
	}
}

func TestCommonType(t *testing.T) {
	for _, k := range []struct {
		in   []types.T
		want string
	}{
		{[]types.T{types.TUnknown, types.TUnknown}, "text"},
		{[]types.T{types.TInt4, types.TUnknown, types.TNumeric}, "numeric"},
		{[]types.T{types.TInt8, types.TFloat4}, "real"},
		{[]types.T{types.TVarchar, types.TText}, "character varying"},
		{[]types.T{types.TDate, types.TTimestamptz}, "timestamp with time zone"},
		{[]types.T{types.TInt4, types.TText}, "42804 UNION types integer and text cannot be matched"},
	} {
		ty, err := CommonType(k.in)
		got := ty.String()
		if err != nil {
			e := pgerr.From(err)
			got = string(e.Code) + " " + e.Msg
		}
		if got != k.want {
			t.Errorf("%v: %s, want %s", k.in, got, k.want)
		}
	}
}

func TestRegTypes(t *testing.T) {
	c := &Ctx{Session: testSession()}
	for in, want := range map[string]string{"int4": "integer", "text[]": "text[]", "character varying": "character varying", "1043": "character varying"} {
		e, err := Coerce(&Const{Val: in, Typ: types.TUnknown}, types.TRegtype, Explicit)
		if err != nil {
			t.Fatal(err)
		}
		d, err := EvalConst(c, e)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(types.AppendText(nil, types.TRegtype, d, c.options())); got != want {
			t.Errorf("%s::regtype = %s, want %s", in, got, want)
		}
	}
	if got := show(NewCall("pg_typeof", lit(t, "1", "numeric"))); got != "numeric" {
		t.Errorf("pg_typeof: %s", got)
	}
}
