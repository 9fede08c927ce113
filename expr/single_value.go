package expr

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// ErrManyRows is what a scalar subquery of more than one row fails with.
var ErrManyRows = pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")

// SingleValueAgg returns the aggregate that yields the only value of a group; of
// several values, which one is a function of the group. It is for plans only:
// no query can name it.
func SingleValueAgg(t types.T) *AggFunc {
	return &AggFunc{Name: "single_value", Args: ts(t), Ret: t,
		Make: func(m MakeArgs) AggImpl { return collect(m, false, finishMin) }}
}

// SingleValue returns the function (count bigint, value) that yields value and
// fails where count is more than one: what a scalar subquery of count rows is
// worth. It is for plans only: no query can name it.
func SingleValue(t types.T) *Func {
	return &Func{Name: "single_value", Args: ts(tI8, t), Ret: t, NotStrict: true, MayFail: true, Eval: singleValue}
}

func singleValue(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
	counts := args[0].(*vec.Col[int64])
	for i := range n {
		if counts.IsNull(i) || counts.Vals[i] <= 1 {
			dst.AppendFrom(args[1], i)
			continue
		}
		if err := c.Fail(i, ErrManyRows); err != nil {
			return err
		}
		dst.AppendNull()
	}
	return nil
}
