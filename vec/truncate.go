package vec

import "github.com/streamdb/streamdb/types"

// Truncate shortens a vector to n rows; a vector of n rows or fewer is left as
// it is.
func Truncate(v Vector, n int) {
	switch c := v.(type) {
	case *Col[bool]:
		truncateCol(c, n)
	case *Col[int16]:
		truncateCol(c, n)
	case *Col[int32]:
		truncateCol(c, n)
	case *Col[int64]:
		truncateCol(c, n)
	case *Col[float32]:
		truncateCol(c, n)
	case *Col[float64]:
		truncateCol(c, n)
	case *Bytes:
		if c.Len() > n {
			clearFrom(&c.Null, n, c.Len())
			c.Off = c.Off[:n+1]
			c.Data = c.Data[:c.Off[n]]
		}
	default:
		truncateRest(v, n)
	}
}

func truncateCol[T Fixed](c *Col[T], n int) {
	if len(c.Vals) > n {
		clearFrom(&c.Null, n, len(c.Vals))
		c.Vals = c.Vals[:n]
	}
}

func clearFrom(b *Bitmap, lo, hi int) {
	for i := lo; i < hi; i++ {
		b.Clear(i)
	}
}

func truncateRest(v Vector, n int) {
	switch c := v.(type) {
	case *Col[types.IntervalValue]:
		truncateCol(c, n)
	case *Col[types.UUIDValue]:
		truncateCol(c, n)
	}
}
