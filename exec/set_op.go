package exec

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// The record of a row of a set operation: its counts on both sides, the copies in
// the output, flags, vnode, and the row displayed.
const (
	setCount  = 0 // 2 × int64
	setOut    = 16
	setFlags  = 24
	setVnode  = 28
	setShown  = 32
	setRecord = 40
)

// setOp is INTERSECT and EXCEPT: it counts every distinct row on both sides and
// emits at Seal how the number of copies in the output changed.
type setOp struct {
	*opBase
	kind    plan.SetOpKind
	all     bool
	keys    *keyer
	exact   *rowFormat
	safe    bool
	vnodes  vnoder
	rows    *keyTable
	shown   arena
	reprs   map[uint32]*reprs // of the left side
	batch   rowBatch
	touched []uint32
	unsaved []uint32
	out     *rowOutput
	gone    []ref
}

func newSetOp(p *plan.SetOp, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	cols := allColumns(ts)
	s := &setOp{
		opBase: b, kind: p.Kind, all: p.All, keys: newKeyer(ts, cols),
		exact: newRowFormat(ts, cols, false), safe: allIdentitySafe(ts, cols),
		vnodes: newVnoder(b, p.Left, cols), reprs: map[uint32]*reprs{},
	}
	// The integer path would save nothing: the row is needed in full.
	s.keys.isInt = false
	s.rows = s.keys.newTable(setRecord)
	s.out = newRowOutput(s.exact, ts, b.ctx.rows())
	return s
}

func (s *setOp) Push(in int, c *vec.Chunk, _ Emit) error {
	s.keys.prepare(c)
	s.vnodes.prepare(c)
	if in == 0 && !s.safe {
		s.exact.encode(&s.batch, c)
	}
	for i := range c.Rows {
		w := c.Weight(i)
		id, added := s.rows.upsert(s.keys, i)
		r := s.rows.rec(id)
		if added {
			r[setVnode] = s.vnodes.at(i)
		}
		s.touch(id, r)
		le.PutUint64(r[setCount+8*in:], le.Uint64(r[setCount+8*in:])+uint64(w))
		if in == 0 && !s.safe {
			if s.reprs[id] == nil {
				s.reprs[id] = &reprs{}
			}
			s.reprs[id].add(s.batch.row(i), w)
		}
	}
	if s.ctx.Budget > 0 {
		return s.overBudget(s.StateBytes())
	}
	return nil
}

func (s *setOp) touch(id uint32, r []byte) {
	f := le.Uint32(r[setFlags:])
	if f&joinTouched == 0 {
		s.touched = append(s.touched, id)
	}
	if f&joinUnsaved == 0 && !s.ctx.Batch {
		s.unsaved = append(s.unsaved, id)
		f |= joinUnsaved
	}
	le.PutUint32(r[setFlags:], f|joinTouched)
}

// copies returns how often a row counted a times on the left and b times on the
// right is in the output.
func (s *setOp) copies(a, b int64) int64 {
	var n int64
	if s.kind == plan.Except {
		n = max(a-b, 0)
		if !s.all && b > 0 {
			n = 0
		}
	} else {
		n = min(a, b)
	}
	if !s.all {
		n = min(n, 1)
	}
	return n
}

// Seal emits the changed copies.
func (s *setOp) Seal(_ types.Epoch, emit Emit) error {
	s.gone = s.gone[:0]
	for _, id := range s.touched {
		r := s.rows.rec(id)
		a, b := int64(le.Uint64(r)), int64(le.Uint64(r[8:]))
		if a < 0 || b < 0 {
			return s.negative("a row")
		}
		was, now := int64(le.Uint64(r[setOut:])), s.copies(a, b)
		le.PutUint64(r[setOut:], uint64(now))
		le.PutUint32(r[setFlags:], le.Uint32(r[setFlags:])&^joinTouched)
		if err := s.emitChange(id, r, was, now, emit); err != nil {
			return err
		}
	}
	s.touched = s.touched[:0]
	if err := s.out.flush(emit); err != nil {
		return err
	}
	for _, x := range s.gone {
		s.shown.del(x)
	}
	if s.ctx.Batch {
		return s.Close()
	}
	return nil
}

func (s *setOp) emitChange(id uint32, r []byte, was, now int64, emit Emit) error {
	if s.safe {
		if now == was {
			return nil
		}
		return s.out.add(s.rows.key(id), now-was, emit)
	}
	old := ref(le.Uint64(r[setShown:]))
	var row []byte
	if p := s.reprs[id]; p != nil && now > 0 {
		row = p.shown()
	}
	if old != 0 && row != nil && string(s.shown.get(old)) == string(row) {
		if now == was {
			return nil
		}
		return s.out.add(s.shown.get(old), now-was, emit)
	}
	if old != 0 {
		if err := s.out.add(s.shown.get(old), -was, emit); err != nil {
			return err
		}
		s.gone = append(s.gone, old)
	}
	le.PutUint64(r[setShown:], 0)
	if now > 0 {
		x := s.shown.put(row)
		le.PutUint64(r[setShown:], uint64(x))
		return s.out.add(s.shown.get(x), now, emit)
	}
	return nil
}

// Save writes the rows touched since the last Save: key -> vnode, counts,
// copies, representations.
func (s *setOp) Save(w StateWriter) error {
	var key, val []byte
	for _, id := range s.unsaved {
		r := s.rows.rec(id)
		f := le.Uint32(r[setFlags:])
		key = s.rows.appendKey(key[:0], id)
		vnode := r[setVnode]
		if le.Uint64(r) == 0 && le.Uint64(r[8:]) == 0 {
			if f&joinPersisted != 0 {
				w.Delete(int(vnode), key)
			}
			delete(s.reprs, id)
			s.rows.drop(id)
			continue
		}
		le.PutUint32(r[setFlags:], f&^joinUnsaved|joinPersisted)
		val = append(val[:0], vnode)
		for x := range 3 {
			val = binary.AppendVarint(val, int64(le.Uint64(r[8*x:])))
		}
		if p := s.reprs[id]; p != nil {
			val = p.append(val)
		}
		put(w, f&joinPersisted != 0, int(vnode), key, val)
	}
	s.unsaved = s.unsaved[:0]
	return nil
}

// Load takes back one saved row.
func (s *setOp) Load(key, val []byte) error {
	id, _, ok := s.rows.loadKey(key)
	if !ok || len(val) < 4 {
		return errSaved
	}
	r := s.rows.rec(id)
	r[setVnode] = val[0]
	val = val[1:]
	for x := range 3 {
		n, m := binary.Varint(val)
		if m <= 0 {
			return errSaved
		}
		le.PutUint64(r[8*x:], uint64(n))
		val = val[m:]
	}
	le.PutUint32(r[setFlags:], joinPersisted)
	if s.safe || len(val) == 0 {
		return nil
	}
	p := &reprs{}
	if !p.load(s.exact, val) {
		return errSaved
	}
	s.reprs[id] = p
	if row := p.shown(); row != nil && le.Uint64(r[setOut:]) > 0 {
		le.PutUint64(r[setShown:], uint64(s.shown.put(row)))
	}
	return nil
}

// StateBytes returns the memory of the rows.
func (s *setOp) StateBytes() int {
	return s.rows.bytes() + s.shown.held + 128*len(s.reprs)
}

// Close frees the state.
func (s *setOp) Close() error {
	s.rows = s.keys.newTable(setRecord)
	s.reprs, s.shown = nil, arena{}
	return nil
}
