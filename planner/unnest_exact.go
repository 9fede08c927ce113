package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// The domain of an unnester holds one of several values that are equal, as 1.0 and
// 1.00 are. Where the right side shows more of a value than a comparison does, the
// domain must tell them apart: their text becomes a column of the left side, and of
// the domain.

// withTexts is a with the texts of the columns that dependent, of its right side, shows
// at the right of its left side; texts are their places.
func (b *binder) withTexts(a *plan.Apply, dependent plan.Node) (wide *plan.Apply, texts []int, err error) {
	shown := shownColumns(dependent)
	if len(shown) == 0 {
		return a, nil, nil
	}
	nl := len(a.Left.Schema())
	left := &plan.Project{Input: a.Left, Exprs: identity(a.Left), Out: slices.Clone(a.Left.Schema())}
	for _, c := range shown {
		t, err := b.tellApart(&expr.Col{Index: c, Typ: left.Out[c].Typ})
		if err != nil {
			return nil, nil, err
		}
		texts = append(texts, len(left.Out))
		left.Exprs = append(left.Exprs, t)
		left.Out = append(left.Out, plan.Column{Name: left.Out[c].Name, Typ: t.Type()})
	}
	c := *a
	c.Left = left
	c.On = remap(a.On, func(i int) int {
		if i >= nl {
			return i + len(shown)
		}
		return i
	})
	return &c, texts, nil
}

// tellApart is an expression that differs where equal values of c differ: the text, or
// for character, whose text loses the blanks at its end, the length.
func (b *binder) tellApart(c *expr.Col) (expr.Expr, error) {
	if c.Typ.ID == types.Bpchar {
		fn, err := expr.ResolveFunc("octet_length", []types.T{c.Typ})
		if err != nil {
			return nil, err
		}
		return &expr.Call{Fn: fn, Args: []expr.Expr{c}, Typ: types.TInt4}, nil
	}
	return b.coerce(c, types.TText, expr.Explicit, nowhere)
}

// withoutTexts takes the texts of the left side, of nl columns without them, out of
// an unnested Apply of width columns.
func withoutTexts(n plan.Node, texts []int, nl, width int) plan.Node {
	if len(texts) == 0 {
		return n
	}
	return pick(n, append(all(nl), span(nl+len(texts), width-nl)...))
}

// shownColumns are the columns of the row around, of types whose equal values can
// differ, that a plan does not just compare.
func shownColumns(n plan.Node) []int {
	var out []int
	note := func(o *expr.Outer, depth int) {
		if o.Level-depth == 1 && differ(o.Typ) && !slices.Contains(out, o.Index) {
			out = append(out, o.Index)
		}
	}
	var visit func(n plan.Node, depth int)
	visit = func(n plan.Node, depth int) {
		plan.EachExpr(n, func(e expr.Expr) {
			compared := map[*expr.Outer]int{}
			all := map[*expr.Outer]int{}
			expr.Walk(e, func(x expr.Expr) bool {
				switch x := x.(type) {
				case *expr.Outer:
					all[x]++
				case *expr.IsNull:
					countOuter(compared, x.Arg)
				case *expr.Call:
					if mirrored[x.Fn.Name] != "" && len(x.Args) == 2 {
						countOuter(compared, x.Args...)
					}
				}
				return true
			})
			for o, times := range all {
				if times > compared[o] {
					note(o, depth)
				}
			}
		})
		for i, c := range n.Children() {
			d := depth
			if _, ok := n.(*plan.Apply); ok && i == 1 {
				d++
			}
			visit(c, d)
		}
	}
	visit(n, 0)
	slices.Sort(out)
	return out
}

func countOuter(counts map[*expr.Outer]int, es ...expr.Expr) {
	for _, e := range es {
		if o, ok := e.(*expr.Outer); ok {
			counts[o]++
		}
	}
}

// differ reports whether equal values of a type can be told apart.
func differ(t types.T) bool {
	switch t.ID {
	case types.Numeric, types.Float4, types.Float8, types.Interval, types.Bpchar, types.JSONB, types.Array, types.Record,
		types.Numrange, types.Nummultirange:
		return true
	}
	return false
}
