package exec

import (
	"bytes"
	"sort"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// frame computes the rows [lo, hi) that each row of a partition sees.
type frame struct {
	f          plan.Frame
	start, end int64         // offsets of ROWS and GROUPS
	key        *expr.Program // the order value of RANGE with offsets, or nil
	startAt    *expr.Program // order value at which the frame starts
	endAt      *expr.Program
	order      expr.SortKey
	// starts and ends are the columns of offsets that differ between partitions; -1:
	// there are none.
	starts, ends int
	lo, hi       []int
	keys         [][]byte
}

func newFrame(b *opBase, p *plan.Window, f plan.Frame, ts []types.T) (*frame, error) {
	r := &frame{f: f, starts: -1, ends: -1}
	for _, x := range []struct {
		e     expr.Expr
		kind  plan.BoundKind
		what  string
		at    *int64
		col   *int
		value **expr.Program
	}{{f.StartOffset, f.Start, "starting", &r.start, &r.starts, &r.startAt}, {f.EndOffset, f.End, "ending", &r.end, &r.ends, &r.endAt}} {
		if x.kind != plan.Preceding && x.kind != plan.Following {
			continue
		}
		off := x.e
		if c, ok := off.(*expr.Col); ok {
			*x.col = c.Index
		} else {
			d, err := expr.EvalConst(b.ctx.Expr, off)
			if err == nil {
				err = expr.CheckFrameOffset(d, off.Type(), f.Mode == plan.Range, x.what)
			}
			if err != nil {
				return nil, err
			}
			off = &expr.Const{Val: d, Typ: off.Type()}
			if f.Mode != plan.Range {
				*x.at = d.(int64)
			}
		}
		if f.Mode != plan.Range {
			continue
		}
		r.order = p.Order[0]
		var err error
		if *x.value, err = r.rangeBound(off, x.kind, ts); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// rangeBound compiles order value ∓ offset.
func (r *frame) rangeBound(off expr.Expr, kind plan.BoundKind, ts []types.T) (*expr.Program, error) {
	var key expr.Expr = &expr.Col{Index: r.order.Col, Typ: ts[r.order.Col]}
	switch key.Type().ID {
	case types.Date:
		key = &expr.Cast{Arg: key, To: types.TTimestamp}
	case types.Int2, types.Int4: // as numbers that no offset leads out of
		key, off = &expr.Cast{Arg: key, To: types.TInt8}, &expr.Cast{Arg: off, To: types.TInt8}
	case types.Float4:
		key = &expr.Cast{Arg: key, To: types.TFloat8}
	case types.Time: // as intervals, which go beyond a day; of the offset only the time counts
		key = &expr.Cast{Arg: key, To: types.TInterval}
		var err error
		if off, err = timeOf(off); err != nil {
			return nil, err
		}
	}
	if r.key == nil {
		var err error
		if r.key, err = expr.Compile(key); err != nil {
			return nil, err
		}
	}
	name := "+"
	if (kind == plan.Preceding) != r.order.Desc {
		name = "-"
	}
	fn, err := expr.ResolveOp(name, key.Type(), off.Type())
	switch key.Type().ID {
	case types.Timetz:
		fn = expr.TimetzShift(name)
	case types.Int8:
		fn = expr.BigintShift(name)
	}
	if err != nil {
		return nil, err
	}
	return expr.Compile(&expr.Call{Fn: fn, Args: []expr.Expr{key, off}, Typ: key.Type()})
}

// timeOf is an interval without its months and days.
func timeOf(off expr.Expr) (expr.Expr, error) {
	day := &expr.Const{Val: "day", Typ: types.TText}
	trunc, err := expr.ResolveFunc("date_trunc", []types.T{types.TText, types.TInterval})
	if err != nil {
		return nil, err
	}
	minus, err := expr.ResolveOp("-", types.TInterval, types.TInterval)
	if err != nil {
		return nil, err
	}
	days := &expr.Call{Fn: trunc, Args: []expr.Expr{day, off}, Typ: types.TInterval}
	return &expr.Call{Fn: minus, Args: []expr.Expr{off, days}, Typ: types.TInterval}, nil
}

// bounds fills lo and hi for a partition.
func (r *frame) bounds(c *expr.Ctx, p *partition) error {
	n := p.rows.Rows
	r.start, r.end = offsetOf(p, r.starts, r.start), offsetOf(p, r.ends, r.end)
	r.lo, r.hi = append(r.lo[:0], make([]int, n)...), append(r.hi[:0], make([]int, n)...)
	if r.f.Mode == plan.Range && r.key != nil {
		if err := r.rangeKeys(c, p); err != nil {
			return err
		}
	}
	var err error
	for i := range n {
		r.lo[i] = r.bound(p, i, r.f.Start, r.start, false)
		r.hi[i] = r.bound(p, i, r.f.End, r.end, true)
	}
	if r.f.Mode == plan.Range {
		if r.startAt != nil {
			err = r.rangeSearch(c, p, r.startAt, r.lo, false)
		}
		if err == nil && r.endAt != nil {
			err = r.rangeSearch(c, p, r.endAt, r.hi, true)
		}
	}
	for i := range n {
		r.hi[i] = max(r.hi[i], r.lo[i])
	}
	return err
}

// offsetOf is the offset of a partition's frames in rows or groups: of column col, if
// there is one.
func offsetOf(p *partition, col int, otherwise int64) int64 {
	if col < 0 || p.rows.Rows == 0 {
		return otherwise
	}
	if v, ok := p.rows.Cols[col].(*vec.Col[int64]); ok {
		return v.Vals[0]
	}
	return otherwise
}

// bound returns one end of row i's frame; RANGE with an offset is left to
// rangeSearch.
func (r *frame) bound(p *partition, i int, kind plan.BoundKind, off int64, end bool) int {
	n := p.rows.Rows
	after := 0
	if end {
		after = 1
	}
	// Offsets larger than the partition are as good as its size.
	k := int(min(off, int64(n)))
	switch kind {
	case plan.UnboundedPreceding:
		return 0
	case plan.UnboundedFollowing:
		return n
	case plan.Preceding:
		k = -k
	case plan.CurrentRow:
		k = 0
	}
	if r.f.Mode == plan.Rows {
		return min(max(i+k+after, 0), n)
	}
	g := p.group[i] + k + after
	return p.starts[min(max(g, 0), len(p.starts)-1)]
}

// rangeKeys computes the sort keys that rangeSearch compares with.
func (r *frame) rangeKeys(c *expr.Ctx, p *partition) error {
	v, err := r.key.Eval(c, p.rows)
	if err != nil {
		return err
	}
	r.keys = r.sortKeys(r.keys[:0], v, p.rows.Rows)
	return nil
}

func (r *frame) sortKeys(dst [][]byte, v vec.Vector, n int) [][]byte {
	one := &vec.Chunk{Rows: n, Cols: []vec.Vector{v}}
	for i := range n {
		dst = append(dst, vec.AppendKey(nil, one, []int{0}, []bool{r.order.Desc}, []bool{r.order.NullsFirst}, i))
	}
	return dst
}

// rangeSearch finds where each row's frame starts or ends by value.
func (r *frame) rangeSearch(c *expr.Ctx, p *partition, at *expr.Program, dst []int, end bool) error {
	v, err := at.Eval(c, p.rows)
	if err != nil {
		return err
	}
	for i, k := range r.sortKeys(nil, v, p.rows.Rows) {
		dst[i] = sort.Search(len(r.keys), func(j int) bool {
			d := bytes.Compare(r.keys[j], k)
			return d > 0 || d == 0 && !end
		})
	}
	return nil
}

// excluded returns up to two ranges of rows that EXCLUDE takes out of row i's
// frame.
func (r *frame) excluded(p *partition, i int) [2][2]int {
	gs, ge := p.starts[p.group[i]], p.starts[p.group[i]+1]
	switch r.f.Exclude {
	case plan.ExcludeCurrent:
		return [2][2]int{{i, i + 1}}
	case plan.ExcludeGroup:
		return [2][2]int{{gs, ge}}
	case plan.ExcludeTies:
		return [2][2]int{{gs, i}, {i + 1, ge}}
	}
	return [2][2]int{}
}

// each calls f for the rows of row i's frame in order until it returns false.
func (r *frame) each(p *partition, i int, f func(j int) bool) {
	x := r.excluded(p, i)
	for j := r.lo[i]; j < r.hi[i]; j++ {
		if j >= x[0][0] && j < x[0][1] || j >= x[1][0] && j < x[1][1] {
			continue
		}
		if !f(j) {
			return
		}
	}
}
