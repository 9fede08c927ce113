package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// paramNames are the names of parameters that calls may use, by function and
// number of parameters.
var paramNames = map[string][]string{
	"make_date":           {"year", "month", "day"},
	"make_time":           {"hour", "min", "sec"},
	"make_timestamp":      {"year", "month", "mday", "hour", "min", "sec"},
	"make_timestamptz":    {"year", "month", "mday", "hour", "min", "sec", "timezone"},
	"make_interval":       {"years", "months", "weeks", "days", "hours", "mins", "secs"},
	"parse_ident":         {"str", "strict"},
	"jsonb_set":           {"jsonb_in", "path", "replacement", "create_if_missing"},
	"jsonb_set_lax":       {"jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"},
	"jsonb_insert":        {"jsonb_in", "path", "replacement", "insert_after"},
	"json_array_elements": {"from_json"}, "json_array_elements_text": {"from_json"},
	"jsonb_array_elements": {"from_json"}, "jsonb_array_elements_text": {"from_json"},
	"json_each": {"from_json"}, "json_each_text": {"from_json"}, "jsonb_each": {"from_json"}, "jsonb_each_text": {"from_json"},
}

// paramDefaults are the values of optional parameters that a call leaves out
// though it gives later ones.
var paramDefaults = map[string][]types.Datum{
	"make_interval": {int32(0), int32(0), int32(0), int32(0), int32(0), int32(0), float64(0)},
	"parse_ident":   {true},
	"jsonb_set":     {true},
	"jsonb_insert":  {false},
	"jsonb_set_lax": {true, "use_json_null"},
}

// nameParams gives the functions of the tables their parameters' names.
func nameParams(fs map[string][]*Func) {
	for name, params := range paramNames {
		for _, f := range fs[name] {
			f.Params = params[:min(len(params), len(f.Args))]
			f.Defaults = nil
			for i, d := range paramDefaults[name] {
				f.Defaults = append(f.Defaults, &Const{Val: d, Typ: f.Args[len(f.Args)-f.Optional+i]})
			}
		}
	}
}

// place finds the arguments of f's parameters for a call with positional
// arguments followed by named ones: indexes into both together, -1 for a
// default. ok is false if the call does not fit.
func (f *Func) place(positional int, names []string) (at []int, ok bool) {
	n := len(f.Args)
	if f.Variadic || positional > n || len(f.Params) < n {
		return nil, false
	}
	at = make([]int, n)
	for i := range at {
		if at[i] = -1; i < positional {
			at[i] = i
		}
	}
	for k, name := range names {
		found := -1
		for i, p := range f.Params {
			if p == name {
				found = i
			}
		}
		if found < 0 || at[found] >= 0 {
			return nil, false
		}
		at[found] = positional + k
	}
	for i, a := range at {
		if a < 0 && (i < n-f.Optional || i-(n-f.Optional) >= len(f.Defaults)) {
			return nil, false
		}
	}
	return at, true
}

// ResolveNamed picks the overload among fs that a call means whose last
// arguments are named, and puts the arguments in order, defaults filled in.
func ResolveNamed(name string, fs []*Func, args []Expr, names []string) (*Func, []Expr, error) {
	in := typesOf(args)
	positional := len(args) - len(names)
	var cands []candidate
	orders := map[*Func][]int{}
	for _, f := range fs {
		at, ok := f.place(positional, names)
		if !ok {
			continue
		}
		// The parameters in the order of the arguments; defaults always fit.
		params := make([]types.T, len(args))
		for i, a := range at {
			if a >= 0 {
				params[a] = f.Args[i]
			}
		}
		orders[f] = at
		cands = append(cands, candidate{fn: f, params: params})
	}
	best, n := choose(cands, in)
	if n != 1 {
		sig := make([]string, len(args))
		for i, t := range in {
			if sig[i] = t.Base().String(); i >= positional {
				sig[i] = names[i-positional] + " => " + sig[i]
			}
		}
		text := name + "(" + strings.Join(sig, ", ") + ")"
		if n > 1 {
			return nil, nil, pgerr.New(pgerr.AmbiguousFunction, "function %s is not unique", text).
				WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
		}
		return nil, nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", text).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
	}
	f := best.fn
	var out []Expr
	for i, a := range orders[f] {
		if a >= 0 {
			out = append(out, args[a])
		} else {
			out = append(out, f.Defaults[i-(len(f.Args)-f.Optional)])
		}
	}
	return f, out, nil
}

// FuncsNamed returns the overloads of a function of the tables.
func FuncsNamed(name string) []*Func { return tables().funcs[name] }
