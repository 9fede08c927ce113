package state

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// A record holds entries of one operator. Inline deltas, segments and bases are
// sequences of records:
//
//	crc32c(4) length(4) epoch(8) op(4) version(1) zero(3) payload(length)
//
// numbers little-endian, the checksum over everything after itself. The payload
// is a sequence of entries: uvarint(vnode<<2 | fresh<<1 | deleted), uvarint key
// length, key, and unless deleted uvarint value length, value. Before a fresh entry
// its key has none, or one that was deleted.
// Version 1 had uvarint(vnode<<1 | deleted).
const (
	recordHeader  = 24
	recordVersion = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// finishRecord fills in the header at the front of b, which is header and
// payload.
func finishRecord(b []byte, e types.Epoch, op uint32) {
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-recordHeader))
	binary.LittleEndian.PutUint64(b[8:], uint64(e))
	binary.LittleEndian.PutUint32(b[16:], op)
	b[20], b[21], b[22], b[23] = recordVersion, 0, 0, 0
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
}

type record struct {
	epoch   types.Epoch
	op      uint32
	version byte
	payload []byte
}

func corrupt(format string, args ...any) error {
	return pgerr.Wrap(vfs.ErrCorruption, pgerr.DataCorrupted, format, args...)
}

// recordSize is the whole length of the record whose header begins b, or 0 if b
// is shorter than a header.
func recordSize(b []byte) int64 {
	if len(b) < recordHeader {
		return 0
	}
	return recordHeader + int64(binary.LittleEndian.Uint32(b[4:]))
}

// decodeRecord verifies the record at the front of b and returns it and its
// length. The payload aliases b.
func decodeRecord(b []byte) (record, int, error) {
	n := recordSize(b)
	if n == 0 || n > int64(len(b)) {
		return record{}, 0, corrupt("state record is cut short")
	}
	b = b[:n]
	if binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return record{}, 0, corrupt("state record has a wrong checksum")
	}
	if b[20] != recordVersion && b[20] != 1 {
		return record{}, 0, corrupt("state record has unknown version %d", b[20])
	}
	return record{
		epoch:   types.Epoch(binary.LittleEndian.Uint64(b[8:])),
		op:      binary.LittleEndian.Uint32(b[16:]),
		version: b[20],
		payload: b[recordHeader:],
	}, int(n), nil
}

// entry is one change of operator state; key and val alias the payload.
type entry struct {
	vnode          int
	fresh, deleted bool
	key, val       []byte
}

// Kinds of entries, as they are in the low bits of the first number.
const (
	entryPut     = 0
	entryDeleted = 1
	entryFresh   = 2
)

func appendEntry(dst []byte, vnode int, kind uint64, key, val []byte) []byte {
	deleted := kind == entryDeleted
	dst = binary.AppendUvarint(dst, uint64(vnode)<<2|kind)
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = append(dst, key...)
	if deleted {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(val)))
	return append(dst, val...)
}

// size is about the length of an entry in a record.
func (e *entry) size() int { return 4 + len(e.key) + len(e.val) }

// entrySize is the most that an entry takes in a record.
func entrySize(key, val []byte) int { return 3*binary.MaxVarintLen64 + len(key) + len(val) }

// nextEntry decodes the entry at the front of what is left of the payload, and
// returns the rest.
func (r *record) nextEntry(p []byte) (entry, []byte, error) {
	h, n := binary.Uvarint(p)
	if r.version == 1 {
		h = h>>1<<2 | h&entryDeleted
	}
	if n <= 0 || h>>2 > math.MaxUint16 || h&3 == entryFresh|entryDeleted {
		return entry{}, nil, corrupt("state record has an invalid entry")
	}
	e := entry{vnode: int(h >> 2), fresh: h&entryFresh != 0, deleted: h&entryDeleted != 0}
	var ok bool
	if e.key, p, ok = lengthPrefixed(p[n:]); ok && !e.deleted {
		e.val, p, ok = lengthPrefixed(p)
	}
	if !ok {
		return entry{}, nil, corrupt("state record has an invalid entry")
	}
	return e, p, nil
}

func lengthPrefixed(p []byte) (b, rest []byte, ok bool) {
	l, n := binary.Uvarint(p)
	if n <= 0 || l > uint64(len(p)-n) {
		return nil, nil, false
	}
	return p[n : n+int(l) : n+int(l)], p[n+int(l):], true
}
