package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// A polymorphic function has parameters of types such as anyelement. Each call has an
// instance of the function, with the types of the call in their place, and is replaced
// by the query of that.

// ResolveParamType is ResolveTypeName for the parameters and results of functions,
// which may be polymorphic.
func ResolveParamType(cat *catalog.Snapshot, path []string, n *sql.TypeName) (types.T, error) {
	if n.Dims == 0 && (n.Schema == "" || n.Schema == "pg_catalog") {
		if t, ok := types.PseudoByName(n.Name); ok {
			return t, nil
		}
	}
	return ResolveTypeName(cat, path, n)
}

// paramTypes are the types of a function's parameters.
func paramTypes(fn *catalog.Function) []types.T {
	out := make([]types.T, len(fn.Params))
	for i, p := range fn.Params {
		out[i] = p.Column.Type.Base()
	}
	return out
}

// isPolymorphic reports whether calls settle the types of a function.
func isPolymorphic(fn *catalog.Function) bool {
	return slices.ContainsFunc(paramTypes(fn), types.T.IsPseudo)
}

// checkResultTypes refuses polymorphic results that no parameter settles, and types
// that a function in SQL cannot have.
func checkResultTypes(fn *catalog.Function) error {
	in := paramTypes(fn)
	for _, t := range in {
		if t == types.Any || t.ID == types.Unknown || t.ID == types.Void {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "SQL functions cannot have arguments of type %s", t)
		}
	}
	results := []types.T{fn.Returns.Type.Base()}
	for _, c := range fn.Columns {
		results = append(results, c.Type.Base())
	}
	for _, t := range results {
		if t == types.Any || t.ID == types.Unknown {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "SQL functions cannot return type %s", t)
		}
		if !t.IsPseudo() {
			continue
		}
		from := settledBy(t)
		if !slices.ContainsFunc(in, func(p types.T) bool { return slices.Contains(from, p) }) {
			return pgerr.New(pgerr.InvalidFunctionDefinition, "cannot determine result data type").
				WithDetail("A result of type %s requires at least one input of type %s.", t, listed(from))
		}
	}
	return nil
}

// settledBy are the parameter types one of which a result of type t needs.
func settledBy(t types.T) []types.T {
	switch t {
	case types.AnyRange, types.AnyMultirange:
		return []types.T{types.AnyRange, types.AnyMultirange}
	case types.AnyCompatibleRange, types.AnyCompatibleMultirange:
		return []types.T{types.AnyCompatibleRange, types.AnyCompatibleMultirange}
	case types.AnyCompatible, types.AnyCompatibleArray, types.AnyCompatibleNonArray:
		return []types.T{types.AnyCompatible, types.AnyCompatibleArray, types.AnyCompatibleNonArray, types.AnyCompatibleRange, types.AnyCompatibleMultirange}
	}
	return []types.T{types.AnyElement, types.AnyArray, types.AnyNonArray, types.AnyEnum, types.AnyRange, types.AnyMultirange}
}

// listed is "a or b", "a, b, or c".
func listed(ts []types.T) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.String()
	}
	last := len(names) - 1
	if last == 1 {
		return names[0] + " or " + names[1]
	}
	return strings.Join(names[:last], ", ") + ", or " + names[last]
}

// instance is a polymorphic function with the types of a call whose arguments have
// types in, one a parameter.
func instance(fn *catalog.Function, in []types.T) (*catalog.Function, error) {
	params := paramTypes(fn)
	poly, ok := expr.BindPoly(params, in)
	if !ok {
		return nil, expr.NotAlike(params, in)
	}
	if err := expr.Undetermined(params, in); err != nil {
		return nil, err
	}
	out := *fn
	out.Params, out.Columns = slices.Clone(fn.Params), slices.Clone(fn.Columns)
	var failed error
	settle := func(t *types.T) {
		if !t.IsPseudo() {
			return
		}
		if *t == types.AnyArray || *t == types.AnyCompatibleArray {
			if elem, _ := poly.Of(t.ElementParam()); elem.ID == types.Array && failed == nil {
				failed = pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", elem)
			}
		}
		*t, _ = poly.Of(t.Base()) // a parameter settles each, see checkResultTypes
	}
	for i := range out.Params {
		settle(&out.Params[i].Column.Type)
	}
	for i := range out.Columns {
		settle(&out.Columns[i].Type)
	}
	settle(&out.Returns.Type)
	if t := out.Returns.Type; len(out.Columns) > 0 && t.ID == types.Record && !t.IsComposite() {
		names, ts := make([]string, len(out.Columns)), make([]types.T, len(out.Columns))
		for i, c := range out.Columns {
			names[i], ts[i] = c.Name, c.Type
		}
		out.Returns.Type = rowType(names, ts)
	}
	return &out, failed
}

// standIns are types to try where a polymorphic function's query is bound without a
// call: which names it has does not depend on them but in rare cases.
var standIns = []struct{ elem, ranged types.T }{
	{types.TInt4, types.T{ID: types.Int4range, Mod: -1}},
	{types.TText, types.T{}},
	{types.TNumeric, types.T{ID: types.Numrange, Mod: -1}},
	{types.TTimestamptz, types.T{ID: types.Tstzrange, Mod: -1}},
	{types.TDate, types.T{ID: types.Daterange, Mod: -1}},
	{types.TBool, types.T{}},
	{types.TJSONB, types.T{}},
	{types.TFloat8, types.T{}},
	{types.TUUID, types.T{}},
	{types.TBytea, types.T{}},
	{types.TInterval, types.T{}},
}

// trials are instances of a polymorphic function for each of the types to try; of
// another function, itself.
func (p *Planner) trials(fn *catalog.Function) []*catalog.Function {
	if fn == nil || !isPolymorphic(fn) {
		return []*catalog.Function{fn}
	}
	var out []*catalog.Function
	try := func(elem, ranged types.T) {
		in := paramTypes(fn)
		for i, t := range in {
			switch t {
			case types.AnyArray, types.AnyCompatibleArray:
				in[i] = elem.ArrayType()
			case types.AnyRange, types.AnyCompatibleRange:
				in[i] = ranged
			case types.AnyMultirange, types.AnyCompatibleMultirange:
				if in[i] = ranged; ranged.ID != types.Invalid {
					in[i] = ranged.MultirangeType()
				}
			default:
				if t.IsPseudo() {
					in[i] = elem
				}
			}
		}
		if slices.ContainsFunc(in, func(t types.T) bool { return t.ID == types.Invalid }) {
			return
		}
		if f, err := instance(fn, in); err == nil {
			out = append(out, f)
		}
	}
	for _, s := range standIns {
		try(s.elem, s.ranged)
	}
	for _, t := range catalog.All[*catalog.Type](p.Cat) {
		if u := t.T(); u.ID == types.Enum {
			try(u, types.T{})
			break
		}
	}
	return out
}

// polyDependencies are the objects that a polymorphic function's query names.
func (p *Planner) polyDependencies(q *sql.Select, fn *catalog.Function) ([]uint32, error) {
	var first error
	for _, f := range p.trials(fn) {
		b := p.newBinder(false)
		b.text, b.stream = "", true
		sc, _ := functionScope(f, placeholders(f), nil)
		_, err := b.boundQuery(q, sc, queryMode{order: true})
		if err == nil {
			return b.dependencies(), nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil || !readsRelations(q) {
		return nil, nil // the query is looked at when it is called
	}
	return nil, pgerr.Unsupported("a polymorphic function whose query reads relations and does not fit common types",
		"Cast its arguments to the types that the query needs.").WithDetail("%s", pgerr.From(first).Msg)
}

// readsRelations reports whether a query names relations.
func readsRelations(n sql.Node) bool {
	if _, ok := n.(*sql.TableRef); ok {
		return true
	}
	return slices.ContainsFunc(sql.Children(n), readsRelations)
}

// counted is a query over all rows of q.
func counted(q *sql.Select, name string) *sql.Select {
	rows := &sql.SubqueryTable{Query: q, Alias: &sql.Alias{Name: name}}
	count := &sql.FuncCall{Schema: "pg_catalog", Name: "count", Args: []sql.Arg{{Value: &sql.ColumnRef{Parts: []string{name}}}}}
	return &sql.Select{From: []sql.TableExpr{rows}, Targets: []sql.Target{{Expr: count}}}
}

// nothing is the value of a function that returns void, computed of x.
func (b *binder) nothing(x expr.Expr) (expr.Expr, error) {
	x, err := b.toText(x)
	if err != nil {
		return nil, err
	}
	return expr.Nothing(x), nil
}

// callInstance is the instance of a polymorphic function that a call means.
func (b *binder) callInstance(fn *catalog.Function, args []expr.Expr, e *sql.FuncCall) (*catalog.Function, error) {
	in := make([]types.T, len(args))
	last := len(fn.Params) - 1
	spread := *fn
	spread.Params = nil
	for i, a := range args {
		p := fn.Params[min(i, last)]
		if p.Variadic && !e.Variadic {
			p.Column.Type = p.Column.Type.ElementParam()
		}
		in[i] = a.Type()
		spread.Params = append(spread.Params, p)
	}
	out, err := instance(&spread, in)
	if err != nil {
		return nil, err // it has no position in PostgreSQL either
	}
	if fn.Params[last].Variadic && !e.Variadic {
		elem := out.Params[last].Column.Type
		out.Params = append(out.Params[:last:last], fn.Params[last])
		out.Params[last].Column.Type = elem.Base().ArrayType()
	}
	return out, nil
}
