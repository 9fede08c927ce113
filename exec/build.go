package exec

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// ErrDone is returned by Push when nothing that comes from that input can matter
// any more, because a LIMIT above has its rows. Drivers stop reading the input
// and go on with the others.
var ErrDone = errors.New("exec: no more rows needed")

// ErrKeep is what RowError returns to keep a failing row, with NULL for what
// failed, instead of dropping it.
var ErrKeep = errors.New("exec: keep the row")

// BuildCtx is what the operators of one Tree share. It belongs to the goroutine
// that drives the tree.
type BuildCtx struct {
	// Expr is the evaluation context; its Errors field is the tree's own to set.
	Expr *expr.Ctx
	// Out receives the output of the root.
	Out Emit
	// RowError takes row i of c, of weight w, that failed in operator op with err.
	// Returning nil drops the row, ErrKeep keeps it with NULL, and another error
	// ends the query. A nil RowError ends the query with err.
	RowError func(op int, c *vec.Chunk, i int, w int64, err error) error
	// Rows returns the writer of a stored relation, for Materialize. The writer
	// is asked for at every Seal.
	Rows func(rel uint32) RowWriter
	// Stored reads relations, for joins that look rows up; nil: they keep the rows
	// of both sides, which all are fed.
	Stored Stored
	// Measure, when not nil, takes the time of a one-off query's operators.
	Measure *Measure
	// Batch marks a one-off query: no input takes rows away, there is a single
	// Seal and no state is saved.
	Batch bool
	// oneOff marks operators of a one-off query that run as in a stream, within a
	// recursion.
	oneOff bool
	// RunSub runs a plan whose outer references have been replaced by constants,
	// for Apply. It returns ErrDone if emit did.
	RunSub func(n plan.Node, emit Emit) error
	// Interrupt, when not nil, is asked between chunks; its error ends the query.
	Interrupt func() error
	// Now is the time that a Clock tells, µs since 2000-01-01 UTC. The driver of a
	// stream sets it before each Seal, and never back.
	Now int64
	// ChunkRows is the number of rows of a full output chunk; 0: vec.MaxRows.
	ChunkRows int
	// Check makes every edge assert its chunks and spoil them after use; for tests.
	Check bool
	// Budget bounds the bytes a blocking operator of a one-off query may hold; 0:
	// no bound.
	Budget int
}

func (b *BuildCtx) rows() int {
	if b.ChunkRows > 0 {
		return b.ChunkRows
	}
	return vec.MaxRows
}

// Input is a leaf of a Tree that its driver feeds.
type Input struct {
	Node  plan.Node // *plan.Scan or *plan.Exchange
	Types []types.T
}

// Tree is a plan fragment as operators wired to one another.
type Tree struct {
	ctx    *BuildCtx
	root   *treeNode
	nodes  []*treeNode // by operator id: pre-order
	post   []*treeNode // children before parents
	inputs []*treeNode
	replay *replay // nil: nothing to give out
}

type treeNode struct {
	id     int
	plan   plan.Node
	op     Operator // nil: an input
	parent *treeNode
	side   int // input number at the parent
	kids   []*treeNode
	emit   Emit
	pass   func(Watermark) error
	done   bool
	sealed bool
	kept   bool  // its state comes from elsewhere
	loop   *loop // the innermost recursion whose base or step the node is in
	// in are the recursions whose rows reach the node through their steps, path the
	// innermost of them.
	in   []*loop
	path *loop

	// What has come out of a node of a stream, and the memory of its state.
	rows, batches, state atomic.Int64
}

// starter is implemented by operators that emit without input.
type starter interface{ Start(emit Emit) error }

// ender is implemented by operators that can use the end of one input of a
// one-off query.
type ender interface {
	EndInput(in int, emit Emit) error
}

// Build makes the operators of a plan fragment. Leaves are Scan and Exchange
// nodes; what is below an Exchange belongs to another fragment. Operator ids
// number the nodes in pre-order, so they are stable for the same plan.
func Build(root plan.Node, ctx *BuildCtx) (*Tree, error) {
	if ctx.Expr == nil {
		ctx.Expr = &expr.Ctx{}
	}
	t := &Tree{ctx: ctx}
	var err error
	t.root, err = t.build(root, nil, 0, nil)
	if err != nil {
		return nil, err
	}
	if ctx.Measure != nil {
		ctx.Measure.reset(t.nodes)
	}
	return t, nil
}

func (t *Tree) build(p plan.Node, parent *treeNode, side int, in *loop) (*treeNode, error) {
	n := &treeNode{id: len(t.nodes), plan: p, parent: parent, side: side, loop: in}
	t.nodes = append(t.nodes, n)
	kids := p.Children()
	switch p := p.(type) {
	case *plan.Scan, *plan.Exchange:
		kids = nil
		t.inputs = append(t.inputs, n)
	case *plan.Apply:
		kids = kids[:1] // the right side is run by RunSub
	case *plan.Recursive:
		in = t.newLoop(n, p)
	}
	for i, k := range kids {
		kid, err := t.build(k, n, i, in)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	n.enclose()
	var err error
	if n.op, err = newOperator(p, &opBase{ctx: t.context(n), op: n.id, name: nodeName(p)}); err != nil {
		return nil, err
	}
	if r, ok := n.op.(looper); ok {
		r.drive(in)
	}
	switch op := n.op.(type) {
	case *limit:
		op.boundSort(n.kids[0])
	case *sink:
		op.askLast(n.kids[0])
	}
	t.wire(n)
	t.post = append(t.post, n)
	return n, nil
}

// wire connects a node's output to its parent.
func (t *Tree) wire(n *treeNode) {
	if n.parent == nil {
		n.emit = func(c *vec.Chunk) error {
			if c.Rows == 0 || t.ctx.Out == nil {
				return nil
			}
			return t.ctx.Out(c)
		}
		t.count(n, -1)
		n.pass = func(Watermark) error { return nil }
		return
	}
	defer func() {
		if t.ctx.Interrupt != nil {
			n.emit = interruptible(t.ctx.Interrupt, n.emit)
		}
		if t.ctx.Check {
			n.emit = checkedEmit(n.plan, n.emit)
		}
		t.count(n, n.parent.id)
	}()
	// The parent's operator is made after its children, hence the indirection.
	up := n.parent
	n.emit = func(c *vec.Chunk) error {
		if c.Rows == 0 {
			return nil
		}
		return up.op.Push(n.side, c, up.emit)
	}
	n.pass = func(w Watermark) error { return up.op.Advance(n.side, w, up.pass, up.emit) }
}

// count makes a node count what it emits to another.
func (t *Tree) count(n *treeNode, to int) {
	switch {
	case t.ctx.Measure != nil:
		n.emit = t.ctx.Measure.emit(n.id, to, n.emit)
	case !t.ctx.Batch:
		emit := n.emit
		n.emit = func(c *vec.Chunk) error {
			n.rows.Add(int64(c.Rows))
			n.batches.Add(1)
			return emit(c)
		}
	}
}

// Counts returns how many rows and chunks operator op has emitted and how many
// bytes its state took at the last StateBytes. It may be asked at any time.
func (t *Tree) Counts(op int) (rows, batches, state int64) {
	n := t.nodes[op]
	return n.rows.Load(), n.batches.Load(), n.state.Load()
}

// interruptible asks before each chunk whether the query is to end.
func interruptible(stop func() error, emit Emit) Emit {
	return func(c *vec.Chunk) error {
		if err := stop(); err != nil {
			return err
		}
		return emit(c)
	}
}

// newOperator makes the operator of one node; nil for inputs.
func newOperator(p plan.Node, b *opBase) (Operator, error) {
	switch p := p.(type) {
	case *plan.Scan, *plan.Exchange, *plan.WorkTable:
		return nil, nil
	case *plan.Values:
		return newValues(p, b)
	case *plan.Clock:
		return newClock(p, b)
	case *plan.TableFunc:
		return newTableFunc(p, b)
	case *plan.Upsert:
		return newUpsert(p, b), nil
	case *plan.Filter:
		return newFilter(p, b)
	case *plan.Project:
		return newProject(p, b)
	case *plan.ProjectSet:
		return newProjectSet(p, b)
	case *plan.Union:
		return newUnion(p, b), nil
	case *plan.Aggregate:
		return newHashAgg(p, b)
	case *plan.Join:
		return newHashJoin(p, b)
	case *plan.Window:
		return newWindow(p, b)
	case *plan.Apply:
		return newApply(p, b)
	case *plan.SetOp:
		return newSetOp(p, b), nil
	case *plan.Recursive:
		return newRecursive(p, b), nil
	case *plan.TopN:
		return newTopN(p, b)
	case *plan.Sort:
		return newSort(p, b)
	case *plan.Limit:
		return newLimit(p, b)
	case *plan.Threshold:
		return newThreshold(p, b), nil
	case *plan.SingleRow:
		return newSingleRow(p, b), nil
	case *plan.Materialize:
		return newMaterialize(p, b), nil
	case *plan.Sink:
		return newSink(p, b), nil
	}
	return nil, pgerr.New(pgerr.Internal, "no operator for plan node %T", p)
}

// nodeName returns the name of a plan node for messages: Aggregate, Join.
func nodeName(p plan.Node) string { return fmt.Sprintf("%T", p)[len("*plan."):] }

// Inputs returns the leaves to feed, from left to right.
func (t *Tree) Inputs() []Input {
	ins := make([]Input, len(t.inputs))
	for i, n := range t.inputs {
		ins[i] = Input{Node: n.plan, Types: plan.Types(n.plan.Schema())}
	}
	return ins
}

// InputOperator returns the operator id of an input.
func (t *Tree) InputOperator(in int) int { return t.inputs[in].id }

// InputOrder returns the order in which a one-off query best reads its inputs
// whole, ending each with EndInput: what a join builds on before what probes it.
func (t *Tree) InputOrder() []int {
	pos := map[*treeNode]int{}
	for i, n := range t.inputs {
		pos[n] = i
	}
	var order []int
	var walk func(n *treeNode)
	walk = func(n *treeNode) {
		if i, ok := pos[n]; ok {
			order = append(order, i)
		}
		for i := range n.kids {
			if _, ok := n.plan.(*plan.Join); ok {
				i = len(n.kids) - 1 - i
			}
			walk(n.kids[i])
		}
	}
	walk(t.root)
	return order
}

// Start lets the leaves that need no input emit their rows: once in the life of
// a query or a stream, before its first Seal, and not after a restore. Leaves whose
// state was taken over (see Keep) have done so.
func (t *Tree) Start() error {
	for _, n := range t.post {
		if s, ok := n.op.(starter); ok && !n.kept {
			if err := t.measured(n, func() error { return s.Start(n.emit) }); err != nil && err != ErrDone {
				return err
			}
		}
	}
	if !t.ctx.Batch {
		return nil
	}
	// Only now, as ending a leaf seals operators above it, which must have started.
	for _, n := range t.post {
		if n.op != nil && len(n.kids) == 0 {
			if err := t.ended(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Push feeds rows to an input; c is borrowed.
func (t *Tree) Push(in int, c *vec.Chunk) error { return t.inputs[in].emit(c) }

// Advance feeds a watermark to an input.
func (t *Tree) Advance(in int, w Watermark) error { return t.inputs[in].pass(w) }

// EndInput tells a one-off query that an input is exhausted, so that operators
// all of whose inputs have ended can emit and free their memory.
func (t *Tree) EndInput(in int) error { return t.ended(t.inputs[in]) }

func (t *Tree) end(n *treeNode) error {
	for !n.done {
		n.done = true
		if n.op != nil {
			if err := t.measured(n, func() error { return n.op.Seal(0, n.emit) }); err != nil && err != ErrDone {
				return err
			}
			n.sealed = true
		}
		up := n.parent
		if up == nil {
			return nil
		}
		if e, ok := up.op.(ender); ok && t.context(up).Batch {
			if err := t.measured(up, func() error { return e.EndInput(n.side, up.emit) }); err != nil && err != ErrDone {
				return err
			}
		}
		for _, k := range up.kids {
			if !k.done {
				return nil
			}
		}
		n = up
	}
	return nil
}

// Seal ends epoch e, children before parents. In a one-off query it ends every
// input.
func (t *Tree) Seal(e types.Epoch) error {
	for _, n := range t.post {
		if n.op == nil || n.sealed || t.ctx.Batch && n.path != nil {
			continue // the path of a recursion is sealed by its operator
		}
		if err := t.measured(n, func() error { return n.op.Seal(e, n.emit) }); err != nil && err != ErrDone {
			return err
		}
		n.sealed = t.ctx.Batch
	}
	return nil
}

// SetNow tells the time that clocks show from the next Seal on.
func (t *Tree) SetNow(micros int64) { t.ctx.Now = micros }

// Save writes the state that changed since the last Save, operator by operator.
func (t *Tree) Save(w func(op int) StateWriter) error {
	for _, n := range t.nodes {
		if s, ok := n.op.(Stateful); ok {
			if err := s.Save(w(n.id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Load gives operator op back one entry of its saved state.
func (t *Tree) Load(op int, key, val []byte) error {
	if op < 0 || op >= len(t.nodes) {
		return pgerr.New(pgerr.DataCorrupted, "saved state names operator %d of %d", op, len(t.nodes))
	}
	s, ok := t.nodes[op].op.(Stateful)
	if !ok {
		return pgerr.New(pgerr.DataCorrupted, "saved state names operator %d, which has none", op)
	}
	return s.Load(key, val)
}

// StateBytes returns the memory held by state.
func (t *Tree) StateBytes() int {
	sum := 0
	for _, n := range t.nodes {
		if s, ok := n.op.(Stateful); ok {
			b := s.StateBytes()
			n.state.Store(int64(b))
			sum += b
		}
	}
	return sum
}

// Operators returns the number of operators; ids are below it.
func (t *Tree) Operators() int { return len(t.nodes) }

// Node returns the plan node of operator op.
func (t *Tree) Node(op int) plan.Node { return t.nodes[op].plan }

// Close frees the operators.
func (t *Tree) Close() error {
	t.endReplay()
	var first error
	for _, n := range t.nodes {
		if n.op == nil {
			continue
		}
		if err := n.op.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
