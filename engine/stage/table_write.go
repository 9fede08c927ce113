package stage

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// Add stages row i of c with weight w.
func (w *TableWrite) Add(c *vec.Chunk, i int, n int64) error {
	if err := w.Index(); err != nil {
		return err
	}
	w.Rows.AppendFrom(c, i, n)
	for _, u := range w.Unique {
		if err := u.note(c, i, n); err != nil {
			return err
		}
	}
	for _, u := range w.Later {
		if err := u.note(w.Rows, w.Rows.Rows-1); err != nil {
			return err
		}
	}
	if w.Key == nil {
		return nil
	}
	k := string(vec.AppendKey(nil, c, w.Key, nil, nil, i))
	if n > 0 {
		w.Keys[k] = vec.AppendRow(nil, c, nil, i)
	} else {
		w.Keys[k] = nil
	}
	return nil
}

// Index builds the maps from keys to what the transaction made of them.
func (w *TableWrite) Index() error {
	if w.Keys != nil {
		return nil
	}
	w.Keys = map[string][]byte{}
	for _, u := range w.Unique {
		clear(u.Rows)
		if u.Base != nil {
			if err := u.noteNet(w.Rows); err != nil {
				return err
			}
		}
	}
	for _, u := range w.Later {
		u.forget()
	}
	for i := range w.Rows.Rows {
		for _, u := range w.Later {
			if err := u.note(w.Rows, i); err != nil {
				return err
			}
		}
		for _, u := range w.Unique {
			if u.Base != nil {
				continue
			}
			if err := u.note(w.Rows, i, w.Rows.Weight(i)); err != nil {
				return err
			}
		}
		if w.Key == nil {
			continue
		}
		k := string(vec.AppendKey(nil, w.Rows, w.Key, nil, nil, i))
		w.Keys[k] = nil
		if w.Rows.Weight(i) > 0 {
			w.Keys[k] = vec.AppendRow(nil, w.Rows, nil, i)
		}
	}
	return nil
}

// DuplicateKey is the error of a second row with a storage key.
func DuplicateKey(t *catalog.Table, c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"%s\"", t.PrimaryKey.Name).
		WithDetail("Key %s already exists.", KeyText(t, c, i))
	e.Schema, e.Table, e.Constraint = t.Schema, t.Name, t.PrimaryKey.Name
	return e
}

// KeyText is the storage key of a row as errors show it: (a, b)=(1, 2).
func KeyText(t *catalog.Table, c *vec.Chunk, i int) string {
	var names, vals []string
	for _, k := range t.PrimaryKey.Columns {
		names = append(names, sql.QuoteIdent(t.Columns[k].Name))
		vals = append(vals, datumText(c.Cols[k], i))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(vals, ", ") + ")"
}

// Copies returns in how many steps a row that comes n times is stored, and how
// often each time: a row of a table with keys is stored once, and then again.
func (w *TableWrite) Copies(n int64) (steps, each int64) {
	if w.Key == nil && len(w.Unique) == 0 {
		return 1, n
	}
	return n, 1
}
