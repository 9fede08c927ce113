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

func scan(ts ...types.T) *plan.Scan {
	s := &plan.Scan{Kind: plan.RelTable}
	for i, t := range ts {
		s.Cols = append(s.Cols, i)
		s.Out = append(s.Out, plan.Column{Name: fmt.Sprintf("c%d", i), Typ: t})
	}
	return s
}

func agg(t testing.TB, in plan.Node, name string, distinct bool, args ...int) expr.AggCall {
	t.Helper()
	var ts []types.T
	for _, a := range args {
		ts = append(ts, in.Schema()[a].Typ)
	}
	f, err := expr.ResolveAgg(name, ts)
	if err != nil {
		t.Fatal(err)
	}
	typ := f.Ret
	if f.RetFn != nil {
		typ = f.RetFn(ts)
	}
	return expr.AggCall{Fn: f, Args: args, Filter: -1, Distinct: distinct, Typ: typ}
}

func aggregate(in plan.Node, group []int, scalar bool, calls ...expr.AggCall) *plan.Aggregate {
	a := &plan.Aggregate{Input: in, Group: group, Aggs: calls, Scalar: scalar}
	for _, g := range group {
		a.Out = append(a.Out, in.Schema()[g])
	}
	for _, c := range calls {
		a.Out = append(a.Out, plan.Column{Name: c.Fn.Name, Typ: c.Typ})
	}
	return a
}

func col(i int, t types.T) expr.Expr { return &expr.Col{Index: i, Typ: t} }

func op(t testing.TB, name string, l, r expr.Expr) expr.Expr {
	t.Helper()
	f, err := expr.ResolveOp(name, l.Type(), r.Type())
	if err != nil {
		t.Fatal(err)
	}
	return &expr.Call{Fn: f, Args: []expr.Expr{l, r}, Typ: f.Ret}
}

func TestAggregate(t *testing.T) {
	in := scan(types.TInt8, types.TText)
	exectest.Run(t, aggregate(in, []int{0}, false, agg(t, in, "count", false), agg(t, in, "max", false, 1)), `
		+ 1 a
		+ 1 b
		+ 2 c
		+ null z
		|
		- 1 b
		|
		- 2 c
		+2 1 q
		|
		- null z
		- 1 a`, `
		1 2 q`)
}

func TestScalarAggregate(t *testing.T) {
	in := scan(types.TInt4)
	p := aggregate(in, nil, true, agg(t, in, "count", false), agg(t, in, "sum", false, 0))
	exectest.Run(t, p, ``, `0 null`)
	exectest.Run(t, p, `
		|
		+ 5
		+ 7
		|
		- 5`, `1 7`)
	exectest.Run(t, p, `
		+ 5
		|
		- 5
		|`, `0 null`)
}

func TestGroupShowsOneOfEqualValues(t *testing.T) {
	in := scan(types.TNumeric)
	p := aggregate(in, []int{0}, false, agg(t, in, "count", false))
	exectest.Run(t, p, `
		+ 1.00
		+ 1.0
		+ 2
		|
		- 1.0
		|
		+ 1
		+ 2.00`, ``)
}

// randomHistory makes epochs of inserts and of deletes of rows that are there.
func randomHistory(r *rand.Rand, epochs, size int, gens []func() []types.Datum) exectest.History {
	live := make([][][]types.Datum, len(gens))
	h := make(exectest.History, epochs)
	for e := range h {
		for range r.Intn(size) {
			in := r.Intn(len(gens))
			l := live[in]
			if len(l) > 0 && r.Intn(5) < 2 {
				i := r.Intn(len(l))
				h[e] = append(h[e], exectest.Change{In: in, W: -1, Row: l[i]})
				live[in] = append(l[:i:i], l[i+1:]...)
				continue
			}
			row := gens[in]()
			live[in] = append(l, row)
			h[e] = append(h[e], exectest.Change{In: in, W: 1, Row: row})
		}
	}
	return h
}

func smallInt(r *rand.Rand, n int) types.Datum {
	if r.Intn(6) == 0 {
		return nil
	}
	return int64(r.Intn(n))
}

func smallText(r *rand.Rand) types.Datum {
	if r.Intn(6) == 0 {
		return nil
	}
	return []string{"", "a", "bb", "ccc"}[r.Intn(4)]
}

func model(t *testing.T, root plan.Node, seeds int, gens func(r *rand.Rand) []func() []types.Datum) {
	t.Helper()
	for seed := range seeds {
		r := rand.New(rand.NewSource(int64(seed)))
		exectest.Check(t, root, randomHistory(r, 6, 12, gens(r)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func twoInputs(r *rand.Rand) []func() []types.Datum {
	g := func() []types.Datum { return []types.Datum{smallInt(r, 3), smallInt(r, 3), smallText(r)} }
	return []func() []types.Datum{g, g}
}

func oneInput(r *rand.Rand) []func() []types.Datum { return twoInputs(r)[:1] }

func TestAggregateModel(t *testing.T) {
	in := scan(types.TInt8, types.TInt8, types.TText)
	calls := []expr.AggCall{
		agg(t, in, "count", false), agg(t, in, "sum", false, 1), agg(t, in, "min", false, 2),
		agg(t, in, "count", true, 2),
	}
	model(t, aggregate(in, []int{0}, false, calls...), 10, oneInput)
	model(t, aggregate(in, []int{2, 0}, false, calls...), 10, oneInput)
	model(t, aggregate(in, nil, true, calls...), 10, oneInput)
	model(t, aggregate(in, []int{1, 2}, false), 10, oneInput)
}

func TestJoinModel(t *testing.T) {
	l, r := scan(types.TInt8, types.TInt8, types.TText), scan(types.TInt8, types.TInt8, types.TText)
	for kind := plan.Inner; kind <= plan.NullAnti; kind++ {
		for _, res := range []bool{false, true} {
			for _, keys := range [][]int{{0}, {}, {0, 2}} {
				j := &plan.Join{Kind: kind, Left: l, Right: r, LeftKeys: keys, RightKeys: keys}
				if res {
					j.Residual = op(t, "<", col(1, types.TInt8), col(4, types.TInt8))
				}
				t.Run(fmt.Sprintf("%d/%v/%v", kind, res, keys), func(t *testing.T) {
					model(t, j, 3, twoInputs)
					for seed := range 3 {
						rnd := rand.New(rand.NewSource(int64(seed)))
						var all []exectest.Change
						for _, e := range randomHistory(rnd, 3, 14, twoInputs(rnd)) {
							all = append(all, e...)
						}
						got := exectest.Query(t, j, all, exectest.Options{ChunkRows: 3})
						if d := got.Diff(naiveJoin(j, exectest.Net(all), res)); d != "" {
							t.Fatalf("seed %d: differs from the nested loop:%s", seed, d)
						}
					}
				})
			}
		}
	}
}

// naiveJoin is the definition of a join, as nested loops.
func naiveJoin(j *plan.Join, rows []exectest.Change, residual bool) exectest.Bag {
	match := func(l, r []types.Datum) bool {
		for _, k := range j.LeftKeys {
			null := l[k] == nil || r[k] == nil
			if null && j.Kind != plan.NullAnti || !null && l[k] != r[k] {
				return false
			}
		}
		if residual && (l[1] == nil || r[1] == nil) {
			return j.Kind == plan.NullAnti // unknown is as good as equal
		}
		return !residual || l[1].(int64) < r[1].(int64)
	}
	ts := plan.Types(j.Schema())
	out := exectest.Bag{}
	matched := map[int]bool{}
	nulls := make([]types.Datum, 3)
	for _, l := range rows {
		if l.In != 0 {
			continue
		}
		found := false
		for i, r := range rows {
			if r.In != 1 || !match(l.Row, r.Row) {
				continue
			}
			found, matched[i] = true, true
			if j.Kind <= plan.Full {
				out.Add(ts, append(append([]types.Datum(nil), l.Row...), r.Row...), l.W*r.W)
			}
		}
		switch {
		case !found && (j.Kind == plan.Left || j.Kind == plan.Full):
			out.Add(ts, append(append([]types.Datum(nil), l.Row...), nulls...), l.W)
		case found && j.Kind == plan.Semi, !found && j.Kind >= plan.Anti:
			out.Add(ts, l.Row, l.W)
		}
	}
	for i, r := range rows {
		if r.In == 1 && !matched[i] && (j.Kind == plan.Right || j.Kind == plan.Full) {
			out.Add(ts, append(append([]types.Datum(nil), nulls...), r.Row...), r.W)
		}
	}
	return out
}

func TestSetOpModel(t *testing.T) {
	l, r := scan(types.TInt8, types.TInt8, types.TText), scan(types.TInt8, types.TInt8, types.TText)
	cut := func(n plan.Node) plan.Node {
		return &plan.Project{Input: n, Exprs: []expr.Expr{col(0, types.TInt8)}, Out: n.Schema()[:1]}
	}
	for _, kind := range []plan.SetOpKind{plan.Intersect, plan.Except} {
		for _, all := range []bool{false, true} {
			model(t, &plan.SetOp{Kind: kind, All: all, Left: cut(l), Right: cut(r)}, 8, twoInputs)
		}
	}
}

func TestTopNModel(t *testing.T) {
	in := scan(types.TInt8, types.TInt8, types.TText)
	order := []expr.SortKey{{Col: 1, Desc: true, NullsFirst: true}}
	for _, part := range [][]int{nil, {0}} {
		for _, p := range []*plan.TopN{
			{Limit: 2}, {Limit: 1, Offset: 1}, {Limit: 2, WithTies: true}, {Limit: -1, Offset: 1},
			{Limit: 2, Offset: 1, RankCol: true}, {Limit: 0},
		} {
			p.Input, p.Partition, p.Order = in, part, order
			model(t, p, 5, oneInput)
		}
	}
}
