package exec

import (
	"encoding/binary"

	"github.com/streamdb/streamdb/vec"
)

// appendStorageKey appends the storage key of row i of a keyed relation.
func appendStorageKey(dst []byte, c *vec.Chunk, cols []int, i int) []byte {
	return vec.AppendKey(dst, c, cols, nil, nil, i)
}

// AppendOrderedRow appends row i as an index on a relation without a key stores
// it: the key of the columns, a zero, which sorts before what may follow in a
// longer key, the whole row, and the length of all before the row.
func AppendOrderedRow(dst []byte, c *vec.Chunk, cols []int, i int) []byte {
	start := len(dst)
	dst = append(vec.AppendKey(dst, c, cols, nil, nil, i), 0)
	n := len(dst) - start
	return binary.BigEndian.AppendUint32(vec.AppendRow(dst, c, nil, i), uint32(n))
}

// OrderedRow returns the row inside of what AppendOrderedRow made.
func OrderedRow(stored []byte) []byte {
	end := len(stored) - 4
	if end < 0 {
		return nil
	}
	n := binary.BigEndian.Uint32(stored[end:])
	if int64(n) > int64(end) {
		return nil
	}
	return stored[n:end]
}
