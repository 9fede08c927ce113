package plan

import (
	"fmt"
	"testing"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

func scan(cols int, keys ...[]int) *Scan {
	s := &Scan{Name: "t", P: Props{AppendOnly: true, Keys: keys}}
	for i := range cols {
		s.Cols = append(s.Cols, i)
		s.Out = append(s.Out, Column{Name: fmt.Sprintf("c%d", i), Typ: types.TInt4})
	}
	return s
}

func col(i int) expr.Expr { return &expr.Col{Index: i, Typ: types.TInt4} }

func TestProps(t *testing.T) {
	keyed := scan(3, []int{0})
	view := scan(3, []int{0})
	view.Kind = RelView
	eq, err := expr.ResolveOp("=", types.TInt4, types.TInt4)
	if err != nil {
		t.Fatal(err)
	}
	isOne := &expr.Call{Fn: eq, Args: []expr.Expr{col(0), &expr.Const{Val: int32(1), Typ: types.TInt4}}, Typ: types.TBool}
	two := []Column{{Name: "a", Typ: types.TInt4}, {Name: "b", Typ: types.TInt4}}
	for _, x := range []struct {
		name string
		n    Node
		want string
	}{
		{"filter on the key", &Filter{keyed, isOne}, "true [[]]"},
		{"project keeps the key", &Project{keyed, []expr.Expr{col(2), col(0)}, two}, "true [[1]]"},
		{"project loses the key", &Project{keyed, []expr.Expr{col(2), col(1)}, two}, "true []"},
		{"lookup join", &Join{Kind: Inner, Left: scan(2, []int{0, 1}), Right: keyed, LeftKeys: []int{1}, RightKeys: []int{0}}, "true [[0 1]]"},
		{"many to many", &Join{Kind: Inner, Left: scan(2, []int{0}), Right: keyed, LeftKeys: []int{1}, RightKeys: []int{1}}, "true [[0 2]]"},
		{"left join", &Join{Kind: Left, Left: scan(2, []int{0}), Right: keyed, LeftKeys: []int{1}, RightKeys: []int{0}}, "false [[0]]"},
		{"right side seen many times", &Join{Kind: Right, Left: scan(2, []int{0}), Right: keyed, LeftKeys: []int{1}, RightKeys: []int{0}}, "false [[0 2]]"},
		{"full join", &Join{Kind: Full, Left: keyed, Right: keyed, LeftKeys: []int{0}, RightKeys: []int{0}}, "false []"},
		{"anti join", &Join{Kind: Anti, Left: keyed, Right: keyed, LeftKeys: []int{0}, RightKeys: []int{0}}, "false [[0]]"},
		{"group", &Aggregate{Input: scan(3), Group: []int{2, 1}, Out: two}, "true [[0 1]]"},
		{"group with the rest of a keyed row", &Aggregate{Input: keyed, Group: []int{2, 0, 1}, Out: keyed.Out}, "true [[1]]"},
		{"group of a table joined", &Aggregate{Input: &Join{Kind: Inner, Left: scan(2, []int{0}), Right: keyed, LeftKeys: []int{1}, RightKeys: []int{0}}, Group: []int{3, 2}, Out: two}, "true [[1]]"},
		{"group of a table that may be missing", &Aggregate{Input: &Join{Kind: Left, Left: scan(2), Right: keyed, LeftKeys: []int{1}, RightKeys: []int{0}}, Group: []int{3, 2}, Out: two}, "false [[1]]"},
		{"group of a view that may be missing", &Aggregate{Input: &Join{Kind: Left, Left: scan(2), Right: view, LeftKeys: []int{1}, RightKeys: []int{0}}, Group: []int{3, 2}, Out: two}, "false [[0 1]]"},
		{"group of one of two", &Aggregate{Input: &Join{Kind: Inner, Left: keyed, Right: keyed, LeftKeys: []int{1}, RightKeys: []int{1}}, Group: []int{0, 4}, Out: two}, "true [[0 1]]"},
		{"global", &Aggregate{Input: scan(3), Scalar: true}, "false [[]]"},
		{"union", &Union{[]Node{keyed, keyed}, keyed.Out}, "true []"},
		{"top 1", &TopN{Input: scan(3), Partition: []int{1}, Limit: 1}, "false [[1]]"},
		{"top 1 of all", &TopN{Input: scan(3), Limit: 1}, "false [[]]"},
		{"ranked", &TopN{Input: scan(3), Partition: []int{1}, Limit: 5, RankCol: true}, "false [[1 3]]"},
		{"single row", &SingleRow{scan(1)}, "false [[]]"},
	} {
		p := x.n.Props()
		if got := fmt.Sprint(p.AppendOnly, p.Keys); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
		for _, k := range p.Keys {
			if k == nil {
				t.Errorf("%s: a nil key", x.name)
			}
		}
	}
}

func TestWithParams(t *testing.T) {
	n := &Filter{scan(1), &expr.Not{Arg: &expr.Param{Index: 2, Typ: types.TBool}}}
	got := WithParams(n, []types.Datum{nil, true}).(*Filter)
	if c, ok := got.Cond.(*expr.Not).Arg.(*expr.Const); !ok || c.Val != true {
		t.Errorf("%#v", got.Cond)
	}
	if _, ok := n.Cond.(*expr.Not).Arg.(*expr.Param); !ok {
		t.Error("the plan given was changed")
	}
}
