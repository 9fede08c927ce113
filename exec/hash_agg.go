package exec

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// The record of a group: its weight (the number of input rows), flags, vnode, the
// row shown for its key when equal keys may look different, and the fixed-width
// states of its aggregates.
const (
	groupWeight = 0
	groupFlags  = 8
	groupVnode  = 12
	groupShown  = 16
	groupStates = 24
)

const (
	groupEmitted   = 1 << iota // the group's row is part of the output
	groupFailed                // its result failed and was reported instead
	groupDirty                 // touched since the last Seal
	groupUnsaved               // touched since the last Save
	groupPersisted             // has a saved entry
	groupClosed                // below the watermark: forgotten at the next Save
)

// hashAgg groups rows and keeps aggregates of every group. Rows fold into the
// groups as they come; Seal emits -old +new for the groups whose output changed.
// A group exists as long as it has rows; a scalar one always exists.
type hashAgg struct {
	*opBase
	scalar bool
	last   bool // see emitLast
	group  []int
	keys   *keyer
	exact  *rowFormat // of the group columns as displayed
	safe   bool       // equal keys are identical: the key bytes can be displayed
	vnodes vnoder
	groups *keyTable
	aggs   []aggregate
	nAcc   int
	accs   accPages
	shown  arena
	reprs  map[uint32]*reprs

	ids     []uint32
	states  [][]byte
	exactB  rowBatch
	dirty   []*dirtyGroups
	unsaved []uint32
	fails   aggFailures
	seal    aggSeal
	closing closing
}

// aggregate is one aggregate of the operator.
type aggregate struct {
	call expr.AggCall
	cols []int // input columns of args
	flat expr.FlatAgg
	new  func() expr.Acc
	off  int // of the flat state in the record
	acc  int // number among the aggregates with objects
	args []vec.Vector
	skip vec.Bitmap
}

// dirtyGroups lists groups touched in this epoch with what they were before.
type dirtyGroups struct {
	ids    []uint32
	before []byte       // records before the first touch
	accs   []vec.Vector // results of aggregates with objects before the first touch
	failed map[int]error
}

func newHashAgg(p *plan.Aggregate, b *opBase) (Operator, error) {
	ts := plan.Types(p.Input.Schema())
	h := &hashAgg{
		opBase: b, scalar: p.Scalar, group: p.Group,
		keys: newKeyer(ts, p.Group), exact: newRowFormat(ts, p.Group, false),
		safe: allIdentitySafe(ts, p.Group), vnodes: newVnoder(b, p.Input, p.Group),
		reprs: map[uint32]*reprs{},
	}
	appendOnly := b.ctx.Batch || p.Input.Props().AppendOnly
	size := groupStates
	for _, call := range p.Aggs {
		impl := call.Make(ts, appendOnly)
		cols := call.Columns()
		a := aggregate{call: call, cols: cols, flat: impl.Flat, new: impl.New, args: make([]vec.Vector, len(cols))}
		if a.flat != nil {
			a.off = size
			size += (a.flat.Size() + 7) / 8 * 8
		} else {
			a.acc = h.nAcc
			h.nAcc++
		}
		h.aggs = append(h.aggs, a)
	}
	h.accs.width = h.nAcc
	h.groups = h.keys.newTable(size)
	h.seal.init(plan.Types(p.Out), b.ctx.rows())
	return h, nil
}

// Start gives a scalar aggregate its row.
func (h *hashAgg) Start(Emit) error {
	if h.scalar {
		h.keys.prepare(&vec.Chunk{Rows: 1})
		id, added := h.groups.upsert(h.keys, 0)
		h.touch(id, added, 0)
	}
	return nil
}

func (h *hashAgg) Push(_ int, c *vec.Chunk, _ Emit) error {
	h.locate(c)
	for i, id := range h.ids {
		r := h.groups.rec(id)
		h.states[i] = r
		le.PutUint64(r, le.Uint64(r)+uint64(c.Weight(i)))
	}
	for k := range h.aggs {
		a := &h.aggs[k]
		for j, col := range a.cols {
			a.args[j] = c.Cols[col]
		}
		h.filterRows(a, c)
	}
	for k := range h.aggs {
		if err := h.add(k, c, c.Diff); err != nil {
			return err
		}
	}
	if h.fails.any() {
		if err := h.undo(c); err != nil {
			return err
		}
	}
	if h.ctx.Budget > 0 {
		return h.overBudget(h.groups.bytes() + 64*h.nAcc*h.groups.n)
	}
	return nil
}

// locate finds the groups of the rows and remembers what they were.
func (h *hashAgg) locate(c *vec.Chunk) {
	h.ids = h.ids[:0]
	if cap(h.states) < c.Rows {
		h.states = make([][]byte, c.Rows)
	}
	h.states = h.states[:c.Rows]
	h.vnodes.prepare(c)
	if len(h.group) == 0 {
		h.keys.prepare(&vec.Chunk{Rows: 1})
		id, added := h.groups.upsert(h.keys, 0)
		h.touch(id, added, 0)
		for range c.Rows {
			h.ids = append(h.ids, id)
		}
		return
	}
	h.keys.prepare(c)
	h.groups.warm(h.keys.hash)
	if !h.safe {
		h.exact.encode(&h.exactB, c)
	}
	for i := range c.Rows {
		id, added := h.groups.upsert(h.keys, i)
		h.touch(id, added, h.vnodes.at(i))
		if !h.safe {
			h.repr(id).add(h.exactB.row(i), c.Weight(i))
		}
		h.ids = append(h.ids, id)
	}
}

// touch notes that a group is about to change.
func (h *hashAgg) touch(id uint32, added bool, vnode byte) {
	r := h.groups.rec(id)
	if added {
		r[groupVnode] = vnode
		if h.nAcc > 0 {
			h.accs.make(id, h.aggs)
		}
	}
	if h.ctx.Batch {
		return
	}
	f := le.Uint32(r[groupFlags:])
	if f&groupDirty != 0 {
		return
	}
	h.remember(id, r, f)
	if f&groupUnsaved == 0 {
		h.unsaved = append(h.unsaved, id)
	}
	le.PutUint32(r[groupFlags:], f&^groupClosed|groupDirty|groupUnsaved)
}

// remember copies the record and the results a group has before its first change
// of the epoch.
func (h *hashAgg) remember(id uint32, r []byte, f uint32) {
	n := len(h.dirty)
	if n == 0 || len(h.dirty[n-1].ids) >= vec.MaxRows {
		h.dirty = append(h.dirty, h.newDirty())
		n++
	}
	d := h.dirty[n-1]
	at := len(d.ids)
	d.ids = append(d.ids, id)
	d.before = append(d.before, r[:h.groups.payload]...)
	for k := range h.aggs {
		a := &h.aggs[k]
		if a.flat != nil {
			continue
		}
		v := d.accs[a.acc]
		if f&(groupEmitted|groupFailed) == 0 {
			v.AppendNull()
			continue
		}
		if err := h.accs.of(id)[a.acc].Result(h.ctx.Expr, v); err != nil {
			padTo(v, at+1)
			if d.failed == nil {
				d.failed = map[int]error{}
			}
			d.failed[at] = err
		}
	}
}

func (h *hashAgg) newDirty() *dirtyGroups {
	if n := len(h.seal.spare); n > 0 {
		d := h.seal.spare[n-1]
		h.seal.spare = h.seal.spare[:n-1]
		return d
	}
	d := &dirtyGroups{accs: make([]vec.Vector, h.nAcc)}
	for _, a := range h.aggs {
		if a.flat == nil {
			d.accs[a.acc] = vec.New(a.call.Typ, 0)
		}
	}
	return d
}

func (d *dirtyGroups) reset() {
	d.ids, d.before, d.failed = d.ids[:0], d.before[:0], nil
	for _, v := range d.accs {
		v.Reset()
	}
}

// padTo makes a vector to which a failed result may or may not have been
// appended n rows long.
func padTo(v vec.Vector, n int) {
	if v.Len() < n {
		v.AppendNull()
	}
}

// filterRows marks the rows a FILTER clause leaves out.
func (h *hashAgg) filterRows(a *aggregate, c *vec.Chunk) {
	a.skip = a.skip[:0]
	if a.call.Filter < 0 {
		return
	}
	v := c.Cols[a.call.Filter].(*vec.Col[bool])
	for i, ok := range v.Vals[:c.Rows] {
		if !ok || v.IsNull(i) {
			a.skip.Set(i)
		}
	}
}

// add folds the chunk's rows, with weights diff, into aggregate k.
func (h *hashAgg) add(k int, c *vec.Chunk, diff []int64) error {
	a := &h.aggs[k]
	h.begin()
	if a.flat != nil {
		err := a.flat.Add(h.ctx.Expr, h.states, a.off, a.args, diff, a.skip)
		if h.end() {
			h.fails.take(k, &h.errs)
		}
		return err
	}
	for i, id := range h.ids {
		w := int64(1)
		if diff != nil {
			w = diff[i]
		}
		if w == 0 || a.skip.Get(i) {
			continue
		}
		if err := h.accs.of(id)[a.acc].Add(h.ctx.Expr, a.args, i, w); err != nil {
			if h.ctx.RowError == nil {
				h.end()
				return err
			}
			h.errs.Rows = append(h.errs.Rows, int32(i))
			h.errs.Errs = append(h.errs.Errs, err)
		}
	}
	if h.end() {
		h.fails.take(k, &h.errs)
	}
	return nil
}

// aggFailures are the rows that aggregates refused, each with its aggregate.
type aggFailures struct {
	rows []int32
	aggs []int
	errs []error
}

func (f *aggFailures) any() bool { return len(f.rows) > 0 }

func (f *aggFailures) take(k int, e *expr.RowErrors) {
	for j, r := range e.Rows {
		f.rows, f.aggs, f.errs = append(f.rows, r), append(f.aggs, k), append(f.errs, e.Errs[j])
	}
	e.Rows, e.Errs = e.Rows[:0], e.Errs[:0]
}

// undo takes failed rows out of the aggregates that had accepted them, and out
// of their groups.
func (h *hashAgg) undo(c *vec.Chunk) error {
	f := h.fails
	h.fails = aggFailures{}
	back := make([]int64, c.Rows)
	seen := map[int32]bool{}
	for j, r := range f.rows {
		if seen[r] {
			continue
		}
		seen[r] = true
		w := c.Weight(int(r))
		switch err := h.ctx.RowError(h.op, c, int(r), w, f.errs[j]); err {
		case nil:
			back[r] = -w
		case ErrKeep:
		default:
			return err
		}
	}
	for i, w := range back {
		if w != 0 {
			r := h.states[i]
			le.PutUint64(r, le.Uint64(r)+uint64(w))
			if !h.safe {
				h.repr(h.ids[i]).add(h.exactB.row(i), w)
			}
		}
	}
	for k := range h.aggs {
		diff := append([]int64(nil), back...)
		for j, r := range f.rows {
			if f.aggs[j] == k {
				diff[r] = 0
			}
		}
		if err := h.add(k, c, diff); err != nil {
			return err
		}
	}
	if h.fails.any() {
		return pgerr.New(pgerr.Internal, "operator %d (%s): a row could be added but not taken away", h.op, h.name)
	}
	return nil
}

// Advance passes the watermark of a group column on. Groups below it will not
// change any more; Seal frees them.
func (h *hashAgg) Advance(_ int, w Watermark, pass func(Watermark) error, _ Emit) error {
	for i, g := range h.group {
		if g == w.Col {
			h.closing.advance(h, i, w.At)
			return pass(Watermark{Col: i, At: w.At})
		}
	}
	return nil
}

// Seal emits the net change of every touched group.
func (h *hashAgg) Seal(_ types.Epoch, emit Emit) error {
	if h.ctx.Batch {
		return h.sealBatch(emit)
	}
	for _, d := range h.dirty {
		if err := h.sealGroups(d, emit); err != nil {
			return err
		}
		d.reset()
		if len(h.seal.spare) < spareDirty {
			h.seal.spare = append(h.seal.spare, d)
		}
	}
	clear(h.dirty)
	h.dirty = h.dirty[:0]
	h.closing.sweep(h)
	return nil
}

func (h *hashAgg) sealBatch(emit Emit) error {
	d := h.newDirty()
	var err error
	h.groups.visit(func(id uint32) bool {
		d.ids = append(d.ids, id)
		if len(d.ids) == vec.MaxRows {
			err = h.sealGroups(d, emit)
			d.ids = d.ids[:0]
		}
		return err == nil
	})
	if err == nil {
		err = h.sealGroups(d, emit)
	}
	h.release()
	return err
}

func (h *hashAgg) release() {
	h.groups = h.keys.newTable(h.groups.payload)
	h.accs = accPages{width: h.nAcc}
	h.reprs, h.shown = nil, arena{}
}

func (h *hashAgg) Close() error {
	h.release()
	return nil
}

// accPages keeps the objects of groups by group number.
type accPages struct {
	width int
	pages [][]expr.Acc
	mem   int
}

const accPage = 256

func (p *accPages) of(id uint32) []expr.Acc {
	o := int(id%accPage) * p.width
	return p.pages[id/accPage][o : o+p.width]
}

func (p *accPages) make(id uint32, aggs []aggregate) {
	for int(id/accPage) >= len(p.pages) {
		p.pages = append(p.pages, make([]expr.Acc, accPage*p.width))
	}
	of := p.of(id)
	for k := range aggs {
		if aggs[k].flat == nil {
			of[aggs[k].acc] = aggs[k].new()
		}
	}
}

func (p *accPages) drop(id uint32) { clear(p.of(id)) }
