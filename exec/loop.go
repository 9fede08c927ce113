package exec

import (
	"slices"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// loop is a recursion's part of a Tree: what its operator drives.
//
// The operators between the work tables and the Recursive node are its path. They
// are the usual ones; rows carry the number of their iteration, so that one set of
// operators holds all iterations side by side. The recursive operator sends the
// changes of one iteration's rows to the work tables, seals the path, and so gets
// the changes of the next one.
type loop struct {
	id    int
	outer *loop // the recursion around it
	node  *treeNode
	refs  []*treeNode // work tables
	path  []*treeNode // children before parents
	// simple: no operator of the path of a one-off query holds anything back, so
	// there is nothing to seal.
	simple bool
	// ctx is the context of the path's operators: in a one-off query that is not
	// simple they run as in a stream, since they seal more than once.
	ctx  *BuildCtx
	open int // one-off queries: inputs of base and step that have not ended
	done bool
}

// looper is implemented by the operator of a recursion.
type looper interface{ drive(l *loop) }

// newLoop begins a recursion, before its base and step are built.
func (t *Tree) newLoop(n *treeNode, p *plan.Recursive) *loop {
	l := &loop{id: p.ID, outer: n.loop, node: n, ctx: t.ctx}
	l.simple = t.ctx.Batch && l.outer == nil && simpleStep(p.Step, p.ID)
	if t.ctx.Batch && !l.simple {
		c := *t.ctx
		c.Batch, c.oneOff = false, true
		l.ctx = &c
	}
	return l
}

// context returns the context for a node's operator.
func (t *Tree) context(n *treeNode) *BuildCtx {
	if _, ok := n.plan.(*plan.Apply); ok || n.path == nil {
		return t.ctx
	}
	return n.path.ctx
}

// enclose notes a node's place in the recursion around it, when its inputs are
// built.
func (n *treeNode) enclose() {
	if w, ok := n.plan.(*plan.WorkTable); ok {
		for l := n.loop; l != nil; l = l.outer {
			if l.id == w.ID {
				l.refs = append(l.refs, n)
				n.in, n.path = []*loop{l}, l
			}
		}
		return
	}
	if len(n.kids) == 0 {
		for l := n.loop; l != nil; l = l.outer {
			l.open++
		}
	}
	for l := n.loop; l != nil; l = l.outer { // from the innermost
		if !slices.ContainsFunc(n.kids, func(k *treeNode) bool { return slices.Contains(k.in, l) }) {
			continue
		}
		n.in = append(n.in, l)
		l.path = append(l.path, n)
	}
	if len(n.in) > 0 {
		n.path = n.in[0]
	}
}

// ended counts the end of a leaf, and runs the recursions that waited for it. One on
// the path of another is run by that.
func (t *Tree) ended(n *treeNode) error {
	for l := n.loop; l != nil; l = l.outer {
		l.open--
	}
	if err := t.end(n); err != nil {
		return err
	}
	for l := n.loop; l != nil; l = l.outer {
		if l.open == 0 && !l.done && l.node.path == nil {
			l.close()
			if err := t.end(l.node); err != nil {
				return err
			}
		}
	}
	return nil
}

// close leaves the path out of further seals.
func (l *loop) close() {
	l.done = true
	for _, n := range l.path {
		n.done, n.sealed = true, true
	}
}

// seal ends an iteration of the path.
func (l *loop) seal(e types.Epoch) error {
	if l.simple {
		return nil
	}
	for _, n := range l.path {
		if err := n.op.Seal(e, n.emit); err != nil && err != ErrDone {
			return err
		}
	}
	return nil
}

// simpleStep reports whether all operators of a path pass on at once what the rows
// of an iteration yield, if their other inputs are complete.
func simpleStep(n plan.Node, id int) bool {
	var on []bool
	any := false
	for _, k := range n.Children() {
		r := readsWork(k, id)
		on, any = append(on, r), any || r
		if r && !simpleStep(k, id) {
			return false
		}
	}
	if !any {
		return true
	}
	switch n := n.(type) {
	case *plan.Filter, *plan.Project, *plan.ProjectSet, *plan.Union, *plan.Apply:
		return true
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			return on[0] != on[1]
		case plan.Right:
			return !on[0]
		case plan.Full:
			return false
		}
		return !on[1]
	}
	return false
}

func readsWork(n plan.Node, id int) bool {
	found := false
	plan.Walk(n, func(x plan.Node) bool {
		w, ok := x.(*plan.WorkTable)
		found = found || ok && w.ID == id
		return !found
	})
	return found
}

// loopOutput sends encoded rows to the work tables, with their iteration, and to
// the output.
type loopOutput struct {
	format *rowFormat
	work   *vec.Chunk // the columns and the iteration
	out    *vec.Chunk
	diff   []int64
	max    int
}

func newLoopOutput(f *rowFormat, ts []types.T, max int) *loopOutput {
	return &loopOutput{format: f, max: max, out: vec.NewChunk(ts, 0),
		work: vec.NewChunk(append(ts[:len(ts):len(ts)], types.TInt8), 0)}
}

// feed sends the rows of an iteration to the work tables.
func (o *loopOutput) feed(l *loop, rows [][]byte, ws []int64, iter int64) error {
	for _, ref := range l.refs {
		err := o.send(o.work, rows, ws, func(c *vec.Chunk) error {
			v := c.Cols[len(c.Cols)-1].(*vec.Col[int64])
			for range c.Rows {
				v.Vals = append(v.Vals, iter)
			}
			return ref.emit(c)
		})
		if err != nil && err != ErrDone {
			return err
		}
	}
	return nil
}

func (o *loopOutput) send(c *vec.Chunk, rows [][]byte, ws []int64, emit Emit) error {
	for len(rows) > 0 {
		n := min(len(rows), o.max)
		c.Reset()
		o.format.decode(c, 0, rows[:n])
		c.Rows, c.Diff = n, nil
		for _, w := range ws[:n] {
			if w != 1 {
				o.diff = append(o.diff[:0], ws[:n]...)
				c.Diff = o.diff
				break
			}
		}
		if err := emit(c); err != nil {
			return err
		}
		rows, ws = rows[n:], ws[n:]
	}
	return nil
}
