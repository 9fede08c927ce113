package jobs

import (
	"bytes"

	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/state"
)

// checkReads refuses a write if what its transaction has read is not what is
// committed, with the earlier writes of the epoch on top. All of it belongs to this
// graph, so that nothing can change before the write is committed.
func (g *Graph) checkReads(sn *state.Snapshot, rs *stage.ReadSet, ov map[uint32]*stage.Overlay, first bool) error {
	for rel, w := range rs.Whole {
		// What the earlier writes make of a view is not known yet.
		if !w.Table && !first || stage.Touched(ov[rel]) || !g.eng.Columns.Unchanged(w.Store, w.Clock) {
			return stage.ReadConflict{}
		}
	}
	for rel, rows := range rs.Rows {
		for k, was := range rows {
			now, seen := []byte(nil), false
			if o := ov[rel]; o != nil {
				now, seen = o.Vals[k]
			}
			if !seen {
				v, ok, err := sn.Get(rel, []byte(k))
				if err != nil {
					return err
				}
				if ok {
					now = v
				}
			}
			if (now == nil) != (was == nil) || !bytes.Equal(now, was) {
				return stage.ReadConflict{}
			}
		}
	}
	return nil
}
