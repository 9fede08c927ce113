package exec

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/vec"
)

// maxLoose is the largest offset + limit for which an append-only partition keeps
// no more than that many rows, which only their order finds.
const maxLoose = 32

// looseChunk is the chunk at hand: the sort keys of its rows, and the records made
// of them, whose bytes are written once it is known which of them last.
type looseChunk struct {
	c     *vec.Chunk
	sorts rowBatch
	bare  []uint32
	row   []byte // scratch
}

// pushLoose takes a chunk into append-only partitions of a few rows. A row that
// cannot enter its window costs its sort key and a comparison, and one that another
// row of the chunk puts out again not much more.
func (t *topN) pushLoose(c *vec.Chunk) error {
	t.prepareLoose(c)
	for i := range c.Rows {
		w := c.Weight(i)
		if w < 0 {
			return t.negative("a row")
		}
		if w == 0 {
			continue
		}
		pid := t.partition(i)
		p := t.parts.rec(pid)
		n := int64(le.Uint64(p[partRows:]))
		if n >= t.offset+t.limit && t.compareLoose(t.order.list(p)[(n-1)*entryBytes:], i) < 0 {
			continue
		}
		t.touch(pid, p)
		t.addLoose(pid, i, w)
		for n = int64(le.Uint64(p[partRows:])); n > t.offset+t.limit; n-- {
			t.evict(p, int(n-1)*entryBytes)
		}
	}
	t.writeLoose()
	return nil
}

// evict takes the entry at a byte position out of the window for good.
func (t *topN) evict(p []byte, at int) {
	id := le.Uint32(t.order.list(p)[at+8:])
	t.order.removeAt(p, at)
	r := t.rows.rec(id)
	if t.ctx.Batch || le.Uint32(r[ordFlags:])&ordFresh != 0 {
		le.PutUint32(r[ordFlags:], 0) // it may be among those without bytes
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

// prepareLoose makes a chunk the one at hand.
func (o *orderedRows) prepareLoose(c *vec.Chunk) {
	o.keys.prepare(c)
	o.parts.warm(o.keys.hash)
	o.vnodes.prepare(c)
	s := &o.chunk.sorts
	s.buf, s.off = s.buf[:0], append(s.off[:0], 0)
	for i := range c.Rows {
		s.buf = o.sort.append(s.buf, c, i)
		s.off = append(s.off, len(s.buf))
	}
	o.chunk.c = c
}

// compareLoose compares an entry of a partition with row i of the chunk.
func (o *orderedRows) compareLoose(e []byte, i int) int {
	l := &o.chunk
	sort := l.sorts.row(i)
	switch p, prefix := le.Uint64(e), orderPrefix(sort); {
	case p < prefix:
		return -1
	case p > prefix:
		return 1
	}
	id := le.Uint32(e[8:])
	r := o.rows.rec(id)
	var has []byte
	other := -1 // the entry's row, if it is of the chunk and has no bytes yet
	if le.Uint32(r[ordFlags:])&ordBare != 0 {
		other = int(le.Uint64(r[ordScratch:]))
		has = l.sorts.row(other)
	} else {
		has = o.sortKey(id)
	}
	if d := bytes.Compare(has, sort); d != 0 {
		return d
	}
	return o.compareRows(id, r, other, i)
}

// compareRows compares the row of an entry with row i of the chunk byte by byte.
func (o *orderedRows) compareRows(id uint32, r []byte, other, i int) int {
	l, n := &o.chunk, o.format.fixed
	l.row = slices.Grow(l.row[:0], 2*n)[:2*n]
	own, has := l.row[:n], l.row[n:]
	o.format.writeFixed(own, l.c, i)
	if other < 0 {
		has = o.rowBytes(id)[:n]
	} else {
		o.format.writeFixed(has, l.c, other)
	}
	if d := bytes.Compare(has, own); d != 0 {
		return d
	}
	if other >= 0 {
		o.writeBare(id, r)
	}
	n = o.format.rowSize(l.c, i)
	l.row = slices.Grow(l.row[:0], n)[:n]
	o.format.write(l.row, l.c, i)
	return bytes.Compare(o.rowBytes(id), l.row)
}

// addLoose adds weight to row i of the chunk, which only the order of its partition
// finds. The bytes of a new row are missing until writeLoose.
func (o *orderedRows) addLoose(pid uint32, i int, w int64) uint32 {
	p := o.parts.rec(pid)
	l := o.order.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	lo, hi := 0, len(l)/entryBytes
	for lo < hi {
		m := (lo + hi) / 2
		d := o.compareLoose(l[m*entryBytes:], i)
		if d == 0 {
			id := le.Uint32(l[m*entryBytes+8:])
			r := o.rows.rec(id)
			le.PutUint64(r, le.Uint64(r)+uint64(w))
			if le.Uint32(r[ordFlags:])&ordFresh == 0 {
				o.dirty(id, r)
			}
			return id
		}
		if d < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	id := o.rows.recs.add()
	r := o.rows.rec(id)
	le.PutUint64(r, uint64(w))
	le.PutUint32(r[ordFlags:], ordFresh|ordBare)
	r[ordVnode] = p[partVnode]
	le.PutUint32(r[ordPart:], pid)
	le.PutUint64(r[ordScratch:], uint64(i))
	o.chunk.bare = append(o.chunk.bare, id)
	o.order.insertAt(p, lo*entryBytes, orderPrefix(o.chunk.sorts.row(i)), id)
	return id
}

// writeLoose writes the bytes of the chunk's rows that are still there.
func (o *orderedRows) writeLoose() {
	for _, id := range o.chunk.bare {
		if r := o.rows.rec(id); le.Uint32(r[ordFlags:])&ordBare != 0 {
			o.writeBare(id, r)
		}
	}
	o.chunk.bare, o.chunk.c = o.chunk.bare[:0], nil
}

// writeBare gives a record of the chunk its key: partition, sort key and row.
func (o *orderedRows) writeBare(id uint32, r []byte) {
	l := &o.chunk
	i := int(le.Uint64(r[ordScratch:]))
	sort := l.sorts.row(i)
	key := o.rows.keyRoom(id, 8+len(sort)+o.format.rowSize(l.c, i))
	le.PutUint64(key, uint64(le.Uint32(r[ordPart:])))
	copy(key[8:], sort)
	o.format.write(key[8+len(sort):], l.c, i)
	le.PutUint32(r[ordSortLen:], uint32(len(sort)))
	le.PutUint32(r[ordFlags:], le.Uint32(r[ordFlags:])&^ordBare)
	le.PutUint64(r[ordScratch:], 0)
}
