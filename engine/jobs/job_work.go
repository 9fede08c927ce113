package jobs

import (
	"time"

	"github.com/streamdb/streamdb/planner/plan"
)

// operatorWork is what the instances of a node of a running plan have done since their job
// was started.
type operatorWork struct {
	Rows, Batches, State int64
	Tasks                int
	// Of the root of a fragment: the time its tasks were at work, and for how long
	// they made those wait who send to them.
	Root       bool
	Busy, Held time.Duration
}

// Work sums up what the instances of each node have done.
func (j *Job) Work() map[plan.Node]*operatorWork {
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
			d.Rows, d.Batches, d.State = d.Rows+rows, d.Batches+batches, d.State+state
			if op != 0 {
				continue
			}
			d.Root, d.Tasks, d.Held = true, d.Tasks+1, d.Held+t.inbox.Held()
			j.mu.Lock()
			task := t.task
			j.mu.Unlock()
			if task != nil {
				d.Busy += task.Busy()
			}
		}
	}
	return by
}
