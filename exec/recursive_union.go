package exec

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// The record of a row of a recursion, all that look different but are equal in
// one: the first of its derivations (1 + derivation), the one in the output, and
// the iteration last examined in this epoch (1 + iteration).
const (
	recHead     = 0
	recShown    = 4
	recExamined = 8
	recTouched  = 12
	recSize     = 16
)

// The record of a derivation, whose key is the iteration and the row as it looks:
// its weight, its neighbours among those of its row, the row, flags.
const (
	derWeight = 0
	derNext   = 8
	derPrev   = 12
	derRow    = 16
	derFlags  = 20
	derSize   = 24
	derIter   = 4 // bytes of the iteration in the key
)

// recursiveUnion is UNION in a stream. For every row it counts by iteration how
// often the step derived it from the iteration before. A row belongs to the first
// iteration that derives it, its level, and to no other. Support is thereby well
// founded: rows that derive each other in a cycle do not keep one another alive,
// because each counts only in a later iteration than its reason.
//
// An epoch's changes are carried through the iterations in order. What changes the
// level of a row takes it out of one iteration and puts it into another, which the
// step sees like any other change. By the time an iteration is examined all of its
// derivations are known, because they come from earlier ones.
type recursiveUnion struct {
	*opBase
	loop    *loop
	n       int
	keys    *keyer
	rows    *keyTable
	ders    *table
	batch   rowBatch
	key     []byte
	agenda  [][]uint32 // rows to examine, by iteration
	touched []uint32
	unsaved []uint32 // derivations
	out     *loopOutput
	result  *rowOutput
	delta   [][]byte
	ws      []int64
	one     *vec.Chunk
}

func newRecursiveUnion(p *plan.Recursive, b *opBase) *recursiveUnion {
	ts := plan.Types(p.Out)
	cols := allColumns(ts)
	r := &recursiveUnion{opBase: b, n: len(ts), keys: newKeyer(ts, cols), one: vec.NewChunk(ts, 0)}
	f := newRowFormat(ts, cols, false)
	r.rows = r.keys.newTable(recSize)
	kw := f.keyWidth()
	if kw > 0 {
		kw += derIter
	}
	r.ders = newTable(derSize, kw)
	r.out = newLoopOutput(f, ts, b.ctx.rows())
	r.result = newRowOutput(f, ts, b.ctx.rows())
	return r
}

func (r *recursiveUnion) drive(l *loop) { r.loop = l }

func (r *recursiveUnion) Push(in int, c *vec.Chunk, _ Emit) error {
	r.keys.prepare(c)
	r.out.format.encode(&r.batch, c)
	iter := 0
	for i := range c.Rows {
		w := c.Weight(i)
		if w == 0 {
			continue
		}
		if in == 1 {
			iter = int(c.Cols[r.n].(*vec.Col[int64]).Vals[i]) + 1
		}
		if iter > loopIterations {
			return (&loopLimits{}).check(r.opBase, nil, iter)
		}
		row, _ := r.rows.upsert(r.keys, i)
		d := r.derivation(row, iter, r.batch.row(i))
		p := r.ders.rec(d)
		n, err := addWeight(r.opBase, int64(le.Uint64(p)), w)
		if err != nil {
			return err
		}
		le.PutUint64(p, uint64(n))
		if f := le.Uint32(p[derFlags:]); f&joinUnsaved == 0 {
			le.PutUint32(p[derFlags:], f|joinUnsaved)
			r.unsaved = append(r.unsaved, d)
		}
		r.schedule(row, iter)
	}
	return nil
}

// derivation returns the record of a derivation, adding it if there is none.
func (r *recursiveUnion) derivation(row uint32, iter int, bytes []byte) uint32 {
	r.key = append(binary.BigEndian.AppendUint32(r.key[:0], uint32(iter)), bytes...)
	d, added := r.ders.upsert(hashKey(r.key), r.key)
	if added {
		p, head := r.ders.rec(d), r.rows.rec(row)[recHead:]
		next := le.Uint32(head)
		le.PutUint32(p[derNext:], next)
		le.PutUint32(p[derRow:], row)
		if next != 0 {
			le.PutUint32(r.ders.rec(next - 1)[derPrev:], d+1)
		}
		le.PutUint32(head, d+1)
	}
	return d
}

// schedule has a row examined at an iteration.
func (r *recursiveUnion) schedule(row uint32, iter int) {
	for len(r.agenda) <= iter {
		r.agenda = append(r.agenda, nil)
	}
	r.agenda[iter] = append(r.agenda[iter], row)
	if p := r.rows.rec(row); p[recTouched] == 0 {
		p[recTouched] = 1
		r.touched = append(r.touched, row)
	}
}

func (r *recursiveUnion) iterOf(d uint32) int { return int(binary.BigEndian.Uint32(r.ders.key(d))) }

func (r *recursiveUnion) bytesOf(d uint32) []byte { return r.ders.key(d)[derIter:] }

// first returns the derivation that stands for a row if only iterations up to
// iter count (noID: there is none), and the next iteration after iter that derives
// it (-1: none).
func (r *recursiveUnion) first(row uint32, iter int) (best uint32, next int, err error) {
	best, next = noID, -1
	level := 0
	for d := le.Uint32(r.rows.rec(row)[recHead:]); d != 0; {
		p := r.ders.rec(d - 1)
		w, at := int64(le.Uint64(p)), r.iterOf(d-1)
		switch {
		case w < 0 && at <= iter:
			return noID, -1, r.negative("a derivation of a row")
		case w <= 0:
		case at > iter:
			if next < 0 || at < next {
				next = at
			}
		case best == noID || at < level || at == level && string(r.bytesOf(d-1)) < string(r.bytesOf(best)):
			best, level = d-1, at
		}
		d = le.Uint32(p[derNext:])
	}
	return best, next, nil
}

// Seal carries the epoch's changes through the iterations and emits how the set of
// rows changed.
func (r *recursiveUnion) Seal(e types.Epoch, emit Emit) error {
	var limits loopLimits
	for iter := 0; iter < len(r.agenda); iter++ {
		r.delta, r.ws = r.delta[:0], r.ws[:0]
		for k := 0; k < len(r.agenda[iter]); k++ {
			if err := r.examine(r.agenda[iter][k], iter); err != nil {
				return err
			}
		}
		r.agenda[iter] = nil
		if len(r.delta) == 0 {
			continue
		}
		if err := limits.check(r.opBase, r.delta, iter); err != nil {
			return err
		}
		if r.ctx.oneOff { // a LIMIT above may end an endless recursion
			if err := r.out.send(r.out.out, r.delta, r.ws, emit); err != nil {
				return err
			}
		}
		if err := r.out.feed(r.loop, r.delta, r.ws, int64(iter)); err != nil {
			return err
		}
		if err := r.loop.seal(e); err != nil {
			return err
		}
	}
	r.agenda = r.agenda[:0]
	return r.settle(emit)
}

// examine finds out whether a row belongs to an iteration, now that all iterations
// up to it are known, and whether it did before.
func (r *recursiveUnion) examine(row uint32, iter int) error {
	p := r.rows.rec(row)
	if le.Uint32(p[recExamined:]) == uint32(iter+1) {
		return nil
	}
	le.PutUint32(p[recExamined:], uint32(iter+1))
	now, next, err := r.first(row, iter)
	if err != nil {
		return err
	}
	if now != noID && r.iterOf(now) != iter {
		now = noID
	}
	before, later := noID, -1
	if d := le.Uint32(p[recShown:]); d != 0 {
		switch at := r.iterOf(d - 1); {
		case at == iter:
			before = d - 1
		case at > iter:
			later = at
		}
	}
	if now == before {
		return nil
	}
	if before != noID {
		r.delta, r.ws = append(r.delta, r.bytesOf(before)), append(r.ws, -1)
	}
	if now != noID {
		r.delta, r.ws = append(r.delta, r.bytesOf(now)), append(r.ws, 1)
	}
	if (now == noID) != (before == noID) {
		if later >= 0 {
			r.schedule(row, later)
		}
		if next >= 0 {
			r.schedule(row, next)
		}
	}
	return nil
}

// settle emits the rows that came and went.
func (r *recursiveUnion) settle(emit Emit) error {
	for _, row := range r.touched {
		now, _, err := r.first(row, loopIterations)
		if err != nil {
			return err
		}
		p := r.rows.rec(row)
		var old, new []byte
		if d := le.Uint32(p[recShown:]); d != 0 {
			old = r.bytesOf(d - 1)
		}
		le.PutUint32(p[recShown:], 0)
		if now != noID {
			new = r.bytesOf(now)
			le.PutUint32(p[recShown:], now+1)
		}
		le.PutUint32(p[recExamined:], 0)
		p[recTouched] = 0
		if r.ctx.oneOff || old != nil && new != nil && string(old) == string(new) {
			continue
		}
		if old != nil {
			err = r.result.add(old, -1, emit)
		}
		if new != nil && err == nil {
			err = r.result.add(new, 1, emit)
		}
		if err != nil {
			return err
		}
	}
	r.touched = r.touched[:0]
	return r.result.flush(emit)
}

// Save writes the derivations that changed: iteration and row -> weight.
func (r *recursiveUnion) Save(w StateWriter) error {
	var val []byte
	for _, d := range r.unsaved {
		p := r.ders.rec(d)
		f, n := le.Uint32(p[derFlags:]), int64(le.Uint64(p))
		if n == 0 {
			if f&joinPersisted != 0 {
				w.Delete(0, r.ders.key(d))
			}
			r.forget(d, p)
			continue
		}
		le.PutUint32(p[derFlags:], joinPersisted)
		val = binary.AppendVarint(val[:0], n)
		put(w, f&joinPersisted != 0, 0, r.ders.key(d), val)
	}
	r.unsaved = r.unsaved[:0]
	return nil
}

// forget drops a derivation of weight 0, and its row with the last of them.
func (r *recursiveUnion) forget(d uint32, p []byte) {
	next, prev, row := le.Uint32(p[derNext:]), le.Uint32(p[derPrev:]), le.Uint32(p[derRow:])
	if next != 0 {
		le.PutUint32(r.ders.rec(next - 1)[derPrev:], prev)
	}
	if prev != 0 {
		le.PutUint32(r.ders.rec(prev - 1)[derNext:], next)
	} else {
		le.PutUint32(r.rows.rec(row)[recHead:], next)
	}
	r.ders.remove(hashKey(r.ders.key(d)), d)
	if le.Uint32(r.rows.rec(row)[recHead:]) == 0 {
		r.rows.drop(row)
	}
}

// Load takes back one saved derivation.
func (r *recursiveUnion) Load(key, val []byte) error {
	n, m := binary.Varint(val)
	if m <= 0 || n <= 0 || len(key) < derIter || !r.out.format.valid(key[derIter:]) {
		return errSaved
	}
	r.one.Reset()
	r.out.format.decode(r.one, 0, [][]byte{key[derIter:]})
	r.one.Rows = 1
	r.keys.prepare(r.one)
	row, _ := r.rows.upsert(r.keys, 0)
	d := r.derivation(row, int(binary.BigEndian.Uint32(key)), key[derIter:])
	p := r.ders.rec(d)
	le.PutUint64(p, uint64(n))
	le.PutUint32(p[derFlags:], joinPersisted)
	shown := r.rows.rec(row)[recShown:]
	if s := le.Uint32(shown); s == 0 || string(r.ders.key(d)) < string(r.ders.key(s-1)) {
		le.PutUint32(shown, d+1)
	}
	return nil
}

// StateBytes returns the memory of rows and derivations.
func (r *recursiveUnion) StateBytes() int { return r.rows.bytes() + r.ders.bytes() }

// Close frees the state.
func (r *recursiveUnion) Close() error {
	r.rows = r.keys.newTable(recSize)
	r.ders = newTable(derSize, r.ders.kw)
	return nil
}
