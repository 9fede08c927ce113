package stage

import (
	"fmt"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Columns returns columns [lo, hi) of a chunk as one of their own.
func Columns(c *vec.Chunk, lo, hi int) *vec.Chunk {
	return &vec.Chunk{Rows: c.Rows, Cols: append([]vec.Vector(nil), c.Cols[lo:hi]...), Diff: c.Diff}
}

// RelationGone is the error for an object that was dropped meanwhile.
func RelationGone(oid uint32) error {
	return pgerr.New(pgerr.UndefinedTable, "the relation with OID %d does not exist any more", oid)
}

// ScanRelation reads a stored relation's rows in key order, whole rows in chunks
// that f borrows. The catalog is the one that was current with the snapshot.
func ScanRelation(cat *catalog.Snapshot, sn *state.Snapshot, rel uint32, rows int, f func(*vec.Chunk) error) error {
	r, ok := cat.ByOID(rel).(catalog.Relation)
	if !ok {
		return pgerr.New(pgerr.UndefinedTable, "the relation with OID %d does not exist any more", rel)
	}
	return ScanRows(sn, catalog.StoreID(r), ColumnTypes(r.Cols()), StoredForm(r), nil, nil, rows, f)
}

// ColumnTypes are the types of columns, in order.
func ColumnTypes(cs []catalog.Column) []types.T {
	ts := make([]types.T, len(cs))
	for i := range cs {
		ts[i] = cs[i].Type
	}
	return ts
}

// rowForm is where a stored row lies.
type rowForm = plan.StoredForm

const (
	formKeyed   = plan.Keyed   // the value is the row
	FormBag     = plan.Bag     // the key is the row, the value a count
	FormOrdered = plan.Ordered // the same behind the key of an index
)

// StoredForm is the form of a relation's own rows.
func StoredForm(r catalog.Relation) rowForm {
	if catalog.StorageKey(r) == nil {
		return FormBag
	}
	return formKeyed
}

// ScanRows reads rows with storage keys in [lo, hi) as chunks.
func ScanRows(sn *state.Snapshot, rel uint32, ts []types.T, form rowForm, lo, hi []byte, rows int, f func(*vec.Chunk) error) error {
	return ScanColumns(sn, rel, ts, AllColumns(ts), form, lo, hi, rows, f)
}

// ScanColumns is ScanRows for chunks of some columns; each is named once.
func ScanColumns(sn *state.Snapshot, rel uint32, ts []types.T, cols []int, form rowForm, lo, hi []byte, rows int, f func(*vec.Chunk) error) error {
	it, err := sn.Scan(rel, lo, hi)
	if err != nil {
		return err
	}
	defer it.Close()
	read := vec.NewRowReader(ts, cols)
	c := vec.NewChunk(pickTypes(ts, cols), rows)
	size := 0
	for it.Next() {
		w, row := int64(1), it.Val()
		switch form {
		case FormBag:
			w, row = it.Count(), it.Key()
		case FormOrdered:
			w, row = it.Count(), exec.OrderedRow(it.Key())
		}
		if err := read.Read(c, row); err != nil {
			return fmt.Errorf("relation %d: %w", rel, err)
		}
		c.AddWeight(w)
		if size += len(row); c.Rows < rows && size <= vec.SoftBytes {
			continue
		}
		size = 0
		if err := f(c); err != nil {
			return err
		}
		c.Reset()
	}
	if err := it.Err(); err != nil || c.Rows == 0 {
		return err
	}
	return f(c)
}

// AllColumns are the positions of all columns.
func AllColumns(ts []types.T) []int {
	out := make([]int, len(ts))
	for i := range out {
		out[i] = i
	}
	return out
}

func pickTypes(ts []types.T, cols []int) []types.T {
	out := make([]types.T, len(cols))
	for i, c := range cols {
		out[i] = ts[c]
	}
	return out
}

// NetRows sums up the weights of equal rows, in their exact form.
func NetRows(c *vec.Chunk) map[string]int64 {
	m := make(map[string]int64, c.Rows)
	var row []byte
	for i := range c.Rows {
		row = vec.AppendRow(row[:0], c, nil, i)
		m[string(row)] += c.Weight(i)
	}
	return m
}
