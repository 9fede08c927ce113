package planner

import "github.com/streamdb/streamdb/sql"

// leftmost is the place of an expression's first token, where PostgreSQL puts the
// cursor for errors about a whole expression. Nodes carry the place of their
// operator or name.
func leftmost(n sql.Node) sql.Node {
	best := n
	first := func(e sql.Expr) {
		if e == nil {
			return
		}
		if m := leftmost(e); m.Offset() >= 0 && (best.Offset() < 0 || m.Offset() < best.Offset()) {
			best = m
		}
	}
	switch e := n.(type) {
	case *sql.OpExpr:
		if e.Left != nil {
			first(e.Left)
		}
	case *sql.BoolExpr:
		first(e.Args[0])
	case *sql.IsTest:
		first(e.Arg)
	case *sql.DistinctFrom:
		first(e.Left)
	case *sql.Between:
		first(e.Arg)
	case *sql.InList:
		first(e.Arg)
	case *sql.InSubquery:
		first(e.Arg)
	case *sql.LikeExpr:
		first(e.Arg)
	case *sql.QuantExpr:
		first(e.Arg)
	case *sql.Cast:
		first(e.Arg)
	case *sql.Collate:
		first(e.Arg)
	case *sql.Subscript:
		first(e.Arg)
	case *sql.FieldSelect:
		first(e.Arg)
	}
	return best
}
