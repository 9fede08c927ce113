package vec

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/streamdb/streamdb/types"
)

// Vnodes is the number of key groups rows are distributed over.
const Vnodes = 256

// Vnode returns the key group of a hash: its top 8 bits. Hash tables index by
// the low bits, so the two stay independent.
func Vnode(h uint64) int { return int(h >> 56) }

// HashCols computes one hash a row over the given columns into dst, which is
// grown to the chunk's rows and returned. SQL-equal values hash alike; NULLs
// hash alike. With no column every hash is the same.
func HashCols(c *Chunk, cols []int, dst []uint64) []uint64 {
	dst = dst[:0]
	dst = grow(dst, c.Rows)
	for i := range dst {
		dst[i] = hashSeed
	}
	for _, k := range cols {
		HashInto(c.Cols[k], dst)
	}
	return dst
}

const (
	hashSeed = 0x9e3779b97f4a7c15
	hashNull = 0xa5a5a5a55a5a5a5a
)

// mix folds x into h by a 128-bit multiply (the wyhash construction).
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x^0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3^h)
	return hi ^ lo
}

// HashInto folds the values of v into the running hashes h, one a row.
func HashInto(v Vector, h []uint64) {
	switch c := v.(type) {
	case *Col[int64]:
		vals := c.Vals[:len(h)]
		for i := range h {
			h[i] = mix(h[i], uint64(vals[i]))
		}
	case *Col[int32]:
		vals := c.Vals[:len(h)]
		for i := range h {
			h[i] = mix(h[i], uint64(int64(vals[i])))
		}
	case *Col[int16]:
		for i := range h {
			h[i] = mix(h[i], uint64(int64(c.Vals[i])))
		}
	case *Col[bool]:
		for i := range h {
			var x uint64
			if c.Vals[i] {
				x = 1
			}
			h[i] = mix(h[i], x)
		}
	case *Col[float32]:
		for i := range h {
			h[i] = mix(h[i], floatBits(float64(c.Vals[i])))
		}
	case *Col[float64]:
		for i := range h {
			h[i] = mix(h[i], floatBits(c.Vals[i]))
		}
	case *Col[types.IntervalValue]:
		for i := range h {
			hi, lo := IntervalKey(c.Vals[i])
			h[i] = mix(mix(h[i], uint64(hi)), lo)
		}
	case *Col[types.UUIDValue]:
		for i := range h {
			u := &c.Vals[i]
			h[i] = mix(mix(h[i], binary.LittleEndian.Uint64(u[:8])), binary.LittleEndian.Uint64(u[8:]))
		}
	case *Bytes:
		hashBytesInto(c, h)
	}
	if n := v.Nulls(); len(n) > 0 {
		rehashNulls(v, n, h)
	}
}

// rehashNulls replaces the contribution of NULL slots, whose values are
// undefined, by a constant. The previous running hash is gone, so the hash of a
// row with a NULL forgets earlier columns; equality still implies equal hashes.
func rehashNulls(v Vector, n Bitmap, h []uint64) {
	for i := range h {
		if n.Get(i) {
			h[i] = mix(hashSeed, hashNull)
		}
	}
}

func hashBytesInto(c *Bytes, h []uint64) {
	if !needsCanonical(c.Typ) {
		for i := range h {
			h[i] = HashBytes(h[i], c.Data[c.Off[i]:c.Off[i+1]])
		}
		return
	}
	var buf []byte
	for i := range h {
		if c.IsNull(i) {
			continue
		}
		buf = appendCanonical(buf[:0], c.Typ, c.At(i))
		h[i] = HashBytes(h[i], buf)
	}
}

// HashBytes folds b into h.
func HashBytes(h uint64, b []byte) uint64 {
	n := uint64(len(b))
	for len(b) >= 8 {
		h = mix(h, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	var tail uint64
	for i, x := range b {
		tail |= uint64(x) << (8 * uint(i))
	}
	return mix(h, tail^n<<56)
}

// floatBits maps equal floats to equal bits: -0 is 0, every NaN is one NaN.
func floatBits(f float64) uint64 {
	if f == 0 {
		return 0
	}
	if f != f {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

// IntervalKey returns an interval as a 128-bit count of microseconds with
// months of 30 days and days of 24 hours: the value PostgreSQL compares by.
func IntervalKey(v types.IntervalValue) (hi int64, lo uint64) {
	days := int64(v.Months)*30 + int64(v.Days)
	const usDay = 86400 * 1000000
	neg := days < 0
	u := uint64(days)
	if neg {
		u = uint64(-days)
	}
	h, l := bits.Mul64(u, usDay)
	if neg {
		l = -l
		h = ^h
		if l == 0 {
			h++
		}
	}
	var carry uint64
	l, carry = bits.Add64(l, uint64(v.Micros), 0)
	h, _ = bits.Add64(h, uint64(v.Micros>>63), carry)
	return int64(h), l
}
