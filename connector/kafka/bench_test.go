package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
)

// BenchmarkRead reads and decodes records of about 200 bytes; ns/op is a record.
func BenchmarkRead(b *testing.B) {
	const records = 200_000
	c, err := kfake.NewCluster(kfake.SeedTopics(4, "t"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	for i := range records {
		v := fmt.Appendf(nil, `{"n":%d,"price":%d.50,"at":"2024-01-02T03:04:05Z","extra":"%0130d"}`, i, i, i)
		cl.Produce(b.Context(), &kgo.Record{Topic: "t", Value: v}, nil)
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	s, err := newSource(connector.SourceSpec{Name: "s", Options: optionsFor(c), Format: "PLAIN", Encode: "JSON",
		Columns: []connector.Column{numColumn, {Name: "price", Typ: types.TNumeric}, {Name: "at", Typ: types.TTimestamptz}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		r, err := s.Open(b.Context(), []int{0, 1, 2}, 0, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		for got := 0; got < records && n < b.N; {
			batch, err := r.Read(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			got += batch.Chunk.Rows
			n += batch.Chunk.Rows
		}
		r.Close()
	}
}

// BenchmarkDeliver writes epochs of 10,000 records of 200 bytes, each in a
// transaction; ns/op is a record.
func BenchmarkDeliver(b *testing.B) {
	c, err := kfake.NewCluster(kfake.SeedTopics(4, "t"), kfake.BlackholeProduce())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	s, err := newSink(connector.SinkSpec{ID: 1, Name: "k", Options: optionsFor(c), Format: "PLAIN", Encode: "JSON", Columns: []connector.Column{numColumn}})
	if err != nil {
		b.Fatal(err)
	}
	d, err := s.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	const perEpoch = 10_000
	var log []byte
	for i := range perEpoch {
		log = appendRecord(log, nil, fmt.Appendf(nil, `{"n":%0193d}`, i), false, false)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for e := 0; e*perEpoch < b.N; e++ {
		if err := d.Deliver(b.Context(), types.Epoch(e+1), log); err != nil {
			b.Fatal(err)
		}
	}
}
