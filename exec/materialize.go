package exec

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// materialize writes its input to a stored relation at every Seal, netted over
// the epoch, and hands it on as it comes: the change stream of the view.
type materialize struct {
	*opBase
	rel     uint32
	key     []int
	ordered bool // the key is not unique: rows lie behind it, counted
	ts      []types.T
	changes *consolidator // exact rows of storage -> weight
	keyed   *keyedChanges
	one     *vec.Chunk
	kb, vb  []byte
}

func newMaterialize(p *plan.Materialize, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	m := &materialize{opBase: b, rel: p.Rel, key: p.Key, ordered: p.Ordered, ts: ts, one: vec.NewChunk(ts, 0)}
	m.changes = newConsolidator(ts)
	if p.Key != nil && !p.Ordered {
		m.keyed = newKeyedChanges(ts, p.Key)
	}
	return m
}

func (m *materialize) Push(_ int, c *vec.Chunk, emit Emit) error {
	m.changes.add(c)
	return emit(c)
}

// Advance passes watermarks to the view's consumers.
func (m *materialize) Advance(_ int, w Watermark, pass func(Watermark) error, _ Emit) error {
	return pass(w)
}

// Seal writes the epoch's net changes.
func (m *materialize) Seal(types.Epoch, Emit) error {
	if len(m.changes.order) == 0 {
		return nil
	}
	defer m.changes.reset()
	w := m.ctx.Rows(m.rel)
	if m.keyed != nil {
		return m.sealKeyed(w)
	}
	return m.changes.each(func(id uint32, n int64) error {
		m.decode(m.changes.rows.key(id))
		if m.ordered {
			m.kb = AppendOrderedRow(m.kb[:0], m.one, m.key, 0)
		} else {
			m.kb = vec.AppendRow(m.kb[:0], m.one, nil, 0)
		}
		w.Add(m.kb, n)
		return nil
	})
}

// decode makes m.one the given row.
func (m *materialize) decode(row []byte) {
	m.one.Reset()
	m.changes.format.decode(m.one, 0, [][]byte{row})
	m.one.Rows = 1
}

func (m *materialize) sealKeyed(w RowWriter) error {
	return m.keyed.each(m.changes, m.opBase, func(row []byte, put bool) error {
		m.decode(row)
		m.kb = appendStorageKey(m.kb[:0], m.one, m.key, 0)
		if put {
			m.vb = vec.AppendRow(m.vb[:0], m.one, nil, 0)
			w.Put(m.kb, m.vb)
		} else {
			w.Delete(m.kb)
		}
		return nil
	})
}

// keyedChanges pairs the net changes of rows that share a unique key: what comes
// out is the last row of each key, or that it is gone.
type keyedChanges struct {
	keys  *keyer
	table *keyTable // payload: the row to put +1, any row of the key +1
	chunk *vec.Chunk
	ids   []uint32
	order []uint32
}

func newKeyedChanges(ts []types.T, key []int) *keyedChanges {
	k := &keyedChanges{keys: newKeyer(ts, key), chunk: vec.NewChunk(ts, 0)}
	k.table = k.keys.newTable(8)
	return k
}

// each calls f for every key with a change: put with its new row, or not put with
// the row it had.
func (k *keyedChanges) each(c *consolidator, b *opBase, f func(row []byte, put bool) error) error {
	k.reset()
	err := c.each(func(id uint32, w int64) error {
		if w != 1 && w != -1 {
			return notUnique(b)
		}
		k.ids = append(k.ids, id)
		if len(k.ids) == vec.MaxRows {
			return k.fold(c, b)
		}
		return nil
	})
	if err == nil {
		err = k.fold(c, b)
	}
	if err != nil {
		return err
	}
	for _, id := range k.order {
		r := k.table.rec(id)
		row, put := le.Uint32(r), true
		if row == 0 {
			row, put = le.Uint32(r[4:]), false
		}
		if err := f(c.rows.key(row-1), put); err != nil {
			return err
		}
	}
	return nil
}

// fold files the gathered rows under their keys.
func (k *keyedChanges) fold(c *consolidator, b *opBase) error {
	k.chunk.Reset()
	rows := make([][]byte, len(k.ids))
	for i, id := range k.ids {
		rows[i] = c.rows.key(id)
	}
	c.format.decode(k.chunk, 0, rows)
	k.chunk.Rows = len(rows)
	k.keys.prepare(k.chunk)
	for i, id := range k.ids {
		kid, added := k.table.upsert(k.keys, i)
		if added {
			k.order = append(k.order, kid)
		}
		r := k.table.rec(kid)
		at := 4
		if c.weight(id) > 0 {
			at = 0
		}
		if le.Uint32(r[at:]) != 0 {
			return notUnique(b)
		}
		le.PutUint32(r[at:], id+1)
	}
	k.ids = k.ids[:0]
	return nil
}

func (k *keyedChanges) reset() {
	k.table.table.reset()
	if k.table.null != noID {
		k.table = k.keys.newTable(8)
	}
	k.ids, k.order = k.ids[:0], k.order[:0]
}

func notUnique(b *opBase) error {
	return pgerr.New(pgerr.Internal, "operator %d (%s): two rows share a key that was taken to be unique", b.op, b.name)
}

// sink emits the epoch's net changes at Seal: for append-only sinks every row
// with its weight, for upsert sinks one row a key, which is its new value with
// weight +1 or, once gone, its last value with weight -1.
type sink struct {
	*opBase
	// appends: nothing is ever taken back, so there is nothing to net and rows go
	// on as they come.
	appends bool
	changes *consolidator
	keyed   *keyedChanges
	out     *rowOutput
}

func newSink(p *plan.Sink, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	s := &sink{opBase: b, changes: newConsolidator(ts), appends: p.Key == nil && p.Input.Props().AppendOnly}
	s.out = newRowOutput(s.changes.format, ts, b.ctx.rows())
	if p.Key != nil {
		s.keyed = newKeyedChanges(ts, p.Key)
	}
	return s
}

func (s *sink) Push(_ int, c *vec.Chunk, emit Emit) error {
	if s.appends {
		return emit(c)
	}
	s.changes.add(c)
	return nil
}

// Seal emits the net changes.
func (s *sink) Seal(_ types.Epoch, emit Emit) error {
	if len(s.changes.order) == 0 {
		return nil
	}
	defer s.changes.reset()
	var err error
	if s.keyed != nil {
		err = s.keyed.each(s.changes, s.opBase, func(row []byte, put bool) error {
			w := int64(1)
			if !put {
				w = -1
			}
			return s.out.add(row, w, emit)
		})
	} else {
		err = s.changes.each(func(id uint32, w int64) error {
			return s.out.add(s.changes.rows.key(id), w, emit)
		})
	}
	if err != nil {
		return err
	}
	return s.out.flush(emit)
}
