package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// A row written by the sink comes back by the source.
func TestRoundTrip(t *testing.T) {
	c := newCluster(t, 2)
	ctx := testContext(t)
	cols := []connector.Column{numColumn, {Name: "s", Typ: types.TText}}
	snk, err := Definition().Sink(connector.SinkSpec{ID: 7, Name: "k", Options: optionsFor(c), Format: "PLAIN", Encode: "JSON", Columns: cols})
	if err != nil {
		t.Fatal(err)
	}
	if err := snk.Check(ctx); err != nil {
		t.Fatal(err)
	}
	d, err := snk.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if last, _, err := d.Last(ctx); err != nil || last != 0 {
		t.Fatal(last, err)
	}
	chunk := vec.NewChunk([]types.T{types.TInt8, types.TText}, 2)
	chunk.AppendRow(1, int64(1), "one")
	chunk.AppendRow(2, int64(2), nil)
	log, n, err := snk.Encoder().Encode(nil, chunk)
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
	if err := d.Deliver(ctx, 5, log); err != nil {
		t.Fatal(err)
	}
	if last, _, err := d.Last(ctx); err != nil || last != 5 {
		t.Fatal(last, err)
	}
	f := openFeed(t, newTestSource(t, optionsFor(c), cols...), nil, 0, 1)
	f.until("rows", func() bool { return len(f.rows) == 3 })
	slices.Sort(f.rows)
	if !slices.Equal(f.rows, []string{"1one", "2 <nil>", "2 <nil>"}) {
		t.Fatal(f.rows)
	}
	produce(t, newClient(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner())), 1, `{"n":3}`)
	f.until("row", func() bool { return len(f.rows) == 4 })
}
