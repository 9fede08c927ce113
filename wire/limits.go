package wire

import (
	"context"
	"time"

	"github.com/streamdb/streamdb/pgerr"
)

// Limiter is implemented by sessions with statement_timeout, idle_session_timeout
// and idle_in_transaction_session_timeout. In all of them 0 is no limit.
type Limiter interface {
	// StatementLimit is how long a statement may take that begins now. Beyond that
	// the context of the calls for it is done, with ErrStatementTimeout as its cause.
	StatementLimit() time.Duration
	// IdleLimit is how long the client may stay silent from now on. Beyond that the
	// connection ends.
	IdleLimit() time.Duration
}

// ErrStatementTimeout is the error of a statement that took longer than its limit.
var ErrStatementTimeout = pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")

var (
	errIdle        = pgerr.New(pgerr.IdleSessionTimeout, "terminating connection due to idle-session timeout")
	errIdleInBlock = pgerr.New(pgerr.IdleInTransactionTimeout, "terminating connection due to idle-in-transaction timeout")
)

// limitIdle lets the client's silence begin, unless it has or a sequence of messages
// is open, within which PostgreSQL does not limit it either.
func (c *conn) limitIdle() {
	if c.limits == nil || c.began || c.skip || !c.idleEnd.IsZero() {
		return
	}
	d := c.limits.IdleLimit()
	if d <= 0 {
		return
	}
	c.idleEnd = time.Now().Add(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.terminating && !c.poked { // else the read is to end at once
		c.nc.SetReadDeadline(c.idleEnd)
	}
}

// idleError is the error of a client that was silent for too long.
func (c *conn) idleError() error {
	if c.sess.TxStatus() != 'I' {
		return errIdleInBlock
	}
	return errIdle
}

// startLimit begins the time of a statement. Each of the protocol's messages that
// work on one is such a statement, and each statement of a Query, but not the time in
// which the client is awaited.
func (c *conn) startLimit() {
	if c.limits == nil {
		return
	}
	d := c.limits.StatementLimit()
	if d <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if context.Cause(c.query) == ErrStatementTimeout {
		c.renewQuery() // that of the statement before was over just when it was done
	}
	c.turn++
	turn := c.turn
	c.limit = time.AfterFunc(d, func() { c.timeUp(turn) })
}

// stopLimit ends the time of a statement.
func (c *conn) stopLimit() {
	if c.limit == nil {
		return
	}
	c.limit.Stop()
	c.limit = nil
	c.mu.Lock()
	c.turn++
	c.mu.Unlock()
}

// timeUp cancels the statement with the number turn, if it still runs.
func (c *conn) timeUp(turn uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if turn == c.turn {
		c.cancelQuery(ErrStatementTimeout)
	}
}
