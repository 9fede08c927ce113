package exec

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/vec"
)

// maxLoose is the largest offset + limit for which an append-only partition keeps
// no more than that many rows, which only their order finds.
const maxLoose = 32

// pushLoose takes row i into an append-only partition of a few rows. A row that
// cannot enter the window costs its sort key and a comparison.
func (t *topN) pushLoose(c *vec.Chunk, i int, w int64) error {
	if w < 0 {
		return t.negative("a row")
	}
	pid := t.partition(i)
	p := t.parts.rec(pid)
	t.kb = t.sort.append(binary.LittleEndian.AppendUint64(t.kb[:0], uint64(pid)), c, i)
	sortLen := len(t.kb) - 8
	n := int64(le.Uint64(p[partRows:]))
	if n >= t.offset+t.limit && sortLen >= 8 {
		if last := t.order.list(p)[(n-1)*entryBytes:]; orderPrefix(t.kb[8:]) > le.Uint64(last) {
			return nil
		}
	}
	t.kb = append(t.kb, t.batch.row(i)...)
	if n >= t.offset+t.limit && t.order.compare(t.order.list(p)[(n-1)*entryBytes:], orderPrefix(t.kb[8:]), t.kb[8:]) < 0 {
		return nil
	}
	t.touch(pid, p)
	t.addLoose(pid, sortLen, w)
	for n = int64(le.Uint64(p[partRows:])); n > t.offset+t.limit; n-- {
		t.evict(p, int(n-1)*entryBytes)
	}
	return nil
}

// evict takes the entry at a byte position out of the window for good.
func (t *topN) evict(p []byte, at int) {
	id := le.Uint32(t.order.list(p)[at+8:])
	t.order.removeAt(p, at)
	r := t.rows.rec(id)
	if t.ctx.Batch || le.Uint32(r[ordFlags:])&ordFresh != 0 {
		t.rows.freeLoose(id)
		return
	}
	// Seal may have to take it back, and the next Save deletes its entry.
	le.PutUint64(r, 0)
	t.dirty(id, r)
}

// settle lists the new rows of a partition for the next Save.
func (t *topN) settle(pid uint32) {
	if t.ctx.Batch {
		return
	}
	t.scan(pid, func(id uint32) bool {
		r := t.rows.rec(id)
		if f := le.Uint32(r[ordFlags:]); f&ordFresh != 0 {
			le.PutUint32(r[ordFlags:], f&^ordFresh)
			t.dirty(id, r)
		}
		return true
	})
}

// addLoose adds weight to the row whose key rowKey has made, which only the order
// of its partition finds.
func (o *orderedRows) addLoose(pid uint32, sortLen int, w int64) uint32 {
	p := o.parts.rec(pid)
	prefix := orderPrefix(o.kb[8:])
	at, found := o.order.search(o.order.list(p)[:le.Uint64(p[partRows:])*entryBytes], prefix, o.kb[8:])
	if found {
		id := le.Uint32(o.order.list(p)[at+8:])
		r := o.rows.rec(id)
		le.PutUint64(r, le.Uint64(r)+uint64(w))
		if le.Uint32(r[ordFlags:])&ordFresh == 0 {
			o.dirty(id, r)
		}
		return id
	}
	id := o.rows.addLoose(o.kb)
	r := o.rows.rec(id)
	le.PutUint64(r, uint64(w))
	le.PutUint32(r[ordFlags:], ordFresh)
	le.PutUint32(r[ordPart:], pid)
	le.PutUint32(r[ordSortLen:], uint32(sortLen))
	o.order.insertAt(p, at, prefix, id)
	return id
}
