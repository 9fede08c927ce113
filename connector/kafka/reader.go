package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// reader reads the partitions of one instance.
type reader struct {
	*health
	positions
	s                   *source
	cl                  *kgo.Client
	instance, instances int
	topicID             [16]byte
	parts               map[int32]*partition
	moved               []*partition // whose offset is to be reported
	first               bool         // nothing was returned yet
	dec                 *decoder
	pool                vec.Pool  // of chunks, which keep the memory that text needs
	ended               time.Time // when the partitions' ends were last asked for
	discovered          time.Time // when partitions were last looked for
	pending             []run     // polled and not yet returned
}

// run is a sequence of records of one partition.
type run struct {
	p    *partition
	recs []*kgo.Record
}

// Read implements connector.Reader. The first batch comes at once and tells the
// offsets the reader starts from, even when there is no record.
func (r *reader) Read(ctx context.Context) (*connector.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.first || len(r.pending) > 0 || len(r.moved) > 0 {
			r.first = false
			return r.batch(), nil
		}
		if time.Since(r.ended) >= endsEvery {
			r.lookAtEnds(ctx)
		}
		wait := min(r.s.discovery-time.Since(r.discovered), endsEvery)
		if wait <= 0 {
			if err := r.discover(ctx); err != nil {
				return nil, orContext(ctx, err)
			}
			continue
		}
		pctx, cancel := context.WithTimeout(ctx, wait)
		fs := r.cl.PollFetches(pctx)
		cancel()
		if err := r.take(fs); err != nil {
			return nil, orContext(ctx, err)
		}
	}
}

// orContext prefers the error of a context that has ended.
func orContext(ctx context.Context, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	return err
}

// take keeps the fetched records and turns lasting fetch errors into errors; the
// client goes on by itself after the others.
func (r *reader) take(fs kgo.Fetches) error {
	var failed error
	fs.EachError(func(_ string, p int32, err error) {
		if failed == nil {
			at := int64(0)
			if x := r.parts[p]; x != nil {
				at = x.at.next
			}
			failed = r.s.fetchError(p, at, err)
		}
	})
	if failed != nil {
		return failed
	}
	fs.EachPartition(func(f kgo.FetchTopicPartition) {
		r.end(f.Partition, f.HighWatermark)
		if p := r.parts[f.Partition]; p != nil && len(f.Records) > 0 {
			r.pending = append(r.pending, run{p, f.Records})
		}
	})
	return nil
}

// fetchError words a lasting error of fetching a partition at an offset.
func (s *source) fetchError(num int32, at int64, err error) error {
	var lost *kgo.ErrDataLoss
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, kerr.OffsetOutOfRange), errors.As(err, &lost):
		return pgerr.Wrap(err, pgerr.ObjectNotInPrerequisiteState, "offset %d of partition %d of topic \"%s\" is not in the log any more", at, num, s.topic).
			WithDetail("Records were deleted before they were read, or the brokers have lost them.").
			WithHint("Drop what reads the source and create it again to go on without them.")
	case kerr.IsRetriable(err):
		return nil
	}
	return s.explain(fmt.Errorf("partition %d of topic %s: %w", num, s.topic, err))
}

// batch decodes up to a chunk's worth of pending records.
func (r *reader) batch() *connector.Batch {
	room := vec.MaxRows / r.dec.rows
	b := &connector.Batch{Chunk: r.pool.Get(), Pool: &r.pool, Offsets: map[string]string{}}
	for room > 0 && len(r.pending) > 0 {
		head := &r.pending[0]
		n := min(room, len(head.recs))
		r.decode(b, head.p, head.recs[:n])
		room -= n
		if head.recs = head.recs[n:]; len(head.recs) == 0 {
			*head = run{} // so that its memory is free
			r.pending = r.pending[1:]
		}
	}
	if len(r.pending) == 0 {
		r.pending = nil
	}
	for _, p := range r.moved {
		p.moved = false
		r.next(p, p.at.next)
		b.Offsets[p.name] = p.at.String()
	}
	r.moved = r.moved[:0]
	return b
}

// decode decodes records into b and gives their memory back to the client.
func (r *reader) decode(b *connector.Batch, p *partition, recs []*kgo.Record) {
	for _, rec := range recs {
		p.at.next, p.at.epoch = rec.Offset+1, rec.LeaderEpoch
		if !rec.Attrs.IsControl() {
			if err := r.dec.decode(b.Chunk, rec); err != nil {
				b.Bad = append(b.Bad, connector.BadRecord{Split: r.s.topic + "/" + p.name, Offset: strconv.FormatInt(rec.Offset, 10),
					Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value), Reason: err})
			}
		}
		rec.Recycle()
	}
	if !p.moved {
		p.moved = true
		r.moved = append(r.moved, p)
	}
}

// Close implements connector.Reader.
func (r *reader) Close() error {
	r.cl.Close()
	return nil
}
