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

// randomFrame makes a frame that SQL allows.
func randomFrame(r *rand.Rand) plan.Frame {
	f := plan.Frame{Mode: plan.FrameMode(r.Intn(3)), Exclude: plan.Exclude(r.Intn(4))}
	f.Start = []plan.BoundKind{plan.UnboundedPreceding, plan.Preceding, plan.Preceding, plan.CurrentRow, plan.Following}[r.Intn(5)]
	f.End = []plan.BoundKind{plan.Preceding, plan.CurrentRow, plan.Following, plan.Following, plan.UnboundedFollowing}[r.Intn(5)]
	f.End = max(f.End, f.Start) // bounds are numbered as they follow one another
	f.StartOffset, f.EndOffset = int8Const(int64(r.Intn(4))), int8Const(int64(r.Intn(4)))
	return f
}

// A change is computed only where it reaches, whatever the functions look at.
func TestWindowReach(t *testing.T) {
	in := scan(types.TInt8, types.TInt8, types.TText)
	lags := &plan.Project{Input: in, Out: append(append([]plan.Column(nil), in.Out...), plan.Column{Typ: types.TInt4})}
	for i, c := range in.Out {
		lags.Exprs = append(lags.Exprs, col(i, c.Typ))
	}
	for seed := range 300 {
		r := rand.New(rand.NewSource(int64(seed)))
		p := *lags
		offset := types.Datum(int32(r.Intn(7) - 3))
		if r.Intn(10) == 0 {
			offset = nil
		}
		p.Exprs = append(append([]expr.Expr(nil), p.Exprs...), &expr.Const{Val: offset, Typ: types.TInt4})
		var fs []plan.WindowFunc
		for range 1 + r.Intn(2) {
			f := randomFrame(r)
			switch r.Intn(8) {
			case 0:
				fs = append(fs, plan.WindowFunc{Name: []string{"lag", "lead"}[r.Intn(2)], Args: []int{2, 3}, Typ: types.TText})
			case 1, 4:
				fs = append(fs, plan.WindowFunc{Name: []string{"row_number", "rank", "dense_rank"}[r.Intn(3)], Frame: defaultFrame, Typ: types.TInt8})
			case 2, 3:
				fs = append(fs, plan.WindowFunc{Name: []string{"first_value", "last_value"}[r.Intn(2)], Args: []int{2}, Frame: f, Typ: types.TText})
			default:
				if r.Intn(2) == 0 {
					f.Start = plan.UnboundedPreceding
				}
				fs = append(fs, winAgg(t, in, []string{"sum", "count", "max"}[r.Intn(3)], f, 1))
			}
		}
		w := over(&p, []int{0}, []expr.SortKey{{Col: 1, Desc: r.Intn(2) == 0, NullsFirst: r.Intn(2) == 0}}, fs...)
		exectest.Check(t, w, lateHistory(r))
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, fmt.Sprintf("%+v", fs))
		}
	}
}

// lateHistory makes rows that come in order, more or less, and changes of which
// most concern the latest rows.
func lateHistory(r *rand.Rand) exectest.History {
	h := make(exectest.History, 7)
	var live [][]types.Datum
	at := 0
	for e := range h {
		early := r.Intn(4) == 0
		for range r.Intn(14) {
			if n := len(live); n > 0 && r.Intn(4) == 0 {
				i := n - 1 - r.Intn(min(n, 4))
				if early {
					i = r.Intn(n)
				}
				h[e] = append(h[e], exectest.Change{W: -1, Row: live[i]})
				live = append(live[:i:i], live[i+1:]...)
				continue
			}
			at++
			k := at / 3
			if early {
				k = r.Intn(k + 2)
			}
			row := []types.Datum{int64(r.Intn(5) / 4), int64(k), smallText(r)}
			if r.Intn(12) == 0 {
				row[1] = nil
			}
			live = append(live, row)
			h[e] = append(h[e], exectest.Change{W: 1, Row: row})
		}
	}
	return h
}
