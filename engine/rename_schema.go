package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/define"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
)

// renameSchema gives a schema another name. What is in it, and every stored text
// that names it, follows in the same commit; settings of search_path keep the old
// name.
func (s *Session) renameSchema(ctx context.Context, o *catalog.Schema, name string) error {
	snap := s.snapshot()
	switch {
	case strings.HasPrefix(name, "pg_"):
		return pgerr.New(pgerr.ReservedName, "unacceptable schema name \"%s\"", name).
			WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	case snap.Schema(name) != nil:
		return pgerr.New(pgerr.DuplicateSchema, "schema \"%s\" already exists", name)
	}
	n := catalog.Clone(o)
	n.Header().Name = name
	changes, err := define.IntoSchema(snap, o.Name, name)
	if err != nil {
		return err
	}
	changes = append([]catalog.Change{{Replace: n}}, changes...)
	if err := s.eng.Unmoved(snap, changes); err != nil {
		return err
	}
	if s.tx.ddl != nil {
		return s.changeCatalog(changes...)
	}
	s.eng.Merging.Lock() // so that jobs stay in their graphs
	defer s.eng.Merging.Unlock()
	names := map[*jobs.Job]string{}
	var graphs []*jobs.Graph
	for _, c := range changes {
		j := s.eng.JobOf(c.Replace.Header().OID)
		if j == nil || j.Name() == jobs.JobName(c.Replace) {
			continue
		}
		names[j] = jobs.JobName(c.Replace)
		if g := j.Graph(); g != nil && !slices.Contains(graphs, g) {
			graphs = append(graphs, g)
		}
	}
	return allAtRest(ctx, graphs, func() error { return s.eng.RenameJobs(names, changes) })
}

// allAtRest runs f with all graphs at rest at the same time.
func allAtRest(ctx context.Context, graphs []*jobs.Graph, f func() error) error {
	if len(graphs) == 0 {
		return f()
	}
	return graphs[0].AtRest(ctx, func() error { return allAtRest(ctx, graphs[1:], f) })
}
