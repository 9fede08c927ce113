package wire

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
)

// conn is one client's connection. Its goroutine owns everything but what mu
// guards.
type conn struct {
	srv *Server
	nc  net.Conn
	br  *bufio.Reader
	be  *pgproto3.Backend // reads messages only
	out []byte            // messages not yet written
	key uint32            // the secret of cancel requests
	pid int32
	tls bool

	admitted bool
	sess     Session
	quick    Quick   // sess, if it is one
	limits   Limiter // likewise
	stmts    Statements
	unnamed  *NamedStatement
	portals  map[string]*portal
	simple   portal // of the simple protocol; its memory is reused
	client   transcoder

	began   bool // Session.Begin was called since the last Sync
	skip    bool // an error was sent: discard until Sync
	txEnded bool // portals are to be closed after this message
	broken  error
	idleEnd time.Time   // until when the awaited message may come; zero: no limit
	limit   *time.Timer // of the statement that runs; nil: none

	ctx  context.Context // done when the connection is over
	end  context.CancelCauseFunc
	lost watch

	mu          sync.Mutex
	query       context.Context // the context of calls; replaced when canceled
	cancelQuery context.CancelCauseFunc
	busy        bool
	terminating bool
	notes       []*pgproto3.NotificationResponse // to be sent
	poked       bool                             // a read was ended for them
	turn        uint64                           // counts the statements with a limit
}

var _ Client = (*conn)(nil)

var (
	errCanceled = pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	errShutdown = pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command")
	errLost     = pgerr.New(pgerr.ConnectionException, "connection to client lost")
)

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, portals: map[string]*portal{}}
	var key [4]byte
	rand.Read(key[:])
	c.key = binary.BigEndian.Uint32(key[:])
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.setTransport(nc)
	c.lost.init(c)
	return c
}

// setTransport makes nc the transport; a second call puts TLS on top.
func (c *conn) setTransport(nc net.Conn) {
	c.mu.Lock()
	c.nc = nc
	c.mu.Unlock()
	c.br = bufio.NewReaderSize(nc, 8<<10)
	c.be = pgproto3.NewBackend(c.br, io.Discard)
	c.be.SetMaxBodyLen(c.srv.cfg.MaxMessage)
}

// serve is the connection's goroutine.
func (c *conn) serve() {
	defer c.nc.Close()
	defer c.end(errLost)
	defer func() {
		if r := recover(); r != nil {
			c.panicked(r)
		}
		c.closeSession()
	}()
	ok, err := c.startup()
	if err == nil && ok {
		err = c.loop()
	}
	if err != nil && !errors.Is(err, errGone) {
		c.fatal(err)
	}
}

func (c *conn) panicked(r any) {
	c.srv.cfg.Log.Error("panic in a session", "pid", c.pid, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	c.fatal(pgerr.New(pgerr.Internal, "internal error; the connection is closed").
		WithHint("The server's log has the details. Other connections are not affected."))
}

func (c *conn) fatal(err error) {
	if isTransport(err) {
		return
	}
	c.sendError("FATAL", err)
	c.nc.SetWriteDeadline(time.Now().Add(5 * time.Second))
	c.flush()
}

// isTransport reports whether err is the connection's own: nobody would read
// an answer.
func isTransport(err error) bool {
	var ne net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &ne)
}

func (c *conn) closeSession() {
	defer func() {
		if r := recover(); r != nil {
			c.srv.cfg.Log.Error("panic while a session closed", "pid", c.pid, "panic", fmt.Sprint(r),
				"stack", string(debug.Stack()))
		}
	}()
	for name := range c.portals {
		c.closePortal(name)
	}
	c.stmts.Clear()
	c.dropUnnamed()
	if c.sess != nil {
		s := c.sess
		c.sess = nil
		s.Close()
	}
}

// loop reads and answers messages until the client leaves.
func (c *conn) loop() error {
	for {
		if c.isTerminating() {
			return errShutdown
		}
		if c.sendNotes() {
			if err := c.flush(); err != nil {
				return err
			}
		}
		c.limitIdle()
		msg, err := c.be.Receive()
		if err != nil {
			if err = c.receiveError(err); err != nil {
				return err
			}
			continue
		}
		if _, ok := msg.(*pgproto3.Terminate); ok {
			return nil
		}
		if err := c.handle(msg); err != nil {
			return err
		}
	}
}

func (c *conn) handle(msg pgproto3.FrontendMessage) error {
	c.begin()
	defer c.idle()
	if err := c.dispatch(msg); err != nil {
		return err
	}
	if c.txEnded {
		c.txEnded = false
		for name := range c.portals {
			c.closePortal(name)
		}
	}
	return c.broken
}

// receiveError sorts out an error of reading a message. A well-framed message
// with a bad body is an ordinary error; anything else ends the connection.
func (c *conn) receiveError(err error) error {
	var tooBig *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &tooBig):
		return pgerr.New(pgerr.ProtocolViolation, "message of %d bytes exceeds the limit of %d bytes",
			tooBig.ActualBodyLen, tooBig.MaxExpectedBodyLen)
	case errors.Is(err, os.ErrDeadlineExceeded):
		if c.isTerminating() {
			return errShutdown
		}
		if c.woken() {
			return nil
		}
		return c.idleError()
	case isTransport(err):
		return errGone
	case isFraming(err):
		return pgerr.Wrap(err, pgerr.ProtocolViolation, "%v", err)
	}
	if !c.skip {
		c.fail(pgerr.Wrap(err, pgerr.ProtocolViolation, "invalid message format"))
		c.skip = true
	}
	return nil
}

// begin marks the connection busy and makes query the context of calls to the
// session. It costs nothing unless the last one was canceled.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.query == nil || c.query.Err() != nil && c.ctx.Err() == nil {
		c.renewQuery()
	}
	if c.poked || !c.idleEnd.IsZero() { // a poke may have come just behind the message
		c.poked, c.idleEnd = false, time.Time{}
		if !c.terminating {
			c.nc.SetReadDeadline(time.Time{})
		}
	}
	c.busy = true
}

// renewQuery makes a new context of calls; mu is held.
func (c *conn) renewQuery() { c.query, c.cancelQuery = context.WithCancelCause(c.ctx) }

func (c *conn) idle() {
	c.mu.Lock()
	c.busy = false
	c.mu.Unlock()
}

func (c *conn) isTerminating() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terminating
}

func (c *conn) PID() int32 { return c.pid }

func (c *conn) Statements() *Statements { return &c.stmts }

func (c *conn) TransactionEnded() { c.txEnded = true }

// Cancel makes the context of the running call done. Without a running one it
// does nothing, as PostgreSQL.
func (c *conn) Cancel() { c.cancelWith(errCanceled) }

func (c *conn) cancelWith(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy && c.cancelQuery != nil {
		c.cancelQuery(cause)
	}
}

// Terminate ends the connection: at once if it waits for its client, else after
// the running statement has noticed its canceled context.
func (c *conn) Terminate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.terminating = true
	if c.busy && c.cancelQuery != nil {
		c.cancelQuery(errShutdown)
	}
	c.nc.SetReadDeadline(time.Unix(1, 0))
}
