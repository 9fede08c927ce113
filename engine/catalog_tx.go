package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// catalogTx is what a transaction has made of the catalog: a catalog of its own that
// its statements see and nobody else does. Nothing is stored and nothing runs for it
// before the commit (see catalogCommit), so rolling back is to forget it:
//
//   - a new table has no stored rows; those the transaction writes are staged as
//     everywhere;
//   - a table whose rows have another shape has all of them staged (stage.TableWrite.Whole);
//   - a new materialized view is read by running its query;
//   - a new index is read by nobody, and the keys of a unique one are staged
//     (stage.UniqueKeys.Base).
type catalogTx struct {
	base    *catalog.Snapshot // what is committed
	cat     *catalog.Snapshot // base with changes
	changes []catalog.Change
	// lost is why the changes cannot follow what others have committed since.
	lost error
	// seqs are the generators of sequences that the transaction has made or put
	// elsewhere.
	seqs map[uint32]*jobs.Sequence
	// read are the tables whose rows were held against a new constraint, with the
	// clock of the snapshot: nobody else may have changed them by the commit.
	read map[uint32]uint64
}

// transactional makes the catalog's changes part of the transaction from here on.
func (s *Session) transactional() {
	if s.tx.ddl == nil {
		now := s.eng.Catalog.Current()
		s.tx.ddl = &catalogTx{base: now, cat: now, seqs: map[uint32]*jobs.Sequence{}, read: map[uint32]uint64{}}
	}
}

// aloneOnly refuses a statement that takes effect at once in a transaction, where it
// could not be rolled back.
func (s *Session) aloneOnly(what string) error {
	if s.tx.ddl == nil {
		return nil
	}
	return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what).
		WithHint("Run it on its own.")
}

// clone returns a copy that changes of the original leave alone, for a savepoint.
func (t *catalogTx) clone() *catalogTx {
	if t == nil {
		return nil
	}
	c := *t
	c.changes = t.changes[:len(t.changes):len(t.changes)]
	c.seqs, c.read = maps.Clone(t.seqs), maps.Clone(t.read)
	return &c
}

// failed is why the transaction cannot go on.
func (t *catalogTx) failed() error {
	if t == nil {
		return nil
	}
	return t.lost
}

// fresh reports whether the transaction has made an object.
func (t *catalogTx) fresh(oid uint32) bool {
	return t != nil && t.base.ByOID(oid) == nil && t.cat.ByOID(oid) != nil
}

// current returns the transaction's catalog, over what is committed now.
func (t *catalogTx) current(now *catalog.Snapshot) *catalog.Snapshot {
	if now != t.base && t.lost == nil {
		if next, _, err := t.over(now); err != nil {
			t.lost = err
		} else {
			t.base, t.cat = now, next
		}
	}
	return t.cat
}

// over applies the changes to what is committed now. It fails if others have changed
// one of the objects; what others have dropped is dropped.
func (t *catalogTx) over(now *catalog.Snapshot) (*catalog.Snapshot, []catalog.Entry, error) {
	t.changes = slices.DeleteFunc(slices.Clone(t.changes), func(c catalog.Change) bool {
		return c.Drop != 0 && t.base.ByOID(c.Drop) != nil && now.ByOID(c.Drop) == nil
	})
	for _, c := range t.changes {
		if c.Replace == nil {
			continue
		}
		oid := c.Replace.Header().OID
		if was := t.base.ByOID(oid); was != nil && now.ByOID(oid) != was {
			return nil, nil, pgerr.New(pgerr.SerializationFailure, "could not serialize access due to a concurrent change of %s", catalog.Described(was)).
				WithHint("Run the transaction again.")
		}
	}
	return now.Apply(t.changes...)
}

// changeCatalog makes changes: at once, or as part of the transaction.
func (s *Session) changeCatalog(changes ...catalog.Change) error {
	t := s.tx.ddl
	if t == nil {
		return s.eng.ChangeCatalog(&state.Commit{}, changes...)
	}
	was := t.current(s.eng.Catalog.Current())
	if t.lost != nil {
		return t.lost
	}
	next, _, err := was.Apply(changes...)
	if err != nil {
		return err
	}
	t.cat, t.changes = next, append(t.changes[:len(t.changes):len(t.changes)], changes...)
	for _, c := range changes {
		if q, ok := c.Create.(*catalog.Sequence); ok {
			t.seqs[q.OID] = &jobs.Sequence{OID: q.OID, Loaded: true, Unstored: true, Last: q.Start}
		}
	}
	for _, w := range s.tx.writes { // the rows were held against what is new
		o, ok := was.ByOID(w.Rel).(*catalog.Table)
		if n, still := next.ByOID(w.Rel).(*catalog.Table); ok && still && o.Revision == w.Revision {
			w.Revision, w.Name = n.Revision, n.Name
		}
	}
	return nil
}

// stands reports whether a statement that changes the catalog can be part of a
// transaction. The others take effect at once.
func stands(st sql.Stmt) bool {
	a, ok := st.(*sql.Alter)
	if !ok {
		return true
	}
	for _, x := range a.Actions {
		if x.Kind == sql.AlterResume || a.Kind == "database" && x.Kind == sql.AlterRename {
			return false
		}
	}
	return true
}

// severalSteps reports whether a statement makes several changes that are one only as a
// transaction.
func severalSteps(st sql.Stmt) bool {
	switch st := st.(type) {
	case *sql.CreateSchema:
		return len(st.Elements) > 0
	case *sql.CreateTable:
		return st.Query != nil && planner.Modifies(st.Query)
	case *sql.Drop:
		return st.Cascade && (st.Kind == "type" || st.Kind == "domain")
	}
	return false
}

// enterBlock makes a statement that changes the catalog part of the transaction that
// it is in: a block, or the statements of one text. What the session has written by
// itself before it, without a block, is committed first.
func (s *Session) enterBlock(ctx context.Context, st *statement) error {
	switch {
	case !s.tx.block && !st.part && severalSteps(st.Stmt):
		if err := s.flushWrites(ctx, false); err != nil {
			return err
		}
		s.tx.alone = false // it is a transaction of several changes, which ends with it
		s.transactional()
		return nil
	case !s.tx.block && !st.part:
		return s.flushWrites(ctx, false)
	case stands(st.Stmt):
		s.transactional()
		return nil
	case s.tx.block || s.tx.ddl != nil:
		a := st.Stmt.(*sql.Alter)
		what := "ALTER " + strings.ToUpper(a.Kind) + " … RESUME"
		if a.Kind == "database" {
			what = "ALTER DATABASE … RENAME"
		}
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot run inside a transaction block", what).WithHint("Run it on its own.")
	}
	return s.flushWrites(ctx, false)
}

// stageTableAs is the end of CREATE TABLE AS in a transaction: the rows are staged.
func (s *Session) stageTableAs(ctx context.Context, q *planner.Query, t *catalog.Table, st *sql.CreateTable) error {
	var rows *vec.Chunk
	if !st.NoData {
		if err := s.mayLock(q.Locks); err != nil {
			return err
		}
		var err error
		if rows, _, err = s.tryWriting(ctx, writing{cat: s.snapshot(), with: q.With, query: q.Root}); err != nil {
			return stage.ConflictError(err)
		}
	}
	if err := s.changeCatalog(catalog.Change{Create: t}); err != nil {
		return err
	}
	s.keepOnCommit(t.OID, st.OnCommit)
	if st.NoData {
		return nil
	}
	r := s.newRun(ctx)
	defer r.close()
	s.made = 0
	for i := range rows.Rows {
		s.made += rows.Weight(i)
	}
	return r.insertRows(t, rows)
}

// visible reads a table's rows as the transaction sees them, whole rows in chunks that
// f borrows.
func (r *run) visible(t *catalog.Table, f func(*vec.Chunk) error) error {
	return r.scanStored(&plan.Scan{Kind: plan.RelTable, Rel: t.OID, Name: t.Name, Cols: stage.AllColumns(stage.ColumnTypes(t.Columns))}, t, func(c *vec.Chunk) error {
		if err := jobs.Canceled(r.ctx); err != nil {
			return err
		}
		return f(c)
	})
}
