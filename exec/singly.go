package exec

import (
	"slices"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// singly serves operators whose expressions are others for each of several equal
// rows: volatile functions.
type singly struct {
	volatile bool
	part     *vec.Chunk
}

func newSingly(es []expr.Expr) singly {
	return singly{volatile: slices.ContainsFunc(es, plan.IsVolatile)}
}

// needed reports whether a chunk has a row more than once.
func (s *singly) needed(c *vec.Chunk) bool {
	return s.volatile && slices.ContainsFunc(c.Diff, func(w int64) bool { return w > 1 || w < -1 })
}

// each calls f for the rows of a chunk in chunks, which f borrows, in which all are
// apart.
func (s *singly) each(c *vec.Chunk, size int, f func(*vec.Chunk) error) error {
	if s.part == nil {
		s.part = vec.NewChunk(c.Types(), size)
	}
	s.part.Reset()
	for i := range c.Rows {
		w, one := c.Weight(i), int64(1)
		if w < 0 {
			w, one = -w, -1
		}
		for ; w > 0; w-- {
			s.part.AppendFrom(c, i, one)
			if s.part.Rows >= size {
				if err := f(s.part); err != nil {
					return err
				}
				s.part.Reset()
			}
		}
	}
	if s.part.Rows == 0 {
		return nil
	}
	return f(s.part)
}
