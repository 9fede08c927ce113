package stage

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// Overlay holds what an epoch's writes make of a table's keys.
type Overlay struct {
	Keyed bool
	Vals  map[string][]byte // keyed: the row; nil: absent
	Count map[string]int64  // unkeyed: the change of the count
}

// UndoLog takes back what a refused write has left in the overlays.
type UndoLog []UndoEntry

// UndoEntry is a key of an overlay before a write changed it; without Keyed, N is by how
// much that changed its count.
type UndoEntry struct {
	O    *Overlay
	Key  string
	val  []byte
	seen bool
	N    int64
}

// Run takes back the changes, the last one first.
func (u UndoLog) Run() {
	for i := len(u) - 1; i >= 0; i-- {
		e := &u[i]
		switch {
		case !e.O.Keyed:
			e.O.Count[e.Key] -= e.N
		case e.seen:
			e.O.Vals[e.Key] = e.val
		default:
			delete(e.O.Vals, e.Key)
		}
	}
}

// Rules are what writes are held against.
type Rules struct {
	Cat *catalog.Snapshot
	// Keys are the keys that there will be after the epoch, of unique indexes that come
	// to be in it.
	Keys map[uint32]map[string]bool
}

// OverlayOf returns the overlay of a table that is written, made if need be.
func OverlayOf(ov map[uint32]*Overlay, t *TableWrite) *Overlay {
	o := ov[t.Rel]
	if o == nil {
		o = &Overlay{Keyed: t.Key != nil}
		if o.Keyed {
			o.Vals = make(map[string][]byte, t.Rows.Rows)
		} else {
			o.Count = make(map[string]int64, t.Rows.Rows)
		}
		ov[t.Rel] = o
	}
	return o
}

// ValidateRows checks the changes of a table and adds them to its overlay.
func ValidateRows(sn *state.Snapshot, table *catalog.Table, t *TableWrite, o *Overlay, undo *UndoLog, unchanged bool) error {
	*undo = slices.Grow(*undo, t.Rows.Rows)
	if o.Keyed {
		return validateKeyed(sn, table, t, o, undo, unchanged)
	}
	return validateBag(sn, t, o, undo)
}

// validateKeyed checks the changes of a table with a key against what is stored,
// if that may have changed since they were made, and against earlier writes.
func validateKeyed(sn *state.Snapshot, table *catalog.Table, t *TableWrite, o *Overlay, undo *UndoLog, unchanged bool) error {
	var key, row []byte
	for i := range t.Rows.Rows {
		key = vec.AppendKey(key[:0], t.Rows, t.Key, nil, nil, i)
		row = vec.AppendRow(row[:0], t.Rows, nil, i)
		cur, seen := o.Vals[string(key)]
		switch {
		case seen:
		case unchanged && t.Rows.Weight(i) < 0:
			cur = row
		case !unchanged:
			v, ok, err := sn.Get(t.Rel, key)
			if err != nil {
				return err
			}
			if ok {
				cur = bytes.Clone(v)
			}
		}
		k := string(key)
		*undo = append(*undo, UndoEntry{O: o, Key: k, val: cur, seen: seen})
		switch w := t.Rows.Weight(i); {
		case w == 1 && cur == nil:
			o.Vals[k] = bytes.Clone(row)
		case w == -1 && cur != nil && bytes.Equal(cur, row):
			o.Vals[k] = nil
		case w == 1 && !t.Lenient:
			return Violation{Err: DuplicateKey(table, t.Rows, i)}
		default:
			return ErrConflict
		}
	}
	return nil
}

func validateBag(sn *state.Snapshot, t *TableWrite, o *Overlay, undo *UndoLog) error {
	var row []byte
	for i := range t.Rows.Rows {
		row = vec.AppendRow(row[:0], t.Rows, nil, i)
		k, w := string(row), t.Rows.Weight(i)
		if w < 0 {
			n, err := sn.Count(t.Rel, row)
			if err != nil {
				return err
			}
			if n+o.Count[k]+w < 0 {
				return ErrConflict
			}
		}
		o.Count[k] += w
		*undo = append(*undo, UndoEntry{O: o, Key: k, N: w})
	}
	return nil
}
