package catalog

import (
	"slices"
	"sort"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

// function is a row of pg_proc.
type function struct {
	oid        uint32
	name       string
	kind       byte // f, a or w as prokind
	ret        types.T
	args       []types.T
	set        bool
	strict     bool
	volatility expr.Volatility
	optional   int
	variadic   bool
}

// functions returns the functions and aggregates that queries may call, by name.
// Their OIDs are made from their signatures.
func functions() []function {
	var out []function
	expr.VisitFuncs(func(f *expr.Func) {
		out = append(out, function{name: f.Name, kind: 'f', ret: f.Ret, args: f.Args, set: f.Set, strict: !f.NotStrict,
			volatility: f.Volatility, optional: f.Optional, variadic: f.Variadic})
	})
	expr.VisitAggs(func(f *expr.AggFunc) {
		out = append(out, function{name: f.Name, kind: 'a', ret: f.Ret, args: f.Args})
	})
	for i := range out {
		out[i].oid = madeOID("proc "+out[i].signature(), 0, 0)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].signature() < out[j].signature() })
	// Overloads that differ only in what resolution knows are one row.
	n := 0
	for i := range out {
		if i == 0 || out[i].oid != out[n-1].oid {
			out[n] = out[i]
			n++
		}
	}
	return out[:n]
}

func (f *function) signature() string {
	names := make([]string, len(f.args))
	for i, t := range f.args {
		names[i] = typeName(t)
	}
	return f.name + "(" + strings.Join(names, ",") + ")"
}

// typeName is a type's name; a result that depends on the arguments is
// anyelement.
func typeName(t types.T) string {
	if t.ID == types.Invalid {
		return "anyelement"
	}
	return t.String()
}

// procType is the type's OID in pg_proc.
func procType(t types.T) uint32 {
	if t.ID == types.Invalid {
		t = expr.AnyElement
	}
	return t.OID()
}

// udtName is the type's pg_type.typname.
func udtName(t types.T) string {
	if t.ID == types.Invalid {
		return typeName(t)
	}
	return t.TypName()
}

func procDefs() []def {
	return []def{
		{"pg_catalog.pg_proc", "oid proname pronamespace proowner prolang procost prorows provariadic prokind proisstrict proretset " +
			"provolatile proparallel pronargs pronargdefaults prorettype proargtypes prosrc proallargtypes proargmodes proargnames prosecdef proacl", fillProc},
		{"pg_catalog.pg_aggregate", "aggfnoid aggkind aggnumdirectargs aggfinalmodify aggmfinalmodify", func(_ *Context, r *rows) {
			for _, f := range functions() {
				if f.kind == 'a' {
					r.add(f.oid, "n", 0, "r", "r")
				}
			}
		}},
		{"information_schema.routines", "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name " +
			"routine_type data_type type_udt_catalog type_udt_schema type_udt_name routine_body external_language is_deterministic " +
			"sql_data_access is_null_call security_type", fillRoutines},
		{"information_schema.parameters", "specific_catalog specific_schema specific_name ordinal_position parameter_mode is_result " +
			"as_locator data_type udt_catalog udt_schema udt_name dtd_identifier", fillParameters},
	}
}

func fillProc(c *Context, r *rows) {
	for _, f := range dataLines("iofuncs", " ") {
		var args []int64
		for _, a := range f[5:] {
			if a != "" {
				args = append(args, int64(atoi(a)))
			}
		}
		r.add(atoi(f[0]), f[1], 11, 10, 12, 1, 0, 0, "f", f[4] == "t", false, f[3], "s", len(args), 0, atoi(f[2]), vector(args...), f[1],
			nil, nil, nil, false, nil)
	}
	for _, f := range functions() {
		args := make([]int64, len(f.args))
		for i, t := range f.args {
			args[i] = int64(procType(t))
		}
		rows, variadic := 0, uint32(0)
		if f.set {
			rows = 1000
		}
		if f.variadic && len(f.args) > 0 {
			variadic = procType(f.args[len(f.args)-1])
		}
		r.add(f.oid, f.name, 11, 10, 12, 1, rows, variadic, f.kind, f.strict, f.set,
			[]byte{'i', 's', 'v'}[f.volatility], "s", len(args), f.optional, procType(f.ret), vector(args...), f.name,
			nil, nil, nil, false, nil)
	}
	for _, f := range All[*Function](c.Snapshot) {
		fillUserProc(c, r, f)
	}
}

// fillUserProc is the row of a function of CREATE FUNCTION.
func fillUserProc(c *Context, r *rows, f *Function) {
	args := make([]int64, len(f.Params))
	var all, modes, names []types.Datum
	variadic, optional, setRows := uint32(0), 0, 0
	add := func(mode string, col Column) {
		all, modes, names = append(all, int64(col.Type.OID())), append(modes, types.Datum(mode)), append(names, types.Datum(col.Name))
	}
	for i, p := range f.Params {
		args[i] = int64(p.Column.Type.OID())
		mode := "i"
		if p.Out {
			mode = "b"
		}
		if p.Variadic {
			mode, variadic = "v", p.Column.Type.ElemType().OID()
		}
		if p.Column.Default != "" {
			optional++
		}
		add(mode, p.Column)
	}
	outs := f.Columns
	mode := "t"
	if !f.Table {
		outs, mode = f.outOnly(), "o"
	}
	for _, col := range outs {
		add(mode, col)
	}
	if f.Set {
		setRows = 1000
	}
	if len(outs) == 0 { // then proargtypes says it all
		all = nil
		if !slices.ContainsFunc(f.Params, func(p Param) bool { return p.Out || p.Variadic }) {
			modes = nil
		}
		if !slices.ContainsFunc(f.Params, func(p Param) bool { return p.Column.Name != "" }) {
			names = nil
		}
	}
	array := func(ds []types.Datum) any {
		if ds == nil {
			return nil
		}
		return types.ArrayDatum(ds)
	}
	r.add(f.OID, f.Name, c.Snapshot.Schema(f.Schema).OID, f.Owner, 14, 100, setRows, variadic, "f", f.Strict, f.Set, f.Volatility, "u", len(args), optional,
		f.Returns.Type.Base().OID(), vector(args...), f.Body, array(all), array(modes), array(names), f.Definer, aclOf(c.Snapshot, f.ACL))
}

func specificName(f *function) string {
	return f.name + "_" + oidText(f.oid)
}

func fillRoutines(c *Context, r *rows) {
	db := database(c)
	for _, f := range functions() {
		kind := any("FUNCTION")
		if f.kind == 'a' {
			kind = nil
		}
		r.add(db, "pg_catalog", specificName(&f), db, "pg_catalog", f.name, kind, typeName(f.ret), db, "pg_catalog",
			udtName(f.ret), "EXTERNAL", "INTERNAL", yesNo(f.volatility == expr.Immutable), "MODIFIES", yesNo(f.strict), "INVOKER")
	}
}

func fillParameters(c *Context, r *rows) {
	db := database(c)
	for _, f := range functions() {
		for i, t := range f.args {
			r.add(db, "pg_catalog", specificName(&f), i+1, "IN", "NO", "NO", dataType(t), db, "pg_catalog", udtName(t), oidText(uint32(i+1)))
		}
	}
}
