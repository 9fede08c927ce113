package plan

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

// WithChildren returns n over other inputs, which have the same number and, for
// nodes that do not state their columns themselves, the columns n's expressions
// expect. n is unchanged; it is returned itself when the inputs are the same.
func WithChildren(n Node, ch []Node) Node {
	old := n.Children()
	same := true
	for i := range old {
		same = same && old[i] == ch[i]
	}
	if same {
		return n
	}
	switch n := n.(type) {
	case *Upsert:
		return &Upsert{ch[0], n.Key, n.Keep}
	case *Filter:
		return &Filter{ch[0], n.Cond}
	case *Project:
		return &Project{ch[0], n.Exprs, n.Out}
	case *ProjectSet:
		return &ProjectSet{ch[0], n.Exprs, n.Out}
	case *Join:
		c := *n
		c.Left, c.Right = ch[0], ch[1]
		return &c
	case *Aggregate:
		c := *n
		c.Input = ch[0]
		return &c
	case *Union:
		return &Union{ch, n.Out}
	case *SetOp:
		return &SetOp{n.Kind, n.All, ch[0], ch[1]}
	case *Recursive:
		return &Recursive{ch[0], ch[1], n.ID, n.All, n.Out}
	case *TopN:
		c := *n
		c.Input = ch[0]
		return &c
	case *Sort:
		return &Sort{ch[0], n.Order}
	case *Limit:
		return &Limit{ch[0], n.Limit, n.Offset}
	case *Window:
		c := *n
		c.Input = ch[0]
		return &c
	case *Apply:
		c := *n
		c.Left, c.Right = ch[0], ch[1]
		return &c
	case *Threshold:
		return &Threshold{ch[0], ch[1], n.Col, n.Op}
	case *SingleRow:
		return &SingleRow{ch[0]}
	case *Exchange:
		return &Exchange{ch[0], n.Dist, n.Keys}
	case *Materialize:
		return &Materialize{ch[0], n.Rel, n.Key, n.Ordered}
	case *Sink:
		return &Sink{ch[0], n.ID, n.Key}
	}
	return n
}

// Rewrite rebuilds a plan bottom-up: f sees every node over its rewritten inputs
// and returns its replacement. Unchanged subtrees are shared.
func Rewrite(n Node, f func(Node) Node) Node {
	ch := n.Children()
	if len(ch) > 0 {
		out := make([]Node, len(ch))
		for i, c := range ch {
			out[i] = Rewrite(c, f)
		}
		n = WithChildren(n, out)
	}
	return f(n)
}

// MapExprs returns n with f applied to each of its own expressions (not those of
// its inputs). f gets whole expressions and never nil.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	one := func(e expr.Expr) expr.Expr {
		if e == nil {
			return nil
		}
		return f(e)
	}
	all := func(es []expr.Expr) []expr.Expr {
		if es == nil {
			return nil
		}
		out := make([]expr.Expr, len(es))
		for i, e := range es {
			out[i] = f(e)
		}
		return out
	}
	switch n := n.(type) {
	case *Scan:
		if n.Prefix == nil && n.Lo == nil && n.Hi == nil {
			return n
		}
		c := *n
		c.Prefix, c.Lo, c.Hi = all(n.Prefix), one(n.Lo), one(n.Hi)
		return &c
	case *Values:
		c := &Values{make([][]expr.Expr, len(n.Rows)), n.Out}
		for i, r := range n.Rows {
			c.Rows[i] = all(r)
		}
		return c
	case *Clock:
		return &Clock{all(n.Exprs), n.Out}
	case *TableFunc:
		c := *n
		c.Args = all(n.Args)
		return &c
	case *Filter:
		return &Filter{n.Input, f(n.Cond)}
	case *Project:
		return &Project{n.Input, all(n.Exprs), n.Out}
	case *ProjectSet:
		return &ProjectSet{n.Input, all(n.Exprs), n.Out}
	case *Join:
		c := *n
		c.Residual = one(n.Residual)
		return &c
	case *Limit:
		return &Limit{n.Input, one(n.Limit), one(n.Offset)}
	case *Window:
		c := *n
		c.Funcs = slices.Clone(n.Funcs)
		for i := range c.Funcs {
			f := &c.Funcs[i].Frame
			f.StartOffset, f.EndOffset = one(f.StartOffset), one(f.EndOffset)
		}
		return &c
	case *Apply:
		c := *n
		c.On = one(n.On)
		return &c
	}
	return n
}

// EachExpr calls f for each expression of n itself.
func EachExpr(n Node, f func(expr.Expr)) {
	MapExprs(n, func(e expr.Expr) expr.Expr { f(e); return e })
}

// Walk calls f for n and its inputs, parents first, until f returns false for a
// subtree.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	for _, c := range n.Children() {
		Walk(c, f)
	}
}

// WithParams returns n with the parameters $1, $2, … replaced by constants of
// their types. Missing values leave their parameters.
func WithParams(n Node, vals []types.Datum) Node {
	return Rewrite(n, func(x Node) Node {
		if s, ok := x.(*Scan); ok && s.Made != nil {
			c := *s
			c.Made = &Made{WithParams(s.Made.Root, vals)}
			return &c
		}
		uses := false
		EachExpr(x, func(e expr.Expr) {
			expr.Walk(e, func(y expr.Expr) bool {
				_, ok := y.(*expr.Param)
				uses = uses || ok
				return !uses
			})
		})
		if !uses {
			return x
		}
		return MapExprs(x, func(e expr.Expr) expr.Expr {
			return expr.Rewrite(e, func(y expr.Expr) expr.Expr {
				if p, ok := y.(*expr.Param); ok && p.Index <= len(vals) {
					return &expr.Const{Val: vals[p.Index-1], Typ: p.Typ}
				}
				return y
			})
		})
	})
}
