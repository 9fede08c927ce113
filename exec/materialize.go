package exec

import (
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
	format  *rowFormat
	changes *consolidator // exact rows of storage -> weight; nil: keyed
	keyed   *keyedChanges
	one     *vec.Chunk
	kb, vb  []byte
}

func newMaterialize(p *plan.Materialize, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	m := &materialize{opBase: b, rel: p.Rel, key: p.Key, ordered: p.Ordered, one: vec.NewChunk(ts, 0)}
	if p.Key != nil && !p.Ordered {
		m.keyed = newKeyedChanges(ts, p.Key)
		m.format = m.keyed.format
	} else {
		m.changes = newConsolidator(ts)
		m.format = m.changes.format
	}
	return m
}

func (m *materialize) Push(_ int, c *vec.Chunk, emit Emit) error {
	if m.keyed != nil {
		m.keyed.add(c)
	} else {
		m.changes.add(c)
	}
	return emit(c)
}

// Advance passes watermarks to the view's consumers.
func (m *materialize) Advance(_ int, w Watermark, pass func(Watermark) error, _ Emit) error {
	return pass(w)
}

// Seal writes the epoch's net changes.
func (m *materialize) Seal(types.Epoch, Emit) error {
	if m.keyed != nil {
		return m.sealKeyed()
	}
	if len(m.changes.order) == 0 {
		return nil
	}
	defer m.changes.reset()
	w := m.ctx.Rows(m.rel)
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
	m.format.decode(m.one, 0, [][]byte{row})
	m.one.Rows = 1
}

func (m *materialize) sealKeyed() error {
	if len(m.keyed.order) == 0 {
		return nil
	}
	defer m.keyed.reset()
	w := m.ctx.Rows(m.rel)
	return m.keyed.each(m.opBase, func(row []byte, put bool) error {
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

// sink emits the epoch's net changes at Seal: for append-only sinks every row
// with its weight, for upsert sinks one row a key, which is its new value with
// weight +1 or, once gone, its last value with weight -1.
type sink struct {
	*opBase
	// appends: nothing is ever taken back, so there is nothing to net and rows go
	// on as they come.
	appends bool
	changes *consolidator // nil: keyed
	keyed   *keyedChanges
	out     *rowOutput
}

func newSink(p *plan.Sink, b *opBase) Operator {
	ts := plan.Types(p.Schema())
	s := &sink{opBase: b, appends: p.Key == nil && p.Input.Props().AppendOnly}
	if p.Key != nil {
		s.keyed = newKeyedChanges(ts, p.Key)
		s.out = newRowOutput(s.keyed.format, ts, b.ctx.rows())
	} else {
		s.changes = newConsolidator(ts)
		s.out = newRowOutput(s.changes.format, ts, b.ctx.rows())
	}
	return s
}

func (s *sink) Push(_ int, c *vec.Chunk, emit Emit) error {
	switch {
	case s.appends:
		return emit(c)
	case s.keyed != nil:
		s.keyed.add(c)
	default:
		s.changes.add(c)
	}
	return nil
}

// Seal emits the net changes.
func (s *sink) Seal(_ types.Epoch, emit Emit) error {
	var err error
	if s.keyed != nil {
		defer s.keyed.reset()
		err = s.keyed.each(s.opBase, func(row []byte, put bool) error {
			w := int64(1)
			if !put {
				w = -1
			}
			return s.out.add(row, w, emit)
		})
	} else {
		defer s.changes.reset()
		err = s.changes.each(func(id uint32, w int64) error {
			return s.out.add(s.changes.rows.key(id), w, emit)
		})
	}
	if err != nil {
		return err
	}
	return s.out.flush(emit)
}
