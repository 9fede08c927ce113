package catalog

import (
	"sync"
	"sync/atomic"
)

// Catalog holds the current snapshot of a server and hands out OIDs. It is safe
// for concurrent use.
type Catalog struct {
	cur  atomic.Pointer[Snapshot]
	mu   sync.Mutex
	next uint32
}

// Hold makes a Catalog whose current snapshot is s.
func Hold(s *Snapshot) *Catalog {
	c := &Catalog{next: s.next}
	c.cur.Store(s)
	return c
}

// Current returns the snapshot that queries see now.
func (c *Catalog) Current() *Snapshot { return c.cur.Load() }

// Publish makes s the current snapshot. The caller has made its entries durable
// and orders DDL: s was made from the snapshot that is current now.
func (c *Catalog) Publish(s *Snapshot) {
	c.mu.Lock()
	c.next = max(c.next, s.next)
	c.mu.Unlock()
	c.cur.Store(s.In(0))
}

// AllocOID gives out an OID that no other object has or had. OIDs of a DDL that
// fails are lost, which does no harm.
func (c *Catalog) AllocOID() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next - 1
}

// Assign gives an OID to a new object of a database (0: all) and to its keys and
// constraints, where they have none. It must happen before the object is given to
// Apply.
func (c *Catalog) Assign(o Object, db uint32) {
	h := o.Header()
	h.Database = db
	if h.OID == 0 {
		h.OID = c.AllocOID()
	}
	for _, p := range innerOIDs(o) {
		if *p == 0 {
			*p = c.AllocOID()
		}
	}
}
