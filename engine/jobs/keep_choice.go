package jobs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/planner/plan"
)

// Inherit gives a view that is to take the place of old the sizes, indexes and
// parallelism that old was planned with, if anything of old's state can be kept
// then: other join orders would leave nothing to keep. What old does not read is
// taken as it is now.
func (e *Runner) Inherit(old, v *catalog.MatView) {
	fresh := v.Settings
	v.Settings = maps.Clone(fresh)
	v.Settings[SettingParallelism] = old.Settings[SettingParallelism]
	was := map[string]string{}
	for _, f := range strings.Fields(old.Settings[SettingSizes]) {
		rel, _, _ := strings.Cut(f, "=")
		was[rel] = f
	}
	sizes := strings.Fields(fresh[SettingSizes])
	for i, f := range sizes {
		rel, _, _ := strings.Cut(f, "=")
		if w, ok := was[rel]; ok {
			sizes[i] = w
		}
	}
	v.Settings[SettingSizes] = strings.Join(sizes, " ")
	had := strings.Fields(old.Settings[SettingIndexes])
	indexes := strings.Fields(fresh[SettingIndexes])
	v.Settings[SettingIndexes] = strings.Join(slices.DeleteFunc(indexes, func(oid string) bool {
		var n uint32
		fmt.Sscan(oid, &n)
		ix, ok := e.Catalog.Current().ByOID(n).(*catalog.Index)
		return ok && slices.Contains(old.DependsOn, ix.Table) && !slices.Contains(had, oid)
	}), " ")
	st, err := e.StreamOf(e.Catalog.Current(), v)
	if err != nil || len(e.KeepOf(old, v, st.Root).tops) == 0 {
		v.Settings = fresh
	}
}

// KeepOf is what v, of the plan root, would keep of the state that old has now.
func (e *Runner) KeepOf(old, v *catalog.MatView, root plan.Node) *Keeping {
	to := cut(root, parallelism(v.Settings))
	j := e.JobOf(old.OID)
	if j == nil || j.Err() != nil || !sameMeaning(old, v) {
		return keep(nil, to)
	}
	return keep(j.Frags, to)
}
