package kafka

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// bounded reads what a topic holds at one moment, and ends.
//
// It asks for uncommitted records too and finds out itself which transactions
// were committed by then: of those that end later a reader of committed records
// is told nothing, and would wait for them.
type bounded struct {
	s     *source
	cl    *kgo.Client
	dec   *decoder
	pool  vec.Pool
	parts map[int32]*extent // that are not at their end
	ready []*kgo.Record
	heard time.Time // when the last records came
}

// extent is what is to be read of a partition: [at, end).
type extent struct {
	at, end int64
	// stable is the offset below which every transaction had ended.
	stable int64
	open   map[int64][]*kgo.Record // of transactions that have not ended, by producer
}

// stallTimeout bounds the wait for records that are known to be there.
const stallTimeout = 30 * time.Second

// OpenBounded implements connector.Bounded.
func (s *source) OpenBounded(ctx context.Context, cols []int) (connector.Reader, error) {
	dec, err := newDecoder(&s.spec, cols)
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(s.client, kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(200*time.Millisecond), kgo.FetchMaxBytes(fetchBytes))...)
	if err != nil {
		return nil, s.explain(err)
	}
	r := &bounded{s: s, cl: cl, dec: dec, pool: vec.Pool{Types: dec.types}, parts: map[int32]*extent{}, heard: time.Now()}
	if err := r.open(ctx); err != nil {
		cl.Close()
		return nil, s.explain(err)
	}
	return r, nil
}

// open fixes the extents.
func (r *bounded) open(ctx context.Context) error {
	if _, err := r.s.lookup(ctx, r.cl); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	adm := kadm.NewClient(r.cl)
	from := adm.ListStartOffsets
	if r.s.start == "timestamp" {
		from = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return adm.ListOffsetsAfterMilli(ctx, r.s.startTime, topics...)
		}
	}
	// The order matters: a transaction that ends in between is in neither's way.
	var offsets [3]kadm.ListedOffsets
	for i, list := range []func(context.Context, ...string) (kadm.ListedOffsets, error){adm.ListCommittedOffsets, from, adm.ListEndOffsets} {
		var err error
		if offsets[i], err = list(ctx, r.s.topic); err == nil {
			err = offsets[i].Error()
		}
		if err != nil {
			return err
		}
	}
	add := map[int32]kgo.Offset{}
	offsets[2].Each(func(end kadm.ListedOffset) {
		stable, _ := offsets[0].Lookup(end.Topic, end.Partition)
		begin, ok := offsets[1].Lookup(end.Topic, end.Partition)
		if ok && begin.Offset < end.Offset {
			r.parts[end.Partition] = &extent{at: begin.Offset, end: end.Offset, stable: stable.Offset, open: map[int64][]*kgo.Record{}}
			add[end.Partition] = kgo.NewOffset().At(begin.Offset)
		}
	})
	if len(add) > 0 {
		r.cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.s.topic: add})
	}
	return nil
}

// Read implements connector.Reader.
func (r *bounded) Read(ctx context.Context) (*connector.Batch, error) {
	for len(r.ready) == 0 && len(r.parts) > 0 {
		pctx, cancel := context.WithTimeout(ctx, time.Second)
		fs := r.cl.PollFetches(pctx)
		cancel()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.take(fs); err != nil {
			return nil, err
		}
		if time.Since(r.heard) > stallTimeout {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "no records have come from topic \"%s\" for %s", r.s.topic, stallTimeout).
				WithHint("The brokers may be away. A materialized view on the source waits for them.")
		}
	}
	b := &connector.Batch{Chunk: r.pool.Get(), Pool: &r.pool}
	n := min(len(r.ready), vec.MaxRows/r.dec.rows)
	for _, rec := range r.ready[:n] {
		if err := r.dec.decode(b.Chunk, rec); err != nil {
			b.Bad = append(b.Bad, connector.BadRecord{Split: r.s.topic + "/" + strconv.Itoa(int(rec.Partition)),
				Offset: strconv.FormatInt(rec.Offset, 10), Key: rec.Key, Value: rec.Value, Reason: err})
		}
	}
	r.ready = r.ready[n:]
	b.End = len(r.ready) == 0 && len(r.parts) == 0
	return b, nil
}

// take sorts the fetched records.
func (r *bounded) take(fs kgo.Fetches) error {
	var failed error
	fs.EachError(func(topic string, p int32, err error) {
		x := r.parts[p]
		if failed != nil || topic != "" && x == nil {
			return // of a partition that is at its end
		}
		at := int64(0)
		if x != nil {
			at = x.at
		}
		failed = r.s.fetchError(p, at, err)
	})
	if failed != nil {
		return failed
	}
	fs.EachPartition(func(f kgo.FetchTopicPartition) {
		x := r.parts[f.Partition]
		if x == nil || len(f.Records) == 0 {
			return
		}
		r.heard = time.Now()
		for _, rec := range f.Records {
			if rec.Offset >= x.end {
				x.at = x.end
				break
			}
			x.at = rec.Offset + 1
			r.add(x, rec)
		}
		if x.at >= x.end {
			r.finish(f.Partition, x)
		}
	})
	return nil
}

// add takes a record of a partition.
func (r *bounded) add(x *extent, rec *kgo.Record) {
	switch {
	case rec.Attrs.IsControl():
		// A control record's key is its version and its type: 0 abort, 1 commit.
		if len(rec.Key) >= 4 && binary.BigEndian.Uint16(rec.Key[2:]) == 1 {
			r.ready = append(r.ready, x.open[rec.ProducerID]...)
		}
		delete(x.open, rec.ProducerID)
	case r.s.committed && rec.Attrs.IsTransactional():
		x.open[rec.ProducerID] = append(x.open[rec.ProducerID], rec)
	default:
		r.ready = append(r.ready, rec)
	}
}

// finish ends a partition. A transaction whose end is not in the log was
// committed if it lies where all had ended: compaction drops aborted records
// before their end.
func (r *bounded) finish(p int32, x *extent) {
	for _, recs := range x.open {
		if recs[0].Offset < x.stable {
			r.ready = append(r.ready, recs...)
		}
	}
	delete(r.parts, p)
	r.cl.RemoveConsumePartitions(map[string][]int32{r.s.topic: {p}})
}

// Close implements connector.Reader.
func (r *bounded) Close() error {
	r.cl.Close()
	return nil
}
