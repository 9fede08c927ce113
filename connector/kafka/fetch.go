package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/streamdb/streamdb/pgerr"
)

// The client's own consumer makes an object of every record, and hands them over
// from one goroutine to another. A reader only needs their bytes for a moment, so
// it asks the brokers itself and decodes the batches of the answers one by one,
// in memory that is still in the cache. Connections, versions and retries of all
// other requests are the client's.

// fetchBytes bounds what one broker's fetch brings, compressed: the memory of a
// reader that nobody reads from. partitionBytes is the same of a partition.
const (
	fetchBytes     = 16 << 20
	partitionBytes = 1 << 20
)

// fetchWait is how long a broker may wait for records before it answers.
const fetchWait = 200 * time.Millisecond

// leadersEvery is how often the leader of a partition is looked up that has none,
// or whose broker does not answer; leadersTimeout is how long that may take. While
// no broker answers it fails each time, which is no error: looking for partitions
// fails too.
const (
	leadersEvery   = 250 * time.Millisecond
	leadersTimeout = 2 * time.Second
)

// nobody is the leader of a partition for whom there is none.
const nobody = -1

// cursor is where a partition is fetched from, ahead of what is decoded. It belongs
// to the goroutine that reads.
type cursor struct {
	from        int64
	read        int32 // the leader epoch under which the records before from were written; -1: unknown
	leader      int32
	leaderEpoch int32
	checked     bool // the leader has all that was read
}

// fetching are the requests of a reader that are on their way: one a broker.
type fetching struct {
	ctx     context.Context // ends with the reader
	stop    context.CancelFunc
	asked   map[int32]bool // brokers that have not answered yet
	answers chan answer
	turn    int // so that every partition is the first one once: brokers fill answers in order
}

type answer struct {
	broker int32
	parts  []*partition
	resp   *kmsg.FetchResponse
	err    error
}

func newFetching() fetching {
	ctx, stop := context.WithCancel(context.Background())
	return fetching{ctx: ctx, stop: stop, asked: map[int32]bool{}, answers: make(chan answer)}
}

// ask sends a request to every broker that leads partitions and has answered the
// one before.
func (r *reader) ask() {
	by := map[int32][]*partition{}
	for _, p := range r.parts {
		if p.leader != nobody && p.checked && !r.asked[p.leader] {
			by[p.leader] = append(by[p.leader], p)
		}
	}
	for broker, ps := range by {
		r.asked[broker] = true
		req := r.request(ps)
		go func() {
			a := answer{broker: broker, parts: ps}
			resp, err := r.cl.Broker(int(broker)).Request(r.ctx, req)
			if a.err = err; err == nil {
				a.resp = resp.(*kmsg.FetchResponse)
			}
			select {
			case r.answers <- a:
			case <-r.ctx.Done():
			}
		}()
	}
}

func (r *reader) request(ps []*partition) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(fetchWait/time.Millisecond), 1, fetchBytes
	if r.s.committed {
		req.IsolationLevel = 1
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = r.s.topic, r.topicID
	r.turn++
	for i := range ps {
		p := ps[(i+r.turn)%len(ps)]
		x := kmsg.NewFetchRequestTopicPartition()
		x.Partition, x.FetchOffset, x.CurrentLeaderEpoch, x.PartitionMaxBytes = p.num, p.from, p.leaderEpoch, partitionBytes
		t.Partitions = append(t.Partitions, x)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// take takes an answer: batches to be decoded, or why there are none. Lasting
// errors are returned; after others the leader is looked up.
func (r *reader) take(a answer) error {
	delete(r.asked, a.broker)
	if a.err == nil {
		a.err = kerr.ErrorForCode(a.resp.ErrorCode)
	}
	if a.err != nil {
		for _, p := range a.parts {
			p.leader = nobody
		}
		return nil // the client's health tells
	}
	for i := range a.resp.Topics {
		for k := range a.resp.Topics[i].Partitions {
			x := &a.resp.Topics[i].Partitions[k]
			if p := r.parts[x.Partition]; p != nil {
				if err := r.takePartition(p, x); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *reader) takePartition(p *partition, x *kmsg.FetchResponseTopicPartition) error {
	if err := kerr.ErrorForCode(x.ErrorCode); err != nil {
		p.leader = nobody
		return r.s.fetchError(p.num, p.from, err)
	}
	r.end(p.num, x.HighWatermark)
	one, rest, whole := cutBatch(x.RecordBatches)
	if !whole {
		return nil
	}
	for ; whole; one, rest, whole = cutBatch(rest) {
		p.from = max(p.from, nextOffset(one))
		if one[atMagic] == magic {
			p.read = int32(binary.BigEndian.Uint32(one[atEpoch:]))
		}
	}
	r.pending = append(r.pending, &run{p: p, batches: x.RecordBatches, aborted: newAborted(x.AbortedTransactions)})
	return nil
}

// leaderless reports whether some partition cannot be fetched before its leader was
// looked up.
func (r *reader) leaderless() bool {
	for _, p := range r.parts {
		if p.leader == nobody || !p.checked {
			return true
		}
	}
	return false
}

// seekLeaders looks for the leaders of partitions that have none.
func (r *reader) seekLeaders(ctx context.Context) error {
	if time.Since(r.sought) < leadersEvery {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, leadersTimeout)
	defer cancel()
	err := r.discover(within)
	r.sought = time.Now()
	if err != nil && pgerr.CodeOf(err) == pgerr.ConnectionException {
		err = nil
	}
	return err
}

// lead takes the partitions' leaders from a description of the topic. A new leader
// must have what was read from the old one.
func (r *reader) lead(ctx context.Context, t kadm.TopicDetail) error {
	lost := kadm.OffsetForLeaderEpochRequest{}
	for num, d := range t.Partitions {
		p := r.parts[num]
		if p == nil || d.Err != nil && !kerr.IsRetriable(d.Err) {
			continue
		}
		if d.Leader < 0 || d.LeaderEpoch < p.leaderEpoch { // told by a broker that does not know better
			p.leader = nobody
			continue
		}
		if d.LeaderEpoch != p.leaderEpoch {
			p.checked = false
		}
		p.leader, p.leaderEpoch = d.Leader, d.LeaderEpoch
		if p.checked = p.checked || p.read < 0 || p.leaderEpoch < 0; !p.checked {
			lost.Add(r.s.topic, num, p.read)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return r.checkLog(ctx, lost)
}

// checkLog asks the leaders where the epochs ended under which records were read
// last. If that is before what was read, the brokers have lost it.
func (r *reader) checkLog(ctx context.Context, epochs kadm.OffsetForLeaderEpochRequest) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	ends, err := kadm.NewClient(r.cl).OffsetForLeaderEpoch(ctx, epochs)
	var ke *kerr.Error
	if errors.As(err, &ke) && !ke.Retriable {
		return r.s.explain(err)
	}
	for num, e := range ends[r.s.topic] {
		p := r.parts[num]
		switch {
		case p == nil:
		case e.Err != nil:
			p.leader = nobody
			if err := r.s.fetchError(num, p.from, e.Err); err != nil {
				return err
			}
		case e.EndOffset >= 0 && e.EndOffset < p.from:
			return r.s.fetchError(num, p.from, &kgo.ErrDataLoss{Topic: r.s.topic, Partition: num, ConsumedTo: p.from, ConsumedToEpoch: p.read, ResetTo: e.EndOffset, ResetToEpoch: e.LeaderEpoch})
		default:
			p.checked = true
		}
	}
	return nil
}
