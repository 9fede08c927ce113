package kafka

import (
	"fmt"
	"syscall"
	"testing"
	"time"

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

// bidColumns are the columns of a Nexmark bid.
func bidColumns() []connector.Column {
	return []connector.Column{
		{Name: "auction", Typ: types.TInt8}, {Name: "bidder", Typ: types.TInt8}, {Name: "price", Typ: types.TInt8},
		{Name: "channel", Typ: types.TText}, {Name: "url", Typ: types.TText},
		{Name: "date_time", Typ: types.TTimestamp}, {Name: "extra", Typ: types.TText},
	}
}

// bidJSON is a bid of 272 bytes.
func bidJSON(i int) []byte {
	v := fmt.Appendf(nil, `{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d","url":"https://www.nexmark.com/item.htm?query=1&channel_id=%d","date_time":"2024-01-02 03:04:%02d.%03d","extra":"`,
		1000+i%5000, 1000+i%7777, 100+i*37%1000000, i%10000, i%10000, i/1000%60, i%1000)
	for len(v) < 270 {
		v = append(v, byte('a'+(i+len(v))%26))
	}
	return append(v, `"}`...)
}

// BenchmarkReadBids reports the CPU time of reading a million bids of 272 bytes;
// "consume" is the share of the broker and of the plain client.
func BenchmarkReadBids(b *testing.B) {
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
		cl.Produce(b.Context(), &kgo.Record{Topic: "t", Value: bidJSON(i)}, nil)
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("consume", func(b *testing.B) {
		begin, n := processCPU(b), 0
		for n < b.N {
			cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("t"))
			if err != nil {
				b.Fatal(err)
			}
			for got := 0; got < records && n < b.N; {
				k := cl.PollFetches(b.Context()).NumRecords()
				got, n = got+k, n+k
			}
			cl.Close()
		}
		b.ReportMetric((processCPU(b)-begin).Seconds()*1e6/float64(n), "cpu-s/M")
	})
	for _, asked := range [][]int{{0, 1, 2, 5, 6}, {0, 2}} {
		s, err := newSource(connector.SourceSpec{Name: "s", Options: optionsFor(c), Format: "PLAIN", Encode: "JSON", Columns: bidColumns()})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("read", len(asked)), func(b *testing.B) {
			b.ReportAllocs()
			begin, n := processCPU(b), 0
			for n < b.N {
				r, err := s.Open(b.Context(), asked, 0, 1, nil)
				if err != nil {
					b.Fatal(err)
				}
				for got := 0; got < records && n < b.N; {
					batch, err := r.Read(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					if len(batch.Bad) > 0 {
						b.Fatal(batch.Bad[0].Reason)
					}
					got, n = got+batch.Chunk.Rows, n+batch.Chunk.Rows
				}
				r.Close()
			}
			b.ReportMetric((processCPU(b)-begin).Seconds()*1e6/float64(n), "cpu-s/M")
		})
	}
}

// processCPU returns the CPU time that the process has used.
func processCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
