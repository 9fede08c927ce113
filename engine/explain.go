package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// explainCommand sets up EXPLAIN: of a query the one-off plan, of CREATE
// MATERIALIZED VIEW and CREATE SINK the streaming plan, of MATERIALIZED VIEW the
// plan that runs. With ANALYZE the statement is run, or the running plan shown
// with what its operators have done.
func (s *Session) explainCommand(p *prepared, st *sql.Explain) error {
	o, err := s.explainOptions(p, st)
	if err != nil {
		return err
	}
	p.cols = []wire.Column{{Name: "QUERY PLAN", Type: types.TText}}
	if o.format == "json" {
		p.cols[0].Type = types.TJSON
	}
	p.command = func(ctx context.Context, args []types.Datum) (*vec.Chunk, string, error) {
		x := &explanation{s: s, o: o, p: p, args: args}
		what, err := st.Stmt, error(nil)
		if ex, ok := what.(*sql.Execute); ok {
			target, args, err := s.executed(p, ex)
			if err != nil {
				return nil, "", err
			}
			if target != nil {
				x.p, x.args, what = target, args, target.st.Stmt
			}
		}
		if o.analyze {
			err = x.analyze(ctx, what)
		} else {
			began := time.Now()
			var root plan.Node
			if root, err = x.plan(what); err == nil {
				x.planning = time.Since(began)
				x.tree = planner.Explain(root, s.eng.RelationBytes)
				x.addKept()
			}
		}
		if err != nil {
			return nil, "", err
		}
		t := &table{cols: p.cols}
		x.write(t)
		return t.chunk(), "EXPLAIN", nil
	}
	return nil
}

// explanation is an EXPLAIN at work.
type explanation struct {
	s    *Session
	o    explainOptions
	p    *prepared
	args []types.Datum
	tree *planner.Explained
	// keep is what a view that takes the place of another keeps of its state.
	keep *jobs.Keeping
	// planning and execution are how long these took; execution 0: not run.
	planning, execution time.Duration
}

// plan returns the plan of a statement that is not run.
func (x *explanation) plan(st sql.Stmt) (plan.Node, error) {
	pl := x.s.planner(x.p.st, x.p.params)
	n, err := x.planBy(pl, st)
	if err == nil {
		err = x.s.permit(pl.Cat, pl.Needs)
	}
	return n, err
}

func (x *explanation) planBy(pl *planner.Planner, st sql.Stmt) (plan.Node, error) {
	s := x.s
	switch st := st.(type) {
	case *sql.Select:
		q, err := pl.PlanQuery(st)
		if err != nil {
			return nil, err
		}
		return q.Root, nil
	case *sql.Insert, *sql.Update, *sql.Delete, *sql.Merge:
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
		onError, err := jobOptions(v.Options)
		if err != nil {
			return nil, err
		}
		v.SearchPath, v.Settings = catalog.LastingPath(s.expr.SearchPath), s.freeze(onError, v.DependsOn)
		var old *catalog.MatView
		if st.OrReplace {
			old, _ = s.resolveMatView(s.snapshot(), st.Name)
		}
		if old != nil {
			s.eng.Inherit(old, v)
		}
		root, err := streamRoot(s.eng.StreamOf(s.snapshot(), v))
		if err == nil && old != nil {
			x.keep = s.eng.KeepOf(old, v, root)
		}
		return root, err
	case *sql.CreateSink:
		o, err := pl.BindCreateSink(st)
		if err != nil {
			return nil, err
		}
		o.SearchPath, o.Settings = catalog.LastingPath(s.expr.SearchPath), s.freeze("dead_letter", o.DependsOn)
		return streamRoot(s.eng.StreamOf(s.snapshot(), o))
	case *sql.CreateTable:
		if st.Query == nil && st.Execute == nil {
			break
		}
		q, err := s.tableQuery(pl, x.p.st, st)
		if err != nil {
			return nil, err
		}
		return q.Root, nil
	case *sql.DeclareCursor:
		return x.planBy(pl, st.Query)
	case *sql.RunningView:
		v, err := s.resolveMatView(s.snapshot(), st.Name)
		if err != nil {
			return nil, err
		}
		if err := s.may(v, catalog.Select); err != nil {
			return nil, err
		}
		return streamRoot(s.eng.StreamOf(s.snapshot(), v))
	}
	return nil, pgerr.Unsupported("EXPLAIN of this statement", "Explain a query, INSERT, UPDATE, DELETE, MERGE, CREATE TABLE AS, CREATE MATERIALIZED VIEW, CREATE SINK or MATERIALIZED VIEW.")
}

func streamRoot(st *planner.Stream, err error) (plan.Node, error) {
	if err != nil {
		return nil, err
	}
	return st.Root, nil
}

// analyze runs the statement, or looks at a running view.
func (x *explanation) analyze(ctx context.Context, st sql.Stmt) error {
	switch st := st.(type) {
	case *sql.RunningView:
		return x.running(st.Name)
	case *sql.Select, *sql.Insert, *sql.Update, *sql.Delete, *sql.Merge:
	default:
		return pgerr.Unsupported("EXPLAIN ANALYZE of this statement", "It runs a query, INSERT, UPDATE or DELETE. EXPLAIN ANALYZE MATERIALIZED VIEW shows what a view's operators have done.")
	}
	inner := &statement{Parsed: x.p.st.Parsed, whole: x.p.st.whole}
	inner.Stmt = st
	q := &prepared{s: x.s, st: inner, params: x.p.params}
	for {
		began := time.Now()
		if err := q.analyse(ctx); err != nil {
			return err
		}
		x.planning = time.Since(began)
		m := &exec.Measure{}
		began = time.Now()
		if err := q.permit(); err != nil {
			return err
		}
		root, err := x.run(ctx, q, m)
		if err == errStalePlan {
			continue
		}
		if err != nil {
			return err
		}
		x.execution = max(time.Since(began), 1)
		x.tree = planner.Explain(root, x.s.eng.RelationBytes)
		x.addMeasured(m)
		return nil
	}
}

// run runs a planned statement for its effects and returns the plan measured.
func (x *explanation) run(ctx context.Context, q *prepared, m *exec.Measure) (plan.Node, error) {
	if q.dml != nil || len(q.query.With) > 0 {
		var root plan.Node
		_, _, err := x.s.runWriting(ctx, func() (writing, []types.T, error) {
			w, ts, err := q.writing(ctx)()
			w.measure = m
			return w, ts, err
		}, x.args)
		if q.dml != nil {
			root = q.dml.Source
		} else {
			root = q.query.Root
		}
		if len(m.Nodes) > 0 {
			root = m.Nodes[0].Node
		}
		return root, err
	}
	root, err := bindParams(q.query.Root, q.params, x.args)
	if err != nil {
		return nil, err
	}
	r := x.s.newRun(ctx)
	defer r.close()
	if r.cat != q.cat {
		return nil, errStalePlan
	}
	r.measure = m
	return root, r.execute(root, func(*vec.Chunk) error { return nil })
}

// addMeasured puts what was measured to the nodes of the plan.
func (x *explanation) addMeasured(m *exec.Measure) {
	by := map[plan.Node]*exec.Measured{}
	for i := range m.Nodes {
		by[m.Nodes[i].Node] = &m.Nodes[i]
	}
	of := func(n plan.Node) *exec.Measured { return by[n] }
	x.tree.Each(func(e *planner.Explained) {
		n := of(e.Of)
		if n == nil {
			return
		}
		total := m.Total(e.Of, of)
		if x.o.timing {
			e.Note = fmt.Sprintf("  (actual time=%.3f..%.3f rows=%d loops=1)", millis(n.First), millis(max(total, n.First)), n.Rows)
			e.Actual = append(e.Actual, planner.Property{Name: "Actual Startup Time", Value: millis(n.First)},
				planner.Property{Name: "Actual Total Time", Value: millis(max(total, n.First))})
		} else {
			e.Note = fmt.Sprintf("  (actual rows=%d loops=1)", n.Rows)
		}
		e.Actual = append(e.Actual, planner.Property{Name: "Actual Rows", Value: n.Rows}, planner.Property{Name: "Actual Loops", Value: 1})
		own := []planner.Property{{Name: "Batches", Value: n.Batches}}
		if x.o.timing {
			own = append(own, planner.Property{Name: "Self Time", Value: millis(n.Self)})
		}
		if n.Bytes > 0 {
			own = append(own, planner.Property{Name: "Memory", Value: kilobytes(n.Bytes)})
		}
		detail(e, own)
	})
}

// kilobytes is an amount of memory, rounded up.
type kilobytes int

func (n kilobytes) String() string { return strconv.Itoa((int(n) + 1023) / 1024) }

// detail adds measurements to a node, which are one line of text. Times are ms.
func detail(e *planner.Explained, own []planner.Property) {
	e.Actual = append(e.Actual, own...)
	var parts []string
	for _, p := range own {
		text := p.Name + ": "
		switch v := p.Value.(type) {
		case float64:
			text += fmt.Sprintf("%.3f ms", v)
		case kilobytes:
			text += v.String() + "kB"
		default:
			text += fmt.Sprint(v)
		}
		parts = append(parts, text)
	}
	e.Line = strings.Join(parts, "  ")
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// write makes the result of the plan and its times.
func (x *explanation) write(t *table) {
	var more []planner.Property
	if x.o.summary {
		more = append(more, planner.Property{Name: "Planning Time", Value: millis(x.planning)})
	}
	if x.o.format != "text" && x.execution > 0 {
		more = append(more, planner.Property{Name: "Triggers", Value: []string{}})
	}
	if x.o.summary && x.execution > 0 {
		more = append(more, planner.Property{Name: "Execution Time", Value: millis(x.execution)})
	}
	switch x.o.format {
	case "json":
		t.add(x.tree.JSON(more))
		return
	case "yaml":
		t.add(x.tree.YAML(more))
		return
	case "xml":
		t.add(x.tree.XML(more))
		return
	}
	for _, l := range x.tree.Lines() {
		t.add(l)
	}
	for _, p := range more {
		t.add(fmt.Sprintf("%s: %.3f ms", p.Name, p.Value))
	}
}
