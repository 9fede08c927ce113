package jobs

import (
	"encoding/binary"
	"sync"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/state"
)

// sequences are the generators in use. What the store has of one is always at or
// beyond what was given out: values are reserved in blocks, so that most are given
// out without a write, and a crash loses the rest of the block but never gives a
// value out twice. A clean stop writes where each really is.
type sequences struct {
	mu     sync.Mutex
	byOID  map[uint32]*Sequence
	closed bool
}

// Sequence is one generator. mu is held over the write of a new block.
type Sequence struct {
	Mu     sync.Mutex
	OID    uint32
	Loaded bool
	Last   int64 // given out last, or with !called to be given out first
	Called bool
	Left   int64 // values that may be given out without a write
	// Unstored is a generator of one transaction, which stores it when it commits.
	Unstored bool
	Block    int64 // how many were reserved last
}

// sequenceKey is where the store has a sequence: its value and whether that was
// given out.
func sequenceKey(oid uint32) []byte { return append([]byte("sequence/"), objectID(oid)...) }

// SequenceRecord is what the store has of a sequence, as a commit takes it.
func SequenceRecord(oid uint32, last int64, called bool) state.KV {
	v := binary.BigEndian.AppendUint64(nil, uint64(last))
	if called {
		v = append(v, 1)
	} else {
		v = append(v, 0)
	}
	return state.KV{Key: sequenceKey(oid), Val: v}
}

// Sequence returns the generator of a sequence, locked and loaded, with its
// definition.
func (e *Runner) Sequence(def *catalog.Sequence) (*Sequence, *catalog.Sequence, error) {
	oid := def.OID
	e.seqs.mu.Lock()
	if e.seqs.closed {
		e.seqs.mu.Unlock()
		return nil, nil, ShuttingDown()
	}
	q := e.seqs.byOID[oid]
	if q == nil {
		q = &Sequence{OID: oid}
		e.seqs.byOID[oid] = q
	}
	e.seqs.mu.Unlock()
	q.Mu.Lock()
	if q.Loaded {
		return q, def, nil
	}
	v, found, err := e.Store.MetaGet(sequenceKey(oid))
	if err != nil {
		q.Mu.Unlock()
		return nil, nil, err
	}
	if q.Last = def.Start; found && len(v) == 9 {
		q.Last, q.Called = int64(binary.BigEndian.Uint64(v)), v[8] == 1
	}
	q.Loaded = true
	return q, def, nil
}

// Put sets the generator, with no values reserved.
func (q *Sequence) Put(v int64, called bool) { q.Last, q.Called, q.Left, q.Block = v, called, 0, 0 }

// ForgetSequence drops the generator of a sequence that was dropped.
func (e *Runner) ForgetSequence(oid uint32) {
	e.seqs.mu.Lock()
	delete(e.seqs.byOID, oid)
	e.seqs.mu.Unlock()
}

// closeSequences writes where the sequences are, so that a clean stop loses no
// values.
func (e *Runner) closeSequences() error {
	e.seqs.mu.Lock()
	e.seqs.closed = true
	c := &state.Commit{Epoch: e.NextEpoch()}
	for oid, q := range e.seqs.byOID {
		q.Mu.Lock()
		if q.Left > 0 && e.Catalog.Current().ByOID(oid) != nil {
			c.Meta = append(c.Meta, SequenceRecord(oid, q.Last, q.Called))
			q.Left = 0
		}
		q.Mu.Unlock()
	}
	e.seqs.mu.Unlock()
	if len(c.Meta) == 0 {
		return nil
	}
	return e.Commit(c)
}
