package planner

import (
	"fmt"
	"slices"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// streamKind says what comes out of a node of a streaming plan: rows that are
// never taken back, changes of rows with a key, or changes of whole rows.
func streamKind(p plan.Props) string {
	switch {
	case p.AppendOnly:
		return "append-only"
	case len(p.Keys) > 0:
		return "upsert"
	}
	return "retract"
}

// What the memory of a record takes besides its row, in bytes.
const (
	recordBytes = 48
	varBytes    = 16 // a value without a fixed width, for want of better knowledge
)

// stateLines tell what a streaming operator keeps and how much that may be, by the
// sizes that its relations have now.
func (e *explainer) stateLines(n plan.Node) []string {
	kept := func(name string, rows float64, in plan.Node) string {
		return fmt.Sprintf("%s about %s rows, %s", name, roundCount(rows), roundBytes(rows*(recordBytes+rowBytes(in.Schema()))))
	}
	est := e.est
	switch n := n.(type) {
	case *plan.Join:
		right := kept("right", est.of(n.Right), n.Right)
		if n.Kind > plan.Full && n.Residual == nil && n.Kind != plan.NullAnti {
			right = fmt.Sprintf("keys of right, at most %s", roundBytes(est.of(n.Right)*recordBytes))
		}
		left := kept("left", est.of(n.Left), n.Left)
		if k := n.Lookup; k != nil {
			return []string{"State: " + [2]string{right, left}[k.Side]}
		}
		return []string{"State: " + left + "; " + right}
	case *plan.Aggregate:
		s := "State: " + kept("groups", est.of(n), n)
		for _, a := range n.Aggs {
			if a.Distinct || keepsValues(a.Fn.Name) && !plan.AppendOnly(n.Input) || len(a.OrderBy) > 0 {
				s += "; " + kept("values for "+a.Fn.Name, est.of(n.Input), n.Input)
				break
			}
		}
		return []string{s}
	case *plan.TopN:
		if n.Limit >= 0 && len(n.Partition) == 0 && plan.AppendOnly(n.Input) && !n.WithTies {
			return []string{"State: " + kept("best", float64(n.Limit+n.Offset), n.Input)}
		}
		return []string{"State: " + kept("input", est.of(n.Input), n.Input)}
	case *plan.Window:
		return []string{"State: " + kept("input", est.of(n.Input), n.Input)}
	case *plan.SetOp:
		return []string{"State: " + kept("left", est.of(n.Left), n.Left) + "; " + kept("right", est.of(n.Right), n.Right)}
	case *plan.Threshold:
		return []string{"State: " + kept("input", est.of(n.Input), n.Input)}
	case *plan.SingleRow:
		return []string{"State: " + kept("input", est.of(n.Input), n.Input)}
	case *plan.Upsert:
		return []string{"State: " + kept("keys", est.of(n), n)}
	case *plan.Recursive:
		if n.All {
			return []string{"State: none between epochs"}
		}
		return []string{"State: " + kept("rows by iteration", est.of(n), n)}
	case *plan.Materialize:
		return []string{"Stored: " + kept("rows", est.of(n.Input), n.Input)}
	}
	return nil
}

// keepsValues: when a row goes, the aggregate needs the others.
func keepsValues(fn string) bool {
	switch fn {
	case "count", "sum", "avg", "variance", "var_pop", "var_samp", "stddev", "stddev_pop", "stddev_samp", "bool_and", "bool_or", "every":
		return false
	}
	return true
}

// warning says why keeping an operator's result up to date may be costly.
func warning(n plan.Node) string {
	switch n := n.(type) {
	case *plan.Join:
		if len(n.LeftKeys) > 0 || atMostOne(n.Left) || atMostOne(n.Right) {
			return ""
		}
		if n.Residual == nil {
			return "Warning: a cross product; each change on one side changes as many rows as the other side has"
		}
		return "Warning: no equality joins the sides, so each change is compared with all rows of the other side"
	case *plan.Window:
		if !slices.ContainsFunc(n.Funcs, func(f plan.WindowFunc) bool { return reachesFar(f) }) {
			return ""
		}
		if len(n.Partition) == 0 {
			return "Warning: without PARTITION BY, each change computes the functions of all rows again"
		}
		return "Warning: each change computes the functions of its whole partition again"
	}
	return ""
}

// reachesFar: a change may concern the function's values in the whole partition, or
// they have to be computed from its start.
func reachesFar(f plan.WindowFunc) bool {
	switch f.Name {
	case "row_number", "rank", "dense_rank", "lag", "lead":
		return false
	case "percent_rank", "cume_dist", "ntile":
		return true
	}
	if f.Frame.End == plan.UnboundedFollowing {
		return true
	}
	return f.Frame.Start == plan.UnboundedPreceding && (f.Agg == nil || keepsValues(f.Name))
}

func atMostOne(n plan.Node) bool {
	for _, k := range n.Props().Keys {
		if len(k) == 0 {
			return true
		}
	}
	return false
}

func rowBytes(cols []plan.Column) float64 {
	sum := 0.0
	for _, c := range cols {
		switch c.Typ.ID {
		case types.Bool:
			sum++
		case types.Int2:
			sum += 2
		case types.Int4, types.Float4, types.Date, types.Oid:
			sum += 4
		case types.Int8, types.Float8, types.Money, types.Time, types.Timestamp, types.Timestamptz:
			sum += 8
		default:
			sum += varBytes
		}
	}
	return sum
}

// roundCount and roundBytes write two digits of an estimate.
func roundCount(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if v >= u.size {
			return fmt.Sprintf("%.2g%s", min(v/u.size, 99999), u.name)
		}
	}
	return fmt.Sprintf("%.0f", v)
}

func roundBytes(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if v >= u.size {
			return fmt.Sprintf("%.1f %s", min(v/u.size, 99999), u.name)
		}
	}
	return fmt.Sprintf("%.0f bytes", v)
}
