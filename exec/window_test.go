package exec_test

import (
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var defaultFrame = plan.Frame{Mode: plan.Range, Start: plan.UnboundedPreceding, End: plan.CurrentRow}

func over(in plan.Node, part []int, order []expr.SortKey, fs ...plan.WindowFunc) *plan.Window {
	w := &plan.Window{Input: in, Partition: part, Order: order, Funcs: fs}
	w.Out = append(w.Out, in.Schema()...)
	for _, f := range fs {
		w.Out = append(w.Out, plan.Column{Name: f.Name, Typ: f.Typ})
	}
	return w
}

func winAgg(t *testing.T, in plan.Node, name string, f plan.Frame, args ...int) plan.WindowFunc {
	c := agg(t, in, name, false, args...)
	return plan.WindowFunc{Name: name, Agg: &c, Args: args, Frame: f, Typ: c.Typ}
}

func int8Const(n int64) expr.Expr { return &expr.Const{Val: n, Typ: types.TInt8} }

func TestWindowRanks(t *testing.T) {
	in := scan(types.TInt8, types.TInt8)
	fn := func(name string, typ types.T) plan.WindowFunc {
		return plan.WindowFunc{Name: name, Frame: defaultFrame, Typ: typ}
	}
	p := over(in, []int{0}, []expr.SortKey{{Col: 1}},
		fn("row_number", types.TInt8), fn("rank", types.TInt8), fn("dense_rank", types.TInt8),
		fn("percent_rank", types.TFloat8), fn("cume_dist", types.TFloat8))
	exectest.Run(t, p, `
		+ 1 10
		+ 1 20
		|
		+2 1 10
		+ 2 5
		- 1 20
		+ 1 30
		+ 1 40`, `
		1 10 1 1 1 0 0.6
		1 10 2 1 1 0 0.6
		1 10 3 1 1 0 0.6
		1 30 4 4 2 0.75 0.8
		1 40 5 5 3 1 1
		2 5 1 1 1 0 1`)
}

func TestWindowShiftAndTiles(t *testing.T) {
	in := scan(types.TInt8, types.TInt4, types.TInt8)
	p := over(in, nil, []expr.SortKey{{Col: 0}},
		plan.WindowFunc{Name: "lag", Args: []int{0}, Typ: types.TInt8},
		plan.WindowFunc{Name: "lead", Args: []int{0, 1, 2}, Typ: types.TInt8},
		plan.WindowFunc{Name: "ntile", Args: []int{1}, Typ: types.TInt4},
		plan.WindowFunc{Name: "nth_value", Args: []int{0, 1}, Frame: defaultFrame, Typ: types.TInt8})
	exectest.Run(t, p, `
		+ 1 2 -1
		+ 2 2 -1
		|
		+ 3 2 -1
		+ 4 2 -1
		+ 5 2 null`, `
		1 2 -1 null 3 1 null
		2 2 -1 1 4 1 2
		3 2 -1 2 5 1 2
		4 2 -1 3 -1 2 2
		5 2 null 4 null 2 2`)
}

func TestWindowFrames(t *testing.T) {
	in := scan(types.TInt8, types.TInt8)
	order := []expr.SortKey{{Col: 1}}
	rows := plan.Frame{Mode: plan.Rows, Start: plan.Preceding, StartOffset: int8Const(1), End: plan.CurrentRow}
	rng := plan.Frame{Mode: plan.Range, Start: plan.Preceding, StartOffset: int8Const(2),
		End: plan.Following, EndOffset: int8Const(1), Exclude: plan.ExcludeCurrent}
	groups := plan.Frame{Mode: plan.Groups, Start: plan.CurrentRow, End: plan.Following, EndOffset: int8Const(1)}
	p := over(in, []int{0}, order,
		winAgg(t, in, "sum", defaultFrame, 1), winAgg(t, in, "sum", rows, 1),
		winAgg(t, in, "count", rng, 1), winAgg(t, in, "max", groups, 1))
	exectest.Run(t, p, `
		+ 1 1
		+ 1 2
		+ 1 2
		|
		+ 1 4
		+ 1 9
		+ 1 null`, `
		1 1 1 1 2 2
		1 2 5 3 2 4
		1 2 5 4 2 4
		1 4 9 6 2 9
		1 9 18 13 0 9
		1 null 18 9 0 null`)
}

func TestWindowModel(t *testing.T) {
	in := scan(types.TInt8, types.TInt8, types.TText)
	for _, ex := range []plan.Exclude{plan.ExcludeNone, plan.ExcludeCurrent, plan.ExcludeGroup, plan.ExcludeTies} {
		f := plan.Frame{Mode: plan.Rows, Start: plan.Preceding, StartOffset: int8Const(1),
			End: plan.Following, EndOffset: int8Const(2), Exclude: ex}
		g := plan.Frame{Mode: plan.Range, Start: plan.UnboundedPreceding, End: plan.UnboundedFollowing, Exclude: ex}
		p := over(in, []int{0}, []expr.SortKey{{Col: 1, Desc: true}},
			winAgg(t, in, "sum", f, 1), winAgg(t, in, "min", g, 2), winAgg(t, in, "max", f, 2),
			plan.WindowFunc{Name: "last_value", Args: []int{2}, Frame: f, Typ: types.TText})
		model(t, p, 4, oneInput)
	}
}

func TestApply(t *testing.T) {
	l, r := scan(types.TInt8), scan(types.TInt8)
	outer := &expr.Outer{Level: 1, Index: 0, Typ: types.TInt8}
	right := &plan.Filter{Input: r, Cond: op(t, "<", col(0, types.TInt8), outer)}
	run := func(p *plan.Apply) []string {
		var got []string
		ctx := &exec.BuildCtx{Expr: &expr.Ctx{Session: &expr.Session{}}, Batch: true, Check: true}
		ctx.Out = func(c *vec.Chunk) error {
			for i := range c.Rows {
				s := ""
				for _, v := range c.Cols {
					if v.IsNull(i) {
						s += "- "
					} else {
						s += string(types.AppendText(nil, types.TInt8, v.Datum(i), &types.Options{})) + " "
					}
				}
				got = append(got, s)
			}
			return nil
		}
		ctx.RunSub = func(n plan.Node, emit exec.Emit) error {
			tree, err := exec.Build(n, &exec.BuildCtx{Expr: ctx.Expr, Batch: true, Out: emit})
			if err != nil {
				return err
			}
			if err := tree.Push(0, ints(1, 2, 2)); err != nil {
				return err
			}
			return tree.Seal(1)
		}
		tree, err := exec.Build(p, ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.Push(0, ints(1, 2, 3, 2)); err != nil {
			t.Fatal(err)
		}
		if err := tree.Seal(1); err != nil {
			t.Fatal(err)
		}
		return got
	}
	expect(t, run(&plan.Apply{Kind: plan.Inner, Left: l, Right: right}), "2 1 ", "3 1 ", "3 2 ", "3 2 ", "2 1 ")
	expect(t, run(&plan.Apply{Kind: plan.Left, Left: l, Right: right}), "1 - ", "2 1 ", "3 1 ", "3 2 ", "3 2 ", "2 1 ")
	expect(t, run(&plan.Apply{Kind: plan.Semi, Left: l, Right: right}), "2 ", "3 ", "2 ")
	expect(t, run(&plan.Apply{Kind: plan.Anti, Left: l, Right: right}), "1 ")
}

func ints(xs ...int64) *vec.Chunk {
	c := vec.NewChunk([]types.T{types.TInt8}, len(xs))
	for _, x := range xs {
		c.AppendRow(1, x)
	}
	return c
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
