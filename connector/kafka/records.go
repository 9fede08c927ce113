package kafka

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/pgerr"
)

// records walks what was fetched, record by record, and moves the offsets of
// partitions: also past batches that have no record to return, or a reader at the
// end of the log would never know that it is there.
type records struct {
	pending []*run
	part    *partition // of the present batch
	head    batch
	in      []byte // of the present batch: its records that were not returned yet
	left    int    // ... and their number
	rec     kgo.Record
	older   []*kgo.Record // of the present batch, if its format is an older one
	moved   []*partition  // whose offset is to be reported
	space   space
	codecs  kgo.Decompressor
	failed  error
}

// run is what a fetch brought of a partition.
type run struct {
	p       *partition
	batches []byte
	aborted aborted
}

func (r *records) init() { r.codecs = kgo.DefaultDecompressor(&r.space) }

// waiting reports whether there may be a record.
func (r *records) waiting() bool {
	return r.failed == nil && (r.left > 0 || len(r.older) > 0 || len(r.pending) > 0)
}

// record returns the next record, which is valid until the next call; nil: there is
// none, or failed says why. Its partition is r.part.
func (r *records) record(headers bool) *kgo.Record {
	for r.failed == nil {
		switch {
		case r.left > 0:
			if r.cut(headers); r.failed == nil && r.rec.Offset >= r.part.at.next {
				r.advance(r.rec.Offset+1, r.head.epoch)
				if r.left == 0 {
					r.advance(r.head.next, r.head.epoch)
				}
				return &r.rec
			}
		case len(r.older) > 0:
			rec := r.older[0]
			if r.older = r.older[1:]; rec.Offset >= r.part.at.next {
				r.advance(rec.Offset+1, rec.LeaderEpoch)
				return rec
			}
		case len(r.pending) > 0:
			r.failed = r.begin()
		default:
			return nil
		}
	}
	return nil
}

// cut takes the next record off the present batch.
func (r *records) cut(headers bool) {
	rest, err := r.head.record(r.in, &r.rec, headers)
	if err != nil {
		r.failed = r.damaged(err, r.head.first)
		return
	}
	r.in = rest
	if r.left--; r.left == 0 {
		r.in = nil
	}
}

// advance moves the offset of the present partition.
func (r *records) advance(next int64, epoch int32) {
	p := r.part
	if next <= p.at.next {
		return
	}
	p.at.next, p.at.epoch = next, epoch
	if !p.moved {
		p.moved = true
		r.moved = append(r.moved, p)
	}
}

func (r *records) damaged(err error, offset int64) error {
	return pgerr.From(err).WithDetail("It begins at offset %d of partition %d.", offset, r.part.num)
}

// begin takes up the next batch. Of one with nothing to return only the offset
// counts.
func (r *records) begin() error {
	u := r.pending[0]
	one, rest, whole := cutBatch(u.batches)
	if u.batches = rest; !whole {
		r.pending[0] = nil // so that its memory is free
		if r.pending = r.pending[1:]; len(r.pending) == 0 {
			r.pending = nil
		}
		return nil
	}
	r.part = u.p
	h, err := parseBatch(one)
	switch {
	case err != nil:
		return r.damaged(err, h.first)
	case h.next <= r.part.at.next:
		return nil
	case h.magic != magic:
		return r.beginOlder(one, &h)
	case u.aborted.hides(&h):
		r.advance(h.next, h.epoch)
		return nil
	}
	in, err := r.decompress(&h)
	if err != nil {
		return r.damaged(err, h.first)
	}
	if h.attrs&attrControl != 0 {
		if !commits(in) {
			delete(u.aborted.open, h.producer)
		}
		h.count = 0
	}
	if h.count == 0 {
		r.advance(h.next, h.epoch)
		return nil
	}
	r.head, r.in, r.left = h, in, h.count
	r.rec = kgo.Record{Partition: r.part.num, LeaderEpoch: h.epoch}
	return nil
}

// decompress returns a batch's records; they lie in r.space until the next call.
func (r *records) decompress(h *batch) ([]byte, error) {
	codec := h.attrs & attrCodec
	if codec == 0 {
		return h.records, nil
	}
	in, err := r.codecs.Decompress(h.records, kgo.CompressionCodecType(codec))
	if err != nil {
		return nil, errDamaged(err.Error())
	}
	r.space.keep(in)
	return in, nil
}

// beginOlder takes up a batch in one of the formats before 2017, which the client
// reads.
func (r *records) beginOlder(one []byte, h *batch) error {
	o := kgo.ProcessFetchPartitionOpts{Offset: r.part.at.next, Partition: r.part.num}
	f, next := kgo.ProcessFetchPartition(o, &kmsg.FetchResponseTopicPartition{Partition: r.part.num, RecordBatches: one}, r.codecs, nil)
	if f.Err != nil {
		return r.damaged(errDamaged(f.Err.Error()), h.first)
	}
	if r.older = f.Records; len(f.Records) == 0 {
		r.advance(max(next, h.next), -1)
	}
	return nil
}

// space is the memory for what is decompressed: the decompressor asks for it anew
// for every batch. It implements kgo.PoolDecompressBytes.
type space struct{ b []byte }

// spaceBytes bounds what is kept for the next batch.
const spaceBytes = 16 << 20

// GetDecompressBytes implements kgo.PoolDecompressBytes.
func (s *space) GetDecompressBytes(compressed []byte, codec kgo.CompressionCodecType) []byte {
	need := len(compressed) // too little is grown
	if n, k := binary.Uvarint(compressed); codec == kgo.CodecSnappy && k > 0 && n <= spaceBytes {
		need = int(n)
	}
	if cap(s.b) < need {
		s.b = make([]byte, 0, need)
	}
	return s.b[:0]
}

// PutDecompressBytes implements kgo.PoolDecompressBytes.
func (s *space) PutDecompressBytes([]byte) {}

// keep remembers the memory that holds what was decompressed.
func (s *space) keep(b []byte) {
	if s.b = b[:0]; cap(b) > spaceBytes {
		s.b = nil
	}
}
