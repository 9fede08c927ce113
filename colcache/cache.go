package colcache

import (
	"bytes"
	"slices"
	"sync"

	"github.com/streamdb/streamdb/state"
)

// Cache is the column cache of a store, which it must be told to watch
// (state.Options.Watch). It may be used concurrently.
type Cache struct {
	budget int64
	rows   int // of a full segment

	mu     sync.RWMutex
	rels   map[state.TableID]*relation
	ends   map[state.TableID]uint64 // clock of the last commit of a relation
	flying []flight
	used   int64  // bytes of all vectors
	scans  uint64 // scans ever begun, the measure of age
}

// New makes a cache of at most budget bytes, with 0 of nothing, whose segments,
// and the chunks of its scans, have at most rows rows.
func New(budget int64, rows int) *Cache {
	return &Cache{budget: budget, rows: rows, rels: map[state.TableID]*relation{}, ends: map[state.TableID]uint64{}}
}

// Bytes returns the memory that is in use.
func (c *Cache) Bytes() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.used
}

// Rows counts the keys of a relation, if all of it is in the cache.
func (c *Cache) Rows(id state.TableID) (n int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r := c.rels[id]
	if r == nil || len(r.segs) == 0 || r.segs[len(r.segs)-1].hi != nil {
		return 0, false
	}
	var at []byte
	for _, s := range r.segs {
		if !bytes.Equal(s.lo, at) {
			return 0, false
		}
		n += int64(s.rows)
		at = s.hi
	}
	return n, true
}

// Unchanged reports whether a relation is what a snapshot of that clock saw, and
// no commit that changes it is under way.
func (c *Cache) Unchanged(id state.TableID, clock uint64) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, f := range c.flying {
		for _, t := range f.touched {
			if t.id == id {
				return false
			}
		}
	}
	return c.ends[id] <= clock
}

// flight is a commit that has begun and not ended.
type flight struct {
	commit  *state.Commit
	touched []touched
}

// touched is what a commit changes in a relation: some keys, or any of them. The
// keys are the commit's own memory.
type touched struct {
	id   state.TableID
	keys [][]byte
	any  bool
}

// Begin implements state.Watcher: no reader can see the commit yet.
func (c *Cache) Begin(m *state.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := flight{commit: m}
	for _, id := range m.DropTables {
		f.touched = append(f.touched, touched{id: id, any: true})
	}
	for _, b := range m.Rows {
		t := touched{id: b.Table()}
		if t.any = c.rels[t.id] == nil || b.Len() > mostKeys; !t.any {
			t.keys = b.Keys(make([][]byte, 0, b.Len()))
		}
		f.touched = append(f.touched, t)
	}
	for _, t := range f.touched {
		if r := c.rels[t.id]; r != nil && len(r.segs) > 0 {
			c.invalidate(r, t)
		}
	}
	c.flying = append(c.flying, f)
}

// End implements state.Watcher: every reader sees the commit, or none ever will.
func (c *Cache) End(m *state.Commit, clock uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.flying, func(f flight) bool { return f.commit == m })
	for _, t := range c.flying[at].touched {
		c.ends[t.id] = max(c.ends[t.id], clock)
		if r := c.rels[t.id]; r != nil {
			r.remember(t, clock)
		}
	}
	c.flying = slices.Delete(c.flying, at, at+1)
	for _, id := range m.DropTables {
		delete(c.rels, id)
	}
}

// untouched reports whether no commit that a snapshot of that clock may lack has
// changed a key of the range.
func (c *Cache) untouched(r *relation, lo, hi []byte, clock uint64) bool {
	if !r.unchanged(lo, hi, clock) {
		return false
	}
	for _, f := range c.flying {
		for _, t := range f.touched {
			if t.id == r.id && (t.any || slices.ContainsFunc(t.keys, func(k []byte) bool { return within(k, lo, hi) })) {
				return false
			}
		}
	}
	return true
}

// reserve makes room for n bytes by dropping columns that no scan as young as
// scan has used; false: there is no room.
func (c *Cache) reserve(n int64, scan uint64) bool {
	for c.used+n > c.budget {
		if !c.evict(scan) {
			return false
		}
	}
	c.used += n
	return true
}

// evict drops the column that was used longest ago, if that was before scan.
func (c *Cache) evict(scan uint64) bool {
	var from *relation
	col, oldest := 0, scan
	for _, r := range c.rels {
		for k, at := range r.usedAt {
			if r.bytes[k] > 0 && at < oldest {
				from, col, oldest = r, k, at
			}
		}
	}
	if from == nil {
		return false
	}
	for _, s := range from.segs {
		s.cols[col] = nil
	}
	c.used -= from.bytes[col]
	from.bytes[col] = 0
	return true
}

// clear drops all segments of a relation.
func (c *Cache) clear(r *relation) {
	for _, s := range r.segs {
		s.dead = true
	}
	r.segs = nil
	for k, n := range r.bytes {
		c.used -= n
		r.bytes[k] = 0
	}
}
