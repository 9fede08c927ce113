package types

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/pgerr"
)

// rangeKinds lists the range types: of what their bounds are, the multirange
// type, and whether their values are whole steps, so that every range has one
// form, [a,b).
var rangeKinds = map[ID]struct {
	sub      ID
	multi    ID
	discrete bool
}{
	Int4range: {Int4, Int4multirange, true}, Int8range: {Int8, Int8multirange, true}, Numrange: {Numeric, Nummultirange, false},
	Daterange: {Date, Datemultirange, true}, Tsrange: {Timestamp, Tsmultirange, false}, Tstzrange: {Timestamptz, Tstzmultirange, false},
}

// IsRange reports whether t is a range type.
func (t T) IsRange() bool { return t.ID >= Int4range && t.ID <= Tstzrange || t.ID == UserRange }

// IsMultirange reports whether t is a multirange type.
func (t T) IsMultirange() bool {
	return t.ID >= Int4multirange && t.ID <= Tstzmultirange || t.ID == UserMultirange
}

// RangeSub returns the type of the bounds of a range or multirange type.
func (t T) RangeSub() T {
	if t.ID == UserRange || t.ID == UserMultirange {
		if d := t.Def(); d != nil && d.Sub != nil {
			return *d.Sub
		}
		return T{ID: Unknown, Mod: -1}
	}
	return T{ID: rangeKinds[t.RangeType().ID].sub, Mod: -1}
}

// RangeType returns the range type of a multirange type; of a range type, itself.
func (t T) RangeType() T {
	if t.ID == UserMultirange {
		return t.pair(UserRange)
	}
	if t.IsMultirange() {
		return T{ID: t.ID - Int4multirange + Int4range, Mod: -1}
	}
	return t.Base()
}

// MultirangeType returns the multirange type of a range type.
func (t T) MultirangeType() T {
	if t.ID == UserRange {
		return t.pair(UserMultirange)
	}
	return T{ID: rangeKinds[t.ID].multi, Mod: -1}
}

// pair is the multirange type of a user's range type, or the other way round.
func (t T) pair(id ID) T {
	if d := t.Def(); d != nil {
		return T{ID: id, Mod: -1, Ref: d.Pair}
	}
	return T{ID: id, Mod: -1}
}

// RangeOf returns the user's range type, or multirange type, with a reference.
func RangeOf(ref uint64, multi bool) T {
	if multi {
		return T{ID: UserMultirange, Mod: -1, Ref: ref}
	}
	return T{ID: UserRange, Mod: -1, Ref: ref}
}

// The flat encoding of a range is a byte of flags, then for one that is not empty
// the length of the lower bound (4 bytes) and both bounds in AppendElem's form;
// an infinite bound has no bytes and is not inclusive.
const (
	rangeEmpty    = 1
	rangeLowerInf = 2
	rangeUpperInf = 4
	rangeLowerInc = 8
	rangeUpperInc = 16
)

// Bound is one end of a range.
type Bound struct {
	Val []byte // AppendElem's form
	Inf bool
	Inc bool
}

// Range is a range in parts. Its bounds share memory with what it was read from.
type Range struct {
	Empty  bool
	Lo, Hi Bound
}

// ViewRange opens a flat encoding; malformed bytes give the empty range.
func ViewRange(b []byte) Range {
	if len(b) < 5 || b[0]&rangeEmpty != 0 {
		return Range{Empty: true}
	}
	f, n := b[0], int(binary.LittleEndian.Uint32(b[1:]))
	if n < 0 || n > len(b)-5 {
		return Range{Empty: true}
	}
	return Range{
		Lo: Bound{b[5 : 5+n], f&rangeLowerInf != 0, f&rangeLowerInc != 0},
		Hi: Bound{b[5+n:], f&rangeUpperInf != 0, f&rangeUpperInc != 0},
	}
}

// AppendRange appends the flat encoding of a range that MakeRange made, or of a
// part of such ones.
func AppendRange(dst []byte, r Range) []byte {
	if r.Empty {
		return append(dst, rangeEmpty)
	}
	f := byte(0)
	set := func(on bool, bit byte) {
		if on {
			f |= bit
		}
	}
	set(r.Lo.Inf, rangeLowerInf)
	set(r.Hi.Inf, rangeUpperInf)
	set(r.Lo.Inc, rangeLowerInc)
	set(r.Hi.Inc, rangeUpperInc)
	dst = binary.LittleEndian.AppendUint32(append(dst, f), uint32(len(r.Lo.Val)))
	return append(append(dst, r.Lo.Val...), r.Hi.Val...)
}

// RangeCmp compares two values of the type of a range's bounds.
func RangeCmp(t T, a, b []byte) int {
	sub := t.RangeSub()
	le := binary.LittleEndian
	switch sub.Kind() {
	case KInt32:
		return cmpInt(int32(le.Uint32(a)), int32(le.Uint32(b)))
	case KInt64:
		return cmpInt(int64(le.Uint64(a)), int64(le.Uint64(b)))
	}
	if sub.Kind() != KBytes {
		return Compare(sub, ElemDatum(sub.Kind(), a), ElemDatum(sub.Kind(), b))
	}
	return CompareBytes(sub, a, b)
}

// cmpLower orders lower bounds: an infinite one first, inclusive before exclusive.
func cmpLower(t T, a, b Bound) int {
	switch {
	case a.Inf && b.Inf:
		return 0
	case a.Inf:
		return -1
	case b.Inf:
		return 1
	}
	if c := RangeCmp(t, a.Val, b.Val); c != 0 || a.Inc == b.Inc {
		return c
	}
	if a.Inc {
		return -1
	}
	return 1
}

// cmpUpper orders upper bounds: an infinite one last, exclusive before inclusive.
func cmpUpper(t T, a, b Bound) int {
	switch {
	case a.Inf && b.Inf:
		return 0
	case a.Inf:
		return 1
	case b.Inf:
		return -1
	}
	if c := RangeCmp(t, a.Val, b.Val); c != 0 || a.Inc == b.Inc {
		return c
	}
	if a.Inc {
		return 1
	}
	return -1
}

// meets tells how an upper and a lower bound lie: -1 when a gap is between them,
// 0 when they touch without sharing a value, 1 when they share one.
func meets(t T, hi, lo Bound) int {
	if hi.Inf || lo.Inf {
		return 1
	}
	switch c := RangeCmp(t, hi.Val, lo.Val); {
	case c > 0 || c == 0 && hi.Inc && lo.Inc:
		return 1
	case c == 0 && (hi.Inc || lo.Inc):
		return 0
	}
	return -1
}

// MakeRange puts a range into its one form: 22000 if the bounds are in the wrong
// order.
func MakeRange(t T, r Range) (Range, error) {
	if r.Empty {
		return Range{Empty: true}, nil
	}
	norm := func(b *Bound) {
		if b.Inf {
			b.Val, b.Inc = nil, false
		}
	}
	norm(&r.Lo)
	norm(&r.Hi)
	if !r.Lo.Inf && !r.Hi.Inf {
		c := RangeCmp(t, r.Lo.Val, r.Hi.Val)
		if c > 0 {
			return r, pgerr.New(pgerr.DataException, "range lower bound must be less than or equal to range upper bound")
		}
		if c == 0 && !(r.Lo.Inc && r.Hi.Inc) {
			return Range{Empty: true}, nil
		}
	}
	if !rangeKinds[t.ID].discrete {
		return r, nil
	}
	if !r.Lo.Inf && !r.Lo.Inc {
		v, err := nextStep(t, r.Lo.Val)
		if err != nil {
			return r, err
		}
		r.Lo.Val, r.Lo.Inc = v, r.Lo.Inc || !infiniteDay(t, r.Lo.Val)
	}
	if !r.Hi.Inf && r.Hi.Inc && !infiniteDay(t, r.Hi.Val) {
		v, err := nextStep(t, r.Hi.Val)
		if err != nil {
			return r, err
		}
		r.Hi.Val, r.Hi.Inc = v, false
	}
	if !r.Lo.Inf && !r.Hi.Inf {
		if c := RangeCmp(t, r.Lo.Val, r.Hi.Val); c > 0 || c == 0 && !(r.Lo.Inc && r.Hi.Inc) {
			return Range{Empty: true}, nil
		}
	}
	return r, nil
}

func infiniteDay(t T, v []byte) bool {
	if t.ID != Daterange {
		return false
	}
	d := int32(binary.LittleEndian.Uint32(v))
	return d == DateInfinity || d == DateNegInfinity
}

// nextStep returns the value after v; an infinite day has none and stays.
func nextStep(t T, v []byte) ([]byte, error) {
	le := binary.LittleEndian
	switch t.ID {
	case Int4range:
		n := int32(le.Uint32(v))
		if n == 1<<31-1 {
			return nil, errOutOfRange("integer")
		}
		return le.AppendUint32(nil, uint32(n+1)), nil
	case Int8range:
		n := int64(le.Uint64(v))
		if n == 1<<63-1 {
			return nil, errOutOfRange("bigint")
		}
		return le.AppendUint64(nil, uint64(n+1)), nil
	}
	d := int32(le.Uint32(v))
	switch {
	case infiniteDay(t, v):
		return v, nil
	case d+1 >= maxDateDays:
		return nil, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")
	}
	return le.AppendUint32(nil, uint32(d+1)), nil
}

// appendRangeKey orders ranges: the empty one first, then by lower bound, then by
// upper bound.
func appendRangeKey(dst []byte, t T, b []byte) []byte {
	r := ViewRange(b)
	if r.Empty {
		return append(dst, 0)
	}
	sub := t.RangeSub()
	dst = append(dst, 1)
	if r.Lo.Inf {
		dst = append(dst, 0)
	} else {
		dst = appendElemKey(append(dst, 1), sub, r.Lo.Val)
		if r.Lo.Inc {
			dst = append(dst, 0)
		} else {
			dst = append(dst, 1)
		}
	}
	if r.Hi.Inf {
		return append(dst, 2)
	}
	dst = appendElemKey(append(dst, 1), sub, r.Hi.Val)
	if r.Hi.Inc {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// RangeSet is a sorted list of ranges that neither overlap nor touch, none empty:
// what a range or a multirange covers.
type RangeSet []Range

// SetOf returns what a value of a range or multirange type covers.
func SetOf(t T, b []byte) RangeSet {
	if t.IsRange() {
		if r := ViewRange(b); !r.Empty {
			return RangeSet{r}
		}
		return nil
	}
	v := ViewArray(b)
	s := make(RangeSet, 0, v.Len())
	for i := range v.Len() {
		e, _ := v.At(i)
		s = append(s, ViewRange(e))
	}
	return s
}

// AppendMultirange appends the flat encoding of a multirange: an array's.
func AppendMultirange(dst []byte, s RangeSet) []byte {
	var b ArrayBuilder
	var buf []byte
	for _, r := range s {
		buf = AppendRange(buf[:0], r)
		b.Add(buf)
	}
	return b.Append(dst)
}
