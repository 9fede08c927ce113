package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner"
)

// usedIndexes returns the indexes that the job of a new view or sink will read: it
// depends on them.
func (s *Session) usedIndexes(o catalog.Object) ([]uint32, error) {
	var st *planner.Stream
	var err error
	switch o := o.(type) {
	case *catalog.MatView:
		st, err = (&planner.Planner{Cat: s.snapshot(), Session: s.eng.FrozenSession(o.SearchPath, o.Settings)}).PlanMatView(o)
	case *catalog.Sink:
		st, err = (&planner.Planner{Cat: s.snapshot(), Session: s.eng.FrozenSession(o.SearchPath, o.Settings)}).PlanSink(o)
	}
	if err != nil || st == nil {
		return nil, err
	}
	return planner.LookupIndexes(st.Root), nil
}
