package exec

import (
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// keyer finds the records of rows by key columns: an integer path for one integer
// column, and encoded key bytes for everything else.
type keyer struct {
	cols   []int
	format *rowFormat
	isInt  bool
	batch  rowBatch
	ints   []int64
	nulls  vec.Bitmap
	hash   []uint64
}

// newKeyer makes a keyer over columns cols of rows with types ts.
func newKeyer(ts []types.T, cols []int) *keyer {
	k := &keyer{cols: cols, format: newRowFormat(ts, cols, true)}
	if len(cols) == 1 {
		switch ts[cols[0]].Kind() {
		case types.KInt64, types.KInt32, types.KInt16:
			k.isInt = true
		}
	}
	return k
}

// newTable makes a table for the keyer's keys.
func (k *keyer) newTable(payload int) *keyTable {
	if k.isInt {
		return &keyTable{table: newTable(payload, 8), isInt: true, null: noID}
	}
	if len(k.cols) == 0 {
		return &keyTable{table: newTable(payload, 1), null: noID}
	}
	return &keyTable{table: newTable(payload, k.format.keyWidth()), null: noID, format: k.format}
}

// prepare encodes and hashes the keys of a chunk.
func (k *keyer) prepare(c *vec.Chunk) {
	if cap(k.hash) < c.Rows {
		k.hash = make([]uint64, c.Rows)
	}
	k.hash = k.hash[:c.Rows]
	if k.isInt {
		k.prepareInts(c.Cols[k.cols[0]], c.Rows)
		return
	}
	if len(k.cols) == 0 {
		for i := range k.hash {
			k.hash[i] = emptyHash
		}
		return
	}
	k.format.encode(&k.batch, c)
	for i := range k.hash {
		k.hash[i] = hashKey(k.key(i))
	}
}

var (
	emptyKey  = []byte{0}
	emptyHash = hashKey(emptyKey)
)

// key returns the key bytes of row i of the prepared chunk.
func (k *keyer) key(i int) []byte {
	if len(k.cols) == 0 {
		return emptyKey
	}
	return k.batch.row(i)
}

func (k *keyer) prepareInts(v vec.Vector, n int) {
	k.ints = k.ints[:0]
	switch c := v.(type) {
	case *vec.Col[int64]:
		k.ints = append(k.ints, c.Vals[:n]...)
	case *vec.Col[int32]:
		for _, x := range c.Vals[:n] {
			k.ints = append(k.ints, int64(x))
		}
	case *vec.Col[int16]:
		for _, x := range c.Vals[:n] {
			k.ints = append(k.ints, int64(x))
		}
	}
	for i, x := range k.ints {
		k.hash[i] = hashInt(x)
	}
	k.nulls = v.Nulls()
}

// keyTable is a table with the keys of a keyer. The NULL key of an integer
// column has a record outside the index.
type keyTable struct {
	*table
	isInt bool
	null  uint32
	// format is that of the keys, to check saved ones; nil for integers and empty keys.
	format *rowFormat
}

// find returns the record of row i, or noID.
func (t *keyTable) find(k *keyer, i int) uint32 {
	if !t.isInt {
		return t.table.find(k.hash[i], k.key(i))
	}
	if len(k.nulls) > 0 && k.nulls.Get(i) {
		return t.null
	}
	return t.findInt(k.hash[i], k.ints[i])
}

// upsert returns the record of row i, adding it if there is none.
func (t *keyTable) upsert(k *keyer, i int) (id uint32, added bool) {
	if !t.isInt {
		return t.table.upsert(k.hash[i], k.key(i))
	}
	if len(k.nulls) > 0 && k.nulls.Get(i) {
		return t.upsertNull()
	}
	return t.upsertInt(k.hash[i], k.ints[i])
}

func (t *keyTable) upsertNull() (uint32, bool) {
	if t.null != noID {
		return t.null, false
	}
	t.null = t.recs.add()
	return t.null, true
}

// size returns the number of records.
func (t *keyTable) size() int {
	if t.null != noID {
		return t.n + 1
	}
	return t.n
}

// visit calls f for every record until it returns false.
func (t *keyTable) visit(f func(id uint32) bool) {
	if t.null == noID || f(t.null) {
		t.each(f)
	}
}

// drop removes a record.
func (t *keyTable) drop(id uint32) {
	switch {
	case id == t.null:
		t.null = noID
		t.recs.del(id)
	case t.isInt:
		t.remove(hashInt(int64(le.Uint64(t.key(id)))), id)
	default:
		t.remove(hashKey(t.key(id)), id)
	}
}

// appendKey appends the saved form of a record's key.
func (t *keyTable) appendKey(dst []byte, id uint32) []byte {
	if id == t.null {
		return append(dst, 1)
	}
	return append(append(dst, 0), t.key(id)...)
}

// loadKey returns the record of a saved key, adding it if there is none.
func (t *keyTable) loadKey(b []byte) (id uint32, added, ok bool) {
	switch {
	case t.isInt && len(b) == 1 && b[0] == 1:
		id, added = t.upsertNull()
	case len(b) < 1 || b[0] != 0 || (t.kw > 0 && len(b) != 1+t.kw),
		t.format != nil && !t.format.valid(b[1:]):
		return 0, false, false
	case t.isInt:
		x := int64(le.Uint64(b[1:]))
		id, added = t.upsertInt(hashInt(x), x)
	default:
		id, added = t.table.upsert(hashKey(b[1:]), b[1:])
	}
	return id, added, true
}
