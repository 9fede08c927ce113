package engine

import (
	"cmp"
	"slices"

	"github.com/streamdb/streamdb/catalog"
)

// checksAtOnce reports whether a constraint is checked at the end of each statement.
func (s *Session) checksAtOnce(ix *catalog.Index) bool {
	return !s.defers(ix.OID, ix.Deferrable, ix.Deferred)
}

// checksKeysLater reports whether there are rows whose keys are still to be checked.
func (s *Session) checksKeysLater() bool {
	for _, w := range s.tx.writes {
		for _, u := range w.Later {
			if len(u.Added) > 0 {
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
		if len(w.Later) == 0 {
			continue
		}
		if err := w.Index(); err != nil {
			return err
		}
		for _, u := range w.Later {
			if len(u.Added) == 0 || !due(u.Ix) {
				continue
			}
			keys := make([]string, 0, len(u.Added))
			for k := range u.Added {
				keys = append(keys, k)
			}
			slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(u.Added[a], u.Added[b]) })
			for _, k := range keys {
				n := u.Count[k]
				if n <= 0 {
					continue
				}
				row, err := u.Base[k], error(nil)
				if u.Base == nil {
					row, err = u.Stored(r.snap, []byte(k))
				}
				if err != nil {
					return err
				}
				if n > 1 || row != nil {
					return u.Duplicate(w.Rows, u.Added[k])
				}
			}
			clear(u.Added)
		}
	}
	return nil
}
