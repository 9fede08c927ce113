package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/connector/format/json"
	"github.com/streamdb/streamdb/pgerr"
)

type sink struct {
	*options
	spec    connector.SinkSpec
	upsert  bool
	exact   bool
	timeout time.Duration
	longer  atomic.Int64 // the transaction timeout in ns, grown when a delivery took too long; 0: timeout
	txnID   string       // also the key of the sink's markers
	markers string
	produce []kgo.Opt
}

func newSink(spec connector.SinkSpec) (connector.Sink, error) {
	o, err := parseOptions(spec.Options)
	if err != nil {
		return nil, err
	}
	s := &sink{options: o, spec: spec, markers: o.get(optMarkers, defaultMarkers)}
	switch d := o.get(optDelivery, "exactly_once"); d {
	case "exactly_once":
		s.exact = true
	case "at_least_once":
	default:
		return nil, badValue(optDelivery, d, "exactly_once, at_least_once")
	}
	if s.exact && s.markers == s.topic {
		return nil, errValue(optMarkers, s.markers).WithHint("The markers need a topic of their own.")
	}
	ms, err := o.number(optTxTimeout, 300000, 1000)
	if err != nil {
		return nil, err
	}
	s.timeout = time.Duration(ms) * time.Millisecond
	s.txnID = s.identity()
	if err := s.producing(); err != nil {
		return nil, err
	}
	return s, s.checkSpec()
}

// identity names the sink at the brokers. It must stay the same as long as the
// sink lives, and no other sink may have it. A data directory without identity
// leaves the sink's name to tell sinks of one number apart.
func (s *sink) identity() string {
	whose := s.spec.Instance
	if whose == "" {
		whose = s.spec.Name
	}
	return fmt.Sprintf("%s-%s-%d", s.get(optTxPrefix, "streamdb"), whose, s.spec.ID)
}

func (s *sink) checkSpec() error {
	if s.spec.Encode != "JSON" {
		return pgerr.Unsupported(fmt.Sprintf("ENCODE %s in a Kafka sink", s.spec.Encode), "Write FORMAT PLAIN ENCODE JSON or FORMAT UPSERT ENCODE JSON.")
	}
	switch s.spec.Format {
	case "PLAIN":
	case "UPSERT":
		if len(s.spec.Key) == 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "an upsert sink needs a key").
				WithHint("Name the key columns with the option primary_key.")
		}
		s.upsert = true
	default:
		return pgerr.Unsupported(fmt.Sprintf("FORMAT %s in a Kafka sink", s.spec.Format), "Write FORMAT PLAIN or FORMAT UPSERT.")
	}
	for _, c := range s.spec.Columns {
		if err := checkColumn(c); err != nil {
			return err
		}
	}
	return noFormatOptions(s.spec.FormatOptions)
}

// bufferedBytes bounds the records on their way to the brokers; a delivery of
// more waits for room.
const bufferedBytes = 32 << 20

// producing makes the options of the producing client.
func (s *sink) producing() error {
	size, err := s.number(optMaxSize, 1000012, 1024)
	if err != nil {
		return err
	}
	var codec kgo.CompressionCodec
	switch v := s.get(optCompress, "snappy"); v {
	case "none":
		codec = kgo.NoCompression()
	case "gzip":
		codec = kgo.GzipCompression()
	case "snappy":
		codec = kgo.SnappyCompression()
	case "lz4":
		codec = kgo.Lz4Compression()
	case "zstd":
		codec = kgo.ZstdCompression()
	default:
		return badValue(optCompress, v, "none, gzip, snappy, lz4, zstd")
	}
	s.produce = []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(partitioner{s.markers}),
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(100_000), kgo.MaxBufferedBytes(bufferedBytes),
		kgo.ProducerBatchMaxBytes(int32(size)), kgo.ProducerBatchCompression(codec, kgo.NoCompression()),
		kgo.BrokerMaxWriteBytes(int32(max(size, 100<<20))),
	}
	return nil
}

// Check implements connector.Sink. For an exactly-once sink it also asks for a
// transaction, under an id of its own, and makes the marker topic.
func (s *sink) Check(ctx context.Context) error {
	if !s.exact {
		return s.check(ctx, nil)
	}
	return s.check(ctx, func(ctx context.Context, cl *kgo.Client) error {
		if err := s.ensureMarkers(ctx, cl); err != nil {
			return err
		}
		return fence(ctx, cl)
	}, kgo.TransactionalID(s.txnID+"-check"), kgo.TransactionTimeout(s.timeout))
}

// Encoder implements connector.Sink.
func (s *sink) Encoder() connector.Encoder {
	return &encoder{s: s, json: json.NewEncoder(s.spec.Columns)}
}

// Open implements connector.Sink.
func (s *sink) Open(ctx context.Context) (connector.Deliverer, error) {
	d, err := s.deliverer()
	if err != nil {
		return nil, s.explain(err)
	}
	if err := d.open(ctx); err != nil {
		d.cl.Close()
		if errors.Is(err, kerr.InvalidTransactionTimeout) {
			s.longer.Store(0) // it has grown above the brokers' maximum
		}
		return nil, s.explain(err)
	}
	return d, nil
}

// deliverer makes a deliverer with a client of its own, which has yet to open.
func (s *sink) deliverer() (*deliverer, error) {
	h := &health{o: s.options}
	// A record may wait for the brokers as long as its transaction lives.
	opts := append(append(s.client, s.produce...), kgo.WithHooks(h), kgo.RecordDeliveryTimeout(s.txnTimeout()))
	if s.exact {
		opts = append(opts, kgo.TransactionalID(s.txnID), kgo.TransactionTimeout(s.txnTimeout()))
	}
	cl, err := kgo.NewClient(opts...)
	return &deliverer{health: h, s: s, cl: cl}, err
}

func (s *sink) txnTimeout() time.Duration {
	return max(s.timeout, time.Duration(s.longer.Load()))
}

// maxGrown is the brokers' usual maximum of the transaction timeout.
const maxGrown = 15 * time.Minute

// grow doubles the timeout after a delivery that did not fit into it: an epoch
// is one transaction, and would fail for ever.
func (s *sink) grow() {
	if t := s.txnTimeout(); t < maxGrown {
		s.longer.Store(int64(min(2*t, maxGrown)))
	}
}

// partitioner places records by the hash of their key, as Kafka's own client
// does, and markers as they say.
type partitioner struct{ markers string }

// ForTopic implements kgo.Partitioner.
func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	if topic == p.markers {
		return kgo.ManualPartitioner().ForTopic(topic)
	}
	return kgo.StickyKeyPartitioner(nil).ForTopic(topic)
}
