package engine

import (
	"context"
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// explainCommand sets up EXPLAIN: of a query the one-off plan, of CREATE
// MATERIALIZED VIEW and CREATE SINK the streaming plan.
func (s *Session) explainCommand(p *prepared, st *sql.Explain) error {
	for _, o := range st.Options {
		if o.Name == "format" && !strings.EqualFold(o.Value, "text") {
			return pgerr.Unsupported("EXPLAIN (FORMAT "+strings.ToUpper(o.Value)+")", "Use the text format.")
		}
	}
	if st.Analyze {
		return pgerr.Unsupported("EXPLAIN ANALYZE", "Use EXPLAIN, and SHOW JOBS for running views.")
	}
	p.cols = []wire.Column{{Name: "QUERY PLAN", Type: types.TText}}
	p.command = func(context.Context, []types.Datum) (*vec.Chunk, string, error) {
		root, err := s.explainPlan(p, st.Stmt)
		if err != nil {
			return nil, "", err
		}
		t := &table{cols: p.cols}
		for _, l := range planner.Explain(root, s.eng.relationBytes) {
			t.add(l)
		}
		return t.chunk(), "EXPLAIN", nil
	}
	return nil
}

func (s *Session) explainPlan(p *prepared, st sql.Stmt) (plan.Node, error) {
	pl := s.planner(p.st, p.params)
	switch st := st.(type) {
	case *sql.Select:
		q, err := pl.PlanQuery(st)
		if err != nil {
			return nil, err
		}
		return q.Root, nil
	case *sql.Insert, *sql.Update, *sql.Delete:
		d, err := pl.PlanMutation(st)
		if err != nil {
			return nil, err
		}
		return d.Source, nil
	case *sql.CreateMaterializedView:
		v, err := pl.BindCreateMaterializedView(st)
		if err != nil {
			return nil, err
		}
		v.SearchPath, v.Settings = s.expr.SearchPath, s.freeze("dead_letter", v.DependsOn)
		return streamRoot((&planner.Planner{Cat: s.eng.cat.Current(), Session: s.eng.frozenSession(v.SearchPath, v.Settings)}).PlanMatView(v))
	case *sql.CreateSink:
		o, err := pl.BindCreateSink(st)
		if err != nil {
			return nil, err
		}
		o.SearchPath, o.Settings = s.expr.SearchPath, s.freeze("dead_letter", o.DependsOn)
		return streamRoot((&planner.Planner{Cat: s.eng.cat.Current(), Session: s.eng.frozenSession(o.SearchPath, o.Settings)}).PlanSink(o))
	}
	return nil, pgerr.Unsupported("EXPLAIN of this statement", "Explain a query, INSERT, UPDATE, DELETE, CREATE MATERIALIZED VIEW or CREATE SINK.")
}

func streamRoot(st *planner.Stream, err error) (plan.Node, error) {
	if err != nil {
		return nil, err
	}
	return st.Root, nil
}
