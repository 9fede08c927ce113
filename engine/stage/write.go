package stage

import (
	"errors"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// Write is one statement's or transaction's changes to tables, to be committed
// in one epoch.
type Write struct {
	Tables []TableWrite
	Reads  *ReadSet // what must not have changed; nil: anything may
	Done   chan error
}

// TableWrite is the change of one table: whole rows with weights, in the order
// they were made. A keyed table's changes hold at most one delete, then at most
// one insert, for a key at a time.
type TableWrite struct {
	Rel  uint32
	Name string
	// Revision is that of the table for which the rows were checked.
	Revision uint32
	Key      []int // storage key columns; nil: none
	Rows     *vec.Chunk
	// Lenient: some of the rows are there because a key was found free (ON CONFLICT),
	// so a key that is taken by now is a conflict, not an error.
	Lenient bool
	// Checked: every key was found as the changes expect it, in snapshots of which the
	// oldest has the clock SeenAt.
	Checked  bool
	SeenAt   uint64
	Unique   []*UniqueKeys
	Later    []*LaterKeys     // of keys that are checked later
	Enforced []*catalog.Index // those that Unique and Later are of
	// Whole: rows are all that the table has; what is stored is not to be read. Its
	// columns are others than those of the stored rows.
	Whole bool
	// Keys is, for a keyed table inside a transaction, what became of each key
	// written: its row, or nil; built when first needed.
	Keys map[string][]byte
}

// ErrConflict means that a row read by the statement has changed since.
var ErrConflict = errors.New("engine: a concurrent write changed the rows read")

// SerializationFailure is the error of a transaction that can only be run again.
func SerializationFailure() error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithHint("Run the transaction again.")
}

// ConflictError is what a client gets for a conflict: the violation of a key as such,
// anything else as a reason to run the transaction again.
func ConflictError(err error) error {
	var v Violation
	switch {
	case errors.As(err, &v):
		return v.Err
	case errors.Is(err, ReadConflict{}):
		return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to read/write dependencies among transactions").
			WithHint("The transaction might succeed if retried.")
	case errors.Is(err, ErrConflict):
		return SerializationFailure()
	}
	return err
}
