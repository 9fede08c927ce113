package exec

import (
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// The record of a key: its present row, its row at the last Seal, flags, vnode.
const (
	upsertRow    = 0
	upsertShown  = 8
	upsertFlags  = 16
	upsertVnode  = 20
	upsertRecord = 24
)

const (
	upsertTouched   = 1 << iota // since the last Seal
	upsertUnsaved               // since the last Save
	upsertPersisted             // the store has it
)

// upsert turns "this is the key's row now" (weight +1) and "the key is gone"
// (weight -1, of which only the key counts) into changes that add and take away:
// at Seal, one of each at most for every key whose row is another one.
type upsert struct {
	*opBase
	keys    *keyer
	format  *rowFormat
	vnodes  vnoder
	table   *keyTable
	rows    arena
	batch   rowBatch
	touched []uint32
	unsaved []uint32
	gone    []ref
	out     *rowOutput
	keep    *keeper // nil: rows are whole
}

func newUpsert(p *plan.Upsert, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	u := &upsert{opBase: b, keys: newKeyer(ts, p.Key), format: newRowFormat(ts, allColumns(ts), false), vnodes: newVnoder(b, p.Input, p.Key)}
	u.table = u.keys.newTable(upsertRecord)
	u.out = newRowOutput(u.format, ts, b.ctx.rows())
	if p.Keep {
		u.keep = newKeeper(ts)
	}
	return u
}

func (u *upsert) Push(_ int, c *vec.Chunk, _ Emit) error {
	u.keys.prepare(c)
	u.vnodes.prepare(c)
	u.format.encode(&u.batch, c)
	for i := range c.Rows {
		if err := u.take(c, i); err != nil {
			return err
		}
	}
	if u.ctx.Budget > 0 {
		return u.overBudget(u.StateBytes())
	}
	return nil
}

// take makes row i of the prepared chunk that of its key, or its key gone.
func (u *upsert) take(c *vec.Chunk, i int) error {
	put, row := c.Weight(i) > 0, u.batch.row(i)
	id := u.table.find(u.keys, i)
	if put && u.keep != nil && u.keep.lacks(c, i) {
		if id == noID || le.Uint64(u.table.rec(id)) == 0 {
			return u.fail(c, i, errUnavailable)
		}
		row = u.keep.complete(u.format, c, i, u.rows.get(ref(le.Uint64(u.table.rec(id)))))
	}
	if id == noID {
		if !put {
			return nil // it never was there
		}
		id, _ = u.table.upsert(u.keys, i)
	}
	r := u.table.rec(id)
	was, shown := ref(le.Uint64(r[upsertRow:])), ref(le.Uint64(r[upsertShown:]))
	if put && was != 0 && string(u.rows.get(was)) == string(row) {
		return nil
	}
	r[upsertVnode] = u.vnodes.at(i)
	u.touch(id, r)
	now := ref(0)
	if put {
		now = u.rows.put(row)
	}
	if was != shown {
		u.rows.del(was)
	}
	le.PutUint64(r[upsertRow:], uint64(now))
	return nil
}

// fail reports a row that is not taken.
func (u *upsert) fail(c *vec.Chunk, i int, err error) error {
	if u.ctx.RowError == nil {
		return err
	}
	if err = u.ctx.RowError(u.op, c, i, 1, err); err == ErrKeep {
		return nil
	}
	return err
}

func (u *upsert) touch(id uint32, r []byte) {
	f := le.Uint32(r[upsertFlags:])
	if f&upsertTouched == 0 {
		u.touched = append(u.touched, id)
	}
	if f&upsertUnsaved == 0 {
		u.unsaved = append(u.unsaved, id)
	}
	le.PutUint32(r[upsertFlags:], f|upsertTouched|upsertUnsaved)
}

// Seal emits how the rows of the touched keys changed.
func (u *upsert) Seal(_ types.Epoch, emit Emit) error {
	for _, id := range u.touched {
		r := u.table.rec(id)
		now, shown := ref(le.Uint64(r[upsertRow:])), ref(le.Uint64(r[upsertShown:]))
		le.PutUint32(r[upsertFlags:], le.Uint32(r[upsertFlags:])&^upsertTouched)
		if now == shown {
			continue
		}
		if now != 0 && shown != 0 && string(u.rows.get(now)) == string(u.rows.get(shown)) {
			u.rows.del(now)
			le.PutUint64(r[upsertRow:], uint64(shown))
			continue
		}
		le.PutUint64(r[upsertShown:], uint64(now))
		if shown != 0 {
			u.gone = append(u.gone, shown)
			if err := u.out.add(u.rows.get(shown), -1, emit); err != nil {
				return err
			}
		}
		if now != 0 {
			if err := u.out.add(u.rows.get(now), 1, emit); err != nil {
				return err
			}
		}
	}
	u.touched = u.touched[:0]
	if err := u.out.flush(emit); err != nil {
		return err
	}
	for _, x := range u.gone {
		u.rows.del(x)
	}
	u.gone = u.gone[:0]
	if u.ctx.Batch {
		return u.Close()
	}
	return nil
}

// Save writes the keys touched since the last Save: key -> vnode, row. Keys
// without a row are forgotten.
func (u *upsert) Save(w StateWriter) error {
	var key, val []byte
	for _, id := range u.unsaved {
		r := u.table.rec(id)
		f := le.Uint32(r[upsertFlags:])
		row := ref(le.Uint64(r[upsertRow:]))
		key = u.table.appendKey(key[:0], id)
		if row == 0 {
			if f&upsertPersisted != 0 {
				w.Delete(int(r[upsertVnode]), key)
			}
			u.table.drop(id)
			continue
		}
		le.PutUint32(r[upsertFlags:], f&^upsertUnsaved|upsertPersisted)
		val = append(append(val[:0], r[upsertVnode]), u.rows.get(row)...)
		put(w, f&upsertPersisted != 0, int(r[upsertVnode]), key, val)
	}
	u.unsaved = u.unsaved[:0]
	return nil
}

// Load takes back one saved key.
func (u *upsert) Load(key, val []byte) error {
	id, _, ok := u.table.loadKey(key)
	if !ok || len(val) < 1 || !u.format.valid(val[1:]) {
		return errSaved
	}
	r := u.table.rec(id)
	row := u.rows.put(val[1:])
	r[upsertVnode] = val[0]
	le.PutUint64(r[upsertRow:], uint64(row))
	le.PutUint64(r[upsertShown:], uint64(row))
	le.PutUint32(r[upsertFlags:], upsertPersisted)
	return nil
}

// StateBytes returns the memory of the keys and rows.
func (u *upsert) StateBytes() int { return u.table.bytes() + u.rows.held }

// Close frees the state.
func (u *upsert) Close() error {
	u.table, u.rows = u.keys.newTable(upsertRecord), arena{}
	u.touched, u.unsaved = nil, nil
	return nil
}
