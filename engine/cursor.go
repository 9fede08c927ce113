package engine

import (
	"context"

	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// cursor is a cursor of DECLARE: a portal that FETCH reads.
type cursor struct {
	portal *portal
	hold   bool
	number int        // of the session's cursors
	failed bool       // a FETCH has failed: no other can be done
	scroll bool       // declared SCROLL
	kept   *vec.Chunk // the rows read so far; nil: they are not kept
	pos    int        // number of the present row, 0 before the first one
	after  bool       // the end has been passed: pos is that of the last row
	part   *vec.Chunk // the chunk being handed out
	at     int        // rows of part handed out
	last   *vec.Chunk // the last row read
	moved  *movedRow  // what has become of the present row; nil: it is as it was read
}

// empty is a chunk for rows of the cursor, with what WHERE CURRENT OF needs of them.
func (c *cursor) empty() *vec.Chunk {
	return vec.NewChunk(plan.Types(c.portal.p.query.Root.Schema()), 1)
}

func (c *cursor) close() { c.portal.Close() }

// CursorColumns implements wire.CursorHolder.
func (s *Session) CursorColumns(name string) ([]wire.Column, bool) {
	c := s.cursors[name]
	if c == nil {
		return nil, false
	}
	return c.portal.Columns(), true
}

func (s *Session) cursorCommand(p *prepared) error {
	switch st := p.st.Stmt.(type) {
	case *sql.DeclareCursor:
		return s.prepareDeclare(p, st)
	case *sql.Close:
		tag := "CLOSE CURSOR"
		if st.Cursor == "" {
			tag = "CLOSE CURSOR ALL"
		}
		p.command = tagged(tag, func(context.Context) error { return s.closeCursor(st.Cursor) })
	case *sql.Fetch:
		return s.prepareFetch(p, st)
	}
	return nil
}

func (s *Session) prepareDeclare(p *prepared, st *sql.DeclareCursor) error {
	if st.Subscribe != nil {
		return pgerr.Unsupported("SUBSCRIBE", "Read the materialized view with SELECT.")
	}
	if st.Scroll && len(st.Query.Locks) > 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "DECLARE SCROLL CURSOR ... FOR %s is not supported", st.Query.Locks[0].Strength).
			WithDetail("Scrollable cursors must be READ ONLY.")
	}
	inner := &statement{Parsed: p.st.Parsed, whole: p.st.whole}
	inner.Stmt = st.Query
	q := &prepared{s: s, st: inner, params: p.params, cursor: true}
	if err := q.analyse(context.Background()); err != nil {
		return err
	}
	if len(q.query.With) > 0 {
		return pgerr.New(pgerr.FeatureNotSupported, "DECLARE CURSOR must not contain data-modifying statements in WITH")
	}
	p.params = q.params
	p.command = func(ctx context.Context, args []types.Datum) (*vec.Chunk, string, error) {
		if !st.Hold && !s.tx.block {
			return nil, "", pgerr.New(pgerr.NoActiveSQLTransaction, "DECLARE CURSOR can only be used in transaction blocks")
		}
		if s.cursors[st.Name] != nil {
			return nil, "", pgerr.New(pgerr.DuplicateCursor, "cursor \"%s\" already exists", st.Name)
		}
		if err := q.permit(); err != nil {
			return nil, "", err
		}
		s.declared++
		c := &cursor{portal: &portal{p: q, args: args}, hold: st.Hold, number: s.declared, scroll: st.Scroll}
		if !st.NoScroll {
			c.kept = c.empty()
		}
		// It reads as of now, whenever its rows are fetched; rows are locked by FETCH.
		if q.query.Locks == "" {
			if err := c.portal.start(ctx); err != nil {
				return nil, "", err
			}
		}
		s.cursors[st.Name] = c
		return nil, "DECLARE CURSOR", nil
	}
	return nil
}

func (s *Session) closeCursor(name string) error {
	if name == "" {
		for n, c := range s.cursors {
			c.close()
			delete(s.cursors, n)
		}
		return nil
	}
	c := s.cursors[name]
	if c == nil {
		return pgerr.New(pgerr.InvalidCursorName, "cursor \"%s\" does not exist", name)
	}
	c.close()
	delete(s.cursors, name)
	return nil
}

// closeCursorsSince closes the cursors that were declared after the first n.
func (s *Session) closeCursorsSince(n int) {
	for name, c := range s.cursors {
		if c.number > n {
			c.close()
			delete(s.cursors, name)
		}
	}
}

func (s *Session) prepareFetch(p *prepared, st *sql.Fetch) error {
	if !st.Move {
		p.fetches = st.Cursor
	}
	p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
		c := s.cursors[st.Cursor]
		if c == nil {
			return nil, "", pgerr.New(pgerr.InvalidCursorName, "cursor \"%s\" does not exist", st.Cursor)
		}
		if c.failed {
			return nil, "", pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", st.Cursor)
		}
		rows, err := c.move(ctx, st)
		c.failed = err != nil
		if st.Move && err == nil {
			return nil, "MOVE " + itoa(int64(rows.Rows)), nil
		}
		if rows != nil {
			rows = stage.Columns(rows, 0, len(c.portal.p.cols))
		}
		return rows, "FETCH", err
	}
	return nil
}

// fetch copies up to n further rows.
func (c *cursor) fetch(ctx context.Context, n int64) (*vec.Chunk, error) {
	out := c.empty()
	defer func() {
		if out.Rows > 0 {
			c.last = c.empty()
			c.last.AppendFrom(out, out.Rows-1, 1)
		}
	}()
	for n > 0 {
		if c.part == nil || c.at == c.part.Rows {
			var err error
			if c.part, err = c.portal.Next(ctx); err != nil || c.part == nil {
				return out, err
			}
			c.part, c.at = expand(c.part), 0
		}
		m := min(int(min(n, 1<<30)), c.part.Rows-c.at)
		out.AppendRange(c.part, c.at, c.at+m)
		c.at += m
		n -= int64(m)
	}
	return out, nil
}

// expand repeats rows by their weights, so that rows can be counted.
func expand(c *vec.Chunk) *vec.Chunk {
	if c.Diff == nil {
		return c
	}
	out := vec.NewChunk(c.Types(), c.Rows)
	for i := range c.Rows {
		for range c.Weight(i) {
			out.AppendFrom(c, i, 1)
		}
	}
	return out
}
