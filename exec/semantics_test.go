package exec_test

import (
	"math/rand"
	"testing"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/exec/exectest"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// appendOnlyHistory is a history without deletes.
func appendOnlyHistory(r *rand.Rand, gens []func() []types.Datum) exectest.History {
	h := make(exectest.History, 5)
	for e := range h {
		for range r.Intn(10) {
			in := r.Intn(len(gens))
			h[e] = append(h[e], exectest.Change{In: in, W: 1, Row: gens[in]()})
		}
	}
	return h
}

func TestAppendOnlyInputs(t *testing.T) {
	l, r := scan(types.TInt8, types.TInt8, types.TText), scan(types.TInt8, types.TInt8, types.TText)
	l.P.AppendOnly, r.P.AppendOnly = true, true
	less := op(t, "<", col(1, types.TInt8), col(4, types.TInt8))
	var plans []plan.Node
	for kind := plan.Inner; kind <= plan.Anti; kind++ {
		for _, res := range []expr.Expr{nil, less} {
			plans = append(plans, &plan.Join{Kind: kind, Left: l, Right: r, LeftKeys: []int{0}, RightKeys: []int{0}, Residual: res})
		}
	}
	u := &plan.Union{Inputs: []plan.Node{l, r}, Out: l.Out}
	order := []expr.SortKey{{Col: 1}}
	plans = append(plans, u,
		&plan.TopN{Input: u, Partition: []int{0}, Order: order, Limit: 2},
		&plan.TopN{Input: u, Order: order, Limit: 2, Offset: 1},
		&plan.TopN{Input: u, Partition: []int{0}, Order: order, Limit: 1, WithTies: true},
		&plan.TopN{Input: u, Partition: []int{2}, Order: order, Limit: 2, Offset: 1, RankCol: true},
		aggregate(u, []int{2}, false, agg(t, u, "min", false, 1), agg(t, u, "max", false, 0)))
	for _, p := range plans {
		for seed := range 4 {
			rnd := rand.New(rand.NewSource(int64(seed)))
			exectest.Check(t, p, appendOnlyHistory(rnd, twoInputs(rnd)))
		}
	}
}

func TestEqualValuesThatDiffer(t *testing.T) {
	numeric := func(r *rand.Rand) func() []types.Datum {
		return func() []types.Datum {
			d, err := types.ParseText(types.TNumeric, []string{"1", "1.0", "1.00", "2", "2.0"}[r.Intn(5)], &types.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return []types.Datum{d, []types.Datum{0.0, 1 / negInf, 1.5}[r.Intn(3)]}
		}
	}
	l, r := scan(types.TNumeric, types.TFloat8), scan(types.TNumeric, types.TFloat8)
	two := func(r *rand.Rand) []func() []types.Datum { return []func() []types.Datum{numeric(r), numeric(r)} }
	plans := []plan.Node{
		&plan.Join{Kind: plan.Full, Left: l, Right: r, LeftKeys: []int{0}, RightKeys: []int{0}},
		&plan.Join{Kind: plan.Anti, Left: l, Right: r, LeftKeys: []int{0, 1}, RightKeys: []int{0, 1}},
		&plan.SetOp{Kind: plan.Except, All: true, Left: l, Right: r},
		&plan.SetOp{Kind: plan.Intersect, Left: l, Right: r},
		aggregate(&plan.Union{Inputs: []plan.Node{l, r}, Out: l.Out}, []int{1, 0}, false, agg(t, l, "count", false)),
	}
	for _, p := range plans {
		model(t, p, 5, two)
	}
}

var negInf = func() float64 {
	d, _ := types.ParseText(types.TFloat8, "-Infinity", &types.Options{})
	return d.(float64)
}()

func TestFailingRowsLeave(t *testing.T) {
	in := scan(types.TInt8, types.TInt8)
	div := op(t, "/", col(0, types.TInt8), col(1, types.TInt8))
	p := &plan.Project{Input: in, Exprs: []expr.Expr{div, col(0, types.TInt8)}, Out: in.Out}
	f := &plan.Filter{Input: in, Cond: op(t, ">", div, int8Const(1))}
	j := &plan.Join{Kind: plan.Left, Left: in, Right: scan(types.TInt8), Residual: op(t, ">", div, col(2, types.TInt8))}
	for _, c := range []struct {
		root plan.Node
		want string
		rest int64 // weight of the failures left
	}{{p, "3 6", 1}, {f, "6 2", 1}, {j, "6 2 1", 0}} {
		rest := int64(0)
		s := exectest.NewStream(t, c.root, exectest.Options{ChunkRows: 3,
			RowError: func(_ int, _ *vec.Chunk, _ int, w int64, err error) error {
				if pgerr.CodeOf(err) != pgerr.DivisionByZero {
					return err
				}
				rest += w
				return nil
			}})
		h := exectest.Parse(t, c.root, "+ 6 2\n+ 1 0\n+ 2 0\n|\n- 1 0")
		if c.root == plan.Node(j) {
			h = exectest.Parse(t, c.root, "+ 6 2\n+ 1 0\n@1\n+ 1\n|\n@0\n- 1 0")
		}
		for _, e := range h {
			s.Epoch(e)
		}
		if d := s.Out.Diff(exectest.ParseBag(c.want)); d != "" || rest != c.rest {
			t.Errorf("%T: %d failures left, want %d; result differs:%s", c.root, rest, c.rest, d)
		}
	}
}

func TestTakenAwayMoreOftenThanAdded(t *testing.T) {
	in := scan(types.TInt8)
	for _, p := range []plan.Node{
		aggregate(in, []int{0}, false),
		&plan.TopN{Input: in, Limit: 1},
		&plan.SetOp{Left: in, Right: scan(types.TInt8)},
		&plan.Join{Left: in, Right: scan(types.TInt8), LeftKeys: []int{0}, RightKeys: []int{0}},
		over(in, nil, nil),
	} {
		tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{}})
		if err != nil {
			t.Fatal(err)
		}
		c := ints(1)
		c.Diff = []int64{-1}
		if err = tree.Push(0, c); err == nil {
			err = tree.Seal(1)
		}
		if pgerr.CodeOf(err) != pgerr.Internal {
			t.Errorf("%T: got %v, want an internal error", p, err)
		}
	}
}

func TestSingleRow(t *testing.T) {
	in := scan(types.TInt8)
	p := &plan.SingleRow{Input: in}
	exectest.Run(t, p, ``, `null`)
	exectest.Run(t, p, "+ 1\n|\n- 1\n+ 2\n|\n- 2\n|\n+ 3", `3`)
	tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{}})
	if err != nil {
		t.Fatal(err)
	}
	if err = tree.Push(0, ints(1, 2)); err == nil {
		err = tree.Seal(1)
	}
	if pgerr.CodeOf(err) != pgerr.CardinalityViolation {
		t.Errorf("two rows: got %v", err)
	}
}

func TestSortAndLimit(t *testing.T) {
	in := scan(types.TInt8)
	p := &plan.Limit{Limit: int8Const(3), Offset: int8Const(1),
		Input: &plan.Sort{Input: in, Order: []expr.SortKey{{Col: 0, Desc: true}}}}
	var got []int64
	tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{}, Batch: true, ChunkRows: 2, Out: func(c *vec.Chunk) error {
		for i, x := range c.Cols[0].(*vec.Col[int64]).Vals {
			for range c.Weight(i) {
				got = append(got, x)
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := ints(5, 1, 9, 3)
	c.Diff = []int64{1, 1, 2, 1}
	if err := tree.Push(0, c); err != nil {
		t.Fatal(err)
	}
	if err := tree.Seal(1); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0] != 9 || got[1] != 5 || got[2] != 3 {
		t.Errorf("got %v, want 9 5 3", got)
	}
}

type rowMap map[string]string

func (m rowMap) Put(key, val []byte) { m[string(key)] = string(val) }
func (m rowMap) Delete(key []byte)   { delete(m, string(key)) }
func (m rowMap) Add(key []byte, weight int64) {
	m[string(key)] += string(types.AppendInt(nil, weight)) + " "
}

func TestMaterialize(t *testing.T) {
	in := scan(types.TInt8, types.TText)
	m := rowMap{}
	run := func(p plan.Node, text string) int64 {
		sum := int64(0)
		tree, err := exec.Build(p, &exec.BuildCtx{Expr: &expr.Ctx{},
			Rows: func(uint32) exec.RowWriter { return m },
			Out: func(c *vec.Chunk) error {
				for i := range c.Rows {
					sum += c.Weight(i)
				}
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		for e, changes := range exectest.Parse(t, p, text) {
			for _, x := range changes {
				c := vec.NewChunk(tree.Inputs()[0].Types, 1)
				c.AppendRow(x.W, x.Row...)
				if err := tree.Push(0, c); err != nil {
					t.Fatal(err)
				}
			}
			if err := tree.Seal(types.Epoch(e + 1)); err != nil {
				t.Fatal(err)
			}
		}
		return sum
	}
	keyed := "+ 1 a\n+ 2 b\n|\n- 1 a\n+ 1 c\n- 2 b\n|\n+ 3 x\n- 3 x"
	if run(&plan.Materialize{Input: in, Key: []int{0}}, keyed) != 1 || len(m) != 1 {
		t.Errorf("keyed: %q", m)
	}
	key := string(vec.AppendKey(nil, ints(1), []int{0}, nil, nil, 0))
	if v := m[key]; len(v) == 0 || v[len(v)-1] != 'c' {
		t.Errorf("keyed: %q", m)
	}
	clear(m)
	run(&plan.Materialize{Input: in}, "+ 1 a\n+ 1 a\n|\n- 1 a\n+ 2 b\n- 2 b")
	if len(m) != 1 {
		t.Errorf("unkeyed: %q", m)
	}
	for _, v := range m {
		if v != "2 -1 " {
			t.Errorf("unkeyed: %q", m)
		}
	}
}

func TestUpsertSink(t *testing.T) {
	in := scan(types.TInt8, types.TText)
	p := &plan.Sink{Input: in, Key: []int{0}}
	s := exectest.NewStream(t, p, exectest.Options{ChunkRows: 1})
	h := exectest.Parse(t, p, "+ 1 a\n+ 2 b\n|\n+ 1 c\n- 1 a\n- 2 b\n|\n- 1 c\n+ 1 c")
	want := []string{"1 a\n2 b", "1 a\n1 c", "1 a\n1 c"} // sums of values and tombstones
	for e, changes := range h {
		s.Epoch(changes)
		if d := s.Out.Diff(exectest.ParseBag(want[e])); d != "" {
			t.Errorf("epoch %d:%s", e, d)
		}
	}
}

func TestGroupWithoutResult(t *testing.T) {
	in := scan(types.TInt8, types.TFloat8)
	p := aggregate(in, []int{0}, false, agg(t, in, "sum", false, 1), agg(t, in, "count", false))
	for _, restore := range []bool{false, true} {
		rest := int64(0)
		s := exectest.NewStream(t, p, exectest.Options{ChunkRows: 3, Restore: restore,
			RowError: func(_ int, _ *vec.Chunk, _ int, w int64, err error) error {
				if pgerr.CodeOf(err) != pgerr.NumericValueOutOfRange {
					return err
				}
				rest += w
				return nil
			}})
		h := exectest.Parse(t, p, "+ 1 1e308\n+ 2 1\n|\n+ 1 1e308\n|\n+ 2 1\n|\n+ 1 1\n|\n- 1 1e308\n- 1 1")
		sums := []int64{0, 1, 1, 1, 0}
		outs := []string{"1 1e+308 1\n2 1 1", "2 1 1", "2 2 2", "2 2 2", "1 1e+308 1\n2 2 2"}
		for e, changes := range h {
			s.Epoch(changes)
			if d := s.Out.Diff(exectest.ParseBag(outs[e])); d != "" || rest != sums[e] {
				t.Fatalf("epoch %d: %d failures left, want %d; result differs:%s", e, rest, sums[e], d)
			}
		}
	}
}

func TestConstantRelations(t *testing.T) {
	none := &plan.Values{Out: []plan.Column{{Name: "x", Typ: types.TInt8}}}
	two := &plan.Values{Out: none.Out, Rows: [][]expr.Expr{{int8Const(4)}, {int8Const(5)}}}
	exectest.Run(t, aggregate(none, nil, true, agg(t, none, "count", false)), "", "0")
	exectest.Run(t, aggregate(two, nil, true, agg(t, two, "sum", false, 0)), "|", "9")
	exectest.Run(t, &plan.Join{Kind: plan.Left, Left: two, Right: scan(types.TInt8), LeftKeys: []int{0}, RightKeys: []int{0}},
		"+ 5\n|\n+ 4\n- 5", "4 4\n5 null")
	f, err := expr.ResolveFunc("generate_series", []types.T{types.TInt8, types.TInt8})
	if err != nil {
		t.Fatal(err)
	}
	series := &plan.TableFunc{Fn: f, Args: []expr.Expr{int8Const(2), int8Const(4)}, Ordinality: true,
		Out: []plan.Column{{Name: "n", Typ: types.TInt8}, {Name: "ordinality", Typ: types.TInt8}}}
	exectest.Run(t, series, "|", "2 1\n3 2\n4 3")
	in := scan(types.TInt8)
	set := &plan.ProjectSet{Input: in, Out: []plan.Column{{Name: "a", Typ: types.TInt8}, {Name: "s", Typ: types.TInt8}, {Name: "r", Typ: types.TInt8}},
		Exprs: []expr.Expr{col(0, types.TInt8),
			&expr.Call{Fn: f, Args: []expr.Expr{int8Const(1), col(0, types.TInt8)}, Typ: types.TInt8},
			&expr.Call{Fn: f, Args: []expr.Expr{int8Const(8), int8Const(9)}, Typ: types.TInt8}}}
	exectest.Run(t, set, "+ 1\n+ 3\n+ null\n|\n- 3", "1 1 8\n1 null 9\nnull null 8\nnull null 9")
}
