package wire

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
)

// dispatch answers one message. Only errors that end the connection are
// returned; the others are reported to the client here.
func (c *conn) dispatch(msg pgproto3.FrontendMessage) error {
	if c.skip {
		if _, ok := msg.(*pgproto3.Sync); !ok {
			return nil
		}
	}
	switch m := msg.(type) {
	case *pgproto3.Query:
		return c.simpleQuery(m.String)
	case *pgproto3.Parse, *pgproto3.Bind, *pgproto3.Describe, *pgproto3.Execute:
		c.startLimit()
		err := c.extendedMessage(m)
		c.stopLimit()
		c.extended(err)
	case *pgproto3.Close:
		c.closeNamed(m)
	case *pgproto3.Flush:
		return c.flush()
	case *pgproto3.Sync:
		return c.syncMessage()
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		// A client that has not noticed yet that its COPY failed.
	case *pgproto3.FunctionCall:
		c.fail(pgerr.Unsupported("the function call protocol", "Call functions with SELECT."))
		return c.ready()
	default:
		return pgerr.New(pgerr.ProtocolViolation, "unexpected message from the client")
	}
	return c.flushFull()
}

// isFraming reports whether an error of reading leaves the place of the next
// message unknown.
func isFraming(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "unknown message type") || strings.HasPrefix(s, "invalid message length")
}

// causeOf is context.Cause, with 57014 where the cause is the bare context
// error.
func causeOf(ctx context.Context) error {
	if e := pgerr.From(context.Cause(ctx)); e.Code != pgerr.Internal {
		return e
	}
	return errCanceled
}

// simpleQuery runs the statements of a Query. They are parsed together before
// any runs, and analysed one by one, as each may depend on those before.
func (c *conn) simpleQuery(text string) error {
	c.dropUnnamed()
	c.closePortal("")
	err := c.runQuery(text)
	c.stopLimit()
	if err != nil {
		if c.broken != nil {
			return c.broken
		}
		c.fail(err)
		c.began = true
		c.sync()
	}
	if c.isTerminating() {
		return errShutdown
	}
	return c.ready()
}

func (c *conn) runQuery(text string) error {
	text, err := c.client.text(text)
	if err != nil {
		return err
	}
	if c.quick != nil && !c.began {
		if bound := c.quick.Quick(text); bound != nil {
			c.sess.Begin(true)
			c.began = true
			c.startLimit()
			return c.runBound(bound, true)
		}
	}
	stmts, err := c.sess.Parse(c.query, text)
	if err != nil {
		return err
	}
	if len(stmts) == 0 {
		c.emptyQuery()
		if c.began {
			return c.sync()
		}
		return nil
	}
	alone := len(stmts) == 1 && !c.began
	for i, st := range stmts {
		c.sess.Begin(alone)
		c.began = true
		c.stopLimit()
		c.startLimit()
		if err := c.runSimple(st, i == len(stmts)-1); err != nil {
			return err
		}
	}
	return nil
}

// runSimple runs one statement of a Query. The last one is complete only when
// its implicit transaction has committed.
func (c *conn) runSimple(st Statement, last bool) error {
	prep, err := c.sess.Prepare(c.query, st, nil)
	if err != nil {
		return err
	}
	defer prep.Close()
	if len(prep.Params()) > 0 {
		return pgerr.New(pgerr.UndefinedParameter, "there is no parameter $1")
	}
	bound, err := prep.Bind(c.query, nil)
	if err != nil {
		return err
	}
	return c.runBound(bound, last)
}

// runBound runs a portal of the simple protocol.
func (c *conn) runBound(bound Portal, last bool) error {
	p := &c.simple
	p.reset(bound)
	defer p.close()
	if p.cols != nil && bound.Copy() == nil {
		c.rowDescription(p.cols, nil)
	}
	n, _, err := c.run(p, 0)
	if err != nil {
		return err
	}
	tag := bound.Tag(n)
	p.close()
	if last {
		if err := c.sync(); err != nil {
			return err
		}
	}
	c.commandComplete(tag)
	return c.flushFull()
}

// sync ends the implicit transaction.
func (c *conn) sync() error {
	c.began = false
	c.lost.start()
	defer c.lost.stop()
	return c.sess.Sync(c.query)
}

func (c *conn) syncMessage() error {
	c.skip = false
	if c.began {
		c.startLimit()
		err := c.sync()
		c.stopLimit()
		if err != nil {
			c.fail(err)
		}
	}
	if c.isTerminating() {
		return errShutdown
	}
	return c.ready()
}

var errZeroByte = pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)

// checkText refuses what is not UTF-8: nothing behind the wire has to expect it.
func checkText(s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return errNotUTF8(s[i:])
			}
		}
	}
	return nil
}

// errNotUTF8 shows the bytes that the first one announces.
func errNotUTF8(s string) error {
	n := 1
	switch b := s[0]; {
	case b >= 0xf0 && b < 0xf8:
		n = 4
	case b >= 0xe0 && b < 0xf0:
		n = 3
	case b >= 0xc0 && b < 0xe0:
		n = 2
	}
	const hex = "0123456789abcdef"
	var shown []byte
	for i := 0; i < min(n, len(s)); i++ {
		if i > 0 {
			shown = append(shown, ' ')
		}
		shown = append(shown, '0', 'x', hex[s[i]>>4], hex[s[i]&15])
	}
	return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`, shown)
}
