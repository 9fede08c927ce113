package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// maxFactored bounds the arms of an OR that the rules of this file look at.
const maxFactored = 64

// factorDisjunctions takes the conditions that all arms of an OR share out of it,
// so that an equality in each arm can become a join key.
func factorDisjunctions(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		switch y := x.(type) {
		case *plan.Filter:
			if c := factored(y.Cond); c != nil {
				return &plan.Filter{Input: y.Input, Cond: c}
			}
		case *plan.Join:
			if c := factored(y.Residual); c != nil {
				j := *y
				j.Residual = c
				return &j
			}
		}
		return x
	})
}

// factored returns the condition with its ORs factored, or nil if none can be.
func factored(cond expr.Expr) expr.Expr {
	var out []expr.Expr
	changed := false
	for _, c := range plan.Conjuncts(cond) {
		or, ok := c.(*expr.Or)
		if !ok || len(or.Args) > maxFactored || plan.IsVolatile(c) {
			out = append(out, c)
			continue
		}
		common, rest := sharedConjuncts(or)
		if len(common) == 0 {
			out = append(out, c)
			continue
		}
		changed = true
		out = append(out, common...)
		if rest != nil {
			out = append(out, rest)
		}
	}
	if !changed {
		return nil
	}
	return and(out)
}

// sharedConjuncts splits an OR into the conjuncts of all its arms and an OR of
// what else the arms ask; nil if one arm asks nothing else.
func sharedConjuncts(or *expr.Or) (common []expr.Expr, rest expr.Expr) {
	shared := map[string]int{}
	for _, a := range or.Args {
		mine := map[string]bool{}
		for _, c := range plan.Conjuncts(a) {
			if k := exprKey(c); !mine[k] {
				mine[k] = true
				shared[k]++
			}
		}
	}
	taken := map[string]bool{}
	for _, c := range plan.Conjuncts(or.Args[0]) {
		if k := exprKey(c); shared[k] == len(or.Args) && !taken[k] && !mayFail(c) {
			taken[k] = true
			common = append(common, c)
		}
	}
	if len(common) == 0 {
		return nil, nil
	}
	var arms []expr.Expr
	for _, a := range or.Args {
		var left []expr.Expr
		for _, c := range plan.Conjuncts(a) {
			if !taken[exprKey(c)] {
				left = append(left, c)
			}
		}
		if len(left) == 0 {
			return common, nil
		}
		arms = append(arms, and(left))
	}
	return common, &expr.Or{Args: arms}
}

// implied returns what an OR over both sides of a join says of one side alone (-1
// left, 1 right): each arm must say something of it. It is nil if nothing follows.
func implied(e expr.Expr, nl, side int) expr.Expr {
	or, ok := e.(*expr.Or)
	if !ok || len(or.Args) > maxFactored || sideOf(e, nl) != 0 {
		return nil
	}
	var arms []expr.Expr
	for _, a := range or.Args {
		var mine []expr.Expr
		for _, c := range plan.Conjuncts(a) {
			if sideOf(c, nl) == side && !mayFail(c) && !plan.IsVolatile(c) {
				mine = append(mine, c)
			}
		}
		if len(mine) == 0 {
			return nil
		}
		arms = append(arms, and(mine))
	}
	return &expr.Or{Args: arms}
}
