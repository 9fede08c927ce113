package engine

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

// relationBytes estimates the size of a stored relation for the planner, which
// orders joins by it.
func (e *Runner) relationBytes(rel uint32) int64 {
	if v, ok := e.sizes.Load(rel); ok && time.Since(v.(sizeEstimate).at) < sizeAge {
		return v.(sizeEstimate).bytes
	}
	n := e.approxBytes(rel)
	e.sizes.Store(rel, sizeEstimate{n, time.Now()})
	return n
}

// usableIndexes writes down the indexes of relations that joins may read.
func (e *Runner) usableIndexes(rels []uint32) string {
	var b strings.Builder
	for _, r := range rels {
		for _, ix := range e.cat.Current().Indexes(r) {
			e.mu.RLock()
			j := e.jobs[ix.OID]
			e.mu.RUnlock()
			if j != nil && j.err() == nil && !j.creating.Load() {
				fmt.Fprintf(&b, "%d ", ix.OID)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// unsettledBytes returns the size of a relation all of whose rows may still be in
// the memory of the store, which has no estimate of them: what its first rows take,
// and for all others as much as for these.
func (e *Runner) unsettledBytes(rel uint32) int64 {
	const most = 10_000
	o := e.cat.Current().ByOID(rel)
	if o == nil {
		return 0
	}
	sn := e.store.Snapshot()
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

// approxBytes returns about how many bytes a relation takes in the store.
func (e *Runner) approxBytes(rel uint32) int64 {
	if o := e.cat.Current().ByOID(rel); o != nil {
		rel = catalog.StoreID(o)
	}
	return e.store.ApproxBytes(rel)
}

// relationSizes writes down the sizes of relations, to be kept with a view or sink
// that reads them: its plan must be the same whenever it is planned again.
func (e *Runner) relationSizes(rels []uint32) string {
	var b strings.Builder
	for _, r := range rels {
		fmt.Fprintf(&b, "%d=%d ", r, e.approxBytes(r))
	}
	return strings.TrimSpace(b.String())
}
