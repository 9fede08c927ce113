package exec

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Emit passes a chunk downstream; the receiver borrows it until Emit returns.
type Emit func(*vec.Chunk) error

// Watermark promises that no later row of the stream has a smaller value in
// column Col (µs since 2000-01-01 for timestamps).
type Watermark struct {
	Col int
	At  int64
}

// Operator is one step of a dataflow. Calls come from one goroutine, in the
// order Load? (Push|Advance)* Seal Save? ((Push|Advance)* Seal Save?)* Close.
type Operator interface {
	// Push takes changes of input in. It may emit at once or hold the effect
	// until Seal.
	Push(in int, c *vec.Chunk, emit Emit) error
	// Advance takes a watermark of input in and passes on the watermarks that
	// follow for the output.
	Advance(in int, w Watermark, pass func(Watermark) error, emit Emit) error
	// Seal ends epoch e: everything held is emitted, as the epoch's net effect.
	// All inputs have been sealed before.
	Seal(e types.Epoch, emit Emit) error
	// Close frees memory. The operator is not used afterwards.
	Close() error
}

// Stateful is implemented by operators whose state outlives an epoch.
type Stateful interface {
	// Save writes every entry of the state that changed since the last Save. It
	// is called after Seal and before the next Push.
	Save(w StateWriter) error
	// Load takes back one entry that an earlier Save wrote and no later one
	// deleted, before the first Push. Slices are borrowed.
	Load(key, val []byte) error
	// StateBytes returns the memory the state holds, in bytes.
	StateBytes() int
}

// StateWriter receives the changed entries of one operator. The vnode is that of
// the operator's distribution key (any constant for singletons); entries follow
// it when a job is restored with another parallelism. Slices are borrowed.
type StateWriter interface {
	Put(vnode int, key, val []byte)
	// PutNew is Put for a key that is not stored, which the writer cannot know.
	PutNew(vnode int, key, val []byte)
	Delete(vnode int, key []byte)
}

// put stores an entry that is saved for the first time, or again.
func put(w StateWriter, stored bool, vnode int, key, val []byte) {
	if stored {
		w.Put(vnode, key, val)
	} else {
		w.PutNew(vnode, key, val)
	}
}

// RowWriter receives the epoch's changes of a stored relation, already netted: at
// most one call a key.
type RowWriter interface {
	Put(key, val []byte)
	Delete(key []byte)
	// Add changes the count of a row stored as its whole encoding.
	Add(key []byte, weight int64)
}
