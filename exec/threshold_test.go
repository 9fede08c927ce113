package exec_test

import (
	"math/rand"
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// thresholdAndJoin are a threshold against the largest value of a second input,
// and the join it stands for, in the columns of the first.
func thresholdAndJoin(t testing.TB, typ types.T, o plan.OrderOp) (plan.Node, plan.Node) {
	l, r := scan(typ, types.TInt8), scan(typ)
	bound := aggregate(r, nil, true, agg(t, r, "max", false, 0))
	j := &plan.Join{Kind: plan.Semi, Left: l, Right: bound, Residual: op(t, o.String(), col(0, typ), col(2, bound.Out[0].Typ))}
	return &plan.Threshold{Input: l, Bound: bound, Col: 0, Op: o}, j
}

func TestThresholdIsTheJoinWithASingleRow(t *testing.T) {
	for _, typ := range []types.T{types.TInt8, types.TText} {
		value := func(r *rand.Rand, n int) types.Datum {
			switch k := r.Intn(n); {
			case k == 0:
				return nil
			case typ == types.TText:
				return []string{"", "a", "ab", "b", "\x00", "zz"}[k%6]
			default:
				return int64(k - 3)
			}
		}
		for o := plan.Less; o <= plan.GreaterEqual; o++ {
			th, j := thresholdAndJoin(t, typ, o)
			for seed := range int64(6) {
				r := rand.New(rand.NewSource(seed))
				h := randomHistory(r, 8, 12, []func() []types.Datum{
					func() []types.Datum { return []types.Datum{value(r, 8), int64(r.Intn(2))} },
					func() []types.Datum { return []types.Datum{value(r, 8)} },
				})
				if d := exectest.Check(t, th, h).Diff(exectest.Check(t, j, h)); d != "" {
					t.Fatalf("%s %s, seed %d: the threshold differs from the join:%s", typ, o, seed, d)
				}
			}
		}
	}
}

// A bound that moves through more rows than a partition keeps in a list.
func TestThresholdOverManyRows(t *testing.T) {
	th, j := thresholdAndJoin(t, types.TInt8, plan.Greater)
	var h exectest.History
	var rows []exectest.Change
	for i := range 300 {
		rows = append(rows, exectest.Change{Row: []types.Datum{int64(i * 7 % 300), int64(0)}, W: 1})
	}
	h = append(h, rows)
	for _, b := range []int64{100, 250, 400} {
		h = append(h, []exectest.Change{{In: 1, Row: []types.Datum{b}, W: 1}, {Row: []types.Datum{b - 50, int64(1)}, W: 1}})
	}
	for _, b := range []int64{400, 250} {
		h = append(h, []exectest.Change{{In: 1, Row: []types.Datum{b}, W: -1}, {Row: []types.Datum{b - 50, int64(1)}, W: -1}})
	}
	if d := exectest.Check(t, th, h).Diff(exectest.Check(t, j, h)); d != "" {
		t.Fatal(d)
	}
}

// A change of the bound emits the rows between the bounds, and no others.
func TestThresholdTouchesWhatItPassesOver(t *testing.T) {
	th, _ := thresholdAndJoin(t, types.TInt8, plan.Less)
	emitted := 0
	tree, err := exec.Build(th, &exec.BuildCtx{Expr: &expr.Ctx{}, Out: func(c *vec.Chunk) error { emitted += c.Rows; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	rows := vec.NewChunk(tree.Inputs()[0].Types, 1000)
	for i := range 1000 {
		rows.AppendRow(1, int64(i), int64(0))
	}
	if err := tree.Push(0, rows); err != nil {
		t.Fatal(err)
	}
	for e, c := range []struct{ value, weight, emitted int64 }{{500, 1, 500}, {503, 1, 3}, {503, 1, 0}, {503, -2, 3}} {
		bound := vec.NewChunk(tree.Inputs()[1].Types, 1)
		bound.AppendRow(c.weight, c.value)
		if err := tree.Push(1, bound); err != nil {
			t.Fatal(err)
		}
		emitted = 0
		if err := tree.Seal(types.Epoch(e + 1)); err != nil || int64(emitted) != c.emitted {
			t.Errorf("epoch %d: %d rows were emitted, %v", e, emitted, err)
		}
	}
}
