package exec

import "github.com/streamdb/streamdb/vec"

// appendStorageKey appends the storage key of row i of a keyed relation.
func appendStorageKey(dst []byte, c *vec.Chunk, cols []int, i int) []byte {
	return vec.AppendKey(dst, c, cols, nil, nil, i)
}
