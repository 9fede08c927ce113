package engine

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/vec"
)

// staged returns the transaction's write of a table, making it if needed, for
// changes that are checked against the run's snapshot. The table's definition must
// not have changed since the transaction wrote to it first.
func (r *run) staged(t *catalog.Table) (*stage.TableWrite, error) {
	s := r.s
	if err := s.tx.ddl.failed(); err != nil {
		return nil, err
	}
	for _, w := range s.tx.writes {
		if w.Rel == t.OID {
			if w.Revision != t.Revision {
				return nil, stage.ErrConflict
			}
			if w.Whole {
				if err := s.mayWriteWhole(t); err != nil {
					return nil, err
				}
			}
			w.SeenAt = min(w.SeenAt, r.snap.Clock())
			return w, r.enforce(w, t)
		}
	}
	w := &stage.TableWrite{Rel: t.OID, Name: t.Name, Revision: t.Revision, Key: catalog.StorageKey(t), Rows: vec.NewChunk(stage.ColumnTypes(t.Columns), 16),
		Checked: true, SeenAt: r.snap.Clock()}
	if err := r.enforce(w, t); err != nil {
		return nil, err
	}
	s.tx.writes = append(s.tx.writes, w)
	return w, nil
}

// enforce makes a table's write know the unique indexes that there are by now.
func (r *run) enforce(w *stage.TableWrite, t *catalog.Table) error {
	snap := r.s.snapshot()
	now := snap.UniqueIndexes(t.OID)
	if slices.Equal(w.Enforced, now) {
		return nil
	}
	us, err := stage.UniqueIndexes(snap, t)
	if err != nil {
		return err
	}
	w.Enforced, w.Unique, w.Later, w.Keys = now, nil, nil, nil
	for _, u := range us {
		base, err := r.stageStored(u, w, t)
		if err != nil {
			return err
		}
		if u.Ix.Deferrable {
			l := stage.NewLaterKeys(u)
			l.Base = base
			w.Later = append(w.Later, l)
		} else {
			w.Unique = append(w.Unique, &stage.UniqueKeys{UniqueIndex: u, Rows: map[string][]byte{}, Base: base})
		}
	}
	return nil
}

// current returns the stored row of a key as the transaction sees it; nil: none.
func (r *run) current(w *stage.TableWrite, key []byte) ([]byte, error) {
	if err := w.Index(); err != nil {
		return nil, err
	}
	if v, ok := w.Keys[string(key)]; ok || w.Whole {
		return v, nil
	}
	v, ok, err := r.snap.Get(w.Rel, key)
	if err != nil || !ok {
		return nil, err
	}
	return bytes.Clone(v), nil
}

// conflict is a row that has a key of a row about to be stored.
type conflict struct {
	row []byte
	err *pgerr.Error // that the key is taken
}

// conflicting returns the first row that has a key of row i of c, as the
// transaction sees it; nil: none. keys are those to look at: of planner.StorageKey
// or a unique index; nil: all.
func (r *run) conflicting(t *catalog.Table, w *stage.TableWrite, keys []uint32, c *vec.Chunk, i int) (*conflict, error) {
	if w.Key != nil && (keys == nil || slices.Contains(keys, planner.StorageKey)) {
		cur, err := r.current(w, vec.AppendKey(nil, c, w.Key, nil, nil, i))
		if err != nil {
			return nil, err
		}
		if cur != nil {
			return &conflict{cur, stage.DuplicateKey(t, c, i)}, nil
		}
	}
	if len(w.Unique) > 0 {
		if err := w.Index(); err != nil {
			return nil, err
		}
	}
	for _, u := range w.Unique {
		if keys != nil && !slices.Contains(keys, u.Ix.OID) {
			continue
		}
		row, err := r.holder(u, c, i)
		if err != nil {
			return nil, err
		}
		if row != nil {
			return &conflict{row, u.Duplicate(c, i)}, nil
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
				WithDetail("Failing row contains %s.", jobs.RowText(c, i))
			e.Schema, e.Table, e.Column = t.Schema, t.Name, t.Columns[k].Name
			return e
		}
	}
	return nil
}

// insertRow stages a new row; a key that is taken is an error.
func (r *run) insertRow(t *catalog.Table, w *stage.TableWrite, c *vec.Chunk, i int, n int64) error {
	k, err := r.conflicting(t, w, nil, c, i)
	if err != nil {
		return err
	}
	if k != nil {
		return k.err
	}
	return w.Add(c, i, n)
}

// insertRows stages new rows.
func (r *run) insertRows(t *catalog.Table, c *vec.Chunk) error {
	w, err := r.staged(t)
	if err != nil {
		return err
	}
	for i := range c.Rows {
		steps, each := w.Copies(c.Weight(i))
		for range steps {
			if err := r.insertRow(t, w, c, i, each); err != nil {
				return err
			}
		}
	}
	return nil
}
