package engine

import (
	"context"

	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// Rows that a cursor has read are kept, so that it can go back to them: of a SCROLL
// cursor all, of one that says nothing as long as they are small, of NO SCROLL none.
const (
	keptByDefault = 16 << 20
	keptByScroll  = jobs.QueryBudget
)

// move carries out a FETCH or MOVE: it returns the rows passed, in their order.
func (c *cursor) move(ctx context.Context, st *sql.Fetch) (*vec.Chunk, error) {
	n := st.Count
	switch st.Dir {
	case sql.FetchForward:
		return c.step(ctx, n)
	case sql.FetchBackward:
		if n == sql.FetchAll {
			return c.backward(ctx, n)
		}
		return c.step(ctx, -n)
	case sql.FetchAbsolute:
		return c.absolute(ctx, n)
	}
	switch {
	case n > 1:
		if _, err := c.forward(ctx, n-1); err != nil {
			return nil, err
		}
		return c.forward(ctx, 1)
	case n < -1:
		if _, err := c.backward(ctx, -n-1); err != nil {
			return nil, err
		}
		return c.backward(ctx, 1)
	}
	return c.step(ctx, n)
}

// step goes n rows forward, or -n back; 0 is the present row.
func (c *cursor) step(ctx context.Context, n int64) (*vec.Chunk, error) {
	switch {
	case n > 0:
		return c.forward(ctx, n)
	case n < 0:
		return c.backward(ctx, -n)
	case c.pos == 0 || c.after:
		return c.empty(), nil
	case c.kept == nil:
		return nil, errForwardOnly
	}
	return c.row(c.pos), nil
}

func (c *cursor) absolute(ctx context.Context, n int64) (*vec.Chunk, error) {
	if c.kept == nil {
		if at := int64(c.pos); n <= at || c.after {
			return nil, errForwardOnly
		} else if n > at+1 {
			if _, err := c.forward(ctx, n-at-1); err != nil {
				return nil, err
			}
		}
		return c.forward(ctx, 1)
	}
	want := n
	if n < 0 {
		want = sql.FetchAll
	}
	if err := c.read(ctx, want); err != nil {
		return nil, err
	}
	have := int64(c.kept.Rows)
	if n < 0 {
		n = max(have+n+1, 0)
	}
	c.after = n > have
	c.pos = int(min(n, have))
	if n == 0 || c.after {
		return c.empty(), nil
	}
	return c.row(c.pos), nil
}

// row is a chunk of the row that is number n, from 1.
func (c *cursor) row(n int) *vec.Chunk {
	out := c.empty()
	out.AppendFrom(c.kept, n-1, 1)
	return out
}

func (c *cursor) forward(ctx context.Context, n int64) (*vec.Chunk, error) {
	if c.after {
		return c.empty(), nil
	}
	if c.kept == nil {
		out, err := c.fetch(ctx, n)
		c.pos += out.Rows
		c.after = int64(out.Rows) < n
		return out, err
	}
	to := sql.FetchAll
	if n < to-int64(c.pos) {
		to = int64(c.pos) + n
	}
	if err := c.read(ctx, to); err != nil {
		return nil, err
	}
	end := int(min(to, int64(c.kept.Rows)))
	out := c.empty()
	out.AppendRange(c.kept, c.pos, end)
	c.after = int64(end-c.pos) < n
	c.pos = end
	return out, c.forget()
}

func (c *cursor) backward(ctx context.Context, n int64) (*vec.Chunk, error) {
	if c.kept == nil {
		return nil, errForwardOnly
	}
	first := c.pos - 1
	if c.after {
		first = c.kept.Rows
	}
	out := c.empty()
	for i := first; i > 0 && int64(out.Rows) < n; i-- {
		out.AppendFrom(c.kept, i-1, 1)
	}
	c.after = false
	if c.pos = first - out.Rows + 1; int64(out.Rows) < n {
		c.pos = 0
	}
	return out, nil
}

// read keeps rows until there are n, or no more.
func (c *cursor) read(ctx context.Context, n int64) error {
	for int64(c.kept.Rows) < n {
		more, err := c.fetch(ctx, min(n-int64(c.kept.Rows), 1<<16))
		if err != nil || more.Rows == 0 {
			return err
		}
		c.kept.AppendRange(more, 0, more.Rows)
		if c.scroll && c.kept.MemSize() > keptByScroll {
			return pgerr.New(pgerr.OutOfMemory, "the rows of a SCROLL cursor take more than %d bytes", keptByScroll).
				WithHint("Declare it NO SCROLL.")
		}
	}
	return nil
}

// forget lets the rows of a cursor that is not known to go back be as soon as they are
// large, if it stands at the last one that is kept.
func (c *cursor) forget() error {
	if !c.scroll && c.pos == c.kept.Rows && c.kept.MemSize() > keptByDefault {
		c.kept = nil
	}
	return nil
}

var errForwardOnly = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
	WithHint("Declare it with SCROLL option to enable backward scan.")
