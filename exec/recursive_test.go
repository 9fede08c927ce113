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

// reach is WITH RECURSIVE r AS (SELECT node FROM start UNION [ALL] SELECT e.to
// FROM r JOIN edge e ON e.from = r.node) over the inputs start and edge.
func reach(all bool, node types.T) *plan.Recursive {
	out := []plan.Column{{Name: "node", Typ: node}}
	work := &plan.WorkTable{ID: 1, Name: "r", Out: append(out[:1:1], plan.Column{Name: "iteration", Typ: types.TInt8})}
	join := &plan.Join{Kind: plan.Inner, Left: work, Right: scan(node, node), LeftKeys: []int{0}, RightKeys: []int{0}}
	step := &plan.Project{Input: join, Exprs: []expr.Expr{col(3, node), col(1, types.TInt8)}, Out: work.Out}
	return &plan.Recursive{Base: scan(node), Step: step, ID: 1, All: all, Out: out}
}

func TestRecursiveUnion(t *testing.T) {
	exectest.Run(t, reach(false, types.TInt8), `
		+ 1
		@1
		+ 1 2
		+ 2 3
		+ 3 1
		+ 3 4
		|
		+ 1 3
		|
		- 1 2
		- 1 3
		|
		+ 1 4
		+ 4 2
		|
		@0
		- 1`, ``)
}

// A cycle that nothing leads to any more must not keep itself alive.
func TestRecursiveUnionCycle(t *testing.T) {
	exectest.Run(t, reach(false, types.TText), `
		+ a
		@1
		+ a b
		+ b c
		+ c b
		+ c c
		|
		- a b`, `a`)
}

// Rows that are equal but look different are one row, shown as the least of those
// that the first iteration with any of them derives.
func TestRecursiveUnionShown(t *testing.T) {
	exectest.Run(t, reach(false, types.TNumeric), `
		+ 1
		@1
		+ 1.0 2.00
		+ 1.00 2.0
		+ 2 1.000
		|
		- 1.00 2.0
		|
		+ 1 2
		- 1.0 2.00`, ``)
}

func TestRecursiveAll(t *testing.T) {
	exectest.Run(t, reach(true, types.TInt8), `
		+ 1
		@1
		+ 1 2
		+ 1 3
		+ 2 4
		+ 3 4
		+2 4 5
		|
		- 4 5
		+ 2 3
		|
		@0
		+ 1
		+ 4
		|
		- 1`, ``)
}

// TestRecursiveRandom runs random histories of random graphs; the harness compares
// with a one-off run after every epoch.
func TestRecursiveRandom(t *testing.T) {
	for seed := range int64(25) {
		rnd := rand.New(rand.NewSource(seed))
		all := seed%3 == 0 // acyclic: edges lead upwards
		n := 2 + rnd.Intn(6)
		have := [2]map[string]int{{}, {}}
		rows := map[string]exectest.Change{}
		var h exectest.History
		for range 8 {
			var e []exectest.Change
			for range 1 + rnd.Intn(6) {
				c := exectest.Change{In: rnd.Intn(4) & 1, W: 1}
				a, b := rnd.Intn(n), rnd.Intn(n)
				if all && a >= b {
					a, b = b, a+1
				}
				c.Row = []types.Datum{int64(a), int64(b)}[:1+c.In]
				key := fmt.Sprint(c.Row)
				if rnd.Intn(2) == 0 && have[c.In][key] > 0 {
					c.W = -1
				}
				have[c.In][key] += int(c.W)
				rows[key] = c
				e = append(e, c)
			}
			h = append(h, e)
		}
		// In the end all goes, which must leave no trace.
		var last []exectest.Change
		for in := range have {
			for key, w := range have[in] {
				if w > 0 {
					c := rows[key]
					c.W = -int64(w)
					last = append(last, c)
				}
			}
		}
		h = append(h, last)
		exectest.Check(t, reach(all, types.TInt8), h)
		s := exectest.NewStream(t, reach(all, types.TInt8), exectest.Options{ChunkRows: 3, Restore: true})
		for _, e := range h {
			s.Epoch(e)
		}
		if s.Saved() > 0 || len(s.Out) > 0 {
			t.Fatalf("seed %d: %d saved entries and %d rows are left of nothing", seed, s.Saved(), len(s.Out))
		}
	}
}
