package engine

import (
	"fmt"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// running shows a view's dataflow with what its operators have done.
func (x *explanation) running(name sql.Name) error {
	s := x.s
	v, err := s.resolveMatView(s.snapshot(), name)
	if err != nil {
		return err
	}
	if err := s.may(v, catalog.Select); err != nil {
		return err
	}
	j := s.eng.JobOf(v.OID)
	if j == nil || len(j.Frags) == 0 {
		root, err := streamRoot(s.eng.StreamOf(s.snapshot(), v))
		if err == nil {
			x.tree = planner.Explain(root, s.eng.RelationBytes)
		}
		return err
	}
	x.o.summary = false
	x.tree = planner.Explain(j.Frags[len(j.Frags)-1].Root, s.eng.RelationBytes)
	by := j.Work()
	x.tree.Each(func(e *planner.Explained) {
		d := by[e.Of]
		if d == nil {
			return
		}
		var in int64
		for _, k := range e.Inputs {
			if i := by[k.Of]; i != nil {
				in += i.Rows
			}
		}
		e.Note = fmt.Sprintf("  (rows in=%d out=%d batches=%d)", in, d.Rows, d.Batches)
		for _, p := range []struct {
			name string
			n    int64
		}{{"Rows In", in}, {"Rows Out", d.Rows}, {"Batches Out", d.Batches}, {"State Bytes", d.State}} {
			e.Actual = append(e.Actual, planner.Property{Name: p.name, Value: p.n})
		}
		var own []planner.Property
		if d.State > 0 {
			own = append(own, planner.Property{Name: "Memory", Value: kilobytes(d.State)})
		}
		if d.Root {
			own = append(own, planner.Property{Name: "Tasks", Value: d.Tasks}, planner.Property{Name: "Busy", Value: millis(d.Busy)},
				planner.Property{Name: "Backpressure", Value: millis(d.Held)})
		}
		detail(e, own)
	})
	return nil
}
