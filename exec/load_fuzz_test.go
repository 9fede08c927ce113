package exec_test

import (
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// statefulPlans has one plan for every operator with state.
func statefulPlans(t testing.TB) []plan.Node {
	l, r := scan(types.TInt8, types.TText), scan(types.TInt8, types.TText)
	return []plan.Node{
		aggregate(l, []int{1}, false, agg(t, l, "count", false), agg(t, l, "sum", false, 0)),
		aggregate(l, []int{0}, false, agg(t, l, "count", false)),
		&plan.Join{Kind: plan.Full, Left: l, Right: r, LeftKeys: []int{0}, RightKeys: []int{0}},
		&plan.Join{Kind: plan.NullAnti, Left: l, Right: r, LeftKeys: []int{1}, RightKeys: []int{1}},
		&plan.SetOp{Left: l, Right: r},
		&plan.TopN{Input: l, Partition: []int{1}, Order: []expr.SortKey{{Col: 0}}, Limit: 2},
		over(l, []int{0}, []expr.SortKey{{Col: 1}}),
		&plan.SingleRow{Input: l},
		&plan.Threshold{Input: l, Bound: scan(types.TInt8), Op: plan.Greater},
	}
}

// FuzzLoad feeds damaged state to operators: they refuse it or live with it, and
// never panic, then or when they run on.
func FuzzLoad(f *testing.F) {
	f.Add(0, []byte{0, 0, 1}, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add(2, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 0}, []byte{0, 2, 0})
	f.Add(4, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 0}, []byte{0, 2, 0, 2})
	f.Fuzz(func(t *testing.T, which int, key, val []byte) {
		plans := statefulPlans(t)
		p := plans[uint(which)%uint(len(plans))]
		tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{}, Out: func(*vec.Chunk) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if tree.Load(0, key, val) != nil {
			return
		}
		c := vec.NewChunk(tree.Inputs()[0].Types, 1)
		c.AppendRow(1, int64(1), "a")
		if tree.Push(0, c) != nil || tree.Seal(1) != nil {
			return
		}
		if err := tree.Save(func(int) exec.StateWriter { return nowhere{} }); err != nil {
			t.Fatal(err)
		}
	})
}
