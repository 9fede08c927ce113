package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// namesByValue orders names by their numbers.
func namesByValue(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[a], m[b]), cmp.Compare(a, b)) })
}

// setConstraintsCommand sets up SET CONSTRAINTS.
func (s *Session) setConstraintsCommand(st *sql.SetConstraints) commandFunc {
	return tagged("SET CONSTRAINTS", func(ctx context.Context) error {
		if !s.tx.block {
			s.notice("WARNING", pgerr.New(pgerr.NoActiveSQLTransaction, "SET CONSTRAINTS can only be used in transaction blocks"))
		}
		r := s.newRun(ctx)
		defer r.close()
		var oids []uint32
		for _, n := range st.Names {
			found, err := s.constraintsNamed(r.cat, n, st.Deferred)
			if err != nil {
				return err
			}
			oids = append(oids, found...)
		}
		return s.setConstraints(r, oids, len(st.Names) == 0, st.Deferred)
	})
}

// constraintsNamed finds the foreign keys and unique constraints of a name in the first
// schema that has a constraint so called. To be deferred they must be deferrable.
func (s *Session) constraintsNamed(snap *catalog.Snapshot, n sql.Name, deferred bool) ([]uint32, error) {
	path := s.expr.SearchPath
	if n.Schema != "" {
		if snap.Schema(n.Schema) == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Schema)
		}
		path = []string{n.Schema}
	}
	fixed := pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" is not deferrable", n.Name)
	for _, schema := range path {
		var out []uint32
		for _, t := range catalog.All[*catalog.Table](snap) {
			for i := range t.ForeignKeys {
				if k := &t.ForeignKeys[i]; t.Schema == schema && k.Name == n.Name {
					if deferred && !k.Deferrable {
						return nil, fixed
					}
					out = append(out, k.OID)
				}
			}
		}
		ix, ok := snap.Get(schema, n.Name).(*catalog.Index)
		if ok && ix.Constraint && ix.Deferrable {
			out = append(out, ix.OID)
		}
		if out != nil {
			return out, nil
		}
		if snap.ConstraintNamed(schema, n.Name) || ok && ix.Constraint {
			if deferred {
				return nil, fixed
			}
			return nil, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" does not exist", n.Name)
}

// copyKeys holds the rows of a COPY against foreign keys: batch by batch, but for
// those of a table that references itself, at the end.
type copyKeys struct {
	later []keyEvent
}

func (k *copyKeys) batch(r *run) error {
	var own bool
	for _, ev := range r.events {
		for i := range ev.table.ForeignKeys {
			own = own || ev.table.ForeignKeys[i].Table == ev.table.OID
		}
	}
	if !own {
		return r.settleKeys()
	}
	for _, ev := range r.events {
		rows := vec.NewChunk(ev.fresh.Types(), ev.fresh.Rows)
		rows.AppendRange(ev.fresh, 0, ev.fresh.Rows)
		k.later = append(k.later, keyEvent{ev.table, nil, rows})
	}
	return nil
}

func (k *copyKeys) end(ctx context.Context, s *Session) error {
	if len(k.later) == 0 {
		return nil
	}
	r := s.newRun(ctx)
	defer r.close()
	r.events, k.later = k.later, nil
	return r.settleKeys()
}

// freeForeignKeys makes the tables that stay free of foreign keys to objects that are
// dropped, or refuses it without CASCADE. The tables in changed are to be replaced
// already.
func (s *Session) freeForeignKeys(snap *catalog.Snapshot, order []catalog.Object, cascade bool, changed map[uint32]*catalog.Table) error {
	gone := map[uint32]bool{}
	for _, o := range order {
		gone[o.Header().OID] = true
	}
	for _, o := range order {
		var lines []string
		if ix, ok := o.(*catalog.Index); ok && gone[ix.Table] {
			continue
		}
		for _, ref := range referencesTo(snap, o) {
			if gone[ref.Child.OID] {
				continue
			}
			what := "constraint " + ref.Name + " on table " + sql.QuoteIdent(ref.Child.Name)
			if !cascade {
				lines = append(lines, what+" depends on "+catalog.Described(o))
				continue
			}
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %s", what))
			removeForeignKey(changed, ref)
		}
		if lines == nil {
			continue
		}
		for _, d := range snap.Dependents(o.Header().OID) {
			if !gone[d.Header().OID] {
				lines = append(lines, catalog.Described(d)+" depends on "+catalog.Described(o))
			}
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", catalog.Described(o)).
			WithDetail("%s", strings.Join(lines, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	return nil
}

// referencesTo returns the foreign keys that need a table or an index.
func referencesTo(snap *catalog.Snapshot, o catalog.Object) []catalog.Reference {
	switch o := o.(type) {
	case *catalog.Table:
		return snap.References(o.OID)
	case *catalog.Index:
		return slices.DeleteFunc(snap.References(o.Table), func(r catalog.Reference) bool { return r.Index != o.OID })
	}
	return nil
}

// removeForeignKey takes a foreign key from its table, of which changed has the copy.
func removeForeignKey(changed map[uint32]*catalog.Table, ref catalog.Reference) {
	t := changed[ref.Child.OID]
	if t == nil {
		t = catalog.Clone(ref.Child).(*catalog.Table)
		changed[t.OID] = t
	}
	t.Definition = ""
	t.ForeignKeys = slices.DeleteFunc(slices.Clone(t.ForeignKeys), func(k catalog.ForeignKey) bool { return k.OID == ref.OID })
}

// keyCheck holds stored rows against a foreign key, while a table is altered.
type keyCheck struct {
	fk   *catalog.ForeignKey
	k    *stage.ForeignKey
	have map[string]bool // the keys of the parent, if it is the table that is altered
	want []*vec.Chunk    // rows of the child, if it is, one for each key
	keys []string
	seen map[string]bool
}

// foreignIndex returns the place of a foreign key of the table, or -1.
func (a *alteration) foreignIndex(name string) int {
	return slices.IndexFunc(a.t.ForeignKeys, func(k catalog.ForeignKey) bool { return k.Name == name })
}

// recheckForeign makes the stored rows be held against the foreign keys of the table,
// and those to it, that have column i, the types of which must still fit.
func (a *alteration) recheckForeign(i int) error {
	n := catalog.ColumnNumber(a.t.Columns, i)
	for k := range a.t.ForeignKeys {
		fk := &a.t.ForeignKeys[k]
		if slices.Contains(fk.Columns, n) || fk.Table == a.t.OID && slices.Contains(fk.RefColumns, n) {
			a.foreign[fk.Name] = fk.OID
			parent := a.t
			if fk.Table != a.t.OID {
				parent = a.s.snapshot().ByOID(fk.Table).(*catalog.Table)
			}
			if err := planner.CheckForeignTypes(fk, a.t, parent); err != nil {
				return err
			}
		}
	}
	for _, ref := range a.s.snapshot().References(a.t.OID) {
		if ref.Child.OID != a.t.OID && slices.Contains(ref.RefColumns, n) && !a.freed(ref) {
			if err := planner.CheckForeignTypes(ref.ForeignKey, ref.Child, a.t); err != nil {
				return err
			}
			a.foreignTo = append(a.foreignTo, ref)
		}
	}
	return nil
}

// freed reports whether a foreign key of another table is to go.
func (a *alteration) freed(ref catalog.Reference) bool {
	t := a.others[ref.Child.OID]
	return t != nil && !slices.ContainsFunc(t.ForeignKeys, func(k catalog.ForeignKey) bool { return k.OID == ref.OID })
}

// needed drops the foreign keys that need a key of the table which goes, or refuses
// it without CASCADE. what is the key or column, on the thing that they depend on.
func (a *alteration) needed(index uint32, cascade bool, what, on string) error {
	var refs []catalog.Reference
	for _, ref := range a.s.snapshot().References(a.t.OID) {
		if ref.Index == index && ref.Child.OID != a.t.OID && !a.freed(ref) {
			refs = append(refs, ref)
		}
	}
	for i := range a.t.ForeignKeys {
		if fk := &a.t.ForeignKeys[i]; fk.Table == a.t.OID && fk.Index == index {
			refs = append(refs, catalog.Reference{ForeignKey: fk, Child: a.t})
		}
	}
	if len(refs) == 0 {
		return nil
	}
	var lines []string
	for _, ref := range refs {
		name := "constraint " + ref.Name + " on table " + sql.QuoteIdent(ref.Child.Name)
		lines = append(lines, name+" depends on "+on)
		if !cascade {
			continue
		}
		a.noticed = append(a.noticed, name)
		if ref.Child.OID == a.t.OID {
			a.t.ForeignKeys = slices.DeleteFunc(slices.Clone(a.t.ForeignKeys), func(k catalog.ForeignKey) bool { return k.OID == ref.OID })
		} else {
			removeForeignKey(a.others, ref)
		}
	}
	if cascade {
		return nil
	}
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
		WithDetail("%s", strings.Join(lines, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

// neededColumn is needed for the keys that a column is in.
func (a *alteration) neededColumn(i int, cascade bool) error {
	what := fmt.Sprintf("column %s of table %s", a.t.Columns[i].Name, a.t.Name)
	if k := a.t.PrimaryKey; k != nil && slices.Contains(k.Columns, i) {
		if err := a.needed(k.OID, cascade, what, what); err != nil {
			return err
		}
	}
	for _, ix := range a.existing() {
		if ix.Unique && slices.Contains(ix.Columns(), i) {
			if err := a.needed(ix.OID, cascade, what, what); err != nil {
				return err
			}
		}
	}
	n := catalog.ColumnNumber(a.t.Columns, i)
	a.t.ForeignKeys = slices.DeleteFunc(slices.Clone(a.t.ForeignKeys), func(k catalog.ForeignKey) bool { return slices.Contains(k.Columns, n) })
	return nil
}

// tied are the table and those whose rows must be at rest with it.
func (a *alteration) tied() []uint32 {
	rels := []uint32{a.t.OID}
	for i := range a.t.ForeignKeys {
		if fk := &a.t.ForeignKeys[i]; a.checksKey(fk) {
			rels = append(rels, fk.Table)
		}
	}
	for _, ref := range a.foreignTo {
		rels = append(rels, ref.Child.OID)
	}
	return rels
}

// checksKey reports whether stored rows are to be held against a foreign key.
func (a *alteration) checksKey(fk *catalog.ForeignKey) bool {
	oid, ok := a.foreign[fk.Name]
	return ok && (oid == 0 || oid == fk.OID)
}

// revise makes writes that were checked without a new foreign key to their table be
// checked anew.
func (a *alteration) revise() {
	for name, oid := range a.foreign {
		i := a.foreignIndex(name)
		if i < 0 || oid != 0 || a.t.ForeignKeys[i].Table == a.t.OID {
			continue
		}
		p := a.t.ForeignKeys[i].Table
		t := a.others[p]
		if t == nil {
			t = catalog.Clone(a.s.snapshot().ByOID(p)).(*catalog.Table)
			a.others[p] = t
		}
		t.Revision++
	}
}

// keyChecks prepares the checks of foreign keys.
func (a *alteration) keyChecks(next *catalog.Snapshot) ([]*keyCheck, error) {
	var out []*keyCheck
	add := func(child *catalog.Table, fk *catalog.ForeignKey) error {
		k, err := stage.NewForeignKey(next, child, fk)
		if err != nil {
			return err
		}
		c := &keyCheck{fk: fk, k: k, seen: map[string]bool{}}
		if fk.Table == a.t.OID {
			c.have = map[string]bool{}
		}
		out = append(out, c)
		return nil
	}
	for i := range a.t.ForeignKeys {
		if fk := &a.t.ForeignKeys[i]; a.checksKey(fk) && !fk.NotValid {
			if err := add(a.t, fk); err != nil {
				return nil, err
			}
		}
	}
	for _, ref := range a.foreignTo {
		if ref.NotValid || a.freed(ref) {
			continue
		}
		if err := add(ref.Child, ref.ForeignKey); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rows takes rows of the table as they are to be.
func (c *keyCheck) rows(t *catalog.Table, ch *vec.Chunk) error {
	for i := range ch.Rows {
		if c.have != nil {
			if key, ok := c.k.ParentKey(nil, ch, i); ok {
				c.have[string(key)] = true
			}
		}
		if c.k.Child.OID == t.OID {
			if err := c.child(ch, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *keyCheck) child(ch *vec.Chunk, i int) error {
	key, st, err := c.k.ChildKey(nil, ch, i)
	switch {
	case err != nil:
		return err
	case st == stage.RefNone || st == stage.RefKey && c.seen[string(key)]:
	case st == stage.RefKey:
		c.seen[string(key)] = true
		row := vec.NewChunk(ch.Types(), 1)
		row.AppendFrom(ch, i, 1)
		c.want, c.keys = append(c.want, row), append(c.keys, string(key))
	default:
		return c.k.Missing(st, ch, i)
	}
	return nil
}

// end checks the rows taken; those of another table that is the child are read now.
func (c *keyCheck) end(from tableRows, altered uint32) error {
	if c.k.Child.OID != altered {
		err := from.each(c.k.Child.OID, func(ch *vec.Chunk) error {
			for i := range ch.Rows {
				if err := c.child(ch, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for n, key := range c.keys {
		ok := c.have[key]
		if c.have == nil {
			var err error
			if ok, err = from.has(c.k, []byte(key)); err != nil {
				return err
			}
		}
		if !ok {
			return c.k.Missing(stage.RefKey, c.want[n], 0)
		}
	}
	return nil
}

// alterForeign runs ALTER CONSTRAINT.
func (a *alteration) alterForeign(x *sql.AlterAction) error {
	i := a.foreignIndex(x.Column)
	if i < 0 {
		if a.constraintIndex(x.Column) != nil || a.nameFree(x.Column) != nil {
			return pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" of relation \"%s\" is not a foreign key constraint", x.Column, a.t.Name)
		}
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" of relation \"%s\" does not exist", x.Column, a.t.Name)
	}
	a.t.ForeignKeys = slices.Clone(a.t.ForeignKeys)
	a.t.ForeignKeys[i].Deferrable, a.t.ForeignKeys[i].Deferred = x.Constraint.Deferrable, x.Constraint.Deferred
	return nil
}

// truncated adds to the tables of TRUNCATE those that reference them, or without
// CASCADE refuses it.
func (s *Session) truncated(snap *catalog.Snapshot, tables []*catalog.Table, cascade bool, notice bool) ([]*catalog.Table, error) {
	for i := 0; i < len(tables); i++ {
		for _, ref := range snap.References(tables[i].OID) {
			if slices.ContainsFunc(tables, func(t *catalog.Table) bool { return t.OID == ref.Child.OID }) {
				continue
			}
			if !cascade {
				return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot truncate a table referenced in a foreign key constraint").
					WithDetail("Table \"%s\" references \"%s\".", ref.Child.Name, tables[i].Name).
					WithHint("Truncate table \"%s\" at the same time, or use TRUNCATE ... CASCADE.", ref.Child.Name)
			}
			if notice {
				s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "truncate cascades to table \"%s\"", ref.Child.Name))
			}
			tables = append(tables, ref.Child)
		}
	}
	return tables, nil
}
