package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

type sink struct {
	*options
	spec    connector.SinkSpec
	exact   bool
	timeout time.Duration
	txnID   string
	markers string
	enc     *json.Encoder
}

func newSink(spec connector.SinkSpec) (connector.Sink, error) {
	o, err := parseOptions(spec.Options)
	if err != nil {
		return nil, err
	}
	s := &sink{options: o, spec: spec, markers: o.get(optMarkers, "__streamdb_markers")}
	switch d := o.get(optDelivery, "exactly_once"); d {
	case "exactly_once":
		s.exact = true
	case "at_least_once":
	default:
		return nil, badValue(optDelivery, d, "exactly_once, at_least_once")
	}
	if spec.Encode != "JSON" {
		return nil, pgerr.Unsupported(fmt.Sprintf("ENCODE %s in a Kafka sink", spec.Encode), "Write FORMAT PLAIN ENCODE JSON or FORMAT UPSERT ENCODE JSON.")
	}
	switch spec.Format {
	case "PLAIN":
		if spec.Key != nil {
			s.spec.Key = append([]int(nil), spec.Key...)
		}
	case "UPSERT":
		if len(spec.Key) == 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "an upsert sink needs a key").
				WithHint("Name the key columns with the option primary_key.")
		}
	default:
		return nil, pgerr.Unsupported(fmt.Sprintf("FORMAT %s in a Kafka sink", spec.Format), "Write FORMAT PLAIN or FORMAT UPSERT.")
	}
	ms, err := o.millis(optTxTimeout, 60000)
	if err != nil {
		return nil, err
	}
	s.timeout = time.Duration(ms) * time.Millisecond
	s.txnID = fmt.Sprintf("%s-%s-%d", o.get(optTxPrefix, "streamdb"), spec.Name, spec.ID)
	s.enc = json.NewEncoder(spec.Columns)
	return s, nil
}

// Check implements connector.Sink.
func (s *sink) Check(ctx context.Context) error {
	_, err := s.check(ctx)
	return err
}

// Encoder implements connector.Sink.
func (s *sink) Encoder() connector.Encoder { return &encoder{s: s, upsert: s.spec.Format == "UPSERT"} }

type encoder struct {
	s          *sink
	upsert     bool
	key, value []byte
}

// Encode implements connector.Encoder.
func (e *encoder) Encode(dst []byte, c *vec.Chunk) ([]byte, int, error) {
	n := 0
	for i := range c.Rows {
		w := c.Weight(i)
		if w < 0 && !e.upsert {
			return dst, n, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "a row was taken away from the append-only sink \"%s\"", e.s.spec.Name).
				WithHint("Use FORMAT UPSERT with a primary_key.")
		}
		keyed := len(e.s.spec.Key) > 0
		if keyed {
			e.key = e.s.enc.AppendObject(e.key[:0], c, e.s.spec.Key, i)
		}
		if w > 0 {
			e.value = e.s.enc.AppendObject(e.value[:0], c, nil, i)
		}
		times := w
		if e.upsert {
			times = 1
		}
		for range times {
			dst = appendRecord(dst, e.key, e.value, keyed, w < 0)
			n++
		}
	}
	return dst, n, nil
}

// Open implements connector.Sink.
func (s *sink) Open(ctx context.Context) (connector.Deliverer, error) {
	opts := append([]kgo.Opt{}, s.client...)
	opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(s.timeout),
		kgo.MaxBufferedRecords(100000), kgo.ProducerLinger(0))
	if s.exact {
		opts = append(opts, kgo.TransactionalID(s.txnID), kgo.TransactionTimeout(s.timeout))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, s.explain(err)
	}
	d := &deliverer{s: s, cl: cl}
	if err := d.open(ctx); err != nil {
		cl.Close()
		return nil, s.explain(err)
	}
	return d, nil
}

// deliverer writes epochs; it is the only one of its sink once it has fenced the
// others.
type deliverer struct {
	s  *sink
	cl *kgo.Client
}

func (d *deliverer) open(ctx context.Context) error {
	if _, err := d.s.lookup(ctx, d.cl); err != nil {
		return err
	}
	if !d.s.exact {
		return nil
	}
	if err := d.ensureMarkers(ctx); err != nil {
		return err
	}
	// InitProducerID ends what an earlier deliverer left open and fences it; while
	// its commit is being completed the brokers ask to wait.
	for {
		_, _, err := d.cl.ProducerID(ctx)
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (d *deliverer) ensureMarkers(ctx context.Context) error {
	adm := kadm.NewClient(d.cl)
	compact := "compact"
	_, err := adm.CreateTopic(ctx, 1, -1, map[string]*string{"cleanup.policy": &compact}, d.s.markers)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	return nil
}

// Last implements connector.Deliverer: it reads the markers of this sink as a
// committed reader does. Since its predecessor is fenced, no marker can appear
// later.
func (d *deliverer) Last(ctx context.Context) (types.Epoch, error) {
	if !d.s.exact {
		return 0, nil
	}
	e, err := d.readMarker(ctx)
	return e, d.s.explainNil(err)
}

func (o *options) explainNil(err error) error {
	if err == nil {
		return nil
	}
	return o.explain(err)
}

func (d *deliverer) readMarker(ctx context.Context) (types.Epoch, error) {
	adm := kadm.NewClient(d.cl)
	ends, err := adm.ListCommittedOffsets(ctx, d.s.markers)
	if err != nil {
		return 0, err
	}
	end, ok := ends.Lookup(d.s.markers, 0)
	if !ok || end.Err != nil {
		return 0, errors.Join(errors.New("the marker topic has no partition 0"), end.Err)
	}
	starts, err := adm.ListStartOffsets(ctx, d.s.markers)
	if err != nil {
		return 0, err
	}
	start, _ := starts.Lookup(d.s.markers, 0)
	if start.Offset >= end.Offset {
		return 0, nil
	}
	opts := append([]kgo.Opt{}, d.s.client...)
	opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(200*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{d.s.markers: {0: kgo.NewOffset().At(start.Offset)}}))
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	var last types.Epoch
	for at := start.Offset; at < end.Offset; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return 0, err
		}
		fs.EachRecord(func(r *kgo.Record) {
			at = r.Offset + 1
			if !r.Attrs.IsControl() && string(r.Key) == d.s.txnID && len(r.Value) == 8 {
				last = types.Epoch(binary.BigEndian.Uint64(r.Value))
			}
		})
	}
	return last, nil
}

// Deliver implements connector.Deliverer.
func (d *deliverer) Deliver(ctx context.Context, e types.Epoch, records []byte) error {
	if d.s.exact {
		if err := d.cl.BeginTransaction(); err != nil {
			return d.s.explain(err)
		}
	}
	var failed firstError
	for len(records) > 0 {
		key, value, rest, err := nextRecord(records)
		if err != nil {
			return err
		}
		records = rest
		d.cl.Produce(ctx, &kgo.Record{Topic: d.s.topic, Key: key, Value: value}, failed.promise)
	}
	if d.s.exact {
		marker := &kgo.Record{Topic: d.s.markers, Partition: 0, Key: []byte(d.s.txnID), Value: binary.BigEndian.AppendUint64(nil, uint64(e))}
		d.cl.Produce(ctx, marker, failed.promise)
	}
	if err := d.cl.Flush(ctx); err != nil {
		return d.s.explain(err)
	}
	if err := failed.get(); err != nil {
		return d.s.explain(err)
	}
	if !d.s.exact {
		return nil
	}
	// Whatever goes wrong here leaves the outcome open: the caller opens a new
	// deliverer, whose marker read decides.
	if err := d.cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return d.s.explain(err)
	}
	return nil
}

// Close implements connector.Deliverer. It ends no transaction: the next Open
// does, after which the marker tells what happened.
func (d *deliverer) Close() error {
	d.cl.Close()
	return nil
}
