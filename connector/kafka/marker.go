package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Markers are records of a compacted topic, all in partition 0: the key is the
// sink's transactional id, the value its last delivered epoch, big-endian.

func (s *sink) marker(e types.Epoch) *kgo.Record {
	return &kgo.Record{Topic: s.markers, Partition: 0, Key: []byte(s.txnID), Value: binary.BigEndian.AppendUint64(nil, uint64(e))}
}

// ensureMarkers makes the marker topic if it is missing, and refuses one whose
// markers would vanish with time.
func (s *sink) ensureMarkers(ctx context.Context, cl *kgo.Client) error {
	adm := kadm.NewClient(cl)
	ts, err := adm.ListTopics(ctx, s.markers)
	if err != nil {
		return err
	}
	if t := ts[s.markers]; t.Topic != "" && t.Err == nil {
		return s.checkCompacted(ctx, adm)
	}
	// Small segments let compaction keep the topic short: an epoch leaves two
	// records, and markers are read on every start.
	conf := map[string]*string{}
	for k, v := range map[string]string{"cleanup.policy": "compact", "segment.bytes": "16777216", "min.cleanable.dirty.ratio": "0.1"} {
		conf[k] = &v
	}
	r, err := adm.CreateTopic(ctx, 1, -1, conf, s.markers)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("creating topic %s: %w %s", s.markers, err, r.ErrMessage)
	}
	return nil
}

func (s *sink) checkCompacted(ctx context.Context, adm *kadm.Client) error {
	rs, err := adm.DescribeTopicConfigs(ctx, s.markers)
	if err != nil {
		return nil // reading configurations may be forbidden
	}
	for _, r := range rs {
		for _, c := range r.Configs {
			if c.Key == "cleanup.policy" && c.Value != nil && strings.Contains(*c.Value, "delete") {
				return pgerr.New(pgerr.InvalidParameterValue, "the marker topic \"%s\" must be compacted only", s.markers).
					WithHint("Set its cleanup.policy to compact, or name another topic with the option \"%s\".", optMarkers)
			}
		}
	}
	return nil
}

// markerTimeout bounds the read of markers.
const markerTimeout = 30 * time.Second

// readMarker returns the last epoch whose transaction was committed. The caller
// has fenced the sink's transactional id, so that every transaction of it is
// decided and its end is in the log.
//
// Transactions of other sinks that are open on the same partition hide ours from
// a reader of committed records. So everything is read, and our transactions'
// own ends tell which markers count.
func (s *sink) readMarker(ctx context.Context, cl *kgo.Client) (types.Epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, markerTimeout)
	defer cancel()
	adm := kadm.NewClient(cl)
	stable, err := s.markerOffset(ctx, adm.ListCommittedOffsets)
	if err != nil {
		return 0, err
	}
	end, err := s.markerOffset(ctx, adm.ListEndOffsets)
	if err != nil {
		return 0, err
	}
	start, err := s.markerOffset(ctx, adm.ListStartOffsets)
	if err != nil {
		return 0, err
	}
	// The newest marker is mostly near the end.
	for back := int64(2048); ; back *= 32 {
		from := max(start, end-back)
		m := markerScan{key: s.txnID, open: map[int64]openMarker{}}
		if err := s.scan(ctx, from, end, &m); err != nil {
			return 0, err
		}
		if err := m.settle(stable); err != nil {
			return 0, err
		}
		if m.found || from == start {
			return m.last, nil
		}
	}
}

// markerOffset asks for an offset of the marker partition, which may have no
// leader yet when it was just made.
func (s *sink) markerOffset(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (int64, error) {
	for {
		los, err := list(ctx, s.markers)
		lo, ok := los.Lookup(s.markers, 0)
		if err == nil && ok {
			err = lo.Err
		} else if err == nil {
			err = kerr.UnknownTopicOrPartition
		}
		if err == nil {
			return lo.Offset, nil
		}
		if !kerr.IsRetriable(err) {
			return 0, fmt.Errorf("topic %s: %w", s.markers, err)
		}
		if pause(ctx) != nil {
			return 0, fmt.Errorf("topic %s: %w", s.markers, err)
		}
	}
}

// scan reads [from, end) of the marker partition, uncommitted records too.
func (s *sink) scan(ctx context.Context, from, end int64, m *markerScan) error {
	if from >= end {
		return nil
	}
	opts := append(s.client, kgo.KeepControlRecords(), kgo.FetchMaxWait(200*time.Millisecond), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.markers: {0: kgo.NewOffset().At(from)}}))
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for at := from; at < end; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		fs.EachRecord(func(r *kgo.Record) {
			if r.Offset < end {
				m.add(r)
			}
			at = r.Offset + 1
		})
	}
	return nil
}

// markerScan finds the last committed marker of a key.
type markerScan struct {
	key   string
	open  map[int64]openMarker // by producer id
	last  types.Epoch
	found bool
}

type openMarker struct {
	epoch  types.Epoch
	offset int64
}

func (m *markerScan) add(r *kgo.Record) {
	if !r.Attrs.IsControl() {
		if string(r.Key) == m.key && len(r.Value) == 8 {
			m.open[r.ProducerID] = openMarker{types.Epoch(binary.BigEndian.Uint64(r.Value)), r.Offset}
		}
		return
	}
	// A control record's key is its version and its type: 0 abort, 1 commit.
	o, ok := m.open[r.ProducerID]
	if !ok || len(r.Key) < 4 {
		return
	}
	delete(m.open, r.ProducerID)
	if binary.BigEndian.Uint16(r.Key[2:]) == 1 {
		m.commit(o)
	}
}

func (m *markerScan) commit(o openMarker) { m.last, m.found = max(m.last, o.epoch), true }

// settle decides markers whose transaction's end is not in the log: compaction
// drops aborted records before their end, so below the last stable offset they
// were committed. Above, a transaction is open, which fencing excludes.
func (m *markerScan) settle(stable int64) error {
	for _, o := range m.open {
		if o.offset >= stable {
			return pgerr.New(pgerr.ObjectInUse, "the transaction of epoch %d is still open after it was fenced", o.epoch)
		}
		m.commit(o)
	}
	return nil
}
