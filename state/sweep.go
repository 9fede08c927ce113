package state

import (
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// sweepSlice is how many dead rows are deleted while commits to the relation
// wait.
const sweepSlice = 512

// table is a stored relation without a key. Its rows with a count of zero are
// invisible but take space until a sweep deletes them.
type table struct {
	id TableID

	// mu is held by commits that change counts, so that a sweep can tell that a
	// row is dead and delete it in one step.
	mu       sync.Mutex
	minus    int // retractions since the last sweep
	next     int // retractions at which the next sweep begins
	sweeping bool
}

// lockTables locks the relations whose counts the commit changes.
func (t *tx) lockTables() {
	s := t.s
	s.jobsMu.Lock()
	for _, b := range t.c.Rows {
		if b.adds == 0 {
			continue
		}
		tb := s.tables[b.table]
		if tb == nil {
			tb = &table{id: b.table, next: s.opt.SweepRows}
			s.tables[b.table] = tb
		}
		if !slices.Contains(t.tables, tb) {
			t.tables = append(t.tables, tb)
		}
	}
	s.jobsMu.Unlock()
	slices.SortFunc(t.tables, func(a, b *table) int { return int(int64(a.id) - int64(b.id)) })
	for _, tb := range t.tables {
		tb.mu.Lock()
	}
	for _, b := range t.c.Rows {
		if b.minus > 0 {
			s.tableOf(t, b.table).minus += b.minus
		}
	}
}

func (s *Store) tableOf(t *tx, id TableID) *table {
	return t.tables[slices.IndexFunc(t.tables, func(tb *table) bool { return tb.id == id })]
}

// maybeSweep starts a sweep after enough retractions. The relation's lock is
// held.
func (s *Store) maybeSweep(tb *table) {
	if tb.sweeping || tb.minus < tb.next {
		return
	}
	tb.sweeping, tb.minus = true, 0
	s.folds.Go(func() {
		rows, err := s.sweep(tb)
		tb.mu.Lock()
		defer tb.mu.Unlock()
		// A quarter of the rows read pays for the next reading.
		tb.sweeping, tb.next = false, max(s.opt.SweepRows, rows/4)
		if err != nil {
			s.log.Warn("could not delete dead rows", "relation", tb.id, "err", err)
		}
	})
}

// sweep reads the whole relation and deletes what is dead. It returns the number
// of rows read.
func (s *Store) sweep(tb *table) (int, error) {
	lo, hi := tableRange(tb.id)
	var dead [][]byte
	n := 0
	err := scanRange(s.db, lo, hi, func(key, val []byte) error {
		n++
		if len(val) == 0 || val[0] != tagCount {
			return nil
		}
		if c, err := decodeCount(val); err != nil || c != 0 {
			return err
		}
		if dead = append(dead, slices.Clone(key)); len(dead) < sweepSlice {
			return nil
		}
		err := s.bury(tb, dead)
		dead = dead[:0]
		return err
	})
	if err == nil {
		err = s.bury(tb, dead)
	}
	return n, err
}

// bury deletes those of the rows that are still dead. It is not synced: a row
// that comes back is dead.
func (s *Store) bury(tb *table, keys [][]byte) error {
	select {
	case <-s.stop:
		return errStopped
	default:
	}
	if len(keys) == 0 {
		return nil
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	for _, k := range keys {
		v, ok, err := getValue(s.db, k, nil)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if c, err := decodeCount(v); err != nil {
			return err
		} else if c == 0 {
			if err := b.Delete(k, nil); err != nil {
				return err
			}
			s.stats.swept.Add(1)
		}
	}
	return b.Commit(pebble.NoSync)
}
