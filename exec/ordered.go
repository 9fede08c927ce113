package exec

import (
	"bytes"
	"encoding/binary"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// sorter makes order-preserving sort keys of rows.
type sorter struct {
	cols        []int
	desc, first []bool
}

func newSorter(order []expr.SortKey) sorter {
	var s sorter
	for _, k := range order {
		s.cols = append(s.cols, k.Col)
		s.desc = append(s.desc, k.Desc)
		s.first = append(s.first, k.NullsFirst)
	}
	return s
}

func (s *sorter) append(dst []byte, c *vec.Chunk, i int) []byte {
	if len(s.cols) == 0 {
		return dst
	}
	return vec.AppendKey(dst, c, s.cols, s.desc, s.first, i)
}

// The record of an ordered row: weight, flags with the partition's vnode as their
// last byte, partition, length of the sort key, hash bits and scratch. Its key is its partition, the sort key and the row's bytes.
const (
	ordWeight  = 0
	ordFlags   = 8
	ordVnode   = 11
	ordPart    = 12
	ordSortLen = 16
	ordTag     = 20 // the hash bits that the table uses
	ordScratch = 24 // of the operator
	ordSize    = 32
)

// The record of a partition: flags, vnode, the number of its row records and
// their order (see rowOrder).
const (
	partFlags = 0
	partVnode = 4
	partTree  = 8
	partBound = 12 // 1 + row after which an append-only partition has no use for rows
	partRows  = 16
	partList  = 24
	partOne   = 32
	partSize  = 48
)

const (
	ordUnsaved = 1 << iota
	ordPersisted
	ordFresh // of this epoch, not yet emitted and not among the unsaved
	partTouched
	ordChanged // in this epoch
	ordBare    // of this chunk: instead of its key it has the number of its row there
)

// orderedRows keeps the rows of partitions with their weights, each partition in
// order: sort key first, then the row's own bytes, so that the order is total and
// does not depend on history. TopN and window operators are built on it.
type orderedRows struct {
	*opBase
	keys   *keyer
	vnodes vnoder
	sort   sorter
	format *rowFormat
	parts  *keyTable
	rows   *table
	order  *rowOrder
	// loose rows are found by their order only; a row without weight has left it.
	loose  bool
	chunk  looseChunk
	batch  rowBatch
	kb     []byte
	unsavd []uint32
	one    *vec.Chunk
}

func newOrderedRows(b *opBase, input plan.Node, partition []int, order []expr.SortKey) *orderedRows {
	ts := plan.Types(input.Schema())
	o := &orderedRows{
		opBase: b, keys: newKeyer(ts, partition), vnodes: newVnoder(b, input, partition),
		sort: newSorter(order), format: newRowFormat(ts, allColumns(ts), false), one: vec.NewChunk(ts, 0),
	}
	o.empty()
	return o
}

func (o *orderedRows) empty() {
	o.parts = o.keys.newTable(partSize)
	o.rows = newTable(ordSize, 0)
	o.order = newRowOrder(o.rows)
}

// sortKey returns a row's sort key, rowBytes its encoded columns.
func (o *orderedRows) sortKey(id uint32) []byte {
	return o.rows.key(id)[8 : 8+le.Uint32(o.rows.rec(id)[ordSortLen:])]
}

func (o *orderedRows) rowBytes(id uint32) []byte {
	return o.rows.key(id)[8+le.Uint32(o.rows.rec(id)[ordSortLen:]):]
}

func (o *orderedRows) weight(id uint32) int64 { return int64(le.Uint64(o.rows.rec(id)[ordWeight:])) }

// prepare encodes the rows of a chunk; add then takes them one by one.
func (o *orderedRows) prepare(c *vec.Chunk) {
	o.keys.prepare(c)
	o.parts.warm(o.keys.hash)
	o.vnodes.prepare(c)
	o.format.encode(&o.batch, c)
}

// partition returns the partition of row i, which is added if there is none.
func (o *orderedRows) partition(i int) uint32 {
	pid, added := o.parts.upsert(o.keys, i)
	if added {
		o.parts.rec(pid)[partVnode] = o.vnodes.at(i)
	}
	return pid
}

// rowKey makes the key of row i: its partition, sort key and bytes.
func (o *orderedRows) rowKey(c *vec.Chunk, i int, pid uint32) (sortLen int) {
	o.kb = binary.LittleEndian.AppendUint64(o.kb[:0], uint64(pid))
	o.kb = o.sort.append(o.kb, c, i)
	sortLen = len(o.kb) - 8
	o.kb = append(o.kb, o.batch.row(i)...)
	return sortLen
}

// add changes the weight of the row whose key rowKey has made.
func (o *orderedRows) add(pid uint32, sortLen int, w int64) uint32 {
	h := hashKey(o.kb)
	id, added := o.rows.upsert(h, o.kb)
	r := o.rows.rec(id)
	if added {
		r[ordVnode] = o.parts.rec(pid)[partVnode]
		le.PutUint32(r[ordPart:], pid)
		le.PutUint32(r[ordSortLen:], uint32(sortLen))
		le.PutUint32(r[ordTag:], uint32(h))
		o.order.insert(o.parts.rec(pid), id, o.kb[8:])
	}
	le.PutUint64(r, le.Uint64(r)+uint64(w))
	o.dirty(id, r)
	return id
}

// dirty lists a row for the next Save.
func (o *orderedRows) dirty(id uint32, r []byte) {
	if f := le.Uint32(r[ordFlags:]); f&ordUnsaved == 0 && !o.ctx.Batch {
		le.PutUint32(r[ordFlags:], f|ordUnsaved)
		o.unsavd = append(o.unsavd, id)
	}
}

// after reports whether the row whose key rowKey has made comes after row id.
func (o *orderedRows) after(id uint32) bool { return bytes.Compare(o.kb[8:], o.rows.key(id)[8:]) > 0 }

// scan calls f for the rows of a partition in order until it returns false.
func (o *orderedRows) scan(pid uint32, f func(id uint32) bool) {
	o.order.scan(o.parts.rec(pid), f)
}

// remove forgets a row.
func (o *orderedRows) remove(id uint32) {
	r := o.rows.rec(id)
	pid := le.Uint32(r[ordPart:])
	p := o.parts.rec(pid)
	o.order.remove(p, id, o.rows.key(id)[8:])
	o.rows.remove(uint64(le.Uint32(r[ordTag:])), id)
	if le.Uint64(p[partRows:]) == 0 && le.Uint32(p[partFlags:]) == 0 {
		o.parts.drop(pid)
	}
}

// Save writes the rows touched since the last Save as partition key | row ->
// vnode, weight, and forgets those that are gone.
func (o *orderedRows) Save(w StateWriter) error {
	var val []byte
	for _, id := range o.unsavd {
		r := o.rows.rec(id)
		f := le.Uint32(r[ordFlags:])
		vnode := r[ordVnode]
		if le.Uint64(r) == 0 {
			if f&ordPersisted != 0 {
				w.Delete(int(vnode), o.rowBytes(id))
			}
			if o.loose {
				o.rows.freeLoose(id)
			} else {
				o.remove(id)
			}
			continue
		}
		le.PutUint32(r[ordFlags:], f&^ordUnsaved|ordPersisted)
		val = binary.AppendVarint(append(val[:0], vnode), int64(le.Uint64(r)))
		put(w, f&ordPersisted != 0, int(vnode), o.rowBytes(id), val)
	}
	o.unsavd = o.unsavd[:0]
	return nil
}

// Load takes back one saved row.
func (o *orderedRows) Load(key, val []byte) error {
	if len(val) < 2 || !o.format.valid(key) {
		return errSaved
	}
	w, m := binary.Varint(val[1:])
	if m <= 0 {
		return errSaved
	}
	o.one.Reset()
	o.format.decode(o.one, 0, [][]byte{key})
	o.one.Rows = 1
	var id uint32
	if o.loose {
		o.prepareLoose(o.one)
		id = o.addLoose(o.partition(0), 0, w)
		o.writeLoose()
	} else {
		o.prepare(o.one)
		pid := o.partition(0)
		id = o.add(pid, o.rowKey(o.one, 0, pid), w)
	}
	o.unsavd = o.unsavd[:0]
	r := o.rows.rec(id)
	le.PutUint32(r[ordFlags:], ordPersisted)
	r[ordVnode] = val[0]
	o.parts.rec(le.Uint32(r[ordPart:]))[partVnode] = val[0]
	return nil
}

// StateBytes returns the memory of rows and order.
func (o *orderedRows) StateBytes() int {
	return o.parts.bytes() + o.rows.bytes() + o.order.bytes()
}

// Close frees the state.
func (o *orderedRows) Close() error {
	o.empty()
	return nil
}

// touchedPart is a partition changed in this epoch with the output it had: the
// spans of the operator's list from lo to hi.
type touchedPart struct {
	pid    uint32
	lo, hi int
}

// span is a run of one row's copies in the output of a partition: its first rank
// and how many.
type span struct {
	id    uint32
	rank  int64
	count int64
}
