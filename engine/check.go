package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// CHECK MATERIALIZED VIEW computes a view anew over one snapshot of the store,
// with the operators of its own plan and its own settings, and holds the result
// against what the view stores in the same snapshot. Rows that fail are held
// against the view's rows of the error table. Nothing stops meanwhile.

// checkCommand sets up CHECK MATERIALIZED VIEW: its rows are the differences.
func (s *Session) checkCommand(p *prepared, st *sql.Check) error {
	o, err := s.resolveMatView(s.snapshot(), st.Name)
	if err != nil {
		return err
	}
	p.wholeTag = true
	p.cols = newTable("kind", "row", "expected:bigint", "actual:bigint").cols
	p.command = func(ctx context.Context, _ []types.Datum) (*vec.Chunk, string, error) {
		r := s.newRun(ctx)
		defer r.close()
		if o, err = s.resolveMatView(r.cat, st.Name); err != nil {
			return nil, "", err
		}
		if err := s.mustOwn(o); err != nil {
			return nil, "", err
		}
		c, err := r.checkView(o)
		if err != nil {
			return nil, "", err
		}
		t := &table{cols: p.cols}
		n := c.report(t, st.Limit)
		if n == 0 {
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "materialized view \"%s\" holds what its query yields: %d rows, %d errors", o.Name, c.rows.Expected, c.errs.Expected))
		} else {
			s.notice("WARNING", pgerr.New(pgerr.Warning, "materialized view \"%s\" differs from its query in %d rows", o.Name, n))
		}
		return t.chunk(), "CHECK MATERIALIZED VIEW", nil
	}
	return nil
}

// resolveMatView looks a materialized view up.
func (s *Session) resolveMatView(snap *catalog.Snapshot, n sql.Name) (*catalog.MatView, error) {
	o, err := s.resolve(snap, n)
	if err != nil {
		return nil, err
	}
	v, ok := o.(*catalog.MatView)
	if !ok {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a materialized view", n.Name)
	}
	return v, nil
}

// checkedErrorTypes are those of the error table but for the operator, which has
// another number in a plan of one fragment.
var checkedErrorTypes = jobs.ViewErrorTypes[:len(jobs.ViewErrorTypes)-1]

// check is a comparison in the making.
type check struct {
	rows, errs jobs.Tally
}

// checkView compares a view with its query.
func (r *run) checkView(v *catalog.MatView) (*check, error) {
	if err := r.s.eng.Readable(v.OID); err != nil {
		return nil, err
	}
	if j := r.s.eng.JobOf(v.OID); j != nil && j.Err() != nil {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" has failed: %s", v.Name, pgerr.From(j.Err()).Msg).
			WithHint("Its rows are as of its last epoch.")
	}
	root, err := r.oneTree(v)
	if err != nil {
		return nil, err
	}
	c := &check{rows: jobs.NewTally(stage.ColumnTypes(v.Cols())), errs: jobs.NewTally(checkedErrorTypes)}
	if err := r.recompute(v, root, c); err != nil {
		return nil, err
	}
	return c, r.stored(v, c)
}

// oneTree plans a view as it runs, but in one fragment and without its root.
func (r *run) oneTree(v *catalog.MatView) (plan.Node, error) {
	e := r.s.eng
	st, err := (&planner.Planner{Cat: r.cat, Session: e.FrozenSession(v.SearchPath, v.Settings)}).PlanMatView(v)
	if err != nil {
		return nil, err
	}
	jobs.Scans(st.Root, func(s *plan.Scan) {
		if s.Kind == plan.RelSource && err == nil {
			err = pgerr.Unsupported("checking a materialized view that reads source \""+s.Name+"\"",
				"A source keeps no history to compute the view from again. Views on this one can be checked.")
		}
	})
	if err != nil {
		return nil, err
	}
	return plan.Rewrite(st.Root.Children()[0], func(n plan.Node) plan.Node {
		if x, ok := n.(*plan.Exchange); ok {
			return x.Input
		}
		return n
	}), nil
}

// clockOf returns the time that the clocks of a view tell in the run's snapshot.
func (r *run) clockOf(v *catalog.MatView) int64 {
	b, ok, err := r.snap.MetaGet(jobs.ClockKey(catalog.StoreID(v)))
	if err != nil || !ok || len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// recompute counts what the query yields, and the rows it fails on, as expected.
func (r *run) recompute(v *catalog.MatView, root plan.Node, c *check) error {
	var row []byte
	job := jobs.JobName(v)
	b := &exec.BuildCtx{
		Now:       r.clockOf(v),
		Expr:      &expr.Ctx{Session: r.s.eng.FrozenSession(v.SearchPath, v.Settings)},
		ChunkRows: r.s.eng.Config.ChunkRows,
		Interrupt: func() error { return jobs.Canceled(r.ctx) },
		Out: func(ch *vec.Chunk) error {
			for i := range ch.Rows {
				row = vec.AppendRow(row[:0], ch, nil, i)
				if err := c.rows.Add(row, ch.Weight(i), 0); err != nil {
					return err
				}
			}
			return nil
		},
	}
	if jobs.Policy(v.Settings) != jobs.OnErrorFail {
		b.RowError = func(_ int, ch *vec.Chunk, i int, w int64, err error) error {
			pe := pgerr.From(err)
			if !jobs.DataError(pe.Code) {
				return err
			}
			return c.errs.Add(jobs.EncodedRow(checkedErrorTypes, job, string(pe.Code), pe.Msg, jobs.RowText(ch, i)), w, 0)
		}
	}
	tree, err := exec.Build(root, b)
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := tree.Start(); err != nil {
		return err
	}
	for i, in := range tree.Inputs() {
		scan, ok := in.Node.(*plan.Scan)
		if !ok {
			return errors.New("engine: a checked plan has an exchange")
		}
		err := r.scan(scan, func(ch *vec.Chunk) error {
			if n := tree.StateBytes(); n > jobs.QueryBudget {
				return pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("The operators of the view need more than %d bytes.", jobs.QueryBudget)
			}
			return tree.Push(i, ch)
		})
		if err != nil {
			return err
		}
	}
	return tree.Seal(1)
}

// stored counts what is stored of a view, and of its errors.
func (r *run) stored(v *catalog.MatView, c *check) error {
	var row []byte
	chunk := r.s.eng.Config.ChunkRows
	err := stage.ScanRows(r.snap, catalog.StoreID(v), stage.ColumnTypes(v.Cols()), stage.StoredForm(v), nil, nil, chunk, func(ch *vec.Chunk) error {
		for i := range ch.Rows {
			row = vec.AppendRow(row[:0], ch, nil, i)
			if err := c.rows.Add(row, 0, ch.Weight(i)); err != nil {
				return err
			}
		}
		return jobs.Canceled(r.ctx)
	})
	if err != nil {
		return err
	}
	return jobs.EachError(r.snap, jobs.ErrorTablesOf(r.cat, v.Database)[jobs.ViewErrors], jobs.ViewErrorTypes, jobs.JobName(v), func(ch *vec.Chunk, i int) error {
		row = vec.AppendRow(row[:0], ch, stage.AllColumns(checkedErrorTypes), i)
		return c.errs.Add(row, 0, ch.Weight(i))
	})
}

// report adds at most limit differences to t, in a stable order, and returns how
// many there are.
func (c *check) report(t *table, limit int64) int {
	n := len(c.rows.Left) + len(c.errs.Left)
	for _, k := range []struct {
		kind string
		t    *jobs.Tally
	}{{"row", &c.rows}, {"error", &c.errs}} {
		ch := vec.NewChunk(k.t.Types, 1)
		var lines [][]types.Datum
		for row, got := range k.t.Left {
			ch.Reset()
			if _, err := vec.DecodeRow(ch, nil, []byte(row)); err != nil {
				lines = append(lines, []types.Datum{k.kind, fmt.Sprintf("%x", row), got.Expected, got.Actual})
				continue
			}
			ch.AddWeight(1)
			lines = append(lines, []types.Datum{k.kind, jobs.RowText(ch, 0), got.Expected, got.Actual})
		}
		slices.SortFunc(lines, func(a, b []types.Datum) int {
			switch x, y := a[1].(string), b[1].(string); {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		for _, l := range lines {
			if limit >= 0 && int64(len(t.rows)) >= limit {
				return n
			}
			t.add(l...)
		}
	}
	return n
}
