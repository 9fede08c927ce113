package engine

import (
	"context"
	"maps"
	"time"

	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// transaction is the session's transaction, if one is open: writes are kept here
// and committed in one epoch.
type transaction struct {
	open    bool // explicit or implicit
	block   bool // BEGIN … COMMIT
	failed  bool
	alone   bool // one statement: its writes commit as it runs
	modes   modes
	queried bool                // a statement has read what is stored
	view    *txView             // what statements read; nil: what is committed
	views   []*txView           // all that are to be closed
	reads   *stage.ReadSet      // of a serializable transaction
	writes  []*stage.TableWrite // one a table, in order of first write
	saves   []savepoint
	saved   map[string]string // settings at the start, by key
	local   []string          // settings of SET LOCAL
	// deferAll and deferred are what SET CONSTRAINTS said of all and of single foreign
	// keys; postponed are those with checks that are still to be made.
	deferAll  *bool
	deferred  map[uint32]bool
	postponed map[uint32]bool
	ddl       *catalogTx // nil: the catalog is as it was
	// What is to be said of channels when the transaction commits.
	notes   []notification
	listens []listening
	locks   []takenLock // advisory locks of the transaction
}

// savepoint remembers how much was written when it was set.
type savepoint struct {
	name   string
	writes []savedWrite
	ddl    *catalogTx
	// notes, listens and locks are how many there were, cursors how many the session
	// had declared.
	notes, listens, locks, cursors int
	modes                          modes
	// What SET CONSTRAINTS had said, and the checks that were still to be made.
	deferAll            *bool
	deferred, postponed map[uint32]bool
}

// savedWrite is how far the write of a table was.
type savedWrite struct {
	w        *stage.TableWrite
	rows     int
	revision uint32
}

// Begin implements wire.Session.
func (s *Session) Begin(alone bool) {
	if s.tx.open {
		return
	}
	s.tx = transaction{open: true, alone: alone, modes: s.defaults}
	s.setNow()
}

func (s *Session) setNow() {
	s.expr.NowMicros = time.Now().UnixMicro() - jobs.EpochUnixMicros
}

// Fail implements wire.Session.
func (s *Session) Fail() {
	defer s.resting()
	if s.tx.block {
		s.tx.failed = true
		keep := 0
		if n := len(s.tx.saves); n > 0 {
			keep = s.tx.saves[n-1].locks
		}
		s.freeTxLocks(keep)
		return
	}
	s.abort()
}

// Sync implements wire.Session.
func (s *Session) Sync(ctx context.Context) error {
	defer s.resting()
	if !s.tx.open || s.tx.block {
		return nil
	}
	return s.commit(s.withLockLimit(ctx))
}

// TxStatus implements wire.Session.
func (s *Session) TxStatus() byte {
	switch {
	case s.tx.block && s.tx.failed:
		return 'E'
	case s.tx.block:
		return 'T'
	}
	return 'I'
}

// flushWrites commits what has been written so far; last: the transaction ends.
func (s *Session) flushWrites(ctx context.Context, last bool) error {
	if len(s.tx.writes) == 0 && s.tx.ddl == nil {
		return nil
	}
	if len(s.tx.postponed) > 0 || s.checksKeysLater() {
		r := s.newRun(ctx)
		defer r.close()
		if err := s.settlePostponed(r); err != nil {
			return err
		}
	}
	w := &stage.Write{Reads: s.tx.reads}
	ws := s.tx.writes
	if last {
		ws = s.emptied(ws)
	}
	for _, t := range ws {
		if t.Rows.Rows > 0 || t.Whole {
			w.Tables = append(w.Tables, *t)
		}
	}
	var err error
	if s.tx.ddl != nil {
		err = s.commitCatalog(ctx, w)
	} else {
		err = s.eng.CommitWrite(ctx, w)
	}
	s.tx.writes = nil
	if !s.tx.alone {
		return stage.ConflictError(err)
	}
	return err
}

// commit ends the transaction with its writes durable and visible.
func (s *Session) commit(ctx context.Context) error {
	err := s.dropOnCommit()
	if err == nil {
		err = s.flushWrites(ctx, true)
	}
	s.tx.ddl = nil
	if err == nil {
		err = s.transactionDone(ctx, true)
	}
	if err != nil {
		s.abort()
		return err
	}
	s.settleNotices()
	local := map[string]string{}
	for _, k := range s.tx.local {
		if v, ok := s.tx.saved[k]; ok {
			local[k] = v
		}
	}
	s.restore(local)
	s.end()
	return nil
}

// restore gives parameters the values they had. The session's role comes before the
// one that was set within it.
func (s *Session) restore(saved map[string]string) {
	if v, ok := saved["session_authorization"]; ok {
		role, set := saved["role"]
		_ = s.assign(settings.All["session_authorization"], v)
		if set {
			_ = s.assign(settings.All["role"], role)
		}
	}
	for k, v := range saved {
		if d := settings.All[k]; d != nil && k != "session_authorization" && (k != "role" || saved["session_authorization"] == "") {
			_ = s.assign(d, v)
		}
	}
}

// abort ends the transaction without its effects.
func (s *Session) abort() {
	s.restore(s.tx.saved)
	s.tx.ddl = nil
	if len(s.temp.commit) > 0 {
		if err := s.transactionDone(context.Background(), false); err != nil {
			s.eng.Log.Error("a temporary table was not dropped", "err", err)
		}
	}
	s.end()
}

func (s *Session) end() {
	if !s.tx.open {
		return
	}
	s.freeTxLocks(0)
	views := s.tx.views
	defer closeViews(views)
	s.tx = transaction{}
	for n, c := range s.cursors {
		if !c.hold {
			c.close()
			delete(s.cursors, n)
		}
	}
	s.client.TransactionEnded()
}

// begin runs BEGIN.
func (s *Session) begin(m sql.TxModes) error {
	if s.tx.block {
		s.notice("WARNING", pgerr.New(pgerr.ActiveSQLTransaction, "there is already a transaction in progress"))
	} else {
		s.tx.block, s.tx.alone = true, false
	}
	return s.applyModes("transaction_", m)
}

// endBlock runs COMMIT and ROLLBACK and returns the command tag. With chain a block
// of the same modes follows.
func (s *Session) endBlock(ctx context.Context, rollback, chain bool) (string, error) {
	if chain && !s.tx.block {
		tag := "COMMIT"
		if rollback {
			tag = "ROLLBACK"
		}
		return "", s.needBlock(tag + " AND CHAIN")
	}
	m := s.tx.modes
	tag, err := s.endTransaction(ctx, rollback)
	if err == nil && chain {
		s.tx = transaction{open: true, block: true, modes: m}
		s.setNow()
	}
	return tag, err
}

func (s *Session) endTransaction(ctx context.Context, rollback bool) (string, error) {
	if !s.tx.block {
		s.notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "there is no transaction in progress"))
		switch several := s.tx.open && !s.tx.alone; { // statements sent together are a transaction too
		case several && rollback:
			s.abort()
		case several:
			return "COMMIT", s.commit(ctx)
		}
		if rollback {
			return "ROLLBACK", nil
		}
		return "COMMIT", nil
	}
	if rollback || s.tx.failed {
		s.abort()
		return "ROLLBACK", nil
	}
	return "COMMIT", s.commit(ctx)
}

// needBlock refuses statements that make sense in a block only.
func (s *Session) needBlock(what string) error {
	if !s.tx.block {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", what)
	}
	return nil
}

func (s *Session) setSavepoint(name string) {
	sp := savepoint{name: name, ddl: s.tx.ddl.clone(), notes: len(s.tx.notes), listens: len(s.tx.listens), locks: len(s.tx.locks), modes: s.tx.modes,
		cursors:  s.declared,
		deferAll: s.tx.deferAll, deferred: maps.Clone(s.tx.deferred), postponed: maps.Clone(s.tx.postponed)}
	for _, w := range s.tx.writes {
		sp.writes = append(sp.writes, savedWrite{w, w.Rows.Rows, w.Revision})
	}
	s.tx.saves = append(s.tx.saves, sp)
}

func (s *Session) findSavepoint(name string) (int, error) {
	for i := len(s.tx.saves) - 1; i >= 0; i-- {
		if s.tx.saves[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepointSpecification, "savepoint \"%s\" does not exist", name)
}

// rollbackTo takes back what was written since a savepoint.
func (s *Session) rollbackTo(name string) error {
	i, err := s.findSavepoint(name)
	if err != nil {
		return err
	}
	sp := s.tx.saves[i]
	s.tx.saves = s.tx.saves[:i+1]
	s.tx.notes, s.tx.listens = s.tx.notes[:sp.notes], s.tx.listens[:sp.listens]
	s.freeTxLocks(sp.locks)
	s.tx.writes, s.tx.ddl = nil, sp.ddl.clone()
	for _, x := range sp.writes {
		w := x.w
		keep := vec.NewChunk(w.Rows.Types(), x.rows)
		keep.AppendRange(w.Rows, 0, x.rows)
		w.Rows, w.Keys, w.Revision = keep, nil, x.revision
		s.tx.writes = append(s.tx.writes, w)
	}
	s.tx.failed, s.tx.modes = false, sp.modes
	s.closeCursorsSince(sp.cursors)
	s.tx.deferAll, s.tx.deferred = sp.deferAll, maps.Clone(sp.deferred)
	for oid := range sp.postponed { // what has been checked since is to be checked again
		if s.tx.postponed == nil {
			s.tx.postponed = map[uint32]bool{}
		}
		s.tx.postponed[oid] = true
	}
	return nil
}
