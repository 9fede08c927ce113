package state

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Sizes of the pages of a batch, in bytes: the first is small, so that an epoch
// of one row is cheap; later ones double up to the last size. Pages are never
// moved, so a batch costs no copies as it grows.
const (
	firstPage = 1 << 10
	lastPage  = 256 << 10
	runLen    = 4096
)

type rowKind uint8

const (
	rowPut rowKind = iota
	rowDelete
	rowAdd
)

// rowEntry points at the storage key and value of one change in the pages.
type rowEntry struct {
	prefix     uint64 // first bytes of the key after table and vnode, big-endian
	page, off  uint32
	klen, vlen uint32
	kind       rowKind
}

// RowBatch gathers an epoch's changes of one stored relation. It copies what it
// is given and is used by one goroutine; several batches of a relation may go
// into one commit, later ones winning.
type RowBatch struct {
	table TableID
	pages [][]byte
	runs  [][]rowEntry
	bytes int
	n     int

	adds, minus int // calls of Add, and of Add with a negative weight
}

// NewRowBatch makes an empty batch for a relation (never 0).
func NewRowBatch(table TableID) *RowBatch { return &RowBatch{table: table} }

// Table returns the relation.
func (b *RowBatch) Table() TableID { return b.table }

// Len returns the number of changes.
func (b *RowBatch) Len() int { return b.n }

// Bytes returns the size of all keys and values as stored.
func (b *RowBatch) Bytes() int { return b.bytes }

// Keys appends the keys of the changes to dst, as they were given. They are
// borrowed until Reset.
func (b *RowBatch) Keys(dst [][]byte) [][]byte {
	for _, run := range b.runs {
		for i := range run {
			dst = append(dst, b.key(&run[i])[rowPrefix:])
		}
	}
	return dst
}

// Reset empties the batch and keeps its last page for reuse. It must not be
// called while a commit of the batch runs.
func (b *RowBatch) Reset() {
	if n := len(b.pages); n > 0 {
		b.pages[0] = b.pages[n-1][:0]
		clear(b.pages[1:])
		b.pages = b.pages[:1]
		b.runs[0] = b.runs[0][:0]
		clear(b.runs[1:])
		b.runs = b.runs[:1]
	}
	b.bytes, b.n, b.adds, b.minus = 0, 0, 0, 0
}

// Put stores val under key.
func (b *RowBatch) Put(key, val []byte) {
	p := b.start(rowPut, key, 1+len(val))
	*p = append(append(*p, tagRow), val...)
}

// Delete removes key.
func (b *RowBatch) Delete(key []byte) { b.start(rowDelete, key, 0) }

// Add changes the count of the row whose whole encoding is key; weight 0 is
// ignored.
func (b *RowBatch) Add(key []byte, weight int64) {
	if weight == 0 {
		return
	}
	b.adds++
	if weight < 0 {
		b.minus++
	}
	var v [1 + binary.MaxVarintLen64]byte
	val := appendCount(v[:0], weight)
	p := b.start(rowAdd, key, len(val))
	*p = append(*p, val...)
}

// start appends the entry and its key, and returns the page with room for vlen
// more bytes.
func (b *RowBatch) start(kind rowKind, key []byte, vlen int) *[]byte {
	klen := rowPrefix + len(key)
	p := b.room(klen + vlen)
	r := len(b.runs) - 1
	if r < 0 || len(b.runs[r]) == runLen {
		c := 0
		if r >= 0 {
			c = runLen
		}
		b.runs = append(b.runs, make([]rowEntry, 0, c))
		r++
	}
	b.runs[r] = append(b.runs[r], rowEntry{
		prefix: keyPrefix(key), kind: kind,
		page: uint32(len(b.pages) - 1), off: uint32(len(*p)), klen: uint32(klen), vlen: uint32(vlen),
	})
	*p = appendRowKey(*p, b.table, key)
	b.bytes += klen + vlen
	b.n++
	return p
}

func (b *RowBatch) room(n int) *[]byte {
	b.pages = pageRoom(b.pages, n, 0)
	return &b.pages[len(b.pages)-1]
}

// pageRoom returns pages whose last has room for n bytes; a new page begins with
// reserve zero bytes.
func pageRoom(pages [][]byte, n, reserve int) [][]byte {
	size := firstPage
	if l := len(pages); l > 0 {
		last := pages[l-1]
		if len(last)+n <= cap(last) {
			return pages
		}
		size = min(2*cap(last), lastPage)
	}
	return append(pages, make([]byte, reserve, max(size, n+reserve)))
}

// keyPrefix is the first 8 bytes of key as a number that orders alike.
func keyPrefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var p [8]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:])
}

func (b *RowBatch) key(e *rowEntry) []byte { return b.pages[e.page][e.off:][:e.klen:e.klen] }

func (b *RowBatch) val(e *rowEntry) []byte {
	return b.pages[e.page][e.off+e.klen:][:e.vlen:e.vlen]
}

// sortRuns sorts every run by key, changes of one key in call order.
func (b *RowBatch) sortRuns() {
	for _, run := range b.runs {
		slices.SortFunc(run, func(x, y rowEntry) int {
			if x.prefix != y.prefix {
				if x.prefix < y.prefix {
					return -1
				}
				return 1
			}
			if c := bytes.Compare(b.key(&x), b.key(&y)); c != 0 {
				return c
			}
			// Pages and offsets ascend with the calls.
			if x.page != y.page {
				return int(x.page) - int(y.page)
			}
			return int(x.off) - int(y.off)
		})
	}
}
