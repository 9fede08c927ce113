package stage

import (
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// KeyRelations adds to relations those that foreign keys tie to them.
func KeyRelations(snap *catalog.Snapshot, rels []uint32) []uint32 {
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

// KeyChange is what a write makes of one foreign key.
type KeyChange struct {
	K             *ForeignKey
	Child, Parent *TableWrite          // nil: not written
	Added         map[string]*KeyDelta // of the child, see netChild
}

// Present reports whether the parent has a row with a key after the writes so far.
func (k *ForeignKey) Present(by Rules, sn *state.Snapshot, ov map[uint32]*Overlay, key []byte) (bool, error) {
	if k.ParentIndex == nil {
		if o := ov[k.Parent.OID]; o != nil {
			if row, seen := o.Vals[string(key)]; seen {
				return row != nil, nil
			}
		}
		return k.Stored(sn, key)
	}
	if keys := by.Keys[k.Index]; keys != nil {
		return keys[string(key)], nil
	}
	n := int64(0)
	if o := ov[k.Index]; o != nil {
		n = o.Count[string(key)]
	}
	ok, err := k.Stored(sn, key)
	if ok {
		n++
	}
	return n > 0, err
}

// Foreign keys are checked twice, like unique ones: at the end of a statement (or
// of the transaction, where they are deferred) against what it sees, and when the
// graph takes up the write, against the last commit and the writes before it. A
// write has all tables in its graph that foreign keys tie to those it changes.

// ForeignKey computes the keys by which a foreign key ties rows together. It
// belongs to one goroutine.
type ForeignKey struct {
	*catalog.ForeignKey
	Child, Parent *catalog.Table
	// Cols of the child reference refs of the parent, both in the order of the
	// parent's unique key.
	Cols, Refs  []int
	ParentIndex *UniqueIndex // of the parent; nil: rows are stored by the key
	// there makes a value of the parent's type of one of the child, over its row, and
	// back the other way, over the key; nil: they are the same.
	there, back []*expr.Program
	mixed       bool // some are not nil
	ctx         expr.Ctx
	row, key    *vec.Chunk // of one row
}

// NewForeignKey is for a foreign key of child, as the catalog has both tables.
func NewForeignKey(snap *catalog.Snapshot, child *catalog.Table, fk *catalog.ForeignKey) (*ForeignKey, error) {
	parent, ok := snap.ByOID(fk.Table).(*catalog.Table)
	if !ok {
		return nil, RelationGone(fk.Table)
	}
	k := &ForeignKey{ForeignKey: fk, Child: child, Parent: parent, ctx: expr.Ctx{Session: &expr.Session{}}}
	if parent.PrimaryKey != nil && parent.PrimaryKey.OID == fk.Index {
		k.Refs = parent.PrimaryKey.Columns
	} else {
		ix, ok := snap.ByOID(fk.Index).(*catalog.Index)
		if !ok {
			return nil, RelationGone(fk.Index)
		}
		var err error
		if k.ParentIndex, err = NewUniqueIndex(snap, parent, ix); err != nil {
			return nil, err
		}
		k.Refs = ix.Columns()
	}
	refs, cols := catalog.ColumnPositions(parent.Columns, fk.RefColumns), catalog.ColumnPositions(child.Columns, fk.Columns)
	for _, r := range k.Refs {
		k.Cols = append(k.Cols, cols[slices.Index(refs, r)])
	}
	return k, k.compile(snap)
}

// compile prepares the conversions between the columns' types.
func (k *ForeignKey) compile(snap *catalog.Snapshot) error {
	there, back, err := (&planner.Planner{Cat: snap, Session: k.ctx.Session}).KeyCasts(k.Child.Columns, k.Cols, k.Parent.Columns, k.Refs)
	if err != nil {
		return err
	}
	k.there, k.back = make([]*expr.Program, len(there)), make([]*expr.Program, len(back))
	for i := range there {
		if there[i] == nil {
			continue
		}
		k.mixed = true
		if k.there[i], err = expr.Compile(there[i]); err != nil {
			return err
		}
		if k.back[i], err = expr.Compile(back[i]); err != nil {
			return err
		}
	}
	k.row = vec.NewChunk(ColumnTypes(k.Child.Columns), 1)
	return nil
}

// RefState is what a row's foreign key says.
type RefState uint8

const (
	RefNone  RefState = iota // it is NULL: it references nothing
	RefKey                   // it references a key
	refNever                 // it references what no key can be
	refMixed                 // MATCH FULL, and only some of it is NULL
)

// ChildKey appends the key that row i of the child references, as the parent's
// unique key has it.
func (k *ForeignKey) ChildKey(dst []byte, c *vec.Chunk, i int) ([]byte, RefState, error) {
	nulls := 0
	for _, col := range k.Cols {
		if c.Cols[col].IsNull(i) {
			nulls++
		}
	}
	switch {
	case nulls > 0 && nulls < len(k.Cols) && k.MatchFull:
		return dst, refMixed, nil
	case nulls > 0:
		return dst, RefNone, nil
	case !k.mixed:
		return vec.AppendKey(dst, c, k.Cols, nil, nil, i), RefKey, nil
	}
	return k.convertedKey(dst, c, i)
}

// convertedKey is childKey where types differ: a value that does not come back the
// same from the parent's type is none of its values.
func (k *ForeignKey) convertedKey(dst []byte, c *vec.Chunk, i int) ([]byte, RefState, error) {
	k.row.Reset()
	k.row.AppendFrom(&vec.Chunk{Rows: c.Rows, Cols: c.Cols[:len(k.row.Cols)], Diff: c.Diff}, i, 1)
	key := &vec.Chunk{Rows: 1}
	for n, p := range k.there {
		v := k.row.Cols[k.Cols[n]]
		if p != nil {
			var err error
			if v, err = p.Eval(&k.ctx, k.row); err != nil {
				return dst, refNever, nil //nolint:nilerr // out of the parent's range
			}
		}
		key.Cols = append(key.Cols, v)
	}
	for n, p := range k.back {
		if p == nil {
			continue
		}
		v, err := p.Eval(&k.ctx, key)
		if err != nil {
			return dst, refNever, nil //nolint:nilerr // nor can it have come from there
		}
		was := vec.AppendKey(nil, k.row, k.Cols[n:n+1], nil, nil, 0)
		if !slices.Equal(was, vec.AppendKey(nil, &vec.Chunk{Rows: 1, Cols: []vec.Vector{v}}, []int{0}, nil, nil, 0)) {
			return dst, refNever, nil
		}
	}
	return vec.AppendKey(dst, key, AllColumns(key.Types()), nil, nil, 0), RefKey, nil
}

// ParentKey appends the key of row i of the parent; false: it holds a NULL, so that
// nothing references it.
func (k *ForeignKey) ParentKey(dst []byte, c *vec.Chunk, i int) ([]byte, bool) {
	for _, col := range k.Refs {
		if c.Cols[col].IsNull(i) {
			return dst, false
		}
	}
	return vec.AppendKey(dst, c, k.Refs, nil, nil, i), true
}

// Stored reports whether the parent has a row with a key.
func (k *ForeignKey) Stored(sn *state.Snapshot, key []byte) (bool, error) {
	if k.ParentIndex == nil {
		_, ok, err := sn.Get(k.Parent.OID, key)
		return ok, err
	}
	row, err := k.ParentIndex.Stored(sn, key)
	return row != nil, err
}

// KeySet are keys of rows of the parent, which are kept whole.
type KeySet struct {
	At   map[string]int // a key's row
	Rows *vec.Chunk     // of the parent
}

// ScanChild calls f for the stored rows of the child that reference one of the keys,
// with its number. It reads them by a key or an index of the child that begins with
// the columns, if there is one that usable allows, else all of them. f borrows the
// chunk, whose first columns are the table's.
func (k *ForeignKey) ScanChild(snap *catalog.Snapshot, sn *state.Snapshot, keys KeySet, chunkRows int, usable func(oid uint32) bool,
	f func(c *vec.Chunk, i, key int) error) error {
	each := func(c *vec.Chunk) error {
		var buf []byte
		for i := range c.Rows {
			key, st, err := k.ChildKey(buf[:0], c, i)
			if buf = key; err != nil {
				return err
			}
			if n, ok := keys.At[string(key)]; ok && st == RefKey {
				if err := f(c, i, n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	index, order := planner.KeyOver(snap, k.Child, k.Cols)
	if order == nil || index != 0 && !usable(index) {
		return ScanRelation(snap, sn, k.Child.OID, chunkRows, each)
	}
	rel, ts, form := k.Child.OID, ColumnTypes(k.Child.Columns), StoredForm(k.Child)
	if ix, ok := snap.ByOID(index).(*catalog.Index); ok {
		rel, ts = ix.OID, IndexTypes(ix, k.Child)
		if form == FormBag {
			form = FormOrdered
		}
	}
	for _, n := range SortedValues(keys.At) {
		lo, ok, err := k.prefix(order, keys.Rows, n)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := ScanRows(sn, rel, ts, form, lo, append(slices.Clone(lo), 0xff), min(chunkRows, 64), each); err != nil {
			return err
		}
	}
	return nil
}

// prefix is the key of row i of the parent with the types of the child's columns, in
// an order of these; false: they have no such value.
func (k *ForeignKey) prefix(order []int, rows *vec.Chunk, i int) ([]byte, bool, error) {
	key := vec.NewChunk(pickTypes(rows.Types(), k.Refs), 1)
	for n, r := range k.Refs {
		key.Cols[n].AppendFrom(rows.Cols[r], i)
	}
	key.AddWeight(1)
	var out []byte
	for _, col := range order {
		n := slices.Index(k.Cols, col)
		v := key.Cols[n]
		if p := k.back[n]; p != nil {
			var err error
			if v, err = p.Eval(&k.ctx, key); err != nil {
				return nil, false, nil //nolint:nilerr // out of the child's range
			}
		}
		out = vec.AppendKey(out, &vec.Chunk{Rows: 1, Cols: []vec.Vector{v}}, []int{0}, nil, nil, 0)
	}
	return out, true, nil
}

// SortedValues returns the values of a map in ascending order.
func SortedValues(m map[string]int) []int {
	out := make([]int, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// described is the key of a row as errors show it: (a, b)=(1, 2). numbers are the
// columns'.
func describedColumns(cs []catalog.Column, numbers []int, c *vec.Chunk, i int) string {
	var names, vals []string
	for _, k := range catalog.ColumnPositions(cs, numbers) {
		names = append(names, cs[k].Name)
		vals = append(vals, datumText(c.Cols[k], i))
	}
	return "(" + strings.Join(names, ", ") + ")=(" + strings.Join(vals, ", ") + ")"
}

// Missing is the error of row i of the child, which references nothing that is
// there.
func (k *ForeignKey) Missing(st RefState, c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", k.Child.Name, k.Name)
	if st == refMixed {
		e = e.WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
	} else {
		e = e.WithDetail("Key %s is not present in table \"%s\".", describedColumns(k.Child.Columns, k.Columns, c, i), k.Parent.Name)
	}
	e.Schema, e.Table, e.Constraint = k.Child.Schema, k.Child.Name, k.Name
	return e
}

// Referenced is the error of row i of the parent, which goes but is referenced.
func (k *ForeignKey) Referenced(c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.ForeignKeyViolation, "update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"", k.Parent.Name, k.Name, k.Child.Name).
		WithDetail("Key %s is still referenced from table \"%s\".", describedColumns(k.Parent.Columns, k.RefColumns, c, i), k.Child.Name)
	e.Schema, e.Table, e.Constraint = k.Child.Schema, k.Child.Name, k.Name
	return e
}
