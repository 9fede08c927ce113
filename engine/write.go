package engine

import (
	"bytes"
	"context"
	"errors"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// write is one statement's or transaction's changes to tables, to be committed
// in one epoch.
type write struct {
	tables []tableWrite
	done   chan error
}

// tableWrite is the change of one table: whole rows with weights, in the order
// they were made. A keyed table's changes hold at most one delete, then at most
// one insert, for a key at a time.
type tableWrite struct {
	rel  uint32
	name string
	key  []int // storage key columns; nil: none
	rows *vec.Chunk
	// keys is, for a keyed table inside a transaction, what became of each key
	// written: its row, or nil; built when first needed.
	keys map[string][]byte
}

// errConflict means that a row read by the statement has changed since.
var errConflict = errors.New("engine: a concurrent write changed the rows read")

func serializationFailure() error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithHint("Run the transaction again.")
}

// overlay holds what an epoch's writes make of a table's keys.
type overlay struct {
	keyed bool
	vals  map[string][]byte // keyed: the row; nil: absent
	count map[string]int64  // unkeyed: the change of the count
}

// apply validates the pending writes in order against the store and one another,
// sends the accepted ones down the change streams, and adds them to the commit.
// It returns the accepted writes; the others have been answered.
func (g *graph) apply(ws []*write, c *state.Commit) []*write {
	if len(ws) == 0 {
		return nil
	}
	ov := map[uint32]*overlay{}
	sn := g.eng.store.Snapshot()
	defer sn.Close()
	accepted := ws[:0]
	for _, w := range ws {
		undo, err := g.validate(sn, w, ov)
		if err != nil {
			for i := len(undo) - 1; i >= 0; i-- {
				undo[i]()
			}
			w.done <- err
			continue
		}
		accepted = append(accepted, w)
		for i := range w.tables {
			t := &w.tables[i]
			sendChunked(g.tables[t.rel].fan, t.rows, g.eng.cfg.ChunkRows)
		}
	}
	for rel, o := range ov {
		rb := state.NewRowBatch(rel)
		for k, v := range o.vals {
			if v == nil {
				rb.Delete([]byte(k))
			} else {
				rb.Put([]byte(k), v)
			}
		}
		for k, n := range o.count {
			if n != 0 {
				rb.Add([]byte(k), n)
			}
		}
		c.Rows = append(c.Rows, rb)
	}
	return accepted
}

func sendChunked(out interface{ Send(*vec.Chunk) error }, c *vec.Chunk, rows int) {
	if c.Rows <= rows {
		_ = out.Send(c)
		return
	}
	part := vec.NewChunk(c.Types(), rows)
	for lo := 0; lo < c.Rows; lo += rows {
		part.Reset()
		part.AppendRange(c, lo, min(lo+rows, c.Rows))
		_ = out.Send(part)
	}
}

func (g *graph) validate(sn *state.Snapshot, w *write, ov map[uint32]*overlay) (undo []func(), err error) {
	for i := range w.tables {
		t := &w.tables[i]
		if g.tables[t.rel] == nil {
			return undo, pgerr.New(pgerr.UndefinedTable, "relation %q does not exist", t.name)
		}
		o := ov[t.rel]
		if o == nil {
			o = &overlay{keyed: t.key != nil, vals: map[string][]byte{}, count: map[string]int64{}}
			ov[t.rel] = o
		}
		if o.keyed {
			undo, err = validateKeyed(sn, t, o, undo)
		} else {
			undo, err = validateBag(sn, t, o, undo)
		}
		if err != nil {
			return undo, err
		}
	}
	return undo, nil
}

func validateKeyed(sn *state.Snapshot, t *tableWrite, o *overlay, undo []func()) ([]func(), error) {
	var key, row []byte
	for i := range t.rows.Rows {
		key = vec.AppendKey(key[:0], t.rows, t.key, nil, nil, i)
		row = vec.AppendRow(row[:0], t.rows, nil, i)
		cur, seen := o.vals[string(key)]
		if !seen {
			v, ok, err := sn.Get(t.rel, key)
			if err != nil {
				return undo, err
			}
			if ok {
				cur = bytes.Clone(v)
			}
		}
		k, old := string(key), cur
		undo = append(undo, func() {
			if seen {
				o.vals[k] = old
			} else {
				delete(o.vals, k)
			}
		})
		switch w := t.rows.Weight(i); {
		case w == 1 && cur == nil:
			o.vals[k] = bytes.Clone(row)
		case w == -1 && cur != nil && bytes.Equal(cur, row):
			o.vals[k] = nil
		default:
			return undo, errConflict
		}
	}
	return undo, nil
}

func validateBag(sn *state.Snapshot, t *tableWrite, o *overlay, undo []func()) ([]func(), error) {
	var row []byte
	for i := range t.rows.Rows {
		row = vec.AppendRow(row[:0], t.rows, nil, i)
		k, w := string(row), t.rows.Weight(i)
		if w < 0 {
			n, err := sn.Count(t.rel, row)
			if err != nil {
				return undo, err
			}
			if n+o.count[k]+w < 0 {
				return undo, errConflict
			}
		}
		o.count[k] += w
		undo = append(undo, func() { o.count[k] -= w })
	}
	return undo, nil
}

// commitWrite commits a write in the graph of its tables, merging graphs when it
// spans several so that it is one epoch.
func (e *Engine) commitWrite(ctx context.Context, w *write) error {
	if len(w.tables) == 0 {
		return nil
	}
	rels := make([]uint32, len(w.tables))
	for i := range w.tables {
		rels[i] = w.tables[i].rel
	}
	g, err := e.graphFor(rels)
	if err != nil {
		return err
	}
	return g.submit(ctx, w)
}
