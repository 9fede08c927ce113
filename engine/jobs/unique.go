package jobs

import (
	"bytes"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// uniqueSet are the unique indexes of a table that a graph enforces.
type uniqueSet struct {
	table   *catalog.Table
	indexes []*stage.UniqueIndex
}

// uniques returns the unique indexes to enforce on a table, as of the catalog.
func (g *Graph) uniques(snap *catalog.Snapshot, t *catalog.Table) ([]*stage.UniqueIndex, error) {
	ixs := snap.UniqueIndexes(t.OID)
	s := g.unique[t.OID]
	same := s != nil && s.table == t && len(s.indexes) == len(ixs)
	for i := 0; same && i < len(ixs); i++ {
		same = s.indexes[i].Ix == ixs[i]
	}
	if !same {
		s = &uniqueSet{table: t}
		var err error
		if s.indexes, err = stage.UniqueIndexes(snap, t); err != nil {
			return nil, err
		}
		g.unique[t.OID] = s
	}
	var out []*stage.UniqueIndex
	for _, u := range s.indexes {
		j := g.jobs[u.Ix.OID]
		switch {
		case j == nil || j.gone.Load(): // being created, or being dropped
		case j.Err() != nil:
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "unique index \"%s\" has failed: %s", u.Ix.Name, pgerr.From(j.Err()).Msg).
				WithHint("Drop it and create it again.")
		default:
			out = append(out, u)
		}
	}
	return out, nil
}

// checkUnique refuses a write after which two rows would have one key, given the
// last commit and the writes of the epoch before it.
func (g *Graph) checkUnique(sn *state.Snapshot, t *stage.TableWrite, us []*stage.UniqueIndex, ov map[uint32]*stage.Overlay, undo *stage.UndoLog) error {
	for _, u := range us {
		o := ov[u.Ix.OID]
		if o == nil {
			o = &stage.Overlay{Count: map[string]int64{}}
			ov[u.Ix.OID] = o
		}
		first := len(*undo)
		rows := map[string]int{} // the last row added with a key
		var buf []byte
		for i := range t.Rows.Rows {
			key, unique, err := u.Key(buf[:0], t.Rows, i)
			if buf = key; err != nil {
				return err
			}
			if !unique {
				continue
			}
			k, n := string(key), t.Rows.Weight(i)
			o.Count[k] += n
			*undo = append(*undo, stage.UndoEntry{O: o, Key: k, N: n})
			if n > 0 {
				rows[k] = i
			}
		}
		for _, e := range (*undo)[first:] {
			i, added := rows[e.Key]
			if !added || o.Count[e.Key] <= 0 {
				continue
			}
			row, err := u.Stored(sn, []byte(e.Key))
			if err != nil {
				return err
			}
			if n := o.Count[e.Key]; n > 1 || row != nil {
				if t.Lenient {
					return stage.ErrConflict
				}
				return stage.Violation{Err: u.Duplicate(t.Rows, i)}
			}
		}
	}
	return nil
}

// checkExisting refuses a unique index whose rows are not unique. It holds all of
// them, and nothing is on its way.
func (e *Runner) checkExisting(oid uint32) error {
	snap := e.Catalog.Current()
	ix, ok := snap.ByOID(oid).(*catalog.Index)
	if !ok || !ix.Unique {
		return nil
	}
	if v, ok := snap.ByOID(ix.Table).(*catalog.MatView); ok && v.Distinct(ix.Columns()) {
		return nil // by its query
	}
	t, ok := snap.ByOID(ix.Table).(*catalog.Table)
	if !ok {
		return stage.RelationGone(ix.Table)
	}
	u, err := stage.NewUniqueIndex(snap, t, ix)
	if err != nil {
		return err
	}
	form := stage.StoredForm(t)
	if form == stage.FormBag {
		form = stage.FormOrdered
	}
	sn := e.Store.Snapshot()
	defer sn.Close()
	var last, key []byte
	seen := false
	return stage.ScanRows(sn, oid, stage.IndexTypes(ix, t), form, nil, nil, e.Config.ChunkRows, func(c *vec.Chunk) error {
		for i := range c.Rows {
			var unique bool
			var err error
			if key, unique, err = u.Key(key[:0], c, i); err != nil {
				return err
			}
			if unique && (c.Weight(i) > 1 || seen && bytes.Equal(key, last)) {
				e := pgerr.New(pgerr.UniqueViolation, "could not create unique index \"%s\"", ix.Name).WithDetail("Key %s is duplicated.", u.Described(c, i))
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
