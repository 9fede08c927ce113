package wire

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// binaryCopy reads COPY's binary format.
type binaryCopy struct {
	rows  *copyRows
	rest  []byte
	begun bool
	ended bool
}

func (t *binaryCopy) feed(b []byte) error {
	if len(t.rest) > 0 {
		t.rest = append(t.rest, b...)
		b = t.rest
	}
	n, err := t.take(b)
	if err == nil {
		t.rest = keep(t.rest, b, n)
	}
	return err
}

func (t *binaryCopy) finish() error {
	switch {
	case !t.begun:
		return pgerr.New(pgerr.BadCopyFileFormat, "COPY file signature not recognized")
	case len(t.rest) > 0:
		return pgerr.New(pgerr.BadCopyFileFormat, "unexpected EOF in COPY data")
	}
	return nil
}

// take reads the header and complete rows of b and returns their size.
func (t *binaryCopy) take(b []byte) (n int, err error) {
	if !t.begun {
		if n, err = t.head(b); err != nil || n == 0 {
			return 0, err
		}
		t.begun = true
	}
	for !t.ended {
		size, err := t.row(b[n:])
		if err != nil || size == 0 {
			return n, err
		}
		n += size
	}
	if n < len(b) {
		t.rows.line++
		return n, pgerr.New(pgerr.BadCopyFileFormat, "received copy data after EOF marker")
	}
	return n, nil
}

func (t *binaryCopy) head(b []byte) (int, error) {
	if sig := copySignature[:11]; string(b[:min(len(b), 11)]) != sig[:min(len(b), 11)] {
		return 0, pgerr.New(pgerr.BadCopyFileFormat, "COPY file signature not recognized")
	}
	if len(b) < 19 {
		return 0, nil
	}
	flags := binary.BigEndian.Uint32(b[11:])
	if flags>>16 != 0 {
		return 0, pgerr.New(pgerr.BadCopyFileFormat, "unrecognized critical flags in COPY file header")
	}
	ext := int(int32(binary.BigEndian.Uint32(b[15:])))
	if ext < 0 {
		return 0, pgerr.New(pgerr.BadCopyFileFormat, "invalid COPY file header (missing length)")
	}
	if len(b) < 19+ext {
		return 0, nil
	}
	return 19 + ext, nil
}

// row reads one row; 0: it is not complete in b.
func (t *binaryCopy) row(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, nil
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	if n == -1 {
		t.ended = true
		return 2, nil
	}
	r := t.rows
	if n != len(r.cp.Columns) {
		r.line++
		return 0, pgerr.New(pgerr.BadCopyFileFormat, "row field count is %d, expected %d", n, len(r.cp.Columns))
	}
	size, err := fieldsSize(b, n)
	if size == 0 || err != nil {
		return 0, err
	}
	r.line++
	at := 2
	for k := range n {
		l := int(int32(binary.BigEndian.Uint32(b[at:])))
		at += 4
		if l < 0 {
			r.out.Cols[k].AppendNull()
			continue
		}
		r.col = k
		d, err := r.from.parse(r.cp.Columns[k].Type, 1, b[at:at+l], nil)
		if err != nil {
			return 0, err
		}
		r.out.Cols[k].AppendDatum(d)
		r.col = -1
		at += l
	}
	return size, r.endRow()
}

// fieldsSize returns the size of a row of n fields; 0: it is not complete.
func fieldsSize(b []byte, n int) (int, error) {
	at := 2
	for range n {
		if len(b) < at+4 {
			return 0, nil
		}
		l := int(int32(binary.BigEndian.Uint32(b[at:])))
		if l < -1 {
			return 0, pgerr.New(pgerr.BadCopyFileFormat, "invalid field size")
		}
		at += 4 + max(l, 0)
		if len(b) < at {
			return 0, nil
		}
	}
	return at, nil
}
