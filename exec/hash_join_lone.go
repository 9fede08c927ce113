package exec

import (
	"encoding/binary"
	"slices"

	"github.com/streamdb/streamdb/vec"
)

// loneRows are the rows of one side of a join that meet nothing because a key is
// NULL, and belong to the output by themselves. No other row changes that, so they
// are kept only to be given out again (see Replayer).
type loneRows struct {
	format  *rowFormat
	rows    *table // payload: weight, flags, vnode
	unsaved []uint32
	row     []byte // scratch
}

const (
	loneWeight = 0
	loneFlags  = 8
	loneVnode  = 12
	loneSize   = 16
)

func newLoneRows(f *rowFormat) loneRows {
	return loneRows{format: f, rows: newTable(loneSize, f.keyWidth())}
}

// addFrom adds w to the weight of row i of a chunk.
func (l *loneRows) addFrom(c *vec.Chunk, i int, w int64, vnode byte) {
	l.row = slices.Grow(l.row[:0], l.format.rowSize(c, i))[:l.format.rowSize(c, i)]
	l.format.write(l.row, c, i)
	l.add(l.row, w, vnode)
}

// add adds w to the weight of a row.
func (l *loneRows) add(row []byte, w int64, vnode byte) uint32 {
	id, _ := l.rows.upsert(hashKey(row), row)
	r := l.rows.rec(id)
	r[loneVnode] = vnode
	le.PutUint64(r, le.Uint64(r)+uint64(w))
	if f := le.Uint32(r[loneFlags:]); f&joinUnsaved == 0 {
		le.PutUint32(r[loneFlags:], f|joinUnsaved)
		l.unsaved = append(l.unsaved, id)
	}
	return id
}

// missing reports whether a row was taken away more often than it was added.
func (l *loneRows) missing() bool {
	for _, id := range l.unsaved {
		if int64(le.Uint64(l.rows.rec(id))) < 0 {
			return true
		}
	}
	return false
}

// save writes the rows touched since the last Save: prefix | row -> vnode, weight.
func (l *loneRows) save(w StateWriter, prefix byte) {
	var key, val []byte
	for _, id := range l.unsaved {
		r := l.rows.rec(id)
		f, vnode := le.Uint32(r[loneFlags:]), r[loneVnode]
		key = append(append(key[:0], prefix), l.rows.key(id)...)
		if le.Uint64(r) == 0 {
			if f&joinPersisted != 0 {
				w.Delete(int(vnode), key)
			}
			l.rows.remove(hashKey(key[1:]), id)
			continue
		}
		le.PutUint32(r[loneFlags:], joinPersisted)
		val = binary.AppendVarint(append(val[:0], vnode), int64(le.Uint64(r)))
		put(w, f&joinPersisted != 0, int(vnode), key, val)
	}
	l.unsaved = l.unsaved[:0]
}

// load takes back a saved row.
func (l *loneRows) load(row []byte, vnode byte, w int64) error {
	if !l.format.valid(row) {
		return errSaved
	}
	id := l.add(row, w, vnode)
	le.PutUint32(l.rows.rec(id)[loneFlags:], joinPersisted)
	l.unsaved = l.unsaved[:0]
	return nil
}
