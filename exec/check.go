package exec

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// checkedEmit wraps an edge for tests: it asserts that the chunk has the shape of
// the plan, and hands over a copy that it spoils afterwards, so that a receiver
// that keeps a borrowed chunk is found out.
func checkedEmit(p plan.Node, push Emit) Emit {
	ts := plan.Types(p.Schema())
	return func(c *vec.Chunk) error {
		if err := checkChunk(p, ts, c); err != nil {
			return err
		}
		d := c.Clone()
		err := push(d)
		poison(d)
		return err
	}
}

func checkChunk(p plan.Node, ts []types.T, c *vec.Chunk) error {
	bad := func(what string, args ...any) error {
		return pgerr.New(pgerr.Internal, nodeName(p)+": "+what, args...)
	}
	if len(c.Cols) != len(ts) {
		return bad("chunk of %d columns, want %d", len(c.Cols), len(ts))
	}
	if c.Diff != nil && len(c.Diff) != c.Rows {
		return bad("%d weights for %d rows", len(c.Diff), c.Rows)
	}
	for k, v := range c.Cols {
		if v.Len() != c.Rows {
			return bad("column %d has %d of %d rows", k, v.Len(), c.Rows)
		}
		if v.Type().Kind() != ts[k].Kind() {
			return bad("column %d is %s, want %s", k, v.Type(), ts[k])
		}
	}
	for i := range c.Rows {
		if c.Weight(i) == 0 {
			return bad("row %d has no weight", i)
		}
	}
	return nil
}

// poison overwrites a chunk's values.
func poison(c *vec.Chunk) {
	for i := range c.Diff {
		c.Diff[i] = -1 << 40
	}
	for _, v := range c.Cols {
		switch v := v.(type) {
		case *vec.Col[int64]:
			for i := range v.Vals {
				v.Vals[i] = -0x6b6b6b6b6b
			}
		case *vec.Col[int32]:
			for i := range v.Vals {
				v.Vals[i] = -0x6b6b6b
			}
		case *vec.Col[int16]:
			for i := range v.Vals {
				v.Vals[i] = -0x6b6b
			}
		case *vec.Col[bool]:
			for i := range v.Vals {
				v.Vals[i] = !v.Vals[i]
			}
		case *vec.Col[float64]:
			for i := range v.Vals {
				v.Vals[i] = -6.5e111
			}
		case *vec.Bytes:
			for i := range v.Data {
				v.Data[i] = 0xEE
			}
		}
	}
}
