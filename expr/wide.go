package expr

import (
	"fmt"

	"github.com/streamdb/streamdb/vec"
)

// A step of an expression computes its values for a whole chunk before the next one
// begins. Where values are long, a thousand of them could take gigabytes. So the
// vectors of results are bounded, and a chunk that is too wide is computed again in
// parts.

// WideError says that an expression's values for a chunk take too much memory
// together. It is to be evaluated for Rows rows at a time.
type WideError struct{ Rows int }

func (e *WideError) Error() string {
	return fmt.Sprintf("the values of an expression take more than %d MB for %d rows", vec.SoftBytes>>20, e.Rows)
}

// bounded makes v a vector of results.
func (c *Ctx) bounded(v vec.Vector) vec.Vector {
	if b, ok := v.(*vec.Bytes); ok {
		b.Bound = &c.bound
	}
	return v
}

// narrow is deferred by an evaluation: it turns the panic of a bounded vector into
// a WideError. Other panics go on, with their stack.
func (c *Ctx) narrow(rows []int32, err *error) {
	if c.bound.Rows == 0 {
		return
	}
	*err = &WideError{c.bound.Rows}
	c.bound.Rows, c.rows = 0, rows
	recover()
}

// filterParts is Filter for a chunk that is too wide.
func (p *Program) filterParts(c *Ctx, in *vec.Chunk, size int, sel []int32) ([]int32, error) {
	outer := c.rows
	defer func() { c.rows = outer }()
	part := vec.NewChunk(in.Types(), size)
	for lo := 0; lo < in.Rows; {
		part.Reset()
		part.AppendRange(in, lo, min(lo+size, in.Rows))
		c.rows = c.rows[:0:0]
		for i := range part.Rows {
			at := int32(lo + i)
			if outer != nil {
				at = outer[at]
			}
			c.rows = append(c.rows, at)
		}
		v, err := p.Eval(c, part)
		if w, ok := err.(*WideError); ok {
			size = w.Rows // rows that have failed fail again, and count once
			continue
		}
		if err != nil {
			return sel, err
		}
		sel = appendTrue(sel, v.(*vec.Col[bool]), part.Rows, int32(lo))
		lo += part.Rows
	}
	return sel, nil
}
