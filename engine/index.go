package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner/plan"
)

// indexFor returns the index a scan is to read by; nil when it has none, or the
// index is not complete yet or has failed, so that the relation itself must be
// read.
func (r *run) indexFor(s *plan.Scan) *catalog.Index {
	ix, ok := r.cat.ByOID(s.Index).(*catalog.Index)
	if !ok || !r.s.eng.IndexComplete(ix.OID) {
		return nil
	}
	if r.view != nil && r.view.cat.ByOID(s.Index) == nil {
		return nil // it is younger than the snapshot
	}
	return ix
}
