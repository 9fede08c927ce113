package json

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// shapes is a tree of the forms that records had so far. Records of one topic are
// mostly written by the same program, with the same fields in the same order. A
// branch of the tree holds, byte for byte, what stood between the values of such
// records; one that agrees with a branch from beginning to end has its values
// where that branch's first record had them, so it needs no look at structure and
// names, and goes straight into vectors. Any other is decoded as if there were
// no tree, and becomes a branch.
type shapes struct {
	root     shape
	branches int
	off      bool // a column takes the whole record
	rest     int  // records left to decode without the tree
	tried    int  // of the last probe records, ...
	missed   int  // ... those that left the tree
	clean    bool // the record that is being followed
	days     lastDay
}

// shape is where a record that is being decoded stands: what may follow, before
// the next value.
type shape struct{ next []branch }

type branch struct {
	lead string // from the end of the value before
	// The first up to eight bytes of lead and its last, as numbers, with the bits that
	// count; the second ones begin at tailAt. Of a longer lead they leave out some.
	head, headMask, tail, tailMask uint64
	tailAt                         int
	col                            int // takes the value; -1: none
	form                           form
	// flat values only: columns lie inside objects and arrays found here.
	flat    bool
	length  int    // of the last time here, a guess at that of the next one
	to      *shape // nil: the record ends behind lead
	missing []int  // at the end: columns without a value
}

// weigh prepares the comparison of records with lead.
func (br *branch) weigh() {
	word := func(s string) (w, mask uint64) {
		for i := range min(len(s), 8) {
			w, mask = w|uint64(s[i])<<(8*i), mask|0xff<<(8*i)
		}
		return w, mask
	}
	br.tailAt = max(len(br.lead)-8, 0)
	br.head, br.headMask = word(br.lead)
	br.tail, br.tailMask = word(br.lead[br.tailAt:])
}

// leads reports whether b goes on with lead at i. There are eight bytes behind.
func (br *branch) leads(b []byte, i int) bool {
	return (eight(b, i)^br.head)&br.headMask|(eight(b, i+br.tailAt)^br.tail)&br.tailMask == 0 &&
		(len(br.lead) <= 16 || string(b[i+8:i+br.tailAt]) == br.lead[8:br.tailAt])
}

// eight are the eight bytes of b from i on, which are there.
func eight(b []byte, i int) uint64 {
	p := unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i)
	return binary.LittleEndian.Uint64(unsafe.Slice((*byte)(p), 8))
}

// form is how a column's values are read in the simplest case.
type form uint8

const (
	formAny form = iota
	formText
	formTimestamp
	formInt2 // from here on integers
	formInt4
	formInt8
)

// The bounds of a tree, and of the effort to keep one that does not pay.
const (
	maxBranches = 512
	maxLeaves   = 128
	maxLead     = 256
	probe       = 1024
	respite     = 32 * probe
)

// leaf is a value that the plain decoder passed without looking for columns
// inside.
type leaf struct {
	from, to int
	flat     bool
}

// use reports whether to try the tree. A tree that most records leave is given
// up for a while, since they are decoded twice as far as they follow it.
func (s *shapes) use() bool {
	if s.off {
		return false
	}
	if s.rest > 0 {
		s.rest--
		return false
	}
	if s.tried++; s.tried > probe {
		if 2*s.missed > probe {
			*s = shapes{rest: respite, days: s.days}
			return false
		}
		s.tried, s.missed = 1, 0
	}
	return true
}

func formOf(t types.T) form {
	switch t.ID {
	case types.Text:
		return formText
	case types.Varchar:
		if t.Mod < 0 {
			return formText
		}
	case types.Int2:
		return formInt2
	case types.Int4:
		return formInt4
	case types.Int8:
		return formInt8
	case types.Timestamp, types.Timestamptz:
		return formTimestamp
	}
	return formAny
}

// learn adds the form of the record that was just decoded.
func (d *Decoder) learn(b []byte) {
	s := &d.shapes
	if len(d.leaves) > maxLeaves || s.branches+len(d.leaves) >= maxBranches {
		return
	}
	cols := make([]int, len(d.leaves))
	for i := range cols {
		cols[i] = -1
	}
	var missing []int
	for c, v := range d.vals {
		if v.to == 0 {
			missing = append(missing, c)
			continue
		}
		i := 0
		for ; i < len(d.leaves) && d.leaves[i].from != v.from; i++ {
		}
		if i == len(d.leaves) || cols[i] >= 0 || d.leaves[i].to != v.to {
			return // an object with columns inside it, or a value of two columns
		}
		cols[i] = c
	}
	at, end := &s.root, 0
	for i, l := range d.leaves {
		br := branch{lead: string(b[end:l.from]), col: cols[i], flat: l.flat, to: &shape{}}
		if br.col >= 0 {
			br.form = formOf(d.cols[br.col].Typ)
		}
		if at = s.add(at, br); at == nil {
			return
		}
		end = l.to
	}
	s.add(at, branch{lead: string(b[end:]), col: -1, missing: missing})
}

// add adds a branch at a shape, if it is not there, and returns where it leads;
// nil: nowhere, or the place is taken by one with another column.
func (s *shapes) add(at *shape, br branch) *shape {
	if len(br.lead) > maxLead {
		return nil
	}
	i := 0
	for ; i < len(at.next) && len(at.next[i].lead) >= len(br.lead); i++ {
		old := &at.next[i]
		if old.lead != br.lead || (old.to == nil) != (br.to == nil) {
			continue
		}
		if old.col != br.col {
			return nil
		}
		return old.to
	}
	br.weigh()
	// Longer ones come first, so that none hides behind its beginning.
	at.next = slices.Insert(at.next, i, br)
	s.branches++
	return br.to
}

// match returns the branch that b goes on with.
func (s *shape) match(b []byte) *branch {
	for i := range s.next {
		br := &s.next[i]
		if br.to == nil {
			if string(b) == br.lead {
				return br
			}
		} else if len(b) > len(br.lead) && string(b[:len(br.lead)]) == br.lead {
			return br
		}
	}
	return nil
}

// follow decodes a record along the tree. If it reports false, the record may
// still be good, and values may have been appended.
func (d *Decoder) follow(c *vec.Chunk, at []int, b []byte) bool {
	d.clean = clean(b)
	s, i := &d.shapes.root, 0
	for {
		if len(s.next) == 0 {
			return false
		}
		// The first branch is the only one, mostly, and has values before it.
		br := &s.next[0]
		if n := len(br.lead); br.to == nil || len(b)-i < n+8 || !br.leads(b, i) {
			if br = s.match(b[i:]); br == nil {
				return false
			}
		}
		i += len(br.lead)
		if s = br.to; s == nil {
			for _, k := range br.missing {
				if d.absent(d.target(c, at, k), k) != nil {
					return false
				}
			}
			return true
		}
		if br.form >= formInt2 && len(b)-i >= 8 {
			// No lead begins as a number goes on, so that need not be looked at.
			if n, digits := upTo7Digits(eight(b, i)); digits == 1 || digits > 1 && b[i] != '0' {
				if br.append(c, at[br.col], n) {
					i += digits
					continue
				}
			}
		}
		if br.flat && (b[i] == '{' || b[i] == '[') {
			return false
		}
		if i = d.take(c, at, br, b, i); i == 0 {
			return false
		}
	}
}

// append appends an integer of up to seven digits to the column at a place, if it was
// asked for; it reports whether the type can have it.
func (br *branch) append(c *vec.Chunk, at int, n int64) bool {
	if br.form == formInt2 && n > math.MaxInt16 {
		return false
	}
	if at < 0 {
		return true
	}
	switch v := c.Cols[at]; br.form {
	case formInt8:
		v := v.(*vec.Col[int64])
		v.Vals = append(v.Vals, n)
	case formInt4:
		v := v.(*vec.Col[int32])
		v.Vals = append(v.Vals, int32(n))
	default:
		v := v.(*vec.Col[int16])
		v.Vals = append(v.Vals, int16(n))
	}
	return true
}

// column is the column of a chunk at a place; nil: it was not asked for.
func column(c *vec.Chunk, at int) vec.Vector {
	if at < 0 {
		return nil
	}
	return c.Cols[at]
}

// take decodes the value at i for the branch's column, which follow has not done
// itself, and returns its end; 0: it cannot.
func (d *Decoder) take(c *vec.Chunk, at []int, br *branch, b []byte, i int) int {
	k := br.col
	if k < 0 {
		if b[i] == '"' {
			if e, _ := d.quoted(b, i+1); e > 0 {
				return e + 1
			}
		}
		e, err := value(b, i)
		if err != nil {
			return 0
		}
		return e
	}
	v := column(c, at[k])
	switch br.form {
	case formInt2, formInt4, formInt8:
		if n, e := integer(b, i); e > 0 && appendInteger(v, &d.cols[k].Typ, n) {
			return e
		}
	case formText:
		if b[i] != '"' {
			break
		}
		if e, ascii := d.quoted(b, i+1); e > 0 && (ascii || utf8.Valid(b[i+1:e])) {
			if v != nil {
				v.(*vec.Bytes).Append(b[i+1 : e])
			}
			return e + 1
		}
	case formTimestamp:
		if b[i] != '"' {
			break
		}
		t := &d.cols[k].Typ
		// What reads as a time has no quotes in it, so one that ends where the last one
		// did ends there indeed.
		e := i + 1 + br.length
		if e >= len(b) || b[e] != '"' {
			e, _ = d.quoted(b, i+1)
		}
		if e > i {
			br.length = e - i - 1
			if us, ok := d.days.timestamp(b[i+1:e], t.ID == types.Timestamptz); ok {
				if v != nil {
					c := v.(*vec.Col[int64])
					c.Vals = append(c.Vals, types.RoundMicros(us, int(t.Mod)))
				}
				return e + 1
			}
		}
	}
	e, err := value(b, i)
	if err != nil {
		return 0
	}
	d.vals[k] = span{i, e, true}
	if d.fill(d.target(c, at, k), k, b) != nil {
		return 0
	}
	return e
}

// appendInteger appends n to v, if there is one, unless n is out of the type's
// range.
func appendInteger(v vec.Vector, t *types.T, n int64) bool {
	switch t.ID {
	case types.Int4:
		if int64(int32(n)) != n {
			return false
		}
	case types.Int2:
		if int64(int16(n)) != n {
			return false
		}
	}
	switch v := v.(type) {
	case *vec.Col[int64]:
		v.Vals = append(v.Vals, n)
	case *vec.Col[int32]:
		v.Vals = append(v.Vals, int32(n))
	case *vec.Col[int16]:
		v.Vals = append(v.Vals, int16(n))
	}
	return true
}

// integer reads an integer of at most 18 digits at i and returns its end; 0: it
// is something else.
func integer(b []byte, i int) (n int64, end int) {
	neg := b[i] == '-'
	if neg {
		i++
	}
	start := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if k := i - start; k == 0 || k > 18 || k > 1 && b[start] == '0' || i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') {
		return 0, 0
	}
	if neg {
		n = -n
	}
	return n, i
}

// upTo7Digits reads the number that w, eight bytes of text, begins with, and tells
// how many digits it has; 0: none, or all of w are digits.
func upTo7Digits(w uint64) (n int64, digits int) {
	v := w ^ ones*'0'
	// The top bit of each byte above 9, right up to the first one: a carry comes out
	// of such a byte only.
	over := (v | (v + ones*(0x80-10))) & highs
	if over == 0 {
		return 0, 0
	}
	if digits = bits.TrailingZeros64(over) / 8; digits == 0 {
		return 0, 0
	}
	v <<= uint(64 - 8*digits) // as if zeros were before it
	v = v*10 + v>>8           // pairs of digits, in every second byte
	v = (v&0x000000ff000000ff*(100+1000000<<32) + v>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
	return int64(v), digits
}

// quoted is plain for a record of which it is known whether it is clean.
func (d *Decoder) quoted(b []byte, i int) (end int, ascii bool) {
	if !d.clean {
		return plain(b, i)
	}
	if n := bytes.IndexByte(b[i:], '"'); n >= 0 {
		return i + n, true
	}
	return 0, false
}

// clean reports whether b is ASCII without backslashes and control characters:
// the strings in it end at the next quote and need no further look. A record that
// is not may be reported so for what it has between its values.
func clean(b []byte) bool {
	var bad uint64
	for len(b) >= 32 {
		bad |= unclean(binary.LittleEndian.Uint64(b)) | unclean(binary.LittleEndian.Uint64(b[8:])) |
			unclean(binary.LittleEndian.Uint64(b[16:])) | unclean(binary.LittleEndian.Uint64(b[24:]))
		b = b[32:]
	}
	for len(b) >= 8 {
		bad |= unclean(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	if bad&highs != 0 {
		return false
	}
	for _, c := range b {
		if c < ' ' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// unclean has the top bit of some byte set if w has a byte that is not ASCII, is
// below 0x20 or is a backslash, and only then: where all are ASCII, subtracting
// borrows across bytes only behind such a one.
func unclean(w uint64) uint64 { return w | (w - ones*' ') | (w ^ ones*'\\' - ones) }

// plain returns the end of a string that has no escapes and whose first byte is
// at i: the place of its closing quote, and whether it is ASCII. End 0: it has
// escapes, or something is wrong.
func plain(b []byte, i int) (end int, ascii bool) {
	var high uint64
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		m := special(w)
		if m == 0 {
			high |= w
			continue
		}
		low := m & -m // the top bit of the first special byte
		if i += bits.TrailingZeros64(m) / 8; b[i] != '"' {
			return 0, false
		}
		return i, (high|w&(low-1))&highs == 0
	}
	for ; i < len(b) && b[i] >= ' ' && b[i] != '\\'; i++ {
		if b[i] == '"' {
			return i, high&highs == 0
		}
		high |= uint64(b[i])
	}
	return 0, false
}
