package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/engine"
	broker "github.com/streamdb/streamdb/tests/kafka"
)

// kafkaResult is one query over bids that were read from Kafka; "fetch" is none but
// the client library's own consumer, which makes an object of every record.
type kafkaResult struct {
	Query         string  `json:"query"`
	Events        int64   `json:"events"`
	Seconds       float64 `json:"seconds"`
	EventsPerSec  float64 `json:"events_per_second"`
	CPUPerMillion float64 `json:"cpu_seconds_per_million_events"`
	BrokerCPU     float64 `json:"broker_cpu_seconds_per_million_events,omitempty"` // 0: not known
	PeakBytes     int64   `json:"peak_memory_bytes"`
}

// kafkaBench is a topic of bids.
type kafkaBench struct {
	addr, topic string
	events      int64
	broker      int // process id; 0: not known
}

// benchKafka measures queries over Nexmark bids as JSON of 272 bytes, from a real
// Kafka to a blackhole sink, with exactly-once epochs on disk. The brokers are
// processes of their own and the bids are written beforehand, so the CPU time is
// that of the server alone: client, decoding, query and epochs. That of a broker
// which the benchmark has started is reported apart.
func benchKafka(args []string) error {
	f := flag.NewFlagSet("streamdb bench kafka", flag.ContinueOnError)
	query := f.String("query", "q0,q1,q2", "queries over bids, comma separated")
	events := f.Int64("events", 2000000, "bids")
	partitions := f.Int("partitions", 4, "partitions of the topic")
	brokers := f.String("brokers", "", "bootstrap `address`; empty: a broker of its own, in a clone of the repository")
	compression := f.String("compression", "snappy", "of the bids: none, snappy, lz4, zstd")
	par := f.Int("parallelism", 0, "instances of each fragment; 0: the number of cores")
	interval := f.Duration("barrier-interval", time.Second, "time between epochs")
	format := f.String("format", "text", "text or json")
	profile := f.String("cpuprofile", "", "`file` for a CPU profile of the queries")
	if err := f.Parse(args); err != nil {
		return err
	}
	tuneRuntime()
	bench := &kafkaBench{addr: *brokers, topic: fmt.Sprintf("streamdb-bench-%d", time.Now().UnixNano()), events: *events}
	if bench.addr == "" {
		b, err := broker.StartBroker()
		if err != nil {
			return err
		}
		defer b.Stop()
		bench.addr, bench.broker = b.Addr(), b.PID()
	}
	drop, err := writeBids(bench.addr, bench.topic, *compression, *partitions, *events)
	if err != nil {
		return err
	}
	defer drop()
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	defer stopProfile()
	var out []kafkaResult
	report := func(r kafkaResult) {
		out = append(out, r)
		if *format == "text" {
			fmt.Printf("%-5s %9.0f events/s  %6.3f CPU s/M (broker %.3f apart)  peak %d MB\n", r.Query, r.EventsPerSec, r.CPUPerMillion, r.BrokerCPU, r.PeakBytes>>20)
		}
	}
	r, err := bench.measure("fetch", func() (time.Duration, error) { return kafkaFetch(bench.addr, bench.topic, *events) })
	if err != nil {
		return err
	}
	report(r)
	for _, q := range strings.Split(*query, ",") {
		text, ok := nexmarkQueries[q]
		if !ok || strings.Contains(text, "auction a") || strings.Contains(text, "person p") {
			return fmt.Errorf("%q is no query over bids alone", q)
		}
		r, err := bench.query(q, text, *par, *interval)
		if err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
		report(r)
	}
	if *format == "json" {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	return nil
}

// appendBid appends bid i as JSON of 272 bytes.
func appendBid(b []byte, i int64) []byte {
	start := len(b)
	b = fmt.Appendf(b, `{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d","url":"https://www.nexmark.com/item.htm?query=1&channel_id=%d","date_time":"2024-01-02 03:04:%02d.%03d","extra":"`,
		1000+i%5000, 1000+i%7777, 100+i*37%1000000, i%10000, i%10000, i/1000%60, i%1000)
	for x := uint32(i)*2654435761 + 1; len(b)-start < 270; x = x*1664525 + 1013904223 {
		b = append(b, 'a'+byte(x>>24)%26)
	}
	return append(b, `"}`...)
}

// writeBids makes the topic and writes the bids; drop deletes it.
func writeBids(addr, topic, compression string, partitions int, events int64) (drop func(), err error) {
	codec, ok := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[compression]
	if !ok {
		return nil, fmt.Errorf("unknown compression %q", compression)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addr, ",")...), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(20*time.Millisecond))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, int32(partitions), -1, nil, topic); err != nil {
		cl.Close()
		return nil, err
	}
	var failed error
	for i := range events {
		cl.Produce(ctx, &kgo.Record{Value: appendBid(make([]byte, 0, 272), i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err // promises are called one after the other
			}
		})
	}
	if err = cl.Flush(ctx); err == nil {
		err = failed
	}
	cl.Close()
	return func() {
		if cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addr, ",")...)); err == nil {
			_, _ = kadm.NewClient(cl).DeleteTopic(ctx, topic)
			cl.Close()
		}
	}, err
}

// measure runs something that reads all bids and tells what it took. The time is
// what run says.
func (b *kafkaBench) measure(name string, run func() (time.Duration, error)) (kafkaResult, error) {
	runtime.GC()
	debug.FreeOSMemory() // what the one before took is not this one's
	resetPeak()
	cpu, broker := cpuSeconds(), procTimes(b.broker, 13, 14)
	took, err := run()
	if err != nil {
		return kafkaResult{}, err
	}
	cpu, broker = cpuSeconds()-cpu, procTimes(b.broker, 13, 14)-broker
	m := float64(b.events) / 1e6
	return kafkaResult{Query: name, Events: b.events, Seconds: took.Seconds(), EventsPerSec: float64(b.events) / took.Seconds(),
		CPUPerMillion: cpu / m, BrokerCPU: broker / m, PeakBytes: peakBytes()}, nil
}

// kafkaFetch lets the client library alone fetch the bids, which are thrown away.
func kafkaFetch(addr, topic string, events int64) (time.Duration, error) {
	begin := time.Now()
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addr, ",")...), kgo.ConsumeTopics(topic), kgo.FetchMaxBytes(16<<20))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	for n := int64(0); n < events; {
		fs := cl.PollFetches(context.Background())
		if err := fs.Err(); err != nil {
			return 0, err
		}
		n += int64(fs.NumRecords())
	}
	return time.Since(begin), nil
}

func (b *kafkaBench) query(q, text string, par int, interval time.Duration) (kafkaResult, error) {
	eng, err := openBench(par, interval)
	if err != nil {
		return kafkaResult{}, err
	}
	defer eng.close()
	if err := eng.exec(fmt.Sprintf(`CREATE SOURCE bid (auction bigint, bidder bigint, price bigint, channel text, url text, date_time timestamp, extra text)
		WITH (connector = 'kafka', topic = '%s', properties.bootstrap.server = '%s') FORMAT PLAIN ENCODE JSON`, b.topic, b.addr)); err != nil {
		return kafkaResult{}, err
	}
	return b.measure(q, func() (time.Duration, error) {
		begin := time.Now()
		err := eng.drain(q, text, func(p engine.JobProgress) bool { return p.Rows >= b.events })
		return time.Since(begin), err
	})
}
