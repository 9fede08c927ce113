package engine

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

// Foreign keys are checked twice, like unique ones: at the end of a statement (or
// of the transaction, where they are deferred) against what it sees, and when the
// graph takes up the write, against the last commit and the writes before it. A
// write has all tables in its graph that foreign keys tie to those it changes.

// foreignKey computes the keys by which a foreign key ties rows together. It
// belongs to one goroutine.
type foreignKey struct {
	*catalog.ForeignKey
	child, parent *catalog.Table
	// cols of the child reference refs of the parent, both in the order of the
	// parent's unique key.
	cols, refs []int
	index      *uniqueIndex // of the parent; nil: rows are stored by the key
	// there makes a value of the parent's type of one of the child, over its row, and
	// back the other way, over the key; nil: they are the same.
	there, back []*expr.Program
	mixed       bool // some are not nil
	ctx         expr.Ctx
	row, key    *vec.Chunk // of one row
}

func newForeignKey(snap *catalog.Snapshot, child *catalog.Table, fk *catalog.ForeignKey) (*foreignKey, error) {
	parent, ok := snap.ByOID(fk.Table).(*catalog.Table)
	if !ok {
		return nil, relationGone(fk.Table)
	}
	k := &foreignKey{ForeignKey: fk, child: child, parent: parent, ctx: expr.Ctx{Session: &expr.Session{}}}
	if parent.PrimaryKey != nil && parent.PrimaryKey.OID == fk.Index {
		k.refs = parent.PrimaryKey.Columns
	} else {
		ix, ok := snap.ByOID(fk.Index).(*catalog.Index)
		if !ok {
			return nil, relationGone(fk.Index)
		}
		var err error
		if k.index, err = newUniqueIndex(snap, parent, ix); err != nil {
			return nil, err
		}
		k.refs = ix.Columns()
	}
	refs, cols := catalog.ColumnPositions(parent.Columns, fk.RefColumns), catalog.ColumnPositions(child.Columns, fk.Columns)
	for _, r := range k.refs {
		k.cols = append(k.cols, cols[slices.Index(refs, r)])
	}
	return k, k.compile(snap)
}

// compile prepares the conversions between the columns' types.
func (k *foreignKey) compile(snap *catalog.Snapshot) error {
	there, back, err := (&planner.Planner{Cat: snap, Session: k.ctx.Session}).KeyCasts(k.child.Columns, k.cols, k.parent.Columns, k.refs)
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
	k.row = vec.NewChunk(columnTypes(k.child.Columns), 1)
	return nil
}

// refState is what a row's foreign key says.
type refState uint8

const (
	refNone  refState = iota // it is NULL: it references nothing
	refKey                   // it references a key
	refNever                 // it references what no key can be
	refMixed                 // MATCH FULL, and only some of it is NULL
)

// childKey appends the key that row i of the child references, as the parent's
// unique key has it.
func (k *foreignKey) childKey(dst []byte, c *vec.Chunk, i int) ([]byte, refState, error) {
	nulls := 0
	for _, col := range k.cols {
		if c.Cols[col].IsNull(i) {
			nulls++
		}
	}
	switch {
	case nulls > 0 && nulls < len(k.cols) && k.MatchFull:
		return dst, refMixed, nil
	case nulls > 0:
		return dst, refNone, nil
	case !k.mixed:
		return vec.AppendKey(dst, c, k.cols, nil, nil, i), refKey, nil
	}
	return k.convertedKey(dst, c, i)
}

// convertedKey is childKey where types differ: a value that does not come back the
// same from the parent's type is none of its values.
func (k *foreignKey) convertedKey(dst []byte, c *vec.Chunk, i int) ([]byte, refState, error) {
	k.row.Reset()
	k.row.AppendFrom(&vec.Chunk{Rows: c.Rows, Cols: c.Cols[:len(k.row.Cols)], Diff: c.Diff}, i, 1)
	key := &vec.Chunk{Rows: 1}
	for n, p := range k.there {
		v := k.row.Cols[k.cols[n]]
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
		was := vec.AppendKey(nil, k.row, k.cols[n:n+1], nil, nil, 0)
		if !slices.Equal(was, vec.AppendKey(nil, &vec.Chunk{Rows: 1, Cols: []vec.Vector{v}}, []int{0}, nil, nil, 0)) {
			return dst, refNever, nil
		}
	}
	return vec.AppendKey(dst, key, allColumns(key.Types()), nil, nil, 0), refKey, nil
}

// parentKey appends the key of row i of the parent; false: it holds a NULL, so that
// nothing references it.
func (k *foreignKey) parentKey(dst []byte, c *vec.Chunk, i int) ([]byte, bool) {
	for _, col := range k.refs {
		if c.Cols[col].IsNull(i) {
			return dst, false
		}
	}
	return vec.AppendKey(dst, c, k.refs, nil, nil, i), true
}

// stored reports whether the parent has a row with a key.
func (k *foreignKey) stored(sn *state.Snapshot, key []byte) (bool, error) {
	if k.index == nil {
		_, ok, err := sn.Get(k.parent.OID, key)
		return ok, err
	}
	row, err := k.index.stored(sn, key)
	return row != nil, err
}

// keySet are keys of rows of the parent, which are kept whole.
type keySet struct {
	at   map[string]int // a key's row
	rows *vec.Chunk     // of the parent
}

// scanChild calls f for the stored rows of the child that reference one of the keys,
// with its number. It reads them by a key or an index of the child that begins with
// the columns, if there is one that usable allows, else all of them. f borrows the
// chunk, whose first columns are the table's.
func (k *foreignKey) scanChild(snap *catalog.Snapshot, sn *state.Snapshot, keys keySet, chunkRows int, usable func(oid uint32) bool,
	f func(c *vec.Chunk, i, key int) error) error {
	each := func(c *vec.Chunk) error {
		var buf []byte
		for i := range c.Rows {
			key, st, err := k.childKey(buf[:0], c, i)
			if buf = key; err != nil {
				return err
			}
			if n, ok := keys.at[string(key)]; ok && st == refKey {
				if err := f(c, i, n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	index, order := planner.KeyOver(snap, k.child, k.cols)
	if order == nil || index != 0 && !usable(index) {
		return scanRelation(snap, sn, k.child.OID, chunkRows, each)
	}
	rel, ts, form := k.child.OID, columnTypes(k.child.Columns), storedForm(k.child)
	if ix, ok := snap.ByOID(index).(*catalog.Index); ok {
		rel, ts = ix.OID, indexTypes(ix, k.child)
		if form == formBag {
			form = formOrdered
		}
	}
	for _, n := range sortedValues(keys.at) {
		lo, ok, err := k.prefix(order, keys.rows, n)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := scanRows(sn, rel, ts, form, lo, append(slices.Clone(lo), 0xff), min(chunkRows, 64), each); err != nil {
			return err
		}
	}
	return nil
}

// prefix is the key of row i of the parent with the types of the child's columns, in
// an order of these; false: they have no such value.
func (k *foreignKey) prefix(order []int, rows *vec.Chunk, i int) ([]byte, bool, error) {
	key := vec.NewChunk(pickTypes(rows.Types(), k.refs), 1)
	for n, r := range k.refs {
		key.Cols[n].AppendFrom(rows.Cols[r], i)
	}
	key.AddWeight(1)
	var out []byte
	for _, col := range order {
		n := slices.Index(k.cols, col)
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

func sortedValues(m map[string]int) []int {
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

// missing is the error of row i of the child, which references nothing that is
// there.
func (k *foreignKey) missing(st refState, c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", k.child.Name, k.Name)
	if st == refMixed {
		e = e.WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.")
	} else {
		e = e.WithDetail("Key %s is not present in table \"%s\".", describedColumns(k.child.Columns, k.Columns, c, i), k.parent.Name)
	}
	e.Schema, e.Table, e.Constraint = k.child.Schema, k.child.Name, k.Name
	return e
}

// referenced is the error of row i of the parent, which goes but is referenced.
func (k *foreignKey) referenced(c *vec.Chunk, i int) *pgerr.Error {
	e := pgerr.New(pgerr.ForeignKeyViolation, "update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"", k.parent.Name, k.Name, k.child.Name).
		WithDetail("Key %s is still referenced from table \"%s\".", describedColumns(k.parent.Columns, k.RefColumns, c, i), k.child.Name)
	e.Schema, e.Table, e.Constraint = k.child.Schema, k.child.Name, k.Name
	return e
}
