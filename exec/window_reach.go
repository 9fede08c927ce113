package exec

import (
	"bytes"

	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
)

// What an epoch changes in a partition is found from the changed rows: a function
// whose frame ends n rows ahead can change in the n rows before a changed one, and
// to compute these the rows in their frames are read. Old and new rows lie in one
// order, where a row that is gone has no weight, so a distance in rows or peer
// groups is taken as the larger of the two.

// windowReach is what a function's value for a row depends on, besides the row.
type windowReach struct {
	back, ahead reachEnd
	// resumes: reaching back to the partition's start, the function can also begin at
	// a mark (window_mark.go).
	resumes bool
}

type reachEnd struct {
	kind  endKind
	n     int64         // of rows, or of peer groups besides the row's own
	frame *frame        // endValue
	at    *expr.Program // endValue: the order value up to which it reaches
}

type endKind uint8

const (
	endRow    endKind = iota // no further than the row
	endRows                  // n rows
	endGroups                // n peer groups
	endValue                 // an order value
	endAll                   // the partition's end
)

var reachAll = windowReach{back: reachEnd{kind: endAll}, ahead: reachEnd{kind: endAll}}

// varies tells that offsets differ between partitions.
func (r *frame) varies() bool { return r.starts >= 0 || r.ends >= 0 }

// reach returns the reach of a function of the frame's rows.
func (r *frame) reach() windowReach {
	if r.varies() {
		return reachAll
	}
	return windowReach{back: r.reachEnd(r.f.Start, r.start, r.startAt, plan.Preceding),
		ahead: r.reachEnd(r.f.End, r.end, r.endAt, plan.Following)}
}

// reachEnd returns how far a bound reaches towards the side on which away lies.
func (r *frame) reachEnd(k plan.BoundKind, n int64, at *expr.Program, away plan.BoundKind) reachEnd {
	switch {
	case k == plan.UnboundedPreceding || k == plan.UnboundedFollowing:
		return reachEnd{kind: endAll}
	case k != plan.CurrentRow && r.f.Mode == plan.Range:
		return reachEnd{kind: endValue, frame: r, at: at}
	case k != away:
		n = 0
	}
	if r.f.Mode == plan.Rows {
		return reachEnd{kind: endRows, n: n}
	}
	return reachEnd{kind: endGroups, n: n}
}

// constantOffset returns the offset of lag and lead if all rows have the same one.
func constantOffset(in plan.Node, args []int) *int64 {
	n := int64(1)
	if len(args) < 2 {
		return &n
	}
	col := args[1]
	for {
		switch x := in.(type) {
		case *plan.Exchange:
			in = x.Input
		case *plan.Filter:
			in = x.Input
		case *plan.Project:
			switch e := x.Exprs[col].(type) {
			case *expr.Col:
				col, in = e.Index, x.Input
			case *expr.Const:
				if v, ok := e.Val.(int32); ok {
					n = int64(v)
				} else {
					n = 0 // NULL: no other row
				}
				return &n
			default:
				return nil
			}
		default:
			return nil
		}
	}
}

// wholeFrom is the size in rows up to which a partition is computed as a whole, as
// is one of which many rows have changed.
const wholeFrom = 32

// sealPart takes the changes of one partition, in order, into account.
func (w *window) sealPart(pid uint32, changed []uint32) error {
	p := w.parts.rec(pid)
	first, last := w.order.ends(p)
	if n := le.Uint64(p[partRows:]); !w.ctx.Check && (n <= wholeFrom || n <= 8*uint64(len(changed))) {
		delete(w.marks, pid)
		return w.difference(pid, nil, first, first, last, last)
	}
	for i := 0; i < len(changed); {
		a, b := w.reached(pid, changed[i], -1), w.reached(pid, changed[i], 1)
		for i++; i < len(changed); i++ {
			if w.less(b, w.reached(pid, changed[i], -1)) {
				break
			}
			if c := w.reached(pid, changed[i], 1); w.less(b, c) {
				b = c
			}
		}
		s, e := w.needed(pid, a, -1), w.needed(pid, b, 1)
		if w.failed != nil {
			return w.failed
		}
		from := w.markBefore(pid, s)
		switch {
		case from != nil:
			s = from.id
		case w.fromStart:
			s = first
		}
		if err := w.difference(pid, from, s, a, b, e); err != nil {
			return err
		}
		if err := w.advance(pid, from, e == last); err != nil {
			return err
		}
	}
	return nil
}

// less reports whether a comes before b in their partition.
func (w *window) less(a, b uint32) bool {
	return bytes.Compare(w.rows.key(a)[8:], w.rows.key(b)[8:]) < 0
}

// reached returns the farthest row towards dir (-1: the start) whose value a
// change of row id can change: those before it look ahead, those behind it back.
func (w *window) reached(pid, id uint32, dir int) uint32 {
	return w.farthest(pid, id, dir, func(r windowReach) reachEnd {
		if dir < 0 {
			return r.ahead
		}
		return r.back
	}, true)
}

// needed returns the farthest row towards dir that row id's own value depends on,
// without functions that can begin at a mark.
func (w *window) needed(pid, id uint32, dir int) uint32 {
	return w.farthest(pid, id, dir, func(r windowReach) reachEnd {
		if dir < 0 {
			return r.back
		}
		return r.ahead
	}, false)
}

// farthest walks from a row as far as any function makes it. seen: over rows that
// reach the row, else over rows that it reaches.
func (w *window) farthest(pid, id uint32, dir int, end func(windowReach) reachEnd, seen bool) uint32 {
	rows, groups := int64(0), int64(-1)
	far := id
	further := func(x uint32) {
		if dir < 0 && w.less(x, far) || dir > 0 && w.less(far, x) {
			far = x
		}
	}
	for i := range w.reaches {
		switch e := end(w.reaches[i]); e.kind {
		case endAll:
			if w.reaches[i].resumes && !seen && dir < 0 {
				continue
			}
			first, last := w.order.ends(w.parts.rec(pid))
			if dir < 0 {
				return first
			}
			return last
		case endRows:
			rows = max(rows, e.n)
		case endGroups:
			groups = max(groups, e.n)
		case endValue:
			further(w.byValue(pid, id, dir, e, seen))
		}
	}
	if rows > 0 {
		further(w.byRows(pid, id, dir, rows))
	}
	if groups >= 0 {
		further(w.byGroups(pid, id, dir, groups))
	}
	return far
}

// walk calls f for the rows beyond a row, nearest first.
func (w *window) walk(pid, id uint32, dir int, f func(id uint32) bool) {
	p, key := w.parts.rec(pid), w.rows.key(id)[8:]
	if dir < 0 {
		w.order.before(p, id, key, f)
	} else {
		w.order.after(p, id, key, f)
	}
}

// byRows walks over n rows, both as they were and as they are.
func (w *window) byRows(pid, id uint32, dir int, n int64) uint32 {
	far, was, is := id, int64(0), int64(0)
	w.walk(pid, id, dir, func(x uint32) bool {
		far = x
		was, is = was+w.before(x), is+w.weight(x)
		return min(was, is) < n
	})
	return far
}

// byGroups walks over the row's own peers and n more groups, both as they were and
// as they are.
func (w *window) byGroups(pid, id uint32, dir int, n int64) uint32 {
	far, own := id, w.sortKey(id)
	group := own
	var passed [2]int64
	var counted [2]bool // the group at hand
	w.walk(pid, id, dir, func(x uint32) bool {
		if k := w.sortKey(x); !bytes.Equal(k, group) {
			if min(passed[0], passed[1]) >= n {
				return false
			}
			group, counted = k, [2]bool{}
		}
		far = x
		for i, weight := range [2]int64{w.before(x), w.weight(x)} {
			if weight > 0 && !counted[i] && !bytes.Equal(group, own) {
				counted[i] = true
				passed[i]++
			}
		}
		return true
	})
	return far
}

// valueBlock is how many rows byValue looks at together.
const valueBlock = 64

// byValue walks over the rows that reach the row by their order values, or over
// those that it reaches by its own.
func (w *window) byValue(pid, id uint32, dir int, e reachEnd, seen bool) uint32 {
	own, other := e.at, e.frame.key
	if seen {
		own, other = other, own
	}
	far, block := id, []uint32(nil)
	limit := w.orderValues(e.frame, own, []uint32{id})
	if w.failed != nil {
		return far
	}
	within := func() bool {
		for i, v := range w.orderValues(e.frame, other, block) {
			if c := bytes.Compare(v, limit[0]); dir > 0 && c > 0 || dir < 0 && c < 0 {
				return false
			}
			far = block[i]
		}
		block = block[:0]
		return w.failed == nil
	}
	more := true
	w.walk(pid, id, dir, func(x uint32) bool {
		if block = append(block, x); len(block) == valueBlock {
			more = within()
		}
		return more
	})
	if more && len(block) > 0 {
		within()
	}
	return far
}

// orderValues returns a value of rows as keys that order like the partition; none
// and w.failed when one cannot be computed.
func (w *window) orderValues(f *frame, p *expr.Program, ids []uint32) [][]byte {
	c := w.part.rows
	c.Reset()
	w.part.enc = w.part.enc[:0]
	for _, id := range ids {
		w.part.enc = append(w.part.enc, w.rowBytes(id))
	}
	w.format.decode(c, 0, w.part.enc)
	c.Rows = len(ids)
	v, err := p.Eval(w.ctx.Expr, c)
	if err != nil {
		w.failed = err
		return nil
	}
	return f.sortKeys(nil, v, len(ids))
}
