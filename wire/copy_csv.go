package wire

import (
	"bytes"

	"github.com/streamdb/streamdb/pgerr"
)

// csvCopy reads COPY's CSV format. Quoted values may hold line ends.
type csvCopy struct {
	rows   *copyRows
	eol    lineEnds
	rest   []byte
	begun  bool
	ended  bool
	fields [][]byte // of the current record; slices of buf
	quoted []bool
	ends   []int
	buf    []byte
	// Where scan goes on in the record that rest begins with.
	pos           int
	in, wasQuoted bool
	lines         int64
}

func (t *csvCopy) feed(b []byte) error {
	if len(t.rest) > 0 {
		t.rest = append(t.rest, b...)
		b = t.rest
	}
	n, err := t.records(b, false)
	if err == nil {
		t.rest = keep(t.rest, b, n)
	}
	return err
}

func (t *csvCopy) finish() error {
	_, err := t.records(t.rest, true)
	return err
}

func (t *csvCopy) records(b []byte, last bool) (n int, err error) {
	for n < len(b) && !t.ended {
		size, err := t.scan(b[n:], last)
		if err != nil {
			return n, err
		}
		if t.in && last {
			t.rows.line++
			t.rows.quote(b[n:])
			return n, pgerr.New(pgerr.BadCopyFileFormat, "unterminated CSV quoted field")
		}
		if size < 0 {
			return n, nil
		}
		t.rows.line++
		if err := t.record(b[n : n+size]); err != nil {
			return n, err
		}
		t.rows.line += t.lines
		t.next()
		n += size
	}
	if t.ended {
		return len(b), nil
	}
	return n, nil
}

// scan splits the first record of b into fields and returns its size with the
// line end; -1 if its end is not in b: the next call goes on from there.
func (t *csvCopy) scan(b []byte, last bool) (size int, err error) {
	f := &t.rows.cp.Format
	for ; t.pos < len(b); t.pos++ {
		i, x := t.pos, b[t.pos]
		switch {
		case t.in && x == f.Escape && i+1 < len(b) && (b[i+1] == f.Quote || b[i+1] == f.Escape):
			t.pos++
			t.buf = append(t.buf, b[t.pos])
		case t.in && x == f.Escape && i+1 == len(b) && !last:
			return -1, nil // what it escapes is still to come
		case x == f.Quote:
			t.in = !t.in
			t.wasQuoted = true
		case t.in:
			if x == '\n' && t.eol.eol == "\n" || x == '\r' && t.eol.eol != "\n" {
				t.lines++
			}
			t.buf = append(t.buf, x)
		case x == f.Delimiter:
			t.endField()
		case x == '\n' || x == '\r':
			n, err := t.eol.at(b, i, last)
			if err != nil || n == 0 {
				return -1, err
			}
			t.endField()
			return i + n, nil
		default:
			t.buf = append(t.buf, x)
		}
	}
	if t.in || !last {
		return -1, nil
	}
	t.endField()
	return len(b), nil
}

func (t *csvCopy) endField() {
	t.ends, t.quoted = append(t.ends, len(t.buf)), append(t.quoted, t.wasQuoted)
	t.wasQuoted = false
}

// next makes scan begin a record.
func (t *csvCopy) next() {
	t.buf, t.ends, t.quoted = t.buf[:0], t.ends[:0], t.quoted[:0]
	t.pos, t.in, t.wasQuoted, t.lines = 0, false, false, 0
}

func (t *csvCopy) record(line []byte) error {
	r, f := t.rows, &t.rows.cp.Format
	line = bytes.TrimRight(line, "\r\n")
	if string(line) == `\.` {
		t.ended = true
		return nil
	}
	t.fields = t.fields[:0]
	from := 0
	for _, end := range t.ends {
		t.fields = append(t.fields, t.buf[from:end:end])
		from = end
	}
	if !t.begun {
		t.begun = true
		if f.Header {
			names := make([][]byte, len(t.fields))
			for i, b := range t.fields {
				if names[i] = b; string(b) == f.Null && !t.quoted[i] {
					names[i] = nil
				} else if b == nil {
					names[i] = []byte{}
				}
			}
			return r.header(line, names)
		}
	}
	n := len(r.cp.Columns)
	if len(t.fields) > n && !(n == 0 && len(line) == 0) {
		return r.extra(line)
	}
	for k := range n {
		if k >= len(t.fields) {
			return r.missing(k, line)
		}
		fld := t.fields[k]
		null := string(fld) == f.Null &&
			(!t.quoted[k] && !(f.ForceNotNull != nil && f.ForceNotNull[k]) || t.quoted[k] && f.ForceNull != nil && f.ForceNull[k])
		if null {
			fld = nil
		} else if fld == nil {
			fld = []byte{}
		}
		if err := r.text(k, fld); err != nil {
			return err
		}
	}
	return r.endRow()
}
