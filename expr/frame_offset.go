package expr

import (
	"math"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// CheckFrameOffset returns the error of a window frame that starts or ends (what) d,
// of type t, away from a row; asRange tells RANGE from ROWS and GROUPS.
func CheckFrameOffset(d types.Datum, t types.T, asRange bool, what string) error {
	if d == nil {
		return pgerr.New(pgerr.NullValueNotAllowed, "frame %s offset must not be null", what)
	}
	zero, err := types.ParseText(t, "0", &types.Options{})
	if err != nil || CompareDatums(t, d, zero) >= 0 && !isNaN(t, d) {
		return err
	}
	if asRange {
		return pgerr.New(invalidFrameSize, "invalid preceding or following size in window function")
	}
	return pgerr.New(invalidFrameSize, "frame %s offset must not be negative", what)
}

const invalidFrameSize pgerr.Code = "22013"

// FrameOffset returns the function that yields an offset of a window frame, and
// fails where CheckFrameOffset does. It is for plans only: no query can name it.
func FrameOffset(t types.T, asRange bool, what string) *Func {
	return &Func{Name: "frame_offset", Args: ts(t), Ret: t, NotStrict: true, MayFail: true, Eval: func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error {
		for i := range n {
			var d types.Datum
			if !args[0].IsNull(i) {
				d = args[0].Datum(i)
			}
			if err := CheckFrameOffset(d, t, asRange, what); err != nil {
				if err = c.Fail(i, err); err != nil {
					return err
				}
				dst.AppendNull()
				continue
			}
			dst.AppendFrom(args[0], i)
		}
		return nil
	}}
}

// isNaN reports whether d, of type t, is no number.
func isNaN(t types.T, d types.Datum) bool {
	if t.ID != types.Float8 && t.ID != types.Float4 && t.ID != types.Numeric {
		return false
	}
	nan, err := types.ParseText(t, "NaN", &types.Options{})
	return err == nil && CompareDatums(t, d, nan) == 0
}

// BigintShift is + or - of an offset that is not negative, as window frames need it:
// it ends at the last number of the type.
func BigintShift(name string) *Func {
	return safe(fn(name, ts(tI8, tI8), tI8, func(r *row) error {
		v, off := r.i8(0), r.i8(1)
		if name == "-" {
			if v < math.MinInt64+off {
				return r.putI8(math.MinInt64)
			}
			return r.putI8(v - off)
		}
		if v > math.MaxInt64-off {
			return r.putI8(math.MaxInt64)
		}
		return r.putI8(v + off)
	}))
}
