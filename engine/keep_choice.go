package engine

import (
	"context"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
)

// replaceMatView makes v take the place of old, and tells what was kept. Runner.DDL is
// held.
func (s *Session) replaceMatView(ctx context.Context, old, v *catalog.MatView) error {
	kept, err := s.eng.Replace(ctx, old, v)
	if err == nil {
		s.tellKept(kept)
	}
	return err
}

// tellKept tells the client what a replacement has kept.
func (s *Session) tellKept(k *jobs.Keeping) {
	if k.With > 0 {
		n := pgerr.New(pgerr.SuccessfulCompletion, "the state of %d of %d operators was kept", k.With-len(k.Without), k.With)
		var names []string
		for _, w := range k.Without {
			names = append(names, planner.Explain(w, nil).Title)
		}
		if len(names) > 0 {
			n = n.WithDetail("Built anew: %s.", strings.Join(names, ", "))
		}
		s.notice("NOTICE", n)
	}
	told := map[uint32]bool{}
	for _, r := range k.Reread {
		if !told[r.Rel] {
			told[r.Rel] = true
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "source \"%s\" is read again from where CREATE MATERIALIZED VIEW begins", r.Name).
				WithDetail("The view kept nothing of its records that the new query can use."))
		}
	}
}

// addKept marks in an EXPLAIN the operators whose state is kept.
func (x *explanation) addKept() {
	if x.keep == nil {
		return
	}
	x.tree.Each(func(e *planner.Explained) {
		switch {
		case x.keep.Nodes[e.Of] && jobs.HasState(e.Of):
			e.Note = "  (state kept)"
		case x.keep.Nodes[e.Of]:
		case jobs.HasState(e.Of):
			e.Note = "  (built anew)"
		}
	})
	for _, r := range x.keep.Reread {
		x.tree.Each(func(e *planner.Explained) {
			if e.Of == plan.Node(r) {
				e.Note = "  (read again)"
			}
		})
	}
}
