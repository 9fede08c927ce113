package exec

import "github.com/streamdb/streamdb/types"

// closing frees groups that lie below a watermark: no row can reach them any
// more, so their output stays as it is and their state is of no use. It acts at
// Seal only, since rows that operators below hold back arrive until then.
type closing struct {
	col  int // group column
	at   int64
	on   bool
	next int // number of groups that makes the next sweep worth its cost
}

// minSweep is the number of groups below which no sweep is made.
const minSweep = 4096

func (c *closing) advance(h *hashAgg, col int, at int64) {
	switch h.exact.typs[col].ID {
	case types.Timestamp, types.Timestamptz:
	default:
		return // watermarks count microseconds
	}
	if h.nAcc > 0 || c.on && c.col != col {
		return // entries of objects cannot be listed for deletion
	}
	if c.on {
		at = max(at, c.at)
	}
	c.col, c.at, c.on = col, at, true
}

// sweep marks the closed groups; the next Save forgets them.
func (c *closing) sweep(h *hashAgg) {
	if !c.on || h.groups.n < max(c.next, minSweep) {
		return
	}
	closed := 0
	h.groups.visit(func(id uint32) bool {
		ts, ok := h.groupTime(id, c.col)
		if !ok || ts >= c.at {
			return true
		}
		closed++
		r := h.groups.rec(id)
		f := le.Uint32(r[groupFlags:])
		if f&groupUnsaved == 0 {
			h.unsaved = append(h.unsaved, id)
		}
		le.PutUint32(r[groupFlags:], f|groupUnsaved|groupClosed)
		return true
	})
	c.next = 2 * (h.groups.n - closed)
}

// groupTime returns the value of a group's timestamp column.
func (h *hashAgg) groupTime(id uint32, col int) (ts int64, ok bool) {
	key := h.groups.key(id)
	if h.keys.isInt {
		return int64(le.Uint64(key)), id != h.groups.null
	}
	f := h.keys.format
	return int64(le.Uint64(key[f.off[col]:])), !f.isNull(key, col)
}
