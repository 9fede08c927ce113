package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/vec"
)

// mergeRows runs MERGE: the rows of the join are dealt to the actions, whose changes
// are then made as one, so that keys which some of them free can be taken by others.
func (r *run) mergeRows(d *planner.Mutation) (int64, error) {
	all, err := r.collect(d.Source)
	if err != nil {
		return 0, err
	}
	parts := dealt(all, d.Merge)
	w, err := r.staged(d.Table)
	if err != nil {
		return 0, err
	}
	met := map[string]int64{}
	var ms []*modify
	var olds, news []*vec.Chunk
	for i, a := range d.Merge {
		r.given[d.Returned] = parts[i]
		rows, err := r.collect(a.Source)
		if err != nil {
			return 0, err
		}
		m := &modify{r: r, d: a.Mutation, ec: &expr.Ctx{Session: &r.s.expr}, nc: len(d.Table.Columns)}
		var old, fresh *vec.Chunk
		switch a.Kind {
		case planner.MutInsert:
			fresh = rows
		case planner.MutUpdate:
			old, fresh = stage.Columns(rows, 0, m.nc), stage.Columns(rows, m.nc, 2*m.nc)
		default:
			old = rows
		}
		if old != nil {
			if err := m.onlyOnce(old, met); err != nil {
				return 0, err
			}
		}
		if fresh != nil {
			if err := m.check(fresh); err != nil {
				return 0, err
			}
		}
		m.count(rows)
		ms, olds, news = append(ms, m), append(olds, old), append(news, fresh)
	}
	for _, old := range olds {
		for i := 0; old != nil && i < old.Rows; i++ {
			if err := w.Add(old, i, -old.Weight(i)); err != nil {
				return 0, err
			}
		}
	}
	var n int64
	for k, fresh := range news {
		n += ms[k].n
		for i := 0; fresh != nil && i < fresh.Rows; i++ {
			steps, each := w.Copies(fresh.Weight(i))
			for range steps {
				if err := r.insertRow(d.Table, w, fresh, i, each); err != nil {
					return 0, err
				}
			}
		}
		r.noteKeys(d.Table, olds[k], fresh)
	}
	return n, nil
}

// dealt are the rows of each action, without the column that names it.
func dealt(all *vec.Chunk, actions []planner.MergeAction) []*vec.Chunk {
	last := len(all.Cols) - 1
	rows := stage.Columns(all, 0, last)
	by := map[int32]*vec.Chunk{}
	out := make([]*vec.Chunk, len(actions))
	for i, a := range actions {
		out[i] = vec.NewChunk(rows.Types(), 16)
		by[a.Number] = out[i]
	}
	which := all.Cols[last].(*vec.Col[int32])
	for i := range all.Rows {
		if c := by[which.Vals[i]]; c != nil {
			c.AppendFrom(rows, i, all.Weight(i))
		}
	}
	return out
}

// onlyOnce refuses that a stored row is changed again; met has how often each was.
func (m *modify) onlyOnce(old *vec.Chunk, met map[string]int64) error {
	keyed := catalog.StorageKey(m.d.Table) != nil
	for i := range old.Rows {
		row := string(vec.AppendRow(nil, old, nil, i))
		met[row] += old.Weight(i)
		stored := int64(1)
		if !keyed && met[row] > 1 {
			var err error
			if stored, err = m.stored(row); err != nil {
				return err
			}
		}
		if met[row] > stored {
			return pgerr.New(pgerr.CardinalityViolation, "MERGE command cannot affect row a second time").
				WithHint("Ensure that not more than one source row matches any one target row.")
		}
	}
	return nil
}
