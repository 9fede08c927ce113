package exec_test

import (
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

type nowhere struct{}

func (nowhere) Put(int, []byte, []byte)    {}
func (nowhere) PutNew(int, []byte, []byte) {}
func (nowhere) Delete(int, []byte)         {}

// drive pushes b.N rows made by row into input in, with a Seal and a Save every
// 100 chunks.
func drive(b *testing.B, root plan.Node, batch bool, makers ...func(c *vec.Chunk, n int)) {
	b.Helper()
	tree, err := exec.Build(root, &exec.BuildCtx{Expr: &expr.Ctx{Session: &expr.Session{}}, Batch: batch,
		Out: func(*vec.Chunk) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	var chunks []*vec.Chunk
	for _, in := range tree.Inputs() {
		chunks = append(chunks, vec.NewChunk(in.Types, vec.MaxRows))
	}
	b.ReportAllocs()
	b.ResetTimer()
	epoch := types.Epoch(0)
	for n := 0; n < b.N; {
		for in, mk := range makers {
			c := chunks[in]
			c.Reset()
			mk(c, n)
			n += c.Rows
			if err := tree.Push(in, c); err != nil {
				b.Fatal(err)
			}
		}
		if batch || n/vec.MaxRows%100 != 0 {
			continue
		}
		epoch++
		if err := tree.Seal(epoch); err != nil {
			b.Fatal(err)
		}
		if err := tree.Save(func(int) exec.StateWriter { return nowhere{} }); err != nil {
			b.Fatal(err)
		}
	}
	if err := tree.Seal(epoch + 1); err != nil {
		b.Fatal(err)
	}
}

func fill(c *vec.Chunk, rows int, row func(i int) []int64) {
	for i := range rows {
		for k, x := range row(i) {
			v := c.Cols[k].(*vec.Col[int64])
			v.Vals = append(v.Vals, x)
		}
	}
	c.Rows = rows
}

func scatter(n int) int64 { return int64(uint64(n) * 0x9e3779b97f4a7c15 >> 20) }

func BenchmarkGroupBy100k(b *testing.B) {
	in := scan(types.TInt8, types.TInt8)
	in.P.AppendOnly = true
	p := aggregate(in, []int{0}, false, agg(b, in, "count", false), agg(b, in, "sum", false, 1))
	var buf [2]int64
	drive(b, p, false, func(c *vec.Chunk, n int) {
		fill(c, vec.MaxRows, func(i int) []int64 {
			buf = [2]int64{scatter(n+i) % 100_000, int64(i)}
			return buf[:]
		})
	})
}

// BenchmarkAuctions is Nexmark's q4: the average, by category, of the highest
// bid of each auction.
func BenchmarkAuctions(b *testing.B) {
	auctions, bids := scan(types.TInt8, types.TInt8), scan(types.TInt8, types.TInt8)
	auctions.P.AppendOnly, bids.P.AppendOnly = true, true
	join := &plan.Join{Kind: plan.Inner, Left: bids, Right: auctions, LeftKeys: []int{0}, RightKeys: []int{0}}
	highest := aggregate(join, []int{2, 3}, false, agg(b, join, "max", false, 1))
	avg := aggregate(highest, []int{1}, false, agg(b, highest, "avg", false, 2))
	var buf [2]int64
	drive(b, avg, false, func(c *vec.Chunk, n int) {
		fill(c, 960, func(i int) []int64 {
			buf = [2]int64{int64((n+i)/15) - scatter(n+i)%100, scatter(n+i) % 10_000}
			return buf[:]
		})
	}, func(c *vec.Chunk, n int) {
		fill(c, 64, func(i int) []int64 {
			buf = [2]int64{int64(n/16 + i), int64(i % 10)}
			return buf[:]
		})
	})
}

func BenchmarkFilterProject(b *testing.B) {
	in := scan(types.TInt8, types.TInt8)
	f := &plan.Filter{Input: in, Cond: op(b, "<", col(0, types.TInt8), int8Const(512))}
	p := &plan.Project{Input: f, Out: in.Out,
		Exprs: []expr.Expr{col(0, types.TInt8), op(b, "+", col(1, types.TInt8), int8Const(1))}}
	var buf [2]int64
	drive(b, p, false, func(c *vec.Chunk, n int) {
		fill(c, vec.MaxRows, func(i int) []int64 {
			buf = [2]int64{int64(i), int64(n)}
			return buf[:]
		})
	})
}

func BenchmarkTopOnePerKey(b *testing.B) {
	in := scan(types.TInt8, types.TInt8)
	in.P.AppendOnly = true
	p := &plan.TopN{Input: in, Partition: []int{0}, Order: []expr.SortKey{{Col: 1, Desc: true}}, Limit: 1}
	var buf [2]int64
	drive(b, p, false, func(c *vec.Chunk, n int) {
		fill(c, vec.MaxRows, func(i int) []int64 {
			buf = [2]int64{scatter(n+i) % 10_000, scatter(n + i)}
			return buf[:]
		})
	})
}

// BenchmarkWindowChange adds one row to a partition of 100,000 in every epoch.
func BenchmarkWindowChange(b *testing.B) {
	in := scan(types.TInt8, types.TInt8)
	lag := plan.WindowFunc{Name: "lag", Args: []int{1}, Typ: types.TInt8}
	for _, x := range []struct {
		name string
		f    plan.WindowFunc
	}{
		{"lag", lag},
		{"rows", plan.WindowFunc{Name: "first_value", Args: []int{1}, Typ: types.TInt8, Frame: plan.Frame{Mode: plan.Rows, Start: plan.Preceding, StartOffset: int8Const(100), End: plan.CurrentRow}}},
		{"range", plan.WindowFunc{Name: "first_value", Args: []int{1}, Typ: types.TInt8, Frame: plan.Frame{Mode: plan.Range, Start: plan.Preceding, StartOffset: int8Const(100), End: plan.CurrentRow}}},
		{"row_number", plan.WindowFunc{Name: "row_number", Frame: defaultFrame, Typ: types.TInt8}},
	} {
		b.Run(x.name, func(b *testing.B) {
			p := over(in, []int{0}, []expr.SortKey{{Col: 1}}, x.f)
			tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{Session: &expr.Session{}}, Out: func(*vec.Chunk) error { return nil }})
			if err != nil {
				b.Fatal(err)
			}
			next, epoch := int64(0), types.Epoch(0)
			add := func(n int) {
				c := vec.NewChunk([]types.T{types.TInt8, types.TInt8}, n)
				for range n {
					next++
					c.AppendRow(1, int64(1), next)
				}
				epoch++
				if err := tree.Push(0, c); err != nil {
					b.Fatal(err)
				}
				if err := tree.Seal(epoch); err != nil {
					b.Fatal(err)
				}
				if err := tree.Save(func(int) exec.StateWriter { return nowhere{} }); err != nil {
					b.Fatal(err)
				}
			}
			for range 100 {
				add(1000)
			}
			b.ResetTimer()
			for range b.N {
				add(1)
			}
		})
	}
}
