package types

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/streamdb/streamdb/pgerr"
)

// The hash functions of PostgreSQL's types, with its values: Bob Jenkins' lookup3
// over the bytes that a value has there. Users divide work by them.

// PGHash makes hashes of 32 bits, or with Wide of 64 bits that depend on Seed.
type PGHash struct {
	Wide bool
	Seed uint64
}

type lookup3 struct{ a, b, c uint32 }

func (h PGHash) start(n int) lookup3 {
	x := uint32(n) + 0x9e3779b9 + 3923095
	s := lookup3{x, x, x}
	if h.Wide && h.Seed != 0 {
		s.a += uint32(h.Seed >> 32)
		s.b += uint32(h.Seed)
		s.mix()
	}
	return s
}

func (s *lookup3) mix() {
	step := func(x, y, z *uint32, r int) {
		*x -= *z
		*x ^= bits.RotateLeft32(*z, r)
		*z += *y
	}
	step(&s.a, &s.b, &s.c, 4)
	step(&s.b, &s.c, &s.a, 6)
	step(&s.c, &s.a, &s.b, 8)
	step(&s.a, &s.b, &s.c, 16)
	step(&s.b, &s.c, &s.a, 19)
	step(&s.c, &s.a, &s.b, 4)
}

func (s *lookup3) final() {
	step := func(x, y *uint32, r int) {
		*x ^= *y
		*x -= bits.RotateLeft32(*y, r)
	}
	step(&s.c, &s.b, 14)
	step(&s.a, &s.c, 11)
	step(&s.b, &s.a, 25)
	step(&s.c, &s.b, 16)
	step(&s.a, &s.c, 4)
	step(&s.b, &s.a, 14)
	step(&s.c, &s.b, 24)
}

func (h PGHash) end(s lookup3) uint64 {
	s.final()
	if h.Wide {
		return uint64(s.b)<<32 | uint64(s.c)
	}
	return uint64(s.c)
}

// Bytes hashes bytes.
func (h PGHash) Bytes(k []byte) uint64 {
	s := h.start(len(k))
	le := binary.LittleEndian
	for ; len(k) >= 12; k = k[12:] {
		s.a += le.Uint32(k)
		s.b += le.Uint32(k[4:])
		s.c += le.Uint32(k[8:])
		s.mix()
	}
	var last [12]byte // the lowest byte of c is left to the length
	copy(last[:8], k[:min(8, len(k))])
	if len(k) > 8 {
		copy(last[9:], k[8:])
	}
	s.a += le.Uint32(last[:])
	s.b += le.Uint32(last[4:])
	s.c += le.Uint32(last[8:])
	return h.end(s)
}

// Uint32 hashes a number.
func (h PGHash) Uint32(k uint32) uint64 {
	s := h.start(4)
	s.a += k
	return h.end(s)
}

// Int64 hashes a number as a smaller integer of the same value.
func (h PGHash) Int64(v int64) uint64 {
	hi := uint32(v >> 32)
	if v < 0 {
		hi = ^hi
	}
	return h.Uint32(uint32(v) ^ hi)
}

func (h PGHash) float(v float64) uint64 {
	switch {
	case v == 0:
		return h.zero()
	case math.IsNaN(v):
		v = math.Float64frombits(0x7ff8 << 48)
	}
	return h.Bytes(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

// zero is the hash of what has none of its own.
func (h PGHash) zero() uint64 {
	if h.Wide {
		return h.Seed
	}
	return 0
}

// numeric hashes the digits to the base of 10,000, without zeros at the ends, and
// their weight.
func (h PGHash) numeric(b []byte) uint64 {
	be := binary.BigEndian
	if len(b) < 8 || be.Uint16(b[4:])&0xc000 == 0xc000 { // NaN and the infinities
		return h.zero()
	}
	digits, weight := b[8:], int64(int16(be.Uint16(b[2:])))
	for len(digits) > 1 && be.Uint16(digits) == 0 {
		digits, weight = digits[2:], weight-1
	}
	for len(digits) > 1 && be.Uint16(digits[len(digits)-2:]) == 0 {
		digits = digits[:len(digits)-2]
	}
	if len(digits) == 0 {
		if h.Wide {
			return h.Seed - 1
		}
		return math.MaxUint32
	}
	le := make([]byte, 0, len(digits))
	for ; len(digits) > 1; digits = digits[2:] {
		le = append(le, digits[1], digits[0])
	}
	v := h.Bytes(le) ^ uint64(weight)
	if !h.Wide {
		v &= math.MaxUint32
	}
	return v
}

// rotate turns the hash by one bit, each half by itself.
func (h PGHash) rotate(v uint64) uint64 {
	lo := uint64(bits.RotateLeft32(uint32(v), 1))
	return uint64(bits.RotateLeft32(uint32(v>>32), 1))<<32 | lo
}

// join adds the hash of a part to that of the parts before it.
func (h PGHash) join(sum, part uint64) uint64 {
	sum = sum*31 + part
	if !h.Wide {
		sum &= math.MaxUint32
	}
	return sum
}

// Value hashes a value of type t: 42883 for a type without a hash function.
func (h PGHash) Value(t T, d Datum) (uint64, error) {
	base := t.Underlying()
	switch v := d.(type) {
	case bool:
		if v {
			return h.Uint32(1), nil
		}
		return h.Uint32(0), nil
	case int16:
		return h.Uint32(uint32(int32(v))), nil
	case int32:
		return h.Uint32(uint32(v)), nil
	case float32:
		return h.float(float64(v)), nil
	case float64:
		return h.float(v), nil
	case UUIDValue:
		return h.Bytes(v[:]), nil
	case IntervalValue:
		_, lo := IntervalSpan(v)
		return h.Int64(int64(lo)), nil
	case int64:
		switch {
		case base.ID == Money:
			return 0, errNoHash(t)
		case base.ID == Oid || base.ID.IsReg():
			return h.Uint32(uint32(v)), nil
		}
		return h.Int64(v), nil // of an enum too, whose hash is one of OIDs there
	case string:
		return h.stored(base, t, []byte(v))
	}
	return 0, errNoHash(t)
}

func errNoHash(t T) error {
	return pgerr.New(pgerr.UndefinedFunction, "could not identify a hash function for type %s", t)
}

// stored hashes a value that is kept as bytes.
func (h PGHash) stored(base, t T, b []byte) (uint64, error) {
	switch base.ID {
	case Text, Varchar, Bytea, Name, Macaddr, Macaddr8:
		return h.Bytes(b), nil
	case LSN, Xid8:
		return h.Int64(int64(ViewWord(b))), nil
	case Xid:
		return h.Uint32(uint32(ViewWord(b))), nil
	case Bpchar:
		for len(b) > 0 && b[len(b)-1] == ' ' {
			b = b[:len(b)-1]
		}
		return h.Bytes(b), nil
	case Char:
		c := int8(0)
		if len(b) > 0 {
			c = int8(b[0])
		}
		return h.Uint32(uint32(int32(c))), nil
	case Numeric:
		return h.numeric(AppendBinary(nil, TNumeric, string(b))), nil
	case Timetz:
		v := ViewTimetz(b)
		return h.Int64(v.Micros) ^ h.Uint32(uint32(-v.Off)), nil
	case Inet, Cidr:
		v := ViewInet(b)
		family := byte(2)
		if v.V6 {
			family = 3
		}
		return h.Bytes(append([]byte{family, byte(v.Bits)}, v.Bytes()...)), nil
	case JSONB:
		return h.jsonb(b), nil
	case Array:
		return h.array(base.ElemType(), b)
	case Record:
		return h.record(b)
	}
	switch {
	case base.IsRange():
		return h.ranges(base, ViewRange(b))
	case base.IsMultirange():
		sum := uint64(1)
		for _, r := range SetOf(base, b) {
			x, err := h.ranges(base, r)
			if err != nil {
				return 0, err
			}
			sum = h.join(sum, x)
		}
		return sum, nil
	}
	return 0, errNoHash(t)
}

func (h PGHash) array(elem T, b []byte) (uint64, error) {
	v, sum := ViewArray(b), uint64(1)
	for i := range v.Len() {
		x := uint64(0)
		if e, null := v.At(i); !null {
			var err error
			if x, err = h.Value(elem, ElemDatum(elem.Kind(), e)); err != nil {
				return 0, err
			}
		}
		sum = h.join(sum, x)
	}
	return sum, nil
}

func (h PGHash) record(b []byte) (uint64, error) {
	v, sum := ViewRecord(b), uint64(0)
	for i := range v.Len() {
		x, t := uint64(0), v.Type(i)
		if e, null := v.At(i); !null {
			var err error
			if x, err = h.Value(t, ElemDatum(t.Kind(), e)); err != nil {
				return 0, err
			}
		}
		sum = h.join(sum, x)
	}
	return sum, nil
}

func (h PGHash) ranges(t T, r Range) (uint64, error) {
	sub := t.RangeSub()
	bound := func(b Bound) (uint64, error) {
		if r.Empty || b.Inf {
			return 0, nil
		}
		return h.Value(sub, ElemDatum(sub.Kind(), b.Val))
	}
	lo, err := bound(r.Lo)
	if err != nil {
		return 0, err
	}
	hi, err := bound(r.Hi)
	if err != nil {
		return 0, err
	}
	var flags uint32
	for i, on := range []bool{r.Empty, r.Lo.Inc, r.Hi.Inc, r.Lo.Inf, r.Hi.Inf} {
		if on {
			flags |= 1 << i
		}
	}
	return h.rotate(h.Uint32(flags)^lo) ^ hi, nil
}

// jsonb hashes the keys and values in their order; what holds them counts by a bit.
func (h PGHash) jsonb(b []byte) uint64 {
	const isArray, isObject = 1 << 30, 1 << 29
	var sum uint64
	open := func(bit uint64) {
		sum ^= bit
		if h.Wide {
			sum ^= bit << 32
		}
	}
	scalar := func(b []byte) { sum = h.rotate(sum) ^ h.jsonScalar(b) }
	var walk func(b []byte)
	walk = func(b []byte) {
		switch b[0] {
		case '{':
			open(isObject)
			JSONObjectEach(b, func(key, v []byte) bool { scalar(key); walk(v); return true })
		case '[':
			open(isArray)
			JSONArrayEach(b, func(v []byte) bool { walk(v); return true })
		default:
			scalar(b)
		}
	}
	switch {
	case (b[0] == '{' || b[0] == '[') && JSONLen(b) == 0:
		return h.zero()
	case b[0] != '{' && b[0] != '[': // a document of one value is an array to it
		open(isArray)
	}
	walk(b)
	return sum
}

func (h PGHash) jsonScalar(b []byte) uint64 {
	switch b[0] {
	case 'n':
		return h.zero() + 1
	case 't', 'f':
		switch isTrue := b[0] == 't'; {
		case h.Wide && h.Seed != 0 && isTrue:
			return h.Uint32(1)
		case h.Wide && h.Seed != 0:
			return h.Uint32(0)
		case isTrue:
			return 2
		}
		return 4
	case '"':
		return h.Bytes(JSONUnquote(b))
	}
	d, err := ParseDecimal(string(b))
	if err != nil {
		return 0
	}
	return h.numeric(AppendBinary(nil, TNumeric, string(AppendDecimal(nil, d))))
}
