package exec

import "github.com/streamdb/streamdb/expr"

// windowMark lets functions that reach back to the start of a long partition begin
// near its end, where new rows mostly come: it is what they make of the rows before
// one that begins a peer group. It is good until a row before that changes, and is
// not saved: without one, the partition is read from its start.
type windowMark struct {
	id     uint32
	rows   int // before it, copies counted
	groups int
	states map[*windowAgg][]byte
}

// A partition gets a mark from markFrom rows on, about markBehind before its end.
const (
	markFrom   = 256
	markBehind = 64
)

// markBefore returns the partition's mark if row s, the first that is needed, is not
// before it. Then no row before it has changed either.
func (w *window) markBefore(pid, s uint32) *windowMark {
	m := w.marks[pid]
	if m == nil || w.less(s, m.id) {
		return nil
	}
	return m
}

// advance moves the mark of a partition, whose rows from the mark on (or all, if
// that is nil) have just been computed, towards its end.
func (w *window) advance(pid uint32, from *windowMark, toEnd bool) error {
	if !w.fromStart || !toEnd {
		return nil
	}
	for _, r := range w.reaches {
		if r.back.kind == endAll && !r.resumes {
			return nil
		}
	}
	delete(w.marks, pid)
	p := w.part
	least, behind := markFrom, markBehind
	if w.ctx.Check {
		least, behind = 1, 2
	}
	n := p.rows.Rows
	if n == 0 || from == nil && n < least {
		return nil
	}
	at := p.starts[p.group[max(n-behind, 0)]]
	m := &windowMark{rows: at, groups: p.group[at], states: map[*windowAgg][]byte{}}
	if from != nil {
		m.rows, m.groups = m.rows+from.rows, m.groups+from.groups
	}
	copies := 0
	for _, id := range w.ids {
		if k := int(w.weight(id)); k > 0 && copies == at {
			m.id = id
			break
		} else {
			copies += k
		}
	}
	for _, f := range w.funcs {
		a, ok := f.(*windowAgg)
		if !ok || !a.reach().resumes {
			continue
		}
		if err := a.mark(w.ctx.Expr, p, at, m); err != nil {
			return err
		}
	}
	if w.marks == nil {
		w.marks = map[uint32]*windowMark{}
	}
	w.marks[pid] = m
	return nil
}

// mark notes the state of the aggregate over what is before row at.
func (w *windowAgg) mark(c *expr.Ctx, p *partition, at int, m *windowMark) error {
	clear(w.state)
	if p.from != nil {
		copy(w.state, p.from.states[w])
	}
	if err := w.add(c, p, 0, at, 1); err != nil {
		return err
	}
	m.states[w] = append([]byte(nil), w.state...)
	return nil
}
