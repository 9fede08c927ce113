package wire

import (
	"bytes"

	"github.com/streamdb/streamdb/pgerr"
)

// lineEnds tells line ends from stray ones: the first line of an input decides
// whether it has \n, \r or \r\n.
type lineEnds struct {
	rows     *copyRows
	eol      string
	unquoted bool // CSV, for messages
}

// at returns the size of the line end that starts at b[i]: 0 if more bytes are
// needed to know.
func (e *lineEnds) at(b []byte, i int, last bool) (int, error) {
	if b[i] == '\n' {
		if e.eol == "" {
			e.eol = "\n"
		}
		if e.eol != "\n" {
			return 0, e.stray("newline", `\n`)
		}
		return 1, nil
	}
	if e.eol == "\n" {
		return 0, e.stray("carriage return", `\r`)
	}
	if e.eol != "\r" && i+1 == len(b) && !last {
		return 0, nil // \n may follow
	}
	pair := i+1 < len(b) && b[i+1] == '\n'
	if e.eol == "" {
		e.eol = "\r"
		if pair {
			e.eol = "\r\n"
		}
	}
	if e.eol == "\r" {
		return 1, nil
	}
	if !pair {
		return 0, e.stray("carriage return", `\r`)
	}
	return 2, nil
}

func (e *lineEnds) stray(what, escape string) error {
	e.rows.line++
	if e.unquoted {
		return pgerr.New(pgerr.BadCopyFileFormat, "unquoted %s found in data", what).
			WithHint("Use quoted CSV field to represent %s.", what)
	}
	return pgerr.New(pgerr.BadCopyFileFormat, "literal %s found in data", what).
		WithHint("Use \"%s\" to represent %s.", escape, what)
}

// textCopy reads COPY's text format. A backslash before a line end makes it
// part of the value; \. before one ends the data.
type textCopy struct {
	rows  *copyRows
	ends  lineEnds
	rest  []byte // an unfinished line
	field []byte // scratch for unescaping
	seen  int    // how much of rest holds no line end
	begun bool   // the header was dealt with
	ended bool   // \. was seen
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
	if err == nil {
		t.rest = keep(t.rest, b, n)
	}
	return err
}

// keep makes rest the bytes of b from n on. rest is b's start, or apart from b.
func keep(rest, b []byte, n int) []byte {
	if n == 0 && len(rest) == len(b) {
		return rest // long lines come in many pieces
	}
	return append(rest[:0], b[n:]...)
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
		if t.ended && end == 0 {
			break
		}
		if err := t.line(b[n : n+end]); err != nil {
			return n, err
		}
		n += next
	}
	return len(b), nil
}

// lineEnd finds the end of the first line of b and the start of the next; -1 if
// it is not in b. The first seen bytes are known to hold none.
func (t *textCopy) lineEnd(b []byte, last bool) (end, next int, err error) {
	i := t.seen
	t.seen = 0
	for ; i < len(b); i++ {
		switch b[i] {
		case '\\':
			if i+1 == len(b) && !last {
				t.seen = i
				return -1, 0, nil
			}
			if i+1 < len(b) && b[i+1] == '.' {
				return t.dataEnd(b, i, last)
			}
			i++
		case '\n', '\r':
			n, err := t.ends.at(b, i, last)
			if err == nil && n == 0 {
				t.seen = i
			}
			if err != nil || n == 0 {
				return -1, 0, err
			}
			return i, i + n, nil
		}
	}
	t.seen = len(b)
	return -1, 0, nil
}

// dataEnd handles the \. at b[i]: before it may stand a last line.
func (t *textCopy) dataEnd(b []byte, i int, last bool) (end, next int, err error) {
	if i+2 == len(b) && !last {
		t.seen = i
		return -1, 0, nil
	}
	if i+2 < len(b) && b[i+2] != '\n' && b[i+2] != '\r' {
		t.rows.line++
		return 0, 0, pgerr.New(pgerr.BadCopyFileFormat, "end-of-copy marker corrupt")
	}
	t.ended = true
	return i, len(b), nil
}

func (t *textCopy) line(b []byte) error {
	r := t.rows
	r.line++
	f := &r.cp.Format
	if !t.begun {
		t.begun = true
		if f.Header {
			return r.header(b, t.names(b))
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

// names are the fields of a header; nil is NULL.
func (t *textCopy) names(b []byte) (out [][]byte) {
	for more := true; more; {
		var f []byte
		f, b, more = cutField(b, t.rows.cp.Format.Delimiter)
		if string(f) == t.rows.cp.Format.Null {
			out = append(out, nil)
		} else {
			out = append(out, t.unescape(nil, f))
		}
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
		if b[i] != '\\' {
			dst = append(dst, b[i])
			continue
		}
		if i++; i == len(b) {
			break // a backslash at the end of the data stands for nothing
		}
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
