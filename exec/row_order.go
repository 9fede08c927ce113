package exec

import (
	"bytes"
	"encoding/binary"

	"github.com/google/btree"
)

// rowOrder keeps the rows of each partition in order. A partition of one row has
// it in its record, one of a few has a sorted array in an arena, and one of many
// has a tree. Entries carry the first bytes of the row's key, which decide most
// comparisons without a look at the row.
//
// A partition's record holds partRows (the number of entries), partOne (the entry
// if there is no list), partList (the array, or none) and partTree (1 + tree).
type rowOrder struct {
	rows  *table
	lists arena
	trees []*btree.BTreeG[orderItem]
	spare []uint32 // free places of trees
	nodes *btree.FreeListG[orderItem]
	inner int    // entries in trees
	probe []byte // the key that noID stands for while a tree is searched
}

type orderItem struct {
	prefix uint64
	id     uint32
}

const (
	entryBytes = 12 // prefix, row
	treeAt     = 128
)

func newRowOrder(rows *table) *rowOrder {
	return &rowOrder{rows: rows, nodes: btree.NewFreeListG[orderItem](256)}
}

// orderPrefix returns the first bytes of a key as a number that orders like them.
func orderPrefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

func (o *rowOrder) less(a, b orderItem) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return bytes.Compare(o.key(a.id), o.key(b.id)) < 0
}

func (o *rowOrder) key(id uint32) []byte {
	if id == noID {
		return o.probe
	}
	return o.rows.key(id)[8:]
}

// compare compares an entry with a key and its prefix.
func (o *rowOrder) compare(e []byte, prefix uint64, key []byte) int {
	switch p := le.Uint64(e); {
	case p < prefix:
		return -1
	case p > prefix:
		return 1
	}
	return bytes.Compare(o.rows.key(le.Uint32(e[8:]))[8:], key)
}

// list returns the room for the entries of a partition that has no tree.
func (o *rowOrder) list(p []byte) []byte {
	if r := ref(le.Uint64(p[partList:])); r != 0 {
		return o.lists.get(r)
	}
	return p[partOne : partOne+entryBytes]
}

// search returns the byte position of the first entry that is not before key,
// and whether it is key's.
func (o *rowOrder) search(l []byte, prefix uint64, key []byte) (at int, found bool) {
	lo, hi := 0, len(l)/entryBytes
	for lo < hi {
		m := (lo + hi) / 2
		switch c := o.compare(l[m*entryBytes:], prefix, key); {
		case c == 0:
			return m * entryBytes, true
		case c < 0:
			lo = m + 1
		default:
			hi = m
		}
	}
	return lo * entryBytes, false
}

// insert adds a row that is not there yet.
func (o *rowOrder) insert(p []byte, id uint32, key []byte) {
	prefix := orderPrefix(key)
	n := int(le.Uint64(p[partRows:]))
	if t := le.Uint32(p[partTree:]); t != 0 {
		le.PutUint64(p[partRows:], uint64(n+1))
		o.trees[t-1].ReplaceOrInsert(orderItem{prefix, id})
		o.inner++
		return
	}
	if n == treeAt {
		o.plant(p)
		o.insert(p, id, key)
		return
	}
	at, _ := o.search(o.list(p)[:n*entryBytes], prefix, key)
	o.insertAt(p, at, prefix, id)
}

// insertAt adds an entry to a list, at a byte position.
func (o *rowOrder) insertAt(p []byte, at int, prefix uint64, id uint32) {
	n := int(le.Uint64(p[partRows:]))
	l := o.list(p)
	if (n+1)*entryBytes > len(l) {
		old := ref(le.Uint64(p[partList:]))
		r, grown := o.lists.alloc(max(4, 2*n) * entryBytes)
		copy(grown, l[:n*entryBytes])
		o.lists.del(old)
		le.PutUint64(p[partList:], uint64(r))
		l = grown
	}
	copy(l[at+entryBytes:(n+1)*entryBytes], l[at:n*entryBytes])
	le.PutUint64(l[at:], prefix)
	le.PutUint32(l[at+8:], id)
	le.PutUint64(p[partRows:], uint64(n+1))
}

// plant turns the list of a partition into a tree.
func (o *rowOrder) plant(p []byte) {
	t := btree.NewWithFreeListG(16, o.less, o.nodes)
	l := o.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	for i := 0; i < len(l); i += entryBytes {
		t.ReplaceOrInsert(orderItem{le.Uint64(l[i:]), le.Uint32(l[i+8:])})
	}
	o.inner += t.Len()
	o.lists.del(ref(le.Uint64(p[partList:])))
	le.PutUint64(p[partList:], 0)
	if k := len(o.spare); k > 0 {
		o.trees[o.spare[k-1]] = t
		le.PutUint32(p[partTree:], o.spare[k-1]+1)
		o.spare = o.spare[:k-1]
		return
	}
	o.trees = append(o.trees, t)
	le.PutUint32(p[partTree:], uint32(len(o.trees)))
}

// remove takes a row out, whose key must still be in the table.
func (o *rowOrder) remove(p []byte, id uint32, key []byte) {
	prefix := orderPrefix(key)
	n := int(le.Uint64(p[partRows:])) - 1
	if t := le.Uint32(p[partTree:]); t != 0 {
		le.PutUint64(p[partRows:], uint64(n))
		o.trees[t-1].Delete(orderItem{prefix, id})
		o.inner--
		if n == 0 {
			o.trees[t-1] = nil
			o.spare = append(o.spare, t-1)
			le.PutUint32(p[partTree:], 0)
		}
		return
	}
	at, _ := o.search(o.list(p)[:(n+1)*entryBytes], prefix, key)
	o.removeAt(p, at)
}

// removeAt takes the entry at a byte position out of a list.
func (o *rowOrder) removeAt(p []byte, at int) {
	n := int(le.Uint64(p[partRows:])) - 1
	l := o.list(p)
	copy(l[at:n*entryBytes], l[at+entryBytes:(n+1)*entryBytes])
	le.PutUint64(p[partRows:], uint64(n))
	if n == 0 {
		o.lists.del(ref(le.Uint64(p[partList:])))
		le.PutUint64(p[partList:], 0)
	}
}

// scan calls f for the rows of a partition in order until it returns false.
func (o *rowOrder) scan(p []byte, f func(id uint32) bool) {
	if t := le.Uint32(p[partTree:]); t != 0 {
		o.trees[t-1].Ascend(func(x orderItem) bool { return f(x.id) })
		return
	}
	l := o.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	for i := 0; i < len(l); i += entryBytes {
		if !f(le.Uint32(l[i+8:])) {
			return
		}
	}
}

// from calls f for the rows of a partition whose keys are not before key, in order,
// until it returns false.
func (o *rowOrder) from(p, key []byte, f func(id uint32) bool) {
	if t := le.Uint32(p[partTree:]); t != 0 {
		o.probe = key
		o.trees[t-1].AscendGreaterOrEqual(orderItem{orderPrefix(key), noID}, func(x orderItem) bool { return f(x.id) })
		o.probe = nil
		return
	}
	l := o.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	at, _ := o.search(l, orderPrefix(key), key)
	for i := at; i < len(l) && f(le.Uint32(l[i+8:])); i += entryBytes {
	}
}

// after and before call f for the rows behind and in front of a row, nearest first,
// until it returns false.
func (o *rowOrder) after(p []byte, id uint32, key []byte, f func(id uint32) bool) {
	if t := le.Uint32(p[partTree:]); t != 0 {
		o.trees[t-1].AscendGreaterOrEqual(orderItem{orderPrefix(key), id}, func(x orderItem) bool { return x.id == id || f(x.id) })
		return
	}
	l := o.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	at, _ := o.search(l, orderPrefix(key), key)
	for i := at + entryBytes; i < len(l) && f(le.Uint32(l[i+8:])); i += entryBytes {
	}
}

func (o *rowOrder) before(p []byte, id uint32, key []byte, f func(id uint32) bool) {
	if t := le.Uint32(p[partTree:]); t != 0 {
		o.trees[t-1].DescendLessOrEqual(orderItem{orderPrefix(key), id}, func(x orderItem) bool { return x.id == id || f(x.id) })
		return
	}
	l := o.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	at, _ := o.search(l, orderPrefix(key), key)
	for i := at - entryBytes; i >= 0 && f(le.Uint32(l[i+8:])); i -= entryBytes {
	}
}

// ends returns the first and the last row of a partition that has rows.
func (o *rowOrder) ends(p []byte) (first, last uint32) {
	if t := le.Uint32(p[partTree:]); t != 0 {
		a, _ := o.trees[t-1].Min()
		b, _ := o.trees[t-1].Max()
		return a.id, b.id
	}
	l := o.list(p)[:le.Uint64(p[partRows:])*entryBytes]
	return le.Uint32(l[8:]), le.Uint32(l[len(l)-entryBytes+8:])
}

// bytes returns the memory held.
func (o *rowOrder) bytes() int { return o.lists.held + 24*o.inner + 8*len(o.trees) }
