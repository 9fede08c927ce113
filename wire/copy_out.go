package wire

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/types"
)

// copySignature begins a binary COPY: the magic, no flags, no extension.
const copySignature = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyWriter formats the rows of COPY TO STDOUT.
type copyWriter struct {
	cp      *Copy
	enc     []encoder
	scratch []byte
	opts    *types.Options
	to      transcoder
	// prefix stands before the next row in its message: clients expect the
	// header and the first row together, as PostgreSQL sends them.
	prefix string
}

// copyOut runs a COPY TO STDOUT to its end and returns the number of rows.
func (c *conn) copyOut(p *portal, cp *Copy) (n int64, err error) {
	w := &copyWriter{cp: cp, opts: c.sess.Options(), to: c.copyTranscoder(cp)}
	format := int16(0)
	if cp.Format.Kind == CopyBinary {
		format = 1
	}
	codes := make([]uint16, len(cp.Columns))
	for i, col := range cp.Columns {
		codes[i] = uint16(format)
		if format == 0 { // lines are converted as a whole
			w.enc = append(w.enc, encoderOf(col.Type, format))
			continue
		}
		if err := w.to.checkBinary(col.Type); err != nil {
			return 0, err
		}
		w.enc = append(w.enc, w.to.encoder(col.Type, format))
	}
	c.send(&pgproto3.CopyOutResponse{OverallFormat: byte(format), ColumnFormatCodes: codes})
	c.lost.start()
	defer c.lost.stop()
	if cp.Format.Kind == CopyBinary {
		w.prefix = copySignature
	} else if cp.Format.Header {
		c.copyData(func(b []byte) []byte {
			at := len(b)
			return w.to.toClient(w.header(b), at)
		})
	}
	for {
		ok, err := c.fetch(p)
		if err != nil {
			return n, err
		}
		if !ok {
			break
		}
		for ; p.row < p.chunk.Rows; p.row++ {
			for range p.chunk.Weight(p.row) {
				c.copyRow(w, p)
				if err := w.to.failed(); err != nil {
					return n, err
				}
				n++
				if err := c.flushFull(); err != nil {
					return n, err
				}
			}
		}
	}
	if cp.Format.Kind == CopyBinary {
		c.copyData(func(b []byte) []byte { return append(append(b, w.prefix...), 0xff, 0xff) })
	}
	c.copyDone()
	return n, nil
}

// copyData appends a CopyData message whose body f appends.
func (c *conn) copyData(f func([]byte) []byte) {
	at := len(c.out)
	c.out = f(append(c.out, 'd', 0, 0, 0, 0))
	c.endCopyData(at)
}

func (c *conn) endCopyData(at int) {
	binary.BigEndian.PutUint32(c.out[at+1:], uint32(len(c.out)-at-1))
}

func (c *conn) copyRow(w *copyWriter, p *portal) {
	at := len(c.out)
	b := append(append(c.out, 'd', 0, 0, 0, 0), w.prefix...)
	w.prefix = ""
	switch w.cp.Format.Kind {
	case CopyBinary:
		b = binary.BigEndian.AppendUint16(b, uint16(len(w.enc)))
		for k, enc := range w.enc {
			b = appendField(b, enc, p.chunk.Cols[k], p.row, w.opts)
		}
	default:
		b = w.to.toClient(w.row(b, p), at+5)
	}
	c.out = b
	c.endCopyData(at)
}

// row appends a line of the text or CSV format.
func (w *copyWriter) row(b []byte, p *portal) []byte {
	f := &w.cp.Format
	for k, enc := range w.enc {
		if k > 0 {
			b = append(b, f.Delimiter)
		}
		v := p.chunk.Cols[k]
		if v.IsNull(p.row) {
			b = append(b, f.Null...)
			continue
		}
		w.scratch = enc(w.scratch[:0], v, p.row, w.opts)
		if f.Kind == CopyCSV {
			force := f.ForceQuote != nil && f.ForceQuote[k]
			b = appendCSV(b, w.scratch, f, force, len(w.enc) == 1)
		} else {
			b = appendEscaped(b, w.scratch, f.Delimiter)
		}
	}
	return append(b, '\n')
}

func (w *copyWriter) header(b []byte) []byte {
	f := &w.cp.Format
	for k, col := range w.cp.Columns {
		if k > 0 {
			b = append(b, f.Delimiter)
		}
		if f.Kind == CopyCSV {
			b = appendCSV(b, []byte(col.Name), f, false, len(w.cp.Columns) == 1)
		} else {
			b = appendEscaped(b, []byte(col.Name), f.Delimiter)
		}
	}
	return append(b, '\n')
}

// appendEscaped writes a value of the text format.
func appendEscaped(b, s []byte, delim byte) []byte {
	for _, x := range s {
		switch x {
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\v':
			b = append(b, '\\', 'v')
		case '\\', delim:
			b = append(b, '\\', x)
		default:
			b = append(b, x)
		}
	}
	return b
}

// appendCSV writes a value of the CSV format. A value that reads as NULL, and
// \. alone on a line, need quotes too.
func appendCSV(b, s []byte, f *CopyFormat, force, single bool) []byte {
	quote := force || string(s) == f.Null || single && string(s) == `\.`
	for _, x := range s {
		if x == f.Delimiter || x == f.Quote || x == '\n' || x == '\r' {
			quote = true
			break
		}
	}
	if !quote {
		return append(b, s...)
	}
	b = append(b, f.Quote)
	for _, x := range s {
		if x == f.Quote || x == f.Escape {
			b = append(b, f.Escape)
		}
		b = append(b, x)
	}
	return append(b, f.Quote)
}
