package kafka

import (
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
	s                   *source
	cl                  *kgo.Client
	instance, instances int
	topicID             [16]byte
	at                  map[int32]*offset
	assigned            map[int32]bool
	moved               []int32 // partitions whose offset is to be reported
	dec                 *decoder
	discovered          time.Time
	pending             []*kgo.Record // polled and not yet returned
}

// pollWait bounds a poll, so that new partitions are looked for in time.
const pollWait = time.Second

// Read implements connector.Reader.
func (r *reader) Read(ctx context.Context) (*connector.Batch, error) {
	for {
		if len(r.pending) > 0 || len(r.moved) > 0 {
			return r.batch(), nil
		}
		if time.Since(r.discovered) > discoverEvery {
			if err := r.discover(ctx); err != nil {
				return nil, err
			}
			continue
		}
		pctx, cancel := context.WithTimeout(ctx, pollWait)
		fs := r.cl.PollFetches(pctx)
		cancel()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.take(fs); err != nil {
			return nil, err
		}
	}
}

func (r *reader) discover(ctx context.Context) error {
	t, err := r.s.lookup(ctx, r.cl)
	if err != nil {
		return err
	}
	if t.ID != r.topicID {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "topic \"%s\" has been deleted and created again", r.s.topic).
			WithHint("Drop the job and create it again to read the new topic.")
	}
	return r.assign(ctx, t, false)
}

// take keeps the fetched records and turns fatal fetch errors into errors.
func (r *reader) take(fs kgo.Fetches) error {
	var err error
	fs.EachError(func(_ string, p int32, e error) {
		var lost *kgo.ErrDataLoss
		switch {
		case err != nil, errors.Is(e, context.DeadlineExceeded), errors.Is(e, context.Canceled):
		case errors.Is(e, kerr.OffsetOutOfRange), errors.As(e, &lost):
			err = pgerr.Wrap(e, pgerr.ObjectNotInPrerequisiteState, "offset %d of partition %d of topic \"%s\" is not in the log any more", r.at[p].next, p, r.s.topic).
				WithDetail("%v", e).WithHint("Records were deleted before they were read. Drop the job and create it again to go on without them.")
		case kerr.IsRetriable(e):
		default:
			err = r.s.explain(fmt.Errorf("partition %d of topic %s: %w", p, r.s.topic, e))
		}
	})
	if err != nil {
		return err
	}
	fs.EachRecord(func(rec *kgo.Record) { r.pending = append(r.pending, rec) })
	return nil
}

// batch decodes up to a chunk's worth of pending records.
func (r *reader) batch() *connector.Batch {
	n := min(len(r.pending), vec.MaxRows)
	b := &connector.Batch{Chunk: vec.NewChunk(r.dec.types, n), Offsets: map[string]string{}}
	touched := map[int32]bool{}
	for _, p := range r.moved {
		touched[p] = true
	}
	r.moved = r.moved[:0]
	for _, rec := range r.pending[:n] {
		o := r.at[rec.Partition]
		o.next, o.epoch = rec.Offset+1, rec.LeaderEpoch
		touched[rec.Partition] = true
		if rec.Attrs.IsControl() {
			continue
		}
		if err := r.dec.decode(b.Chunk, rec); err != nil {
			b.Bad = append(b.Bad, connector.BadRecord{Split: rec.Topic + "/" + strconv.Itoa(int(rec.Partition)),
				Offset: strconv.FormatInt(rec.Offset, 10), Key: rec.Key, Value: rec.Value, Reason: err})
		}
	}
	r.pending = r.pending[n:]
	if len(r.pending) == 0 {
		r.pending = nil
	}
	for p := range touched {
		b.Offsets[strconv.Itoa(int(p))] = r.at[p].String()
	}
	return b
}

// Close implements connector.Reader.
func (r *reader) Close() error {
	r.cl.Close()
	return nil
}
