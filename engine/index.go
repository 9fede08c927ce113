package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
)

// An index is a job like a materialized view: it stores the rows of its relation
// once more, under a key that begins with the indexed columns. It commits with
// the relation's epochs, so a read by the index sees what a read of the relation
// sees.

// indexKey returns the storage key of an index: the indexed columns, then what
// the relation's own key adds. Without one the key is not unique, and the rows
// are counted.
func indexKey(ix *catalog.Index, rel catalog.Relation) []int {
	var key []int
	seen := map[int]bool{}
	add := func(k int) {
		if !seen[k] {
			seen[k] = true
			key = append(key, k)
		}
	}
	for _, k := range ix.Keys {
		add(k.Column)
	}
	for _, k := range storageKey(rel) {
		add(k)
	}
	return key
}

// planIndex is the dataflow of an index.
func planIndex(snap *catalog.Snapshot, ix *catalog.Index) (plan.Node, error) {
	rel, ok := snap.ByOID(ix.Table).(catalog.Relation)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedTable, "the relation of index \"%s\" does not exist", ix.Name)
	}
	kind := plan.RelTable
	if rel.Kind() == catalog.KindMatView {
		kind = plan.RelView
	}
	s := &plan.Scan{Rel: ix.Table, Name: rel.Header().Name, Kind: kind}
	if key := storageKey(rel); key != nil {
		s.P.Keys = [][]int{key}
	}
	for i, c := range rel.Cols() {
		s.Cols = append(s.Cols, i)
		s.Out = append(s.Out, plan.Column{Name: c.Name, Typ: c.Type})
	}
	return &plan.Materialize{Input: s, Rel: ix.OID, Key: indexKey(ix, rel), Ordered: storageKey(rel) == nil}, nil
}

// indexFor returns the index a scan is to read by; nil when it has none or the
// index has failed, so that the relation itself must be read.
func (r *run) indexFor(s *plan.Scan) *catalog.Index {
	ix, ok := r.cat.ByOID(s.Index).(*catalog.Index)
	if !ok {
		return nil
	}
	e := r.s.eng
	e.mu.RLock()
	j := e.jobs[ix.OID]
	e.mu.RUnlock()
	if j == nil || j.err() != nil {
		return nil
	}
	return ix
}
