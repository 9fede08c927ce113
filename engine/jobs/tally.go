package jobs

import (
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Tally counts rows: expected ones up, actual ones down.
type Tally struct {
	Types    []types.T
	Left     map[string]count // by exact encoding; equal counts are absent
	Expected int64
	bytes    int
}

type count struct{ Expected, Actual int64 }

// NewTally counts rows of columns of types ts.
func NewTally(ts []types.T) Tally { return Tally{Types: ts, Left: map[string]count{}} }

// tallyOverhead is about what an entry costs besides its row, in bytes.
const tallyOverhead = 64

// Add counts a row of which n are expected and m there.
func (t *Tally) Add(row []byte, n, m int64) error {
	c, ok := t.Left[string(row)]
	c.Expected, c.Actual = c.Expected+n, c.Actual+m
	t.Expected += n
	switch {
	case c.Expected == c.Actual:
		if ok {
			t.bytes -= len(row) + tallyOverhead
			delete(t.Left, string(row))
		}
		return nil
	case !ok:
		if t.bytes += len(row) + tallyOverhead; t.bytes > QueryBudget {
			return pgerr.New(pgerr.OutOfMemory, "out of memory").WithDetail("The rows of the view take more than %d bytes.", QueryBudget)
		}
	}
	t.Left[string(row)] = c
	return nil
}

// QueryBudget bounds the bytes one blocking operator of a one-off query may hold.
const QueryBudget = 2 << 30
