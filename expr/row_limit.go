package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// NegativeLimit is the error of a LIMIT, or an OFFSET, below zero.
func NegativeLimit(offset bool) *pgerr.Error {
	if offset {
		return pgerr.New(pgerr.InvalidRowCountInOffset, "OFFSET must not be negative")
	}
	return pgerr.New(pgerr.InvalidRowCountInLimit, "LIMIT must not be negative")
}

// RowLimit returns the function of a bigint that yields it, and fails where it is
// negative: the number of rows that a LIMIT, or an OFFSET, tells. It is for plans
// only: no query can name it.
func RowLimit(offset bool) *Func {
	name, fails := "row_limit", NegativeLimit(offset)
	if offset {
		name = "row_offset"
	}
	return &Func{Name: name, Args: ts(tI8), Ret: tI8, MayFail: true, Eval: func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		limits := args[0].(*vec.Col[int64])
		for i := range n {
			if !limits.IsNull(i) && limits.Vals[i] < 0 {
				if err := c.Fail(i, fails); err != nil {
					return err
				}
				dst.AppendNull()
				continue
			}
			dst.AppendFrom(limits, i)
		}
		return nil
	}}
}
