package stage

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// IndexBuild makes the stored rows of an index from those of its table, as the
// index's job would, for a commit in which the index comes to be.
type IndexBuild struct {
	*UniqueIndex
	key   []int // the storage key
	Batch *state.RowBatch
	Seen  map[string]bool // the unique keys so far
	kb    []byte
}

// NewIndexBuild is for an index of t that has no rows yet.
func NewIndexBuild(snap *catalog.Snapshot, t *catalog.Table, ix *catalog.Index) (*IndexBuild, error) {
	u, err := NewUniqueIndex(snap, t, ix)
	if err != nil {
		return nil, err
	}
	b := &IndexBuild{UniqueIndex: u, key: IndexKey(ix, t), Batch: state.NewRowBatch(ix.OID)}
	if ix.Unique {
		b.Seen = map[string]bool{}
	}
	return b, nil
}

// Add adds the rows of a chunk of the table.
func (b *IndexBuild) Add(c *vec.Chunk) error {
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
			b.Batch.Add(exec.AppendOrderedRow(b.kb[:0], row, b.key, k), c.Weight(i))
		default:
			b.kb = vec.AppendKey(b.kb[:0], row, b.key, nil, nil, k)
			b.Batch.Put(b.kb, vec.AppendRow(nil, row, nil, k))
		}
	}
	return nil
}

// unique refuses a row with a key that was there before.
func (b *IndexBuild) unique(c *vec.Chunk, i int) error {
	if b.Seen == nil {
		return nil
	}
	key, unique, err := b.UniqueIndex.Key(b.kb[:0], c, i)
	if b.kb = key; err != nil || !unique {
		return err
	}
	if c.Weight(i) > 1 || b.Seen[string(key)] {
		e := pgerr.New(pgerr.UniqueViolation, "could not create unique index \"%s\"", b.Ix.Name).WithDetail("Key %s is duplicated.", b.Described(c, i))
		e.Schema, e.Table, e.Constraint = b.table.Schema, b.table.Name, b.Ix.Name
		return e
	}
	b.Seen[string(key)] = true
	return nil
}
