package engine

import (
	"bytes"

	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// plannedConflicts are the new values of ON CONFLICT DO UPDATE where a plan computes
// them: for all rows that find one in their way at the beginning at once.
type plannedConflicts struct {
	found  map[int][]byte // the rows in the way, by the proposed ones
	rows   map[int]int    // places in values, of those for which WHERE holds
	values *vec.Chunk
}

// planConflicts finds the rows of c that are in conflict before any is stored, and
// computes what is to become of the ones in their way.
func (m *modify) planConflicts(w *stage.TableWrite, c *vec.Chunk) error {
	m.planned = plannedConflicts{found: map[int][]byte{}}
	ts := stage.ColumnTypes(m.d.Table.Columns)
	old, fresh, number := vec.NewChunk(ts, 0), vec.NewChunk(ts, 0), vec.New(types.TInt8, 0)
	for i := range c.Rows {
		k, err := m.r.conflicting(m.d.Table, w, m.d.Conflict.Arbiters, c, i)
		if err != nil {
			return err
		}
		if k == nil {
			continue
		}
		m.planned.found[i] = k.row
		if _, err := vec.DecodeRow(old, nil, k.row); err != nil {
			return err
		}
		old.AddWeight(1)
		fresh.AppendFrom(c, i, 1)
		number.AppendDatum(int64(i))
	}
	if old.Rows == 0 {
		return nil
	}
	all := &vec.Chunk{Rows: old.Rows, Cols: append(append(old.Cols[:m.nc:m.nc], fresh.Cols...), number)}
	var err error
	m.planned.values, m.planned.rows, err = m.conflictValues(all)
	return err
}

// conflictValues runs the plan for the pairs of rows both, which are numbered.
func (m *modify) conflictValues(both *vec.Chunk) (values *vec.Chunk, at map[int]int, err error) {
	m.r.given[m.d.Conflict.Given] = both
	if values, err = m.r.collect(m.d.Conflict.Plan); err != nil {
		return nil, nil, err
	}
	number := values.Cols[len(values.Cols)-1].(*vec.Col[int64])
	at = map[int]int{}
	for k := range values.Rows {
		at[int(number.Vals[k])] = k
	}
	return values, at, nil
}

// at is the row of the plan for proposed row i that has cur in its way; nil: WHERE
// does not hold. A row that an earlier one of the statement has changed is computed
// anew.
func (p *plannedConflicts) at(m *modify, cur []byte, both *vec.Chunk, i int) (*vec.Chunk, error) {
	values, rows := p.values, p.rows
	if found, ok := p.found[i]; !ok || !bytes.Equal(found, cur) {
		number := vec.New(types.TInt8, 1)
		number.AppendDatum(int64(i))
		var err error
		values, rows, err = m.conflictValues(&vec.Chunk{Rows: 1, Cols: append(both.Cols[:2*m.nc:2*m.nc], number)})
		if err != nil {
			return nil, err
		}
	}
	k, ok := rows[i]
	if !ok {
		return nil, nil
	}
	out := vec.NewChunk(values.Types(), 1)
	out.AppendFrom(values, k, 1)
	return out, nil
}
