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

// lookupJoin joins two inputs of (bigint, bigint, text) by their first two
// columns, the given side read from storage.
func lookupJoin(kind plan.JoinKind, side int, whole bool) *plan.Join {
	ts := []types.T{types.TInt8, types.TInt8, types.TText}
	l, r := scan(ts...), scan(ts...)
	l.Rel, r.Rel = 1, 2
	k := &plan.Lookup{Side: side, Rel: uint32(side + 1), Form: plan.Ordered, Whole: whole, Keys: []int{1, 0},
		Stored: ts, Cols: []int{0, 1, 2}, Out: []int{0, 1, 2}}
	if whole {
		k.Form = plan.Keyed
	}
	return &plan.Join{Kind: kind, Left: l, Right: r, LeftKeys: []int{0, 1}, RightKeys: []int{0, 1}, Lookup: k}
}

var lookupKinds = []struct {
	kind plan.JoinKind
	side int
}{{plan.Inner, 0}, {plan.Inner, 1}, {plan.Left, 1}, {plan.Right, 0}, {plan.Semi, 1}, {plan.Anti, 1}}

func TestLookupJoin(t *testing.T) {
	for _, k := range lookupKinds {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			model(t, lookupJoin(k.kind, k.side, false), 25, twoInputs)
		})
	}
}

// A filter and a projection lie between the join and the scan.
func TestLookupJoinFiltered(t *testing.T) {
	for _, k := range lookupKinds {
		j := lookupJoin(k.kind, k.side, false)
		cond := op(t, "<>", col(2, types.TText), &expr.Const{Val: "bb", Typ: types.TText})
		in := j.Children()[k.side]
		out := []int{1, 2, 0} // the key columns are the last and the first one
		p := &plan.Project{Input: &plan.Filter{Input: in, Cond: cond}}
		for _, c := range out {
			p.Exprs, p.Out = append(p.Exprs, col(c, in.Schema()[c].Typ)), append(p.Out, in.Schema()[c])
		}
		if k.side == 0 {
			j.Left, j.LeftKeys = p, []int{2, 0}
		} else {
			j.Right, j.RightKeys = p, []int{2, 0}
		}
		j.Lookup.Cond, j.Lookup.Out = cond, out
		model(t, j, 15, twoInputs)
	}
}

func TestLookupJoinResidual(t *testing.T) {
	for _, k := range lookupKinds {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			j := lookupJoin(k.kind, k.side, false)
			j.Residual = op(t, "<", col(2, types.TText), col(5, types.TText))
			model(t, j, 25, twoInputs)
		})
	}
}

// The keys are a whole unique key of the stored side, as of a table.
func TestLookupJoinByUniqueKey(t *testing.T) {
	for _, k := range lookupKinds {
		j := lookupJoin(k.kind, k.side, true)
		for seed := range 20 {
			r := rand.New(rand.NewSource(int64(seed)))
			exectest.Check(t, j, uniqueHistory(r, k.side))
			if t.Failed() {
				t.Fatalf("%v, seed %d", k, seed)
			}
		}
	}
}

// uniqueHistory makes changes in which one input has each key at most once, and
// often replaces the row of a key.
func uniqueHistory(r *rand.Rand, side int) exectest.History {
	gens := twoInputs(r)
	h := make(exectest.History, 6)
	live := map[string][]types.Datum{}
	for e := range h {
		for range r.Intn(14) {
			row := gens[0]()
			if r.Intn(2) == 0 {
				h[e] = append(h[e], exectest.Change{In: 1 - side, W: 1, Row: row})
				continue
			}
			if row[0] == nil || row[1] == nil {
				continue
			}
			key := fmt.Sprint(row[:2])
			if old := live[key]; old != nil {
				h[e] = append(h[e], exectest.Change{In: side, W: -1, Row: old})
				delete(live, key)
				if r.Intn(2) == 0 {
					continue
				}
			}
			live[key] = row
			h[e] = append(h[e], exectest.Change{In: side, W: 1, Row: row})
		}
	}
	return h
}

// A join that looks up saves one side only.
func TestLookupJoinKeepsOneSide(t *testing.T) {
	j := lookupJoin(plan.Left, 1, false)
	s := exectest.NewStream(t, j, exectest.Options{ChunkRows: 1024, Restore: true})
	s.Epoch(exectest.Parse(t, j, "@1\n+ 1 1 a\n+ 1 2 b\n+ 2 2 c")[0])
	if n := s.Saved(); n != 0 {
		t.Errorf("%d entries saved for rows of the stored side", n)
	}
	s.Epoch(exectest.Parse(t, j, "@0\n+ 1 1 x\n+ 3 3 y")[0])
	if n := s.Saved(); n != 2 {
		t.Errorf("%d entries saved, want 2", n)
	}
	if d := s.Out.Diff(exectest.ParseBag("1 1 x 1 1 a\n3 3 y null null null")); d != "" {
		t.Error(d)
	}
}
