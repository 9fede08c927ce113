package stage

import (
	"github.com/streamdb/streamdb/vec"
)

// LaterKeys is what a transaction has made of the keys of a DEFERRABLE constraint, of
// which there may be several rows until it is checked: how many more rows have each.
// In the end the graph checks it like any other (checkUnique).
type LaterKeys struct {
	*UniqueIndex
	Count map[string]int64
	// Added are the keys of rows that have come since the last check, with the last of
	// these rows.
	Added map[string]int
	Base  map[string][]byte // as of UniqueKeys
}

// NewLaterKeys has no keys yet.
func NewLaterKeys(u *UniqueIndex) *LaterKeys {
	return &LaterKeys{UniqueIndex: u, Count: map[string]int64{}, Added: map[string]int{}}
}

func (u *LaterKeys) forget() {
	clear(u.Count)
	clear(u.Added)
}

// note takes note of row i of what the transaction has written.
func (u *LaterKeys) note(c *vec.Chunk, i int) error {
	key, unique, err := u.Key(nil, c, i)
	if err != nil || !unique {
		return err
	}
	k, n := string(key), c.Weight(i)
	if u.Count[k] += n; n > 0 {
		u.Added[k] = i
	}
	return nil
}
