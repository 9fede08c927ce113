package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// indexBuild makes the stored rows of an index from those of its table, as the
// index's job would, for a commit in which the index comes to be.
type indexBuild struct {
	*uniqueIndex
	key   []int // the storage key
	batch *state.RowBatch
	seen  map[string]bool // the unique keys so far
	kb    []byte
}

func newIndexBuild(snap *catalog.Snapshot, t *catalog.Table, ix *catalog.Index) (*indexBuild, error) {
	u, err := newUniqueIndex(snap, t, ix)
	if err != nil {
		return nil, err
	}
	b := &indexBuild{uniqueIndex: u, key: indexKey(ix, t), batch: state.NewRowBatch(ix.OID)}
	if ix.Unique {
		b.seen = map[string]bool{}
	}
	return b, nil
}

// add adds the rows of a chunk of the table.
func (b *indexBuild) add(c *vec.Chunk) error {
	for i := range c.Rows {
		if err := b.unique(c, i); err != nil {
			return err
		}
		row, k, err := b.over(c, i)
		if err != nil {
			return err
		}
		switch {
		case row == nil: // not in a partial index
		case catalog.StorageKey(b.table) == nil:
			b.batch.Add(exec.AppendOrderedRow(b.kb[:0], row, b.key, k), c.Weight(i))
		default:
			b.kb = vec.AppendKey(b.kb[:0], row, b.key, nil, nil, k)
			b.batch.Put(b.kb, vec.AppendRow(nil, row, nil, k))
		}
	}
	return nil
}

// unique refuses a row with a key that was there before.
func (b *indexBuild) unique(c *vec.Chunk, i int) error {
	if b.seen == nil {
		return nil
	}
	key, unique, err := b.uniqueIndex.key(b.kb[:0], c, i)
	if b.kb = key; err != nil || !unique {
		return err
	}
	if c.Weight(i) > 1 || b.seen[string(key)] {
		e := pgerr.New(pgerr.UniqueViolation, "could not create unique index \"%s\"", b.ix.Name).WithDetail("Key %s is duplicated.", b.described(c, i))
		e.Schema, e.Table, e.Constraint = b.table.Schema, b.table.Name, b.ix.Name
		return e
	}
	b.seen[string(key)] = true
	return nil
}
