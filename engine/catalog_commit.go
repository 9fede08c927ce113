package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// catalogCommit makes what a transaction has changed of the catalog take effect,
// together with its rows, in one commit:
//
//   - all of the catalog's entries;
//   - what is stored for objects that go, which end with it;
//   - the rows of tables whose columns change, and of all their indexes;
//   - the rows of indexes that come, on new tables and on others;
//   - the rows written to tables, as an epoch of their graph if there was one before.
//
// Jobs of new materialized views and sinks begin after it and read what it has left.
type catalogCommit struct {
	s          *Session
	e          *Engine
	ctx        context.Context
	base, next *catalog.Snapshot
	writes     map[uint32]*stage.TableWrite // of tables that stay, by OID

	gone     []catalog.Object
	made     []*catalog.Table
	reshaped []*catalog.Table
	indexes  []*catalog.Index          // new ones on tables
	jobs     map[uint32]bool           // other new jobs
	renamed  map[uint32]catalog.Object // jobs with other names
	joined   map[uint32]bool           // new tables that are part of the graph

	write *stage.Write
	keys  map[uint32]map[string]bool // of built unique indexes
	extra *state.Commit
}

// commitCatalog commits the transaction, whose rows are w.
func (s *Session) commitCatalog(ctx context.Context, w *stage.Write) error {
	e := s.eng
	if err := e.DDL.Acquire(ctx); err != nil {
		return err
	}
	js, err := s.commitLocked(ctx, w)
	e.DDL.Unlock()
	if err != nil || len(js) == 0 {
		return err
	}
	type outcome struct {
		j   *jobs.Job
		err error
	}
	up := make(chan outcome, len(js))
	go func() {
		defer close(up)
		e.StartPending(js, func(j *jobs.Job, err error) { up <- outcome{j, err} })
	}()
	for {
		select {
		case o, more := <-up:
			if !more {
				return nil
			}
			if o.err != nil {
				s.notice("WARNING", pgerr.New(pgerr.CodeOf(o.err), "%s has failed: %s", o.j.Name(), pgerr.From(o.err).Msg).
					WithDetail("The transaction is committed.").WithHint("ALTER … RESUME begins it anew."))
			}
		case <-ctx.Done():
			s.notice("WARNING", pgerr.New(pgerr.Warning, "the transaction is committed, and its materialized views and sinks are still catching up").
				WithHint("SHOW JOBS tells how far they are."))
			return nil
		}
	}
}

func (s *Session) commitLocked(ctx context.Context, w *stage.Write) ([]*jobs.Job, error) {
	e, t := s.eng, s.tx.ddl
	if e.Ctx.Err() != nil {
		return nil, jobs.ShuttingDown()
	}
	base := e.Catalog.Current()
	next := t.current(base)
	if t.lost != nil {
		return nil, t.lost
	}
	_, entries, err := t.over(base)
	if err != nil {
		return nil, err
	}
	c := &catalogCommit{s: s, e: e, ctx: ctx, base: base, next: next, writes: map[uint32]*stage.TableWrite{}, jobs: map[uint32]bool{},
		renamed: map[uint32]catalog.Object{}, joined: map[uint32]bool{}, keys: map[uint32]map[string]bool{}, extra: &state.Commit{Meta: jobs.CatalogKV(entries)}}
	c.write = &stage.Write{Reads: w.Reads}
	for i := range w.Tables {
		if _, ok := next.ByOID(w.Tables[i].Rel).(*catalog.Table); ok {
			c.writes[w.Tables[i].Rel] = &w.Tables[i]
		}
	}
	c.compare(t.changes)
	if err := c.run(); err != nil {
		return nil, err
	}
	return c.start(), nil
}

// compare finds out what the changes come to.
func (c *catalogCommit) compare(changes []catalog.Change) {
	seen := map[uint32]bool{}
	for _, ch := range changes {
		oid := ch.Drop
		for _, o := range []catalog.Object{ch.Create, ch.Replace} {
			if o != nil {
				oid = o.Header().OID
			}
		}
		if seen[oid] {
			continue
		}
		was, is := c.base.ByOID(oid), c.next.ByOID(oid)
		if ch.Drop == 0 && is == nil && was != nil {
			continue // its turn comes with the change that drops it, after what depended on it
		}
		seen[oid] = true
		switch {
		case was == nil && is != nil:
			c.created(is)
		case was != nil && is == nil:
			c.gone = append(c.gone, was)
		case was != nil:
			if w := c.writes[oid]; w != nil && w.Whole {
				c.reshaped = append(c.reshaped, is.(*catalog.Table))
			}
			if jobs.JobName(was) != jobs.JobName(is) && c.e.JobOf(oid) != nil {
				c.renamed[oid] = is
			}
		}
	}
}

func (c *catalogCommit) created(o catalog.Object) {
	switch o := o.(type) {
	case *catalog.Table:
		c.made = append(c.made, o)
	case *catalog.MatView, *catalog.Sink:
		c.jobs[o.Header().OID] = true
	case *catalog.Index:
		if _, ok := c.next.ByOID(o.Table).(*catalog.Table); ok {
			c.indexes = append(c.indexes, o)
		} else {
			c.jobs[o.OID] = true
		}
	}
}

// relations are the tables whose graphs must be at rest for the commit.
func (c *catalogCommit) relations() []uint32 {
	rels := map[uint32]bool{}
	for oid := range c.writes {
		rels[oid] = true
	}
	for _, ix := range c.indexes {
		rels[ix.Table] = true
	}
	for oid := range c.s.tx.ddl.read {
		rels[oid] = true
	}
	var out []uint32
	for _, oid := range stage.KeyRelations(c.next, sortedKeys(rels)) {
		if c.base.ByOID(oid) != nil && c.next.ByOID(oid) != nil {
			out = append(out, oid)
		}
	}
	slices.Sort(out)
	return out
}

// run commits.
func (c *catalogCommit) run() error {
	rels := c.relations()
	if w := c.s.tx.reads; w != nil {
		for _, r := range w.Relations() {
			if c.e.LookupGraph(r) != nil && c.next.ByOID(r) != nil && !slices.Contains(rels, r) {
				rels = append(rels, r)
			}
		}
	}
	if len(rels) == 0 {
		return c.withoutGraph()
	}
	if _, err := c.e.GraphFor(c.ctx, rels); err != nil {
		return err
	}
	return c.e.TableAtRest(c.ctx, rels[0], c.turn)
}

// withoutGraph commits what concerns no table that there was before.
func (c *catalogCommit) withoutGraph() error {
	sn := c.e.Store.Snapshot()
	defer sn.Close()
	if err := c.build(sn, nil); err != nil {
		return err
	}
	c.remove()
	c.extra.Epoch = c.e.NextEpoch()
	return c.e.Retire(jobs.OIDsOf(c.gone), func() error {
		return c.publish(func() error { return c.e.Commit(c.extra) })
	})
}

// publish makes the catalog current in one step with a commit.
func (c *catalogCommit) publish(commit func() error) error {
	return c.e.Swap(func() error {
		if err := commit(); err != nil {
			return err
		}
		c.e.Catalog.Publish(c.next)
		return nil
	})
}

// turn commits with the graph of the tables concerned at rest.
func (c *catalogCommit) turn(g *jobs.Graph) (err error) {
	if err := c.undisturbed(g); err != nil {
		return err
	}
	c.join(g)
	defer func() {
		if err != nil {
			c.part(g)
		}
	}()
	sn := c.e.Store.Snapshot()
	defer sn.Close()
	if err := c.build(sn, g); err != nil {
		return err
	}
	by := stage.Rules{Cat: c.next, Keys: c.keys}
	for _, oid := range sortedKeys(c.writes) {
		if w := c.writes[oid]; !w.Whole && g.Has(oid) {
			c.write.Tables = append(c.write.Tables, *w)
		}
	}
	var undo stage.UndoLog
	if err := g.Admit(by, sn, c.write, map[uint32]*stage.Overlay{}, &undo, true, true); err != nil {
		return err
	}
	c.remove()
	ends := c.e.NewRetirement(jobs.OIDsOf(c.gone))
	left := g.Leave(ends.OIDs)
	t := &jobs.Turn{Extra: c.extra, Rules: by, Around: func(commit func() error) error {
		return ends.Run(g, func() error { return c.publish(commit) })
	}}
	if len(c.write.Tables) > 0 {
		t.Write = c.write
	}
	err = g.TakeTurn(t)
	if err != nil {
		g.ComeBack(left)
		g.FallBack()
	}
	ends.End(err)
	if err != nil {
		return err
	}
	g.Purge()
	if len(c.reshaped) > 0 {
		g.Rebuild()
	}
	for _, ix := range c.indexes {
		if g.Has(ix.Table) {
			g.AddIndex(ix)
		}
	}
	return nil
}

// undisturbed refuses the commit if others have changed the rows that it relies on.
func (c *catalogCommit) undisturbed(g *jobs.Graph) error {
	since := maps.Clone(c.s.tx.ddl.read)
	for _, t := range c.reshaped {
		if g.Recorded(t.OID) {
			return pgerr.New(pgerr.ObjectInUse, "cannot ALTER TABLE \"%s\" because an object that reads it is being created", t.Name).
				WithHint("SHOW JOBS tells how far it is.")
		}
		for _, oid := range append(stage.KeyRelations(c.next, []uint32{t.OID}), t.OID) {
			if was, ok := since[oid]; !ok || c.writes[t.OID].SeenAt < was {
				since[oid] = c.writes[t.OID].SeenAt
			}
		}
	}
	for oid, clock := range since {
		if c.base.ByOID(oid) != nil && c.next.ByOID(oid) != nil && !c.e.Columns.Unchanged(oid, clock) {
			return stage.SerializationFailure()
		}
	}
	return nil
}

// join makes new tables part of the graph that must be committed together with others.
func (c *catalogCommit) join(g *jobs.Graph) {
	for _, t := range c.made {
		if c.writes[t.OID] == nil && len(stage.KeyRelations(c.next, []uint32{t.OID})) == 1 {
			continue
		}
		c.joined[t.OID] = true
		g.Join(t.OID)
	}
}

// part undoes join.
func (c *catalogCommit) part(g *jobs.Graph) {
	for oid := range c.joined {
		g.Part(oid)
	}
}

// build adds to the commit the rows that no epoch brings: of tables with other columns
// and of new tables, unless they are part of the graph, and of indexes. It checks that
// unique ones are.
func (c *catalogCommit) build(sn *state.Snapshot, g *jobs.Graph) error {
	r := &run{s: c.s, ctx: c.ctx, cat: c.next.In(c.s.db), snap: sn, own: map[uint32]*stage.TableWrite{}}
	for oid, w := range c.writes {
		r.own[oid] = w
	}
	wanted := map[*catalog.Table][]*catalog.Index{}
	for _, ix := range c.indexes {
		t := c.next.ByOID(ix.Table).(*catalog.Table)
		wanted[t] = append(wanted[t], ix)
	}
	for _, t := range c.made {
		if !c.joined[t.OID] {
			wanted[t] = append(wanted[t], nil)
		}
	}
	for _, t := range c.reshaped {
		wanted[t] = append([]*catalog.Index{nil}, c.next.Indexes(t.OID)...)
		c.extra.DropTables = append(c.extra.DropTables, t.OID)
		for _, ix := range c.next.Indexes(t.OID) { // their jobs begin anew
			c.extra.DropTables = append(c.extra.DropTables, ix.OID)
			c.extra.Meta = append(c.extra.Meta, state.KV{Key: jobs.StartedKey(ix.OID)})
		}
	}
	for t, ixs := range wanted {
		if err := c.buildTable(r, t, ixs); err != nil {
			return err
		}
	}
	return nil
}

// buildTable adds the rows of indexes of a table, and for nil those of the table.
func (c *catalogCommit) buildTable(r *run, t *catalog.Table, ixs []*catalog.Index) error {
	var adds []func(*vec.Chunk) error
	for _, ix := range ixs {
		if ix == nil {
			b := newTableBuild(t)
			c.extra.Rows = append(c.extra.Rows, b.batch)
			adds = append(adds, b.add)
			continue
		}
		b, err := stage.NewIndexBuild(c.next, t, ix)
		if err != nil {
			return err
		}
		if c.extra.Rows = append(c.extra.Rows, b.Batch); b.Seen != nil {
			c.keys[ix.OID] = b.Seen
		}
		adds = append(adds, b.Add)
	}
	return r.visible(t, func(ch *vec.Chunk) error {
		for _, add := range adds {
			if err := add(ch); err != nil {
				return err
			}
		}
		return nil
	})
}

// remove adds to the commit the end of what is stored for what goes, and what else it
// says besides rows.
func (c *catalogCommit) remove() {
	e := c.e
	for _, o := range c.gone {
		e.DropStorage(c.extra, o.Header().OID)
	}
	for oid, q := range c.s.tx.ddl.seqs {
		if c.next.ByOID(oid) != nil {
			c.extra.Meta = append(c.extra.Meta, jobs.SequenceRecord(oid, q.Last, q.Called))
		}
	}
	for oid, o := range c.renamed {
		j := e.JobOf(oid)
		if err := e.RenameErrors(c.extra, j, jobs.JobName(o)); err != nil {
			e.Log.Error("the errors of a renamed object keep its old name", "object", j.Name(), "err", err)
		}
	}
	for oid := range c.jobs {
		c.extra.Meta = append(c.extra.Meta, state.KV{Key: jobs.PendingKey(oid), Val: []byte{1}})
	}
}

// start does what follows the commit: new tables get graphs of their own, sequences go
// on where the transaction left them, and the jobs that are to catch up are returned.
func (c *catalogCommit) start() []*jobs.Job {
	e := c.e
	for _, t := range c.made {
		if c.joined[t.OID] {
			continue
		}
		e.StartGraph(t.OID, slices.DeleteFunc(slices.Clone(c.indexes), func(ix *catalog.Index) bool { return ix.Table != t.OID }))
	}
	for oid, q := range c.s.tx.ddl.seqs {
		if def, ok := c.next.ByOID(oid).(*catalog.Sequence); ok {
			if shared, _, err := e.Sequence(def); err == nil {
				shared.Put(q.Last, q.Called)
				shared.Mu.Unlock()
			}
		}
	}
	for _, o := range c.gone {
		e.ForgetSequence(o.Header().OID)
	}
	for oid, o := range c.renamed {
		if j := e.JobOf(oid); j != nil {
			j.Rename(jobs.JobName(o))
		}
	}
	return e.AddPending(e.InOrder(c.jobs))
}
