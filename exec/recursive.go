package exec

import (
	"errors"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Bounds of a recursion in a stream, per epoch. A one-off query is bounded by its
// memory and can be cancelled.
const (
	loopIterations = 100_000
	loopBytes      = 2 << 30 // of the rows of all iterations
	loopWeight     = 1 << 53
)

// newRecursive makes the operator of WITH RECURSIVE. Input 0 is the base, input 1
// the step, whose last column is the iteration its rows come from.
func newRecursive(p *plan.Recursive, b *opBase) Operator {
	switch {
	case b.ctx.Batch:
		return newRecursiveQuery(p, b)
	case p.All:
		return newRecursiveAll(p, b)
	}
	return newRecursiveUnion(p, b)
}

// rowsToCome are rows of an iteration, encoded.
type rowsToCome struct {
	mem  arena
	rows [][]byte
	ws   []int64
}

func (r *rowsToCome) add(row []byte, w int64) {
	r.rows = append(r.rows, r.mem.get(r.mem.put(row)))
	r.ws = append(r.ws, w)
}

func (r *rowsToCome) reset() {
	r.rows, r.ws = r.rows[:0], r.ws[:0]
	r.mem.reset()
}

func (r *rowsToCome) bytes() int { return r.mem.held + 32*cap(r.rows) }

// errEnough ends the iterations of a one-off query whose rows nobody needs any more.
// It is not ErrDone, by which a part of the step says that of its input alone.
var errEnough = errors.New("exec: no more rows of a recursion needed")

// recursiveQuery runs the iterations of a one-off query one after the other, and
// emits each row when it comes, so that a LIMIT above can end them, also amid an
// iteration that does not end by itself, as with another recursion in the step.
type recursiveQuery struct {
	*opBase
	loop   *loop
	format *rowFormat
	batch  rowBatch
	// Without ALL: the rows of all iterations. The payload is the iteration of the
	// row and its place there.
	keys *keyer
	seen *keyTable
	safe bool
	iter uint32 // of the rows in next
	cur  rowsToCome
	next rowsToCome
	out  *loopOutput
	// enough: the output has been refused.
	enough bool
}

func newRecursiveQuery(p *plan.Recursive, b *opBase) *recursiveQuery {
	ts := plan.Types(p.Out)
	cols := allColumns(ts)
	r := &recursiveQuery{opBase: b, format: newRowFormat(ts, cols, false), safe: allIdentitySafe(ts, cols)}
	if !p.All {
		r.keys = newKeyer(ts, cols)
		r.seen = r.keys.newTable(8)
	}
	r.out = newLoopOutput(r.format, ts, b.ctx.rows())
	return r
}

func (r *recursiveQuery) drive(l *loop) { r.loop = l }

// atOnce reports whether a row can be emitted before its iteration is complete: a
// later one does not take its place.
func (r *recursiveQuery) atOnce() bool { return r.seen == nil || r.safe }

func (r *recursiveQuery) Push(_ int, c *vec.Chunk, emit Emit) error {
	if r.enough {
		return ErrDone
	}
	from := len(r.next.rows)
	r.format.encode(&r.batch, c)
	if r.seen != nil {
		r.keys.prepare(c)
	}
	for i := range c.Rows {
		w := c.Weight(i)
		switch {
		case w == 0:
		case r.seen == nil:
			r.next.add(r.batch.row(i), w)
		default:
			r.addNew(i)
		}
	}
	held := r.cur.bytes() + r.next.bytes()
	if r.seen != nil {
		held += r.seen.bytes()
	}
	if err := r.overBudget(held); err != nil || !r.atOnce() {
		return err
	}
	return r.emitted(r.out.send(r.out.out, r.next.rows[from:], r.next.ws[from:], emit))
}

// emitted passes on what the output said. Amid an iteration it has to get past the
// operators of the step.
func (r *recursiveQuery) emitted(err error) error {
	if err != ErrDone {
		return err
	}
	r.enough = true
	if r.iter > 0 {
		return errEnough
	}
	return ErrDone
}

// addNew adds row i unless an earlier iteration had it. Of the rows of one
// iteration that are equal but look different, the one with the smallest bytes is
// kept, as the order in which they come must not matter.
func (r *recursiveQuery) addNew(i int) {
	row := r.batch.row(i)
	id, added := r.seen.upsert(r.keys, i)
	p := r.seen.rec(id)
	switch {
	case added:
		le.PutUint32(p, r.iter)
		le.PutUint32(p[4:], uint32(len(r.next.rows)))
		r.next.add(row, 1)
	case !r.safe && le.Uint32(p) == r.iter:
		at := &r.next.rows[le.Uint32(p[4:])]
		if string(row) < string(*at) {
			*at = r.next.mem.get(r.next.mem.put(row))
		}
	}
}

// Seal runs the recursion.
func (r *recursiveQuery) Seal(e types.Epoch, emit Emit) error {
	err := r.iterate(e, emit)
	if r.enough {
		return ErrDone
	}
	return err
}

func (r *recursiveQuery) iterate(e types.Epoch, emit Emit) error {
	for len(r.next.rows) > 0 && !r.enough {
		r.cur, r.next = r.next, r.cur
		r.next.reset()
		iter := int64(r.iter)
		r.iter++
		if r.ctx.Interrupt != nil {
			if err := r.ctx.Interrupt(); err != nil {
				return err
			}
		}
		if !r.atOnce() {
			if err := r.emitted(r.out.send(r.out.out, r.cur.rows, r.cur.ws, emit)); err != nil {
				return err
			}
		}
		if err := r.out.feed(r.loop, r.cur.rows, r.cur.ws, iter); err != nil {
			return err
		}
		if err := r.loop.seal(e); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the rows.
func (r *recursiveQuery) Close() error {
	r.cur, r.next = rowsToCome{}, rowsToCome{}
	if r.seen != nil {
		r.seen = r.keys.newTable(8)
	}
	return nil
}

// endless is the error of a recursion in a stream that does not seem to end.
func endless(b *opBase, what string) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the recursive query does not end: %s", what).
		WithHint("Bound the recursion, for example by a depth in a column, or use UNION instead of UNION ALL if the data has cycles.")
}

// loopLimits counts what the iterations of an epoch do.
type loopLimits struct{ bytes int }

// check counts rows that begin iteration iter.
func (l *loopLimits) check(b *opBase, rows [][]byte, iter int) error {
	if b.ctx.Interrupt != nil {
		if err := b.ctx.Interrupt(); err != nil {
			return err
		}
	}
	if iter >= loopIterations {
		return endless(b, "it has had "+string(types.AppendInt(nil, loopIterations))+" iterations")
	}
	for _, r := range rows {
		l.bytes += len(r) + 16
	}
	if l.bytes > loopBytes {
		return endless(b, "its iterations have produced 2 GiB of rows")
	}
	return nil
}

// addWeight adds weights of a row, which must stay countable.
func addWeight(b *opBase, have, w int64) (int64, error) {
	if n := have + w; n < loopWeight && n > -loopWeight && w < loopWeight && w > -loopWeight {
		return n, nil
	}
	return 0, endless(b, "a row has come more often than can be counted")
}
