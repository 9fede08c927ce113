package exec

import (
	"errors"
	"iter"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// Replayer is implemented by operators that can give out again, from their state,
// the sum of all they have emitted. What is built anew above an operator that keeps
// its state begins with that.
type Replayer interface {
	// Replay emits the operator's whole output as of its last Seal, a chunk at a
	// time. Between two chunks the operator may be sealed and saved, but gets no
	// input. Errors of rows that were reported are not reported again.
	Replay(emit Emit) error
}

// Replays reports whether the operator of a node of a stream can give out its whole
// output again. Those that do not keep all it takes are built anew from what is
// below them: without state they pass on what they get, and a recursion with UNION
// ALL keeps nothing of its rows.
func Replays(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Aggregate, *plan.Clock, *plan.Join, *plan.SetOp, *plan.SingleRow, *plan.Threshold, *plan.TopN, *plan.Upsert, *plan.Window:
		return true
	case *plan.Recursive:
		return !n.All
	}
	return false
}

// errReplayLeft ends a replay whose rest nobody wants.
var errReplayLeft = errors.New("exec: the replay was left")

// replay is a Tree's replay under way.
type replay struct {
	ops  []int
	left int // rows until it pauses
	next func() (error, bool)
	stop func()
}

// Keep makes the tree go on with state that it did not build up itself: the
// operators kept get theirs by Load, so that Start is not for them. Those in
// replayed are the uppermost of them, whose whole output what is above them is to
// get by Replay.
func (t *Tree) Keep(kept, replayed []int) {
	for _, op := range kept {
		t.nodes[op].kept = true
	}
	if len(replayed) > 0 {
		t.replay = &replay{ops: replayed}
	}
}

// Replay gives out about rows rows of what the kept operators had emitted, and
// reports whether there are more. The tree gets no input until there are none.
func (t *Tree) Replay(rows int) (more bool, err error) {
	r := t.replay
	if r == nil {
		return false, nil
	}
	if r.next == nil {
		r.next, r.stop = iter.Pull(t.replayAll)
	}
	r.left = rows
	err, more = r.next()
	if !more || err != nil {
		t.endReplay()
		return false, err
	}
	return true, nil
}

// replayAll gives out everything. It yields nil whenever it pauses, and at last the
// error that has ended it, if one has.
func (t *Tree) replayAll(yield func(error) bool) {
	r := t.replay
	for _, op := range r.ops {
		n := t.nodes[op]
		err := n.op.(Replayer).Replay(func(c *vec.Chunk) error {
			if err := n.emit(c); err != nil {
				return err
			}
			if r.left -= c.Rows; r.left <= 0 && !yield(nil) {
				return errReplayLeft
			}
			return nil
		})
		if err == errReplayLeft {
			return
		}
		if err != nil && err != ErrDone {
			yield(err)
			return
		}
	}
}

func (t *Tree) endReplay() {
	if t.replay != nil && t.replay.stop != nil {
		t.replay.stop()
	}
	t.replay = nil
}
