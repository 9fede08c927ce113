package engine

import (
	"bytes"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/state"
)

// isolation is a transaction's isolation level.
type isolation uint8

const (
	readUncommitted isolation = iota // as readCommitted
	readCommitted                    // every statement reads the last commit
	repeatableRead                   // all statements read one snapshot
	serializable                     // and nothing they have read changes before the commit
)

// isolationNames are the levels' names, as SHOW spells them.
var isolationNames = []string{"read uncommitted", "read committed", "repeatable read", "serializable"}

func isolationOf(name string) isolation { return isolation(slices.Index(isolationNames, name)) }

// modes are what SET TRANSACTION sets.
type modes struct {
	isolation            isolation
	readOnly, deferrable bool
}

// text is the value of one of the parameters that show a transaction's modes.
func (m modes) text(key string) string {
	on := m.readOnly
	switch key {
	case "transaction_isolation":
		return isolationNames[m.isolation]
	case "transaction_deferrable":
		on = m.deferrable
	}
	if on {
		return "on"
	}
	return "off"
}

// isMode reports whether a parameter is a mode of the present transaction.
func isMode(key string) bool {
	return key == "transaction_isolation" || key == "transaction_read_only" || key == "transaction_deferrable"
}

// currentModes are those of the transaction, or of the next one.
func (s *Session) currentModes() modes {
	if s.tx.open {
		return s.tx.modes
	}
	return s.defaults
}

// setMode sets a mode of the transaction. What its queries rely on cannot change
// once there has been one.
func (s *Session) setMode(key, value string) error {
	tx := &s.tx
	subtransaction, what := len(tx.saves) > 0, ""
	switch key {
	case "transaction_isolation":
		if isolationOf(value) != tx.modes.isolation {
			what = "SET TRANSACTION ISOLATION LEVEL must"
		}
	case "transaction_read_only":
		if value == "off" && tx.modes.readOnly && subtransaction {
			return pgerr.New(pgerr.ActiveSQLTransaction, "cannot set transaction read-write mode inside a read-only transaction")
		}
		if value == "off" && tx.modes.readOnly && tx.queried {
			return pgerr.New(pgerr.ActiveSQLTransaction, "transaction read-write mode must be set before any query")
		}
	case "transaction_deferrable":
		what = "SET TRANSACTION [NOT] DEFERRABLE must"
	}
	switch {
	case what != "" && tx.queried:
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s be called before any query", what)
	case what != "" && subtransaction:
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s not be called in a subtransaction", what)
	}
	switch key {
	case "transaction_isolation":
		tx.modes.isolation = isolationOf(value)
	case "transaction_read_only":
		tx.modes.readOnly = value == "on"
	default:
		tx.modes.deferrable = value == "on"
	}
	return nil
}

// setModes runs SET TRANSACTION and SET SESSION CHARACTERISTICS.
func (s *Session) setModes(st *sql.SetTransaction) error {
	if !st.Session && !s.tx.block {
		s.notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET TRANSACTION can only be used in transaction blocks"))
		return nil
	}
	prefix := "transaction_"
	if st.Session {
		prefix = "default_transaction_"
	}
	return s.applyModes(prefix, st.Modes)
}

// applyModes sets the parameters whose names begin with prefix to the modes given.
func (s *Session) applyModes(prefix string, m sql.TxModes) error {
	if m.Isolation != "" {
		if err := s.set(prefix+"isolation", m.Isolation, false); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		on   *bool
	}{{"read_only", m.ReadOnly}, {"deferrable", m.Deferrable}} {
		if f.on == nil {
			continue
		}
		v := "off"
		if *f.on {
			v = "on"
		}
		if err := s.set(prefix+f.name, v, false); err != nil {
			return err
		}
	}
	return nil
}

// txView is what all statements of a transaction from REPEATABLE READ on see: the
// store and the catalog at the time of its first query.
type txView struct {
	cat  *catalog.Snapshot
	snap *state.Snapshot
}

// renewView lets the next statement see what DDL outside of a block did, before which
// the writes were committed. Cursors go on reading the old view.
func (tx *transaction) renewView() { tx.view, tx.reads = nil, nil }

// closeViews ends the transaction's views.
func closeViews(vs []*txView) {
	for _, v := range vs {
		_ = v.snap.Close()
	}
}

// asOf returns a relation in the form in which the run's snapshot has it. One that
// has been altered since cannot be read (40001); one that is new is empty.
func (r *run) asOf(o catalog.Relation) (catalog.Relation, error) {
	if r.view == nil || r.view.cat == r.cat {
		return o, nil
	}
	if t := r.s.tx.ddl; t != nil && t.changes != nil {
		if now, ok := t.base.ByOID(o.Header().OID).(catalog.Relation); ok && now != o {
			_, err := r.unaltered(now) // what the transaction itself has made of it does not count
			return o, err
		}
	}
	return r.unaltered(o)
}

// unaltered is asOf but for what the transaction itself has changed.
func (r *run) unaltered(o catalog.Relation) (catalog.Relation, error) {
	switch was := r.view.cat.ByOID(o.Header().OID).(type) {
	case *catalog.Table:
		if t, ok := o.(*catalog.Table); !ok || t.Revision != was.Revision {
			return nil, stage.SerializationFailure()
		}
		return was, nil
	case *catalog.MatView:
		if !slices.Equal(stage.ColumnTypes(was.Cols()), stage.ColumnTypes(o.Cols())) {
			return nil, stage.SerializationFailure()
		}
		return was, nil
	}
	return o, nil
}

// noteRead remembers that a statement reads a relation.
func (r *run) noteRead(o catalog.Relation) {
	if r.s.tx.modes.isolation != serializable {
		return
	}
	_, table := o.(*catalog.Table)
	w := stage.WholeRead{Store: catalog.StoreID(o), Clock: r.snap.Clock(), Table: table}
	rs := r.s.tx.readSet()
	if was, ok := rs.Whole[o.Header().OID]; ok {
		w.Clock = min(w.Clock, was.Clock)
	}
	rs.Whole[o.Header().OID] = w
}

// noteRow remembers that a statement looks for the row of a key in a table, and
// what the run's snapshot has there.
func (r *run) noteRow(rel uint32, key []byte) error {
	rs := r.s.tx.readSet()
	if rs.Rows[rel] == nil {
		rs.Rows[rel] = map[string][]byte{}
	}
	if _, ok := rs.Rows[rel][string(key)]; ok {
		return nil // the first is the oldest
	}
	row, ok, err := r.snap.Get(rel, key)
	if err != nil {
		return err
	}
	if !ok {
		row = nil
	}
	rs.Rows[rel][string(key)] = bytes.Clone(row)
	return nil
}

func (tx *transaction) readSet() *stage.ReadSet {
	if tx.reads == nil {
		tx.reads = &stage.ReadSet{Whole: map[uint32]stage.WholeRead{}, Rows: map[uint32]map[string][]byte{}}
	}
	return tx.reads
}
