package engine

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Blocks start small, so that little is lost, and double while they are used up.
const (
	firstBlock = 32
	largeBlock = 4096
)

// sequence returns the generator of a sequence, locked and loaded, with its
// definition.
func (s *Session) sequence(oid uint32) (*jobs.Sequence, *catalog.Sequence, error) {
	o := s.snapshot().ByOID(oid)
	def, ok := o.(*catalog.Sequence)
	if !ok {
		if o == nil {
			return nil, nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
		}
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", o.Header().Name)
	}
	if t := s.tx.ddl; t != nil && t.seqs[oid] != nil {
		q := t.seqs[oid]
		q.Mu.Lock()
		return q, def, nil
	}
	return s.eng.Sequence(def)
}

// nextValue gives out a value.
func (s *Session) nextValue(oid uint32) (int64, error) {
	q, def, err := s.sequence(oid)
	if err != nil {
		return 0, err
	}
	defer q.Mu.Unlock()
	e, next := s.eng, q.Last
	if q.Called {
		if next, err = following(def, q.Last); err != nil {
			return 0, err
		}
	}
	if q.Unstored {
		q.Last, q.Called = next, true
		return next, nil
	}
	if q.Left == 0 {
		block := min(max(q.Block*2, firstBlock), largeBlock)
		n, end := reach(def, next, block)
		if err := e.Commit(&state.Commit{Epoch: e.NextEpoch(), Meta: []state.KV{jobs.SequenceRecord(oid, end, true)}}); err != nil {
			return 0, err
		}
		q.Left, q.Block = n, block
	}
	q.Left--
	q.Last, q.Called = next, true
	return next, nil
}

// following is the value after v. Distances are unsigned, so that they do not
// overflow.
func following(def *catalog.Sequence, v int64) (int64, error) {
	up := def.Increment > 0
	switch {
	case up && v <= def.Max && uint64(def.Max)-uint64(v) >= uint64(def.Increment),
		!up && v >= def.Min && uint64(v)-uint64(def.Min) >= uint64(-def.Increment):
		return v + def.Increment, nil
	case up && def.Cycle:
		return def.Min, nil
	case def.Cycle:
		return def.Max, nil
	case up:
		return 0, pgerr.New(pgerr.SequenceLimitExceeded, "nextval: reached maximum value of sequence \"%s\" (%d)", def.Name, def.Max)
	}
	return 0, pgerr.New(pgerr.SequenceLimitExceeded, "nextval: reached minimum value of sequence \"%s\" (%d)", def.Name, def.Min)
}

// reach returns how many values, at most n, follow one another from v on without
// cycling, and the last of them.
func reach(def *catalog.Sequence, v, n int64) (count, last int64) {
	count, last = 1, v
	for count < n {
		next, err := following(def, last)
		if err != nil || (next > last) != (def.Increment > 0) {
			break
		}
		count, last = count+1, next
	}
	return count, last
}

// setValue puts a sequence at a value.
func (s *Session) setValue(oid uint32, v int64, called bool) error {
	q, def, err := s.sequence(oid)
	if err != nil {
		return err
	}
	defer q.Mu.Unlock()
	if v < def.Min || v > def.Max {
		return pgerr.New(pgerr.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence \"%s\" (%d..%d)", v, def.Name, def.Min, def.Max)
	}
	if !q.Unstored {
		if err := s.eng.Commit(&state.Commit{Epoch: s.eng.NextEpoch(), Meta: []state.KV{jobs.SequenceRecord(oid, v, called)}}); err != nil {
			return err
		}
	}
	q.Put(v, called)
	return nil
}

// changeSequence replaces a sequence's definition, and its value with restart, in
// one commit.
func (s *Session) changeSequence(def *catalog.Sequence, restart *int64, changes ...catalog.Change) error {
	q, _, err := s.sequence(def.OID)
	if err != nil {
		return err
	}
	defer q.Mu.Unlock()
	v, called := q.Last, q.Called
	if restart != nil {
		v, called = *restart, false
	}
	if v < def.Min {
		return pgerr.New(pgerr.InvalidParameterValue, "RESTART value (%d) cannot be less than MINVALUE (%d)", v, def.Min)
	}
	if v > def.Max {
		return pgerr.New(pgerr.InvalidParameterValue, "RESTART value (%d) cannot be greater than MAXVALUE (%d)", v, def.Max)
	}
	changes = append(slices.Clone(changes), catalog.Change{Replace: def})
	if t := s.tx.ddl; t != nil {
		t.seqs[def.OID] = &jobs.Sequence{OID: def.OID, Loaded: true, Unstored: true, Last: v, Called: called}
		return s.changeCatalog(changes...)
	}
	c := &state.Commit{Meta: []state.KV{jobs.SequenceRecord(def.OID, v, called)}}
	if err := s.eng.ChangeCatalog(c, changes...); err != nil {
		return err
	}
	q.Put(v, called)
	return nil
}

// given is what a session has taken from sequences.
type given struct {
	last   map[uint32]int64
	newest uint32
}

// sequenceUse implements expr.Sequences.
type sequenceUse struct{ s *Session }

func (u sequenceUse) writable(what string) error {
	if u.s.tx.modes.readOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", what)
	}
	return nil
}

// may refuses a sequence on which the session's role has none of the privileges. The
// sequence of an identity column is part of the table: who may insert may use it.
func (u sequenceUse) may(oid uint32, any ...catalog.Privs) error {
	if u.s.who.super {
		return nil
	}
	snap := u.s.snapshot()
	q, ok := snap.ByOID(oid).(*catalog.Sequence)
	if !ok {
		return nil
	}
	if t := snap.ByOID(q.OwnedTable); q.Identity && t != nil && snap.Held(u.s.who.current, t, catalog.Insert) != 0 {
		return nil
	}
	for _, p := range any {
		if snap.Can(u.s.who.current, q, p) {
			return nil
		}
	}
	return catalog.Denied(q)
}

// NextValue implements expr.Sequences.
func (u sequenceUse) NextValue(oid uint32) (int64, error) {
	if err := u.writable("nextval()"); err != nil {
		return 0, err
	}
	if err := u.may(oid, catalog.Usage, catalog.Update); err != nil {
		return 0, err
	}
	n, err := u.s.nextValue(oid)
	if err != nil {
		return 0, err
	}
	u.took(oid, n)
	u.s.given.newest = oid
	return n, nil
}

func (u sequenceUse) took(oid uint32, n int64) {
	if u.s.given.last == nil {
		u.s.given.last = map[uint32]int64{}
	}
	u.s.given.last[oid] = n
}

// CurrentValue implements expr.Sequences.
func (u sequenceUse) CurrentValue(oid uint32) (int64, error) {
	def, ok := u.s.snapshot().ByOID(oid).(*catalog.Sequence)
	if !ok {
		_, _, err := u.s.sequence(oid)
		return 0, err
	}
	if err := u.may(oid, catalog.Usage, catalog.Select); err != nil {
		return 0, err
	}
	n, ok := u.s.given.last[oid]
	if !ok {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "currval of sequence \"%s\" is not yet defined in this session", def.Name)
	}
	return n, nil
}

// LastValue implements expr.Sequences.
func (u sequenceUse) LastValue() (int64, error) {
	n, ok := u.s.given.last[u.s.given.newest]
	if !ok || u.s.snapshot().ByOID(u.s.given.newest) == nil {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	return n, u.may(u.s.given.newest, catalog.Usage, catalog.Select)
}

// SetValue implements expr.Sequences.
func (u sequenceUse) SetValue(oid uint32, v int64, called bool) error {
	if err := u.writable("setval()"); err != nil {
		return err
	}
	if err := u.may(oid, catalog.Update); err != nil {
		return err
	}
	if err := u.s.setValue(oid, v, called); err != nil {
		return err
	}
	if called {
		u.took(oid, v)
	}
	return nil
}

// LastGiven implements expr.Sequences.
func (u sequenceUse) LastGiven(oid uint32) (int64, bool, error) {
	q, _, err := u.s.sequence(oid)
	if err != nil {
		return 0, false, err
	}
	defer q.Mu.Unlock()
	return q.Last, q.Called, nil
}

// SequenceState implements catalog.SequenceSource.
func (i serverInfo) SequenceState(oid uint32) (int64, bool) {
	q, _, err := i.s.sequence(oid)
	if err != nil {
		return 0, false
	}
	defer q.Mu.Unlock()
	return q.Last, q.Called
}

// sequenceRow is a sequence read as a relation.
func (r *run) sequenceRow(def *catalog.Sequence, cols []int, f func(*vec.Chunk) error) error {
	q, _, err := r.s.sequence(def.OID)
	if err != nil {
		return err
	}
	row := []types.Datum{q.Last, q.Left, q.Called}
	q.Mu.Unlock()
	c := vec.NewChunk(stage.ColumnTypes(def.Cols()), 1)
	c.AppendRow(1, row...)
	out := &vec.Chunk{Rows: 1, Diff: c.Diff}
	for _, k := range cols {
		out.Cols = append(out.Cols, c.Cols[k])
	}
	return f(out)
}
