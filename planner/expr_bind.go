package planner

import (
	"strconv"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// exprContext says where an expression stands: its names, and what it may hold.
type exprContext struct {
	sc     *scope
	clause string // as PostgreSQL's messages name it: WHERE, HAVING, JOIN conditions
	// aggs and wins collect the calls found; nil: not allowed here.
	aggs *[]*aggItem
	wins *[]*winItem
	// windows are the WINDOW clause's definitions.
	windows []sql.WindowDef
	// inAgg and inWindow tell that the expression is an argument of one.
	inAgg, inWindow, inGrouping bool
	allowSet                    bool
	// noSub names the place in the error for subqueries; empty: allowed.
	noSub string
	// grouping collects GROUPING() calls; nil: not allowed.
	grouping *[]*groupingRef
}

// withoutSets is ec for a place where a set-returning function could be called
// too often or not at all.
func (ec *exprContext) withoutSets(clause string) *exprContext {
	if !ec.allowSet {
		return ec
	}
	c := *ec
	c.allowSet, c.clause = false, clause
	return &c
}

// expr binds an expression. Untyped literals and parameters stay Unknown until
// their context gives them a type.
func (b *binder) expr(ec *exprContext, e sql.Expr) (expr.Expr, error) {
	if err := b.enter(e); err != nil {
		return nil, err
	}
	defer b.leave()
	switch e := e.(type) {
	case *sql.Literal:
		return b.literal(e, false)
	case *sql.ColumnRef:
		if e.Star {
			if len(e.Parts) > 0 {
				row, err := b.wholeRow(ec.sc, e.Parts, e)
				if row == nil && err == nil {
					err = b.noTable(ec.sc, e.Parts, e)
				}
				return row, err
			}
			return nil, b.errAt(e, pgerr.SyntaxError, "row expansion via \"*\" is not supported here")
		}
		return b.columnRef(ec.sc, e)
	case *sql.Param:
		if x, err := b.functionParam(ec.sc, e.N, e); x != nil || err != nil {
			return x, err
		}
		return b.param(e)
	case *sql.OpExpr:
		return b.opExpr(ec, e)
	case *sql.BoolExpr:
		return b.boolExpr(ec, e)
	case *sql.NotExpr:
		a, err := b.boolArg(ec, e.Arg, "NOT")
		if err != nil {
			return nil, err
		}
		return &expr.Not{Arg: a}, nil
	case *sql.IsTest:
		return b.isTest(ec, e)
	case *sql.DistinctFrom:
		return b.distinctFrom(ec, e)
	case *sql.Between:
		return b.between(ec, e)
	case *sql.InList:
		return b.inList(ec, e)
	case *sql.LikeExpr:
		return b.like(ec, e)
	case *sql.QuantExpr:
		if e.Query != nil {
			return b.quantSubquery(ec, e.Arg, e.Op, e.All, e.Query, e)
		}
		return b.quantArray(ec, e)
	case *sql.InSubquery:
		s, err := b.quantSubquery(ec, e.Arg, "=", false, e.Query, e)
		if err == nil && e.Not {
			return &expr.Not{Arg: s}, nil
		}
		return s, err
	case *sql.ExistsExpr:
		return b.exists(ec, e)
	case *sql.SubqueryExpr:
		return b.scalarSubquery(ec, e)
	case *sql.ArraySubquery:
		return b.arraySubquery(ec, e)
	}
	return b.compound(ec, e)
}

// compound binds the rest of the expressions: those that build values.
func (b *binder) compound(ec *exprContext, e sql.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *sql.ArrayExpr:
		return b.arrayExpr(ec, e, types.T{})
	case *sql.RowExpr:
		args, err := b.rowFields(ec, e.Fields)
		if err != nil {
			return nil, err
		}
		names := make([]string, len(args))
		for i := range args {
			names[i] = "f" + strconv.Itoa(i+1)
		}
		return expr.NewRow(args, names), nil
	case *sql.CaseExpr:
		return b.caseExpr(ec, e)
	case *sql.CoalesceExpr:
		args, t, err := b.commonArgs(ec.withoutSets("COALESCE"), e.Args, "COALESCE", e)
		if err != nil {
			return nil, err
		}
		return &expr.Coalesce{Args: args, Typ: t}, nil
	case *sql.MinMax:
		what := "GREATEST"
		if e.Least {
			what = "LEAST"
		}
		args, t, err := b.commonArgs(ec, e.Args, what, e)
		if err != nil {
			return nil, err
		}
		return &expr.MinMax{Args: args, Greatest: !e.Least, Typ: t}, nil
	case *sql.NullIf:
		return b.nullIf(ec, e)
	case *sql.FuncCall:
		return b.funcCall(ec, e)
	case *sql.Cast:
		return b.cast(ec, e)
	case *sql.Subscript:
		return b.subscript(ec, e)
	case *sql.FieldSelect:
		return b.fieldSelect(ec, e)
	case *sql.Collate:
		return b.collate(ec, e)
	case *sql.SQLValue:
		return b.sqlValue(e)
	case *sql.Grouping:
		return b.groupingCall(ec, e)
	case *sql.DefaultExpr:
		return nil, b.errAt(e, pgerr.SyntaxError, "DEFAULT is not allowed in this context")
	case *sql.CurrentOf:
		return nil, b.unsupported(e, "WHERE CURRENT OF", "Update by the primary key.")
	}
	return nil, b.unsupported(e, "this expression", "Compute it with the functions that pg_proc lists.")
}

func (b *binder) exprs(ec *exprContext, es []sql.Expr) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		x, err := b.expr(ec, e)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// literal binds a constant; neg puts a minus before a number.
func (b *binder) literal(l *sql.Literal, neg bool) (expr.Expr, error) {
	text := l.Text
	if neg {
		text = "-" + text
	}
	switch l.Kind {
	case sql.LitNull:
		return &expr.Const{Typ: types.TUnknown}, nil
	case sql.LitBool:
		return &expr.Const{Val: l.Text == "true", Typ: types.TBool}, nil
	case sql.LitInt:
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			if v == int64(int32(v)) {
				return &expr.Const{Val: int32(v), Typ: types.TInt4}, nil
			}
			return &expr.Const{Val: v, Typ: types.TInt8}, nil
		}
		fallthrough
	case sql.LitFloat:
		return b.coerce(&expr.Const{Val: text, Typ: types.TUnknown}, types.TNumeric, expr.Explicit, l)
	case sql.LitString:
		k := &expr.Const{Val: l.Text, Typ: types.TUnknown}
		b.litAt[k] = b.at(l)
		if b.pins != nil {
			b.pins.literals[k] = l
		}
		return k, nil
	}
	v, err := types.ParseBits(map[sql.LitKind]string{sql.LitBit: "b", sql.LitHex: "x"}[l.Kind] + l.Text)
	if err != nil {
		return nil, b.placed(err, l)
	}
	return &expr.Const{Val: string(types.AppendBits(nil, v)), Typ: types.TBit}, nil
}

// param binds $n.
func (b *binder) param(e *sql.Param) (expr.Expr, error) {
	s := b.params
	if b.text == "" && b.p.Text != "" && s.values == nil && len(s.types) == 0 || e.N > 65535 || e.N < 1 {
		return nil, b.errAt(e, pgerr.UndefinedParameter, "there is no parameter $%d", e.N)
	}
	for len(s.types) < e.N {
		s.types = append(s.types, types.TUnknown)
	}
	if _, ok := s.pos[e.N]; !ok {
		s.pos[e.N] = b.at(e)
	}
	t := s.types[e.N-1]
	u := t.Underlying()
	var x expr.Expr = &expr.Param{Index: e.N, Typ: u}
	if e.N <= len(s.values) && t.ID != types.Unknown {
		x = &expr.Const{Val: s.values[e.N-1], Typ: u}
	}
	if t.Ref != 0 && t.HoldsDomain() { // the value was read as one of what the domain is over
		return b.constrained(x, t)
	}
	return x, nil
}

// setParam gives an untyped parameter its type.
func (b *binder) setParam(p *expr.Param, t types.T) expr.Expr {
	t = t.Base()
	if known := b.params.types[p.Index-1]; known.ID != types.Unknown {
		t = known
	}
	b.params.types[p.Index-1] = t
	return &expr.Param{Index: p.Index, Typ: t}
}

// condition binds a boolean condition of a clause.
func (b *binder) condition(ec *exprContext, e sql.Expr, name string) (expr.Expr, error) {
	return b.boolArg(ec, e, name)
}

// boolArg binds an argument that must be boolean.
func (b *binder) boolArg(ec *exprContext, e sql.Expr, what string) (expr.Expr, error) {
	x, err := b.expr(ec, e)
	if err != nil {
		return nil, err
	}
	return b.asBool(x, e, what)
}

func (b *binder) asBool(x expr.Expr, at sql.Node, what string) (expr.Expr, error) {
	if t := x.Type(); t.ID != types.Bool && t.ID != types.Unknown {
		return nil, b.errAt(leftmost(at), pgerr.DatatypeMismatch, "argument of %s must be type boolean, not type %s", what, t.Base())
	}
	return b.coerce(x, types.TBool, expr.Implicit, at)
}

func (b *binder) boolExpr(ec *exprContext, e *sql.BoolExpr) (expr.Expr, error) {
	what := "AND"
	if e.Or {
		what = "OR"
	}
	args := make([]expr.Expr, len(e.Args))
	for i, a := range e.Args {
		x, err := b.boolArg(ec, a, what)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	if e.Or {
		return &expr.Or{Args: args}, nil
	}
	return &expr.And{Args: args}, nil
}

// and joins conditions; none gives nil.
func and(cs []expr.Expr) expr.Expr {
	switch len(cs) {
	case 0:
		return nil
	case 1:
		return cs[0]
	}
	return &expr.And{Args: cs}
}

func (b *binder) isTest(ec *exprContext, e *sql.IsTest) (expr.Expr, error) {
	if e.Kind == sql.TestNull {
		x, err := b.expr(ec, e.Arg)
		if err != nil {
			return nil, err
		}
		if _, isParam := x.(*expr.Param); !isParam {
			if x, err = b.toText(x); err != nil {
				return nil, err
			}
		}
		if row, ok := x.(*expr.MakeRow); ok {
			return rowIsNull(row, e.Not), nil
		}
		if x.Type().ID == types.Record {
			return expr.RowIsNull(x, e.Not), nil
		}
		return &expr.IsNull{Arg: x, Negate: e.Not}, nil
	}
	word := map[sql.TestKind]string{sql.TestTrue: "TRUE", sql.TestFalse: "FALSE", sql.TestUnknown: "UNKNOWN"}[e.Kind]
	if e.Not {
		word = "NOT " + word
	}
	x, err := b.boolArg(ec, e.Arg, "IS "+word)
	if err != nil {
		return nil, err
	}
	if e.Kind == sql.TestUnknown {
		return &expr.IsNull{Arg: x, Negate: e.Not}, nil
	}
	return &expr.IsBool{Arg: x, Want: e.Kind == sql.TestTrue, Negate: e.Not}, nil
}

// rowIsNull: a row IS NULL when all its fields are, IS NOT NULL when none is.
func rowIsNull(row *expr.MakeRow, not bool) expr.Expr {
	var cs []expr.Expr
	for _, a := range row.Args {
		cs = append(cs, &expr.IsNull{Arg: a, Negate: not})
	}
	if len(cs) == 0 {
		return &expr.Const{Val: true, Typ: types.TBool}
	}
	return and(cs)
}

func (b *binder) distinctFrom(ec *exprContext, e *sql.DistinctFrom) (expr.Expr, error) {
	l, err := b.expr(ec, e.Left)
	if err != nil {
		return nil, err
	}
	r, err := b.expr(ec, e.Right)
	if err != nil {
		return nil, err
	}
	if isRow(l) && isRow(r) {
		return b.distinctRows(e, l.(*expr.MakeRow), r.(*expr.MakeRow))
	}
	return b.distinct(e, l, r)
}

// distinct is IS [NOT] DISTINCT FROM of two values.
func (b *binder) distinct(e *sql.DistinctFrom, l, r expr.Expr) (expr.Expr, error) {
	// The equality operator says which types the sides get.
	eq, err := b.op("=", e, l, r)
	if err != nil {
		return nil, err
	}
	if c, ok := eq.(*expr.Call); ok && len(c.Args) == 2 && c.Args[0].Type().ID == c.Args[1].Type().ID {
		return &expr.Distinct{L: c.Args[0], R: c.Args[1], Negate: e.Not}, nil
	}
	t, err := expr.CommonTypeFor("IS DISTINCT FROM", []types.T{l.Type(), r.Type()})
	if err != nil {
		return nil, b.placed(err, e)
	}
	if l, err = b.coerce(l, t, expr.Implicit, e.Left); err != nil {
		return nil, err
	}
	if r, err = b.coerce(r, t, expr.Implicit, e.Right); err != nil {
		return nil, err
	}
	return &expr.Distinct{L: l, R: r, Negate: e.Not}, nil
}

func (b *binder) between(ec *exprContext, e *sql.Between) (expr.Expr, error) {
	xs, err := b.exprs(ec, []sql.Expr{e.Arg, e.Low, e.High})
	if err != nil {
		return nil, err
	}
	within := func(lo, hi expr.Expr) (expr.Expr, error) {
		ge, err := b.compare(">=", e, xs[0], lo)
		if err != nil {
			return nil, err
		}
		le, err := b.compare("<=", e, xs[0], hi)
		if err != nil {
			return nil, err
		}
		return &expr.And{Args: []expr.Expr{ge, le}}, nil
	}
	out, err := within(xs[1], xs[2])
	if err != nil {
		return nil, err
	}
	if e.Symmetric {
		other, err := within(xs[2], xs[1])
		if err != nil {
			return nil, err
		}
		out = &expr.Or{Args: []expr.Expr{out, other}}
	}
	if e.Not {
		return &expr.Not{Arg: out}, nil
	}
	return out, nil
}

// inList binds IN (a, b, ...): one In when the types have a common one, else a
// chain of comparisons, as PostgreSQL does.
func (b *binder) inList(ec *exprContext, e *sql.InList) (expr.Expr, error) {
	arg, err := b.expr(ec, e.Arg)
	if err != nil {
		return nil, err
	}
	list, err := b.exprs(ec, e.List)
	if err != nil {
		return nil, err
	}
	if !isRow(arg) {
		ts := []types.T{arg.Type()}
		for _, x := range list {
			ts = append(ts, x.Type())
		}
		if t, err := expr.CommonTypeFor("IN", ts); err == nil {
			if _, err := expr.ResolveOp("=", t, t); err != nil {
				return nil, b.placed(err, e)
			}
			return b.typedIn(e, arg, list, t)
		}
	}
	var alts []expr.Expr
	for i, x := range list {
		l, r, err := b.rowPair(ec, e.Arg, e.List[i], arg, x)
		if err != nil {
			return nil, err
		}
		eq, err := b.compare("=", e, l, r)
		if err != nil {
			return nil, err
		}
		alts = append(alts, eq)
	}
	var out expr.Expr = alts[0]
	if len(alts) > 1 {
		out = &expr.Or{Args: alts}
	}
	if e.Not {
		return &expr.Not{Arg: out}, nil
	}
	return out, nil
}

func (b *binder) typedIn(e *sql.InList, arg expr.Expr, list []expr.Expr, t types.T) (expr.Expr, error) {
	a, err := b.coerce(arg, t, expr.Implicit, e.Arg)
	if err != nil {
		return nil, err
	}
	out := &expr.In{Arg: a, List: make([]expr.Expr, len(list)), Negate: e.Not}
	for i, x := range list {
		if out.List[i], err = b.coerce(x, t, expr.Implicit, e.List[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *binder) like(ec *exprContext, e *sql.LikeExpr) (expr.Expr, error) {
	xs, err := b.exprs(ec, []sql.Expr{e.Arg, e.Pattern})
	if err != nil {
		return nil, err
	}
	pattern, op := xs[1], "~~"
	if e.Escape != nil {
		esc, err := b.expr(ec, e.Escape)
		if err != nil {
			return nil, err
		}
		fn := "like_escape"
		if e.Kind == sql.Similar {
			fn = "similar_to_escape"
		}
		if pattern, err = b.call(fn, e, pattern, esc); err != nil {
			return nil, err
		}
	} else if e.Kind == sql.Similar {
		if pattern, err = b.call("similar_to_escape", e, pattern); err != nil {
			return nil, err
		}
	}
	switch e.Kind {
	case sql.ILike:
		op = "~~*"
	case sql.Similar:
		op = "~"
	}
	if e.Not {
		op = "!" + op
	}
	return b.op(op, e, xs[0], pattern)
}
