package stage

import (
	"bytes"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Uniqueness is checked twice: when a statement stages its rows, against the
// snapshot it reads and what its transaction has written, so that it fails at once
// or resolves the conflict; and when the graph takes up the write, against the last
// commit and the writes before it, which decides. Both look into the stored rows
// of the unique index, which the graph's jobs keep.

// UniqueIndex computes the keys by which a unique index tells rows apart. It
// belongs to one goroutine.
type UniqueIndex struct {
	Ix    *catalog.Index
	table *catalog.Table
	cols  []int // the key, by position in the row followed by exprs
	exprs []*expr.Program
	where *expr.Program
	ctx   expr.Ctx
	row   *vec.Chunk // of one row, for expressions
	whole *vec.Chunk // that row with the values of the expressions
	sel   []int32
}

// UniqueIndexes returns those of a table; nil: it has none.
func UniqueIndexes(snap *catalog.Snapshot, t *catalog.Table) ([]*UniqueIndex, error) {
	var out []*UniqueIndex
	for _, ix := range snap.UniqueIndexes(t.OID) {
		u, err := NewUniqueIndex(snap, t, ix)
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// NewUniqueIndex computes the keys of rows of t in an index, which need not be unique.
func NewUniqueIndex(snap *catalog.Snapshot, t *catalog.Table, ix *catalog.Index) (*UniqueIndex, error) {
	u := &UniqueIndex{Ix: ix, table: t, ctx: expr.Ctx{Session: &expr.Session{}}}
	if u.cols = ix.Columns(); u.cols != nil && ix.Where == "" {
		return u, nil
	}
	s, err := indexPlanner(snap).BindIndex(ix)
	if err != nil {
		return nil, err
	}
	u.cols = s.Keys
	for _, e := range s.Exprs {
		p, err := expr.Compile(e)
		if err != nil {
			return nil, err
		}
		u.exprs = append(u.exprs, p)
	}
	if s.Where != nil {
		if u.where, err = expr.Compile(s.Where); err != nil {
			return nil, err
		}
	}
	u.row, u.whole = vec.NewChunk(ColumnTypes(t.Columns), 1), &vec.Chunk{}
	return u, nil
}

// Key appends the key of row i of c, which has the table's columns first. unique
// is false for a row that may have any number of duplicates: one that is not in
// the index, or that holds a NULL.
func (u *UniqueIndex) Key(dst []byte, c *vec.Chunk, i int) (key []byte, unique bool, err error) {
	if c, i, err = u.over(c, i); err != nil || c == nil {
		return dst, false, err
	}
	if !u.Ix.NullsNotDistinct {
		for _, k := range u.cols {
			if c.Cols[k].IsNull(i) {
				return dst, false, nil
			}
		}
	}
	return vec.AppendKey(dst, c, u.cols, nil, nil, i), true, nil
}

// over returns a row with the values of the expressions behind its columns; nil if
// it is not in the index.
func (u *UniqueIndex) over(c *vec.Chunk, i int) (*vec.Chunk, int, error) {
	if u.row == nil {
		return c, i, nil
	}
	u.row.Reset()
	u.row.AppendFrom(&vec.Chunk{Rows: c.Rows, Cols: c.Cols[:len(u.row.Cols)], Diff: c.Diff}, i, 1)
	if u.where != nil {
		var err error
		if u.sel, err = u.where.Filter(&u.ctx, u.row, u.sel[:0]); err != nil || len(u.sel) == 0 {
			return nil, 0, err
		}
	}
	u.whole.Rows, u.whole.Cols = 1, append(u.whole.Cols[:0], u.row.Cols...)
	for _, p := range u.exprs {
		v, err := p.Eval(&u.ctx, u.row)
		if err != nil {
			return nil, 0, err
		}
		u.whole.Cols = append(u.whole.Cols, v)
	}
	return u.whole, 0, nil
}

// Described is the key of a row as errors show it: (a, b)=(1, 2).
func (u *UniqueIndex) Described(c *vec.Chunk, i int) string {
	c, i, err := u.over(c, i)
	if err != nil || c == nil {
		return ""
	}
	var names, vals []string
	for n, k := range u.cols {
		text := u.Ix.Keys[n].Expr
		if text == "" {
			text = sql.QuoteIdent(u.table.Columns[k].Name)
		}
		names = append(names, text)
		vals = append(vals, datumText(c.Cols[k], i))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(vals, ", ") + ")"
}

// datumText is a value as errors show it.
func datumText(v vec.Vector, i int) string {
	if v.IsNull(i) {
		return "null"
	}
	return string(types.AppendText(nil, v.Type(), v.Datum(i), &types.Options{}))
}

// Duplicate is the error of a second row with the key of row i.
func (u *UniqueIndex) Duplicate(c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"%s\"", u.Ix.Name).
		WithDetail("Key %s already exists.", u.Described(c, i))
	e.Schema, e.Table, e.Constraint = u.table.Schema, u.table.Name, u.Ix.Name
	return e
}

// Stored returns the stored row with a key, in the table's columns; nil: none.
func (u *UniqueIndex) Stored(sn *state.Snapshot, key []byte) ([]byte, error) {
	it, err := sn.Scan(u.Ix.OID, key, append(bytes.Clone(key), 0xff))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	row := it.Val()
	if catalog.StorageKey(u.table) == nil {
		row = exec.OrderedRow(it.Key())
	}
	if len(u.exprs) == 0 {
		return bytes.Clone(row), nil
	}
	c := vec.NewChunk(IndexTypes(u.Ix, u.table), 1)
	if _, err := vec.DecodeRow(c, nil, row); err != nil {
		return nil, err
	}
	c.Rows, c.Cols = 1, c.Cols[:len(u.table.Columns)]
	return vec.AppendRow(nil, c, nil, 0), nil
}

// UniqueKeys is what a transaction has made of the keys of a unique index: the
// row of each key written, or nil.
type UniqueKeys struct {
	*UniqueIndex
	Rows map[string][]byte
	// Base are the keys of the stored rows, but for those the transaction had removed
	// when it made the index, which is not stored yet; nil: they are in the index.
	Base map[string][]byte
}

// noteNet takes note of what changes come to, some of which may have been made before
// the index, when keys were not unique.
func (u *UniqueKeys) noteNet(c *vec.Chunk) error {
	net := NetRows(c)
	var added []int
	for i := range c.Rows {
		row := vec.AppendRow(nil, c, nil, i)
		n := net[string(row)]
		if n > 0 {
			added = append(added, i)
			continue
		}
		key, unique, err := u.Key(nil, c, i)
		if err != nil {
			return err
		}
		if unique && n < 0 && bytes.Equal(u.Base[string(key)], row) {
			u.Rows[string(key)] = nil
		}
	}
	for _, i := range added {
		if err := u.note(c, i, 1); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the row that has a key, as the transaction sees it; nil: none.
func (u *UniqueKeys) Find(sn *state.Snapshot, key []byte) ([]byte, error) {
	if row, ok := u.Rows[string(key)]; ok {
		return row, nil
	}
	if u.Base != nil {
		return u.Base[string(key)], nil
	}
	return u.Stored(sn, key)
}

// note takes note of a row that comes or goes.
func (u *UniqueKeys) note(c *vec.Chunk, i int, n int64) error {
	key, unique, err := u.Key(nil, c, i)
	if err != nil || !unique {
		return err
	}
	if n > 0 {
		u.Rows[string(key)] = vec.AppendRow(nil, c, nil, i)
	} else {
		u.Rows[string(key)] = nil
	}
	return nil
}

// Violation is a conflict with a write that came first, over a unique or a foreign
// key.
type Violation struct{ Err *pgerr.Error }

func (v Violation) Error() string { return v.Err.Error() }
func (v Violation) Unwrap() error { return v.Err }

// Is makes it a conflict, upon which a statement is run again.
func (Violation) Is(err error) bool { return err == ErrConflict }
