package engine

import (
	"cmp"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/vec"
)

// laterKeys is what a transaction has made of the keys of a DEFERRABLE constraint, of
// which there may be several rows until it is checked: how many more rows have each.
// In the end the graph checks it like any other (checkUnique).
type laterKeys struct {
	*uniqueIndex
	count map[string]int64
	// added are the keys of rows that have come since the last check, with the last of
	// these rows.
	added map[string]int
	base  map[string][]byte // as of uniqueKeys
}

func newLaterKeys(u *uniqueIndex) *laterKeys {
	return &laterKeys{uniqueIndex: u, count: map[string]int64{}, added: map[string]int{}}
}

func (u *laterKeys) forget() {
	clear(u.count)
	clear(u.added)
}

// note takes note of row i of what the transaction has written.
func (u *laterKeys) note(c *vec.Chunk, i int) error {
	key, unique, err := u.key(nil, c, i)
	if err != nil || !unique {
		return err
	}
	k, n := string(key), c.Weight(i)
	if u.count[k] += n; n > 0 {
		u.added[k] = i
	}
	return nil
}

// checksAtOnce reports whether a constraint is checked at the end of each statement.
func (s *Session) checksAtOnce(ix *catalog.Index) bool {
	return !s.defers(ix.OID, ix.Deferrable, ix.Deferred)
}

// checksKeysLater reports whether there are rows whose keys are still to be checked.
func (s *Session) checksKeysLater() bool {
	for _, w := range s.tx.writes {
		for _, u := range w.later {
			if len(u.added) > 0 {
				return true
			}
		}
	}
	return false
}

// checkLater checks the deferrable constraints that are due over what the transaction
// has written since it did so last.
func (r *run) checkLater(due func(*catalog.Index) bool) error {
	for _, w := range r.s.tx.writes {
		if len(w.later) == 0 {
			continue
		}
		if err := w.index(); err != nil {
			return err
		}
		for _, u := range w.later {
			if len(u.added) == 0 || !due(u.ix) {
				continue
			}
			keys := make([]string, 0, len(u.added))
			for k := range u.added {
				keys = append(keys, k)
			}
			slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(u.added[a], u.added[b]) })
			for _, k := range keys {
				n := u.count[k]
				if n <= 0 {
					continue
				}
				row, err := u.base[k], error(nil)
				if u.base == nil {
					row, err = u.stored(r.snap, []byte(k))
				}
				if err != nil {
					return err
				}
				if n > 1 || row != nil {
					return u.duplicate(w.rows, u.added[k])
				}
			}
			clear(u.added)
		}
	}
	return nil
}
