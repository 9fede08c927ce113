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
// is a sequence of entries: uvarint(vnode<<1 | deleted), uvarint key length, key,
// and unless deleted uvarint value length, value.
const (
	recordHeader  = 24
	recordVersion = 1
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
	if b[20] != recordVersion {
		return record{}, 0, corrupt("state record has unknown version %d", b[20])
	}
	return record{
		epoch:   types.Epoch(binary.LittleEndian.Uint64(b[8:])),
		op:      binary.LittleEndian.Uint32(b[16:]),
		payload: b[recordHeader:],
	}, int(n), nil
}

// entry is one change of operator state; key and val alias the payload.
type entry struct {
	vnode    int
	deleted  bool
	key, val []byte
}

func appendEntry(dst []byte, vnode int, deleted bool, key, val []byte) []byte {
	h := uint64(vnode) << 1
	if deleted {
		h |= 1
	}
	dst = binary.AppendUvarint(dst, h)
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = append(dst, key...)
	if deleted {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(val)))
	return append(dst, val...)
}

func entrySize(key, val []byte) int { return 3*binary.MaxVarintLen64 + len(key) + len(val) }

// nextEntry decodes the entry at the front of a payload and returns the rest.
func nextEntry(p []byte) (entry, []byte, error) {
	h, n := binary.Uvarint(p)
	if n <= 0 || h>>1 > math.MaxUint16 {
		return entry{}, nil, corrupt("state record has an invalid entry")
	}
	e := entry{vnode: int(h >> 1), deleted: h&1 != 0}
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
