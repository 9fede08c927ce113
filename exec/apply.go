package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/vec"
)

// apply runs a correlated plan for every distinct binding of the outer columns it
// refers to, in one-off queries only. Results are kept by binding, up to a bound.
type apply struct {
	*opBase
	p      *plan.Apply
	refs   []int // left columns the right plan reads
	keys   *keyer
	table  *keyTable // payload: 1 + number of the cached result
	cached []*vec.Chunk
	held   int
	on     *expr.Program
	nl     int
	cand   *vec.Chunk
	out    *output
	sel    []int32
}

// applyCache bounds the bytes of cached results of one apply.
const applyCache = 64 << 20

func newApply(p *plan.Apply, b *opBase) (Operator, error) {
	if !b.ctx.Batch {
		return nil, pgerr.Unsupported("this correlated subquery in a stream",
			"Rewrite it as a join, or with an equality between inner and outer columns.")
	}
	lt, rt := plan.Types(p.Left.Schema()), plan.Types(p.Right.Schema())
	a := &apply{opBase: b, p: p, refs: outerRefs(p.Right), nl: len(lt)}
	a.keys = newKeyer(lt, a.refs)
	a.table = a.keys.newTable(8)
	a.cand = vec.NewChunk(append(lt[:len(lt):len(lt)], rt...), 0)
	a.out = newOutput(plan.Types(p.Schema()), b.ctx.rows())
	if p.On != nil {
		var err error
		if a.on, err = expr.Compile(p.On); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// outerRefs lists the columns of the enclosing row a plan reads, in order of
// appearance.
func outerRefs(n plan.Node) []int {
	var refs []int
	seen := map[int]bool{}
	eachOuter(n, 1, func(o *expr.Outer) {
		if !seen[o.Index] {
			seen[o.Index] = true
			refs = append(refs, o.Index)
		}
	})
	return refs
}

// eachOuter calls f for the references of a plan to the query level levels up.
func eachOuter(n plan.Node, level int, f func(*expr.Outer)) {
	plan.EachExpr(n, func(e expr.Expr) {
		expr.Walk(e, func(x expr.Expr) bool {
			if o, ok := x.(*expr.Outer); ok && o.Level == level {
				f(o)
			}
			return true
		})
	})
	for i, k := range n.Children() {
		at := level
		if _, ok := n.(*plan.Apply); ok && i == 1 {
			at++
		}
		eachOuter(k, at, f)
	}
}

// bind replaces the references of a plan to the row levels up by its values.
func bind(n plan.Node, level int, row func(o *expr.Outer) expr.Expr) plan.Node {
	kids := n.Children()
	if len(kids) > 0 {
		next := make([]plan.Node, len(kids))
		for i, k := range kids {
			at := level
			if _, ok := n.(*plan.Apply); ok && i == 1 {
				at++
			}
			next[i] = bind(k, at, row)
		}
		n = plan.WithChildren(n, next)
	}
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
			if o, ok := x.(*expr.Outer); ok && o.Level == level {
				return row(o)
			}
			return x
		})
	})
}

func (a *apply) Push(_ int, c *vec.Chunk, emit Emit) error {
	a.keys.prepare(c)
	for i := range c.Rows {
		right, err := a.result(c, i)
		if err != nil {
			return err
		}
		if err := a.join(c, i, right, emit); err != nil {
			return err
		}
	}
	return a.out.flush(emit)
}

// result returns the rows of the right plan for row i.
func (a *apply) result(c *vec.Chunk, i int) (*vec.Chunk, error) {
	id, _ := a.table.upsert(a.keys, i)
	if n := le.Uint64(a.table.rec(id)); n != 0 {
		return a.cached[n-1], nil
	}
	if a.ctx.RunSub == nil {
		return nil, pgerr.New(pgerr.Internal, "nothing to run a correlated subquery with")
	}
	right := bind(a.p.Right, 1, func(o *expr.Outer) expr.Expr {
		return &expr.Const{Val: c.Cols[o.Index].Datum(i), Typ: o.Typ}
	})
	rows := vec.NewChunk(plan.Types(a.p.Right.Schema()), 0)
	total := int64(0)
	err := a.ctx.RunSub(right, func(x *vec.Chunk) error {
		for k := range x.Rows {
			total += x.Weight(k)
		}
		if a.p.Scalar && total > 1 {
			return expr.ErrManyRows
		}
		rows.AppendRange(x, 0, x.Rows)
		if a.enough() && total > 0 {
			return ErrDone
		}
		return nil
	})
	if err != nil && err != ErrDone {
		return nil, err
	}
	if size := rows.MemSize() + 64; a.held+size <= applyCache && !volatilePlan(a.p.Right) {
		a.held += size
		a.cached = append(a.cached, rows)
		le.PutUint64(a.table.rec(id), uint64(len(a.cached)))
	}
	return rows, nil
}

// enough reports whether one row of the right plan settles a left row.
func (a *apply) enough() bool {
	return a.on == nil && (a.p.Kind == plan.Semi || a.p.Kind == plan.Anti || a.p.Kind == plan.NullAnti)
}

// volatilePlan reports whether a plan calls a function whose results differ from
// call to call, so that results must not be shared.
func volatilePlan(n plan.Node) bool {
	found := false
	plan.Walk(n, func(n plan.Node) bool {
		plan.EachExpr(n, func(e expr.Expr) { found = found || expr.Worst(e) == expr.Volatile })
		return !found
	})
	return found
}

// join pairs left row i with the rows of its subquery.
func (a *apply) join(c *vec.Chunk, i int, right *vec.Chunk, emit Emit) error {
	w := c.Weight(i)
	if a.p.Scalar && right.Rows == 0 {
		return a.emitRow(c, i, nil, 0, w, emit)
	}
	pass, unknown, err := a.matches(c, i, right)
	if err != nil {
		return err
	}
	switch a.p.Kind {
	case plan.Semi:
		if len(pass) > 0 {
			return a.emitRow(c, i, nil, 0, w, emit)
		}
	case plan.Anti:
		if len(pass) == 0 {
			return a.emitRow(c, i, nil, 0, w, emit)
		}
	case plan.NullAnti:
		if len(pass) == 0 && !unknown {
			return a.emitRow(c, i, nil, 0, w, emit)
		}
	default:
		if len(pass) == 0 && a.p.Kind == plan.Left {
			return a.emitRow(c, i, nil, 0, w, emit)
		}
		for _, k := range pass {
			if err := a.emitRow(c, i, right, int(k), w*right.Weight(int(k)), emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches returns the right rows for which the condition is true, and whether it
// is NULL for one of them.
func (a *apply) matches(c *vec.Chunk, i int, right *vec.Chunk) (pass []int32, unknown bool, err error) {
	a.sel = a.sel[:0]
	if a.on == nil {
		for k := range right.Rows {
			a.sel = append(a.sel, int32(k))
		}
		return a.sel, false, nil
	}
	a.cand.Reset()
	for k := range right.Rows {
		for x := range a.nl {
			a.cand.Cols[x].AppendFrom(c.Cols[x], i)
		}
		for x, v := range right.Cols {
			a.cand.Cols[a.nl+x].AppendFrom(v, k)
		}
		a.cand.Rows++
	}
	v, err := a.on.Eval(a.ctx.Expr, a.cand)
	if err != nil {
		return nil, false, err
	}
	b := v.(*vec.Col[bool])
	for k := range right.Rows {
		switch {
		case b.IsNull(k):
			unknown = true
		case b.Vals[k]:
			a.sel = append(a.sel, int32(k))
		}
	}
	return a.sel, unknown, nil
}

// emitRow emits left row i with right row k; right nil: by itself or padded.
func (a *apply) emitRow(c *vec.Chunk, i int, right *vec.Chunk, k int, w int64, emit Emit) error {
	for x, v := range a.out.c.Cols {
		switch {
		case x < a.nl:
			v.AppendFrom(c.Cols[x], i)
		case right == nil:
			v.AppendNull()
		default:
			v.AppendFrom(right.Cols[x-a.nl], k)
		}
	}
	a.out.add(w)
	if a.out.full() {
		return a.out.flush(emit)
	}
	return nil
}

// Close frees the cache.
func (a *apply) Close() error {
	a.cached, a.table = nil, a.keys.newTable(8)
	return nil
}
