package engine

import (
	"cmp"
	"context"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// apply makes the alteration take effect.
func (a *alteration) apply(ctx context.Context) error {
	e := a.s.eng
	e.Catalog.Assign(a.t, a.t.Database)
	for _, ix := range a.indexes {
		ix.Schema, ix.Owner, ix.Table = a.t.Schema, a.t.Owner, a.t.OID
		e.Catalog.Assign(ix, a.t.Database)
	}
	planner.LinkForeignKeys(a.t, a.existing())
	a.revise()
	changes, err := a.changes()
	if err != nil {
		return err
	}
	snap := a.s.catalog()
	next, _, err := snap.Apply(changes...)
	if err != nil {
		return err
	}
	if a.reshaped || a.columnRenamed || a.keyDropped != "" {
		if err := a.unmoved(snap, next); err != nil {
			return err
		}
	}
	if a.s.tx.ddl != nil {
		return a.stage(ctx, next, changes)
	}
	if _, err = e.GraphFor(ctx, a.tied()); err != nil {
		return err
	}
	err = e.TableAtRest(ctx, a.t.OID, func(g *jobs.Graph) error { return a.commit(g, next, changes) })
	if err != nil {
		return err
	}
	for _, o := range a.gone {
		e.ForgetSequence(o.Header().OID)
	}
	a.notice()
	return nil
}

// notice tells what CASCADE has dropped.
func (a *alteration) notice() {
	switch n := len(a.noticed); n {
	case 0:
	case 1:
		a.s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %s", a.noticed[0]))
	default:
		a.s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %d other objects", n).
			WithDetail("drop cascades to %s", strings.Join(a.noticed, "\ndrop cascades to ")))
	}
}

// unmoved checks that what reads the table means the same afterwards.
func (a *alteration) unmoved(snap, next *catalog.Snapshot) error {
	for _, d := range snap.DropOrder(a.t.OID) {
		oid := d.Header().OID
		n := next.ByOID(oid)
		if n == nil {
			continue
		}
		was, err := a.s.eng.PlanPrint(snap, d)
		if err != nil {
			continue // what cannot be planned today is none the worse
		}
		is, err := a.s.eng.PlanPrint(next, n)
		if err != nil && a.keyDropped != "" {
			what := "constraint " + a.keyDropped + " on table " + a.t.Name
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
				WithDetail("%s %s depends on %s", d.Kind(), d.Header().Name, what).WithHint("Drop these objects first, and create them again.")
		}
		if err != nil || was != is {
			return pgerr.Unsupported("this change of table \""+a.t.Name+"\"",
				d.Kind().String()+" "+d.Header().Name+" would mean something else afterwards. Drop it, and create it again.")
		}
	}
	return nil
}

// commit is called with the graph of the table at rest.
func (a *alteration) commit(g *jobs.Graph, next *catalog.Snapshot, changes []catalog.Change) error {
	e := a.s.eng
	if a.reshaped {
		if g.Recorded(a.t.OID) {
			return pgerr.New(pgerr.ObjectInUse, "cannot ALTER TABLE \"%s\" because an object that reads it is being created", a.t.Name).
				WithHint("SHOW JOBS tells how far it is.")
		}
	}
	c := &state.Commit{}
	if err := a.readRows(next, c); err != nil {
		return err
	}
	ends := append(sortedKeys(a.dropped), jobs.OIDsOf(a.gone)...)
	for _, oid := range ends {
		e.DropStorage(c, oid)
	}
	change := func() error { return e.ChangeCatalog(c, changes...) }
	if a.reshaped {
		change = func() error { return e.Swap(func() error { return e.ChangeCatalog(c, changes...) }) }
	}
	if err := e.Retire(ends, change); err != nil {
		return err
	}
	if a.reshaped {
		g.Purge()
		g.Rebuild() // the jobs read and store the rows in their new shape
	}
	for _, ix := range a.indexes {
		g.AddIndex(ix)
	}
	return nil
}

// readRows holds the stored rows against what is new, and adds to the commit the
// rows of new indexes, and if the columns change those of the table and of all its
// indexes. next is the catalog to come.
func (a *alteration) readRows(next *catalog.Snapshot, c *state.Commit) error {
	e := a.s.eng
	sn := e.Store.Snapshot()
	defer sn.Close()
	rows := newTableBuild(a.t)
	made, err := a.hold(next, storedRows(e, sn), rows.add)
	if err != nil {
		return err
	}
	for _, b := range made {
		c.Rows = append(c.Rows, b.Batch)
	}
	if !a.reshaped {
		return nil
	}
	c.Rows = append(c.Rows, rows.batch)
	c.DropTables = append(c.DropTables, a.t.OID)
	for _, b := range made {
		// The index's job begins anew.
		c.DropTables = append(c.DropTables, b.Ix.OID)
		c.Meta = append(c.Meta, state.KV{Key: jobs.StartedKey(b.Ix.OID)})
	}
	for _, q := range a.fills.used() {
		c.Meta = append(c.Meta, jobs.SequenceRecord(q.def.OID, q.last, true))
	}
	return nil
}

// tableRows are the rows of tables: those stored, or those that a transaction sees.
type tableRows struct {
	each func(oid uint32, f func(*vec.Chunk) error) error
	// has reports whether the parent of a foreign key has a key.
	has func(k *stage.ForeignKey, key []byte) (bool, error)
}

func storedRows(e *Engine, sn *state.Snapshot) tableRows {
	return tableRows{
		each: func(oid uint32, f func(*vec.Chunk) error) error {
			return stage.ScanRelation(e.Catalog.Current(), sn, oid, e.Config.ChunkRows, f)
		},
		has: func(k *stage.ForeignKey, key []byte) (bool, error) { return k.Stored(sn, key) },
	}
}

// hold holds the rows against what is new. It returns the new indexes, and if the
// columns change all indexes; then out gets the table's new rows.
func (a *alteration) hold(next *catalog.Snapshot, from tableRows, out func(*vec.Chunk) error) ([]*stage.IndexBuild, error) {
	v := &rowCheck{a: a}
	if err := v.prepare(next); err != nil {
		return nil, err
	}
	builds := a.indexes
	var w *rewriter
	if a.reshaped {
		builds = next.Indexes(a.t.OID)
		var err error
		if w, err = newRewriter(a, next); err != nil {
			return nil, err
		}
	}
	var made []*stage.IndexBuild
	for _, ix := range builds {
		b, err := stage.NewIndexBuild(next, a.t, ix)
		if err != nil {
			return nil, err
		}
		made = append(made, b)
	}
	keys, err := a.keyChecks(next)
	if err != nil {
		return nil, err
	}
	if len(made)+len(keys) == 0 && v.idle() && w == nil {
		return nil, nil
	}
	// A key that is not unique is reported before anything else, as in PostgreSQL.
	var bad error
	err = from.each(a.t.OID, func(ch *vec.Chunk) error {
		if w != nil {
			var err error
			if ch, err = w.chunk(ch); err != nil {
				return err
			}
		}
		if bad == nil {
			bad = v.chunk(ch)
		}
		for _, k := range keys {
			if bad == nil {
				bad = k.rows(a.t, ch)
			}
		}
		for _, b := range made {
			if err := b.Add(ch); err != nil {
				return err
			}
		}
		if w == nil {
			return nil
		}
		if err := w.unique(ch); err != nil {
			return err
		}
		return out(ch)
	})
	for _, k := range keys {
		if err == nil && bad == nil {
			bad = k.end(from, a.t.OID)
		}
	}
	return made, cmp.Or(err, bad)
}

// rowCheck holds stored rows against new constraints.
type rowCheck struct {
	a     *alteration
	preds []*expr.Program
	ctx   expr.Ctx
}

func (v *rowCheck) idle() bool { return len(v.a.notNull)+len(v.a.checks) == 0 }

func (v *rowCheck) prepare(next *catalog.Snapshot) error {
	v.ctx.Session = &v.a.s.expr
	pl := &planner.Planner{Cat: next, Session: &v.a.s.expr}
	for _, k := range v.a.checks {
		e, err := pl.BindCheck(v.a.t, k)
		if err != nil {
			return err
		}
		p, err := expr.Compile(e)
		if err != nil {
			return err
		}
		v.preds = append(v.preds, p)
	}
	return nil
}

func (v *rowCheck) chunk(c *vec.Chunk) error {
	t := v.a.t
	for _, k := range v.a.notNull {
		if c.Cols[k].Nulls().Any() {
			e := pgerr.New(pgerr.NotNullViolation, "column \"%s\" of relation \"%s\" contains null values", t.Columns[k].Name, t.Name)
			e.Schema, e.Table, e.Column = t.Schema, t.Name, t.Columns[k].Name
			return e
		}
	}
	for n, p := range v.preds {
		out, err := p.Eval(&v.ctx, c)
		if err != nil {
			return err
		}
		ok := out.(*vec.Col[bool])
		for i := range c.Rows {
			if !ok.IsNull(i) && !ok.Vals[i] {
				e := pgerr.New(pgerr.CheckViolation, "check constraint \"%s\" of relation \"%s\" is violated by some row", v.a.checks[n].Name, t.Name)
				e.Schema, e.Table, e.Constraint = t.Schema, t.Name, v.a.checks[n].Name
				return e
			}
		}
	}
	return nil
}
