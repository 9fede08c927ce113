package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// pointRead is the compiled form of a query that reads one stored row by its whole
// key and filters and projects it. Its expressions read parameters as columns
// after those of the row, so that executions with other arguments share them.
type pointRead struct {
	rel    uint32
	view   bool
	key    []expr.Expr // constants and parameters
	keyCol []int       // 0, 1, … for AppendKey
	stored []types.T   // of the relation's columns
	cols   []int       // those that the scan reads
	steps  []pointStep
	out    []types.T

	// What executions reuse; a session runs one at a time.
	keyRow *vec.Chunk
	row    *vec.Chunk
	params *vec.Chunk
	buf    []byte
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
		}
		break
	}
	scan, ok := n.(*plan.Scan)
	if !ok || len(scan.Prefix) == 0 || scan.Index != 0 {
		return nil
	}
	rel, ok := cat.ByOID(scan.Rel).(catalog.Relation)
	if !ok || len(scan.Prefix) != len(storageKey(rel)) {
		return nil
	}
	q := &pointRead{rel: scan.Rel, key: scan.Prefix, stored: columnTypes(rel.Cols()), cols: scan.Cols, out: plan.Types(root.Schema())}
	_, q.view = rel.(*catalog.MatView)
	var kts []types.T
	for i, k := range storageKey(rel) {
		kts, q.keyCol = append(kts, q.stored[k]), append(q.keyCol, i)
		switch q.key[i].(type) {
		case *expr.Const, *expr.Param:
		default:
			return nil
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
	return q
}

// newPointStep compiles a node; what does not compile is left to a full run.
func newPointStep(n plan.Node) (s pointStep, ok bool) {
	width := len(n.Children()[0].Schema())
	compile := func(e expr.Expr) *expr.Program {
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
	if f, is := n.(*plan.Filter); is {
		s.cond = compile(f.Cond)
		return s, s.cond != nil
	}
	for _, e := range n.(*plan.Project).Exprs {
		p := compile(e)
		if p == nil {
			return s, false
		}
		s.exprs = append(s.exprs, p)
	}
	return s, true
}

// usable reports whether the session's state lets the compiled form answer: the
// catalog is that of the plan, and the transaction has written nothing itself.
func (q *pointRead) usable(s *Session, cat *catalog.Snapshot, params []types.T, args []types.Datum) bool {
	return cat == s.eng.cat.Current() && len(s.tx.writes) == 0 && len(args) == len(params)
}

// run returns the row, nil if there is none. The caller owns it.
func (q *pointRead) run(ctx context.Context, s *Session, args []types.Datum) (*vec.Chunk, error) {
	if err := canceled(ctx); err != nil {
		return nil, err
	}
	if q.view {
		if err := s.eng.readable([]uint32{q.rel}); err != nil {
			return nil, err
		}
	}
	q.keyRow.Reset()
	for i, e := range q.key {
		d := types.Datum(nil)
		switch e := e.(type) {
		case *expr.Const:
			d = e.Val
		case *expr.Param:
			d = args[e.Index-1]
		}
		if d == nil {
			return nil, nil
		}
		q.keyRow.Cols[i].AppendDatum(d)
	}
	q.keyRow.Rows = 1
	q.buf = vec.AppendKey(q.buf[:0], q.keyRow, q.keyCol, nil, nil, 0)
	found, err := q.read(s)
	if err != nil || !found {
		return nil, err
	}
	q.params.Reset()
	for i, d := range args {
		q.params.Cols[i].AppendDatum(d)
	}
	return q.compute(&expr.Ctx{Session: &s.expr})
}

// read decodes the newest committed row of the key in buf. One row needs no
// snapshot, whose release would look for compactions.
func (q *pointRead) read(s *Session) (bool, error) {
	b, ok, err := s.eng.store.Get(q.rel, q.buf, nil)
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

func (q *pointRead) compute(ec *expr.Ctx) (*vec.Chunk, error) {
	in := &vec.Chunk{Rows: 1, Cols: make([]vec.Vector, 0, len(q.cols)+len(q.params.Cols))}
	for _, k := range q.cols {
		in.Cols = append(in.Cols, q.row.Cols[k])
	}
	width := len(q.cols)
	in.Cols = append(in.Cols, q.params.Cols...)
	for _, st := range q.steps {
		if st.cond != nil {
			var room [1]int32
			if sel, err := st.cond.Filter(ec, in, room[:0]); err != nil || len(sel) == 0 {
				return nil, err
			}
			continue
		}
		next := &vec.Chunk{Rows: 1, Cols: make([]vec.Vector, 0, len(st.exprs)+len(q.params.Cols))}
		for _, p := range st.exprs {
			v, err := p.Eval(ec, in)
			if err != nil {
				return nil, err
			}
			next.Cols = append(next.Cols, v)
		}
		width = len(st.exprs)
		next.Cols = append(next.Cols, q.params.Cols...)
		in = next
	}
	out := vec.NewChunk(q.out, 1)
	for i, v := range out.Cols {
		v.AppendRange(in.Cols[:width][i], 0, 1)
	}
	out.Rows = 1
	return out, nil
}
