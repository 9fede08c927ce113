package engine

import (
	"bytes"
	"errors"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// keyEvent is a change of rows that foreign keys may concern: rows that are gone
// (old), rows that are new (fresh), or rows that have become others, pairwise.
type keyEvent struct {
	table      *catalog.Table
	old, fresh *vec.Chunk
}

// noteKeys takes note of a change for the end of the statement. The rows must stay
// as they are.
func (r *run) noteKeys(t *catalog.Table, old, fresh *vec.Chunk) {
	if len(t.ForeignKeys) > 0 && fresh != nil || old != nil && len(r.cat.References(t.OID)) > 0 {
		r.events = append(r.events, keyEvent{t, old, fresh})
	}
}

// settleKeys does what foreign keys ask for at the end of a statement: it carries
// out their actions and checks them, in the order of the changes, those that come of
// actions last.
func (r *run) settleKeys() error {
	for len(r.events) > 0 {
		ev := r.events[0]
		r.events = r.events[1:]
		var bad offence
		if ev.old != nil {
			for _, ref := range r.cat.References(ev.table.OID) {
				if err := r.parentChanged(ref, ev, &bad); err != nil {
					return err
				}
			}
		}
		if bad.err != nil {
			return bad.err
		}
		if ev.fresh == nil {
			continue
		}
		for i := range ev.table.ForeignKeys {
			if err := r.childChanged(ev.table, &ev.table.ForeignKeys[i], ev, &bad); err != nil {
				return err
			}
		}
		if bad.err != nil {
			return bad.err
		}
	}
	return r.checkLater(r.s.checksAtOnce)
}

// offence is the violation of a foreign key by the first row of a change that
// violates any.
type offence struct {
	row int
	err error
}

func (o *offence) note(row int, err error) {
	if o.err == nil || row < o.row {
		o.row, o.err = row, err
	}
}

// foreign returns the checker of a foreign key, made once a run.
func (r *run) foreign(child *catalog.Table, fk *catalog.ForeignKey) (*stage.ForeignKey, error) {
	if k := r.keys[fk.OID]; k != nil {
		return k, nil
	}
	k, err := stage.NewForeignKey(r.cat, child, fk)
	if err != nil {
		return nil, err
	}
	if r.keys == nil {
		r.keys = map[uint32]*stage.ForeignKey{}
	}
	r.keys[fk.OID] = k
	return k, nil
}

// childChanged checks that what new rows reference is there, and notes in bad the
// first row for which it is not.
func (r *run) childChanged(t *catalog.Table, fk *catalog.ForeignKey, ev keyEvent, bad *offence) error {
	k, err := r.foreign(t, fk)
	if err != nil {
		return err
	}
	var buf, last []byte
	for i := range ev.fresh.Rows {
		if ev.old != nil && sameValues(ev.old, ev.fresh, k.Cols, i) {
			continue
		}
		key, st, err := k.ChildKey(buf[:0], ev.fresh, i)
		if buf = key; err != nil {
			return err
		}
		if st == stage.RefNone || st == stage.RefKey && last != nil && bytes.Equal(key, last) {
			continue
		}
		if r.s.postpones(fk) {
			r.s.postpone(fk)
			return nil
		}
		switch ok, err := r.childHolds(k, key, st, ev.fresh, i); {
		case err != nil:
			return err
		case !ok:
			bad.note(i, k.Missing(st, ev.fresh, i))
			return nil
		}
		last = append(last[:0], key...)
	}
	return nil
}

// sameValues reports whether columns of row i are the same to the last bit.
func sameValues(a, b *vec.Chunk, cols []int, i int) bool {
	for _, k := range cols {
		x, y := &vec.Chunk{Rows: a.Rows, Cols: a.Cols[k : k+1]}, &vec.Chunk{Rows: b.Rows, Cols: b.Cols[k : k+1]}
		if !bytes.Equal(vec.AppendRow(nil, x, nil, i), vec.AppendRow(nil, y, nil, i)) {
			return false
		}
	}
	return true
}

// childHolds reports whether the parent has what row i of the child references, or
// the row is not there any more.
func (r *run) childHolds(k *stage.ForeignKey, key []byte, st stage.RefState, c *vec.Chunk, i int) (bool, error) {
	if st == stage.RefKey {
		if ok, err := r.parentHas(k, key); ok || err != nil {
			return ok, err
		}
	}
	w := r.written(k.Child.OID)
	return w != nil && stage.NetRows(w.Rows)[string(vec.AppendRow(nil, c, nil, i))] <= 0, nil
}

// written returns the transaction's write of a table, or nil.
func (r *run) written(rel uint32) *stage.TableWrite {
	for _, w := range r.s.tx.writes {
		if w.Rel == rel && (w.Rows.Rows > 0 || w.Whole) {
			return w
		}
	}
	return nil
}

// parentHas reports whether the parent has a row with a key, as the transaction sees
// it by now.
func (r *run) parentHas(k *stage.ForeignKey, key []byte) (bool, error) {
	w := r.written(k.Parent.OID)
	if w != nil && w.Revision != k.Parent.Revision {
		return false, stage.ErrConflict
	}
	return r.parentFind(w, k, key)
}

// parentFind is parentHas given what the transaction has written to the parent.
func (r *run) parentFind(w *stage.TableWrite, k *stage.ForeignKey, key []byte) (bool, error) {
	if w == nil && k.ParentIndex != nil && r.s.eng.JobOf(k.Index) == nil { // made by the transaction
		var err error
		if w, err = r.staged(k.Parent); err != nil {
			return false, err
		}
	}
	if w == nil {
		return k.Stored(r.snap, key)
	}
	if k.ParentIndex == nil {
		row, err := r.current(w, key)
		return row != nil, err
	}
	if err := w.Index(); err != nil {
		return false, err
	}
	for _, u := range w.Unique {
		if u.Ix.OID == k.Index {
			row, err := u.Find(r.snap, key)
			return row != nil, err
		}
	}
	return k.Stored(r.snap, key)
}

// parentChanged acts upon rows of the parent that are gone or have another key. It
// notes in bad the first of them that must stay.
func (r *run) parentChanged(ref catalog.Reference, ev keyEvent, bad *offence) error {
	k, err := r.foreign(ref.Child, ref.ForeignKey)
	if err != nil {
		return err
	}
	keys := stage.KeySet{At: map[string]int{}, Rows: ev.old}
	for i := range ev.old.Rows {
		if ev.fresh != nil && sameValues(ev.old, ev.fresh, k.Refs, i) {
			continue
		}
		if key, ok := k.ParentKey(nil, ev.old, i); ok {
			keys.At[string(key)] = i
		}
	}
	if len(keys.At) == 0 {
		return nil
	}
	action := k.OnDelete
	if ev.fresh != nil {
		action = k.OnUpdate
	}
	switch action {
	case catalog.FKNoAction:
		if r.s.postpones(k.ForeignKey) {
			r.s.postpone(k.ForeignKey)
			return nil
		}
		return r.checkAbsent(k, keys, bad)
	case catalog.FKRestrict:
		return r.checkParent(k, keys, bad)
	}
	if err := r.keyAction(k, action, keys, ev); err != nil || action != catalog.FKSetDefault {
		return err
	}
	// A row whose default is what it had is not checked as one that has changed.
	return r.checkAbsent(k, keys, bad)
}

// checkAbsent is checkParent for the keys that the parent does not have again.
func (r *run) checkAbsent(k *stage.ForeignKey, keys stage.KeySet, bad *offence) error {
	if err := r.forgetPresent(k, keys); err != nil {
		return err
	}
	return r.checkParent(k, keys, bad)
}

// forgetPresent leaves out the keys that the parent has after all.
func (r *run) forgetPresent(k *stage.ForeignKey, keys stage.KeySet) error {
	for key := range keys.At {
		ok, err := r.parentHas(k, []byte(key))
		if err != nil {
			return err
		}
		if ok {
			delete(keys.At, key)
		}
	}
	return nil
}

// checkParent notes in bad the first row whose key is gone but referenced.
func (r *run) checkParent(k *stage.ForeignKey, keys stage.KeySet, bad *offence) error {
	if len(keys.At) == 0 {
		return nil
	}
	first := -1
	if err := r.referencing(k, keys, func(_ *vec.Chunk, _, key int, _ int64) {
		if first < 0 || key < first {
			first = key
		}
	}); err != nil {
		return err
	}
	if first >= 0 {
		bad.note(first, k.Referenced(keys.Rows, first))
	}
	return nil
}

// referencing calls f for the rows of the child that reference keys, as the
// transaction sees them by now, with their weights.
func (r *run) referencing(k *stage.ForeignKey, keys stage.KeySet, f func(c *vec.Chunk, i, key int, n int64)) error {
	var net map[string]int64
	own := r.written(k.Child.OID)
	if own != nil {
		if own.Revision != k.Child.Revision {
			return stage.ErrConflict
		}
		net = stage.NetRows(own.Rows)
	}
	width := len(k.Child.Columns)
	stored := k.ScanChild
	if own != nil && own.Whole {
		stored = nothingStored
	}
	err := stored(r.cat, r.snap, keys, r.s.eng.Config.ChunkRows, r.s.eng.IndexComplete, func(c *vec.Chunk, i, key int) error {
		n := c.Weight(i)
		if own != nil {
			row := string(vec.AppendRow(nil, stage.Columns(c, 0, width), nil, i))
			if d := net[row]; d < 0 {
				take := min(n, -d)
				net[row], n = d+take, n-take
			}
		}
		if n > 0 {
			f(c, i, key, n)
		}
		return jobs.Canceled(r.ctx)
	})
	if err != nil || own == nil {
		return err
	}
	for i := range own.Rows.Rows {
		row := string(vec.AppendRow(nil, own.Rows, nil, i))
		n := net[row]
		if n <= 0 {
			continue
		}
		net[row] = 0
		key, st, err := k.ChildKey(nil, own.Rows, i)
		if err != nil {
			return err
		}
		if at, ok := keys.At[string(key)]; ok && st == stage.RefKey {
			f(own.Rows, i, at, n)
		}
	}
	return nil
}

// nothingStored is scanChild of a table whose rows the transaction has all staged.
func nothingStored(*catalog.Snapshot, *state.Snapshot, stage.KeySet, int, func(uint32) bool, func(c *vec.Chunk, i, key int) error) error {
	return nil
}

// keyAction deletes or changes the rows that reference keys.
func (r *run) keyAction(k *stage.ForeignKey, action catalog.FKAction, keys stage.KeySet, ev keyEvent) error {
	old := vec.NewChunk(stage.ColumnTypes(k.Child.Columns), 16)
	var at []int // the row of the parent that each referenced
	err := r.referencing(k, keys, func(c *vec.Chunk, i, key int, n int64) {
		old.AppendFrom(stage.Columns(c, 0, len(old.Cols)), i, n)
		at = append(at, key)
	})
	if err != nil || old.Rows == 0 {
		return err
	}
	w, err := r.staged(k.Child)
	if err != nil {
		return err
	}
	if action == catalog.FKCascade && ev.fresh == nil {
		for i := range old.Rows {
			if err := w.Add(old, i, -old.Weight(i)); err != nil {
				return err
			}
		}
		r.noteKeys(k.Child, old, nil)
		return nil
	}
	m, fresh, err := r.actedRows(k, action, old, at, ev)
	if err != nil {
		return err
	}
	if err := m.check(fresh); err != nil {
		return err
	}
	return m.replace(w, old, fresh)
}

// actedRows are what the rows old of the child become.
func (r *run) actedRows(k *stage.ForeignKey, action catalog.FKAction, old *vec.Chunk, at []int, ev keyEvent) (*modify, *vec.Chunk, error) {
	numbers := k.Columns
	if ev.fresh == nil && k.SetColumns != nil {
		numbers = k.SetColumns
	}
	cols := catalog.ColumnPositions(k.Child.Columns, numbers)
	both := &vec.Chunk{Rows: old.Rows, Cols: append([]vec.Vector(nil), old.Cols...), Diff: old.Diff}
	var as []types.T
	if action == catalog.FKCascade {
		as = []types.T{}
		for _, p := range catalog.ColumnPositions(k.Parent.Columns, k.RefColumns) {
			v := vec.New(k.Parent.Columns[p].Type, old.Rows)
			for _, i := range at {
				v.AppendFrom(ev.fresh.Cols[p], i)
			}
			both.Cols, as = append(both.Cols, v), append(as, k.Parent.Columns[p].Type)
		}
	}
	pl := &planner.Planner{Cat: r.cat, Session: &r.s.expr}
	rules, err := pl.BindKeyAction(k.Child, cols, as, action == catalog.FKSetDefault)
	if err != nil {
		return nil, nil, err
	}
	m := &modify{r: r, d: rules.Mutation, ec: &expr.Ctx{Session: &r.s.expr}, nc: len(k.Child.Columns)}
	fresh := vec.NewChunk(old.Types(), old.Rows)
	for c, e := range rules.Set {
		v := old.Cols[c]
		if e != nil {
			if v, err = m.eval(e, both); err != nil {
				return nil, nil, err
			}
		}
		fresh.Cols[c].AppendRange(v, 0, old.Rows)
	}
	fresh.Rows, fresh.Diff = old.Rows, append([]int64(nil), old.Diff...)
	return m, fresh, nil
}

// postpones reports whether the checks of a foreign key wait for the end of the
// transaction.
func (s *Session) postpones(fk *catalog.ForeignKey) bool {
	return s.defers(fk.OID, fk.Deferrable, fk.Deferred)
}

// defers reports whether the checks of a constraint wait for the end of the
// transaction; deferrable and deferred are what its definition says.
func (s *Session) defers(oid uint32, deferrable, deferred bool) bool {
	if !deferrable {
		return false
	}
	if v, ok := s.tx.deferred[oid]; ok {
		return v
	}
	if s.tx.deferAll != nil {
		return *s.tx.deferAll
	}
	return deferred
}

// postpone takes note that a foreign key is to be checked later.
func (s *Session) postpone(fk *catalog.ForeignKey) {
	if s.tx.postponed == nil {
		s.tx.postponed = map[uint32]bool{}
	}
	s.tx.postponed[fk.OID] = true
}

// checkPostponed checks what the transaction has made of the rows that foreign keys
// concern whose checks have been put off: all of them, or those that due allows.
func (r *run) checkPostponed(due func(*catalog.ForeignKey) bool) error {
	for _, oid := range sortedKeys(r.s.tx.postponed) {
		t, fk := findForeignKey(r.cat, oid)
		if fk == nil || !due(fk) {
			continue
		}
		k, err := r.foreign(t, fk)
		if err != nil {
			return err
		}
		if err := r.checkWhole(k); err != nil {
			return err
		}
		delete(r.s.tx.postponed, oid)
	}
	return nil
}

// findForeignKey finds a foreign key by its OID; nil: there is none.
func findForeignKey(snap *catalog.Snapshot, oid uint32) (*catalog.Table, *catalog.ForeignKey) {
	for _, t := range catalog.All[*catalog.Table](snap) {
		for i := range t.ForeignKeys {
			if t.ForeignKeys[i].OID == oid {
				return t, &t.ForeignKeys[i]
			}
		}
	}
	return nil, nil
}

// checkWhole checks a foreign key over all that the transaction has changed.
func (r *run) checkWhole(k *stage.ForeignKey) error {
	if w := r.written(k.Child.OID); w != nil {
		added, err := k.NetChild(w.Rows)
		if err != nil {
			return err
		}
		for _, key := range sortedKeyNames(added) {
			if d := added[key]; d.N > 0 {
				st := stage.RefState(key[0])
				if ok, err := r.childHolds(k, []byte(key[1:]), st, w.Rows, d.Row); err != nil {
					return err
				} else if !ok {
					return k.Missing(st, w.Rows, d.Row)
				}
			}
		}
	}
	w := r.written(k.Parent.OID)
	if w == nil {
		return nil
	}
	keys := stage.KeySet{At: map[string]int{}, Rows: w.Rows}
	for key, d := range k.NetParent(w.Rows) {
		if d.N < 0 {
			keys.At[key] = d.Row
		}
	}
	var bad offence
	if err := r.checkAbsent(k, keys, &bad); err != nil {
		return err
	}
	return bad.err
}

// sortedKeyNames orders keys by the rows that have them.
func sortedKeyNames(m map[string]*stage.KeyDelta) []string {
	byRow := map[string]int{}
	for key, d := range m {
		byRow[key] = d.Row
	}
	return namesByValue(byRow)
}

// settlePostponed checks, before a commit, what has been put off until then.
func (s *Session) settlePostponed(r *run) error {
	err := r.checkLater(func(*catalog.Index) bool { return true })
	if err == nil {
		err = r.checkPostponed(func(*catalog.ForeignKey) bool { return true })
	}
	if errors.Is(err, stage.ErrConflict) && !s.tx.alone {
		return stage.ConflictError(err)
	}
	return err
}

// setConstraints runs SET CONSTRAINTS. names are the numbers of those that it names.
func (s *Session) setConstraints(r *run, names []uint32, all, deferred bool) error {
	if all {
		s.tx.deferAll, s.tx.deferred = &deferred, nil
	}
	for _, oid := range names {
		if s.tx.deferred == nil {
			s.tx.deferred = map[uint32]bool{}
		}
		s.tx.deferred[oid] = deferred
	}
	if deferred {
		return nil
	}
	if err := r.checkLater(s.checksAtOnce); err != nil {
		return err
	}
	return r.checkPostponed(func(fk *catalog.ForeignKey) bool { return !s.postpones(fk) })
}
