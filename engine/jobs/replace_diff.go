package jobs

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// difference sends what takes the contents of the old view to those of the new
// one, in the columns of the old one: those who read it know no others.
func (r *replacement) difference(send func(*vec.Chunk) error) error {
	sn := r.eng.Store.Snapshot()
	defer sn.Close()
	ts := stage.ColumnTypes(r.old.Columns)
	out := vec.NewChunk(ts, r.eng.Config.ChunkRows)
	emit := func(row []byte, w int64) error {
		if w < 0 && r.view.AppendOnly {
			return pgerr.Unsupported("replacing materialized view \""+r.old.Name+"\" by one that lacks rows it has",
				"What reads it relies on its rows never going away. Drop that first.")
		}
		if _, err := vec.DecodeRow(out, nil, row); err != nil {
			return err
		}
		out.AddWeight(w)
		if out.Rows < r.eng.Config.ChunkRows {
			return nil
		}
		defer out.Reset()
		return send(out)
	}
	var err error
	if slices.Equal(ts, stage.ColumnTypes(r.view.Columns)) && slices.Equal(r.old.Key, r.view.Key) && (r.old.Key == nil) == (r.view.Key == nil) {
		err = mergeRows(sn, catalog.StoreID(r.old), catalog.StoreID(r.view), r.old.Key != nil, emit)
	} else {
		err = r.hashRows(sn, ts, emit)
	}
	if err == nil && out.Rows > 0 {
		err = send(out)
	}
	return err
}

// mergeRows calls emit with the difference of two relations of the same form,
// which are read side by side in the order of their keys.
func mergeRows(sn *state.Snapshot, from, to uint32, keyed bool, emit func(row []byte, w int64) error) error {
	a, err := sn.Scan(from, nil, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := sn.Scan(to, nil, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	row := func(it *state.Iter) []byte {
		if keyed {
			return it.Val()
		}
		return it.Key()
	}
	hasA, hasB := a.Next(), b.Next()
	for err == nil && (hasA || hasB) {
		side := 0
		switch {
		case !hasB:
			side = -1
		case !hasA:
			side = 1
		default:
			side = bytes.Compare(a.Key(), b.Key())
		}
		switch {
		case side < 0:
			err = emit(row(a), -a.Count())
		case side > 0:
			err = emit(row(b), b.Count())
		case keyed && !bytes.Equal(a.Val(), b.Val()):
			if err = emit(a.Val(), -1); err == nil {
				err = emit(b.Val(), 1)
			}
		case !keyed && a.Count() != b.Count():
			err = emit(b.Key(), b.Count()-a.Count())
		}
		if side <= 0 {
			hasA = a.Next()
		}
		if side >= 0 {
			hasB = b.Next()
		}
	}
	if err == nil {
		err = a.Err()
	}
	if err == nil {
		err = b.Err()
	}
	return err
}

// hashRows is mergeRows for relations of different forms: the rows that differ are
// held in memory.
func (r *replacement) hashRows(sn *state.Snapshot, ts []types.T, emit func(row []byte, w int64) error) error {
	t := NewTally(ts)
	var row []byte
	for _, side := range []struct {
		v        *catalog.MatView
		new, old int64
	}{{r.old, 0, 1}, {r.view, 1, 0}} {
		vts := stage.ColumnTypes(side.v.Columns)
		err := stage.ScanColumns(sn, catalog.StoreID(side.v), vts, stage.AllColumns(ts), stage.StoredForm(side.v), nil, nil, r.eng.Config.ChunkRows, func(c *vec.Chunk) error {
			for i := range c.Rows {
				row = vec.AppendRow(row[:0], c, nil, i)
				if err := t.Add(row, side.new*c.Weight(i), side.old*c.Weight(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for k, n := range t.Left {
		if err := emit([]byte(k), n.Expected-n.Actual); err != nil {
			return err
		}
	}
	return nil
}

// fill adds to a commit the rows of an index of the new view.
func (r *replacement) fill(c *state.Commit, next *catalog.Snapshot, ix *catalog.Index) error {
	root, err := stage.PlanIndex(next, ix)
	if err != nil {
		return err
	}
	b := state.NewRowBatch(ix.OID)
	tree, err := exec.Build(root, &exec.BuildCtx{
		Expr: &expr.Ctx{Session: r.eng.FrozenSession(nil, nil)}, ChunkRows: r.eng.Config.ChunkRows,
		Rows: func(uint32) exec.RowWriter { return b },
	})
	if err != nil {
		return err
	}
	defer tree.Close()
	sn := r.eng.Store.Snapshot()
	defer sn.Close()
	err = stage.ScanRows(sn, r.view.Store, stage.ColumnTypes(r.view.Columns), stage.StoredForm(r.view), nil, nil, r.eng.Config.ChunkRows, func(ch *vec.Chunk) error {
		return tree.Push(0, ch)
	})
	if err == nil {
		err = tree.Seal(1)
	}
	if err == nil && b.Len() > 0 {
		c.Rows = append(c.Rows, b)
	}
	return err
}
