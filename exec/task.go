package exec

import (
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// SourceProgress accompanies a source reader's chunk: where its splits stand
// after it, and the records that did not become rows.
type SourceProgress struct {
	Offsets map[string]string
	Bad     []connector.BadRecord
	Scan    int  // the operator that they are of
	Fail    bool // a bad record ends the job
	End     bool
}

// TaskSpec is what a task needs. The functions are called on its goroutine.
type TaskSpec struct {
	Name  string
	Tree  *Tree
	Inbox *Inbox
	Out   Output // nil: the tree's output goes nowhere
	Seat  *Seat  // nil: the task works whenever there is something to do
	// Fresh runs Tree.Start before anything else: the job has no state yet.
	Fresh bool
	// ReplayRows, if not 0, is about how many rows of its replay the tree gives out
	// in an epoch (see Tree.Keep), and Replayed is called when it is over. Until then
	// nothing is sent to the task but barriers.
	ReplayRows int
	Replayed   func()
	// Progress takes note of what came with a source's chunk, before the chunk.
	Progress func(*SourceProgress) error
	// Sealed reports that everything of the epoch is done and that the barrier has
	// been passed on: once every task has reported, no message of the epoch is
	// under way and the graph's structure may change.
	Sealed func(b *Barrier) error
	// Failed reports the error that ended the tree. The task goes on passing
	// barriers so that its neighbours do not stall.
	Failed func(err error)
}

// Task drives a Tree on one goroutine: it takes messages from its inbox in
// alignment order, seals at barriers, and is the boundary that no panic of an
// operator crosses.
type Task struct {
	TaskSpec
	broken bool
	done   chan struct{}
	busy   atomic.Int64 // ns
}

// Busy returns the time the task has not waited for messages. It may be asked at
// any time.
func (t *Task) Busy() time.Duration { return time.Duration(t.busy.Load()) }

// StartTask starts a task. It ends when its inbox is stopped.
func StartTask(s TaskSpec) *Task {
	t := &Task{TaskSpec: s, done: make(chan struct{})}
	go t.run()
	return t
}

// Done is closed when the task has ended.
func (t *Task) Done() <-chan struct{} { return t.done }

func (t *Task) run() {
	defer close(t.done)
	defer func() { _ = t.guard(t.Tree.Close) }()
	if t.Fresh {
		t.step(t.Tree.Start)
	}
	due := t.ReplayRows > 0
	for {
		if due && !t.broken {
			due = false
			t.step(t.replay)
		}
		t.Seat.Leave()
		m, input, ok := t.Inbox.next()
		if !ok {
			return
		}
		t.Seat.Take()
		began := time.Now()
		if m.Barrier != nil {
			t.barrier(m.Barrier)
			due = t.ReplayRows > 0
			t.busy.Add(int64(time.Since(began)))
			continue
		}
		if !t.broken {
			t.step(func() error { return t.push(input, m.Chunk, m.Source) })
		}
		if m.Pool != nil && m.Chunk != nil {
			m.Pool.Put(m.Chunk)
		}
		t.busy.Add(int64(time.Since(began)))
	}
}

// replay gives out an epoch's share of what the tree's state holds.
func (t *Task) replay() error {
	more, err := t.Tree.Replay(t.ReplayRows)
	if err == nil && !more {
		t.ReplayRows = 0
		t.Replayed()
	}
	return err
}

func (t *Task) push(input int, c *vec.Chunk, s *SourceProgress) error {
	if s != nil {
		if err := t.Progress(s); err != nil {
			return err
		}
	}
	if c == nil || c.Rows == 0 {
		return nil
	}
	return t.Tree.Push(input, c)
}

func (t *Task) barrier(b *Barrier) {
	if !t.broken {
		t.step(func() error {
			t.Tree.SetNow(b.Now)
			return t.Tree.Seal(b.Epoch)
		})
	}
	if t.Out != nil {
		if err := t.Out.Barrier(b); err != nil && err != ErrStopped {
			t.fail(err)
		}
	}
	// Reported any earlier, an output that is attached once all have sealed could
	// still get this epoch's barrier, and its reader would be one barrier behind
	// for ever.
	if err := t.guard(func() error { return t.Sealed(b) }); err != nil {
		t.fail(err)
	}
}

// step runs a piece of the tree; an error breaks the task, once.
func (t *Task) step(f func() error) {
	if err := t.guard(f); err != nil && err != ErrStopped {
		t.fail(err)
	}
}

func (t *Task) fail(err error) {
	if t.broken {
		return
	}
	t.broken = true
	t.Failed(err)
}

// Broken reports whether the tree has failed; for Sealed.
func (t *Task) Broken() bool { return t.broken }

// guard turns a panic into an error that carries the stack as its context.
func (t *Task) guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(*pgerr.Error); ok { // a limit that has no other way out
				err = e
				return
			}
			e := pgerr.New(pgerr.Internal, "an operator of %s panicked: %v", t.Name, r)
			e.Where = string(debug.Stack())
			err = e
		}
	}()
	return f()
}
