package planner

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/planner/plan"
)

// Canonical describes a plan such that two plans of one query have the same
// description exactly when the state of one fits the other: relations by number,
// columns by position and type. Renaming changes nothing.
func Canonical(n plan.Node) []string {
	return (&explainer{}).node(plan.Rewrite(n, nameless)).Lines()
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
			cols[i] = fmt.Sprintf("%d %s", k, n.Out[i].Typ)
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
