package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// keyRelations adds to relations those that foreign keys tie to them.
func keyRelations(snap *catalog.Snapshot, rels []uint32) []uint32 {
	seen := map[uint32]bool{}
	for _, r := range rels {
		seen[r] = true
	}
	add := func(oid uint32) {
		if !seen[oid] {
			seen[oid] = true
			rels = append(rels, oid)
		}
	}
	for _, r := range rels {
		t, ok := snap.ByOID(r).(*catalog.Table)
		if !ok {
			continue
		}
		for i := range t.ForeignKeys {
			add(t.ForeignKeys[i].Table)
		}
		for _, ref := range snap.References(r) {
			add(ref.Child.OID)
		}
	}
	return rels
}

// foreign returns the checker of a foreign key, as of the catalog.
func (g *graph) foreignKey(snap *catalog.Snapshot, child *catalog.Table, fk *catalog.ForeignKey) (*foreignKey, error) {
	k := g.keys[fk.OID]
	if k == nil || k.ForeignKey != fk || k.child != child || snap.ByOID(fk.Table) != catalog.Object(k.parent) ||
		k.index != nil && snap.ByOID(fk.Index) != catalog.Object(k.index.ix) {
		var err error
		if k, err = newForeignKey(snap, child, fk); err != nil {
			return nil, err
		}
		g.keys[fk.OID] = k
	}
	return k, nil
}

// keyChange is what a write makes of one foreign key.
type keyChange struct {
	k             *foreignKey
	child, parent *tableWrite          // nil: not written
	added         map[string]*keyDelta // of the child, see netChild
}

// keyChanges are those of the foreign keys that a write concerns.
func (g *graph) keyChanges(snap *catalog.Snapshot, w *write) ([]*keyChange, error) {
	var out []*keyChange
	byOID := map[uint32]*keyChange{}
	of := func(t *catalog.Table, fk *catalog.ForeignKey) (*keyChange, error) {
		if c := byOID[fk.OID]; c != nil {
			return c, nil
		}
		k, err := g.foreignKey(snap, t, fk)
		if err != nil {
			return nil, err
		}
		c := &keyChange{k: k}
		out, byOID[fk.OID] = append(out, c), c
		return c, nil
	}
	for i := range w.tables {
		tw := &w.tables[i]
		t, ok := snap.ByOID(tw.rel).(*catalog.Table)
		if !ok {
			continue
		}
		for n := range t.ForeignKeys {
			c, err := of(t, &t.ForeignKeys[n])
			if err != nil {
				return nil, err
			}
			c.child = tw
		}
		for _, ref := range snap.References(tw.rel) {
			c, err := of(ref.Child, ref.ForeignKey)
			if err != nil {
				return nil, err
			}
			c.parent = tw
		}
	}
	return out, nil
}

// checkForeign refuses a write after which a row would reference what is not there,
// given the last commit and the writes of the epoch before it, which the overlays
// hold with this one's changes of rows. A foreign key's overlay counts the rows that
// have come with each key.
func (g *graph) checkForeign(by rules, sn *state.Snapshot, w *write, ov map[uint32]*overlay, undo *undoLog) error {
	snap := by.cat
	changes, err := g.keyChanges(snap, w)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if g.tables[c.k.parent.OID] == nil || g.tables[c.k.child.OID] == nil {
			return errConflict // it has come since the write looked for its graph
		}
		if c.child == nil {
			continue
		}
		if c.added, err = c.k.netChild(c.child.rows); err != nil {
			return err
		}
		o := ov[c.k.OID]
		if o == nil {
			o = &overlay{count: map[string]int64{}}
			ov[c.k.OID] = o
		}
		for key, d := range c.added {
			if refState(key[0]) == refKey {
				o.count[key[1:]] += d.n
				*undo = append(*undo, undoEntry{o: o, key: key[1:], n: d.n})
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
func (g *graph) checkAdded(by rules, sn *state.Snapshot, c *keyChange, ov map[uint32]*overlay) error {
	if c.child == nil || c.child.checked && ov[c.k.parent.OID] == nil && g.eng.cols.Unchanged(c.k.parent.OID, c.child.seenAt) {
		return nil
	}
	for key, d := range c.added {
		if d.n <= 0 {
			continue
		}
		st := refState(key[0])
		if st == refKey {
			ok, err := c.k.present(by, sn, ov, []byte(key[1:]))
			if err != nil {
				return err
			}
			if ok {
				continue
			}
		}
		return violation{c.k.missing(st, c.child.rows, d.row)}
	}
	return nil
}

// present reports whether the parent has a row with a key after the writes so far.
func (k *foreignKey) present(by rules, sn *state.Snapshot, ov map[uint32]*overlay, key []byte) (bool, error) {
	if k.index == nil {
		if o := ov[k.parent.OID]; o != nil {
			if row, seen := o.vals[string(key)]; seen {
				return row != nil, nil
			}
		}
		return k.stored(sn, key)
	}
	if keys := by.keys[k.Index]; keys != nil {
		return keys[string(key)], nil
	}
	n := int64(0)
	if o := ov[k.Index]; o != nil {
		n = o.count[string(key)]
	}
	ok, err := k.stored(sn, key)
	if ok {
		n++
	}
	return n > 0, err
}

// checkRemoved checks that nothing references the keys of the parent that have gone.
func (g *graph) checkRemoved(by rules, sn *state.Snapshot, c *keyChange, ov map[uint32]*overlay) error {
	if c.parent == nil {
		return nil
	}
	count := map[string]int64{}
	if o := ov[c.k.OID]; o != nil {
		count = o.count
	}
	unchanged := c.parent.checked && g.eng.cols.Unchanged(c.k.child.OID, c.parent.seenAt)
	keys := keySet{at: map[string]int{}, rows: c.parent.rows}
	for key, d := range c.k.netParent(c.parent.rows) {
		if d.n >= 0 {
			continue
		}
		if ok, err := c.k.present(by, sn, ov, []byte(key)); ok || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if !unchanged {
			keys.at[key] = d.row
			continue
		}
		// The write itself leaves none of the rows that it saw; others may have come in
		// this epoch.
		others := count[key]
		if own := c.added[string(rune(refKey))+key]; own != nil {
			others -= own.n
		}
		if others > 0 {
			return violation{c.k.referenced(c.parent.rows, d.row)}
		}
	}
	if len(keys.at) == 0 {
		return nil
	}
	left := make(map[int]int64, len(keys.at))
	for key, n := range keys.at {
		left[n] = count[key]
	}
	err := c.k.scanChild(by.cat, sn, keys, g.eng.cfg.ChunkRows, g.eng.indexComplete, func(ch *vec.Chunk, i, key int) error {
		left[key] += ch.Weight(i)
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range sortedValues(keys.at) {
		if left[n] > 0 {
			return violation{c.k.referenced(c.parent.rows, n)}
		}
	}
	return nil
}
