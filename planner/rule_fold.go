package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// foldConstants evaluates what does not depend on any row, and replaces a filter
// that lets nothing through by no rows.
func (b *binder) foldConstants(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		if v, ok := x.(*plan.Values); ok && len(v.Rows) > 1 {
			return x // a long VALUES list is evaluated once anyway
		}
		x = plan.MapExprs(x, b.foldExpr)
		f, ok := x.(*plan.Filter)
		if !ok {
			return x
		}
		var rest []expr.Expr
		for _, c := range plan.Conjuncts(f.Cond) {
			k, isConst := c.(*expr.Const)
			if isConst && k.Val != true {
				return &plan.Values{Out: f.Schema()}
			}
			if !isConst {
				rest = append(rest, c)
			}
		}
		return withFilter(f.Input, rest)
	})
}

// foldExpr folds bottom-up, so that every node is evaluated at most once. What
// fails stays, to fail if it is reached.
func (b *binder) foldExpr(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch y := x.(type) {
		case *expr.Call:
			if alwaysNull(y) {
				return &expr.Const{Typ: y.Type()}
			}
			if y.Fn.Volatility != expr.Immutable || y.Fn.Set {
				return x
			}
			if d := compareDates(y); d != nil {
				return d
			}
		case *expr.Cast:
			if sessionCast(y) {
				return x
			}
		case *expr.And:
			return foldLogic(x, y.Args, false)
		case *expr.Or:
			return foldLogic(x, y.Args, true)
		case *expr.Not, *expr.IsNull, *expr.IsBool, *expr.Distinct:
		default:
			return x
		}
		for _, c := range expr.Children(x) {
			if _, ok := c.(*expr.Const); !ok {
				return x
			}
		}
		v, err := expr.EvalConst(&expr.Ctx{Session: b.p.Session}, x)
		if err != nil {
			return x
		}
		return &expr.Const{Val: v, Typ: x.Type()}
	})
}

// alwaysNull reports whether a call is NULL whatever its other arguments are, which
// are then not evaluated, so that they cannot fail either.
func alwaysNull(c *expr.Call) bool {
	return !c.Fn.NotStrict && !c.Fn.Set && !c.Fn.Variadic && slices.ContainsFunc(c.Args, func(a expr.Expr) bool {
		k, ok := a.(*expr.Const)
		return ok && k.Val == nil
	})
}

// foldLogic drops the arguments of AND that are true, and of OR that are false;
// the opposite as the first argument decides alone.
func foldLogic(x expr.Expr, args []expr.Expr, or bool) expr.Expr {
	var rest []expr.Expr
	for _, a := range args {
		k, ok := a.(*expr.Const)
		if ok && k.Val == !or {
			continue
		}
		if ok && k.Val == or && len(rest) == 0 {
			return &expr.Const{Val: or, Typ: types.TBool}
		}
		rest = append(rest, a)
	}
	switch {
	case len(rest) == 0:
		return &expr.Const{Val: !or, Typ: types.TBool}
	case len(rest) == 1:
		return rest[0]
	case len(rest) == len(args):
		return x
	case or:
		return &expr.Or{Args: rest}
	}
	return &expr.And{Args: rest}
}
