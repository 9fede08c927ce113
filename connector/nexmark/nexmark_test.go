package nexmark

import (
	"context"
	"testing"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/vec"
)

func open(t *testing.T, typ string, cols []int, inst, n int, offs map[string]string) connector.Reader {
	t.Helper()
	src, err := newSource(connector.SourceSpec{Options: map[string]string{"type": typ, "events": "20000", "seed": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Open(context.Background(), cols, inst, n, offs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readAll(t *testing.T, r connector.Reader, batches int) (*vec.Chunk, map[string]string) {
	t.Helper()
	var all *vec.Chunk
	offs := map[string]string{}
	for i := 0; batches == 0 || i < batches; i++ {
		b, err := r.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if all == nil {
			all = vec.NewChunk(b.Chunk.Types(), 0)
		}
		all.AppendRange(b.Chunk, 0, b.Chunk.Rows)
		for k, v := range b.Offsets {
			offs[k] = v
		}
		if b.End {
			break
		}
	}
	return all, offs
}

func TestCounts(t *testing.T) {
	for typ, want := range map[string]int{"person": 400, "auction": 1200, "bid": 18400} {
		c, _ := readAll(t, open(t, typ, []int{0}, 0, 1, nil), 0)
		if c.Rows != want {
			t.Errorf("%s: %d rows, want %d", typ, c.Rows, want)
		}
	}
}

func TestResumeAndPruningChangeNothing(t *testing.T) {
	whole, _ := readAll(t, open(t, "bid", []int{0, 1, 2, 3, 4, 5, 6}, 0, 1, nil), 0)
	part, offs := readAll(t, open(t, "bid", []int{2, 3}, 0, 1, nil), 5)
	rest, _ := readAll(t, open(t, "bid", []int{2, 3}, 0, 1, offs), 0)
	part.AppendRange(rest, 0, rest.Rows)
	if part.Rows != whole.Rows {
		t.Fatalf("%d rows after a restart, want %d", part.Rows, whole.Rows)
	}
	for i := range part.Rows {
		if part.Cols[0].Datum(i) != whole.Cols[2].Datum(i) || part.Cols[1].Datum(i) != whole.Cols[3].Datum(i) {
			t.Fatalf("row %d differs: %v %v", i, part.Row(i), whole.Row(i))
		}
	}
	a, _ := readAll(t, open(t, "bid", []int{0}, 0, 2, nil), 0)
	b, _ := readAll(t, open(t, "bid", []int{0}, 1, 2, nil), 0)
	if a.Rows+b.Rows != whole.Rows {
		t.Fatalf("two instances read %d rows, want %d", a.Rows+b.Rows, whole.Rows)
	}
}

func TestBidsReferToKnownAuctions(t *testing.T) {
	for id := int64(100); id < 5000; id++ {
		if eventKind(id) != bid {
			continue
		}
		a := bidAuction(3, id) - firstID
		if a < 0 || a > lastAuction(id)+auctionIDLead {
			t.Fatalf("bid %d on auction %d, last is %d", id, a, lastAuction(id))
		}
	}
}

func BenchmarkBids(b *testing.B) {
	src, _ := newSource(connector.SourceSpec{Options: map[string]string{"type": "bid"}})
	r, _ := src.Open(context.Background(), []int{0, 1, 2, 5}, 0, 1, nil)
	rows := 0
	for b.Loop() {
		x, _ := r.Read(context.Background())
		rows += x.Chunk.Rows
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
