package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// Function is a function in SQL. Query is the text of the query it is made of,
// pinned like a view's, in which $1, $2, … and the parameters' names stand for the
// arguments; Body is the text as written in AS, empty for RETURN and BEGIN ATOMIC.
type Function struct {
	Head
	Params     []Param  `json:"params,omitempty"`
	Returns    Column   `json:"returns"` // its type; the fields of a row are Columns
	Columns    []Column `json:"columns,omitempty"`
	Set        bool     `json:"set,omitempty"`
	Table      bool     `json:"table,omitempty"` // RETURNS TABLE
	Strict     bool     `json:"strict,omitempty"`
	Definer    bool     `json:"definer,omitempty"`    // SECURITY DEFINER: reads with its owner's privileges
	Volatility string   `json:"volatility,omitempty"` // i, s or v
	Query      string   `json:"query"`
	Body       string   `json:"body,omitempty"`
	Definition string   `json:"definition"`
	DependsOn  []uint32 `json:"depends_on,omitempty"`
	SearchPath []string `json:"search_path,omitempty"`
}

// Param is a parameter that calls give an argument for; Column has its name and
// type, and its default as SQL text. Variadic: the type is an array, and calls may
// give its elements.
type Param struct {
	Column   Column `json:"column"`
	Out      bool   `json:"out,omitempty"` // INOUT: a column of the result too
	Variadic bool   `json:"variadic,omitempty"`
}

// Kind returns KindFunction.
func (*Function) Kind() Kind { return KindFunction }

// Dependencies returns what the query reads and the types of parameters and result
// that users made.
func (f *Function) Dependencies() []uint32 {
	out := slices.Clone(f.DependsOn)
	cols := append([]Column{f.Returns}, f.Columns...)
	for _, p := range f.Params {
		cols = append(cols, p.Column)
	}
	for _, oid := range typeOIDs(cols) {
		if !slices.Contains(out, oid) {
			out = append(out, oid)
		}
	}
	return out
}

// Signature is the function's name with the types of its parameters, which
// together are unique in a schema.
func (f *Function) Signature() string { return FunctionSignature(f.Name, f.ParamTypes()) }

// ParamTypes are the types of the parameters.
func (f *Function) ParamTypes() []types.T {
	ts := make([]types.T, len(f.Params))
	for i, p := range f.Params {
		ts[i] = p.Column.Type
	}
	return ts
}

// FunctionSignature is a function's name with the types of its parameters.
func FunctionSignature(name string, ts []types.T) string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.Base().String()
	}
	return name + "(" + strings.Join(out, ",") + ")"
}

// keyName is the name under which objects that are no relations are unique in
// their schema.
func keyName(o Object) string {
	f, ok := o.(*Function)
	if !ok {
		return o.Header().Name
	}
	return functionKey(f.Name, f.ParamTypes())
}

// functionKey is FunctionSignature with the numbers of the types, which stay when
// a type gets another name.
func functionKey(name string, ts []types.T) string {
	b := []byte(name)
	for _, t := range ts {
		b = strconv.AppendUint(append(b, ','), uint64(t.OID()), 10)
	}
	return string(b)
}

// Described is an object's kind and name as messages have them.
func Described(o Object) string {
	if f, ok := o.(*Function); ok {
		return "function " + f.Signature()
	}
	return o.Kind().String() + " " + o.Header().Name
}

// FunctionsNamed returns the functions of a name. An empty schema searches path, in
// whose order they come; one that an earlier schema of the path hides is left out.
func (s *Snapshot) FunctionsNamed(schema, name string, path []string) []*Function {
	if schema != "" {
		path = []string{schema}
	}
	var out []*Function
	seen := map[string]bool{}
	for _, p := range path {
		for _, db := range []uint32{s.db, 0} {
			for _, f := range s.functions[otherKey{KindFunction, nameSpace{db, p}, name}] {
				if sig := keyName(f); !seen[sig] {
					seen[sig] = true
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// Function returns the function schema.name with parameters of exactly these types.
// An empty schema searches path.
func (s *Snapshot) Function(schema, name string, ts []types.T, path []string) *Function {
	f, _ := s.Other(KindFunction, schema, functionKey(name, ts), path).(*Function)
	return f
}

// ResultText is the result as pg_get_function_result prints it.
func (f *Function) ResultText() string {
	out := f.Returns.Type.Base().String()
	switch {
	case f.Table:
		cols := make([]string, len(f.Columns))
		for i, c := range f.Columns {
			cols[i] = sql.QuoteIdent(c.Name) + " " + c.Type.Base().String()
		}
		return "TABLE(" + strings.Join(cols, ", ") + ")"
	case f.Returns.Type.ID == types.Record && !f.Returns.Type.IsComposite():
		out = "record"
	}
	if f.Set {
		return "SETOF " + out
	}
	return out
}

// ArgumentsText is the parameters as pg_get_function_arguments prints them, or with
// identity as the parts of them that tell functions apart.
func (f *Function) ArgumentsText(identity bool) string {
	var out []string
	for _, p := range f.Params {
		text := ""
		switch {
		case p.Variadic:
			text = "VARIADIC "
		case p.Out:
			text = "INOUT "
		}
		if p.Column.Name != "" {
			text += sql.QuoteIdent(p.Column.Name) + " "
		}
		text += p.Column.Type.Base().String()
		if p.Column.Default != "" && !identity {
			text += " DEFAULT " + p.Column.defaultText()
		}
		out = append(out, text)
	}
	if !f.Table && !identity {
		for _, c := range f.outOnly() {
			text := "OUT "
			if c.Name != "" {
				text += sql.QuoteIdent(c.Name) + " "
			}
			out = append(out, text+c.Type.Base().String())
		}
	}
	return strings.Join(out, ", ")
}

// outOnly returns the columns of the result that are no parameters of calls.
func (f *Function) outOnly() []Column {
	var out []Column
	for _, c := range f.Columns {
		if !slices.ContainsFunc(f.Params, func(p Param) bool { return p.Out && p.Column.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}
