package colcache

import (
	"bytes"
	"slices"
	"sort"

	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// mostKeys is how many changed keys of a relation are remembered, and up to how
// many keys a commit is looked at key by key.
const mostKeys = 4096

// relation is what is cached of one stored relation. Cache.mu guards it.
type relation struct {
	id     state.TableID
	types  []types.T
	segs   []*segment // by key, disjoint; the slice is replaced, never changed
	bytes  []int64    // of all segments, by column
	usedAt []uint64   // number of the last scan, by column

	recent []change // the last changes, clocks ascending
	forgot uint64   // clock of the last change that is not among them
}

// change is a key that the commit ending at clock changed.
type change struct {
	clock uint64
	key   []byte
}

// segment is the rows with keys in [lo, hi); hi nil: to the end of the relation.
type segment struct {
	lo, hi []byte
	clock  uint64 // the snapshots from this clock on see these rows
	rows   int
	diff   []int64      // nil: every row counts once
	cols   []vec.Vector // by column of the relation; nil: not cached
	dead   bool         // no longer in the cache
}

func (c *Cache) newRelation(t Table) *relation {
	r := &relation{id: t.ID, types: t.Types, forgot: c.ends[t.ID],
		bytes: make([]int64, len(t.Types)), usedAt: make([]uint64, len(t.Types))}
	c.rels[t.ID] = r
	return r
}

// within reports whether lo <= key < hi, where a nil hi has nothing above it.
func within(key, lo, hi []byte) bool {
	return bytes.Compare(key, lo) >= 0 && (hi == nil || bytes.Compare(key, hi) < 0)
}

// remember notes the keys of a commit that has ended.
func (r *relation) remember(t touched, clock uint64) {
	if t.any {
		r.recent, r.forgot = nil, max(r.forgot, clock)
		return
	}
	for _, key := range t.keys {
		r.recent = append(r.recent, change{clock, slices.Clone(key)})
	}
	// The oldest go in one step, so that this does not move them at every commit.
	if drop := len(r.recent) - mostKeys; drop > mostKeys {
		r.forgot = max(r.forgot, r.recent[drop-1].clock)
		r.recent = slices.Clone(r.recent[drop:])
	}
}

// unchanged reports whether no commit that ended after clock changed the range.
func (r *relation) unchanged(lo, hi []byte, clock uint64) bool {
	if r.forgot > clock {
		return false
	}
	for i := len(r.recent) - 1; i >= 0 && r.recent[i].clock > clock; i-- {
		if within(r.recent[i].key, lo, hi) {
			return false
		}
	}
	return true
}

// find returns the position of the first segment that ends above key.
func (r *relation) find(key []byte) int {
	return sort.Search(len(r.segs), func(i int) bool {
		return r.segs[i].hi == nil || bytes.Compare(r.segs[i].hi, key) > 0
	})
}

// invalidate drops the segments that hold changed keys.
func (c *Cache) invalidate(r *relation, t touched) {
	if t.any {
		c.clear(r)
		return
	}
	dead := false
	for _, key := range t.keys {
		if i := r.find(key); i < len(r.segs) && bytes.Compare(r.segs[i].lo, key) <= 0 && !r.segs[i].dead {
			c.kill(r, r.segs[i])
			dead = true
		}
	}
	if dead {
		r.segs = slices.DeleteFunc(slices.Clone(r.segs), func(s *segment) bool { return s.dead })
	}
}

func (c *Cache) kill(r *relation, s *segment) {
	s.dead = true
	for k, v := range s.cols {
		if v != nil {
			n := int64(v.MemSize())
			r.bytes[k] -= n
			c.used -= n
		}
	}
}

// install adds segments that touch one another, for what of them no commit has
// changed, in place of what there is in their range.
func (c *Cache) install(r *relation, segs []*segment) {
	if len(segs) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range segs {
		for k, v := range s.cols {
			if v != nil {
				r.bytes[k] += int64(v.MemSize()) // reserved when it was made
			}
		}
		if c.rels[r.id] != r || !c.untouched(r, s.lo, s.hi, s.clock) {
			c.kill(r, s)
		}
	}
	lo, hi := segs[0].lo, segs[len(segs)-1].hi
	from, to := r.find(lo), len(r.segs)
	if hi != nil {
		to = sort.Search(len(r.segs), func(i int) bool { return bytes.Compare(r.segs[i].lo, hi) >= 0 })
	}
	next := slices.Clone(r.segs[:from])
	for _, s := range r.segs[from:to] {
		c.kill(r, s)
	}
	for _, s := range segs {
		if !s.dead {
			next = append(next, s)
		}
	}
	r.segs = append(next, r.segs[to:]...)
}
