package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// candidate is one overload with its parameter list spread to the number of
// arguments.
type candidate struct {
	fn     *Func
	agg    *AggFunc
	params []types.T
}

// ResolveFunc picks the overload of a function that a call with arguments of
// the given types means, by PostgreSQL's rules. The caller coerces each argument
// to the type ParamTypes gives. Names are in lower case and without schema.
func ResolveFunc(name string, args []types.T) (*Func, error) {
	return ResolveAmong(name, tables().funcs[name], args)
}

// ResolveAmong is ResolveFunc among the overloads fs.
func ResolveAmong(name string, fs []*Func, args []types.T) (*Func, error) {
	if len(args) == 1 && args[0].ID == types.Unknown { // a literal of the type, if it is one
		if f := castFunc(name, args); f != nil {
			return f, nil
		}
	}
	var cands []candidate
	for _, f := range fs {
		if p, ok := spread(f.Args, f.Variadic, f.Optional, len(args)); ok {
			cands = append(cands, candidate{fn: f, params: p})
		}
	}
	best, n := choose(cands, args)
	switch n {
	case 1:
		if best.fn.UserOID != 0 { // its defaults may determine more
			return best.fn, nil
		}
		return best.fn.target(), Undetermined(best.params, args)
	case 0:
		if f := castFunc(name, args); f != nil {
			return f, nil
		}
		return nil, noFunction("function", name, args)
	}
	return nil, pgerr.New(pgerr.AmbiguousFunction, "function %s is not unique", signature(name, args)).
		WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

// castFunc is a cast written as a call of the type's name: date(x), text(x).
func castFunc(name string, args []types.T) *Func {
	if len(args) != 1 {
		return nil
	}
	to, ok := types.ByName(name)
	if !ok || to.TypName() != name || to.ID == types.Void || to.ID == types.Record {
		return nil
	}
	from := args[0].Underlying()
	if from.ID == types.Unknown {
		from = to
	}
	if from.ID == types.Record && to.IsString() {
		return nil
	}
	if !CanCast(from, to, Explicit) {
		return nil
	}
	f := &Func{Name: name, Args: ts(from), Ret: to, MayFail: !safeCast(from, to), Eval: castKernel(from, to, true)}
	if castIsStable(from, to) {
		f.Volatility = Stable
	}
	return f
}

// Undetermined is the error of a call whose untyped arguments leave open what a
// polymorphic parameter stands for.
func Undetermined(params, args []types.T) error {
	bound, _ := BindPoly(params, args)
	for _, p := range params {
		if p != types.Any && !isCompatible(p) && p.IsPseudo() && bound.elem.ID == types.Invalid {
			return pgerr.New(pgerr.DatatypeMismatch, "could not determine polymorphic type because input has type unknown")
		}
	}
	for _, p := range params {
		if _, known := bound.Of(p); !known {
			return pgerr.New(pgerr.DatatypeMismatch, "could not determine polymorphic type %s because input has type unknown", p)
		}
	}
	return nil
}

// NoFunction is the error of a call that no function fits.
func NoFunction(name string, args []types.T) error { return noFunction("function", name, args) }

func noFunction(what, name string, args []types.T) error {
	return pgerr.New(pgerr.UndefinedFunction, "%s %s does not exist", what, signature(name, args)).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
}

func signature(name string, args []types.T) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = a.Base().String()
	}
	return name + "(" + strings.Join(s, ", ") + ")"
}

// HasFunc reports whether a scalar or set-returning function of that name exists.
func HasFunc(name string) bool { return len(tables().funcs[name]) > 0 }

// HasAgg reports whether an aggregate of that name exists.
func HasAgg(name string) bool { return len(tables().aggs[name]) > 0 }

// ResolveAgg picks the overload of an aggregate; count(*) is "count" with no
// argument. For ordered-set aggregates args are the direct arguments followed by
// the WITHIN GROUP keys.
func ResolveAgg(name string, args []types.T) (*AggFunc, error) {
	var cands []candidate
	for _, f := range tables().aggs[name] {
		if p, ok := spread(f.Args, false, 0, len(args)); ok {
			cands = append(cands, candidate{agg: f, params: p})
		}
	}
	best, n := choose(cands, args)
	switch n {
	case 1:
		return best.agg, Undetermined(best.params, args)
	case 0:
		return nil, noFunction("function", name, args)
	}
	return nil, pgerr.New(pgerr.AmbiguousFunction, "function %s is not unique", signature(name, args)).
		WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
}

// ResolveOp picks the overload of an operator. A prefix operator has one
// argument type.
func ResolveOp(op string, args ...types.T) (*Func, error) {
	if op == "!=" {
		op = "<>"
	}
	var cands []candidate
	for _, f := range tables().ops[op] {
		if len(f.Args) == len(args) {
			cands = append(cands, candidate{fn: f, params: f.Args})
		}
	}
	in := args
	if len(args) == 2 {
		// An untyped literal is first taken to be of the other side's type.
		l, r := args[0].Underlying(), args[1].Underlying()
		if l.ID == types.Unknown {
			l = r
		} else if r.ID == types.Unknown {
			r = l
		}
		if l.ID != types.Unknown {
			for _, c := range cands {
				if same(c.params[0], l) && same(c.params[1], r) {
					return c.fn.target(), nil
				}
			}
		}
	}
	best, n := choose(cands, in)
	switch n {
	case 1:
		return best.fn.target(), nil
	case 0:
		return nil, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", opSignature(op, args)).
			WithHint("No operator matches the given name and argument %s. You might need to add %s.",
				plural(len(args), "type", "types"), plural(len(args), "an explicit type cast", "explicit type casts"))
	}
	return nil, pgerr.New(pgerr.AmbiguousFunction, "operator is not unique: %s", opSignature(op, args)).
		WithHint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func opSignature(op string, args []types.T) string {
	if len(args) == 1 {
		return op + " " + args[0].Base().String()
	}
	return args[0].Base().String() + " " + op + " " + args[1].Base().String()
}

// target is the overload that computes an alias row.
func (f *Func) target() *Func {
	if f.As != nil {
		return f.As
	}
	return f
}

// spread lays a parameter list out for n arguments.
func spread(params []types.T, variadic bool, optional, n int) ([]types.T, bool) {
	if variadic {
		fixed := len(params) - 1
		if n < fixed+1-optional {
			return nil, false
		}
		out := append([]types.T(nil), params[:fixed]...)
		for len(out) < n {
			out = append(out, params[fixed])
		}
		return out, true
	}
	if n > len(params) || n < len(params)-optional {
		return nil, false
	}
	return params[:n], true
}

// same reports whether an argument of type in is what param asks for without any
// conversion. A row of any shape is a record.
func same(param, in types.T) bool {
	if param.ID == types.Record && param.Ref == 0 && in.ID == types.Record {
		return !in.IsComposite()
	}
	return param.SameType(in)
}

// accepts reports whether an argument of type in can be passed for param.
func accepts(param, in types.T) bool {
	switch {
	case in.ID == types.Unknown || param == types.Any:
		return true
	case param.IsPseudo():
		_, _, ok := elementOf(param, in)
		return ok
	}
	return CanCast(in, param, Implicit)
}

// choose applies PostgreSQL's rules for picking among overloads. It returns how
// many are left: 0, 1 or more.
func choose(cands []candidate, in []types.T) (candidate, int) {
	var ok []candidate
	whole := in
	in = underlyingAll(in)
	for _, c := range cands {
		fits, exact := true, true
		for i, p := range c.params {
			fits = fits && accepts(p, in[i])
			exact = exact && same(p, in[i])
		}
		if !fits {
			continue
		}
		if _, good := bindPoly(c.params, whole); !good {
			continue
		}
		if exact {
			return c, 1
		}
		ok = append(ok, c)
	}
	if len(ok) <= 1 {
		return first(ok)
	}
	ok = best(ok, func(c candidate) (n int) {
		for i, p := range c.params {
			if in[i].ID != types.Unknown && same(p, in[i]) {
				n++
			}
		}
		return n
	})
	if len(ok) == 1 {
		return first(ok)
	}
	ok = best(ok, func(c candidate) (n int) {
		for i, p := range c.params {
			if in[i].ID != types.Unknown && (same(p, in[i]) || paramCategory(p) == in[i].Category() && preferred(p)) {
				n++
			}
		}
		return n
	})
	if len(ok) == 1 {
		return first(ok)
	}
	return chooseUnknown(ok, in)
}

func first(c []candidate) (candidate, int) {
	if len(c) == 0 {
		return candidate{}, 0
	}
	return c[0], len(c)
}

// best keeps the candidates with the highest score.
func best(cs []candidate, score func(candidate) int) []candidate {
	top := -1
	var out []candidate
	for _, c := range cs {
		n := score(c)
		if n > top {
			top, out = n, out[:0]
		}
		if n == top {
			out = append(out, c)
		}
	}
	return out
}

func paramCategory(t types.T) byte {
	if t.IsPseudo() {
		return 'P'
	}
	return t.Category()
}

// chooseUnknown resolves what is left by looking at the untyped literals.
func chooseUnknown(cs []candidate, in []types.T) (candidate, int) {
	known, hasUnknown, sameKnown := types.T{}, false, true
	for _, t := range in {
		switch {
		case t.ID == types.Unknown:
			hasUnknown = true
		case known.ID == types.Invalid:
			known = t
		case !same(known, t):
			sameKnown = false
		}
	}
	if !hasUnknown {
		return first(cs)
	}
	left := byCategory(cs, in)
	if len(left) == 1 {
		return first(left)
	}
	if len(left) > 0 {
		cs = left
	}
	if known.ID == types.Invalid || !sameKnown {
		return first(cs)
	}
	var hit []candidate
	all := make([]types.T, len(in)) // as if the literals were of the known type
	for i := range all {
		all[i] = known
	}
	for _, c := range cs {
		_, fits := bindPoly(c.params, all)
		for _, p := range c.params {
			fits = fits && accepts(p, known)
		}
		if fits {
			hit = append(hit, c)
		}
	}
	if len(hit) == 1 {
		return first(hit)
	}
	return first(cs)
}

// byCategory gives each untyped literal a category (string if any candidate
// takes one there, else the one all agree on) and keeps what fits it. It returns
// nil when the candidates do not agree.
func byCategory(cs []candidate, in []types.T) []candidate {
	cat := make([]byte, len(in))
	pref := make([]bool, len(in))
	for i, t := range in {
		if t.ID != types.Unknown {
			continue
		}
		agree := true
		for _, c := range cs {
			k := paramCategory(c.params[i])
			switch {
			case cat[i] == 0:
				cat[i], pref[i] = k, preferred(c.params[i])
			case cat[i] == k:
				pref[i] = pref[i] || preferred(c.params[i])
			case k == 'S':
				cat[i], pref[i], agree = k, preferred(c.params[i]), true
			case cat[i] != 'S':
				agree = false
			}
		}
		if !agree {
			return nil
		}
	}
	var out []candidate
	for _, c := range cs {
		keep := true
		for i, p := range c.params {
			if cat[i] == 0 {
				continue
			}
			keep = keep && paramCategory(p) == cat[i] && (!pref[i] || preferred(p))
		}
		if keep {
			out = append(out, c)
		}
	}
	return out
}

// ParamTypes returns the types a call's arguments must be coerced to, with
// polymorphic parameters put in.
func (f *Func) ParamTypes(args []types.T) []types.T {
	p, ok := spread(f.Args, f.Variadic, f.Optional, len(args))
	if !ok {
		return args
	}
	if out, ok := bindPoly(p, args); ok {
		p = out
	}
	return p
}

// ParamTypes: see Func.ParamTypes.
func (f *AggFunc) ParamTypes(args []types.T) []types.T {
	if out, ok := bindPoly(f.Args, args); ok {
		return out
	}
	return f.Args
}

// Result returns the type of a call whose arguments have been coerced.
func (f *Func) Result(args []types.T) types.T {
	if f.RetFn != nil {
		return f.RetFn(args)
	}
	return f.Ret
}

// Result returns the type of the aggregate over coerced arguments.
func (f *AggFunc) Result(args []types.T) types.T {
	if f.RetFn != nil {
		return f.RetFn(args)
	}
	return f.Ret
}

// NewCall resolves a function, coerces the arguments and builds the call.
func NewCall(name string, args ...Expr) (Expr, error) {
	f, err := ResolveFunc(name, typesOf(args))
	if err != nil {
		return nil, err
	}
	return BindCall(f, args)
}

// NewOp is NewCall for operators.
func NewOp(op string, args ...Expr) (Expr, error) {
	f, err := ResolveOp(op, typesOf(args)...)
	if err != nil {
		return nil, err
	}
	return BindCall(f, args)
}

// BindCall coerces args to f's parameters and builds the call.
func BindCall(f *Func, args []Expr) (Expr, error) {
	out := make([]Expr, len(args))
	for i, p := range f.ParamTypes(typesOf(args)) {
		a, err := Coerce(args[i], p, Implicit)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return &Call{Fn: f, Args: out, Typ: f.Result(typesOf(out))}, nil
}

func typesOf(es []Expr) []types.T {
	ts := make([]types.T, len(es))
	for i, e := range es {
		ts[i] = e.Type()
	}
	return ts
}
