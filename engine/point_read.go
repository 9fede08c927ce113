package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// pointRead is the compiled form of a query that reads one stored row by its whole
// key and filters and projects it. Its expressions read parameters as columns
// after those of the row, so that executions with other arguments share them.
type pointRead struct {
	rel    uint32
	store  uint32 // what its rows are kept under
	cat    *catalog.Snapshot
	view   bool
	key    []expr.Expr     // constants and parameters
	keyOf  []*expr.Program // what else there is in key, over the parameters
	keyCol []int           // 0, 1, … for AppendKey
	stored []types.T       // of the relation's columns
	cols   []int           // those that the scan reads
	steps  []pointStep
	out    []types.T

	// What executions reuse; one runs at a time.
	keyRow *vec.Chunk
	row    *vec.Chunk
	params *vec.Chunk
	in     []vec.Chunk // the input of each step, and of the end
	ctx    expr.Ctx
	buf    []byte
	result *vec.Chunk // of executions by Quick
}

// pointStep is a filter, or a projection if cond is nil.
type pointStep struct {
	cond  *expr.Program
	exprs []*expr.Program
}

// newPointRead compiles a plan, or returns nil if it is not of that shape.
func newPointRead(cat *catalog.Snapshot, root plan.Node, params []types.T) *pointRead {
	for _, t := range params {
		if t == types.TUnknown {
			return nil
		}
	}
	var nodes []plan.Node
	n := root
	for {
		switch x := n.(type) {
		case *plan.Project:
			nodes, n = append(nodes, x), x.Input
			continue
		case *plan.Filter:
			nodes, n = append(nodes, x), x.Input
			continue
		case *plan.Limit:
			if !letsOneRowThrough(x) {
				return nil
			}
			n = x.Input
			continue
		}
		break
	}
	scan, ok := n.(*plan.Scan)
	if !ok || len(scan.Prefix) == 0 || scan.Index != 0 {
		return nil
	}
	rel, ok := cat.ByOID(scan.Rel).(catalog.Relation)
	if !ok || len(scan.Prefix) != len(catalog.StorageKey(rel)) {
		return nil
	}
	q := &pointRead{rel: scan.Rel, store: catalog.StoreID(rel), cat: cat, key: scan.Prefix, stored: stage.ColumnTypes(rel.Cols()), cols: scan.Cols, out: plan.Types(root.Schema())}
	_, q.view = rel.(*catalog.MatView)
	var kts []types.T
	for i, k := range catalog.StorageKey(rel) {
		kts, q.keyCol = append(kts, q.stored[k]), append(q.keyCol, i)
		q.keyOf = append(q.keyOf, nil)
		switch q.key[i].(type) {
		case *expr.Const, *expr.Param:
		default:
			if q.keyOf[i] = compileAfter(q.key[i], 0); q.keyOf[i] == nil {
				return nil
			}
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		s, ok := newPointStep(nodes[i])
		if !ok {
			return nil
		}
		q.steps = append(q.steps, s)
	}
	q.keyRow, q.row, q.params = vec.NewChunk(kts, 1), vec.NewChunk(q.stored, 1), vec.NewChunk(params, 1)
	q.in, q.result = make([]vec.Chunk, len(q.steps)+1), vec.NewChunk(q.out, 1)
	return q
}

// letsOneRowThrough reports whether a limit is none for a single row.
func letsOneRowThrough(l *plan.Limit) bool {
	if l.Offset != nil {
		return false
	}
	k, ok := l.Limit.(*expr.Const)
	if !ok {
		return l.Limit == nil
	}
	n, ok := k.Val.(int64)
	return k.Val == nil || ok && n > 0
}

// compileAfter compiles an expression whose parameters are the columns after the
// first width ones; nil if it cannot be.
func compileAfter(e expr.Expr, width int) *expr.Program {
	p, err := expr.Compile(expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if p, ok := e.(*expr.Param); ok {
			return &expr.Col{Index: width + p.Index - 1, Typ: p.Typ}
		}
		return e
	}))
	if err != nil {
		return nil
	}
	return p
}

// newPointStep compiles a node; what does not compile is left to a full run.
func newPointStep(n plan.Node) (s pointStep, ok bool) {
	width := len(n.Children()[0].Schema())
	if f, is := n.(*plan.Filter); is {
		s.cond = compileAfter(f.Cond, width)
		return s, s.cond != nil
	}
	for _, e := range n.(*plan.Project).Exprs {
		p := compileAfter(e, width)
		if p == nil {
			return s, false
		}
		s.exprs = append(s.exprs, p)
	}
	return s, true
}

// errStalePlan tells that the catalog has changed since a plan was made.
var errStalePlan = pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type")

// usable reports whether the session's state lets the compiled form answer: the
// catalog is that of the plan, and the transaction sees what is committed.
func (q *pointRead) usable(s *Session, cat *catalog.Snapshot, params []types.T, args []types.Datum) bool {
	return cat == s.snapshot() && s.readsCommitted() && len(args) == len(params)
}

// readsCommitted reports whether a statement reads just what is committed.
func (s *Session) readsCommitted() bool {
	return len(s.tx.writes) == 0 && s.tx.ddl == nil && (s.tx.alone || s.currentModes().isolation <= readCommitted)
}

// run appends the row, if there is one, to out, which has the columns out. It fails
// with errStalePlan when the catalog has changed since the plan was made.
func (q *pointRead) run(ctx context.Context, s *Session, args []types.Datum, out *vec.Chunk) error {
	if err := jobs.Canceled(ctx); err != nil {
		return err
	}
	if q.view {
		if err := s.eng.Readable(q.rel); err != nil {
			return err
		}
	}
	s.tx.queried = true
	q.ctx.Session = &s.expr
	q.params.Reset()
	for i, d := range args {
		q.params.Cols[i].AppendDatum(d)
	}
	q.params.Rows = 1
	ok, err := q.fillKey(args)
	if err != nil || !ok {
		return err
	}
	if ok, err = q.read(s); err != nil || !ok {
		return err
	}
	return q.compute(out)
}

// fillKey makes buf the key; false if a part of it is NULL, which no row has.
func (q *pointRead) fillKey(args []types.Datum) (bool, error) {
	q.keyRow.Reset()
	for i, e := range q.key {
		d := types.Datum(nil)
		switch e := e.(type) {
		case *expr.Const:
			d = e.Val
		case *expr.Param:
			d = args[e.Index-1]
		default:
			v, err := q.keyOf[i].Eval(&q.ctx, q.params)
			if err != nil {
				return false, err
			}
			d = v.Datum(0)
		}
		if d == nil {
			return false, nil
		}
		q.keyRow.Cols[i].AppendDatum(d)
	}
	q.keyRow.Rows = 1
	q.buf = vec.AppendKey(q.buf[:0], q.keyRow, q.keyCol, nil, nil, 0)
	return true, nil
}

// read decodes the newest committed row of the key in buf. One row needs no
// snapshot, whose release would look for compactions.
func (q *pointRead) read(s *Session) (bool, error) {
	var b []byte
	var ok bool
	var err error
	var now *catalog.Snapshot
	s.eng.Steady(func() { now = s.snapshot(); b, ok, err = s.eng.Store.Get(q.store, q.buf, nil) })
	if now != q.cat {
		return false, errStalePlan
	}
	if err != nil || !ok {
		return false, err
	}
	q.row.Reset()
	_, err = vec.DecodeRow(q.row, nil, b)
	if err != nil {
		q.row = vec.NewChunk(q.stored, 1)
	}
	return err == nil, err
}

func (q *pointRead) compute(out *vec.Chunk) error {
	in := &q.in[0]
	in.Cols, in.Rows = in.Cols[:0], 1
	for _, k := range q.cols {
		in.Cols = append(in.Cols, q.row.Cols[k])
	}
	in.Cols = append(in.Cols, q.params.Cols...)
	for i, st := range q.steps {
		if st.cond != nil {
			var room [1]int32
			if sel, err := st.cond.Filter(&q.ctx, in, room[:0]); err != nil || len(sel) == 0 {
				return err
			}
			continue
		}
		next := &q.in[i+1]
		next.Cols, next.Rows = next.Cols[:0], 1
		for _, p := range st.exprs {
			v, err := p.Eval(&q.ctx, in)
			if err != nil {
				return err
			}
			next.Cols = append(next.Cols, v)
		}
		next.Cols = append(next.Cols, q.params.Cols...)
		in = next
	}
	for i, v := range out.Cols {
		v.AppendRange(in.Cols[i], 0, 1)
	}
	out.Rows = 1
	return nil
}
