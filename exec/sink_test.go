package exec_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// A sink over an operator that tells itself what each key has in the end gets what a
// sink gets that finds it out, which a filter between them makes it do.
func TestSinkOfLastRows(t *testing.T) {
	in := scan(types.TInt8, types.TInt8, types.TText)
	order := []expr.SortKey{{Col: 1, Desc: true}}
	counts := aggregate(in, []int{2, 0}, false, agg(t, in, "count", false), agg(t, in, "max", false, 1))
	turned := &plan.Project{Input: counts, Exprs: []expr.Expr{col(3, types.TInt8), col(0, types.TText), col(2, types.TInt8), col(1, types.TInt8)},
		Out: []plan.Column{{Name: "m", Typ: types.TInt8}, {Name: "t", Typ: types.TText}, {Name: "n", Typ: types.TInt8}, {Name: "k", Typ: types.TInt8}}}
	// Groups that change without their maximum are the same here.
	narrow := &plan.Project{Input: counts, Exprs: []expr.Expr{col(3, types.TInt8), col(0, types.TText), col(1, types.TInt8)},
		Out: []plan.Column{{Name: "m", Typ: types.TInt8}, {Name: "t", Typ: types.TText}, {Name: "k", Typ: types.TInt8}}}
	computed := &plan.Project{Input: counts, Exprs: []expr.Expr{col(0, types.TText), col(1, types.TInt8), op(t, "+", col(3, types.TInt8), int8Const(1))},
		Out: []plan.Column{{Name: "t", Typ: types.TText}, {Name: "k", Typ: types.TInt8}, {Name: "m", Typ: types.TInt8}}}
	for i, p := range []plan.Sink{
		{Input: &plan.TopN{Input: in, Partition: []int{0}, Order: order, Limit: 1}, Key: []int{0}},
		{Input: &plan.TopN{Input: in, Partition: []int{0}, Order: order, Limit: 1, Offset: 1}, Key: []int{0}},
		{Input: &plan.TopN{Input: in, Partition: []int{0, 2}, Order: order, Limit: 1}, Key: []int{2, 0}},
		{Input: &plan.TopN{Input: in, Partition: []int{0, 2}, Limit: 2, RankCol: true}, Key: []int{0, 2, 3}},
		{Input: &plan.TopN{Input: in, Order: order, Limit: 1}, Key: []int{}},
		{Input: counts, Key: []int{0, 1}},
		{Input: turned, Key: []int{3, 1}},
		{Input: narrow, Key: []int{2, 1}},
		{Input: computed, Key: []int{0, 1}},
		{Input: aggregate(in, []int{}, true, agg(t, in, "sum", false, 1)), Key: []int{}},
	} {
		asked := p
		asked.Input = &plan.Filter{Input: p.Input, Cond: &expr.Const{Typ: types.TBool, Val: true}}
		for seed := range 8 {
			r := rand.New(rand.NewSource(int64(seed)))
			h := randomHistory(r, 8, 10, oneInput(r))
			for _, o := range []exectest.Options{{ChunkRows: 1}, {ChunkRows: 3, Shuffle: 5}, {ChunkRows: 1024}} {
				t.Run(fmt.Sprint(i, seed, o), func(t *testing.T) {
					want, got := exectest.NewStream(t, &asked, o), exectest.NewStream(t, &p, o)
					for e, changes := range h {
						want.Epoch(changes)
						got.Epoch(changes)
						if d := got.Out.Diff(want.Out); d != "" {
							t.Fatalf("epoch %d:%s", e, d)
						}
					}
				})
			}
		}
	}
}

// Rows of one chunk that put each other out, of which only the last is written, also
// among equal sort keys, against rows of earlier chunks and epochs.
func TestAppendOnlyTopNModel(t *testing.T) {
	in := scan(types.TInt8, types.TInt8, types.TText)
	in.P.AppendOnly = true
	for _, order := range [][]expr.SortKey{nil, {{Col: 1, Desc: true}}, {{Col: 2}, {Col: 1}}} {
		for _, p := range []*plan.TopN{
			{Limit: 1}, {Limit: 2}, {Limit: 1, Offset: 1}, {Limit: 3, Offset: 1, RankCol: true}, {Limit: 2, WithTies: true},
		} {
			p.Input, p.Partition, p.Order = in, []int{0}, order
			for seed := range 6 {
				r := rand.New(rand.NewSource(int64(seed)))
				h := randomHistory(r, 5, 12, oneInput(r))
				for e := range h {
					for i := range h[e] {
						h[e][i].W = max(h[e][i].W, -h[e][i].W)
					}
				}
				exectest.Check(t, p, h)
			}
		}
	}
}
