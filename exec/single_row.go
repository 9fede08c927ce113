package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// singleRow yields its input's only row, or a row of NULLs when there is none. It
// keeps all rows, since which of them remain is known at Seal only.
type singleRow struct {
	*orderedRows
	old   []byte // the row emitted; nil with shown set: NULLs
	shown bool
	out   *rowOutput
}

func newSingleRow(p *plan.SingleRow, b *opBase) Operator {
	s := &singleRow{orderedRows: newOrderedRows(b, p.Input, nil, nil)}
	s.out = newRowOutput(s.format, plan.Types(p.Schema()), b.ctx.rows())
	return s
}

func (s *singleRow) Push(_ int, c *vec.Chunk, _ Emit) error {
	s.prepare(c)
	for i := range c.Rows {
		if w := c.Weight(i); w != 0 {
			pid := s.partition(i)
			s.add(pid, s.rowKey(c, i, pid), w)
			if s.ctx.Batch && (s.rows.n > 1 || w > 1) {
				return expr.ErrManyRows
			}
		}
	}
	return nil
}

// Seal emits the row if it changed.
func (s *singleRow) Seal(_ types.Epoch, emit Emit) error {
	var row []byte
	n := int64(0)
	bad := false
	s.rows.each(func(id uint32) bool {
		w := s.weight(id)
		bad = bad || w < 0
		n += w
		if w > 0 {
			row = s.rowBytes(id)
		}
		return true
	})
	if bad {
		return s.negative("a row")
	}
	if n > 1 {
		return expr.ErrManyRows
	}
	if s.shown && string(s.old) == string(row) && (s.old == nil) == (row == nil) {
		return nil
	}
	if s.shown {
		if err := s.out.add(s.old, -1, emit); err != nil {
			return err
		}
	}
	if err := s.out.add(row, 1, emit); err != nil {
		return err
	}
	err := s.out.flush(emit)
	s.shown, s.old = true, nil
	if row != nil {
		s.old = append([]byte{}, row...)
	}
	return err
}

// Load takes back a row, which was the one emitted.
func (s *singleRow) Load(key, val []byte) error {
	if len(key) == 0 {
		s.shown = true
		return nil
	}
	s.shown, s.old = true, append([]byte{}, key...)
	return s.orderedRows.Load(key, val)
}

// Save writes the row, and that a row was emitted at all.
func (s *singleRow) Save(w StateWriter) error {
	if s.shown {
		w.Put(0, nil, []byte{1})
	}
	return s.orderedRows.Save(w)
}
