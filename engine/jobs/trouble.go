package jobs

import (
	"sync"
	"time"

	"github.com/streamdb/streamdb/connector"
)

// Trouble is why something outside cannot be reached, and since when.
type Trouble struct {
	Err   error
	Since time.Time
}

// contact watches one reader or deliverer: what it failed with before it was
// opened again, and what it says of itself while it is open.
type contact struct {
	mu   sync.Mutex
	last Trouble
	now  any // the open reader or deliverer; nil: none
}

// opened notes the one that is open now; nil: none.
func (c *contact) opened(x any) {
	c.mu.Lock()
	c.now = x
	c.mu.Unlock()
}

// failed notes an error, and nil that it works.
func (c *contact) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.last = Trouble{}
		return
	}
	if c.last.Err == nil {
		c.last.Since = time.Now()
	}
	c.last.Err = err
}

// Trouble tells what is wrong; its err is nil if nothing is.
func (c *contact) Trouble() Trouble {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, ok := c.now.(connector.Health); ok && c.last.Err == nil {
		err, since := h.Trouble()
		return Trouble{err, since}
	}
	return c.last
}

// Positions returns where the splits of an open reader are.
func (c *contact) Positions() []connector.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.now.(connector.Positioner); ok {
		return p.Positions()
	}
	return nil
}
