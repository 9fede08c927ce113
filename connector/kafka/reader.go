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
	fetching
	records
	s                   *source
	cl                  *kgo.Client
	instance, instances int
	topicID             [16]byte
	parts               map[int32]*partition
	first               bool // nothing was returned yet
	dec                 *decoder
	pool                vec.Pool  // of chunks, which keep the memory that text needs
	ended               time.Time // when the partitions' ends were last asked for
	discovered          time.Time // when partitions and their leaders were last found
	sought              time.Time // when leaders were last looked for beside that
}

// Read implements connector.Reader. The first batch comes at once and tells the
// offsets the reader starts from, even when there is no record.
func (r *reader) Read(ctx context.Context) (*connector.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.first || r.waiting() || len(r.moved) > 0 {
			r.first = false
			return r.batch(), nil
		}
		if r.failed != nil {
			return nil, r.failed
		}
		if err := r.look(ctx); err != nil {
			return nil, orContext(ctx, err)
		}
	}
}

// look waits for records, or for something else to become due.
func (r *reader) look(ctx context.Context) error {
	defer connector.Wait(ctx)()
	if time.Since(r.ended) >= endsEvery {
		r.lookAtEnds(ctx)
	}
	wait := r.s.discovery - time.Since(r.discovered)
	if wait <= 0 {
		return r.discover(ctx)
	}
	if r.leaderless() {
		if err := r.seekLeaders(ctx); err != nil {
			return err
		}
		wait = min(wait, leadersEvery)
	}
	r.ask()
	return r.await(ctx, min(wait, endsEvery))
}

// await takes the next answer, if one comes in time.
func (r *reader) await(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case a := <-r.answers:
		err := r.take(a)
		r.ask() // so that the next answer comes while this one is decoded
		return err
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

// orContext prefers the error of a context that has ended.
func orContext(ctx context.Context, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	return err
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

// batch decodes up to a chunk's worth of records that were fetched.
func (r *reader) batch() *connector.Batch {
	b := &connector.Batch{Chunk: r.pool.Get(), Pool: &r.pool, Offsets: map[string]string{}}
	for room := vec.MaxRows / r.dec.rows; room > 0; room-- {
		rec := r.record(r.dec.headers)
		if rec == nil {
			break
		}
		if err := r.dec.decode(b.Chunk, rec); err != nil {
			b.Bad = append(b.Bad, connector.BadRecord{Split: r.s.topic + "/" + r.part.name, Offset: strconv.FormatInt(rec.Offset, 10),
				Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value), Reason: err})
		}
	}
	for _, p := range r.moved {
		p.moved = false
		r.next(p, p.at.next)
		b.Offsets[p.name] = p.at.String()
	}
	r.moved = r.moved[:0]
	return b
}

// Close implements connector.Reader.
func (r *reader) Close() error {
	r.stop()
	r.cl.Close()
	return nil
}
