package state

import (
	"sync"

	"github.com/streamdb/streamdb/types"
)

// Delta gathers one epoch's changes of the operator state of one job. Writer may
// be called by many goroutines.
type Delta struct {
	mu      sync.Mutex
	writers []*DeltaWriter
}

// NewDelta makes an empty delta.
func NewDelta() *Delta { return &Delta{} }

// Writer returns a new writer for an operator. Each is used by one goroutine;
// two of one operator must write different keys.
func (d *Delta) Writer(op int) *DeltaWriter {
	w := &DeltaWriter{op: uint32(op)}
	d.mu.Lock()
	d.writers = append(d.writers, w)
	d.mu.Unlock()
	return w
}

// Bytes returns the size of the delta as stored.
func (d *Delta) Bytes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, w := range d.writers {
		n += w.bytes()
	}
	return n
}

// records returns the pages as finished records, and what is in them.
func (d *Delta) records(e types.Epoch) (out [][]byte, u usage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.writers {
		u.add(w.usage)
		for _, p := range w.pages {
			finishRecord(p, e, w.op)
			out = append(out, p)
		}
	}
	return out, u
}

// DeltaWriter receives the changed entries of one operator; it copies them.
type DeltaWriter struct {
	op    uint32
	pages [][]byte // each a record: room for the header, then entries
	usage usage
}

// Put stores an entry, in place of the one that its key may have; vnode is below
// 65536.
func (w *DeltaWriter) Put(vnode int, key, val []byte) {
	n := w.append(vnode, entryPut, key, val)
	w.usage.entry(n)
	w.usage.stale += int64(n) // about what the old one takes
}

// PutNew stores an entry whose key has none.
func (w *DeltaWriter) PutNew(vnode int, key, val []byte) {
	w.usage.entry(w.append(vnode, entryFresh, key, val))
}

// Delete removes an entry.
func (w *DeltaWriter) Delete(vnode int, key []byte) {
	w.usage.stale += int64(w.append(vnode, entryDeleted, key, nil))
	w.usage.deleted++
}

// append returns the length of the entry.
func (w *DeltaWriter) append(vnode int, kind uint64, key, val []byte) int {
	p := w.room(entrySize(key, val))
	n := len(*p)
	*p = appendEntry(*p, vnode, kind, key, val)
	return len(*p) - n
}

func (w *DeltaWriter) room(n int) *[]byte {
	w.pages = pageRoom(w.pages, n, recordHeader)
	return &w.pages[len(w.pages)-1]
}

func (w *DeltaWriter) bytes() int {
	n := 0
	for _, p := range w.pages {
		n += len(p)
	}
	return n
}
