package engine

import (
	"bytes"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// staged returns the transaction's write of a table, making it if needed.
func (s *Session) staged(t *catalog.Table) *tableWrite {
	for _, w := range s.tx.writes {
		if w.rel == t.OID {
			return w
		}
	}
	w := &tableWrite{rel: t.OID, name: t.Name, key: storageKey(t), rows: vec.NewChunk(columnTypes(t.Columns), 16)}
	s.tx.writes = append(s.tx.writes, w)
	return w
}

// add stages row i of c with weight w.
func (w *tableWrite) add(c *vec.Chunk, i int, n int64) {
	w.rows.AppendFrom(c, i, n)
	if w.key == nil {
		return
	}
	w.index()
	k := string(vec.AppendKey(nil, c, w.key, nil, nil, i))
	if n > 0 {
		w.keys[k] = vec.AppendRow(nil, c, nil, i)
	} else {
		w.keys[k] = nil
	}
}

// index builds the map from keys to what the transaction made of them.
func (w *tableWrite) index() {
	if w.keys != nil {
		return
	}
	w.keys = map[string][]byte{}
	for i := range w.rows.Rows {
		k := string(vec.AppendKey(nil, w.rows, w.key, nil, nil, i))
		w.keys[k] = nil
		if w.rows.Weight(i) > 0 {
			w.keys[k] = vec.AppendRow(nil, w.rows, nil, i)
		}
	}
}

// current returns the stored row of a key as the transaction sees it; nil: none.
func (r *run) current(w *tableWrite, key []byte) ([]byte, error) {
	w.index()
	if v, ok := w.keys[string(key)]; ok {
		return v, nil
	}
	v, ok, err := r.snap.Get(w.rel, key)
	if err != nil || !ok {
		return nil, err
	}
	return bytes.Clone(v), nil
}

// duplicateKey is the error of a second row with a key.
func duplicateKey(t *catalog.Table, c *vec.Chunk, i int) error {
	var names, vals []string
	for _, k := range t.PrimaryKey.Columns {
		names = append(names, sql.QuoteIdent(t.Columns[k].Name))
		vals = append(vals, string(types.AppendText(nil, c.Cols[k].Type(), c.Cols[k].Datum(i), &types.Options{})))
	}
	e := pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"%s\"", t.PrimaryKey.Name).
		WithDetail("Key (%s)=(%s) already exists.", strings.Join(names, ", "), strings.Join(vals, ", "))
	e.Schema, e.Table, e.Constraint = t.Schema, t.Name, t.PrimaryKey.Name
	return e
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

// insertRows stages new rows; an existing key is an error.
func (r *run) insertRows(t *catalog.Table, c *vec.Chunk) error {
	w := r.s.staged(t)
	var key []byte
	for i := range c.Rows {
		if w.key != nil {
			key = vec.AppendKey(key[:0], c, w.key, nil, nil, i)
			cur, err := r.current(w, key)
			if err != nil {
				return err
			}
			if cur != nil {
				return duplicateKey(t, c, i)
			}
		}
		w.add(c, i, c.Weight(i))
	}
	return nil
}
