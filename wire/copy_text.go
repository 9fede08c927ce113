package wire

import (
	"bytes"

	"github.com/streamdb/streamdb/pgerr"
)

// textCopy reads COPY's text format. Lines end in \n, \r or \r\n; a backslash
// before a line end makes it part of the value.
type textCopy struct {
	rows  *copyRows
	rest  []byte // an unfinished line
	field []byte // scratch for unescaping
	begun bool   // the header was dealt with
	ended bool   // \. was seen
	eol   string // the input's line end, from its first line
}

func (t *textCopy) feed(b []byte) error {
	if t.ended {
		return nil
	}
	if len(t.rest) > 0 {
		t.rest = append(t.rest, b...)
		b = t.rest
	}
	n, err := t.lines(b, false)
	if err != nil {
		return err
	}
	t.rest = append(t.rest[:0], b[n:]...)
	return nil
}

func (t *textCopy) finish() error {
	if t.ended {
		return nil
	}
	n, err := t.lines(t.rest, true)
	if err != nil || n >= len(t.rest) || t.ended {
		return err
	}
	return t.line(t.rest[n:])
}

// lines takes the complete lines of b and returns how many bytes they are.
func (t *textCopy) lines(b []byte, last bool) (n int, err error) {
	for !t.ended {
		end, next, err := t.lineEnd(b[n:], last)
		if err != nil || end < 0 {
			return n, err
		}
		if err := t.line(b[n : n+end]); err != nil {
			return n, err
		}
		n += next
	}
	return len(b), nil
}

// lineEnd finds the end of the first line of b and the start of the next; -1 if
// it is not in b. The first line decides which line end the input has.
func (t *textCopy) lineEnd(b []byte, last bool) (end, next int, err error) {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '\n':
			if t.eol == "" {
				t.eol = "\n"
			}
			if t.eol != "\n" {
				return 0, 0, t.strayEnd("newline", `\n`)
			}
			return i, i + 1, nil
		case '\r':
			if t.eol == "\n" {
				return 0, 0, t.strayEnd("carriage return", `\r`)
			}
			if i+1 == len(b) && !last && t.eol != "\r" {
				return -1, 0, nil // \n may follow
			}
			pair := i+1 < len(b) && b[i+1] == '\n'
			if t.eol == "" {
				t.eol = "\r"
				if pair {
					t.eol = "\r\n"
				}
			}
			if t.eol == "\r" {
				return i, i + 1, nil
			}
			if !pair {
				return 0, 0, t.strayEnd("carriage return", `\r`)
			}
			return i, i + 2, nil
		}
	}
	return -1, 0, nil
}

func (t *textCopy) strayEnd(what, escape string) error {
	t.rows.line++
	return pgerr.New(pgerr.BadCopyFileFormat, "literal %s found in data", what).
		WithHint("Use \"%s\" to represent %s.", escape, what)
}

func (t *textCopy) line(b []byte) error {
	r := t.rows
	r.line++
	if len(b) == 2 && b[0] == '\\' && b[1] == '.' {
		t.ended = true
		return nil
	}
	f := &r.cp.Format
	if !t.begun {
		t.begun = true
		if f.Header {
			return r.header(t.names(b))
		}
	}
	n := len(r.cp.Columns)
	rest, more := b, n > 0
	for k := range n {
		if !more {
			return r.missing(k, b)
		}
		var fld []byte
		fld, rest, more = cutField(rest, f.Delimiter)
		if string(fld) == f.Null {
			fld = nil
		} else {
			t.field = t.unescape(t.field[:0], fld)
			fld = t.field
		}
		if err := r.text(k, fld); err != nil {
			return err
		}
	}
	if more || n == 0 && len(b) > 0 {
		return r.extra(b)
	}
	return r.endRow()
}

func (t *textCopy) names(b []byte) (out []string) {
	for more := true; more; {
		var f []byte
		f, b, more = cutField(b, t.rows.cp.Format.Delimiter)
		out = append(out, string(t.unescape(nil, f)))
	}
	return out
}

// cutField splits at the first delimiter without a backslash before it.
func cutField(b []byte, delim byte) (field, rest []byte, more bool) {
	if i := bytes.IndexByte(b, delim); i < 0 || bytes.IndexByte(b[:i], '\\') < 0 {
		if i < 0 {
			return b, nil, false
		}
		return b[:i], b[i+1:], true
	}
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' {
			i++
		} else if b[i] == delim {
			return b[:i], b[i+1:], true
		}
	}
	return b, nil, false
}

// unescape appends a field without its backslashes; never nil.
func (t *textCopy) unescape(dst, b []byte) []byte {
	if dst == nil {
		dst = []byte{}
	}
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			dst = append(dst, b[i])
			continue
		}
		i++
		switch ch := b[i]; ch {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'v':
			dst = append(dst, '\v')
		case 'x':
			v, n := digits(b[i+1:], 16, 2)
			if n == 0 {
				dst = append(dst, 'x')
				continue
			}
			dst = append(dst, v)
			i += n
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := digits(b[i:], 8, 3)
			dst = append(dst, v)
			i += n - 1
		default:
			dst = append(dst, ch)
		}
	}
	return dst
}

// digits reads up to n digits of a base.
func digits(b []byte, base, n int) (v byte, read int) {
	for read < n && read < len(b) {
		d := 99
		switch x := b[read]; {
		case x >= '0' && x <= '9':
			d = int(x - '0')
		case x >= 'a' && x <= 'f':
			d = int(x-'a') + 10
		case x >= 'A' && x <= 'F':
			d = int(x-'A') + 10
		}
		if d >= base {
			break
		}
		v = v*byte(base) + byte(d)
		read++
	}
	return v, read
}

// csvCopy reads COPY's CSV format. Quoted values may hold line ends.
type csvCopy struct {
	rows   *copyRows
	rest   []byte
	begun  bool
	ended  bool
	fields [][]byte // of the current record; slices of buf
	quoted []bool
	ends   []int
	buf    []byte
}

func (t *csvCopy) feed(b []byte) error {
	if len(t.rest) > 0 {
		t.rest = append(t.rest, b...)
		b = t.rest
	}
	n, err := t.records(b, false)
	if err != nil {
		return err
	}
	t.rest = append(t.rest[:0], b[n:]...)
	return nil
}

func (t *csvCopy) finish() error {
	_, err := t.records(t.rest, true)
	return err
}

func (t *csvCopy) records(b []byte, last bool) (n int, err error) {
	for n < len(b) && !t.ended {
		size, lines, open := t.scan(b[n:], last)
		if open && last {
			t.rows.line++
			return n, pgerr.New(pgerr.BadCopyFileFormat, "unterminated CSV quoted field")
		}
		if size < 0 {
			return n, nil
		}
		t.rows.line++
		if err := t.record(b[n : n+size]); err != nil {
			return n, err
		}
		t.rows.line += lines
		n += size
	}
	if t.ended {
		return len(b), nil
	}
	return n, nil
}

// scan splits the first record of b into fields and returns its size with the
// line end; -1 if its end is not in b. lines counts line ends inside quotes.
func (t *csvCopy) scan(b []byte, last bool) (size int, lines int64, open bool) {
	f := &t.rows.cp.Format
	t.buf, t.ends, t.quoted = t.buf[:0], t.ends[:0], t.quoted[:0]
	in, wasQuoted := false, false
	endField := func() {
		t.ends, t.quoted = append(t.ends, len(t.buf)), append(t.quoted, wasQuoted)
		wasQuoted = false
	}
	for i := 0; i < len(b); i++ {
		x := b[i]
		switch {
		case in && x == f.Escape && (i+1 < len(b) && (b[i+1] == f.Quote || b[i+1] == f.Escape)):
			i++
			t.buf = append(t.buf, b[i])
		case in && x == f.Escape && i+1 == len(b) && !last:
			return -1, 0, false // what it escapes is still to come
		case x == f.Quote:
			in = !in
			wasQuoted = true
		case in:
			if x == '\n' {
				lines++
			}
			t.buf = append(t.buf, x)
		case x == f.Delimiter:
			endField()
		case x == '\n':
			endField()
			return i + 1, lines, false
		case x == '\r':
			if i+1 == len(b) && !last {
				return -1, 0, false
			}
			endField()
			if i+1 < len(b) && b[i+1] == '\n' {
				i++
			}
			return i + 1, lines, false
		default:
			t.buf = append(t.buf, x)
		}
	}
	if in || !last {
		return -1, 0, in
	}
	endField()
	return len(b), lines, false
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
			names := make([]string, len(t.fields))
			for i, b := range t.fields {
				names[i] = string(b)
			}
			return r.header(names)
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
