package engine

import (
	"fmt"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
)

// operatorWork is what the instances of a node of a running plan have done since their job
// was started.
type operatorWork struct {
	rows, batches, state int64
	tasks                int
	// Of the root of a fragment: the time its tasks were at work, and for how long
	// they made those wait who send to them.
	root       bool
	busy, held time.Duration
}

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
	j := s.eng.jobOf(v.OID)
	if j == nil || len(j.frags) == 0 {
		root, err := streamRoot(s.eng.streamOf(s.snapshot(), v))
		if err == nil {
			x.tree = planner.Explain(root, s.eng.relationBytes)
		}
		return err
	}
	x.o.summary = false
	x.tree = planner.Explain(j.frags[len(j.frags)-1].root, s.eng.relationBytes)
	by := j.work()
	x.tree.Each(func(e *planner.Explained) {
		d := by[e.Of]
		if d == nil {
			return
		}
		var in int64
		for _, k := range e.Inputs {
			if i := by[k.Of]; i != nil {
				in += i.rows
			}
		}
		e.Note = fmt.Sprintf("  (rows in=%d out=%d batches=%d)", in, d.rows, d.batches)
		for _, p := range []struct {
			name string
			n    int64
		}{{"Rows In", in}, {"Rows Out", d.rows}, {"Batches Out", d.batches}, {"State Bytes", d.state}} {
			e.Actual = append(e.Actual, planner.Property{Name: p.name, Value: p.n})
		}
		var own []planner.Property
		if d.state > 0 {
			own = append(own, planner.Property{Name: "Memory", Value: kilobytes(d.state)})
		}
		if d.root {
			own = append(own, planner.Property{Name: "Tasks", Value: d.tasks}, planner.Property{Name: "Busy", Value: millis(d.busy)},
				planner.Property{Name: "Backpressure", Value: millis(d.held)})
		}
		detail(e, own)
	})
	return nil
}

// work sums up what the instances of each node have done.
func (j *job) work() map[plan.Node]*operatorWork {
	by := map[plan.Node]*operatorWork{}
	for _, t := range j.tasks {
		for op := range t.tree.Operators() {
			n := t.tree.Node(op)
			d := by[n]
			if d == nil {
				d = &operatorWork{}
				by[n] = d
			}
			rows, batches, state := t.tree.Counts(op)
			d.rows, d.batches, d.state = d.rows+rows, d.batches+batches, d.state+state
			if op != 0 {
				continue
			}
			d.root, d.tasks, d.held = true, d.tasks+1, d.held+t.inbox.Held()
			j.mu.Lock()
			task := t.task
			j.mu.Unlock()
			if task != nil {
				d.busy += task.Busy()
			}
		}
	}
	return by
}
