package exec

import (
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// Stored is how the operators of a task read relations of their own graph. What
// they see is the graph's last committed epoch, which may be the one before the
// last that they sealed: its commit follows.
type Stored interface {
	// Open returns an image of storage and the last epoch it contains.
	Open() (StoredView, types.Epoch)
	// Committed returns the last committed epoch. It only grows.
	Committed() types.Epoch
}

// StoredView is an image of storage. It belongs to one goroutine.
type StoredView interface {
	// Rows calls f with every row of relation or index rel whose storage key begins
	// with prefix (or is it, when whole), and how often it is there. Rows are
	// borrowed until f returns.
	Rows(rel uint32, form plan.StoredForm, prefix []byte, whole bool, f func(row []byte, count int64) error) error
	Close() error
}
