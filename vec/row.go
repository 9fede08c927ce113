package vec

import (
	"encoding/binary"
	"math"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// The exact row encoding: a null bitmap of ceil(n/8) bytes (bit set: NULL), then
// every non-null value in column order: fixed kinds little-endian at full
// width, variable ones as a uvarint length and the bytes. It preserves
// representations (1.0 and 1.00 differ), is not ordered, and needs the types to
// decode. Rows of state tables and of views are stored in it.

// AppendRow appends the exact encoding of columns cols of row i to dst; cols
// nil means all.
func AppendRow(dst []byte, c *Chunk, cols []int, i int) []byte {
	n := len(cols)
	if cols == nil {
		n = len(c.Cols)
	}
	at := len(dst)
	for range (n + 7) / 8 {
		dst = append(dst, 0)
	}
	for j := range n {
		k := j
		if cols != nil {
			k = cols[j]
		}
		v := c.Cols[k]
		if v.IsNull(i) {
			dst[at+j/8] |= 1 << (j % 8)
			continue
		}
		dst = appendValue(dst, v, i)
	}
	return dst
}

func appendValue(dst []byte, v Vector, i int) []byte {
	switch c := v.(type) {
	case *Col[bool]:
		if c.Vals[i] {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *Col[int16]:
		return binary.LittleEndian.AppendUint16(dst, uint16(c.Vals[i]))
	case *Col[int32]:
		return binary.LittleEndian.AppendUint32(dst, uint32(c.Vals[i]))
	case *Col[int64]:
		return binary.LittleEndian.AppendUint64(dst, uint64(c.Vals[i]))
	case *Col[float32]:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(c.Vals[i]))
	case *Col[float64]:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.Vals[i]))
	case *Col[types.IntervalValue]:
		x := c.Vals[i]
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x.Micros))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(x.Days))
		return binary.LittleEndian.AppendUint32(dst, uint32(x.Months))
	case *Col[types.UUIDValue]:
		return append(dst, c.Vals[i][:]...)
	case *Bytes:
		b := c.At(i)
		dst = binary.AppendUvarint(dst, uint64(len(b)))
		return append(dst, b...)
	}
	panic("vec: unknown vector")
}

var errRow = pgerr.New(pgerr.DataCorrupted, "stored row does not match its type")

// DecodeRow appends the row in b to dst's columns (cols nil: all, else those
// positions in order), without a weight: the caller ends the row with
// AddWeight. It returns the bytes after the row. On error dst is left with
// columns of unequal length and must be dropped.
func DecodeRow(dst *Chunk, cols []int, b []byte) (rest []byte, err error) {
	n := len(cols)
	if cols == nil {
		n = len(dst.Cols)
	}
	nb := (n + 7) / 8
	if len(b) < nb {
		return nil, errRow
	}
	nulls := b[:nb]
	b = b[nb:]
	for j := range n {
		k := j
		if cols != nil {
			k = cols[j]
		}
		v := dst.Cols[k]
		if nulls[j/8]>>(j%8)&1 == 1 {
			v.AppendNull()
			continue
		}
		if b, err = decodeValue(v, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func decodeValue(v Vector, b []byte) ([]byte, error) {
	if c, ok := v.(*Bytes); ok {
		l, m := binary.Uvarint(b)
		if m <= 0 || uint64(len(b)-m) < l {
			return nil, errRow
		}
		c.Append(b[m : m+int(l)])
		return b[m+int(l):], nil
	}
	w := fixedWidth(v)
	if len(b) < w {
		return nil, errRow
	}
	readValue(v, b[:w])
	return b[w:], nil
}

func fixedWidth(v Vector) int {
	switch v.(type) {
	case *Col[bool]:
		return 1
	case *Col[int16]:
		return 2
	case *Col[int32], *Col[float32]:
		return 4
	case *Col[int64], *Col[float64]:
		return 8
	case *Col[types.IntervalValue], *Col[types.UUIDValue]:
		return 16
	}
	return 0
}
