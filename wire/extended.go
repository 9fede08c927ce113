package wire

import (
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// extended reports the error of a message of the extended protocol: from now
// on everything is discarded until Sync.
func (c *conn) extended(err error) {
	if err == nil || c.broken != nil {
		return
	}
	c.fail(err)
	c.skip = true
	// The Flush that a client may have sent after the message is among what is
	// discarded, and without a Sync the client would wait for ever.
	c.flush()
}

// extendedMessage answers a message that works on a statement.
func (c *conn) extendedMessage(msg pgproto3.FrontendMessage) error {
	switch m := msg.(type) {
	case *pgproto3.Parse:
		return c.parse(m)
	case *pgproto3.Bind:
		return c.bind(m)
	case *pgproto3.Describe:
		return c.describe(m)
	default:
		return c.execute(m.(*pgproto3.Execute))
	}
}

// enter opens the implicit transaction that ends with the next Sync.
func (c *conn) enter() {
	c.sess.Begin(false)
	c.began = true
}

var errAborted = pgerr.New(pgerr.InFailedSQLTransaction,
	"current transaction is aborted, commands ignored until end of transaction block")

func (c *conn) parse(m *pgproto3.Parse) error {
	c.enter()
	if m.Name == "" {
		c.dropUnnamed()
	} else if _, err := c.stmts.Get(m.Name); err == nil {
		return pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement \"%s\" already exists", m.Name)
	}
	text, err := c.client.text(m.Query)
	if err != nil {
		return err
	}
	parsed, err := c.sess.Parse(c.query, text)
	if err != nil {
		return err
	}
	if len(parsed) > 1 {
		return pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	st := &NamedStatement{Name: m.Name, Text: text, At: time.Now()}
	if len(parsed) == 1 {
		if st.Prepared, err = c.sess.Prepare(c.query, parsed[0], m.ParameterOIDs); err != nil {
			return err
		}
	}
	if m.Name == "" {
		c.unnamed = st
	} else if err := c.stmts.Put(st); err != nil {
		st.close()
		return err
	}
	c.parseComplete()
	return nil
}

func (c *conn) dropUnnamed() {
	if c.unnamed != nil {
		c.unnamed.close()
		c.unnamed = nil
	}
}

func (c *conn) statement(name string) (*NamedStatement, error) {
	if name != "" {
		return c.stmts.Get(name)
	}
	if c.unnamed == nil {
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	}
	return c.unnamed, nil
}

func (c *conn) bind(m *pgproto3.Bind) error {
	c.enter()
	st, err := c.statement(m.PreparedStatement)
	if err != nil {
		return err
	}
	var params []types.T
	if st.Prepared != nil {
		params = st.Prepared.Params()
	} else if c.sess.TxStatus() == 'E' {
		return errAborted
	}
	args, err := c.decodeArgs(m, params)
	if err != nil {
		return err
	}
	if m.DestinationPortal == "" {
		c.closePortal("")
	} else if c.portals[m.DestinationPortal] != nil {
		return pgerr.New(pgerr.DuplicateCursor, "cursor \"%s\" already exists", m.DestinationPortal)
	}
	var bound Portal
	if st.Prepared != nil {
		if bound, err = st.Prepared.Bind(c.query, args); err != nil {
			return err
		}
	}
	p := newPortal(m.DestinationPortal, bound, m.ResultFormatCodes)
	if err := c.checkFormats(p); err != nil {
		p.close()
		return err
	}
	c.portals[p.name] = p
	c.bindComplete()
	return nil
}

// decodeArgs turns a Bind's parameters into datums of the statement's types.
func (c *conn) decodeArgs(m *pgproto3.Bind, params []types.T) ([]types.Datum, error) {
	codes := m.ParameterFormatCodes
	if len(codes) > 1 && len(codes) != len(m.Parameters) {
		return nil, pgerr.New(pgerr.ProtocolViolation, "bind message has %d parameter formats but %d parameters",
			len(codes), len(m.Parameters))
	}
	if len(m.Parameters) != len(params) {
		return nil, pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement \"%s\" requires %d",
			len(m.Parameters), m.PreparedStatement, len(params))
	}
	if len(params) == 0 {
		return nil, nil
	}
	args := make([]types.Datum, len(params))
	opts := c.sess.Options()
	for i, b := range m.Parameters {
		if b == nil {
			continue
		}
		var err error
		if args[i], err = c.decodeArg(params[i], formatAt(codes, i), b, i+1, opts); err != nil {
			return nil, err
		}
	}
	return args, nil
}

func (c *conn) decodeArg(t types.T, format int16, b []byte, n int, opts *types.Options) (types.Datum, error) {
	switch format {
	case 0:
		return c.client.parse(t, 0, b, opts)
	case 1:
		if err := c.client.checkBinary(t); err != nil {
			return nil, err
		}
		d, err := c.client.parse(t, 1, b, opts)
		if e := pgerr.From(err); e != nil && e.Code == pgerr.InvalidBinaryRepresentation {
			return nil, pgerr.New(e.Code, "incorrect binary data format in bind parameter %d", n).
				WithDetail("The parameter has type %s: %s.", t, e.Msg)
		}
		return d, err
	}
	return nil, errFormat(format)
}

func errFormat(f int16) error {
	return pgerr.New(pgerr.InvalidParameterValue, "unsupported format code: %d", f)
}

func (c *conn) describe(m *pgproto3.Describe) error {
	c.enter()
	var cols []Column
	var formats []int16
	switch m.ObjectType {
	case 'S':
		st, err := c.statement(m.Name)
		if err != nil {
			return err
		}
		var params []types.T
		if st.Prepared != nil {
			cols, params = st.Prepared.Columns(), st.Prepared.Params()
		}
		if cols != nil && c.sess.TxStatus() == 'E' {
			return errAborted
		}
		oids := make([]uint32, len(params))
		for i, t := range params {
			oids[i] = t.OID()
		}
		c.send(&pgproto3.ParameterDescription{ParameterOIDs: oids})
	case 'P':
		p, err := c.portal(m.Name)
		if h, ok := c.sess.(CursorHolder); ok && err != nil {
			if cols, ok := h.CursorColumns(m.Name); ok {
				c.rowDescription(cols, nil)
				return nil
			}
		}
		if err != nil {
			return err
		}
		if p.cols != nil && c.sess.TxStatus() == 'E' {
			return errAborted
		}
		if p.p == nil || p.p.Copy() == nil {
			cols, formats = p.cols, p.formats
		}
	default:
		return pgerr.New(pgerr.ProtocolViolation, "invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	if cols == nil {
		c.noData()
	} else {
		c.rowDescription(cols, formats)
	}
	return nil
}

func (c *conn) portal(name string) (*portal, error) {
	if p := c.portals[name]; p != nil {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, "portal \"%s\" does not exist", name)
}

func (c *conn) execute(m *pgproto3.Execute) error {
	c.enter()
	p, err := c.portal(m.Portal)
	if err != nil {
		return err
	}
	if p.p == nil {
		c.emptyQuery()
		return nil
	}
	limit := int64(int32(m.MaxRows))
	if p.cols == nil || limit < 0 {
		limit = 0
	}
	if p.done && c.sess.TxStatus() == 'E' {
		return errAborted
	}
	if p.done && p.cols == nil || p.failed {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "portal \"%s\" cannot be run", m.Portal)
	}
	n, done, err := c.run(p, limit)
	if err != nil {
		p.failed = true
		return err
	}
	if !done {
		c.portalSuspended()
		return nil
	}
	c.commandComplete(p.p.Tag(n))
	return nil
}

// closeNamed answers Close; what doesn't exist is closed already.
func (c *conn) closeNamed(m *pgproto3.Close) {
	switch {
	case m.ObjectType == 'P':
		c.closePortal(m.Name)
	case m.ObjectType != 'S':
		c.extended(pgerr.New(pgerr.ProtocolViolation, "invalid CLOSE message subtype %d", m.ObjectType))
		return
	case m.Name == "":
		c.dropUnnamed()
	default:
		c.stmts.Delete(m.Name)
	}
	c.closeComplete()
}

func (c *conn) closePortal(name string) {
	if p := c.portals[name]; p != nil {
		delete(c.portals, name)
		p.close()
	}
}
