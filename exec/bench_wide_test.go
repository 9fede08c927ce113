package exec_test

import (
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// wideRows drives a tree with rows like Nexmark's bids: auction, bidder, price and
// time, of which a third are of the newest auction and bidder, and three texts of
// 150 bytes together. Each chunk is made by rewriting the numbers of a few, so that
// making it costs little. Every 100 chunks end an epoch, every 1,000 the state's life.
func wideRows(b *testing.B, root func(in *plan.Scan) plan.Node) {
	const filler = "https://www.example.com/abcd/e_fg/hij/item.htm?query=1&channel_id=1548378234 0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmno"
	in := scan(types.TInt8, types.TInt8, types.TInt8, types.TInt8, types.TText, types.TText, types.TText)
	in.P.AppendOnly = true
	var chunks []*vec.Chunk
	for k := range 16 {
		c := vec.NewChunk(plan.Types(in.Schema()), vec.MaxRows)
		for i := range vec.MaxRows {
			c.AppendRow(1, int64(0), int64(0), int64(0), int64(0), filler[:8+i%3], filler[k:k+65+i%11], filler[30:90+i%17])
		}
		chunks = append(chunks, c)
	}
	p := root(in)
	var tree *exec.Tree
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for k := 0; n < b.N; k++ {
		if k%1000 == 0 {
			var err error
			if tree, err = exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{Session: &expr.Session{}}, Out: func(*vec.Chunk) error { return nil }}); err != nil {
				b.Fatal(err)
			}
		}
		c := chunks[k%len(chunks)]
		auction, bidder := c.Cols[0].(*vec.Col[int64]).Vals, c.Cols[1].(*vec.Col[int64]).Vals
		price, at := c.Cols[2].(*vec.Col[int64]).Vals, c.Cols[3].(*vec.Col[int64]).Vals
		for i := range vec.MaxRows {
			n++
			x := scatter(n)
			auction[i], bidder[i], price[i], at[i] = int64(n/1500*100), int64(n/700*50), x%10_000, int64(n)*100
			if x%3 > 0 {
				auction[i], bidder[i] = int64(n/15)-x>>8%100, int64(n/50)-x>>16%1000
			}
		}
		if err := tree.Push(0, c); err != nil {
			b.Fatal(err)
		}
		if k%100 == 99 {
			if err := tree.Seal(types.Epoch(k)); err != nil {
				b.Fatal(err)
			}
			if err := tree.Save(func(int) exec.StateWriter { return nowhere{} }); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkWideLast is Nexmark's q18 without a sink: the last row of each key.
func BenchmarkWideLast(b *testing.B) {
	wideRows(b, func(in *plan.Scan) plan.Node { return lastOf(in) })
}

// BenchmarkWideLastSink is q18 with a sink that keeps the last row of each key.
func BenchmarkWideLastSink(b *testing.B) {
	wideRows(b, func(in *plan.Scan) plan.Node { return &plan.Sink{Input: lastOf(in), Key: []int{0, 1}} })
}

func lastOf(in plan.Node) plan.Node {
	return &plan.TopN{Input: in, Partition: []int{1, 0}, Order: []expr.SortKey{{Col: 3, Desc: true}}, Limit: 1}
}

// BenchmarkWideJoin keeps wide rows for a side that has none yet, as q20 does.
func BenchmarkWideJoin(b *testing.B) {
	other := scan(types.TInt8)
	other.P.AppendOnly = true
	wideRows(b, func(in *plan.Scan) plan.Node {
		return &plan.Join{Kind: plan.Inner, Left: in, Right: other, LeftKeys: []int{0}, RightKeys: []int{0}}
	})
}
