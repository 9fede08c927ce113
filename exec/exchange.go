package exec

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/streamdb/streamdb/vec"
)

// Output sends a task's results to other tasks. It belongs to the task's
// goroutine; Send borrows the chunk and copies what crosses.
type Output interface {
	Send(c *vec.Chunk) error
	// Barrier flushes what is held back and passes the barrier on.
	Barrier(b *Barrier) error
}

// InstanceOf maps a key group to one of n instances, in contiguous ranges.
func InstanceOf(vnode, n int) int { return vnode * n / vec.Vnodes }

// HashOutput splits rows by the vnode of their key over the edges, one an
// instance. Rows are gathered until a chunk is full or the epoch ends: what is
// not sealed is not visible, so holding back costs no freshness.
type HashOutput struct {
	keys   []int
	edges  []*Edge
	pool   *vec.Pool
	full   int
	bufs   []*vec.Chunk
	hashes []uint64
	sel    [][]int32
}

// NewHashOutput makes an exchange over edges; pool makes chunks of its rows.
func NewHashOutput(keys []int, edges []*Edge, pool *vec.Pool, chunkRows int) *HashOutput {
	return &HashOutput{keys: keys, edges: edges, pool: pool, full: chunkRows,
		bufs: make([]*vec.Chunk, len(edges)), sel: make([][]int32, len(edges))}
}

// Send implements Output.
func (o *HashOutput) Send(c *vec.Chunk) error {
	n := len(o.edges)
	if n == 1 {
		return o.sendRange(0, c)
	}
	o.hashes = vec.HashCols(c, o.keys, o.hashes)
	for i := range o.sel {
		o.sel[i] = o.sel[i][:0]
	}
	for i, h := range o.hashes {
		k := InstanceOf(vec.Vnode(h), n)
		o.sel[k] = append(o.sel[k], int32(i))
	}
	for k, sel := range o.sel {
		for len(sel) > 0 {
			b := o.buf(k)
			m := min(len(sel), o.full-b.Rows)
			b.Gather(c, sel[:m])
			sel = sel[m:]
			if err := o.flushFull(k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *HashOutput) sendRange(k int, c *vec.Chunk) error {
	for lo := 0; lo < c.Rows; {
		b := o.buf(k)
		m := min(c.Rows-lo, o.full-b.Rows)
		b.AppendRange(c, lo, lo+m)
		lo += m
		if err := o.flushFull(k); err != nil {
			return err
		}
	}
	return nil
}

func (o *HashOutput) buf(k int) *vec.Chunk {
	if o.bufs[k] == nil {
		o.bufs[k] = o.pool.Get()
	}
	return o.bufs[k]
}

func (o *HashOutput) flushFull(k int) error {
	if o.bufs[k].Rows < o.full {
		return nil
	}
	return o.flush(k)
}

func (o *HashOutput) flush(k int) error {
	b := o.bufs[k]
	if b == nil || b.Rows == 0 {
		return nil
	}
	o.bufs[k] = nil
	return o.edges[k].Send(Message{Chunk: b, Pool: o.pool})
}

// Barrier implements Output.
func (o *HashOutput) Barrier(b *Barrier) error {
	for k, e := range o.edges {
		if err := o.flush(k); err != nil {
			return err
		}
		if err := e.Send(Message{Barrier: b}); err != nil {
			return err
		}
	}
	return nil
}

// FanOut sends everything to each of its outputs: a view's change stream to the
// views on it. Outputs may be added and removed at any time; one that is added in
// the middle of an epoch sees only the rest of it.
type FanOut struct {
	change sync.Mutex
	outs   atomic.Pointer[[]Output]
}

func (f *FanOut) all() []Output {
	if p := f.outs.Load(); p != nil {
		return *p
	}
	return nil
}

// Add adds an output.
func (f *FanOut) Add(o Output) {
	f.change.Lock()
	defer f.change.Unlock()
	outs := append(slices.Clone(f.all()), o)
	f.outs.Store(&outs)
}

// Remove removes an output. A Send that runs meanwhile may still reach it.
func (f *FanOut) Remove(o Output) {
	f.change.Lock()
	defer f.change.Unlock()
	outs := slices.DeleteFunc(slices.Clone(f.all()), func(x Output) bool { return x == o })
	f.outs.Store(&outs)
}

// Send implements Output.
func (f *FanOut) Send(c *vec.Chunk) error {
	for _, o := range f.all() {
		if err := o.Send(c); err != nil && err != ErrStopped {
			return err
		}
	}
	return nil
}

// Barrier implements Output.
func (f *FanOut) Barrier(b *Barrier) error {
	for _, o := range f.all() {
		if err := o.Barrier(b); err != nil && err != ErrStopped {
			return err
		}
	}
	return nil
}
