package engine

import (
	"context"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
)

// stage makes the alteration part of the transaction: the rows that it sees are held
// against what is new, and staged if their columns change. next is the catalog to come.
func (a *alteration) stage(ctx context.Context, next *catalog.Snapshot, changes []catalog.Change) error {
	s := a.s
	r := s.newRun(ctx)
	defer r.close()
	own := r.written(a.old.OID)
	if a.reshaped && own != nil {
		if err := s.mayWriteWhole(a.old); err != nil {
			return err
		}
	}
	rows := vec.NewChunk(stage.ColumnTypes(a.t.Columns), 64)
	if _, err := a.hold(next, r.rows(), func(c *vec.Chunk) error {
		rows.AppendRange(c, 0, c.Rows)
		return nil
	}); err != nil {
		return err
	}
	if err := s.changeCatalog(changes...); err != nil {
		return err
	}
	for _, q := range a.fills.used() {
		s.tx.ddl.seqs[q.def.OID] = &jobs.Sequence{OID: q.def.OID, Loaded: true, Unstored: true, Last: q.last, Called: true}
	}
	if a.reshaped {
		if err := r.stageWhole(a.t, rows, own); err != nil {
			return err
		}
	}
	if len(a.notNull)+len(a.checks)+len(a.foreign)+len(a.foreignTo) > 0 {
		for _, oid := range a.tied() {
			s.tx.ddl.held(oid, r.snap.Clock())
		}
	}
	a.notice()
	return nil
}

// held takes note that a table's rows as of a clock were held against a constraint.
func (t *catalogTx) held(oid uint32, clock uint64) {
	if was, ok := t.read[oid]; !ok || clock < was {
		t.read[oid] = clock
	}
}

// stageWhole makes rows all that a table has; own is what the transaction had staged
// of it before. Of a table that the transaction has made, all rows are staged anyway.
func (r *run) stageWhole(t *catalog.Table, rows *vec.Chunk, own *stage.TableWrite) error {
	w := &stage.TableWrite{Rel: t.OID, Name: t.Name, Revision: t.Revision, Key: catalog.StorageKey(t), Rows: rows, Whole: !r.s.tx.ddl.fresh(t.OID), Checked: true, SeenAt: r.snap.Clock()}
	tx := &r.s.tx
	if own != nil {
		w.SeenAt = min(w.SeenAt, own.SeenAt)
	}
	tx.writes = slices.DeleteFunc(slices.Clone(tx.writes), func(x *stage.TableWrite) bool { return x.Rel == t.OID })
	tx.writes = append(tx.writes, w)
	return r.enforce(w, t)
}

// rows are the tables' rows as the transaction sees them.
func (r *run) rows() tableRows {
	return tableRows{
		each: func(oid uint32, f func(*vec.Chunk) error) error {
			t, ok := r.cat.ByOID(oid).(*catalog.Table)
			if !ok {
				return stage.RelationGone(oid)
			}
			return r.visible(t, f)
		},
		has: func(k *stage.ForeignKey, key []byte) (bool, error) {
			return r.parentFind(r.written(k.Parent.OID), k, key)
		},
	}
}

// mayWriteWhole refuses to change rows in a transaction that also gives the table
// other columns if something reads the table: what it would have to be told is how
// rows of one shape became rows of another.
func (s *Session) mayWriteWhole(t *catalog.Table) error {
	for _, o := range s.tx.ddl.base.DropOrder(t.OID) {
		if s.catalog().ByOID(o.Header().OID) == nil {
			continue
		}
		if k := o.Kind(); k == catalog.KindMatView || k == catalog.KindSink {
			return pgerr.Unsupported("changing rows of table \""+t.Name+"\" and its columns in one transaction while "+k.String()+" \""+o.Header().Name+"\" reads it",
				"Change the rows in a transaction of their own.")
		}
	}
	return nil
}
