package planner

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

// flipped are the comparisons with their sides exchanged.
var flipped = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// compareDates turns the comparison of a date with a constant timestamp into one
// of dates, nil: it is none. PostgreSQL has operators of its own for the pair,
// which do not fail for dates that no timestamp reaches, as the cast does.
func compareDates(c *expr.Call) expr.Expr {
	op, ok := c.Fn.Name, len(c.Args) == 2
	if !ok || flipped[op] == "" {
		return nil
	}
	date := castDate(c.Args[0])
	k, ok := c.Args[1].(*expr.Const)
	if date == nil {
		date, op = castDate(c.Args[1]), flipped[op]
		k, ok = c.Args[0].(*expr.Const)
	}
	if date == nil || !ok || k.Typ.ID != types.Timestamp || k.Val == nil {
		return nil
	}
	at := k.Val.(int64)
	day := types.TimestampToDate(at)
	if midnight, err := types.DateToTimestamp(day); err != nil {
		return nil
	} else if midnight != at {
		// The day begins before the constant, and the next one after it.
		switch op {
		case "<", "<=":
			op = "<="
		case ">", ">=":
			op = ">"
		default:
			return nil
		}
	}
	e, err := expr.NewOp(op, date, &expr.Const{Val: day, Typ: types.TDate})
	if err != nil {
		return nil
	}
	return e
}

// castDate is the date that e casts to timestamp; nil: it does no such thing.
func castDate(e expr.Expr) expr.Expr {
	c, ok := e.(*expr.Cast)
	if !ok || c.Arg.Type().ID != types.Date || c.To.ID != types.Timestamp || c.To.Mod >= 0 {
		return nil
	}
	return c.Arg
}
