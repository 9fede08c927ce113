package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/pgerr"
)

// batch is a record batch of the log, as brokers keep and send it.
type batch struct {
	first, next int64 // the offset of the first record, and the one behind the last
	epoch       int32 // of the leader that wrote it
	magic       byte
	attrs       int16
	time        int64 // ms since 1970: of the first record, or of all
	producer    int64
	count       int    // of records
	records     []byte // as compressed as attrs says
}

// Parts of a batch's attributes.
const (
	attrCodec         = 0x07
	attrAppendTime    = 0x08 // all records have the time at which the broker wrote the batch
	attrTransactional = 0x10
	attrControl       = 0x20
)

// The places of fields in a batch, in bytes. The first four are the same in the
// formats before it.
const (
	atLength   = 8
	atEpoch    = 12
	atMagic    = 16
	atCRC      = 17
	atAttrs    = 21
	atLast     = 23
	atTime     = 27
	atMaxTime  = 35
	atProducer = 43
	atCount    = 57
	atRecords  = 61
)

// magic is the format of batches that is read here; topics that were written to
// before 2017 may hold earlier ones.
const magic = 2

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func errDamaged(what string) error {
	return pgerr.New(pgerr.DataCorrupted, "a batch of records is damaged: %s", what)
}

// cutBatch splits the first batch off b. Brokers end an answer where its bytes are
// used up, within a batch: of such a one whole is false.
func cutBatch(b []byte) (one, rest []byte, whole bool) {
	if len(b) <= atMagic {
		return nil, nil, false
	}
	n := int64(atEpoch) + int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	if n <= atMagic || n > int64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// nextOffset returns the offset behind the last record of a batch that cutBatch has
// cut off.
func nextOffset(b []byte) int64 {
	next := int64(binary.BigEndian.Uint64(b)) + 1
	if b[atMagic] == magic && len(b) >= atRecords {
		next += int64(int32(binary.BigEndian.Uint32(b[atLast:])))
	}
	return next
}

// parseBatch reads the head of a batch of the present format and checks its sum.
func parseBatch(b []byte) (h batch, err error) {
	if h = (batch{first: int64(binary.BigEndian.Uint64(b)), next: nextOffset(b), magic: b[atMagic]}); h.magic != magic {
		return h, nil
	}
	if len(b) < atRecords {
		return h, errDamaged("it is too short")
	}
	if crc32.Checksum(b[atAttrs:], castagnoli) != binary.BigEndian.Uint32(b[atCRC:]) {
		return h, errDamaged("its check sum is wrong")
	}
	h.epoch = int32(binary.BigEndian.Uint32(b[atEpoch:]))
	h.attrs = int16(binary.BigEndian.Uint16(b[atAttrs:]))
	h.time = int64(binary.BigEndian.Uint64(b[atTime:]))
	if h.attrs&attrAppendTime != 0 {
		h.time = int64(binary.BigEndian.Uint64(b[atMaxTime:]))
	}
	h.producer = int64(binary.BigEndian.Uint64(b[atProducer:]))
	h.count = int(int32(binary.BigEndian.Uint32(b[atCount:])))
	if h.count < 0 || h.next < h.first {
		return h, errDamaged("its count of records is impossible")
	}
	h.records = b[atRecords:]
	return h, nil
}

// commits reports whether the first record of a control batch, uncompressed, ends
// a transaction with a commit. Its key is its version and its type: 0 abort, 1
// commit.
func commits(records []byte) bool {
	var r kgo.Record
	h := batch{}
	if _, err := h.record(records, &r, false); err != nil || len(r.Key) < 4 {
		return true // of another kind: it aborts nothing
	}
	return binary.BigEndian.Uint16(r.Key[2:]) != 0
}

// record reads the first record of b and returns the rest. Rec is filled with what
// a batch's records have for themselves; its key and value lie in b.
func (h *batch) record(b []byte, rec *kgo.Record, headers bool) (rest []byte, err error) {
	if !headers {
		if rest, ok := h.shortRecord(b, rec); ok {
			return rest, nil
		}
	}
	size, at := varint(b, 0)
	if at < 0 || size < 1 || size > int64(len(b)-at) {
		return nil, errDamaged("a record is cut off")
	}
	b, rest = b[at:at+int(size)], b[at+int(size):]
	delta, at := varint(b, 1) // behind attributes, which are unused
	offset, at := varint(b, at)
	key, at := varbytes(b, at)
	value, at := varbytes(b, at)
	if at < 0 {
		return nil, errDamaged("a record is cut off")
	}
	rec.Offset, rec.Key, rec.Value = h.first+offset, key, value
	if h.attrs&attrAppendTime != 0 {
		delta = 0
	}
	rec.Timestamp = time.UnixMilli(h.time + delta)
	if headers {
		if rec.Headers, at = parseHeaders(b, at); at < 0 {
			return nil, errDamaged("a record's headers are cut off")
		}
	}
	return rest, nil
}

// shortRecord is record without headers for one whose numbers have at most three
// bytes, as nearly all have; ok is false for any other, and for what is damaged.
func (h *batch) shortRecord(b []byte, rec *kgo.Record) (rest []byte, ok bool) {
	const before = 16 // the most that is looked at before the key
	if len(b) < before {
		return nil, false
	}
	size, n0 := shortVarint(b, 0)
	at := n0 + 1
	delta, n1 := shortVarint(b, at)
	offset, n2 := shortVarint(b, at+n1)
	at += n1 + n2
	length, n3 := shortVarint(b, at)
	at += n3
	end := n0 + int(size) // of the record
	if n0 == 0 || n1 == 0 || n2 == 0 || n3 == 0 || size < 0 || end > len(b) {
		return nil, false
	}
	var key []byte
	if length >= 0 {
		to := at + int(length)
		if to > end {
			return nil, false
		}
		key, at = b[at:to:to], to
	}
	if at+3 > end {
		return nil, false
	}
	length, n := shortVarint(b, at)
	to := at + n + int(length)
	if n == 0 || length < 0 || to > end {
		return nil, false
	}
	rec.Offset, rec.Key, rec.Value = h.first+offset, key, b[at+n:to:to]
	if h.attrs&attrAppendTime != 0 {
		delta = 0
	}
	rec.Timestamp = time.UnixMilli(h.time + delta)
	return b[end:], true
}

// shortVarint reads a number of at most three bytes, which are there, and tells how
// many it has; 0: more.
func shortVarint(b []byte, at int) (v int64, n int) {
	u := uint64(b[at])
	if n = 1; u >= 0x80 {
		u = u&0x7f | uint64(b[at+1])<<7
		if n = 2; u >= 0x80<<7 {
			u = u&0x3fff | uint64(b[at+2])<<14
			if n = 3; u >= 0x80<<14 {
				n = 0
			}
		}
	}
	return int64(u>>1) ^ -int64(u&1), n
}

// parseHeaders reads a record's headers, which are the last it has.
func parseHeaders(b []byte, at int) ([]kgo.RecordHeader, int) {
	n, at := varint(b, at)
	if at < 0 || n < 0 || n > int64(len(b)) {
		return nil, -1
	}
	var hs []kgo.RecordHeader
	for range n {
		var key, value []byte
		key, at = varbytes(b, at)
		if value, at = varbytes(b, at); at < 0 || key == nil {
			return nil, -1
		}
		hs = append(hs, kgo.RecordHeader{Key: string(key), Value: value})
	}
	return hs, at
}

// varint reads a number at a place and returns the place behind it; -1, which may be
// handed on as a place, is that of what cannot be read.
func varint(b []byte, at int) (int64, int) {
	if at < 0 || at >= len(b) {
		return 0, -1
	}
	if c := b[at]; c < 0x80 {
		return int64(c>>1) ^ -int64(c&1), at + 1
	}
	v, n := binary.Varint(b[at:])
	if n <= 0 {
		return 0, -1
	}
	return v, at + n
}

// varbytes reads bytes with their length before them; a length below 0 is nil.
func varbytes(b []byte, at int) ([]byte, int) {
	n, at := varint(b, at)
	switch {
	case at < 0, n > int64(len(b)-at):
		return nil, -1
	case n < 0:
		return nil, at
	}
	end := at + int(n)
	return b[at:end:end], end
}

// aborted tells which batches of what a fetch brought belong to transactions that
// were aborted.
type aborted struct {
	later []kmsg.FetchResponseTopicPartitionAbortedTransaction // by their first offsets
	open  map[int64]bool                                       // producers whose transaction at this place was aborted
}

func newAborted(ts []kmsg.FetchResponseTopicPartitionAbortedTransaction) aborted {
	slices.SortFunc(ts, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
		return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1))
	})
	return aborted{later: ts}
}

// hides reports whether the records of the next batch were never committed.
func (a *aborted) hides(h *batch) bool {
	for len(a.later) > 0 && a.later[0].FirstOffset < h.next {
		if a.open == nil {
			a.open = map[int64]bool{}
		}
		a.open[a.later[0].ProducerID] = true
		a.later = a.later[1:]
	}
	return h.attrs&attrTransactional != 0 && h.attrs&attrControl == 0 && a.open[h.producer]
}
