package kafka

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What a reader returns does not lie in the memory of batches, which is used for
// the next ones, whatever their compression.
func TestRecordsShareMemory(t *testing.T) {
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
