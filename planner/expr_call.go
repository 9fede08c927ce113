package planner

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// coerce converts e to t and gives an untyped parameter its type.
func (b *binder) coerce(e expr.Expr, t types.T, ctx expr.CastContext, at sql.Node) (expr.Expr, error) {
	if t.Ref != 0 && !e.Type().SameType(t) && t.HoldsDomain() {
		return b.intoDomain(e, t, ctx, at)
	}
	return b.convert(e, t, ctx, at)
}

// convert is coerce without the constraints of domains.
func (b *binder) convert(e expr.Expr, t types.T, ctx expr.CastContext, at sql.Node) (expr.Expr, error) {
	if p, ok := e.(*expr.Param); ok && p.Typ.ID == types.Unknown {
		e = b.setParam(p, t)
	}
	if row, ok := e.(*expr.MakeRow); ok {
		if t.IsComposite() && !row.Typ.IsComposite() {
			return b.rowToComposite(row, t, ctx, at)
		}
		var err error
		if e, err = b.finishRow(row); err != nil {
			return nil, err
		}
	}
	x, err := expr.Coerce(e, t, ctx)
	if err != nil {
		return nil, b.literalError(err, e, at)
	}
	if k, ok := e.(*expr.Const); ok && k.Typ.ID == types.Unknown {
		return b.readLiteral(k, x, at)
	}
	return x, nil
}

// readLiteral reads an untyped literal at once, as PostgreSQL does, also where
// its meaning depends on the session.
func (b *binder) readLiteral(k *expr.Const, x expr.Expr, at sql.Node) (expr.Expr, error) {
	if _, done := x.(*expr.Const); done || b.p.Session == nil {
		return x, nil
	}
	v, err := expr.EvalConst(&expr.Ctx{Session: b.p.Session}, x)
	if err != nil {
		return nil, b.literalError(err, k, at)
	}
	if lit := b.pins.literal(k); lit != nil && x.Type().ID.IsReg() && b.views == 0 {
		if n, ok := v.(int64); ok {
			b.pins.objects[lit] = itoa(int(n))
		}
	}
	return &expr.Const{Val: v, Typ: x.Type()}, nil
}

// literalError places the error of a literal that cannot be read at the literal.
func (b *binder) literalError(err error, e expr.Expr, at sql.Node) error {
	if k, ok := e.(*expr.Const); ok {
		if pos := b.litAt[k]; pos > 0 {
			return pgerr.From(err).At(pos)
		}
	}
	return b.placed(err, at)
}

// toText makes an untyped literal or parameter text, when no context gave it a
// type.
func (b *binder) toText(e expr.Expr) (expr.Expr, error) {
	if row, ok := e.(*expr.MakeRow); ok {
		return b.finishRow(row)
	}
	if e.Type().ID != types.Unknown {
		return e, nil
	}
	return b.coerce(e, types.TText, expr.Implicit, nil)
}

func (b *binder) settleUnknown(t types.T) types.T {
	if t.ID == types.Unknown {
		return types.TText
	}
	return t
}

// op binds an operator over bound arguments.
func (b *binder) op(op string, at sql.Node, args ...expr.Expr) (expr.Expr, error) {
	f, err := expr.ResolveOp(op, typesOf(args)...)
	if err != nil {
		return nil, b.placed(err, at)
	}
	return b.bindCall(f, args, at)
}

// call binds a function over bound arguments.
func (b *binder) call(name string, at sql.Node, args ...expr.Expr) (expr.Expr, error) {
	f, err := expr.ResolveFunc(name, typesOf(args))
	if err != nil {
		return nil, b.placed(err, at)
	}
	return b.bindCall(f, args, at)
}

func (b *binder) bindCall(f *expr.Func, args []expr.Expr, at sql.Node) (expr.Expr, error) {
	if f.NeedsRow() && len(args) > 0 {
		var err error
		if args, err = b.rowToFill(f, args, at); err != nil {
			return nil, err
		}
	}
	if f.Catalog && b.maintained {
		return nil, b.unsupported(at, f.Name+"(), which reads the catalog, in a materialized view or sink", "Call it in the query that reads the view.")
	}
	args, err := b.coerceArgs(f.ParamTypes(typesOf(args)), args, at)
	if err != nil {
		return nil, err
	}
	if f.NeedsRow() && f.Set && len(args) > 0 && args[0].Type().IsDomain() {
		d, err := b.domainRules(args[0].Type().Base())
		if err == nil && !d.Empty() {
			err = b.unsupported(at, f.Name+"() of a domain with constraints", "Name the composite type, and cast its rows to the domain.")
		}
		if err != nil {
			return nil, err
		}
	}
	c := &expr.Call{Fn: f, Args: args, Typ: f.Result(typesOf(args))}
	if names, ts := setResult(c); len(ts) == 1 {
		c.Typ = ts[0]
	} else if len(ts) > 1 {
		c.Typ = rowType(names, ts)
	}
	if f.NeedsRow() && !f.Set && c.Typ.IsComposite() {
		return b.constrained(c, c.Typ)
	}
	return c, nil
}

func (b *binder) coerceArgs(params []types.T, args []expr.Expr, at sql.Node) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		var err error
		if out[i], err = b.coerce(a, params[i], expr.Implicit, at); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// compare is op for comparisons, which rows take field by field.
func (b *binder) compare(op string, at sql.Node, l, r expr.Expr) (expr.Expr, error) {
	if !isRow(l) || !isRow(r) {
		return b.op(op, at, l, r)
	}
	lr, rr := l.(*expr.MakeRow), r.(*expr.MakeRow)
	if len(lr.Args) != len(rr.Args) {
		return nil, b.errAt(at, pgerr.SyntaxError, "unequal number of entries in row expressions")
	}
	if len(lr.Args) == 0 {
		return nil, b.errAt(at, pgerr.FeatureNotSupported, "cannot compare rows of zero length")
	}
	switch op {
	case "=", "<>", "!=":
		cs := make([]expr.Expr, len(lr.Args))
		for i := range lr.Args {
			var err error
			if cs[i], err = b.compare(op, at, lr.Args[i], rr.Args[i]); err != nil {
				return nil, err
			}
		}
		if op == "=" || len(cs) == 1 {
			return and(cs), nil
		}
		return &expr.Or{Args: cs}, nil
	case "<", "<=", ">", ">=":
		return b.compareOrder(op, at, lr.Args, rr.Args)
	}
	for i := range lr.Args {
		c, err := b.op(op, at, lr.Args[i], rr.Args[i])
		if err != nil || len(lr.Args) == 1 {
			return c, err
		}
	}
	return nil, b.errAt(at, pgerr.FeatureNotSupported, "could not determine interpretation of row comparison operator %s", op)
}

// compareOrder: (a, b) < (c, d) is a < c OR a = c AND b < d.
func (b *binder) compareOrder(op string, at sql.Node, l, r []expr.Expr) (expr.Expr, error) {
	if len(l) == 1 {
		return b.compare(op, at, l[0], r[0])
	}
	lt, err := b.compare(op[:1], at, l[0], r[0])
	if err != nil {
		return nil, err
	}
	eq, err := b.compare("=", at, l[0], r[0])
	if err != nil {
		return nil, err
	}
	rest, err := b.compareOrder(op, at, l[1:], r[1:])
	if err != nil {
		return nil, err
	}
	return &expr.Or{Args: []expr.Expr{lt, &expr.And{Args: []expr.Expr{eq, rest}}}}, nil
}

func (b *binder) opExpr(ec *exprContext, e *sql.OpExpr) (expr.Expr, error) {
	if e.Schema != "" && e.Schema != "pg_catalog" {
		return nil, b.errAt(e, pgerr.UndefinedFunction, "operator does not exist: %s.%s", e.Schema, e.Op)
	}
	if e.Left == nil {
		if l, ok := e.Right.(*sql.Literal); ok && e.Op == "-" && (l.Kind == sql.LitInt || l.Kind == sql.LitFloat) {
			return b.literal(l, true)
		}
		r, err := b.expr(ec, e.Right)
		if err != nil {
			return nil, err
		}
		return b.op(e.Op, e, r)
	}
	// Chains like a || b || c lean left; they are walked without recursion.
	var spine []*sql.OpExpr
	var left sql.Expr = e
	for {
		o, ok := left.(*sql.OpExpr)
		if !ok || o.Left == nil {
			break
		}
		spine = append(spine, o)
		left = o.Left
	}
	l, err := b.expr(ec, left)
	if err != nil {
		return nil, err
	}
	for i := len(spine) - 1; i >= 0; i-- {
		o := spine[i]
		if q, ok := o.Right.(*sql.SubqueryExpr); ok && isRow(l) {
			if l, err = b.compareSubquery(ec, o, l, q); err != nil {
				return nil, err
			}
			continue
		}
		r, err := b.expr(ec, o.Right)
		if err != nil {
			return nil, err
		}
		if i == len(spine)-1 {
			if l, r, err = b.rowPair(ec, left, o.Right, l, r); err != nil {
				return nil, err
			}
		}
		if l, err = b.compare(o.Op, o, l, r); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// rowPair binds the fields of two rows that are compared field by field anew, so
// that untyped literals take the type of the field on the other side.
func (b *binder) rowPair(ec *exprContext, left, right sql.Expr, l, r expr.Expr) (expr.Expr, expr.Expr, error) {
	ls, lok := left.(*sql.RowExpr)
	rs, rok := right.(*sql.RowExpr)
	lr, lmade := l.(*expr.MakeRow)
	rr, rmade := r.(*expr.MakeRow)
	if !lok || !rok || !lmade || !rmade {
		return l, r, nil
	}
	raw := func(row *expr.MakeRow, fields []sql.Expr) (expr.Expr, error) {
		if len(fields) != len(row.Args) {
			return row, nil // there are stars among the fields
		}
		out := *row
		out.Args = append([]expr.Expr(nil), row.Args...)
		for i, f := range fields {
			if lit, ok := f.(*sql.Literal); ok {
				var err error
				if out.Args[i], err = b.literal(lit, false); err != nil {
					return nil, err
				}
			}
		}
		return &out, nil
	}
	l, err := raw(lr, ls.Fields)
	if err != nil {
		return nil, nil, err
	}
	r, err = raw(rr, rs.Fields)
	return l, r, err
}

// quantArray binds arg op ANY|ALL (array).
func (b *binder) quantArray(ec *exprContext, e *sql.QuantExpr) (expr.Expr, error) {
	arg, err := b.expr(ec, e.Arg)
	if err != nil {
		return nil, err
	}
	arr, err := b.expr(ec, e.Array)
	if err != nil {
		return nil, err
	}
	at := arr.Type()
	switch {
	case at.ID == types.Unknown:
		if arg, err = b.toText(arg); err != nil {
			return nil, err
		}
		at = arg.Type().Base().ArrayType()
		if arr, err = b.coerce(arr, at, expr.Implicit, e.Array); err != nil {
			return nil, err
		}
	case at.ID != types.Array:
		return nil, b.errAt(e, pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side")
	}
	f, err := expr.ResolveOp(e.Op, arg.Type(), at.ElemType())
	if err != nil {
		return nil, b.placed(err, e)
	}
	ps := f.ParamTypes([]types.T{arg.Type(), at.ElemType()})
	if f.Result(ps).ID != types.Bool {
		return nil, b.errAt(e, pgerr.WrongObjectType, "op ANY/ALL (array) requires operator to yield boolean")
	}
	if arg, err = b.coerce(arg, ps[0], expr.Implicit, e.Arg); err != nil {
		return nil, err
	}
	if arr, err = b.coerce(arr, ps[1].Base().ArrayType(), expr.Implicit, e.Array); err != nil {
		return nil, err
	}
	return &expr.AnyAll{Arg: arg, Array: arr, Op: f, All: e.All}, nil
}

// funcCall binds a call of a function, an aggregate or a window function.
func (b *binder) funcCall(ec *exprContext, e *sql.FuncCall) (expr.Expr, error) {
	if x, err := b.userCall(ec, e); x != nil || err != nil {
		return x, err
	}
	if x, err := b.rangeCall(ec, e); x != nil || err != nil {
		return x, err
	}
	if e.Schema != "" && e.Schema != "pg_catalog" && e.Schema != "information_schema" {
		if b.p.Cat.Schema(e.Schema) == nil {
			return nil, b.errAt(e, pgerr.InvalidSchemaName, "schema \"%s\" does not exist", e.Schema)
		}
		return nil, pgerr.New(pgerr.UndefinedFunction, "function %s.%s() does not exist", e.Schema, e.Name).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(b.at(e))
	}
	if e.Over != nil {
		return b.windowCall(ec, e)
	}
	if isHypothetical(e) {
		return b.hypothetical(ec, e)
	}
	if isWindowOnly(e.Name) && !(expr.HasAgg(e.Name) && e.WithinGroup) {
		return nil, b.errAt(e, pgerr.WrongObjectType, "window function %s requires an OVER clause", e.Name)
	}
	if expr.HasAgg(e.Name) {
		return b.aggCall(ec, e)
	}
	if err := b.unknownFunction(ec, e); err != nil {
		return nil, err
	}
	if err := b.checkPlainCall(e); err != nil {
		return nil, err
	}
	args, names, err := b.callArgs(ec, e)
	if err != nil {
		return nil, err
	}
	if e.Variadic {
		return b.variadicCall(e, args)
	}
	// A type's name used as a function is a cast.
	if len(args) == 1 && !expr.HasFunc(e.Name) {
		if t, ok := types.ByName(e.Name); ok {
			return b.coerce(args[0], t, expr.Explicit, e)
		}
	}
	if e.Name == "pg_typeof" && len(args) == 1 && args[0].Type().ID == types.Unknown {
		return &expr.Const{Val: int64(705), Typ: types.TRegtype}, nil // the pseudo-type unknown
	}
	x, err := b.namedCall(e, args, names)
	if err != nil {
		return nil, err
	}
	if c, ok := x.(*expr.Call); ok && c.Fn.Set && !ec.allowSet {
		return nil, b.setNotAllowed(ec, e)
	}
	return x, nil
}

// setNotAllowed is the error of a set-returning function where there can be none.
func (b *binder) setNotAllowed(ec *exprContext, at sql.Node) error {
	lateral := "You might be able to move the set-returning function into a LATERAL FROM item."
	switch {
	case ec.inAgg && ec.clause == "FILTER":
	case ec.inAgg || ec.inGrouping:
		return pgerr.New(pgerr.FeatureNotSupported, "aggregate function calls cannot contain set-returning function calls").WithHint("%s", lateral).At(b.at(at))
	case ec.inWindow:
		return pgerr.New(pgerr.FeatureNotSupported, "window function calls cannot contain set-returning function calls").WithHint("%s", lateral).At(b.at(at))
	case ec.clause == "CASE" || ec.clause == "COALESCE":
		return pgerr.New(pgerr.FeatureNotSupported, "set-returning functions are not allowed in %s", ec.clause).WithHint("%s", lateral).At(b.at(at))
	}
	return b.errAt(at, pgerr.FeatureNotSupported, "set-returning functions are not allowed in %s", ec.clause)
}

// checkPlainCall refuses what only calls of aggregates may have.
func (b *binder) checkPlainCall(e *sql.FuncCall) error {
	switch {
	case e.Over != nil:
		return b.errAt(e, pgerr.WrongObjectType, "OVER specified, but %s is not a window function nor an aggregate function", e.Name)
	case e.Star:
		return b.errAt(e, pgerr.WrongObjectType, "%s(*) specified, but %s is not an aggregate function", e.Name, e.Name)
	case e.Distinct:
		return b.errAt(e, pgerr.WrongObjectType, "DISTINCT specified, but %s is not an aggregate function", e.Name)
	case e.WithinGroup:
		return b.errAt(e, pgerr.WrongObjectType, "WITHIN GROUP specified, but %s is not an aggregate function", e.Name)
	case len(e.OrderBy) > 0:
		return b.errAt(e, pgerr.WrongObjectType, "ORDER BY specified, but %s is not an aggregate function", e.Name)
	case e.Filter != nil:
		return b.errAt(e, pgerr.WrongObjectType, "FILTER specified, but %s is not an aggregate function", e.Name)
	}
	return nil
}

// unknownFunction finds out that a call written like that of an aggregate means
// no function at all.
func (b *binder) unknownFunction(ec *exprContext, e *sql.FuncCall) error {
	if !e.Star && !e.WithinGroup && !e.Distinct && len(e.OrderBy) == 0 && e.Filter == nil {
		return nil
	}
	args, err := b.plainArgs(ec, e)
	if err != nil {
		return err
	}
	for _, o := range e.OrderBy {
		if !e.WithinGroup {
			break
		}
		x, err := b.expr(ec, o.Expr)
		if err != nil {
			return err
		}
		args = append(args, x)
	}
	_, err = expr.ResolveFunc(e.Name, typesOf(args))
	return b.placed(misplacedOrder(err, e), e)
}

// misplacedOrder makes the hint of a function that is not found one for what has more
// behind ORDER BY than an aggregate is likely to be ordered by.
func misplacedOrder(err error, e *sql.FuncCall) error {
	if err == nil || len(e.OrderBy) < 2 || e.WithinGroup || pgerr.From(err).Code != pgerr.UndefinedFunction {
		return err
	}
	return pgerr.From(err).WithHint("No aggregate function matches the given name and argument types. Perhaps you misplaced ORDER BY; ORDER BY must appear after all regular arguments of the aggregate.")
}

// namedCall binds a call whose last arguments may be named.
func (b *binder) namedCall(e *sql.FuncCall, args []expr.Expr, names []string) (expr.Expr, error) {
	if len(names) == 0 {
		x, err := b.call(e.Name, e, args...)
		if err != nil && e.SQLSyntax {
			// Such calls name the function with its schema.
			pe := *pgerr.From(err)
			pe.Msg = strings.Replace(pe.Msg, "function "+e.Name+"(", "function pg_catalog."+e.Name+"(", 1)
			err = &pe
		}
		return x, err
	}
	f, args, err := expr.ResolveNamed(e.Name, expr.FuncsNamed(e.Name), args, names)
	if err != nil {
		return nil, b.placed(err, e)
	}
	return b.bindCall(f, args, e)
}

// variadicCall binds f(a, VARIADIC array).
func (b *binder) variadicCall(e *sql.FuncCall, args []expr.Expr) (expr.Expr, error) {
	last := args[len(args)-1]
	if t := last.Type(); t.ID == types.Unknown {
		x, err := b.coerce(last, types.ArrayOf(types.Text), expr.Implicit, e)
		if err != nil {
			return nil, err
		}
		last = x
	} else if t.ID != types.Array {
		return nil, b.errAt(e.Args[len(args)-1].Value, pgerr.DatatypeMismatch, "VARIADIC argument must be an array")
	}
	fixed := args[:len(args)-1]
	f, err := expr.ResolveFunc(e.Name, append(typesOf(fixed), last.Type().ElemType()))
	if err != nil || !f.Variadic || len(f.Args) != len(args) {
		return nil, b.placed(expr.NoFunction(e.Name, typesOf(args)), e)
	}
	params := f.ParamTypes(append(typesOf(fixed), last.Type().ElemType()))
	out, err := b.coerceArgs(params[:len(fixed)], fixed, e)
	if err != nil {
		return nil, err
	}
	if last, err = b.coerce(last, types.ArrayOf(params[len(fixed)].ID), expr.Implicit, e); err != nil {
		return nil, err
	}
	return expr.SpreadCall(f, out, last), nil
}

// callArgs binds the arguments of a call; names are those of the last ones.
func (b *binder) callArgs(ec *exprContext, e *sql.FuncCall) (args []expr.Expr, names []string, err error) {
	for _, a := range e.Args {
		switch {
		case a.Name == "" && len(names) > 0:
			return nil, nil, b.errAt(a.Value, pgerr.SyntaxError, "positional argument cannot follow named argument")
		case a.Name != "" && slices.Contains(names, a.Name):
			return nil, nil, b.errAt(e, pgerr.SyntaxError, "argument name \"%s\" used more than once", a.Name)
		case a.Name != "":
			names = append(names, a.Name)
		}
		x, err := b.expr(ec, a.Value)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, x)
	}
	return args, names, nil
}

// plainArgs is callArgs for calls that take no names.
func (b *binder) plainArgs(ec *exprContext, e *sql.FuncCall) ([]expr.Expr, error) {
	args, names, err := b.callArgs(ec, e)
	if err == nil && len(names) > 0 {
		_, _, err = expr.ResolveNamed(e.Name, nil, args, names)
		err = b.placed(err, e)
	}
	return args, err
}
