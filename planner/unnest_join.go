package planner

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// join adds the domain to the side, or the sides, that must have it: those that
// refer to the row around, and those whose rows an outer join keeps for every value
// of the domain.
func (u *unnester) join(n *plan.Join) (plan.Node, bool) {
	nl, nr, nd := len(n.Left.Schema()), len(n.Right.Schema()), len(u.cols)
	lref, rref := u.needs(n.Left), u.needs(n.Right)
	cref := n.Residual != nil && u.needsIn(n.Residual)
	semi := n.Kind == plan.Semi || n.Kind == plan.Anti || n.Kind == plan.NullAnti
	if n.Kind == plan.NullAnti && (rref || cref) {
		return u.join(asAnti(n))
	}
	doLeft := lref || cref && n.Kind != plan.Right || n.Kind == plan.Left || n.Kind == plan.Full || semi || n.Kind == plan.Inner && !rref
	doRight := rref || n.Kind == plan.Right || n.Kind == plan.Full
	out := &plan.Join{Kind: n.Kind, LeftKeys: n.LeftKeys, RightKeys: n.RightKeys, NullSafe: slices.Clone(n.NullSafe)}
	ok := true
	if doLeft {
		if out.Left, ok = u.unnest(n.Left); !ok {
			return nil, false
		}
	} else {
		out.Left = u.lower(n.Left)
	}
	if doRight {
		if out.Right, ok = u.unnest(n.Right); !ok {
			return nil, false
		}
	} else {
		out.Right = u.lower(n.Right)
	}
	newLeft := len(out.Left.Schema())
	dom := nl // where the domain's columns are in the joined row
	if !doLeft || n.Kind == plan.Right {
		dom = newLeft + nr
	}
	if n.Residual != nil {
		e := remap(n.Residual, func(i int) int {
			if i >= nl {
				return i - nl + newLeft
			}
			return i
		})
		out.Residual = u.expr(e, dom)
	}
	if doLeft && doRight {
		out.LeftKeys, out.RightKeys = slices.Clone(out.LeftKeys), slices.Clone(out.RightKeys)
		for len(out.NullSafe) < len(out.LeftKeys) {
			out.NullSafe = append(out.NullSafe, false)
		}
		for i := range nd {
			out.LeftKeys = append(out.LeftKeys, nl+i)
			out.RightKeys = append(out.RightKeys, nr+i)
			out.NullSafe = append(out.NullSafe, true)
		}
	}
	if semi {
		return out, true
	}
	if n.Kind == plan.Full {
		return mergeDomains(out, nl, nr, nd), true
	}
	return pick(out, domainLast(nl, newLeft, nr, dom, nd)), true
}

// domainLast orders a joined row as left, right, domain.
func domainLast(nl, newLeft, nr, dom, nd int) []int {
	var cols []int
	for i := range nl {
		cols = append(cols, i)
	}
	for i := range nr {
		cols = append(cols, newLeft+i)
	}
	for i := range nd {
		cols = append(cols, dom+i)
	}
	return cols
}

// mergeDomains orders the row of a full join of two sides that both have the domain
// behind their columns as left, right, domain: the domain is that of whichever side
// is there.
func mergeDomains(j *plan.Join, nl, nr, nd int) plan.Node {
	p := pick(j, domainLast(nl, nl+nd, nr, nl, nd)).(*plan.Project)
	for i := nl + nr; i < nl+nr+nd; i++ {
		l := p.Exprs[i].(*expr.Col)
		r := &expr.Col{Index: l.Index + nd + nr, Typ: l.Typ}
		p.Exprs[i] = &expr.Coalesce{Args: []expr.Expr{l, r}, Typ: l.Typ}
	}
	return p
}

// asAnti writes NOT IN as an anti join in which an unknown comparison counts as a
// match, as keys cannot.
func asAnti(n *plan.Join) *plan.Join {
	return &plan.Join{Kind: plan.Anti, Left: n.Left, Right: n.Right, Residual: notFalse(n.Residual)}
}

// singleRow is a row for every value of the domain, of NULLs where the input has
// none. The input has one at most: what may have several is counted instead
// (attachChecked).
func (u *unnester) singleRow(n *plan.SingleRow) (plan.Node, bool) {
	in, ok := u.unnest(n.Input)
	if !ok {
		return nil, false
	}
	nd, width := len(u.cols), len(n.Input.Schema())
	once := slices.ContainsFunc(in.Props().Keys, func(k []int) bool {
		return !slices.ContainsFunc(k, func(c int) bool { return c < width })
	})
	if !once {
		return nil, false
	}
	join := &plan.Join{Kind: plan.Left, Left: u.domain(), Right: in}
	for i := range nd {
		join.LeftKeys = append(join.LeftKeys, i)
		join.RightKeys = append(join.RightKeys, width+i)
		join.NullSafe = append(join.NullSafe, true)
	}
	return pick(join, append(span(nd, width), span(0, nd)...)), true
}
