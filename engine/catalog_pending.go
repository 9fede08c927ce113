package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// createJob makes a materialized view, sink or index: at once, or as part of the
// transaction, where it is built after the commit (see jobs.Runner.StartPending), so that all that
// can be known to be wrong with it is said now.
func (s *Session) createJob(ctx context.Context, o catalog.Object) error {
	if s.tx.ddl == nil {
		return s.eng.CreateJob(ctx, o)
	}
	if err := s.eng.Readable(o.Dependencies()...); err != nil {
		return err
	}
	if err := s.changeCatalog(catalog.Change{Create: o}); err != nil {
		return err
	}
	ix, ok := o.(*catalog.Index)
	if !ok {
		_, err := s.eng.StreamOf(s.catalog(), o)
		return err
	}
	t, ok := s.snapshot().ByOID(ix.Table).(*catalog.Table)
	if !ok {
		return nil
	}
	b, err := stage.NewIndexBuild(s.snapshot(), t, ix)
	if err != nil {
		return err
	}
	r := s.newRun(ctx)
	defer r.close()
	return r.visible(t, b.Add)
}

// scanPending reads a materialized view that the transaction has made: by its query.
func (r *run) scanPending(s *plan.Scan, v *catalog.MatView, f func(*vec.Chunk) error) error {
	q, err := planner.ParseQuery(v.Query)
	if err != nil {
		return err
	}
	p, err := (&planner.Planner{Cat: r.cat, Session: r.s.eng.FrozenSession(v.SearchPath, v.Settings)}).PlanQuery(q)
	if err != nil {
		return err
	}
	rows, err := r.collect(p.Root)
	if err != nil || rows.Rows == 0 {
		return err
	}
	return narrowed(s, f)(rows)
}
