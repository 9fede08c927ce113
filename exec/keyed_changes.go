package exec

import (
	"bytes"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// keyedChanges adds up the changes of an epoch to rows that have a unique key:
// what comes out is the last row of each key, or that it is gone.
type keyedChanges struct {
	keys   *keyer
	format *rowFormat
	table  *keyTable // payload: 1 + the first of the key's rows
	rows   slab      // the rows that a key had, of which mostly one or two are left
	bytes  arena     // ... and their encodings
	batch  rowBatch
	order  []uint32 // keys in the order they came
}

// The record of a row: the next one of its key (1 + row), weight, encoding.
const (
	changeNext   = 0
	changeWeight = 8
	changeRow    = 16
	changeSize   = 24
)

func newKeyedChanges(ts []types.T, key []int) *keyedChanges {
	k := &keyedChanges{keys: newKeyer(ts, key), format: newRowFormat(ts, allColumns(ts), false), rows: newSlab(changeSize)}
	k.table = k.keys.newTable(8)
	return k
}

// add counts the rows of a chunk.
func (k *keyedChanges) add(c *vec.Chunk) {
	k.keys.prepare(c)
	k.table.warm(k.keys.hash)
	k.format.encode(&k.batch, c)
	for i := range c.Rows {
		kid, added := k.table.upsert(k.keys, i)
		if added {
			k.order = append(k.order, kid)
		}
		r := k.row(k.table.rec(kid), k.batch.row(i))
		le.PutUint64(r[changeWeight:], le.Uint64(r[changeWeight:])+uint64(c.Weight(i)))
	}
}

// row returns the record of a row of a key, which is added if there is none.
func (k *keyedChanges) row(key, row []byte) []byte {
	head := le.Uint32(key)
	for id := head; id != 0; {
		r := k.rows.at(id - 1)
		if bytes.Equal(k.bytes.get(ref(le.Uint64(r[changeRow:]))), row) {
			return r
		}
		id = le.Uint32(r[changeNext:])
	}
	id := k.rows.add()
	r := k.rows.at(id)
	le.PutUint32(r[changeNext:], head)
	le.PutUint64(r[changeRow:], uint64(k.bytes.put(row)))
	le.PutUint32(key, id+1)
	return r
}

// each calls f for every key with a change: put with its new row, or not put with
// the row it had.
func (k *keyedChanges) each(b *opBase, f func(row []byte, put bool) error) error {
	for _, kid := range k.order {
		var now, before ref
		for id := le.Uint32(k.table.rec(kid)); id != 0; {
			r := k.rows.at(id - 1)
			row := ref(le.Uint64(r[changeRow:]))
			switch w := int64(le.Uint64(r[changeWeight:])); {
			case w == 0:
			case w == 1 && now == 0:
				now = row
			case w == -1 && before == 0:
				before = row
			default:
				return notUnique(b)
			}
			id = le.Uint32(r[changeNext:])
		}
		var err error
		switch {
		case now != 0:
			err = f(k.bytes.get(now), true)
		case before != 0:
			err = f(k.bytes.get(before), false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *keyedChanges) reset() {
	k.table.table.reset()
	if k.table.null != noID {
		k.table = k.keys.newTable(8)
	}
	k.rows.reset()
	k.bytes.reset()
	k.order = k.order[:0]
	if cap(k.order) > 1<<16 {
		k.order = nil
	}
}

func notUnique(b *opBase) error {
	return pgerr.New(pgerr.Internal, "operator %d (%s): two rows share a key that was taken to be unique", b.op, b.name)
}
