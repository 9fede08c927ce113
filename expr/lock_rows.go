package expr

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// LockRow is a condition that holds always, over the columns of a row of a table: it
// tells Session.LockRows of the rows that it is asked for.
func LockRow(table uint32, cols []Expr) Expr {
	args := make([]types.T, len(cols))
	for i, c := range cols {
		args[i] = c.Type()
	}
	f := &Func{Name: "lock_row", Args: args, Ret: types.TBool, NotStrict: true, MayFail: true, Volatility: Volatile,
		Eval: func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
			out := dst.(*vec.Col[bool])
			out.Resize(n)
			for i := range n {
				out.Vals[i] = true
			}
			if lock := c.session().LockRows; lock != nil {
				return lock(table, args, n)
			}
			return nil
		}}
	return &Call{Fn: f, Args: cols, Typ: types.TBool}
}
