package jobs

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// foreign returns the checker of a foreign key, as of the catalog.
func (g *Graph) foreignKey(snap *catalog.Snapshot, child *catalog.Table, fk *catalog.ForeignKey) (*stage.ForeignKey, error) {
	k := g.keys[fk.OID]
	if k == nil || k.ForeignKey != fk || k.Child != child || snap.ByOID(fk.Table) != catalog.Object(k.Parent) ||
		k.ParentIndex != nil && snap.ByOID(fk.Index) != catalog.Object(k.ParentIndex.Ix) {
		var err error
		if k, err = stage.NewForeignKey(snap, child, fk); err != nil {
			return nil, err
		}
		g.keys[fk.OID] = k
	}
	return k, nil
}

// keyChanges are those of the foreign keys that a write concerns.
func (g *Graph) keyChanges(snap *catalog.Snapshot, w *stage.Write) ([]*stage.KeyChange, error) {
	var out []*stage.KeyChange
	byOID := map[uint32]*stage.KeyChange{}
	of := func(t *catalog.Table, fk *catalog.ForeignKey) (*stage.KeyChange, error) {
		if c := byOID[fk.OID]; c != nil {
			return c, nil
		}
		k, err := g.foreignKey(snap, t, fk)
		if err != nil {
			return nil, err
		}
		c := &stage.KeyChange{K: k}
		out, byOID[fk.OID] = append(out, c), c
		return c, nil
	}
	for i := range w.Tables {
		tw := &w.Tables[i]
		t, ok := snap.ByOID(tw.Rel).(*catalog.Table)
		if !ok {
			continue
		}
		for n := range t.ForeignKeys {
			c, err := of(t, &t.ForeignKeys[n])
			if err != nil {
				return nil, err
			}
			c.Child = tw
		}
		for _, ref := range snap.References(tw.Rel) {
			c, err := of(ref.Child, ref.ForeignKey)
			if err != nil {
				return nil, err
			}
			c.Parent = tw
		}
	}
	return out, nil
}

// checkForeign refuses a write after which a row would reference what is not there,
// given the last commit and the writes of the epoch before it, which the overlays
// hold with this one's changes of rows. A foreign key's overlay counts the rows that
// have come with each key.
func (g *Graph) checkForeign(by stage.Rules, sn *state.Snapshot, w *stage.Write, ov map[uint32]*stage.Overlay, undo *stage.UndoLog) error {
	snap := by.Cat
	changes, err := g.keyChanges(snap, w)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if g.tables[c.K.Parent.OID] == nil || g.tables[c.K.Child.OID] == nil {
			return stage.ErrConflict // it has come since the write looked for its graph
		}
		if c.Child == nil {
			continue
		}
		if c.Added, err = c.K.NetChild(c.Child.Rows); err != nil {
			return err
		}
		o := ov[c.K.OID]
		if o == nil {
			o = &stage.Overlay{Count: map[string]int64{}}
			ov[c.K.OID] = o
		}
		for key, d := range c.Added {
			if stage.RefState(key[0]) == stage.RefKey {
				o.Count[key[1:]] += d.N
				*undo = append(*undo, stage.UndoEntry{O: o, Key: key[1:], N: d.N})
			}
		}
	}
	for _, c := range changes {
		if err := g.checkAdded(by, sn, c, ov); err != nil {
			return err
		}
		if err := g.checkRemoved(by, sn, c, ov); err != nil {
			return err
		}
	}
	return nil
}

// checkAdded checks what the rows of the child that have come reference.
func (g *Graph) checkAdded(by stage.Rules, sn *state.Snapshot, c *stage.KeyChange, ov map[uint32]*stage.Overlay) error {
	if c.Child == nil || c.Child.Checked && ov[c.K.Parent.OID] == nil && g.eng.Columns.Unchanged(c.K.Parent.OID, c.Child.SeenAt) {
		return nil
	}
	for key, d := range c.Added {
		if d.N <= 0 {
			continue
		}
		st := stage.RefState(key[0])
		if st == stage.RefKey {
			ok, err := c.K.Present(by, sn, ov, []byte(key[1:]))
			if err != nil {
				return err
			}
			if ok {
				continue
			}
		}
		return stage.Violation{Err: c.K.Missing(st, c.Child.Rows, d.Row)}
	}
	return nil
}

// checkRemoved checks that nothing references the keys of the parent that have gone.
func (g *Graph) checkRemoved(by stage.Rules, sn *state.Snapshot, c *stage.KeyChange, ov map[uint32]*stage.Overlay) error {
	if c.Parent == nil {
		return nil
	}
	count := map[string]int64{}
	if o := ov[c.K.OID]; o != nil {
		count = o.Count
	}
	unchanged := c.Parent.Checked && g.eng.Columns.Unchanged(c.K.Child.OID, c.Parent.SeenAt)
	keys := stage.KeySet{At: map[string]int{}, Rows: c.Parent.Rows}
	for key, d := range c.K.NetParent(c.Parent.Rows) {
		if d.N >= 0 {
			continue
		}
		if ok, err := c.K.Present(by, sn, ov, []byte(key)); ok || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if !unchanged {
			keys.At[key] = d.Row
			continue
		}
		// The write itself leaves none of the rows that it saw; others may have come in
		// this epoch.
		others := count[key]
		if own := c.Added[string(rune(stage.RefKey))+key]; own != nil {
			others -= own.N
		}
		if others > 0 {
			return stage.Violation{Err: c.K.Referenced(c.Parent.Rows, d.Row)}
		}
	}
	if len(keys.At) == 0 {
		return nil
	}
	left := make(map[int]int64, len(keys.At))
	for key, n := range keys.At {
		left[n] = count[key]
	}
	err := c.K.ScanChild(by.Cat, sn, keys, g.eng.Config.ChunkRows, g.eng.IndexComplete, func(ch *vec.Chunk, i, key int) error {
		left[key] += ch.Weight(i)
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range stage.SortedValues(keys.At) {
		if left[n] > 0 {
			return stage.Violation{Err: c.K.Referenced(c.Parent.Rows, n)}
		}
	}
	return nil
}
