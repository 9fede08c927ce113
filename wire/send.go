package wire

import (
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
)

// flushAt is how many bytes are gathered before they are written although the
// client waits for more. A slow client blocks the write, and so the query.
const flushAt = 64 << 10

// send appends a message to the output buffer.
func (c *conn) send(m pgproto3.BackendMessage) {
	b, err := m.Encode(c.out)
	if err != nil {
		// Only a message beyond 1 GiB fails to encode.
		c.broken = pgerr.Wrap(err, pgerr.ProgramLimitExceeded, "message too large")
		return
	}
	c.out = b
}

// flush writes everything. An error means that the connection is over.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.nc.Write(c.out)
	c.out = c.out[:0]
	if cap(c.out) > 1<<20 {
		c.out = nil // one huge row must not hold its memory for ever
	}
	if err != nil {
		c.broken = errGone
		c.end(errLost)
		return errGone
	}
	return nil
}

func (c *conn) flushFull() error {
	if len(c.out) < flushAt {
		return nil
	}
	return c.flush()
}

// The messages of the hot path, without a detour by their structs.

func (c *conn) empty(typ byte) { c.out = append(c.out, typ, 0, 0, 0, 4) }

func (c *conn) parseComplete()   { c.empty('1') }
func (c *conn) bindComplete()    { c.empty('2') }
func (c *conn) closeComplete()   { c.empty('3') }
func (c *conn) noData()          { c.empty('n') }
func (c *conn) portalSuspended() { c.empty('s') }
func (c *conn) emptyQuery()      { c.empty('I') }
func (c *conn) copyDone()        { c.empty('c') }

func (c *conn) commandComplete(tag string) {
	c.out = append(c.out, 'C')
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(len(tag)+5))
	c.out = append(append(c.out, tag...), 0)
}

// ready sends ReadyForQuery and everything before it.
func (c *conn) ready() error {
	c.sendNotes()
	c.out = append(c.out, 'Z', 0, 0, 0, 5, c.sess.TxStatus())
	return c.flush()
}

func (c *conn) rowDescription(cols []Column, formats []int16) {
	at := len(c.out)
	b := append(c.out, 'T', 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(cols)))
	for i, col := range cols {
		b = append(append(b, c.client.message(col.Name)...), 0)
		b = binary.BigEndian.AppendUint32(b, col.TableOID)
		b = binary.BigEndian.AppendUint16(b, uint16(col.Attnum))
		t := col.Type.Underlying() // clients see what a domain is over
		b = binary.BigEndian.AppendUint32(b, t.OID())
		b = binary.BigEndian.AppendUint16(b, uint16(typlen(col)))
		b = binary.BigEndian.AppendUint32(b, uint32(t.Mod))
		b = binary.BigEndian.AppendUint16(b, uint16(formatAt(formats, i)))
	}
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-1))
	c.out = b
}

// formatAt applies the rule of Bind: no codes means text, one is for all.
func formatAt(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return 0
	case 1:
		return formats[0]
	}
	return formats[i]
}

// fail reports an error of the current message and fails the transaction.
func (c *conn) fail(err error) {
	if c.sess != nil {
		c.sess.Fail()
	}
	c.sendError("ERROR", c.blame(err))
}

// blame turns the error of a canceled context into the reason of canceling.
func (c *conn) blame(err error) error {
	if c.ctx.Err() != nil {
		return errLost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.query == nil || c.query.Err() == nil {
		return err
	}
	if _, ours := errors.AsType[*pgerr.Error](err); ours {
		return err
	}
	if errors.Is(err, c.query.Err()) {
		return causeOf(c.query)
	}
	return err
}

func (c *conn) sendError(severity string, err error) {
	e := pgerr.From(err)
	if e.Code == pgerr.Internal {
		c.srv.cfg.Log.Error("internal error", "pid", c.pid, "error", err)
	}
	r := c.response(severity, e)
	c.send(&r)
}

// response is an error or a notice in the client's character set.
func (c *conn) response(severity string, e *pgerr.Error) pgproto3.ErrorResponse {
	t := c.client.message
	return pgproto3.ErrorResponse{
		Severity: severity, SeverityUnlocalized: severity, Code: string(e.Code), Message: t(e.Msg),
		Detail: t(e.Detail), Hint: t(e.Hint), Position: int32(e.Pos), Where: t(e.Where), SchemaName: t(e.Schema),
		TableName: t(e.Table), ColumnName: t(e.Column), ConstraintName: t(e.Constraint), DataTypeName: t(e.DataType),
	}
}

// Notice implements Client.
func (c *conn) Notice(severity string, e *pgerr.Error) {
	r := pgproto3.NoticeResponse(c.response(severity, e))
	c.send(&r)
}

// ParameterStatus implements Client.
func (c *conn) ParameterStatus(name, value string) {
	if name == "client_encoding" {
		c.client.use(value)
	}
	c.send(&pgproto3.ParameterStatus{Name: name, Value: c.client.message(value)})
}
