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
