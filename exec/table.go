package exec

import (
	"bytes"
	"encoding/binary"

	"github.com/streamdb/streamdb/vec"
)

var le = binary.LittleEndian

const noID = ^uint32(0)

// table maps keys to records: open addressing over 32 bits of the hash, one
// small index per key group once it is large, so that no rehash is long. A
// record is its payload followed by its key, inline when all keys have one
// width and otherwise by reference. Record numbers are stable.
type table struct {
	payload int
	kw      int // key width; 0: keys vary and live in keys
	recs    slab
	keys    arena
	subs    []subIndex
	n       int
	warmed  byte // keeps the loads of warm from being optimised away
}

type subIndex struct {
	slots []uint64 // hash<<32 | id+1; 0: free
	n     int
}

const splitAt = 4096

// newTable makes a table whose records have payload bytes (a multiple of 8) for
// their owner and keys of width kw (0: any).
func newTable(payload, kw int) *table {
	w := kw
	if w == 0 {
		w = 8
	}
	return &table{payload: payload, kw: kw, recs: newSlab(payload + (w+7)/8*8), subs: make([]subIndex, 1)}
}

func (t *table) sub(tag uint32) *subIndex {
	if len(t.subs) == 1 {
		return &t.subs[0]
	}
	return &t.subs[tag>>24]
}

// rec returns the payload of a record. It is valid until the next insertion.
func (t *table) rec(id uint32) []byte { return t.recs.at(id) }

// key returns the key of a record, valid until the next insertion.
func (t *table) key(id uint32) []byte {
	r := t.recs.at(id)[t.payload:]
	if t.kw > 0 {
		return r[:t.kw]
	}
	return t.keys.get(ref(le.Uint64(r)))
}

func (t *table) equal(id uint32, key []byte) bool { return bytes.Equal(t.key(id), key) }

// find returns the record of key, or noID.
func (t *table) find(h uint64, key []byte) uint32 {
	tag := uint32(h)
	x := t.sub(tag)
	if x.n == 0 {
		return noID
	}
	mask := uint32(len(x.slots) - 1)
	for p := tag & mask; ; p = (p + 1) & mask {
		s := x.slots[p]
		if s == 0 {
			return noID
		}
		if uint32(s>>32) == tag && t.equal(uint32(s)-1, key) {
			return uint32(s) - 1
		}
	}
}

// upsert returns the record of key, adding a zeroed one if there is none.
func (t *table) upsert(h uint64, key []byte) (id uint32, added bool) {
	if id = t.find(h, key); id != noID {
		return id, false
	}
	id = t.recs.add()
	r := t.recs.at(id)[t.payload:]
	if t.kw > 0 {
		copy(r, key)
	} else {
		le.PutUint64(r, uint64(t.keys.put(key)))
	}
	t.link(uint32(h), id)
	return id, true
}

// findInt and upsertInt are find and upsert for keys of 8 bytes.
func (t *table) findInt(h uint64, key int64) uint32 {
	tag := uint32(h)
	x := t.sub(tag)
	if x.n == 0 {
		return noID
	}
	mask := uint32(len(x.slots) - 1)
	for p := tag & mask; ; p = (p + 1) & mask {
		s := x.slots[p]
		if s == 0 {
			return noID
		}
		if uint32(s>>32) == tag {
			id := uint32(s) - 1
			if le.Uint64(t.recs.at(id)[t.payload:]) == uint64(key) {
				return id
			}
		}
	}
}

func (t *table) upsertInt(h uint64, key int64) (id uint32, added bool) {
	if id = t.findInt(h, key); id != noID {
		return id, false
	}
	id = t.recs.add()
	le.PutUint64(t.recs.at(id)[t.payload:], uint64(key))
	t.link(uint32(h), id)
	return id, true
}

// warm loads the slots and records that lookups of the given hashes start at, so
// that their cache misses overlap instead of queueing up one lookup after the
// other. Small tables are in the cache anyway.
func (t *table) warm(hashes []uint64) {
	if t.n < splitAt {
		return
	}
	var first [64]uint64
	for len(hashes) > 0 {
		h := hashes[:min(len(hashes), len(first))]
		hashes = hashes[len(h):]
		for i, x := range h {
			if s := t.sub(uint32(x)).slots; len(s) > 0 {
				first[i] = s[uint32(x)&uint32(len(s)-1)]
			} else {
				first[i] = 0
			}
		}
		for _, s := range first[:len(h)] {
			if s != 0 {
				t.warmed += t.recs.at(uint32(s) - 1)[t.payload]
			}
		}
	}
}

// addLoose adds a record that no key finds, for owners that reach their records
// by links of their own, and returns the room for its key of n bytes, which is
// valid until the next insertion.
func (t *table) addLoose(n int) (id uint32, key []byte) {
	id = t.recs.add()
	return id, t.keyRoom(id, n)
}

// keyRoom gives a record that has no key one of n bytes.
func (t *table) keyRoom(id uint32, n int) []byte {
	r := t.recs.at(id)[t.payload:]
	if t.kw > 0 {
		return r[:t.kw]
	}
	k, room := t.keys.alloc(n)
	le.PutUint64(r, uint64(k))
	return room
}

// freeLoose deletes a record of addLoose, which may have no key yet, in a table
// whose keys vary in width.
func (t *table) freeLoose(id uint32) {
	t.keys.del(ref(le.Uint64(t.recs.at(id)[t.payload:])))
	t.recs.del(id)
}

func (t *table) link(tag, id uint32) {
	x := t.sub(tag)
	if (x.n+1)*4 > len(x.slots)*3 {
		if len(t.subs) == 1 && t.n >= splitAt {
			t.split()
			x = t.sub(tag)
		}
		if (x.n+1)*4 > len(x.slots)*3 {
			x.grow()
		}
	}
	x.insert(tag, id)
	x.n++
	t.n++
}

func (x *subIndex) insert(tag, id uint32) {
	mask := uint32(len(x.slots) - 1)
	p := tag & mask
	for x.slots[p] != 0 {
		p = (p + 1) & mask
	}
	x.slots[p] = uint64(tag)<<32 | uint64(id+1)
}

func (x *subIndex) grow() {
	old := x.slots
	x.slots = make([]uint64, max(8, 2*len(old)))
	for _, s := range old {
		if s != 0 {
			x.insert(uint32(s>>32), uint32(s)-1)
		}
	}
}

func (t *table) split() {
	old := t.subs[0]
	t.subs = make([]subIndex, vec.Vnodes)
	for _, s := range old.slots {
		if s == 0 {
			continue
		}
		x := t.sub(uint32(s >> 32))
		if (x.n+1)*4 > len(x.slots)*3 {
			x.grow()
		}
		x.insert(uint32(s>>32), uint32(s)-1)
		x.n++
	}
}

// remove deletes a record whose key hashes to h.
func (t *table) remove(h uint64, id uint32) {
	tag := uint32(h)
	x := t.sub(tag)
	mask := uint32(len(x.slots) - 1)
	i := tag & mask
	for x.slots[i] != uint64(tag)<<32|uint64(id+1) {
		i = (i + 1) & mask
	}
	// Close the gap by moving back entries that probing would no longer reach.
	for j := i; ; {
		x.slots[i] = 0
		for {
			j = (j + 1) & mask
			if x.slots[j] == 0 {
				x.n--
				t.n--
				if t.kw == 0 {
					t.keys.del(ref(le.Uint64(t.recs.at(id)[t.payload:])))
				}
				t.recs.del(id)
				return
			}
			home := uint32(x.slots[j]>>32) & mask
			if (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		x.slots[i] = x.slots[j]
		i = j
	}
}

// each calls f for every record until it returns false. The table must not
// change meanwhile.
func (t *table) each(f func(id uint32) bool) {
	for k := range t.subs {
		for _, s := range t.subs[k].slots {
			if s != 0 && !f(uint32(s)-1) {
				return
			}
		}
	}
}

// reset empties the table and keeps a little memory.
func (t *table) reset() {
	if t.n == 0 {
		return
	}
	slots := 0
	for i := range t.subs {
		slots += len(t.subs[i].slots)
	}
	if 8*slots > keepBytes {
		t.subs = make([]subIndex, 1)
	}
	for i := range t.subs {
		clear(t.subs[i].slots)
		t.subs[i].n = 0
	}
	t.n = 0
	t.recs.reset()
	t.keys.reset()
}

// bytes returns the memory held.
func (t *table) bytes() int {
	n := t.recs.held + t.keys.held
	for i := range t.subs {
		n += 8 * cap(t.subs[i].slots)
	}
	return n
}

const hashSeed = 0x2545f4914f6cdd1d

// hashKey hashes key bytes, hashInt the keys of findInt and upsertInt.
func hashKey(b []byte) uint64 { return vec.HashBytes(hashSeed, b) }

func hashInt(k int64) uint64 {
	// Two rounds of a multiply-xorshift finaliser: the table takes tag bits and
	// position from the low half.
	x := uint64(k) ^ hashSeed
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
