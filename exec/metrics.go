package exec

import (
	"time"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// Measure takes the time of the operators of a one-off query, chunk by chunk. All
// time belongs to one operator at a time: to the one whose code runs, and while a
// relation is read to its scan. It belongs to the goroutine that drives the tree.
type Measure struct {
	Nodes []Measured // by operator id, once the tree is built
	begin time.Time
	last  time.Time
	cur   int // -1: none
}

// Measured is what one operator did.
type Measured struct {
	Node          plan.Node
	Rows, Batches int64         // that came out
	First         time.Duration // from the begin to the first row; 0: none came
	Self          time.Duration // in the operator itself
	Bytes         int           // of memory held at its end
}

func (m *Measure) reset(nodes []*treeNode) {
	m.Nodes, m.cur = make([]Measured, len(nodes)), -1
	for i, n := range nodes {
		m.Nodes[i].Node = n.plan
	}
	m.begin = time.Now()
	m.last = m.begin
}

// enter makes the time from now on that of an operator and returns whose it was.
func (m *Measure) enter(id int) int {
	now := time.Now()
	if m.cur >= 0 {
		m.Nodes[m.cur].Self += now.Sub(m.last)
	}
	was := m.cur
	m.last, m.cur = now, id
	return was
}

// emit counts what comes out of an operator and gives the time that its taker
// spends on it to that (-1: nobody).
func (m *Measure) emit(from, to int, emit Emit) Emit {
	return func(c *vec.Chunk) error {
		was := m.enter(to)
		if n := &m.Nodes[from]; c.Rows > 0 {
			if n.Batches++; n.Batches == 1 {
				n.First = m.last.Sub(m.begin)
			}
			n.Rows += countRows(c)
		}
		err := emit(c)
		m.enter(was)
		return err
	}
}

// countRows counts each row as often as its weight says, taken ones too.
func countRows(c *vec.Chunk) int64 {
	if c.Diff == nil {
		return int64(c.Rows)
	}
	var n int64
	for _, w := range c.Diff[:c.Rows] {
		n += max(w, -w)
	}
	return n
}

// measured runs a step of an operator.
func (t *Tree) measured(n *treeNode, f func() error) error {
	m := t.ctx.Measure
	if m == nil {
		return f()
	}
	was := m.enter(n.id)
	if s, ok := n.op.(Stateful); ok {
		m.Nodes[n.id].Bytes = max(m.Nodes[n.id].Bytes, s.StateBytes())
	} else if s, ok := n.op.(interface{ heldBytes() int }); ok {
		m.Nodes[n.id].Bytes = max(m.Nodes[n.id].Bytes, s.heldBytes())
	}
	err := f()
	m.enter(was)
	return err
}

// Reading makes the time from now on that of reading input in; -1: of nothing.
func (t *Tree) Reading(in int) {
	m := t.ctx.Measure
	switch {
	case m == nil:
	case in < 0:
		m.enter(-1)
	default:
		m.enter(t.inputs[in].id)
	}
}

// Total is the time of a node with all below it, given what a function tells of
// each node.
func (m *Measure) Total(n plan.Node, of func(plan.Node) *Measured) time.Duration {
	var sum time.Duration
	if x := of(n); x != nil {
		sum = x.Self
	}
	for _, c := range n.Children() {
		sum += m.Total(c, of)
	}
	return sum
}

// awaitSpace waits while the edge is full, and notes for how long. The inbox is
// locked.
func (e *Edge) awaitSpace() {
	began := time.Now()
	e.seat.Leave()
	for e.rows >= edgeRowsMax && !e.in.stopped {
		e.space.Wait()
	}
	e.in.held += time.Since(began)
	if e.seat != nil {
		e.in.mu.Unlock()
		e.seat.Take()
		e.in.mu.Lock()
	}
}
