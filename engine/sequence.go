package engine

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// sequences are the generators in use. What the store has of one is always at or
// beyond what was given out: values are reserved in blocks, so that most are given
// out without a write, and a crash loses the rest of the block but never gives a
// value out twice. A clean stop writes where each really is.
type sequences struct {
	mu     sync.Mutex
	byOID  map[uint32]*sequence
	closed bool
}

// sequence is one generator. mu is held over the write of a new block.
type sequence struct {
	mu     sync.Mutex
	oid    uint32
	loaded bool
	last   int64 // given out last, or with !called to be given out first
	called bool
	left   int64 // values that may be given out without a write
	// unstored is a generator of one transaction, which stores it when it commits.
	unstored bool
	block    int64 // how many were reserved last
}

// Blocks start small, so that little is lost, and double while they are used up.
const (
	firstBlock = 32
	largeBlock = 4096
)

// sequenceKey is where the store has a sequence: its value and whether that was
// given out.
func sequenceKey(oid uint32) []byte { return append([]byte("sequence/"), objectID(oid)...) }

func sequenceRecord(oid uint32, last int64, called bool) state.KV {
	v := binary.BigEndian.AppendUint64(nil, uint64(last))
	if called {
		v = append(v, 1)
	} else {
		v = append(v, 0)
	}
	return state.KV{Key: sequenceKey(oid), Val: v}
}

// sequence returns the generator of a sequence, locked and loaded, with its
// definition.
func (s *Session) sequence(oid uint32) (*sequence, *catalog.Sequence, error) {
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
		q.mu.Lock()
		return q, def, nil
	}
	return s.eng.sequence(def)
}

// sequence returns the generator of a sequence, locked and loaded, with its
// definition.
func (e *Runner) sequence(def *catalog.Sequence) (*sequence, *catalog.Sequence, error) {
	oid := def.OID
	e.seqs.mu.Lock()
	if e.seqs.closed {
		e.seqs.mu.Unlock()
		return nil, nil, shuttingDown()
	}
	q := e.seqs.byOID[oid]
	if q == nil {
		q = &sequence{oid: oid}
		e.seqs.byOID[oid] = q
	}
	e.seqs.mu.Unlock()
	q.mu.Lock()
	if q.loaded {
		return q, def, nil
	}
	v, found, err := e.store.MetaGet(sequenceKey(oid))
	if err != nil {
		q.mu.Unlock()
		return nil, nil, err
	}
	if q.last = def.Start; found && len(v) == 9 {
		q.last, q.called = int64(binary.BigEndian.Uint64(v)), v[8] == 1
	}
	q.loaded = true
	return q, def, nil
}

// nextValue gives out a value.
func (s *Session) nextValue(oid uint32) (int64, error) {
	q, def, err := s.sequence(oid)
	if err != nil {
		return 0, err
	}
	defer q.mu.Unlock()
	e, next := s.eng, q.last
	if q.called {
		if next, err = following(def, q.last); err != nil {
			return 0, err
		}
	}
	if q.unstored {
		q.last, q.called = next, true
		return next, nil
	}
	if q.left == 0 {
		block := min(max(q.block*2, firstBlock), largeBlock)
		n, end := reach(def, next, block)
		if err := e.commit(&state.Commit{Epoch: e.nextEpoch(), Meta: []state.KV{sequenceRecord(oid, end, true)}}); err != nil {
			return 0, err
		}
		q.left, q.block = n, block
	}
	q.left--
	q.last, q.called = next, true
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
	defer q.mu.Unlock()
	if v < def.Min || v > def.Max {
		return pgerr.New(pgerr.NumericValueOutOfRange, "setval: value %d is out of bounds for sequence \"%s\" (%d..%d)", v, def.Name, def.Min, def.Max)
	}
	if !q.unstored {
		if err := s.eng.commit(&state.Commit{Epoch: s.eng.nextEpoch(), Meta: []state.KV{sequenceRecord(oid, v, called)}}); err != nil {
			return err
		}
	}
	q.put(v, called)
	return nil
}

func (q *sequence) put(v int64, called bool) { q.last, q.called, q.left, q.block = v, called, 0, 0 }

// changeSequence replaces a sequence's definition, and its value with restart, in
// one commit.
func (s *Session) changeSequence(def *catalog.Sequence, restart *int64, changes ...catalog.Change) error {
	q, _, err := s.sequence(def.OID)
	if err != nil {
		return err
	}
	defer q.mu.Unlock()
	v, called := q.last, q.called
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
		t.seqs[def.OID] = &sequence{oid: def.OID, loaded: true, unstored: true, last: v, called: called}
		return s.changeCatalog(changes...)
	}
	c := &state.Commit{Meta: []state.KV{sequenceRecord(def.OID, v, called)}}
	if err := s.eng.changeCatalog(c, changes...); err != nil {
		return err
	}
	q.put(v, called)
	return nil
}

// forgetSequence drops the generator of a sequence that was dropped.
func (e *Runner) forgetSequence(oid uint32) {
	e.seqs.mu.Lock()
	delete(e.seqs.byOID, oid)
	e.seqs.mu.Unlock()
}

// closeSequences writes where the sequences are, so that a clean stop loses no
// values.
func (e *Runner) closeSequences() error {
	e.seqs.mu.Lock()
	e.seqs.closed = true
	c := &state.Commit{Epoch: e.nextEpoch()}
	for oid, q := range e.seqs.byOID {
		q.mu.Lock()
		if q.left > 0 && e.cat.Current().ByOID(oid) != nil {
			c.Meta = append(c.Meta, sequenceRecord(oid, q.last, q.called))
			q.left = 0
		}
		q.mu.Unlock()
	}
	e.seqs.mu.Unlock()
	if len(c.Meta) == 0 {
		return nil
	}
	return e.commit(c)
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
	defer q.mu.Unlock()
	return q.last, q.called, nil
}

// SequenceState implements catalog.SequenceSource.
func (i serverInfo) SequenceState(oid uint32) (int64, bool) {
	q, _, err := i.s.sequence(oid)
	if err != nil {
		return 0, false
	}
	defer q.mu.Unlock()
	return q.last, q.called
}

// sequenceRow is a sequence read as a relation.
func (r *run) sequenceRow(def *catalog.Sequence, cols []int, f func(*vec.Chunk) error) error {
	q, _, err := r.s.sequence(def.OID)
	if err != nil {
		return err
	}
	row := []types.Datum{q.last, q.left, q.called}
	q.mu.Unlock()
	c := vec.NewChunk(stage.ColumnTypes(def.Cols()), 1)
	c.AppendRow(1, row...)
	out := &vec.Chunk{Rows: 1, Diff: c.Diff}
	for _, k := range cols {
		out.Cols = append(out.Cols, c.Cols[k])
	}
	return f(out)
}
