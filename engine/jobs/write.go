package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// apply validates the pending writes in order against the store and one another,
// sends the accepted ones down the change streams, and adds them to the commit.
// It returns the accepted writes; the others have been answered.
func (g *Graph) apply(ws []*stage.Write, c *state.Commit, by stage.Rules) []*stage.Write {
	if len(ws) == 0 {
		return nil
	}
	ov := map[uint32]*stage.Overlay{}
	sn := g.eng.Store.Snapshot()
	defer sn.Close()
	accepted := ws[:0]
	for _, w := range ws {
		var undo stage.UndoLog
		if err := g.Admit(by, sn, w, ov, &undo, len(ws) == 1, len(accepted) == 0); err != nil {
			w.Done <- err
			if len(ws) == 1 {
				return nil
			}
			undo.Run()
			continue
		}
		accepted = append(accepted, w)
		for i := range w.Tables {
			t := &w.Tables[i]
			sendChunked(g.tables[t.Rel].fan, t.Rows, g.eng.Config.ChunkRows)
		}
	}
	for rel, o := range ov {
		if g.tables[rel] == nil {
			continue // the keys of a unique index, which its job stores, or of a foreign key
		}
		rb := state.NewRowBatch(rel)
		for k, v := range o.Vals {
			if v == nil {
				rb.Delete([]byte(k))
			} else {
				rb.Put([]byte(k), v)
			}
		}
		for k, n := range o.Count {
			if n != 0 {
				rb.Add([]byte(k), n)
			}
		}
		c.Rows = append(c.Rows, rb)
	}
	return accepted
}

// Admit tells whether a write can be committed after those in the overlays. first:
// there are none; alone: there are no others in the epoch.
func (g *Graph) Admit(by stage.Rules, sn *state.Snapshot, w *stage.Write, ov map[uint32]*stage.Overlay, undo *stage.UndoLog, alone, first bool) error {
	if w.Reads != nil {
		if err := g.checkReads(sn, w.Reads, ov, first); err != nil {
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
func (g *Graph) validate(by stage.Rules, sn *state.Snapshot, w *stage.Write, ov map[uint32]*stage.Overlay, undo *stage.UndoLog, alone bool) error {
	snap := by.Cat
	for i := range w.Tables {
		t := &w.Tables[i]
		table, ok := snap.ByOID(t.Rel).(*catalog.Table)
		if !ok || g.tables[t.Rel] == nil || g.eng.LookupGraph(t.Rel) == nil {
			return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", t.Name)
		}
		if table.Revision != t.Revision {
			return stage.ErrConflict
		}
		us, err := g.uniques(snap, table)
		if err != nil {
			return err
		}
		unchanged := t.Checked && g.eng.Columns.Unchanged(t.Rel, t.SeenAt)
		if alone && unchanged && t.Key != nil && t.Keys != nil {
			// Nothing has come between, so the keys are what the write made of them.
			ov[t.Rel] = &stage.Overlay{Keyed: true, Vals: t.Keys}
		} else if err := stage.ValidateRows(sn, table, t, stage.OverlayOf(ov, t), undo, unchanged); err != nil {
			return err
		}
		if err := g.checkUnique(sn, t, us, ov, undo); err != nil {
			return err
		}
	}
	return g.checkForeign(by, sn, w, ov, undo)
}

// CommitWrite commits a write in the graph of its tables, merging graphs when it
// spans several so that it is one epoch.
func (e *Runner) CommitWrite(ctx context.Context, w *stage.Write) error {
	if len(w.Tables) == 0 {
		return nil
	}
	rels := make([]uint32, len(w.Tables))
	for i := range w.Tables {
		rels[i] = w.Tables[i].Rel
	}
	rels = stage.KeyRelations(e.Catalog.Current(), rels)
	if w.Reads != nil { // one graph, so that what is checked stays so until the commit
		for _, r := range w.Reads.Relations() {
			if e.LookupGraph(r) != nil && !slices.Contains(rels, r) {
				rels = append(rels, r)
			}
		}
	}
	g, err := e.GraphFor(ctx, rels)
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
func (g *Graph) submit(ctx context.Context, w *stage.Write) error {
	w.Done = make(chan error, 1)
	g, err := g.enqueue(w)
	if err != nil {
		return err
	}
	g.kick()
	queued, waited := LockWait(ctx)
	defer waited()
	for {
		select {
		case err := <-w.Done:
			return err
		case <-g.eng.Ctx.Done():
			return ShuttingDown()
		case <-queued.Done():
		}
		if g.withdraw(w) {
			return Canceled(queued)
		}
		if ctx.Err() != nil {
			break
		}
		queued = ctx // its turn has come: what it waits for is no lock any more
	}
	select {
	case err := <-w.Done:
		return err
	case <-time.After(commitGrace):
		return pgerr.New(pgerr.StatementCompletionUnknown, "canceling the wait for a commit").
			WithDetail("The changes may still take effect.")
	}
}

// enqueue adds a write to the graph, or to the one it has become part of, and
// returns that.
func (g *Graph) enqueue(w *stage.Write) (*Graph, error) {
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
func (g *Graph) withdraw(w *stage.Write) bool {
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
