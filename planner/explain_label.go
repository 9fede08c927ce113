package planner

import (
	"fmt"
	"strings"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// labels are what EXPLAIN calls the columns of a node.
type labels []string

// longestLabel bounds an expression that stands for a column: beyond it the column's
// number does, as expressions over expressions could grow without end.
const longestLabel = 60

// at is the label of column i, its number if it has none.
func (l labels) at(i int) string {
	if i >= len(l) || l[i] == "" {
		return fmt.Sprintf("$%d", i)
	}
	return l[i]
}

func (l labels) list(cols []int) string {
	s := make([]string, len(cols))
	for i, c := range cols {
		s[i] = l.at(c)
	}
	return "(" + strings.Join(s, ", ") + ")"
}

// columnLabels labels columns by their names.
func columnLabels(cols []plan.Column) labels {
	out := make(labels, len(cols))
	for i, c := range cols {
		if c.Name != "" {
			out[i] = sql.QuoteIdent(c.Name)
		}
	}
	return out
}

// lacksName reports whether a column is better called by its expression.
func lacksName(c plan.Column) bool { return c.Name == "" || c.Name == "?column?" }

// labels labels the columns of a node: by their names, or where they have none by
// what they are computed from; in a canonical plan by their numbers alone.
func (e *explainer) labels(n plan.Node) labels {
	if e.known == nil {
		return columnLabels(n.Schema())
	}
	if l, ok := e.known[n]; ok {
		return l
	}
	l := e.label(n)
	e.known[n] = l
	return l
}

func (e *explainer) label(n plan.Node) labels {
	l := columnLabels(n.Schema())
	fill := func(at int, from func(i int) string) {
		for i, c := range n.Schema()[at:] {
			if !lacksName(c) {
				continue
			}
			if s := from(i); len(s) <= longestLabel {
				l[at+i] = s
			}
		}
	}
	switch n := n.(type) {
	case *plan.Project:
		in := e.labels(n.Input)
		fill(0, func(i int) string { return exprText(n.Exprs[i], in) })
	case *plan.Aggregate:
		in := e.labels(n.Input)
		fill(0, func(i int) string {
			if i < len(n.Group) {
				return in.at(n.Group[i])
			}
			return aggText(n.Aggs[i-len(n.Group)], in)
		})
	case *plan.Join:
		in := e.both(n.Left, n.Right)
		fill(0, in.at)
	case *plan.Window:
		in := e.labels(n.Input)
		fill(0, func(i int) string {
			if i < len(in) {
				return in.at(i)
			}
			return windowText(n.Funcs[i-len(in)], in)
		})
	case *plan.Exchange, *plan.Filter, *plan.Sort, *plan.Limit, *plan.Materialize, *plan.Sink, *plan.Threshold, *plan.SingleRow, *plan.TopN:
		in := e.labels(n.Children()[0])
		fill(0, in.at)
	}
	return l
}

// both labels the columns of two sides.
func (e *explainer) both(left, right plan.Node) labels {
	l := e.labels(left)
	return append(l[:len(l):len(l)], e.labels(right)...)
}
