package expr

import (
	"errors"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// extremes are values that break careless arithmetic, by type.
func extremes(t types.T) []string {
	switch t.ID {
	case types.Bool:
		return []string{"t", "f"}
	case types.Int2:
		return []string{"-32768", "-1", "0", "1", "7", "32767"}
	case types.Int4:
		return []string{"-2147483648", "-1", "0", "1", "7", "100", "2147483647"}
	case types.Int8:
		return []string{"-9223372036854775808", "-1", "0", "1", "7", "9223372036854775807"}
	case types.Float4, types.Float8:
		return []string{"-Infinity", "-1.5", "0", "0.3", "1e30", "Infinity", "NaN"}
	case types.Numeric:
		return []string{"-Infinity", "-12345.678", "0", "0.30", "99999999999999999999", "NaN"}
	case types.Date:
		return []string{"-infinity", "4713-11-24 BC", "2000-02-29", "5874897-12-31", "infinity"}
	case types.Timestamp, types.Timestamptz:
		return []string{"-infinity", "4713-11-24 00:00:00 BC", "2000-02-29 12:34:56.789", "294276-12-31 23:59:59", "infinity"}
	case types.Time:
		return []string{"00:00", "12:34:56.789", "24:00"}
	case types.Interval:
		return []string{"0", "-1 day", "178000000 years", "1 mon 2 days 03:04:05", "-2147483648 days"}
	case types.UUID:
		return []string{"00000000-0000-0000-0000-000000000000"}
	case types.Inet:
		return []string{"0.0.0.0/0", "10.1.2.3/8", "255.255.255.255", "::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}
	case types.Cidr:
		return []string{"0/0", "10/8", "255.255.255.255/32", "::/0"}
	case types.Macaddr, types.Macaddr8:
		return []string{"00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"}
	case types.Money:
		return []string{"-92233720368547758.08", "0", "-0.01", "1234.56", "92233720368547758.07"}
	case types.Timetz:
		return []string{"00:00:00+15:59:59", "24:00:00-15:59:59", "12:34:56.789012+02"}
	case types.LSN:
		return []string{"0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"}
	case types.Xid8, types.Xid:
		return []string{"0", "7", "18446744073709551615"}
	case types.Bit, types.Varbit:
		return []string{"", "0", "1", "10110", "000000001", "11111111111111111111111111111111111"}
	case types.JSON, types.JSONB:
		return []string{"null", "1", `"x"`, "[]", `[1,{"a":null}]`, `{"a":{"b":[2]},"c":"d"}`}
	case types.Bytea:
		return []string{`\x`, `\x00ff61`}
	case types.Oid, types.Regclass, types.Regtype, types.Regnamespace, types.Regproc:
		return []string{"0", "23", "4294967295"}
	case types.Array:
		return []string{"{}", "{NULL}"}
	case types.Enum:
		return []string{"sad", "ok"}
	case types.Numrange, types.Int4range, types.Int8range:
		return []string{"empty", "[1,2]", "(,5)", "[3,)", "(,)"}
	case types.Daterange, types.Tsrange, types.Tstzrange:
		return []string{"empty", "[2000-01-01,2000-02-01)", "(,infinity]", "(-infinity,infinity)"}
	case types.Nummultirange:
		return []string{"{}", "{[1,2),[3,4.5]}", "{(,1),(7,)}"}
	case types.Record, types.Void:
		return nil
	case types.JSONPath:
		return []string{"$", "strict $.a", "$[*] ? (@ > 1)", "$.**", "1 / 0", "$.a.type()"}
	}
	return []string{"", "a", "hour", "é%_\\", "1", "America/Denver", "(", "YYYY-MM-DD", "hex", "a.b"}
}

// column makes n random values of t, some NULL.
func column(t *testing.T, r *rand.Rand, ty types.T, n int) vec.Vector {
	v := vec.New(ty, n)
	vals := extremes(ty)
	for range n {
		if len(vals) == 0 || r.IntN(6) == 0 {
			v.AppendNull()
			continue
		}
		d, err := types.ParseText(ty, vals[r.IntN(len(vals))], nil)
		if err != nil {
			t.Fatalf("%s: %v", ty, err)
		}
		v.AppendDatum(d)
	}
	return v
}

// concrete puts a type in for a polymorphic parameter.
func concrete(r *rand.Rand, p types.T) types.T {
	scalars := ts(tI4, tText, tNum, tF8, tTS, tIv)
	switch p {
	case AnyArray, AnyCompatibleArray:
		return types.ArrayOf(types.Int4)
	case AnyElement, AnyNonArray, AnyCompatible:
		return tI4
	case AnyRange:
		return types.T{ID: types.Numrange, Mod: -1}
	case AnyMultirange:
		return types.T{ID: types.Nummultirange, Mod: -1}
	case AnyEnum:
		types.Define(&types.Def{Ref: 1, OID: 90001, ArrayOID: 90002, Schema: "public", Name: "mood",
			Labels: []types.Label{{Code: types.EnumStep, Name: "sad"}, {Code: 2 * types.EnumStep, Name: "ok"}}})
		return types.EnumOf(1)
	case Any:
		return scalars[r.IntN(len(scalars))]
	}
	return p
}

func sortedFuncs() []*Func {
	var all []*Func
	add := func(f *Func) {
		if f.As == nil {
			all = append(all, f)
		}
	}
	VisitFuncs(add)
	VisitOps(add)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// TestMatrix runs every function of the tables over random extreme values with
// NULLs: nothing panics, every failure has a code a user may see, strict
// functions are NULL under NULL arguments, and results have the promised type.
func TestMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, f := range sortedFuncs() {
		if f.Name == "generate_series" || f.Name == "repeat" || f.Name == "array_fill" {
			continue
		}
		var args []types.T
		for _, p := range f.Args {
			args = append(args, concrete(r, p))
		}
		if f.Variadic {
			args = append(args, concrete(r, f.Args[len(f.Args)-1]))
		}
		runMatrix(t, r, f, args)
	}
}

func runMatrix(t *testing.T, r *rand.Rand, f *Func, args []types.T) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s%v panics: %v", f.Name, args, p)
		}
	}()
	const n = 60
	in := &vec.Chunk{Rows: n}
	var refs []Expr
	for i, a := range args {
		in.Cols = append(in.Cols, column(t, r, a, n))
		refs = append(refs, &Col{i, a})
	}
	c := &Ctx{Session: testSession(), Errors: &RowErrors{}}
	if f.Set {
		dst := []vec.Vector{vec.New(tText, 0)}
		if f.Cols != nil {
			dst = nil
			_, cols := f.Cols(args)
			for _, ct := range cols {
				dst = append(dst, vec.New(ct, 0))
			}
		} else {
			dst[0] = vec.New(f.Result(args), 0)
		}
		for i := range n {
			checkUserError(t, f, f.EvalSet(c, dst, in.Cols, i))
		}
		return
	}
	ret := f.Result(args)
	p, err := Compile(&Call{Fn: f, Args: refs, Typ: ret})
	if err != nil {
		t.Errorf("%s: %v", f.Name, err)
		return
	}
	v, err := p.Eval(c, in)
	if err != nil {
		t.Errorf("%s%v: %v", f.Name, args, err)
		return
	}
	if v.Len() != n || v.Type().Kind() != ret.Kind() {
		t.Errorf("%s%v: %d rows of %s, want %s", f.Name, args, v.Len(), v.Type(), ret)
	}
	for i := range v.Len() {
		if !f.NotStrict && anyNull(in.Cols, i) && !v.IsNull(i) {
			t.Errorf("%s%v: not NULL under a NULL argument", f.Name, args)
			break
		}
	}
	for k, e := range c.Errors.Errs {
		if !f.MayFail {
			t.Errorf("%s%v is said not to fail: %v", f.Name, args, e)
			break
		}
		if !f.NotStrict && anyNull(in.Cols, int(c.Errors.Rows[k])) {
			t.Errorf("%s%v fails under a NULL argument", f.Name, args)
		}
		checkUserError(t, f, e)
	}
}

func checkUserError(t *testing.T, f *Func, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Code == pgerr.Internal {
		t.Errorf("%s: not an error for users: %v", f.Name, err)
	}
}

// TestNoAllocation holds that hot kernels, casts and logic allocate nothing once
// warm.
func TestNoAllocation(t *testing.T) {
	in := vec.NewChunk([]types.T{tI4, tI8, tF8, tText}, 1024)
	for i := range 1024 {
		in.AppendRow(1, int32(i), int64(i), float64(i), "some text")
	}
	a, b, f, s := &Col{0, tI4}, &Col{1, tI8}, &Col{2, tF8}, &Col{3, tText}
	op := func(name string, args ...Expr) Expr {
		e, err := NewOp(name, args...)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	str := func(v string) Expr { return &Const{v, tText} }
	lower, _ := NewCall("lower", s)
	for name, e := range map[string]Expr{
		"add":   op("+", a, b),
		"float": op("*", f, f),
		"logic": &And{[]Expr{op(">", a, &Const{int32(10), tI4}), op("<", f, &Const{500.0, tF8}), op("=", lower, str("some text"))}},
		"like":  op("~~", s, str("some%")),
		"case":  &Case{Whens: []When{{op(">", a, &Const{int32(500), tI4}), op("/", b, b)}}, Else: b, Typ: tI8},
		"in":    &In{Arg: a, List: []Expr{&Const{int32(1), tI4}, &Const{int32(2), tI4}}},
	} {
		p, err := Compile(e)
		if err != nil {
			t.Fatal(err)
		}
		c := &Ctx{}
		if n := testing.AllocsPerRun(20, func() {
			if _, err := p.Eval(c, in); err != nil {
				t.Fatal(err)
			}
		}); n > 2 {
			t.Errorf("%s: %v allocations a chunk", name, n)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	in := vec.NewChunk([]types.T{tI8, tI8}, 1024)
	for i := range 1024 {
		in.AppendRow(1, int64(i), int64(i*3))
	}
	x, y := &Col{0, tI8}, &Col{1, tI8}
	for _, op := range []string{"+", "*", "<"} {
		e, _ := NewOp(op, x, y)
		p, _ := Compile(e)
		b.Run(op, func(b *testing.B) {
			c := &Ctx{}
			for range b.N {
				p.Eval(c, in)
			}
		})
	}
}

// TestClientFunctions lists what common clients call while they connect and
// explore a catalog; a call that does not resolve breaks them.
func TestClientFunctions(t *testing.T) {
	for _, name := range []string{
		"format_type", "current_schema", "pg_get_expr", "current_database", "pg_get_indexdef", "version", "pg_get_constraintdef",
		"pg_table_is_visible", "unnest", "pg_type_is_visible", "array_upper", "btrim", "generate_series", "now", "obj_description",
		"pg_get_viewdef", "col_description", "current_setting", "date_trunc", "generate_subscripts", "json_build_object", "lower",
		"pg_encoding_to_char", "pg_get_serial_sequence", "pg_terminate_backend", "quote_ident", "substring", "array_lower",
		"array_to_string", "extract", "format", "_pg_expandarray", "pg_advisory_unlock_all", "pg_collation_is_visible",
		"pg_database_size", "pg_function_is_visible", "pg_get_function_result", "pg_get_functiondef", "pg_get_partkeydef",
		"pg_get_ruledef", "pg_get_userbyid", "pg_tablespace_location", "replace", "timezone", "array_length", "array_remove",
		"concat", "current_role", "current_schemas", "current_timestamp", "current_user", "date_part", "floor",
		"getdatabaseencoding", "has_any_column_privilege", "has_database_privilege", "has_function_privilege",
		"has_schema_privilege", "has_table_privilege", "md5", "parse_ident", "pg_backend_pid", "pg_char_to_encoding",
		"pg_conversion_is_visible", "pg_describe_object", "pg_get_function_arguments", "pg_get_function_sqlbody", "pg_get_keywords",
		"pg_get_statisticsobjdef_columns", "pg_get_triggerdef", "pg_is_in_recovery", "pg_is_other_temp_schema",
		"pg_opclass_is_visible", "pg_operator_is_visible", "pg_opfamily_is_visible", "pg_partition_ancestors", "pg_partition_tree",
		"pg_relation_is_publishable", "pg_relation_size", "pg_size_pretty", "pg_stat_get_numscans", "pg_statistics_obj_is_visible",
		"pg_table_size", "pg_tablespace_size", "pg_total_relation_size", "pg_ts_config_is_visible", "pg_ts_dict_is_visible",
		"pg_ts_parser_is_visible", "pg_ts_template_is_visible", "power", "rtrim", "session_user", "shobj_description", "split_part",
		"string_to_array", "time_bucket", "to_date", "to_timestamp", "ts_token_type", "upper", "user",
	} {
		if !HasFunc(name) {
			t.Errorf("function %s is missing", name)
		}
	}
	for _, name := range []string{"count", "array_agg", "sum", "string_agg", "avg", "bool_and", "max", "min", "percentile_cont"} {
		if !HasAgg(name) {
			t.Errorf("aggregate %s is missing", name)
		}
	}
}

// TestResolution checks choices among overloads against PostgreSQL's.
func TestResolution(t *testing.T) {
	u := types.TUnknown
	for _, k := range []struct {
		op   string
		l, r types.T
		want types.T // type of the first parameter; Invalid: an error
	}{
		{"+", types.TInt2, tI4, tI4},
		{"+", types.TFloat4, tI4, tF8},
		{"+", tI4, u, tI4},
		{"-", tTS, u, tTS},
		{"+", tDate, u, types.T{}},
		{"=", types.TVarchar, u, tText},
		{"=", types.TBpchar, tText, tText},
		{"=", types.TOid, tI4, types.TOid},
		{"=", types.TRegclass, types.TOid, types.TOid},
		{"=", types.TName, tText, tText},
		{"=", types.TChar, u, types.TChar},
		{"=", u, u, tText},
		{"||", u, u, tText},
		{"=", types.TDate, tTSTZ, tTSTZ},
		{"~~", types.TVarchar, u, tText},
		{"*", tIv, tI4, tIv},
		{"->", tJSONB, u, tJSONB},
		{"=", tI4, tText, types.T{}},
	} {
		f, err := ResolveOp(k.op, k.l, k.r)
		switch {
		case err != nil && k.want.ID != types.Invalid:
			t.Errorf("%s %s %s: %v", k.l, k.op, k.r, err)
		case err == nil && f.Args[0] != k.want:
			t.Errorf("%s %s %s takes %s, want %s", k.l, k.op, k.r, f.Args[0], k.want)
		}
	}
}
