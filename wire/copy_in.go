package wire

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// copyReader turns the bytes of COPY FROM STDIN into chunks. feed gets them in
// pieces that end anywhere; finish says that no more come.
type copyReader interface {
	feed(b []byte) error
	finish() error
}

// copyIn runs a COPY FROM STDIN and returns the number of rows.
func (c *conn) copyIn(p *portal, cp *Copy) (int64, error) {
	format := byte(0)
	if cp.Format.Kind == CopyBinary {
		format = 1
	}
	codes := make([]uint16, len(cp.Columns))
	for i := range codes {
		codes[i] = uint16(format)
	}
	if format == 1 {
		from := c.copyTranscoder(cp)
		for _, col := range cp.Columns {
			if err := from.checkBinary(col.Type); err != nil {
				return 0, err
			}
		}
	}
	c.send(&pgproto3.CopyInResponse{OverallFormat: format, ColumnFormatCodes: codes})
	if err := c.flush(); err != nil {
		return 0, err
	}
	rows := newCopyRows(c, cp)
	if err := c.copyMessages(rows, copyReaderOf(rows)); err != nil {
		return 0, rows.blame(err)
	}
	if err := rows.flush(); err != nil {
		return 0, err
	}
	c.lost.start()
	defer c.lost.stop()
	p.done = true
	ch, err := p.p.Next(c.query)
	if err == nil && ch != nil {
		err = errors.New("rows from a COPY FROM")
	}
	return rows.n, err
}

func copyReaderOf(rows *copyRows) copyReader {
	var r copyReader
	switch rows.cp.Format.Kind {
	case CopyBinary:
		return &binaryCopy{rows: rows}
	case CopyCSV:
		r = &csvCopy{rows: rows, eol: lineEnds{rows: rows, unquoted: true}}
	default:
		r = &textCopy{rows: rows, ends: lineEnds{rows: rows}}
	}
	if rows.from.set != nil {
		return &recodedCopy{copyReader: r, from: &rows.from}
	}
	return r
}

// copyMessages feeds r with what the client sends until the copy's end.
func (c *conn) copyMessages(rows *copyRows, r copyReader) error {
	for {
		if err := c.query.Err(); err != nil {
			return causeOf(c.query)
		}
		msg, err := c.be.Receive()
		if err != nil {
			if c.isTerminating() {
				return errShutdown
			}
			c.broken = errGone
			return errLost
		}
		switch m := msg.(type) {
		case *pgproto3.CopyData:
			if err := r.feed(m.Data); err != nil {
				return err
			}
			if time.Since(rows.written) > copyPatience {
				if err := rows.flush(); err != nil {
					return err
				}
			}
		case *pgproto3.CopyDone:
			return r.finish()
		case *pgproto3.CopyFail:
			return pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: %s", m.Message)
		case *pgproto3.Flush, *pgproto3.Sync:
			// Clients that send Sync right after Execute mean the one after CopyDone.
		default:
			if _, bye := m.(*pgproto3.Terminate); bye {
				c.broken = errGone
			} else {
				c.broken = pgerr.New(pgerr.ProtocolViolation, "unexpected message during COPY from stdin")
			}
			return c.broken
		}
	}
}

// copyTranscoder converts the data of a COPY.
func (c *conn) copyTranscoder(cp *Copy) transcoder {
	var t transcoder
	if t.set = c.client.set; cp.Format.Encoding != "" {
		t.use(cp.Format.Encoding)
	}
	return t
}

// recodedCopy converts the input of a reader. A character may come in two pieces.
type recodedCopy struct {
	copyReader
	from *transcoder
	rest []byte
}

func (r *recodedCopy) feed(b []byte) error {
	if len(r.rest) > 0 {
		b = append(r.rest, b...)
	}
	n := r.from.set.Whole(b)
	text, err := r.from.toServer(b[:n])
	r.rest = append([]byte(nil), b[n:]...)
	return cmp.Or(r.copyReader.feed(text), err) // what comes before a bad character is read
}

func (r *recodedCopy) finish() error {
	if len(r.rest) > 0 {
		return r.from.set.Invalid(r.rest)
	}
	return r.copyReader.finish()
}

// copyPatience is how long rows are gathered before the engine sees them: a client
// that sends them slowly learns early what is wrong with one.
const copyPatience = 100 * time.Millisecond

// copyRows gathers decoded rows.
type copyRows struct {
	c    *conn
	cp   *Copy
	opts *types.Options
	out  *vec.Chunk
	from transcoder
	n    int64  // rows so far
	line int64  // of the input, from 1
	col  int    // being converted; -1: none
	val  string // its text, or the line's, for the context of an error
	show bool   // val is known

	written time.Time // when the engine got the last ones
}

func newCopyRows(c *conn, cp *Copy) *copyRows {
	ts := make([]types.T, len(cp.Columns))
	for i, col := range cp.Columns {
		ts[i] = col.Type
	}
	return &copyRows{c: c, cp: cp, opts: c.sess.Options(), out: vec.NewChunk(ts, vec.MaxRows), col: -1, written: time.Now(), from: c.copyTranscoder(cp)}
}

// text converts the field k of the current row; nil is NULL.
func (r *copyRows) text(k int, b []byte) error {
	v := r.out.Cols[k]
	if b == nil {
		v.AppendNull()
		return nil
	}
	r.col = k
	if err := appendText(v, b, r.opts); err != nil {
		if pgerr.CodeOf(err) == pgerr.CharacterNotInRepertoire {
			r.col = -1 // the text as a whole is bad
			return err
		}
		r.quote(b)
		return err
	}
	r.col = -1
	return nil
}

func (r *copyRows) endRow() error {
	r.out.AddWeight(1)
	r.n++
	if r.out.Rows < vec.MaxRows {
		return nil
	}
	return r.flush()
}

func (r *copyRows) flush() error {
	r.written = time.Now()
	if r.out.Rows == 0 {
		return nil
	}
	err := r.cp.Write(r.c.query, r.out)
	r.out.Reset()
	return err
}

// blame adds where in the input an error was found, as PostgreSQL's context.
func (r *copyRows) blame(err error) error {
	e, ok := errors.AsType[*pgerr.Error](err)
	if !ok || e.Where != "" || r.line == 0 {
		return err
	}
	w := *e
	at := "COPY " + r.cp.Table + ", line " + strconv.FormatInt(r.line, 10)
	if r.col >= 0 {
		at += ", column " + r.cp.Columns[r.col].Name
	}
	if r.show {
		at += `: "` + r.val + `"`
	}
	w.Where = at
	return &w
}

// quote keeps the start of a value or a line to be shown.
func (r *copyRows) quote(b []byte) {
	r.val, r.show = strings.ToValidUTF8(string(b[:min(len(b), 100)]), "?"), true
	if len(b) > 100 {
		r.val += "..."
	}
}

// missing and extra are the errors of a row with another number of fields than
// the table has columns.
func (r *copyRows) missing(k int, line []byte) error {
	r.quote(line)
	return pgerr.New(pgerr.BadCopyFileFormat, "missing data for column \"%s\"", r.cp.Columns[k].Name)
}

func (r *copyRows) extra(line []byte) error {
	r.quote(line)
	return pgerr.New(pgerr.BadCopyFileFormat, "extra data after last expected column")
}

// header checks the names of a header line; nil stands for NULL.
func (r *copyRows) header(line []byte, names [][]byte) error {
	if !r.cp.Format.HeaderMatch {
		return nil
	}
	r.quote(line)
	if len(names) != len(r.cp.Columns) {
		return pgerr.New(pgerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d",
			len(names), len(r.cp.Columns))
	}
	for k, n := range names {
		switch want := r.cp.Columns[k].Name; {
		case n == nil:
			return pgerr.New(pgerr.BadCopyFileFormat,
				"column name mismatch in header line field %d: got null value (\"%s\"), expected \"%s\"", k+1, r.cp.Format.Null, want)
		case string(n) != want:
			return pgerr.New(pgerr.BadCopyFileFormat,
				"column name mismatch in header line field %d: got \"%s\", expected \"%s\"", k+1, n, want)
		}
	}
	r.show = false
	return nil
}
