package wire

import (
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Notification implements Client. It may be called by any goroutine: the connection
// sends it when its transaction is over, or wakes up for it from waiting.
func (c *conn) Notification(pid int32, channel, payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, &pgproto3.NotificationResponse{PID: uint32(pid), Channel: channel, Payload: payload})
	if !c.busy && !c.terminating {
		c.poked = true
		c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// sendNotes appends what other sessions have notified, unless a transaction is
// open, and reports whether there was anything.
func (c *conn) sendNotes() bool {
	if c.sess == nil || c.began || c.skip || c.sess.TxStatus() != 'I' {
		return false
	}
	c.mu.Lock()
	notes := c.notes
	c.notes = nil
	c.mu.Unlock()
	for _, n := range notes {
		n.Channel, n.Payload = c.client.message(n.Channel), c.client.message(n.Payload)
		c.send(n)
	}
	return len(notes) > 0
}

// woken reports whether a read has ended for a notification, and lets reads wait
// again.
func (c *conn) woken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.poked || c.terminating {
		return false
	}
	c.poked = false
	c.nc.SetReadDeadline(c.idleEnd)
	return true
}
