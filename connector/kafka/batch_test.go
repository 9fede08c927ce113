package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/pgerr"
)

// logWriter makes a log as brokers would keep it.
type logWriter struct {
	t       testing.TB
	r       *rand.Rand
	log     []byte
	next    int64
	starts  map[int64]int64 // producer -> first offset of its open transaction
	aborted []abortedSpan
}

// abortedSpan is a transaction that was aborted, with the offset of its marker.
type abortedSpan struct{ producer, first, marker int64 }

func newLogWriter(t testing.TB, seed uint64) *logWriter {
	return &logWriter{t: t, r: rand.New(rand.NewPCG(seed, 1)), next: 100, starts: map[int64]int64{}}
}

// records makes n records, and gaps between their offsets as compaction leaves.
func (w *logWriter) records(n int) (raw []byte, last int32) {
	delta := int32(w.r.IntN(2) * w.r.IntN(3))
	for range n {
		rec := kmsg.Record{TimestampDelta64: int64(w.r.IntN(1e6)) << (w.r.IntN(2) * w.r.IntN(12)), OffsetDelta: delta}
		if w.r.IntN(3) > 0 {
			rec.Key = fmt.Appendf(nil, "k%d", w.r.IntN(100))
		}
		if w.r.IntN(5) > 0 {
			rec.Value = []byte(strings.Repeat("v", w.r.IntN(200)))
		}
		for range w.r.IntN(3) * w.r.IntN(2) {
			rec.Headers = append(rec.Headers, kmsg.Header{Key: "h", Value: []byte("x")})
		}
		body := rec.AppendTo(nil)[1:] // without the length, which is 0
		raw = append(binary.AppendVarint(raw, int64(len(body))), body...)
		last = delta
		delta += 1 + int32(w.r.IntN(2)*w.r.IntN(3))
	}
	return raw, last + int32(w.r.IntN(2))
}

func (w *logWriter) batch(attrs int16, producer int64, count int, raw []byte, last int32) {
	if codec := w.r.IntN(5); codec > 0 && attrs&attrControl == 0 {
		c, err := kgo.DefaultCompressor([]kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}[codec-1])
		if err != nil {
			w.t.Fatal(err)
		}
		var kind kgo.CompressionCodecType
		raw, kind = c.Compress(new(bytes.Buffer), raw)
		attrs |= int16(kind)
	}
	if w.r.IntN(4) == 0 {
		attrs |= attrAppendTime
	}
	b := kmsg.RecordBatch{FirstOffset: w.next, PartitionLeaderEpoch: int32(w.next / 50), Magic: magic, Attributes: attrs, LastOffsetDelta: last,
		FirstTimestamp: 1.7e12 + w.next, MaxTimestamp: 1.7e12 + w.next + 5e5, ProducerID: producer, NumRecords: int32(count), Records: raw}
	b.Length = int32(len(raw)) + atRecords - atEpoch
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[atCRC:], crc32.Checksum(out[atAttrs:], castagnoli))
	w.log = append(w.log, out...)
	w.next += int64(last) + 1
}

// marker ends a producer's transaction.
func (w *logWriter) marker(producer int64, commit bool) {
	key := []byte{0, 0, 0, 0}
	if commit {
		key[3] = 1
	} else {
		w.aborted = append(w.aborted, abortedSpan{producer, w.starts[producer], w.next})
	}
	delete(w.starts, producer)
	rec := kmsg.Record{Key: key, Value: make([]byte, 6)}
	body := rec.AppendTo(nil)[1:]
	w.batch(attrTransactional|attrControl, producer, 1, append(binary.AppendVarint(nil, int64(len(body))), body...), 0)
}

// older writes a message of a format before batches.
func (w *logWriter) older() {
	value := fmt.Appendf(nil, "old%d", w.next)
	var out []byte
	if w.r.IntN(2) == 0 {
		m := kmsg.MessageV0{Offset: w.next, MessageSize: int32(14 + len(value)), Value: value}
		out = m.AppendTo(nil)
	} else {
		m := kmsg.MessageV1{Offset: w.next, MessageSize: int32(22 + len(value)), Magic: 1, Timestamp: 1.6e12, Value: value}
		out = m.AppendTo(nil)
	}
	binary.BigEndian.PutUint32(out[atEpoch:], crc32.ChecksumIEEE(out[atMagic:]))
	w.log = append(w.log, out...)
	w.next++
}

func (w *logWriter) write(entries int) {
	for range entries {
		producer := int64(w.r.IntN(3))
		switch k := w.r.IntN(10); {
		case k < 5:
			n := 1 + w.r.IntN(20)
			raw, last := w.records(n)
			if k < 2 {
				w.batch(0, -1, n, raw, last)
				break
			}
			if _, open := w.starts[producer]; !open {
				w.starts[producer] = w.next
			}
			w.batch(attrTransactional, producer, n, raw, last)
		case k < 8:
			if _, open := w.starts[producer]; open {
				w.marker(producer, k == 5)
			}
		case k == 8:
			w.batch(0, -1, 0, nil, int32(w.r.IntN(4))) // emptied by compaction
		default:
			w.older()
		}
	}
}

// answer is what a broker sends of the log, from an offset on: only the aborted
// transactions that had not ended by then, in any order.
func (w *logWriter) answer(log []byte, from int64) (x kmsg.FetchResponseTopicPartition) {
	x.RecordBatches = log
	for _, a := range w.aborted {
		if a.marker >= from {
			x.AbortedTransactions = append(x.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.producer, FirstOffset: a.first})
		}
	}
	w.r.Shuffle(len(x.AbortedTransactions), func(i, k int) {
		x.AbortedTransactions[i], x.AbortedTransactions[k] = x.AbortedTransactions[k], x.AbortedTransactions[i]
	})
	return x
}

func showRecord(r *kgo.Record) string {
	return fmt.Sprintf("%d %d %q %q %v %v %v", r.Offset, r.Timestamp.UnixMilli(), r.Key, r.Value, r.Key == nil, r.Value == nil, r.Headers)
}

// Whatever a log holds, its records are read as the client's own consumer reads
// them, from any offset and however much of the log an answer brings.
func TestLogsAreReadAsByTheClient(t *testing.T) {
	for seed := range uint64(300) {
		w := newLogWriter(t, seed)
		w.write(30)
		from, log := int64(100)+w.r.Int64N(w.next-100), w.log
		if seed%2 == 0 {
			log = log[:w.r.IntN(len(log))]
		}
		x := w.answer(log, from)
		o := kgo.ProcessFetchPartitionOpts{Offset: from, IsolationLevel: kgo.ReadCommitted()}
		f, next := kgo.ProcessFetchPartition(o, &x, kgo.DefaultDecompressor(), nil)
		if f.Err != nil {
			t.Fatal(f.Err)
		}
		var want, got []string
		for _, r := range f.Records {
			want = append(want, showRecord(r))
		}
		p := &partition{at: offset{next: from}}
		r := &records{}
		r.init()
		r.pending = []*run{{p: p, batches: log, aborted: newAborted(x.AbortedTransactions)}}
		for rec := r.record(true); rec != nil; rec = r.record(true) {
			got = append(got, showRecord(rec))
		}
		if r.failed != nil {
			t.Fatal(seed, r.failed)
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Fatalf("seed %d from %d: got\n%s\nwant\n%s", seed, from, g, w)
		}
		if p.at.next != next || r.waiting() {
			t.Fatalf("seed %d: the next offset is %d, want %d", seed, p.at.next, next)
		}
	}
}

// A damaged batch is an error that says where, never other records.
func TestDamagedBatch(t *testing.T) {
	w := newLogWriter(t, 7)
	raw, last := w.records(3)
	w.batch(0, -1, 3, raw, last)
	good := len(w.log)
	w.batch(0, -1, 3, raw, last)
	for _, at := range []int{atCRC, atAttrs, atCount + 3, atRecords, len(w.log) - good - 1} {
		log := bytes.Clone(w.log)
		log[good+at] ^= 0x11
		r := &records{}
		r.init()
		r.pending = []*run{{p: &partition{num: 4}, batches: log}}
		n := 0
		for r.record(false) != nil {
			n++
		}
		if n != 3 || pgerr.CodeOf(r.failed) != pgerr.DataCorrupted || !strings.Contains(pgerr.From(r.failed).Detail, "of partition 4") {
			t.Errorf("byte %d: %d records, then %v", at, n, r.failed)
		}
	}
}

func FuzzBatches(f *testing.F) {
	for seed := range uint64(5) {
		w := newLogWriter(f, seed)
		w.write(5)
		f.Add(w.log, false)
		f.Add(w.log, true)
	}
	f.Fuzz(func(t *testing.T, log []byte, mend bool) {
		if mend { // so that damage gets past the check sum
			log = bytes.Clone(log)
			for one, rest, whole := cutBatch(log); whole; one, rest, whole = cutBatch(rest) {
				if one[atMagic] == magic && len(one) >= atRecords {
					binary.BigEndian.PutUint32(one[atCRC:], crc32.Checksum(one[atAttrs:], castagnoli))
				}
			}
		}
		r := &records{}
		r.init()
		r.pending = []*run{{p: &partition{}, batches: log}}
		for at := int64(-1); ; {
			rec := r.record(true)
			if rec == nil {
				break
			}
			if rec.Offset <= at {
				t.Fatalf("offset %d after %d", rec.Offset, at)
			}
			at = rec.Offset
		}
	})
}
