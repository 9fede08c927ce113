package engine

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

// uniqueIndex computes the keys by which a unique index tells rows apart. It
// belongs to one goroutine.
type uniqueIndex struct {
	ix    *catalog.Index
	table *catalog.Table
	cols  []int // the key, by position in the row followed by exprs
	exprs []*expr.Program
	where *expr.Program
	ctx   expr.Ctx
	row   *vec.Chunk // of one row, for expressions
	whole *vec.Chunk // that row with the values of the expressions
	sel   []int32
}

// uniqueIndexes returns those of a table; nil: it has none.
func uniqueIndexes(snap *catalog.Snapshot, t *catalog.Table) ([]*uniqueIndex, error) {
	var out []*uniqueIndex
	for _, ix := range snap.UniqueIndexes(t.OID) {
		u, err := newUniqueIndex(snap, t, ix)
		if err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

func newUniqueIndex(snap *catalog.Snapshot, t *catalog.Table, ix *catalog.Index) (*uniqueIndex, error) {
	u := &uniqueIndex{ix: ix, table: t, ctx: expr.Ctx{Session: &expr.Session{}}}
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
	u.row, u.whole = vec.NewChunk(columnTypes(t.Columns), 1), &vec.Chunk{}
	return u, nil
}

// key appends the key of row i of c, which has the table's columns first. unique
// is false for a row that may have any number of duplicates: one that is not in
// the index, or that holds a NULL.
func (u *uniqueIndex) key(dst []byte, c *vec.Chunk, i int) (key []byte, unique bool, err error) {
	if c, i, err = u.over(c, i); err != nil || c == nil {
		return dst, false, err
	}
	if !u.ix.NullsNotDistinct {
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
func (u *uniqueIndex) over(c *vec.Chunk, i int) (*vec.Chunk, int, error) {
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

// described is the key of a row as errors show it: (a, b)=(1, 2).
func (u *uniqueIndex) described(c *vec.Chunk, i int) string {
	c, i, err := u.over(c, i)
	if err != nil || c == nil {
		return ""
	}
	var names, vals []string
	for n, k := range u.cols {
		text := u.ix.Keys[n].Expr
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

// duplicate is the error of a second row with the key of row i.
func (u *uniqueIndex) duplicate(c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"%s\"", u.ix.Name).
		WithDetail("Key %s already exists.", u.described(c, i))
	e.Schema, e.Table, e.Constraint = u.table.Schema, u.table.Name, u.ix.Name
	return e
}

// stored returns the stored row with a key, in the table's columns; nil: none.
func (u *uniqueIndex) stored(sn *state.Snapshot, key []byte) ([]byte, error) {
	it, err := sn.Scan(u.ix.OID, key, append(bytes.Clone(key), 0xff))
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
	c := vec.NewChunk(indexTypes(u.ix, u.table), 1)
	if _, err := vec.DecodeRow(c, nil, row); err != nil {
		return nil, err
	}
	c.Rows, c.Cols = 1, c.Cols[:len(u.table.Columns)]
	return vec.AppendRow(nil, c, nil, 0), nil
}

// uniqueKeys is what a transaction has made of the keys of a unique index: the
// row of each key written, or nil.
type uniqueKeys struct {
	*uniqueIndex
	rows map[string][]byte
	// base are the keys of the stored rows, but for those the transaction had removed
	// when it made the index, which is not stored yet; nil: they are in the index.
	base map[string][]byte
}

// stageStored returns the base of an index, if it needs one.
func (r *run) stageStored(u *uniqueIndex, w *tableWrite, t *catalog.Table) (map[string][]byte, error) {
	if !w.whole && r.s.eng.jobOf(u.ix.OID) != nil {
		return nil, nil
	}
	base := map[string][]byte{}
	if w.whole || r.s.tx.ddl.fresh(t.OID) {
		return base, nil
	}
	err := scanRows(r.snap, t.OID, columnTypes(t.Columns), storedForm(t), nil, nil, r.s.eng.cfg.ChunkRows, minus(w, func(c *vec.Chunk) error {
		for i := range c.Rows {
			key, unique, err := u.key(nil, c, i)
			if err != nil {
				return err
			}
			if unique {
				base[string(key)] = vec.AppendRow(nil, c, nil, i)
			}
		}
		return canceled(r.ctx)
	}))
	return base, err
}

// noteNet takes note of what changes come to, some of which may have been made before
// the index, when keys were not unique.
func (u *uniqueKeys) noteNet(c *vec.Chunk) error {
	net := netRows(c)
	var added []int
	for i := range c.Rows {
		row := vec.AppendRow(nil, c, nil, i)
		n := net[string(row)]
		if n > 0 {
			added = append(added, i)
			continue
		}
		key, unique, err := u.key(nil, c, i)
		if err != nil {
			return err
		}
		if unique && n < 0 && bytes.Equal(u.base[string(key)], row) {
			u.rows[string(key)] = nil
		}
	}
	for _, i := range added {
		if err := u.note(c, i, 1); err != nil {
			return err
		}
	}
	return nil
}

// find returns the row that has a key, as the transaction sees it; nil: none.
func (u *uniqueKeys) find(sn *state.Snapshot, key []byte) ([]byte, error) {
	if row, ok := u.rows[string(key)]; ok {
		return row, nil
	}
	if u.base != nil {
		return u.base[string(key)], nil
	}
	return u.stored(sn, key)
}

// note takes note of a row that comes or goes.
func (u *uniqueKeys) note(c *vec.Chunk, i int, n int64) error {
	key, unique, err := u.key(nil, c, i)
	if err != nil || !unique {
		return err
	}
	if n > 0 {
		u.rows[string(key)] = vec.AppendRow(nil, c, nil, i)
	} else {
		u.rows[string(key)] = nil
	}
	return nil
}

// holder returns the row that has the key of row i of c, as the transaction sees
// it; nil: none.
func (r *run) holder(u *uniqueKeys, c *vec.Chunk, i int) ([]byte, error) {
	key, unique, err := u.key(nil, c, i)
	if err != nil || !unique {
		return nil, err
	}
	return u.find(r.snap, key)
}

// violation is a conflict with a write that came first, over a unique or a foreign
// key.
type violation struct{ err *pgerr.Error }

func (v violation) Error() string { return v.err.Error() }
func (v violation) Unwrap() error { return v.err }

// Is makes it a conflict, upon which a statement is run again.
func (violation) Is(err error) bool { return err == errConflict }

// uniqueSet are the unique indexes of a table that a graph enforces.
type uniqueSet struct {
	table   *catalog.Table
	indexes []*uniqueIndex
}

// uniques returns the unique indexes to enforce on a table, as of the catalog.
func (g *graph) uniques(snap *catalog.Snapshot, t *catalog.Table) ([]*uniqueIndex, error) {
	ixs := snap.UniqueIndexes(t.OID)
	s := g.unique[t.OID]
	same := s != nil && s.table == t && len(s.indexes) == len(ixs)
	for i := 0; same && i < len(ixs); i++ {
		same = s.indexes[i].ix == ixs[i]
	}
	if !same {
		s = &uniqueSet{table: t}
		var err error
		if s.indexes, err = uniqueIndexes(snap, t); err != nil {
			return nil, err
		}
		g.unique[t.OID] = s
	}
	var out []*uniqueIndex
	for _, u := range s.indexes {
		j := g.jobs[u.ix.OID]
		switch {
		case j == nil || j.gone.Load(): // being created, or being dropped
		case j.err() != nil:
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "unique index \"%s\" has failed: %s", u.ix.Name, pgerr.From(j.err()).Msg).
				WithHint("Drop it and create it again.")
		default:
			out = append(out, u)
		}
	}
	return out, nil
}

// checkUnique refuses a write after which two rows would have one key, given the
// last commit and the writes of the epoch before it.
func (g *graph) checkUnique(sn *state.Snapshot, t *tableWrite, us []*uniqueIndex, ov map[uint32]*overlay, undo *undoLog) error {
	for _, u := range us {
		o := ov[u.ix.OID]
		if o == nil {
			o = &overlay{count: map[string]int64{}}
			ov[u.ix.OID] = o
		}
		first := len(*undo)
		rows := map[string]int{} // the last row added with a key
		var buf []byte
		for i := range t.rows.Rows {
			key, unique, err := u.key(buf[:0], t.rows, i)
			if buf = key; err != nil {
				return err
			}
			if !unique {
				continue
			}
			k, n := string(key), t.rows.Weight(i)
			o.count[k] += n
			*undo = append(*undo, undoEntry{o: o, key: k, n: n})
			if n > 0 {
				rows[k] = i
			}
		}
		for _, e := range (*undo)[first:] {
			i, added := rows[e.key]
			if !added || o.count[e.key] <= 0 {
				continue
			}
			row, err := u.stored(sn, []byte(e.key))
			if err != nil {
				return err
			}
			if n := o.count[e.key]; n > 1 || row != nil {
				if t.lenient {
					return errConflict
				}
				return violation{u.duplicate(t.rows, i)}
			}
		}
	}
	return nil
}

// checkExisting refuses a unique index whose rows are not unique. It holds all of
// them, and nothing is on its way.
func (e *Engine) checkExisting(oid uint32) error {
	snap := e.cat.Current()
	ix, ok := snap.ByOID(oid).(*catalog.Index)
	if !ok || !ix.Unique {
		return nil
	}
	t, ok := snap.ByOID(ix.Table).(*catalog.Table)
	if !ok {
		return relationGone(ix.Table)
	}
	u, err := newUniqueIndex(snap, t, ix)
	if err != nil {
		return err
	}
	form := storedForm(t)
	if form == formBag {
		form = formOrdered
	}
	sn := e.store.Snapshot()
	defer sn.Close()
	var last, key []byte
	seen := false
	return scanRows(sn, oid, indexTypes(ix, t), form, nil, nil, e.cfg.ChunkRows, func(c *vec.Chunk) error {
		for i := range c.Rows {
			var unique bool
			var err error
			if key, unique, err = u.key(key[:0], c, i); err != nil {
				return err
			}
			if unique && (c.Weight(i) > 1 || seen && bytes.Equal(key, last)) {
				e := pgerr.New(pgerr.UniqueViolation, "could not create unique index \"%s\"", ix.Name).WithDetail("Key %s is duplicated.", u.described(c, i))
				e.Schema, e.Table, e.Constraint = t.Schema, t.Name, ix.Name
				return e
			}
			if unique {
				last, seen = append(last[:0], key...), true
			}
		}
		return nil
	})
}
