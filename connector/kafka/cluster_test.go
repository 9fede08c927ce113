package kafka

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
)

// newCluster starts a cluster of three brokers and makes the topic "t".
func newCluster(t *testing.T, partitions int32, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3), kfake.SeedTopics(partitions, "t")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// brokers is a cluster, a fake or a real one.
type brokers interface{ ListenAddrs() []string }

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, c brokers, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce writes values to a partition of topic "t".
func produce(t *testing.T, cl *kgo.Client, partition int32, values ...string) {
	t.Helper()
	var rs []*kgo.Record
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: "t", Partition: partition, Value: []byte(v)})
	}
	if err := cl.ProduceSync(testContext(t), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func optionsFor(c brokers, more ...string) map[string]string {
	m := map[string]string{optTopic: "t", optBrokers: strings.Join(c.ListenAddrs(), ",")}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

var numColumn = connector.Column{Name: "n", Typ: types.TInt8}

func newTestSource(t *testing.T, opts map[string]string, cols ...connector.Column) connector.Source {
	t.Helper()
	s, err := Definition().Source(connector.SourceSpec{Name: "s", Options: opts, Format: "PLAIN", Encode: "JSON", Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// feed is a reader with everything it has returned.
type feed struct {
	t       *testing.T
	r       connector.Reader
	rows    []string
	bad     []connector.BadRecord
	offsets map[string]string
}

// openFeed opens instance 0 of 1 from the given offsets.
func openFeed(t *testing.T, s connector.Source, offsets map[string]string, cols ...int) *feed {
	t.Helper()
	if cols == nil {
		cols = []int{0}
	}
	r, err := s.Open(testContext(t), cols, 0, 1, offsets)
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{t: t, r: r, offsets: map[string]string{}}
	t.Cleanup(func() { r.Close() })
	return f
}

// step reads one batch within the time; false when there is none.
func (f *feed) step(wait time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	b, err := f.r.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, nil
		}
		return false, err
	}
	for i := range b.Chunk.Rows {
		f.rows = append(f.rows, strings.Trim(fmt.Sprint(b.Chunk.Row(i)...), "[]"))
	}
	f.bad = append(f.bad, b.Bad...)
	maps.Copy(f.offsets, b.Offsets)
	return true, nil
}

// until reads on until the condition holds.
func (f *feed) until(what string, cond func() bool) {
	f.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if _, err := f.step(200 * time.Millisecond); err != nil {
			f.t.Fatal(err)
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("no %s; rows %v, bad %d, offsets %v", what, f.rows, len(f.bad), f.offsets)
		}
	}
}

// fails reads on until there is an error and returns it.
func (f *feed) fails() error {
	f.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if _, err := f.step(200 * time.Millisecond); err != nil {
			return err
		}
	}
	f.t.Fatalf("no error; rows %v", f.rows)
	return nil
}

// next returns the next offset of a partition as last reported.
func (f *feed) next(p string) int64 {
	o, err := parseOffset(f.offsets[p])
	if err != nil {
		return -1
	}
	return o.next
}
