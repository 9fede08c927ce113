package kafka

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What a reader returns does not lie in the memory of records, which is used for
// the next ones, whatever their compression.
func TestRecycledRecords(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "snappy": kgo.SnappyCompression(), "zstd": kgo.ZstdCompression()} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			cl := newClient(t, c, kgo.ProducerBatchCompression(codec))
			const batches, each = 30, 50
			for b := range batches {
				var values []string
				for i := range each {
					n := b*each + i
					if i%10 == 9 {
						values = append(values, fmt.Sprintf(`{"n":"bad %d %s"}`, n, strings.Repeat("x", n%300)))
					} else {
						values = append(values, fmt.Sprintf(`{"n":%d,"%s":1}`, n, strings.Repeat("y", n%200)))
					}
				}
				produce(t, cl, 0, values...)
			}
			f := openFeed(t, newTestSource(t, optionsFor(c), numColumn), nil)
			f.until("all records", func() bool { return len(f.rows)+len(f.bad) >= batches*each })
			seen := map[string]bool{}
			for _, r := range f.rows {
				seen[r] = true
			}
			if len(seen) != batches*each*9/10 {
				t.Errorf("%d rows", len(seen))
			}
			if len(f.bad) != batches*each/10 {
				t.Fatalf("%d bad records", len(f.bad))
			}
			for k, b := range f.bad {
				n := k*10 + 9
				if want := fmt.Sprintf(`{"n":"bad %d %s"}`, n, strings.Repeat("x", n%300)); string(b.Value) != want || b.Key != nil {
					t.Errorf("bad record %d is %q, with the key %q", n, b.Value, b.Key)
				}
			}
		})
	}
}

func TestRecycledMemoryIsBounded(t *testing.T) {
	p := &recycled{}
	for range 100 {
		p.PutDecompressBytes(make([]byte, 1<<20))
		p.PutRecords(make([]kgo.Record, 1000))
	}
	if p.held > recycleBytes || p.held < recycleBytes/2 {
		t.Errorf("%d bytes are held", p.held)
	}
	p.PutDecompressBytes(make([]byte, 10))
	big := append([]byte{0x80, 0x80, 0x20}, make([]byte, 5)...) // snappy of 512 KiB
	if b := p.GetDecompressBytes(big, kgo.CodecSnappy); cap(b) < 1<<19 || len(b) != 0 {
		t.Errorf("got %d of %d bytes", len(b), cap(b))
	}
	for len(p.bytes)+len(p.recs) > 0 {
		p.GetDecompressBytes(nil, kgo.CodecZstd)
		p.GetRecords(2000)
	}
	if p.held != 0 || p.GetRecords(1) != nil {
		t.Errorf("%d bytes are held in nothing", p.held)
	}
}
