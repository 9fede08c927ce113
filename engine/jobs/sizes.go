package jobs

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamdb/streamdb/catalog"
)

// sizeAge is how long an estimate of a relation's size serves the planner.
const sizeAge = 2 * time.Second

// sizeEstimate is a relation's size on disk at a time.
type sizeEstimate struct {
	bytes int64
	at    time.Time
}

// RelationBytes estimates the size of a stored relation for the planner, which
// orders joins by it.
func (e *Runner) RelationBytes(rel uint32) int64 {
	if v, ok := e.sizes.Load(rel); ok && time.Since(v.(sizeEstimate).at) < sizeAge {
		return v.(sizeEstimate).bytes
	}
	n := e.ApproxBytes(rel)
	e.sizes.Store(rel, sizeEstimate{n, time.Now()})
	return n
}

// UsableIndexes writes down the indexes of relations that joins may read.
func (e *Runner) UsableIndexes(rels []uint32) string {
	var b strings.Builder
	for _, r := range rels {
		for _, ix := range e.Catalog.Current().Indexes(r) {
			e.mu.RLock()
			j := e.jobs[ix.OID]
			e.mu.RUnlock()
			if j != nil && j.Err() == nil && !j.creating.Load() {
				fmt.Fprintf(&b, "%d ", ix.OID)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// UnsettledBytes returns the size of a relation all of whose rows may still be in
// the memory of the store, which has no estimate of them: what its first rows take,
// and for all others as much as for these.
func (e *Runner) UnsettledBytes(rel uint32) int64 {
	const most = 10_000
	o := e.Catalog.Current().ByOID(rel)
	if o == nil {
		return 0
	}
	sn := e.Store.Snapshot()
	defer sn.Close()
	it, err := sn.Scan(catalog.StoreID(o), nil, nil)
	if err != nil {
		return 0
	}
	defer it.Close()
	var n int64
	for rows := 0; rows < most && it.Next(); rows++ {
		n += int64(len(it.Key()) + len(it.Val()))
	}
	return n
}

// ApproxBytes returns about how many bytes a relation takes in the store.
func (e *Runner) ApproxBytes(rel uint32) int64 {
	if o := e.Catalog.Current().ByOID(rel); o != nil {
		rel = catalog.StoreID(o)
	}
	return e.Store.ApproxBytes(rel)
}

// RelationSizes writes down the sizes of relations, to be kept with a view or sink
// that reads them: its plan must be the same whenever it is planned again.
func (e *Runner) RelationSizes(rels []uint32) string {
	var b strings.Builder
	for _, r := range rels {
		fmt.Fprintf(&b, "%d=%d ", r, e.ApproxBytes(r))
	}
	return strings.TrimSpace(b.String())
}
