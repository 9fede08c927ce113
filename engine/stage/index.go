package stage

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// An index is a job like a materialized view: it stores the rows of its relation
// once more, under a key that begins with the indexed columns, followed by the
// values of the keys that are expressions. It commits with the relation's epochs,
// so a read by the index sees what a read of the relation sees. A unique index is
// enforced by the graph before an epoch begins, see unique.go.

// indexPlanner binds what the catalog stores of indexes. Their expressions are
// immutable, so no session matters.
func indexPlanner(snap *catalog.Snapshot) *planner.Planner {
	return &planner.Planner{Cat: snap, Session: &expr.Session{}}
}

// IndexKey returns the storage key of an index, over its stored rows.
func IndexKey(ix *catalog.Index, rel catalog.Relation) []int {
	var keys []int
	n := len(rel.Cols())
	for _, k := range ix.Keys {
		if k.Column >= 0 {
			keys = append(keys, k.Column)
		} else {
			keys = append(keys, n)
			n++
		}
	}
	return planner.IndexKey(keys, catalog.StorageKey(rel))
}

// IndexTypes are the types of the columns that an index stores.
func IndexTypes(ix *catalog.Index, rel catalog.Relation) []types.T {
	ts := ColumnTypes(rel.Cols())
	for _, k := range ix.Keys {
		if k.As != nil {
			ts = append(ts, k.As.Type)
		}
	}
	return ts
}

// PlanIndex is the dataflow of an index.
func PlanIndex(snap *catalog.Snapshot, ix *catalog.Index) (plan.Node, error) {
	rel, ok := snap.ByOID(ix.Table).(catalog.Relation)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedTable, "the relation of index \"%s\" does not exist", ix.Name)
	}
	return indexPlanner(snap).PlanIndex(ix, catalog.StorageKey(rel))
}
