package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/vec"
)

// stageStored returns the base of an index, if it needs one.
func (r *run) stageStored(u *stage.UniqueIndex, w *stage.TableWrite, t *catalog.Table) (map[string][]byte, error) {
	if !w.Whole && r.s.eng.JobOf(u.Ix.OID) != nil {
		return nil, nil
	}
	base := map[string][]byte{}
	if w.Whole || r.s.tx.ddl.fresh(t.OID) {
		return base, nil
	}
	err := stage.ScanRows(r.snap, t.OID, stage.ColumnTypes(t.Columns), stage.StoredForm(t), nil, nil, r.s.eng.Config.ChunkRows, minus(w, func(c *vec.Chunk) error {
		for i := range c.Rows {
			key, unique, err := u.Key(nil, c, i)
			if err != nil {
				return err
			}
			if unique {
				base[string(key)] = vec.AppendRow(nil, c, nil, i)
			}
		}
		return jobs.Canceled(r.ctx)
	}))
	return base, err
}

// holder returns the row that has the key of row i of c, as the transaction sees
// it; nil: none.
func (r *run) holder(u *stage.UniqueKeys, c *vec.Chunk, i int) ([]byte, error) {
	key, unique, err := u.Key(nil, c, i)
	if err != nil || !unique {
		return nil, err
	}
	return u.Find(r.snap, key)
}
