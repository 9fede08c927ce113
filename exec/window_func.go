package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

func newWindowFunc(b *opBase, p *plan.Window, f plan.WindowFunc, ts []types.T) (windowFunc, error) {
	if f.Agg != nil {
		return newWindowAgg(b, p, f, ts)
	}
	if rank, ok := rankFuncs[f.Name]; ok {
		return rank, nil
	}
	switch f.Name {
	case "ntile":
		return ntile{f.Args[0]}, nil
	case "lag":
		return shift{f.Args, -1, constantOffset(p.Input, f.Args)}, nil
	case "lead":
		return shift{f.Args, 1, constantOffset(p.Input, f.Args)}, nil
	case "first_value", "last_value", "nth_value":
		fr, err := newFrame(b, p, f.Frame, ts)
		if err != nil {
			return nil, err
		}
		return &frameValue{name: f.Name, args: f.Args, frame: fr}, nil
	}
	return nil, pgerr.New(pgerr.Internal, "no window function %s", f.Name)
}

// rankFunc computes a function of the row's place alone.
type rankFunc struct {
	f func(p *partition, dst vec.Vector)
	// ofSize: the size of the partition counts too, not only what is before the row.
	ofSize bool
}

func (f rankFunc) compute(_ *expr.Ctx, p *partition, dst vec.Vector) error {
	f.f(p, dst)
	return nil
}

func (f rankFunc) reach() windowReach {
	if f.ofSize {
		return reachAll
	}
	return windowReach{back: reachEnd{kind: endAll}, resumes: true}
}

var rankFuncs = map[string]rankFunc{
	"row_number": rankInt(func(p *partition, i int) int {
		rows, _ := p.passed()
		return rows + i + 1
	}),
	"rank": rankInt(func(p *partition, i int) int {
		rows, _ := p.passed()
		return rows + p.starts[p.group[i]] + 1
	}),
	"dense_rank": rankInt(func(p *partition, i int) int {
		_, groups := p.passed()
		return groups + p.group[i] + 1
	}),
	"percent_rank": rankFloat(func(p *partition, i int) float64 {
		if len(p.group) == 1 {
			return 0
		}
		return float64(p.starts[p.group[i]]) / float64(len(p.group)-1)
	}),
	"cume_dist": rankFloat(func(p *partition, i int) float64 {
		return float64(p.starts[p.group[i]+1]) / float64(len(p.group))
	}),
}

func rankInt(f func(p *partition, i int) int) rankFunc {
	return rankFunc{f: func(p *partition, dst vec.Vector) {
		d := dst.(*vec.Col[int64])
		for i := range p.group {
			d.Vals = append(d.Vals, int64(f(p, i)))
		}
	}}
}

func rankFloat(f func(p *partition, i int) float64) rankFunc {
	return rankFunc{ofSize: true, f: func(p *partition, dst vec.Vector) {
		d := dst.(*vec.Col[float64])
		for i := range p.group {
			d.Vals = append(d.Vals, f(p, i))
		}
	}}
}

// ntile deals the partition into buckets; their number is the first row's.
type ntile struct{ arg int }

func (f ntile) reach() windowReach { return reachAll }

func (f ntile) compute(_ *expr.Ctx, p *partition, dst vec.Vector) error {
	d := dst.(*vec.Col[int32])
	n := int64(len(p.group))
	v := p.rows.Cols[f.arg]
	if v.IsNull(0) {
		for range n {
			d.AppendNull()
		}
		return nil
	}
	buckets := int64(v.(*vec.Col[int32]).Vals[0])
	if buckets <= 0 {
		return pgerr.New("22014", "argument of ntile must be greater than zero")
	}
	size, larger := n/buckets, n%buckets
	for i := range n {
		b := i / (size + 1)
		if b >= larger {
			b = larger + (i-larger*(size+1))/max(size, 1)
		}
		d.Vals = append(d.Vals, int32(b+1))
	}
	return nil
}

// shift is lag and lead.
type shift struct {
	args []int
	sign int64
	off  *int64 // if it is the same for all rows
}

func (f shift) reach() windowReach {
	if f.off == nil {
		return reachAll
	}
	r := windowReach{}
	if n := f.sign * *f.off; n < 0 {
		r.back = reachEnd{kind: endRows, n: -n}
	} else {
		r.ahead = reachEnd{kind: endRows, n: n}
	}
	return r
}

func (f shift) compute(_ *expr.Ctx, p *partition, dst vec.Vector) error {
	val := p.rows.Cols[f.args[0]]
	n := int64(len(p.group))
	for i := range n {
		off := int64(1)
		if len(f.args) > 1 {
			o := p.rows.Cols[f.args[1]]
			if o.IsNull(int(i)) {
				dst.AppendNull()
				continue
			}
			off = int64(o.(*vec.Col[int32]).Vals[i])
		}
		j := i + f.sign*off
		switch {
		case j >= 0 && j < n:
			dst.AppendFrom(val, int(j))
		case len(f.args) > 2:
			dst.AppendFrom(p.rows.Cols[f.args[2]], int(i))
		default:
			dst.AppendNull()
		}
	}
	return nil
}

// frameValue is first_value, last_value and nth_value.
type frameValue struct {
	name  string
	args  []int
	frame *frame
}

func (f *frameValue) compute(c *expr.Ctx, p *partition, dst vec.Vector) error {
	if err := f.frame.bounds(c, p); err != nil {
		return err
	}
	val := p.rows.Cols[f.args[0]]
	for i := range p.group {
		want := 1
		if f.name == "nth_value" {
			v := p.rows.Cols[f.args[1]]
			if v.IsNull(i) {
				dst.AppendNull()
				continue
			}
			if want = int(v.(*vec.Col[int32]).Vals[i]); want <= 0 {
				return pgerr.New("22016", "argument of nth_value must be greater than zero")
			}
		}
		if j := f.pick(p, i, want); j < 0 {
			dst.AppendNull()
		} else {
			dst.AppendFrom(val, j)
		}
	}
	return nil
}

func (f *frameValue) reach() windowReach { return f.frame.reach() }

// pick returns the row of row i's frame that the function takes, or -1.
func (f *frameValue) pick(p *partition, i, want int) int {
	fr := f.frame
	if fr.f.Exclude == plan.ExcludeNone {
		j := fr.lo[i] + want - 1
		if f.name == "last_value" {
			j = fr.hi[i] - 1
		}
		if j < fr.lo[i] || j >= fr.hi[i] {
			return -1
		}
		return j
	}
	found, seen := -1, 0
	fr.each(p, i, func(j int) bool {
		seen++
		if f.name == "last_value" {
			found = j
			return true
		}
		if seen == want {
			found = j
			return false
		}
		return true
	})
	return found
}

// windowAgg is an aggregate over frames. Frames move forward only, so rows are
// added when they enter and taken away when they leave: accumulators are exact
// under retraction.
type windowAgg struct {
	call  expr.AggCall
	cols  []int
	flat  expr.FlatAgg
	new   func() expr.Acc
	frame *frame
	pos   int // argument that holds the row's place; -1: none

	acc   expr.Acc
	state []byte
	st    [][]byte
	args  []vec.Vector
	diff  []int64
}

func newWindowAgg(b *opBase, p *plan.Window, f plan.WindowFunc, ts []types.T) (windowFunc, error) {
	fr, err := newFrame(b, p, f.Frame, ts)
	if err != nil {
		return nil, err
	}
	w := &windowAgg{call: *f.Agg, frame: fr, pos: -1}
	if w.call.Fn.OrderMatters && len(w.call.OrderBy) == 0 {
		// array_agg and the like see the rows of the frame in the window's order.
		w.call.OrderBy = []expr.SortKey{{Col: len(ts)}}
		w.pos = len(w.call.Args)
		ts = append(append([]types.T(nil), ts...), types.TInt8)
	}
	impl := w.call.Make(ts, false)
	w.cols, w.flat, w.new = w.call.Columns(), impl.Flat, impl.New
	for _, c := range w.cols {
		w.args = append(w.args, vec.New(ts[c], 0))
	}
	if w.flat != nil {
		w.state = make([]byte, w.flat.Size())
	}
	return w, nil
}

func (w *windowAgg) reach() windowReach {
	r := w.frame.reach()
	// A frame that ends before its row may end before the mark.
	r.resumes = r.back.kind == endAll && w.flat != nil && w.frame.f.End != plan.Preceding && !w.frame.varies()
	return r
}

func (w *windowAgg) compute(c *expr.Ctx, p *partition, dst vec.Vector) error {
	if err := w.frame.bounds(c, p); err != nil {
		return err
	}
	clear(w.state)
	if w.new != nil {
		w.acc = w.new()
	}
	if p.from != nil && w.reach().resumes {
		copy(w.state, p.from.states[w])
	}
	lo, hi := 0, 0
	for i := range p.group {
		l, h := w.frame.lo[i], w.frame.hi[i]
		if l >= hi { // nothing in common with the frame before
			if err := w.add(c, p, lo, hi, -1); err != nil {
				return err
			}
			lo, hi = l, l
		}
		if err := w.add(c, p, lo, l, -1); err != nil {
			return err
		}
		if h < hi {
			if err := w.add(c, p, h, hi, -1); err != nil {
				return err
			}
		} else if err := w.add(c, p, hi, h, 1); err != nil {
			return err
		}
		lo, hi = l, h
		if err := w.result(c, p, i, dst); err != nil {
			return err
		}
	}
	return nil
}

// result appends the value for row i, with the excluded rows taken out for the
// moment.
func (w *windowAgg) result(c *expr.Ctx, p *partition, i int, dst vec.Vector) error {
	x := w.frame.excluded(p, i)
	for _, r := range x {
		if err := w.add(c, p, max(r[0], w.frame.lo[i]), min(r[1], w.frame.hi[i]), -1); err != nil {
			return err
		}
	}
	var err error
	if w.flat != nil {
		err = w.flat.Result(c, w.state, dst)
	} else {
		err = w.acc.Result(c, dst)
	}
	if err != nil {
		return err
	}
	for _, r := range x {
		if err := w.add(c, p, max(r[0], w.frame.lo[i]), min(r[1], w.frame.hi[i]), 1); err != nil {
			return err
		}
	}
	return nil
}

// add folds rows [lo, hi) in with weight n.
func (w *windowAgg) add(c *expr.Ctx, p *partition, lo, hi int, n int64) error {
	if lo >= hi {
		return nil
	}
	for _, v := range w.args {
		v.Reset()
	}
	w.st, w.diff = w.st[:0], w.diff[:0]
	for j := lo; j < hi; j++ {
		if f := w.call.Filter; f >= 0 {
			v := p.rows.Cols[f]
			if v.IsNull(j) || !v.(*vec.Col[bool]).Vals[j] {
				continue
			}
		}
		for k, v := range w.args {
			if k == w.pos {
				appendInt(v, int64(j), false)
			} else {
				v.AppendFrom(p.rows.Cols[w.cols[k]], j)
			}
		}
		w.st, w.diff = append(w.st, w.state), append(w.diff, n)
	}
	if len(w.st) == 0 {
		return nil
	}
	if w.flat != nil {
		return w.flat.Add(c, w.st, 0, w.args, w.diff, nil)
	}
	for k := range w.st {
		if err := w.acc.Add(c, w.args, k, n); err != nil {
			return err
		}
	}
	return nil
}
