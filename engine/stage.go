package engine

import (
	"bytes"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// staged returns the transaction's write of a table, making it if needed, for
// changes that are checked against the run's snapshot. The table's definition must
// not have changed since the transaction wrote to it first.
func (r *run) staged(t *catalog.Table) (*tableWrite, error) {
	s := r.s
	if err := s.tx.ddl.failed(); err != nil {
		return nil, err
	}
	for _, w := range s.tx.writes {
		if w.rel == t.OID {
			if w.revision != t.Revision {
				return nil, errConflict
			}
			if w.whole {
				if err := s.mayWriteWhole(t); err != nil {
					return nil, err
				}
			}
			w.seenAt = min(w.seenAt, r.snap.Clock())
			return w, r.enforce(w, t)
		}
	}
	w := &tableWrite{rel: t.OID, name: t.Name, revision: t.Revision, key: catalog.StorageKey(t), rows: vec.NewChunk(columnTypes(t.Columns), 16),
		checked: true, seenAt: r.snap.Clock()}
	if err := r.enforce(w, t); err != nil {
		return nil, err
	}
	s.tx.writes = append(s.tx.writes, w)
	return w, nil
}

// enforce makes a table's write know the unique indexes that there are by now.
func (r *run) enforce(w *tableWrite, t *catalog.Table) error {
	snap := r.s.snapshot()
	now := snap.UniqueIndexes(t.OID)
	if slices.Equal(w.enforced, now) {
		return nil
	}
	us, err := uniqueIndexes(snap, t)
	if err != nil {
		return err
	}
	w.enforced, w.unique, w.later, w.keys = now, nil, nil, nil
	for _, u := range us {
		base, err := r.stageStored(u, w, t)
		if err != nil {
			return err
		}
		if u.ix.Deferrable {
			l := newLaterKeys(u)
			l.base = base
			w.later = append(w.later, l)
		} else {
			w.unique = append(w.unique, &uniqueKeys{u, map[string][]byte{}, base})
		}
	}
	return nil
}

// add stages row i of c with weight w.
func (w *tableWrite) add(c *vec.Chunk, i int, n int64) error {
	if err := w.index(); err != nil {
		return err
	}
	w.rows.AppendFrom(c, i, n)
	for _, u := range w.unique {
		if err := u.note(c, i, n); err != nil {
			return err
		}
	}
	for _, u := range w.later {
		if err := u.note(w.rows, w.rows.Rows-1); err != nil {
			return err
		}
	}
	if w.key == nil {
		return nil
	}
	k := string(vec.AppendKey(nil, c, w.key, nil, nil, i))
	if n > 0 {
		w.keys[k] = vec.AppendRow(nil, c, nil, i)
	} else {
		w.keys[k] = nil
	}
	return nil
}

// index builds the maps from keys to what the transaction made of them.
func (w *tableWrite) index() error {
	if w.keys != nil {
		return nil
	}
	w.keys = map[string][]byte{}
	for _, u := range w.unique {
		clear(u.rows)
		if u.base != nil {
			if err := u.noteNet(w.rows); err != nil {
				return err
			}
		}
	}
	for _, u := range w.later {
		u.forget()
	}
	for i := range w.rows.Rows {
		for _, u := range w.later {
			if err := u.note(w.rows, i); err != nil {
				return err
			}
		}
		for _, u := range w.unique {
			if u.base != nil {
				continue
			}
			if err := u.note(w.rows, i, w.rows.Weight(i)); err != nil {
				return err
			}
		}
		if w.key == nil {
			continue
		}
		k := string(vec.AppendKey(nil, w.rows, w.key, nil, nil, i))
		w.keys[k] = nil
		if w.rows.Weight(i) > 0 {
			w.keys[k] = vec.AppendRow(nil, w.rows, nil, i)
		}
	}
	return nil
}

// current returns the stored row of a key as the transaction sees it; nil: none.
func (r *run) current(w *tableWrite, key []byte) ([]byte, error) {
	if err := w.index(); err != nil {
		return nil, err
	}
	if v, ok := w.keys[string(key)]; ok || w.whole {
		return v, nil
	}
	v, ok, err := r.snap.Get(w.rel, key)
	if err != nil || !ok {
		return nil, err
	}
	return bytes.Clone(v), nil
}

// duplicateKey is the error of a second row with a storage key.
func duplicateKey(t *catalog.Table, c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"%s\"", t.PrimaryKey.Name).
		WithDetail("Key %s already exists.", keyText(t, c, i))
	e.Schema, e.Table, e.Constraint = t.Schema, t.Name, t.PrimaryKey.Name
	return e
}

// keyText is the storage key of a row as errors show it: (a, b)=(1, 2).
func keyText(t *catalog.Table, c *vec.Chunk, i int) string {
	var names, vals []string
	for _, k := range t.PrimaryKey.Columns {
		names = append(names, sql.QuoteIdent(t.Columns[k].Name))
		vals = append(vals, datumText(c.Cols[k], i))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(vals, ", ") + ")"
}

// conflict is a row that has a key of a row about to be stored.
type conflict struct {
	row []byte
	err *pgerr.Error // that the key is taken
}

// conflicting returns the first row that has a key of row i of c, as the
// transaction sees it; nil: none. keys are those to look at: of planner.StorageKey
// or a unique index; nil: all.
func (r *run) conflicting(t *catalog.Table, w *tableWrite, keys []uint32, c *vec.Chunk, i int) (*conflict, error) {
	if w.key != nil && (keys == nil || slices.Contains(keys, planner.StorageKey)) {
		cur, err := r.current(w, vec.AppendKey(nil, c, w.key, nil, nil, i))
		if err != nil {
			return nil, err
		}
		if cur != nil {
			return &conflict{cur, duplicateKey(t, c, i)}, nil
		}
	}
	if len(w.unique) > 0 {
		if err := w.index(); err != nil {
			return nil, err
		}
	}
	for _, u := range w.unique {
		if keys != nil && !slices.Contains(keys, u.ix.OID) {
			continue
		}
		row, err := r.holder(u, c, i)
		if err != nil {
			return nil, err
		}
		if row != nil {
			return &conflict{row, u.duplicate(c, i)}, nil
		}
	}
	return nil, nil
}

// checkNotNull refuses NULLs in the given columns of rows about to be stored.
func checkNotNull(t *catalog.Table, cols []int, c *vec.Chunk) error {
	for _, k := range cols {
		v := c.Cols[k]
		if !v.Nulls().Any() {
			continue
		}
		for i := range c.Rows {
			if !v.IsNull(i) {
				continue
			}
			e := pgerr.New(pgerr.NotNullViolation, "null value in column \"%s\" of relation \"%s\" violates not-null constraint", t.Columns[k].Name, t.Name).
				WithDetail("Failing row contains %s.", rowText(c, i))
			e.Schema, e.Table, e.Column = t.Schema, t.Name, t.Columns[k].Name
			return e
		}
	}
	return nil
}

// insertRow stages a new row; a key that is taken is an error.
func (r *run) insertRow(t *catalog.Table, w *tableWrite, c *vec.Chunk, i int, n int64) error {
	k, err := r.conflicting(t, w, nil, c, i)
	if err != nil {
		return err
	}
	if k != nil {
		return k.err
	}
	return w.add(c, i, n)
}

// copies returns in how many steps a row that comes n times is stored, and how
// often each time: a row of a table with keys is stored once, and then again.
func (w *tableWrite) copies(n int64) (steps, each int64) {
	if w.key == nil && len(w.unique) == 0 {
		return 1, n
	}
	return n, 1
}

// insertRows stages new rows.
func (r *run) insertRows(t *catalog.Table, c *vec.Chunk) error {
	w, err := r.staged(t)
	if err != nil {
		return err
	}
	for i := range c.Rows {
		steps, each := w.copies(c.Weight(i))
		for range steps {
			if err := r.insertRow(t, w, c, i, each); err != nil {
				return err
			}
		}
	}
	return nil
}
