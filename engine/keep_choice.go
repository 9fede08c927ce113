package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
)

// inherit gives a view that is to take the place of old the sizes, indexes and
// parallelism that old was planned with, if anything of old's state can be kept
// then: other join orders would leave nothing to keep. What old does not read is
// taken as it is now.
func (e *Runner) inherit(old, v *catalog.MatView) {
	fresh := v.Settings
	v.Settings = maps.Clone(fresh)
	v.Settings[settingParallelism] = old.Settings[settingParallelism]
	was := map[string]string{}
	for _, f := range strings.Fields(old.Settings[settingSizes]) {
		rel, _, _ := strings.Cut(f, "=")
		was[rel] = f
	}
	sizes := strings.Fields(fresh[settingSizes])
	for i, f := range sizes {
		rel, _, _ := strings.Cut(f, "=")
		if w, ok := was[rel]; ok {
			sizes[i] = w
		}
	}
	v.Settings[settingSizes] = strings.Join(sizes, " ")
	had := strings.Fields(old.Settings[settingIndexes])
	indexes := strings.Fields(fresh[settingIndexes])
	v.Settings[settingIndexes] = strings.Join(slices.DeleteFunc(indexes, func(oid string) bool {
		var n uint32
		fmt.Sscan(oid, &n)
		ix, ok := e.cat.Current().ByOID(n).(*catalog.Index)
		return ok && slices.Contains(old.DependsOn, ix.Table) && !slices.Contains(had, oid)
	}), " ")
	st, err := e.streamOf(e.cat.Current(), v)
	if err != nil || len(e.keepOf(old, v, st.Root).tops) == 0 {
		v.Settings = fresh
	}
}

// keepOf is what v, of the plan root, would keep of the state that old has now.
func (e *Runner) keepOf(old, v *catalog.MatView, root plan.Node) *keeping {
	to := cut(root, parallelism(v.Settings))
	j := e.jobOf(old.OID)
	if j == nil || j.err() != nil || !sameMeaning(old, v) {
		return keep(nil, to)
	}
	return keep(j.frags, to)
}

// replaceMatView makes v take the place of old, and tells what was kept. Engine.ddl is
// held.
func (s *Session) replaceMatView(ctx context.Context, old, v *catalog.MatView) error {
	kept, err := s.eng.replace(ctx, old, v)
	if err == nil {
		s.tellKept(kept)
	}
	return err
}

// tellKept tells the client what a replacement has kept.
func (s *Session) tellKept(k *keeping) {
	if k.with > 0 {
		n := pgerr.New(pgerr.SuccessfulCompletion, "the state of %d of %d operators was kept", k.with-len(k.without), k.with)
		var names []string
		for _, w := range k.without {
			names = append(names, planner.Explain(w, nil).Title)
		}
		if len(names) > 0 {
			n = n.WithDetail("Built anew: %s.", strings.Join(names, ", "))
		}
		s.notice("NOTICE", n)
	}
	told := map[uint32]bool{}
	for _, r := range k.reread {
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
		case x.keep.nodes[e.Of] && hasState(e.Of):
			e.Note = "  (state kept)"
		case x.keep.nodes[e.Of]:
		case hasState(e.Of):
			e.Note = "  (built anew)"
		}
	})
	for _, r := range x.keep.reread {
		x.tree.Each(func(e *planner.Explained) {
			if e.Of == plan.Node(r) {
				e.Note = "  (read again)"
			}
		})
	}
}
