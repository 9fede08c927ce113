package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// readClocks makes the current time an input of a stream: what an expression
// computes of the time alone becomes a column of a Clock, which the rows are joined
// with. A condition on the time is then an ordinary join condition, by which rows
// come and go as time passes.
func readClocks(n plan.Node) plan.Node {
	return plan.Rewrite(n, func(x plan.Node) plan.Node {
		switch x := x.(type) {
		case *plan.Filter:
			return clockFilter(x.Input, x.Cond)
		case *plan.Project:
			in, exprs := clockInput(x.Input, x.Exprs)
			return &plan.Project{Input: in, Exprs: exprs, Out: x.Out}
		case *plan.ProjectSet:
			in, exprs := clockInput(x.Input, x.Exprs)
			return &plan.ProjectSet{Input: in, Exprs: exprs, Out: x.Out}
		case *plan.TableFunc:
			return clockFunction(x)
		case *plan.Join:
			return clockJoin(x)
		}
		return x
	})
}

// clockFilter joins with a Clock by the conditions that speak of the time. As a
// Clock is one row, each comparison by order can have one of its own, by which the
// rows are then ordered (see newThreshold).
func clockFilter(in plan.Node, cond expr.Expr) plan.Node {
	var plain, ordered, timed []expr.Expr
	for _, c := range plan.Conjuncts(cond) {
		switch {
		case !readsClock(c):
			plain = append(plain, c)
		case isOrder(c):
			ordered = append(ordered, c)
		default:
			timed = append(timed, c)
		}
	}
	in = withFilter(in, plain)
	for _, c := range ordered {
		in = joinClock(in, []expr.Expr{c})
	}
	if timed != nil {
		in = joinClock(in, timed)
	}
	return in
}

// joinClock keeps the rows of in that fulfil conditions on the time.
func joinClock(in plan.Node, conds []expr.Expr) plan.Node {
	width := len(in.Schema())
	t := clockTerms{base: width}
	conds = t.replace(conds)
	return narrowTo(&plan.Join{Kind: plan.Inner, Left: in, Right: t.clock(), Residual: and(conds)}, width)
}

// clockInput joins in with the Clock that the expressions over it need, if any.
func clockInput(in plan.Node, es []expr.Expr) (plan.Node, []expr.Expr) {
	if !slices.ContainsFunc(es, readsClock) {
		return in, es
	}
	t := clockTerms{base: len(in.Schema())}
	es = t.replace(es)
	return &plan.Join{Kind: plan.Inner, Left: in, Right: t.clock()}, es
}

// clockFunction calls a function in FROM for each value of its arguments.
func clockFunction(n *plan.TableFunc) plan.Node {
	if !slices.ContainsFunc(n.Args, readsClock) || n.Ordinality || n.Fn.Cols != nil {
		return n
	}
	t := clockTerms{}
	args := t.replace(n.Args)
	return &plan.ProjectSet{Input: t.clock(), Exprs: []expr.Expr{&expr.Call{Fn: n.Fn, Args: args, Typ: n.Out[0].Typ}}, Out: n.Out}
}

// clockJoin joins the right side with the Clock that the condition needs, which
// changes neither the number of its rows nor which of them match.
func clockJoin(n *plan.Join) plan.Node {
	if n.Residual == nil || !readsClock(n.Residual) {
		return n
	}
	nl, nr := len(n.Left.Schema()), len(n.Right.Schema())
	c := *n
	if n.Kind == plan.Inner {
		c.Residual = nil
		return clockFilter(&c, n.Residual)
	}
	t := clockTerms{base: nl + nr}
	c.Residual = t.replace([]expr.Expr{n.Residual})[0]
	c.Right = &plan.Join{Kind: plan.Inner, Left: n.Right, Right: t.clock()}
	return narrowTo(&c, len(n.Schema()))
}

func readsClock(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		found = found || isClock(x)
		return !found
	})
	return found
}

// isClock: the value changes without a change of the input.
func isClock(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	return ok && c.Fn.Clock
}

func isClockNode(n plan.Node) bool {
	_, ok := n.(*plan.Clock)
	return ok
}

// clockOnly reports whether a plan computes what it does of the time alone.
func clockOnly(n plan.Node) bool {
	if p, ok := n.(*plan.Project); ok {
		return clockOnly(p.Input)
	}
	return isClockNode(n)
}

// clockTerms are what expressions compute of the time alone. Term k stands in them
// as column base+k.
type clockTerms struct {
	base  int
	terms []expr.Expr
}

// replace puts columns for the largest parts that depend on nothing but the time.
func (t *clockTerms) replace(es []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	used := map[int]bool{}
	for i, e := range es {
		out[i] = expr.Rewrite(e, t.term)
		usedCols(out[i], used)
	}
	// Parts of larger parts are not needed for themselves.
	var kept []expr.Expr
	at := map[int]int{}
	for k, e := range t.terms {
		if used[t.base+k] {
			at[t.base+k] = t.base + len(kept)
			kept = append(kept, e)
		}
	}
	t.terms = kept
	for i, e := range out {
		out[i] = remap(e, func(c int) int {
			if k, ok := at[c]; ok {
				return k
			}
			return c
		})
	}
	return out
}

// term replaces an expression whose parts have been seen.
func (t *clockTerms) term(e expr.Expr) expr.Expr {
	if isClock(e) {
		c := e.(*expr.Call)
		if len(c.Args) == 0 {
			return t.add(e)
		}
		if offset, at := expr.AtZone(c); offset != nil {
			return at(expr.Rewrite(offset, t.term))
		}
		return t.age(c)
	}
	parts := expr.Children(e)
	timed := false
	for _, p := range parts {
		c, isCol := p.(*expr.Col)
		_, isConst := p.(*expr.Const)
		isTerm := isCol && c.Index >= t.base
		if !isTerm && !isConst {
			return e
		}
		timed = timed || isTerm
	}
	if call, ok := e.(*expr.Call); !timed || ok && (call.Fn.Set || call.Fn.Volatility == expr.Volatile) {
		return e
	}
	return t.add(expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			return t.terms[c.Index-t.base]
		}
		return x
	}))
}

// age writes age(x) as the difference of x and the beginning of the day.
func (t *clockTerms) age(c *expr.Call) expr.Expr {
	today, err := expr.NewCall("current_date")
	if err != nil {
		return c
	}
	day := t.add(&expr.Cast{Arg: today, To: types.TTimestamp})
	x := c.Args[0]
	if x.Type().ID == types.Timestamptz {
		x = &expr.Cast{Arg: x, To: types.TTimestamp}
	}
	age, err := expr.NewCall("age", day, x)
	if err != nil {
		return c
	}
	return t.term(age)
}

func (t *clockTerms) add(e expr.Expr) expr.Expr {
	t.terms = append(t.terms, e)
	return &expr.Col{Index: t.base + len(t.terms) - 1, Typ: e.Type()}
}

func (t *clockTerms) clock() plan.Node {
	n := &plan.Clock{Exprs: t.terms}
	for _, e := range t.terms {
		n.Out = append(n.Out, plan.Column{Name: "clock", Typ: e.Type()})
	}
	return n
}
