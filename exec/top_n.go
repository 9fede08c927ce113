package exec

import (
	"bytes"
	"math"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// topN keeps rows offset+1 … offset+limit of every partition. All rows stay in
// state, because a row outside may move in when one inside goes; if the input
// never takes rows away, those that can no longer be in or before the window are
// dropped.
type topN struct {
	*orderedRows
	limit, offset int64
	ties, rank    bool
	appendOnly    bool
	last          bool // see emitLast
	touched       []touchedPart
	old           []span // the windows that the touched partitions had
	next          []span
	trimAt        int // batch: number of rows that asks for a trim
	out           *rowOutput
	ranks         []int64
}

func newTopN(p *plan.TopN, b *opBase) (Operator, error) {
	t := &topN{
		orderedRows: newOrderedRows(b, p.Input, p.Partition, p.Order),
		limit:       p.Limit, offset: max(p.Offset, 0), ties: p.WithTies, rank: p.RankCol,
		appendOnly: b.ctx.Batch || p.Input.Props().AppendOnly,
	}
	if t.limit < 0 {
		t.limit, t.appendOnly = math.MaxInt64-t.offset, false
	}
	t.loose = t.appendOnly && !t.ties && t.limit > 0 && t.limit+t.offset <= maxLoose
	t.out = newRowOutput(t.format, plan.Types(p.Schema()), b.ctx.rows())
	return t, nil
}

func (t *topN) Push(_ int, c *vec.Chunk, _ Emit) error {
	if t.limit == 0 {
		return nil
	}
	if t.loose {
		if err := t.pushLoose(c); err != nil {
			return err
		}
	} else {
		t.pushKept(c)
	}
	if t.ctx.Budget > 0 {
		return t.overBudget(t.StateBytes())
	}
	return nil
}

// pushKept takes a chunk into partitions that keep the rows outside of their
// windows too.
func (t *topN) pushKept(c *vec.Chunk) {
	t.prepare(c)
	for i := range c.Rows {
		w := c.Weight(i)
		if w == 0 {
			continue
		}
		pid := t.partition(i)
		n := t.rowKey(c, i, pid)
		p := t.parts.rec(pid)
		if bound := le.Uint32(p[partBound:]); t.appendOnly && bound != 0 && t.beyond(bound-1, n) {
			continue
		}
		t.touch(pid, p)
		t.add(pid, n, w)
	}
	if t.ctx.Batch && t.appendOnly && t.rows.n > t.trimAt {
		t.parts.visit(func(pid uint32) bool {
			t.trim(pid)
			return true
		})
		t.trimAt = 2*t.rows.n + 4096
	}
}

// beyond reports whether the row of the last rowKey comes after the last row
// that an append-only partition keeps.
func (t *topN) beyond(last uint32, sortLen int) bool {
	if t.ties {
		return bytes.Compare(t.kb[8:8+sortLen], t.sortKey(last)) > 0
	}
	return t.after(last)
}

// touch remembers the window a partition has before the epoch changes it.
func (t *topN) touch(pid uint32, p []byte) {
	f := le.Uint32(p[partFlags:])
	if f&partTouched != 0 {
		return
	}
	le.PutUint32(p[partFlags:], f|partTouched)
	x := touchedPart{pid: pid}
	if !t.ctx.Batch {
		x.lo = len(t.old)
		t.old = t.window(pid, t.old)
		x.hi = len(t.old)
	}
	t.touched = append(t.touched, x)
}

// window appends the output of a partition.
func (t *topN) window(pid uint32, dst []span) []span {
	if t.limit == 0 {
		return dst
	}
	pos := int64(0)
	end := t.offset + t.limit
	var last []byte
	t.scan(pid, func(id uint32) bool {
		w := t.weight(id)
		if w <= 0 {
			return true
		}
		lo, hi := max(pos, t.offset), pos+w
		if pos >= end {
			if !t.ties || !bytes.Equal(t.sortKey(id), last) {
				return false
			}
		} else if !t.ties {
			hi = min(hi, end)
		}
		if hi > lo {
			dst = append(dst, span{id, lo + 1, hi - lo})
		}
		if pos < end {
			last = t.sortKey(id)
		}
		pos += w
		return t.ties || pos < end
	})
	return dst
}

// Seal emits the difference of the windows of the touched partitions.
func (t *topN) Seal(_ types.Epoch, emit Emit) error {
	for _, id := range t.unsavd {
		if t.weight(id) < 0 {
			return t.negative("a row")
		}
	}
	for _, x := range t.touched {
		t.next = t.window(x.pid, t.next[:0])
		old := t.old[x.lo:x.hi]
		var err error
		if t.rank {
			err = t.emitRanks(old, t.next, emit)
		} else {
			err = t.emitSet(old, t.next, emit)
		}
		if err != nil {
			return err
		}
		if t.loose {
			t.settle(x.pid)
		} else if !t.ctx.Batch {
			t.trim(x.pid)
		}
	}
	if err := t.flushRows(emit); err != nil {
		return err
	}
	for _, x := range t.touched {
		p := t.parts.rec(x.pid)
		le.PutUint32(p[partFlags:], le.Uint32(p[partFlags:])&^partTouched)
		if le.Uint64(p[partRows:]) == 0 {
			t.parts.drop(x.pid)
		}
	}
	t.touched, t.old = t.touched[:0], t.old[:0]
	if t.ctx.Batch {
		return t.Close()
	}
	return nil
}

// emitLast implements lastRows: the key are the partition columns, if windows are of
// one row.
func (t *topN) emitLast(key []int) bool {
	t.last = t.limit == 1 && !t.ties && !t.rank && !t.ctx.Batch && sameColumns(key, t.keys.cols)
	return t.last
}

// emitSet emits the rows whose number of copies in the window changed.
func (t *topN) emitSet(old, next []span, emit Emit) error {
	if t.last && len(old) > 0 && len(next) > 0 {
		if old[0].id == next[0].id {
			return nil
		}
		old = nil
	}
	count := func(l []span, sign int64) {
		for _, s := range l {
			r := t.rows.rec(s.id)
			le.PutUint64(r[ordScratch:], le.Uint64(r[ordScratch:])+uint64(sign*s.count))
		}
	}
	count(old, -1)
	count(next, 1)
	for _, l := range [2][]span{old, next} {
		for _, s := range l {
			r := t.rows.rec(s.id)
			w := int64(le.Uint64(r[ordScratch:]))
			le.PutUint64(r[ordScratch:], 0)
			if w != 0 {
				if err := t.emitRow(s.id, w, 0, emit); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// emitRanks emits the ranks that another row holds now.
func (t *topN) emitRanks(old, next []span, emit Emit) error {
	at := t.offset + 1
	for len(old) > 0 || len(next) > 0 {
		switch {
		case len(old) > 0 && len(next) > 0 && old[0].id == next[0].id:
		default:
			if len(old) > 0 {
				if err := t.emitRow(old[0].id, -1, at, emit); err != nil {
					return err
				}
			}
			if len(next) > 0 {
				if err := t.emitRow(next[0].id, 1, at, emit); err != nil {
					return err
				}
			}
		}
		old, next = advanceSpan(old, at), advanceSpan(next, at)
		at++
	}
	return nil
}

// advanceSpan drops the first span if it ends at rank at.
func advanceSpan(l []span, at int64) []span {
	if len(l) > 0 && l[0].rank+l[0].count-1 == at {
		return l[1:]
	}
	return l
}

func (t *topN) emitRow(id uint32, w, rank int64, emit Emit) error {
	if t.rank {
		t.ranks = append(t.ranks, rank)
	}
	t.out.rows = append(t.out.rows, t.rowBytes(id))
	t.out.diff = append(t.out.diff, w)
	t.out.ones = t.out.ones && w == 1
	if len(t.out.rows) >= t.out.max {
		return t.flushRows(emit)
	}
	return nil
}

func (t *topN) flushRows(emit Emit) error {
	if t.rank {
		v := t.out.c.Cols[len(t.out.c.Cols)-1].(*vec.Col[int64])
		v.Vals = append(v.Vals, t.ranks...)
		t.ranks = t.ranks[:0]
	}
	return t.out.flush(emit)
}

// trim drops the rows of an append-only partition after its window, and notes
// the last one left.
func (t *topN) trim(pid uint32) {
	if !t.appendOnly {
		return
	}
	kept := int64(0)
	end := t.offset + t.limit
	last := noID
	var drop []uint32
	t.scan(pid, func(id uint32) bool {
		if kept < end || t.ties && bytes.Equal(t.sortKey(id), t.sortKey(last)) {
			kept += t.weight(id)
			last = id
		} else {
			drop = append(drop, id)
		}
		return true
	})
	if kept < end {
		return
	}
	le.PutUint32(t.parts.rec(pid)[partBound:], last+1)
	for _, id := range drop {
		if t.ctx.Batch {
			t.remove(id)
			continue
		}
		// Its entry is deleted by the next Save, which finds it without weight.
		r := t.rows.rec(id)
		le.PutUint64(r, 0)
		t.dirty(id, r)
	}
}

// Advance passes the watermark of partition columns on.
func (t *topN) Advance(_ int, w Watermark, pass func(Watermark) error, _ Emit) error {
	for _, c := range t.keys.cols {
		if c == w.Col {
			return pass(w)
		}
	}
	return nil
}
