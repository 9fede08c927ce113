package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// A call of a function that a user made is replaced by the function's query, bound
// under a scope in which the parameters are columns whose values are the arguments.
// That scope stands in the place of the caller's, so that references keep their
// level, and nothing beyond it can be seen from inside.

// maxInlined bounds the size of an expression that calls of functions grow to.
const maxInlined = 50000

// functionUse is a call that is being replaced.
type functionUse struct {
	fn   *catalog.Function
	uses []int  // of each parameter
	deep []bool // used in a subquery of the function
}

// functionsNamed returns what a call of schema.name may mean among users' functions.
func (b *binder) functionsNamed(schema, name string) ([]*expr.Func, error) {
	if schema == "pg_catalog" || schema == "information_schema" {
		return nil, nil
	}
	var out []*expr.Func
	if b.p.Cat.Schema(schema) != nil {
		if err := b.mayUse(schema); err != nil {
			return nil, err
		}
	}
	for _, fn := range b.p.Cat.FunctionsNamed(schema, name, b.searchPath()) {
		f, err := b.functionRow(fn)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// functionRow is a function as overload resolution knows functions.
func (b *binder) functionRow(fn *catalog.Function) (*expr.Func, error) {
	f := &expr.Func{Name: fn.Name, Ret: fn.Returns.Type, Set: fn.Set, UserOID: fn.OID}
	named := false
	for _, p := range fn.Params {
		t := p.Column.Type.Base()
		if p.Variadic {
			f.Variadic, t = true, t.ElementParam()
		}
		f.Args = append(f.Args, t)
		f.Params = append(f.Params, p.Column.Name)
		named = named || p.Column.Name != ""
		if p.Column.Default != "" {
			x, err := b.storedDefault(fn, p.Column)
			if err != nil {
				return nil, err
			}
			f.Optional++
			f.Defaults = append(f.Defaults, x)
		}
	}
	if !named {
		f.Params = nil
	}
	return f, nil
}

func (b *binder) storedDefault(fn *catalog.Function, c catalog.Column) (expr.Expr, error) {
	q, err := ParseQuery("SELECT " + c.Default)
	if err != nil {
		return nil, err
	}
	defer b.inside(fn)()
	e := q.Targets[0].Expr
	x, err := b.expr(&exprContext{sc: &scope{}, clause: "DEFAULT expressions", noSub: "DEFAULT expression"}, e)
	if err != nil {
		return nil, err
	}
	if c.Type.IsPseudo() {
		return x, nil
	}
	return b.coerce(x, c.Type, expr.Assignment, e)
}

// inside makes the binder read the text of a function; the result undoes it.
func (b *binder) inside(fn *catalog.Function) func() {
	text, path, params, as := b.text, b.path, b.params, b.asRole
	b.text, b.path, b.params = "", fn.SearchPath, &paramSet{pos: map[int]int{}}
	if fn.Definer {
		b.asRole = fn.Owner
	}
	return func() { b.text, b.path, b.params, b.asRole = text, path, params, as }
}

// userCall binds a call that a user's function fits best; nil: none does.
func (b *binder) userCall(ec *exprContext, e *sql.FuncCall) (expr.Expr, error) {
	fn, args, err := b.resolveUser(ec, e)
	if fn == nil || err != nil {
		return nil, err
	}
	if fn.Set {
		if !ec.allowSet {
			return nil, b.setNotAllowed(ec, e)
		}
		return b.setCall(ec, e, fn, args)
	}
	switch ec.noSub {
	case "", "LIMIT", "OFFSET", "EXECUTE parameters":
	default:
		return nil, b.unsupported(e, "a function of CREATE FUNCTION in a "+ec.noSub, "Write its expression instead.")
	}
	x, err := b.inlineScalar(ec, e, fn, args)
	if err == nil && ec.noSub != "" && hasSubquery(x) {
		err = b.errAt(e, pgerr.FeatureNotSupported, "cannot use subquery in %s", ec.noSub)
	}
	return x, err
}

// resolveUser finds the user's function that a call means and its arguments, one a
// parameter. fn is nil if the call means no function of a user.
func (b *binder) resolveUser(ec *exprContext, e *sql.FuncCall) (fn *catalog.Function, args []expr.Expr, err error) {
	fs, err := b.functionsNamed(e.Schema, e.Name)
	if err != nil || len(fs) == 0 {
		return nil, nil, err
	}
	args, names, err := b.callArgs(ec, e)
	if err != nil {
		return nil, nil, err
	}
	if e.Schema == "" {
		fs = slices.Concat(expr.FuncsNamed(e.Name), fs)
	}
	var f *expr.Func
	switch {
	case len(names) > 0:
		f, args, err = expr.ResolveNamed(e.Name, fs, args, names)
	case e.Variadic:
		f, err = resolveVariadic(e.Name, fs, args)
	default:
		f, err = expr.ResolveAmong(e.Name, fs, typesOf(args))
	}
	if err != nil || f.UserOID == 0 {
		return nil, nil, b.placed(err, e)
	}
	fn, _ = b.p.Cat.ByOID(f.UserOID).(*catalog.Function)
	if err := b.checkPlainCall(e); err != nil {
		return nil, nil, err
	}
	if b.pins != nil {
		b.pins.calls[e] = fn.Schema
	}
	for i := len(args); i < len(f.Args) && !f.Variadic; i++ {
		args = append(args, f.Defaults[i-(len(f.Args)-len(f.Defaults))])
	}
	last := len(fn.Params) - 1
	if isPolymorphic(fn) {
		if fn, err = b.callInstance(fn, args, e); err != nil {
			return nil, nil, err
		}
	}
	for i, a := range args {
		p := fn.Params[min(i, last)]
		t := p.Column.Type.Base()
		if p.Variadic && !e.Variadic {
			t = t.ElemType()
		}
		if args[i], err = b.coerce(a, t, expr.Implicit, e); err != nil {
			return nil, nil, err
		}
	}
	if f.Variadic && !e.Variadic {
		rest := &expr.MakeArray{Args: slices.Clone(args[last:]), Typ: fn.Params[last].Column.Type.Base()}
		args = append(args[:last:last], rest)
	}
	return fn, args, nil
}

// resolveVariadic finds the function of a call f(a, VARIADIC array).
func resolveVariadic(name string, fs []*expr.Func, args []expr.Expr) (*expr.Func, error) {
	ts := typesOf(args)
	if last := ts[len(ts)-1]; last.ID == types.Array {
		ts[len(ts)-1] = last.ElemType()
	}
	fs = slices.DeleteFunc(slices.Clone(fs), func(f *expr.Func) bool { return !f.Variadic || len(f.Args) != len(args) })
	f, err := expr.ResolveAmong(name, fs, ts)
	if err != nil {
		return nil, expr.NoFunction(name, typesOf(args))
	}
	return f, nil
}

// functionScope is the scope that the query of a function is bound under, in the
// place of the caller's scope.
func functionScope(fn *catalog.Function, args []expr.Expr, caller *scope) (*scope, *functionUse) {
	use := &functionUse{fn: fn, uses: make([]int, len(args)), deep: make([]bool, len(args))}
	it := &rangeItem{name: fn.Name, relVisible: true, colVisible: true}
	for i, p := range fn.Params {
		it.cols = append(it.cols, scopeCol{name: p.Column.Name, typ: args[i].Type(), index: i, e: args[i]})
	}
	sc := &scope{items: []*rangeItem{it}, fn: use}
	if caller != nil {
		sc.parent = caller.parent
	}
	return sc, use
}

// functionParam finds parameter $n of the function whose text is being bound; nil
// outside of one.
func (b *binder) functionParam(sc *scope, n int, at sql.Node) (expr.Expr, error) {
	level := 0
	for ; sc != nil && sc.fn == nil; sc = sc.parent {
		level++
	}
	if sc == nil {
		return nil, nil
	}
	if cols := sc.items[0].cols; n >= 1 && n <= len(cols) {
		return b.argument(sc, &cols[n-1], level, at)
	}
	return nil, b.errAt(at, pgerr.UndefinedParameter, "there is no parameter $%d", n)
}

// argument is the value of a parameter, level queries inside the function.
func (b *binder) argument(sc *scope, c *scopeCol, level int, at sql.Node) (expr.Expr, error) {
	use := sc.fn
	use.uses[c.index]++
	if level == 0 {
		return c.value(), nil
	}
	use.deep[c.index] = true
	if hasSet(c.e) {
		return nil, b.unsupported(at, "a set-returning function as an argument of a function that reads tables",
			"Call it in a subquery of FROM.")
	}
	return outward(c.value(), level), nil
}

// inlined binds the text of a function by f, with the parameters standing for args.
func (b *binder) inlined(fn *catalog.Function, args []expr.Expr, caller *scope, at sql.Node, f func(q *sql.Select, sc *scope) error) error {
	if slices.Contains(b.calling, fn.OID) {
		return b.unsupported(at, "a function that calls itself", "Use WITH RECURSIVE.")
	}
	b.calling = append(b.calling, fn.OID)
	defer func() { b.calling = b.calling[:len(b.calling)-1] }()
	if err := b.enter(at); err != nil {
		return err
	}
	defer b.leave()
	b.deps[fn.OID] = true
	b.need(fn.OID, catalog.Execute)
	q, err := ParseQuery(fn.Query)
	if err != nil {
		return err
	}
	sc, use := functionScope(fn, args, caller)
	undo := b.inside(fn)
	err = f(q, sc)
	undo()
	if err != nil {
		return b.placed(err, at)
	}
	for i, a := range args {
		if isVolatile(a) && (use.uses[i] > 1 || use.deep[i] || fn.Strict) {
			return b.unsupported(at, "a volatile argument that function "+fn.Name+" uses more than once", "Compute it in a subquery of FROM.")
		}
	}
	return nil
}

func isVolatile(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Call:
			found = found || x.Fn.Volatility == expr.Volatile
		case *subRef:
			plan.Walk(x.node, func(n plan.Node) bool {
				plan.EachExpr(n, func(y expr.Expr) { found = found || isVolatile(y) })
				return !found
			})
		}
		return !found
	})
	return found
}

// inlineScalar is the value of a call of a function that returns one.
func (b *binder) inlineScalar(ec *exprContext, e *sql.FuncCall, fn *catalog.Function, args []expr.Expr) (expr.Expr, error) {
	ret := fn.Returns.Type.Base()
	var x expr.Expr
	err := b.inlined(fn, args, ec.sc, e, func(q *sql.Select, sc *scope) error {
		if isExpression(q) && ret.ID != types.Record {
			v, err := b.expr(&exprContext{sc: sc, clause: "functions"}, q.Targets[0].Expr)
			if err == nil && !hasSet(v) && ret.ID == types.Void {
				x, err = b.nothing(v)
				return err
			}
			if err == nil && !hasSet(v) {
				if from := v.Type(); from.ID != types.Unknown && !expr.CanCast(from, ret, expr.Assignment) {
					return wrongResult(fn, "Actual return type is %s.", from.Base())
				}
				x, err = b.coerce(v, ret, expr.Assignment, q)
				return err
			}
			if err != nil && pgerr.CodeOf(err) != pgerr.GroupingError && pgerr.CodeOf(err) != pgerr.WindowingError {
				return err
			}
		}
		n, err := b.functionRows(q, sc, fn, true)
		x = &subRef{kind: subScalar, node: n, typ: ret, name: fn.Name, at: e}
		return err
	})
	if err != nil {
		return nil, err
	}
	if fn.Strict && len(args) > 0 {
		x = &expr.Case{Whens: []expr.When{{Cond: anyNull(args), Then: &expr.Const{Typ: ret}}}, Else: x, Typ: ret}
	}
	size := 0
	expr.Walk(x, func(expr.Expr) bool { size++; return size <= maxInlined })
	if size > maxInlined {
		return nil, b.errAt(e, pgerr.StatementTooComplex, "the expression that function \"%s\" makes is too large", fn.Name)
	}
	return x, nil
}

// anyNull is the condition under which a strict function is not called.
func anyNull(args []expr.Expr) expr.Expr {
	var cs []expr.Expr
	for _, a := range args {
		cs = append(cs, &expr.IsNull{Arg: a})
	}
	if len(cs) == 1 {
		return cs[0]
	}
	return &expr.Or{Args: cs}
}

// isExpression reports whether a query is SELECT with one expression and nothing else.
func isExpression(q *sql.Select) bool {
	return q.Op == sql.SetNone && q.With == nil && q.Values == nil && len(q.From) == 0 && q.Where == nil && len(q.GroupBy) == 0 &&
		q.Having == nil && len(q.OrderBy) == 0 && q.Limit == nil && q.Skip == nil && !q.Distinct && len(q.Targets) == 1
}

// functionRows is the plan of a function's query with the columns of its result;
// of one row at most if first is set. Where one value is wanted of a function that
// returns rows, they are put together.
func (b *binder) functionRows(q *sql.Select, sc *scope, fn *catalog.Function, first bool) (plan.Node, error) {
	f, err := b.functionSet(q, sc, fn, first)
	if err != nil {
		return nil, err
	}
	n := f.rows()
	if first && fn.Returns.Type.ID == types.Record {
		row := f.row(identity(n), fn.Returns.Type.Base())
		return &plan.Project{Input: n, Exprs: []expr.Expr{row}, Out: []plan.Column{{Name: fn.Name, Typ: row.Type()}}}, nil
	}
	return n, nil
}

// oneAtMost reports whether a plan yields one row at most, whatever it reads.
func oneAtMost(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Project:
		return oneAtMost(n.Input)
	case *plan.Aggregate:
		return n.Scalar
	case *plan.TopN:
		return n.Limit == 1 && !n.WithTies
	case *plan.Values:
		return len(n.Rows) <= 1
	}
	return false
}

// functionColumns makes the columns of a function's result of those of its query.
func (b *binder) functionColumns(n plan.Node, cols []plan.Column, fn *catalog.Function) ([]expr.Expr, []plan.Column, error) {
	want := resultColumns(fn)
	col := func(i int) expr.Expr { return &expr.Col{Index: i, Typ: cols[i].Typ} }
	var in []expr.Expr
	if len(cols) == 1 && len(want) > 1 && cols[0].Typ.ID == types.Record && len(cols[0].Typ.Fields()) == len(want) {
		for i := range want {
			in = append(in, fieldOf(col(0), i)) // the query yields rows as values
		}
	} else {
		for i := range cols {
			in = append(in, col(i))
		}
	}
	mismatch := func(detail string, args ...any) error { return wrongResult(fn, detail, args...) }
	switch {
	case len(in) != len(want) && len(want) == 1 && fn.Returns.Type.ID != types.Record:
		return nil, nil, mismatch("Final statement must return exactly one column.")
	case len(in) < len(want):
		return nil, nil, mismatch("Final statement returns too few columns.")
	case len(in) > len(want):
		return nil, nil, mismatch("Final statement returns too many columns.")
	}
	out := make([]plan.Column, len(want))
	for i, w := range want {
		from := in[i].Type()
		if from.ID != types.Unknown && !expr.CanCast(from, w.Type, expr.Assignment) {
			if len(want) == 1 && fn.Returns.Type.ID != types.Record {
				return nil, nil, mismatch("Actual return type is %s.", from.Base())
			}
			return nil, nil, mismatch("Final statement returns %s instead of %s at column %d.", from.Base(), w.Type.Base(), i+1)
		}
		var err error
		if in[i], err = b.coerce(in[i], w.Type, expr.Assignment, nil); err != nil {
			return nil, nil, err
		}
		out[i] = plan.Column{Name: w.Name, Typ: w.Type}
	}
	if t := fn.Returns.Type.Base(); t.IsDomain() && t.ID == types.Record {
		return b.rowInDomain(in, out, t)
	}
	return in, out, nil
}

// wrongResult is the error of a query that does not yield what its function declares.
func wrongResult(fn *catalog.Function, detail string, args ...any) error {
	declared := fn.Returns.Type.Base().String()
	if len(resultColumns(fn)) > 1 || fn.Returns.Type.ID == types.Record && !fn.Returns.Type.IsComposite() {
		declared = "record"
	}
	return pgerr.New(pgerr.InvalidFunctionDefinition, "return type mismatch in function declared to return %s", declared).WithDetail(detail, args...)
}

// rowInDomain holds the row of the fields in against the constraints of a domain, and
// returns its fields.
func (b *binder) rowInDomain(in []expr.Expr, cols []plan.Column, t types.T) ([]expr.Expr, []plan.Column, error) {
	row := &expr.MakeRow{Typ: t.Underlying(), Args: in}
	for _, c := range cols {
		row.Names = append(row.Names, c.Name)
	}
	x, err := b.constrained(row, t)
	if err != nil {
		return nil, nil, err
	}
	out := make([]expr.Expr, len(in))
	for i := range in {
		out[i] = &expr.Field{Arg: x, Index: i, Typ: cols[i].Typ}
	}
	return out, cols, nil
}

// resultColumns are the columns of a function's result.
func resultColumns(fn *catalog.Function) []catalog.Column {
	if len(fn.Columns) > 0 {
		return fn.Columns
	}
	if fn.Returns.Type.ID == types.Record {
		var out []catalog.Column
		for _, f := range fn.Returns.Type.Fields() {
			out = append(out, catalog.Column{Name: f.Name, Type: f.Typ})
		}
		return out
	}
	return []catalog.Column{{Name: fn.Name, Type: fn.Returns.Type.Base()}}
}

// paramNamed resolves a column reference that no query of a function knows: to a
// parameter, or to a field of one. sc has the parameters.
func (b *binder) paramNamed(sc *scope, parts []string, level int, at sql.Node) (expr.Expr, error) {
	it := sc.items[0]
	name := parts[0]
	if len(parts) > 1 && name == it.name {
		name, parts = parts[1], parts[1:]
	}
	for i := range it.cols {
		c := &it.cols[i]
		if c.name != name || len(parts) > 2 {
			continue
		}
		x, err := b.argument(sc, c, level, at)
		if err != nil || len(parts) == 1 {
			return x, err
		}
		for k, f := range c.typ.Fields() {
			if f.Name == parts[1] {
				return fieldOf(x, k), nil
			}
		}
		return nil, b.errAt(at, pgerr.UndefinedColumn, "column \"%s\" not found in data type %s", parts[1], c.typ.Base())
	}
	return nil, nil
}
