package planner

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// implies reports whether rows for which cond is true have pred true, as far as
// simple rules tell: a condition implies itself, a comparison of something with a
// constant implies wider ones of the same thing and that it is not NULL. Both are
// over the same row.
func implies(cond, pred expr.Expr) bool {
	for _, p := range plan.Conjuncts(pred) {
		if !impliesOne(cond, p) {
			return false
		}
	}
	return true
}

func impliesOne(cond, pred expr.Expr) bool {
	if or, ok := cond.(*expr.Or); ok {
		for _, a := range or.Args {
			if !implies(a, pred) {
				return false
			}
		}
		return true
	}
	if and, ok := cond.(*expr.And); ok {
		for _, a := range and.Args {
			if impliesOne(a, pred) {
				return true
			}
		}
		return false
	}
	if keyText(cond) == keyText(pred) {
		return true
	}
	if or, ok := pred.(*expr.Or); ok {
		for _, a := range or.Args {
			if implies(cond, a) {
				return true
			}
		}
		return false
	}
	if in, ok := cond.(*expr.In); ok && !in.Negate {
		return impliesNotNull(in.Arg, pred)
	}
	c, ok := comparisonOf(cond)
	if !ok {
		return false
	}
	if impliesNotNull(c.arg, pred) {
		return true
	}
	p, ok := comparisonOf(pred)
	return ok && keyText(c.arg) == keyText(p.arg) && c.within(p)
}

// impliesNotNull: pred says no more than that arg is not NULL.
func impliesNotNull(arg, pred expr.Expr) bool {
	n, ok := pred.(*expr.IsNull)
	return ok && n.Negate && keyText(n.Arg) == keyText(arg)
}

// comparison is arg op value, with the comparison functions of its type by
// operator; value is a constant, or something else that is fixed for the
// statement.
type comparison struct {
	arg   expr.Expr
	op    string
	value expr.Expr
}

var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}

func comparisonOf(e expr.Expr) (c comparison, ok bool) {
	call, ok := e.(*expr.Call)
	if !ok || len(call.Args) != 2 || mirrored[call.Fn.Name] == "" {
		return c, false
	}
	c = comparison{call.Args[0], call.Fn.Name, call.Args[1]}
	if constantLike(c.arg) {
		c = comparison{c.value, mirrored[c.op], c.arg}
	}
	return c, constantLike(c.value)
}

// within: every value that satisfies c satisfies p, which is of the same thing.
func (c comparison) within(p comparison) bool {
	a, ok := c.value.(*expr.Const)
	b, ok2 := p.value.(*expr.Const)
	if !ok || !ok2 || a.Val == nil || b.Val == nil || a.Typ.Base() != b.Typ.Base() {
		return false
	}
	holds := func(op string) bool {
		fn, err := expr.ResolveOp(op, a.Typ, b.Typ)
		if err != nil {
			return false
		}
		v, err := expr.EvalConst(&expr.Ctx{Session: &expr.Session{}}, &expr.Call{Fn: fn, Args: []expr.Expr{a, b}, Typ: fn.Ret})
		return err == nil && v == true
	}
	switch p.op {
	case ">", ">=":
		switch c.op {
		case "=":
			return holds(p.op)
		case ">":
			return holds(">=")
		case ">=":
			return holds(p.op)
		}
	case "<", "<=":
		switch c.op {
		case "=":
			return holds(p.op)
		case "<":
			return holds("<=")
		case "<=":
			return holds(p.op)
		}
	case "=":
		return c.op == "=" && holds("=")
	case "<>":
		return c.op == "=" && holds("<>") || c.op == ">" && holds(">=") || c.op == "<" && holds("<=")
	}
	return false
}

// keyText is a text that two expressions over the same row share only if they are
// the same.
func keyText(e expr.Expr) string {
	s := exprText(e, nil)
	if strings.Contains(s, "*expr.") {
		// Some part has no text of its own.
		return fmt.Sprintf("%p", e)
	}
	return s
}
