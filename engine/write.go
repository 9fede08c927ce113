package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// write is one statement's or transaction's changes to tables, to be committed
// in one epoch.
type write struct {
	tables []tableWrite
	reads  *readSet // what must not have changed; nil: anything may
	done   chan error
}

// tableWrite is the change of one table: whole rows with weights, in the order
// they were made. A keyed table's changes hold at most one delete, then at most
// one insert, for a key at a time.
type tableWrite struct {
	rel  uint32
	name string
	// revision is that of the table for which the rows were checked.
	revision uint32
	key      []int // storage key columns; nil: none
	rows     *vec.Chunk
	// lenient: some of the rows are there because a key was found free (ON CONFLICT),
	// so a key that is taken by now is a conflict, not an error.
	lenient bool
	// checked: every key was found as the changes expect it, in snapshots of which the
	// oldest has the clock seenAt.
	checked  bool
	seenAt   uint64
	unique   []*uniqueKeys
	later    []*laterKeys     // of keys that are checked later
	enforced []*catalog.Index // those that unique and later are of
	// whole: rows are all that the table has; what is stored is not to be read. Its
	// columns are others than those of the stored rows.
	whole bool
	// keys is, for a keyed table inside a transaction, what became of each key
	// written: its row, or nil; built when first needed.
	keys map[string][]byte
}

// errConflict means that a row read by the statement has changed since.
var errConflict = errors.New("engine: a concurrent write changed the rows read")

func serializationFailure() error {
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithHint("Run the transaction again.")
}

// conflictError is what a client gets for a conflict: the violation of a key as such,
// anything else as a reason to run the transaction again.
func conflictError(err error) error {
	var v violation
	switch {
	case errors.As(err, &v):
		return v.err
	case errors.Is(err, readConflict{}):
		return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to read/write dependencies among transactions").
			WithHint("The transaction might succeed if retried.")
	case errors.Is(err, errConflict):
		return serializationFailure()
	}
	return err
}

// overlay holds what an epoch's writes make of a table's keys.
type overlay struct {
	keyed bool
	vals  map[string][]byte // keyed: the row; nil: absent
	count map[string]int64  // unkeyed: the change of the count
}

// undoLog takes back what a refused write has left in the overlays.
type undoLog []undoEntry

type undoEntry struct {
	o    *overlay
	key  string
	val  []byte
	seen bool
	n    int64
}

func (u undoLog) run() {
	for i := len(u) - 1; i >= 0; i-- {
		e := &u[i]
		switch {
		case !e.o.keyed:
			e.o.count[e.key] -= e.n
		case e.seen:
			e.o.vals[e.key] = e.val
		default:
			delete(e.o.vals, e.key)
		}
	}
}

// rules are what writes are held against.
type rules struct {
	cat *catalog.Snapshot
	// keys are the keys that there will be after the epoch, of unique indexes that come
	// to be in it.
	keys map[uint32]map[string]bool
}

// apply validates the pending writes in order against the store and one another,
// sends the accepted ones down the change streams, and adds them to the commit.
// It returns the accepted writes; the others have been answered.
func (g *graph) apply(ws []*write, c *state.Commit, by rules) []*write {
	if len(ws) == 0 {
		return nil
	}
	ov := map[uint32]*overlay{}
	sn := g.eng.store.Snapshot()
	defer sn.Close()
	accepted := ws[:0]
	for _, w := range ws {
		var undo undoLog
		if err := g.admit(by, sn, w, ov, &undo, len(ws) == 1, len(accepted) == 0); err != nil {
			w.done <- err
			if len(ws) == 1 {
				return nil
			}
			undo.run()
			continue
		}
		accepted = append(accepted, w)
		for i := range w.tables {
			t := &w.tables[i]
			sendChunked(g.tables[t.rel].fan, t.rows, g.eng.cfg.ChunkRows)
		}
	}
	for rel, o := range ov {
		if g.tables[rel] == nil {
			continue // the keys of a unique index, which its job stores, or of a foreign key
		}
		rb := state.NewRowBatch(rel)
		for k, v := range o.vals {
			if v == nil {
				rb.Delete([]byte(k))
			} else {
				rb.Put([]byte(k), v)
			}
		}
		for k, n := range o.count {
			if n != 0 {
				rb.Add([]byte(k), n)
			}
		}
		c.Rows = append(c.Rows, rb)
	}
	return accepted
}

// admit tells whether a write can be committed after those in the overlays. first:
// there are none; alone: there are no others in the epoch.
func (g *graph) admit(by rules, sn *state.Snapshot, w *write, ov map[uint32]*overlay, undo *undoLog, alone, first bool) error {
	if w.reads != nil {
		if err := g.checkReads(sn, w.reads, ov, first); err != nil {
			return err
		}
	}
	return g.validate(by, sn, w, ov, undo, alone)
}

func sendChunked(out interface{ Send(*vec.Chunk) error }, c *vec.Chunk, rows int) {
	if c.Rows <= rows {
		_ = out.Send(c)
		return
	}
	part := vec.NewChunk(c.Types(), rows)
	for lo := 0; lo < c.Rows; lo += rows {
		part.Reset()
		part.AppendRange(c, lo, min(lo+rows, c.Rows))
		_ = out.Send(part)
	}
}

// validate checks a write against the store and the overlays of those before it, to
// which it adds its own changes. What it leaves there when it refuses the write undo
// takes back, unless the write is alone in its epoch.
func (g *graph) validate(by rules, sn *state.Snapshot, w *write, ov map[uint32]*overlay, undo *undoLog, alone bool) error {
	snap := by.cat
	for i := range w.tables {
		t := &w.tables[i]
		table, ok := snap.ByOID(t.rel).(*catalog.Table)
		if !ok || g.tables[t.rel] == nil || g.eng.lookupGraph(t.rel) == nil {
			return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", t.name)
		}
		if table.Revision != t.revision {
			return errConflict
		}
		us, err := g.uniques(snap, table)
		if err != nil {
			return err
		}
		unchanged := t.checked && g.eng.cols.Unchanged(t.rel, t.seenAt)
		if alone && unchanged && t.key != nil && t.keys != nil {
			// Nothing has come between, so the keys are what the write made of them.
			ov[t.rel] = &overlay{keyed: true, vals: t.keys}
		} else if err := validateRows(sn, table, t, overlayOf(ov, t), undo, unchanged); err != nil {
			return err
		}
		if err := g.checkUnique(sn, t, us, ov, undo); err != nil {
			return err
		}
	}
	return g.checkForeign(by, sn, w, ov, undo)
}

// overlayOf returns the overlay of a table that is written, made if need be.
func overlayOf(ov map[uint32]*overlay, t *tableWrite) *overlay {
	o := ov[t.rel]
	if o == nil {
		o = &overlay{keyed: t.key != nil}
		if o.keyed {
			o.vals = make(map[string][]byte, t.rows.Rows)
		} else {
			o.count = make(map[string]int64, t.rows.Rows)
		}
		ov[t.rel] = o
	}
	return o
}

// validateRows checks the changes of a table and adds them to its overlay.
func validateRows(sn *state.Snapshot, table *catalog.Table, t *tableWrite, o *overlay, undo *undoLog, unchanged bool) error {
	*undo = slices.Grow(*undo, t.rows.Rows)
	if o.keyed {
		return validateKeyed(sn, table, t, o, undo, unchanged)
	}
	return validateBag(sn, t, o, undo)
}

// validateKeyed checks the changes of a table with a key against what is stored,
// if that may have changed since they were made, and against earlier writes.
func validateKeyed(sn *state.Snapshot, table *catalog.Table, t *tableWrite, o *overlay, undo *undoLog, unchanged bool) error {
	var key, row []byte
	for i := range t.rows.Rows {
		key = vec.AppendKey(key[:0], t.rows, t.key, nil, nil, i)
		row = vec.AppendRow(row[:0], t.rows, nil, i)
		cur, seen := o.vals[string(key)]
		switch {
		case seen:
		case unchanged && t.rows.Weight(i) < 0:
			cur = row
		case !unchanged:
			v, ok, err := sn.Get(t.rel, key)
			if err != nil {
				return err
			}
			if ok {
				cur = bytes.Clone(v)
			}
		}
		k := string(key)
		*undo = append(*undo, undoEntry{o: o, key: k, val: cur, seen: seen})
		switch w := t.rows.Weight(i); {
		case w == 1 && cur == nil:
			o.vals[k] = bytes.Clone(row)
		case w == -1 && cur != nil && bytes.Equal(cur, row):
			o.vals[k] = nil
		case w == 1 && !t.lenient:
			return violation{duplicateKey(table, t.rows, i)}
		default:
			return errConflict
		}
	}
	return nil
}

func validateBag(sn *state.Snapshot, t *tableWrite, o *overlay, undo *undoLog) error {
	var row []byte
	for i := range t.rows.Rows {
		row = vec.AppendRow(row[:0], t.rows, nil, i)
		k, w := string(row), t.rows.Weight(i)
		if w < 0 {
			n, err := sn.Count(t.rel, row)
			if err != nil {
				return err
			}
			if n+o.count[k]+w < 0 {
				return errConflict
			}
		}
		o.count[k] += w
		*undo = append(*undo, undoEntry{o: o, key: k, n: w})
	}
	return nil
}

// commitWrite commits a write in the graph of its tables, merging graphs when it
// spans several so that it is one epoch.
func (e *Engine) commitWrite(ctx context.Context, w *write) error {
	if len(w.tables) == 0 {
		return nil
	}
	rels := make([]uint32, len(w.tables))
	for i := range w.tables {
		rels[i] = w.tables[i].rel
	}
	rels = keyRelations(e.cat.Current(), rels)
	if w.reads != nil { // one graph, so that what is checked stays so until the commit
		for _, r := range w.reads.relations() {
			if e.lookupGraph(r) != nil && !slices.Contains(rels, r) {
				rels = append(rels, r)
			}
		}
	}
	g, err := e.graphFor(ctx, rels)
	if err != nil {
		return err
	}
	return g.submit(ctx, w)
}

// commitGrace is how long a cancelled statement still waits for a commit that
// has begun, in the hope of a definite answer.
const commitGrace = time.Second

// submit queues a write and waits for the commit of its epoch. When ctx ends first,
// or lock_timeout, the write is withdrawn, if it has not been taken up yet; else, and
// if it was ctx, its fate is unknown and the error says so.
func (g *graph) submit(ctx context.Context, w *write) error {
	w.done = make(chan error, 1)
	g, err := g.enqueue(w)
	if err != nil {
		return err
	}
	g.kick()
	queued, waited := lockWait(ctx)
	defer waited()
	for {
		select {
		case err := <-w.done:
			return err
		case <-g.eng.ctx.Done():
			return shuttingDown()
		case <-queued.Done():
		}
		if g.withdraw(w) {
			return canceled(queued)
		}
		if ctx.Err() != nil {
			break
		}
		queued = ctx // its turn has come: what it waits for is no lock any more
	}
	select {
	case err := <-w.done:
		return err
	case <-time.After(commitGrace):
		return pgerr.New(pgerr.StatementCompletionUnknown, "canceling the wait for a commit").
			WithDetail("The changes may still take effect.")
	}
}

// enqueue adds a write to the graph, or to the one it has become part of, and
// returns that.
func (g *graph) enqueue(w *write) (*graph, error) {
	for {
		g.qmu.Lock()
		next, ended := g.into, g.ended
		if next == nil && !ended {
			g.writes = append(g.writes, w)
		}
		g.qmu.Unlock()
		switch {
		case next != nil:
			g = next
		case ended:
			return nil, g.endError()
		default:
			return g, nil
		}
	}
}

// withdraw takes a write out of the queue; false: an epoch has taken it up.
func (g *graph) withdraw(w *write) bool {
	for ; g != nil; g = g.merged() {
		g.qmu.Lock()
		i := slices.Index(g.writes, w)
		if i >= 0 {
			g.writes = slices.Delete(g.writes, i, i+1)
		}
		g.qmu.Unlock()
		if i >= 0 {
			return true
		}
	}
	return false
}
