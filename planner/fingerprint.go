package planner

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// Canonical describes a plan such that two plans of one query have the same
// description exactly when the state of one fits the other: relations by number,
// columns by position and type, users' types by number. Renaming changes nothing.
func Canonical(n plan.Node) []string {
	return (&explainer{}).node(plan.Rewrite(n, func(n plan.Node) plan.Node { return plan.MapExprs(nameless(n), typesByNumber) })).Lines()
}

// typesByNumber writes an expression so that the names of users' types, which may be
// renamed, do not show. The result is good for nothing else.
func typesByNumber(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		switch e := e.(type) {
		case *expr.Cast:
			if n := typeNumber(e.To); n != e.To.String() {
				return &expr.Call{Fn: &expr.Func{Name: "to " + n}, Args: []expr.Expr{e.Arg}, Typ: e.To}
			}
		case *expr.Const:
			if n := typeNumber(e.Typ); n != e.Typ.String() && e.Val != nil {
				return &expr.Call{Fn: &expr.Func{Name: n + " " + string(types.AppendText(nil, e.Typ, e.Val, nil))}, Typ: e.Typ}
			}
		}
		return e
	})
}

// typeNumber is the name of a type, with an OID for the name of one that users made.
func typeNumber(t types.T) string {
	if t.ID == types.Array && t.Elem != types.Invalid {
		if elem := t.ElemType(); t.String() == elem.String()+"[]" {
			return typeNumber(elem) + "[]"
		}
	}
	if d := t.Def(); d != nil && d.Name != "" {
		return fmt.Sprintf("type %d %d", d.OID, d.Relation)
	}
	return t.String()
}

// nameless returns the node without the names of relations and columns.
func nameless(n plan.Node) plan.Node {
	switch n := n.(type) {
	case *plan.Scan:
		c := *n
		cols := make([]string, len(n.Cols))
		for i, k := range n.Cols {
			if n.Numbers != nil {
				k = n.Numbers[k] - 1
			}
			cols[i] = fmt.Sprintf("%d %s", k, typeNumber(n.Out[i].Typ))
		}
		c.Name, c.Out = fmt.Sprintf("%d(%s)", n.Rel, strings.Join(cols, ", ")), unnamed(n.Out)
		return &c
	case *plan.Values:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.Clock:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.TableFunc:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.Project:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.ProjectSet:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.Join:
		if n.Lookup == nil {
			return n
		}
		c, k := *n, *n.Lookup
		k.Name = fmt.Sprint(k.Rel)
		c.Lookup = &k
		return &c
	case *plan.Aggregate:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.Union:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.Recursive:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.WorkTable:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	case *plan.Window:
		c := *n
		c.Out = unnamed(n.Out)
		return &c
	}
	return n
}

func unnamed(cols []plan.Column) []plan.Column {
	out := make([]plan.Column, len(cols))
	for i, c := range cols {
		out[i] = plan.Column{Typ: c.Typ}
	}
	return out
}
