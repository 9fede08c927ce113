package wire

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/charset"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// portal is a Portal with the place its client has read to.
type portal struct {
	name    string
	p       Portal // nil: of an empty statement
	cols    []Column
	formats []int16
	enc     []encoder // made at the first row, for the character set
	set     *charset.Set

	chunk  *vec.Chunk // being sent; owned by p
	row    int        // next row of chunk
	copies int64      // copies of that row already sent
	done   bool
	failed bool
	closed bool
}

func newPortal(name string, bound Portal, formats []int16) *portal {
	p := &portal{name: name, p: bound, formats: formats}
	if bound != nil {
		p.cols = bound.Columns()
	}
	return p
}

// reset makes p a new portal with text results, in the memory of the old.
func (p *portal) reset(bound Portal) {
	*p = portal{p: bound, cols: bound.Columns(), enc: p.enc[:0]}
}

func (p *portal) close() {
	if !p.closed && p.p != nil {
		p.closed = true
		p.p.Close()
	}
}

// checkFormats checks the formats that the client wants the columns in.
func (c *conn) checkFormats(p *portal) error {
	if p.cols == nil || len(p.formats) == 0 {
		return nil
	}
	if n := len(p.formats); n > 1 && n != len(p.cols) {
		return pgerr.New(pgerr.ProtocolViolation, "bind message has %d result formats but query has %d columns", n, len(p.cols))
	}
	for _, f := range p.formats {
		if f != 0 && f != 1 {
			return errFormat(f)
		}
	}
	for i, col := range p.cols {
		if formatAt(p.formats, i) == 1 {
			if err := c.client.checkBinary(col.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// run runs a portal for up to limit rows (0: all) and sends them. done tells
// that the portal is at its end, which is not looked for beyond the limit.
func (c *conn) run(p *portal, limit int64) (n int64, done bool, err error) {
	if cp := p.p.Copy(); cp != nil {
		if cp.Write != nil {
			n, err = c.copyIn(p, cp)
		} else {
			n, err = c.copyOut(p, cp)
		}
		return n, true, err
	}
	c.lost.start()
	defer c.lost.stop()
	if len(p.enc) == 0 || p.set != c.client.set {
		p.enc, p.set = p.enc[:0], c.client.set
		for i, col := range p.cols {
			p.enc = append(p.enc, c.client.encoder(col.Type, formatAt(p.formats, i)))
		}
	}
	for {
		ok, err := c.fetch(p)
		if err != nil || !ok {
			return n, true, err
		}
		opts := c.sess.Options()
		for p.row < p.chunk.Rows {
			if limit > 0 && n == limit {
				return n, false, nil
			}
			if err := c.dataRow(p, opts); err != nil {
				return n, false, err
			}
			n++
			if p.copies++; p.copies >= p.chunk.Weight(p.row) {
				p.row, p.copies = p.row+1, 0
			}
		}
		if limit > 0 && n == limit {
			return n, false, nil
		}
	}
}

// fetch makes p.chunk hold a row to send; false at the end.
func (c *conn) fetch(p *portal) (bool, error) {
	for p.chunk == nil || p.row >= p.chunk.Rows {
		if p.done {
			return false, nil
		}
		ch, err := p.p.Next(c.query)
		if err != nil {
			p.failed = true
			return false, err
		}
		if ch == nil {
			p.done, p.chunk = true, nil
			return false, nil
		}
		p.chunk, p.row, p.copies = ch, 0, 0
		if ch.Rows == 0 {
			if err := c.flush(); err != nil {
				return false, err
			}
		}
		if err := c.query.Err(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// dataRow appends the portal's next row to the output buffer.
func (c *conn) dataRow(p *portal, opts *types.Options) error {
	at := len(c.out)
	b := append(c.out, 'D', 0, 0, 0, 0, byte(len(p.enc)>>8), byte(len(p.enc)))
	for i, enc := range p.enc {
		b = appendField(b, enc, p.chunk.Cols[i], p.row, opts)
	}
	if err := c.client.failed(); err != nil {
		return err
	}
	size := len(b) - at - 1
	if size > maxRow {
		return pgerr.New(pgerr.ProgramLimitExceeded, "row of %d bytes is too large to be sent", size)
	}
	binary.BigEndian.PutUint32(b[at+1:], uint32(size))
	c.out = b
	return c.flushFull()
}

const maxRow = 1<<30 - 1

// appendField appends a value with its length before it; -1 for NULL.
func appendField(b []byte, enc encoder, v vec.Vector, i int, opts *types.Options) []byte {
	if v.IsNull(i) {
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	at := len(b)
	b = enc(append(b, 0, 0, 0, 0), v, i, opts)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}
