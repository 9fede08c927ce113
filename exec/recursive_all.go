package exec

import (
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// recursiveAll is UNION ALL in a stream. The rows of an iteration are just what
// the step makes of those before, so the operator holds nothing between epochs:
// it hands the changes of each iteration on to the next.
type recursiveAll struct {
	*opBase
	loop    *loop
	n       int
	pending []*consolidator // changes by iteration
	free    []*consolidator
	ts      []types.T
	out     *loopOutput
	rows    [][]byte
	ws      []int64
}

func newRecursiveAll(p *plan.Recursive, b *opBase) *recursiveAll {
	ts := plan.Types(p.Out)
	r := &recursiveAll{opBase: b, n: len(ts), ts: ts}
	r.out = newLoopOutput(newRowFormat(ts, allColumns(ts), false), ts, b.ctx.rows())
	return r
}

func (r *recursiveAll) drive(l *loop) { r.loop = l }

func (r *recursiveAll) Push(in int, c *vec.Chunk, _ Emit) error {
	f := r.out.format
	var batch *rowBatch
	for i := range c.Rows {
		k, err := r.iteration(in, c, i)
		if err != nil {
			return err
		}
		if batch == nil {
			batch = &k.batch
			f.encode(batch, c)
		}
		k.addRow(batch.row(i), c.Weight(i))
	}
	return nil
}

// iteration returns the changes of the iteration that row i belongs to.
func (r *recursiveAll) iteration(in int, c *vec.Chunk, i int) (*consolidator, error) {
	at := 0
	if in == 1 {
		at = int(c.Cols[r.n].(*vec.Col[int64]).Vals[i]) + 1
	}
	if at > loopIterations {
		return nil, (&loopLimits{}).check(r.opBase, nil, at)
	}
	for len(r.pending) <= at {
		r.pending = append(r.pending, nil)
	}
	if r.pending[at] == nil {
		if n := len(r.free); n > 0 {
			r.pending[at], r.free = r.free[n-1], r.free[:n-1]
		} else {
			r.pending[at] = newConsolidator(r.ts)
		}
	}
	return r.pending[at], nil
}

// Seal carries the changes through the iterations.
func (r *recursiveAll) Seal(e types.Epoch, emit Emit) error {
	var limits loopLimits
	for iter := 0; iter < len(r.pending); iter++ {
		p := r.pending[iter]
		if p == nil {
			continue
		}
		r.rows, r.ws = r.rows[:0], r.ws[:0]
		err := p.each(func(id uint32, w int64) error {
			if _, err := addWeight(r.opBase, 0, w); err != nil {
				return err
			}
			r.rows, r.ws = append(r.rows, p.rows.key(id)), append(r.ws, w)
			return nil
		})
		if err == nil {
			err = limits.check(r.opBase, r.rows, iter)
		}
		if err == nil {
			err = r.out.send(r.out.out, r.rows, r.ws, emit)
		}
		if err == nil {
			err = r.out.feed(r.loop, r.rows, r.ws, int64(iter))
		}
		if err == nil {
			err = r.loop.seal(e)
		}
		if err != nil {
			return err
		}
		p.reset()
		r.pending[iter], r.free = nil, append(r.free, p)
	}
	r.pending = r.pending[:0]
	return nil
}

// Close frees the memory.
func (r *recursiveAll) Close() error {
	r.pending, r.free = nil, nil
	return nil
}
