package state

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

const (
	// tableSplit is the size of a sorted table from which on the next relation
	// begins another one, so that system keys and relations do not make tables
	// that span everything and must be rewritten by every compaction.
	tableSplit = 1 << 20
	// tableMax is the size at which a relation is split between rows.
	tableMax = 32 << 20
	// maxSublevels is how far compactions may lag behind: ingestion is not
	// slowed down by Pebble itself, and reads get slower with every level.
	maxSublevels = 20
	lagPoll      = 5 * time.Millisecond
)

// ingest commits by sorted tables that one call makes visible and durable
// together. Unlike a large batch they do not hold up other commits.
func (t *tx) ingest(ctx context.Context) error {
	if err := t.waitForCompactions(ctx); err != nil {
		return err
	}
	b := &tableBuilder{s: t.s}
	err := t.build(b)
	if err == nil {
		err = b.finish()
	}
	if err == nil {
		t.s.ingesting.RLock()
		err = t.s.db.Ingest(context.WithoutCancel(ctx), b.paths)
		t.s.ingesting.RUnlock()
	}
	if err != nil {
		b.discard()
	}
	return err
}

func (t *tx) waitForCompactions(ctx context.Context) error {
	for t.s.db.Metrics().Levels[0].Sublevels > maxSublevels {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.s.stop:
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the state store is being closed")
		case <-time.After(lagPoll):
		}
	}
	return nil
}

// build writes the system keys into a table of their own and then the relations
// in the order of their ids.
func (t *tx) build(b *tableBuilder) error {
	if err := t.buildSystem(b); err != nil {
		return err
	}
	dropped := map[TableID]bool{}
	batches := map[TableID][]*RowBatch{}
	var ids []TableID
	for _, id := range t.c.DropTables {
		dropped[id] = true
		ids = append(ids, id)
	}
	for _, r := range t.c.Rows {
		if r.n > 0 {
			batches[r.table] = append(batches[r.table], r)
			ids = append(ids, r.table)
		}
	}
	slices.Sort(ids)
	for i, id := range slices.Compact(ids) {
		if err := b.relation(i == 0, dropped[id]); err != nil {
			return err
		}
		if dropped[id] {
			lo, hi := tableRange(id)
			if err := b.w.DeleteRange(lo, hi); err != nil {
				return err
			}
		}
		if err := mergeRuns(batches[id], b.add); err != nil {
			return err
		}
	}
	return nil
}

// buildSystem writes the last operation on every system key.
func (t *tx) buildSystem(b *tableBuilder) error {
	if err := b.open(); err != nil {
		return err
	}
	slices.SortStableFunc(t.ops, func(x, y sysOp) int { return bytes.Compare(x.key, y.key) })
	for i := range t.ops {
		op := &t.ops[i]
		if op.kind == opRange {
			// Ranges of relations are written with their rows. A range hides only
			// what is older than the table it is in.
			if bytes.HasPrefix(op.key, []byte{0, 0, 0, 0}) {
				if err := b.w.DeleteRange(op.key, op.val); err != nil {
					return err
				}
			}
			continue
		}
		if i+1 < len(t.ops) && t.ops[i+1].kind != opRange && bytes.Equal(t.ops[i+1].key, op.key) {
			continue
		}
		var err error
		switch op.kind {
		case opSet:
			err = b.w.Set(op.key, op.val)
		case opDelete:
			err = b.w.Delete(op.key)
		case opMerge:
			err = b.w.Merge(op.key, op.val)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tableBuilder writes sorted tables into the temporary directory.
type tableBuilder struct {
	s       *Store
	w       *sstable.Writer
	ranges  bool // the open table has a range deletion
	paths   []string
	scratch []byte
}

func (b *tableBuilder) open() error {
	path := b.s.path(tmpDir, strconv.FormatUint(b.s.nextFile.Add(1), 10)+".sst")
	f, err := b.s.fs.Create(path, vfs.WriteCategory)
	if err != nil {
		return err
	}
	b.paths = append(b.paths, path)
	b.w = sstable.NewWriter(objstorageprovider.NewFileWritable(f), b.s.popt.MakeWriterOptions(0, b.s.db.TableFormat()))
	b.ranges = false
	return nil
}

// finish completes and syncs the open table.
func (b *tableBuilder) finish() error {
	w := b.w
	b.w = nil
	if w == nil {
		return nil
	}
	return w.Close()
}

// relation prepares for the rows of the next relation.
func (b *tableBuilder) relation(first, dropped bool) error {
	if first || b.w.Raw().EstimatedSize() > tableSplit {
		if err := b.finish(); err != nil {
			return err
		}
		if err := b.open(); err != nil {
			return err
		}
	}
	b.ranges = b.ranges || dropped
	return nil
}

// add writes the net change of one key.
func (b *tableBuilder) add(key []byte, n netChange) error {
	if !b.ranges && b.w.Raw().EstimatedSize() > tableMax {
		if err := b.finish(); err != nil {
			return err
		}
		if err := b.open(); err != nil {
			return err
		}
	}
	switch {
	case n.kind == rowDelete:
		return b.w.Delete(key)
	case n.kind == rowPut:
		return b.w.Set(key, n.val)
	case n.count == 0 && !n.cleared:
		return nil
	}
	b.scratch = appendCount(b.scratch[:0], n.count)
	switch {
	case !n.cleared:
		return b.w.Merge(key, b.scratch)
	case n.count == 0:
		return b.w.Delete(key)
	}
	return b.w.Set(key, b.scratch)
}

func (b *tableBuilder) discard() {
	_ = b.finish()
	for _, p := range b.paths {
		_ = b.s.fs.Remove(p)
	}
}

// netChange is the effect of all changes of a key in a commit.
type netChange struct {
	kind    rowKind
	val     []byte // of a put
	count   int64  // of adds
	cleared bool   // a delete came before the adds
}

func (n *netChange) apply(kind rowKind, val []byte) error {
	if kind != rowAdd {
		*n = netChange{kind: kind, val: val}
		return nil
	}
	c, err := decodeCount(val)
	if err != nil {
		return err
	}
	switch n.kind {
	case rowPut:
		return pgerr.New(pgerr.Internal, "a stored relation got both counts and values")
	case rowDelete:
		*n = netChange{kind: rowAdd, cleared: true}
	}
	n.count += c
	return nil
}

// cursor walks one sorted run; order ranks equal keys by age.
type cursor struct {
	b     *RowBatch
	run   []rowEntry
	order int
}

func (c *cursor) less(d *cursor) bool {
	x, y := &c.run[0], &d.run[0]
	if x.prefix != y.prefix {
		return x.prefix < y.prefix
	}
	if cmp := bytes.Compare(c.b.key(x), d.b.key(y)); cmp != 0 {
		return cmp < 0
	}
	return c.order < d.order
}

// mergeRuns calls f with the net change of every key of a relation's batches, in
// key order.
func mergeRuns(batches []*RowBatch, f func(key []byte, n netChange) error) error {
	var heap []*cursor
	for _, b := range batches {
		b.sortRuns()
		for _, run := range b.runs {
			if len(run) > 0 {
				heap = append(heap, &cursor{b: b, run: run, order: len(heap)})
			}
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	var key []byte
	var net netChange
	for len(heap) > 0 {
		c := heap[0]
		e := &c.run[0]
		k := c.b.key(e)
		if key != nil && !bytes.Equal(k, key) {
			if err := f(key, net); err != nil {
				return err
			}
			key = nil
		}
		if key == nil {
			key, net = k, netChange{kind: rowAdd}
		}
		if err := net.apply(e.kind, c.b.val(e)); err != nil {
			return err
		}
		if c.run = c.run[1:]; len(c.run) == 0 {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		siftDown(heap, 0)
	}
	if key == nil {
		return nil
	}
	return f(key, net)
}

func siftDown(h []*cursor, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
