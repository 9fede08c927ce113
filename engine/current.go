package engine

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// movedRow is what the row number pos of a cursor is found by, after a statement WHERE
// CURRENT OF has changed it.
type movedRow struct {
	pos int
	row []types.Datum
}

// currentRow returns what the row that a cursor stands at is found by, for a statement
// WHERE CURRENT OF.
func (s *Session) currentRow(want *planner.CurrentRow) ([]types.Datum, error) {
	c := s.cursors[want.Cursor]
	if c == nil {
		return nil, pgerr.New(pgerr.InvalidCursorName, "cursor \"%s\" does not exist", want.Cursor)
	}
	bad := func(format string, args ...any) error { return pgerr.New(pgerr.InvalidCursorState, format, args...) }
	q := c.portal.p.query
	switch have := q.Current; {
	case have != nil && have.Table.OID == want.Table.OID && len(have.Cols) == len(want.Cols):
	case have != nil && have.Locks, have == nil && q.Locks != "":
		return nil, bad("cursor \"%s\" does not have a FOR UPDATE/SHARE reference to table \"%s\"", want.Cursor, want.Table.Name)
	default:
		return nil, bad("cursor \"%s\" is not a simply updatable scan of table \"%s\"", want.Cursor, want.Table.Name)
	}
	if c.pos == 0 || c.after {
		return nil, bad("cursor \"%s\" is not positioned on a row", want.Cursor)
	}
	if c.moved != nil && c.moved.pos == c.pos {
		return c.moved.row, nil
	}
	rows, i := c.last, 0
	if c.kept != nil {
		rows, i = c.kept, c.pos-1
	}
	return datums(rows, q.Current.At, len(want.Cols), i), nil
}

// followCurrent lets the cursor stand at the row that a statement has made of its
// present one; nothing has happened if rows has none.
func (s *Session) followCurrent(at *planner.CurrentRow, rows *vec.Chunk) {
	c := s.cursors[at.Cursor]
	if c == nil || rows.Rows == 0 {
		return
	}
	c.moved = &movedRow{pos: c.pos}
	for _, k := range at.Cols {
		c.moved.row = append(c.moved.row, rows.Cols[k].Datum(0))
	}
}

// datums are n values of row i from column at on.
func datums(c *vec.Chunk, at, n, i int) []types.Datum {
	out := make([]types.Datum, n)
	for k := range out {
		out[k] = c.Cols[at+k].Datum(i)
	}
	return out
}
