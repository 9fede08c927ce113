package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

func (s *Session) createSequence(pl *planner.Planner, st *sql.CreateSequence) error {
	q := &catalog.Sequence{Head: catalog.Head{Schema: st.Name.Schema, Name: st.Name.Name}, Type: types.TInt8}
	if skip, err := s.place(&q.Head, st.IfNotExists); skip || err != nil {
		return err
	}
	ch, err := pl.BindSequence(q, st.Options, true)
	if err != nil {
		return err
	}
	if err := s.ownSequence(q, ch.Owner); err != nil {
		return err
	}
	s.furnish(q)
	s.number(q)
	return s.changeCatalog(catalog.Change{Create: q})
}

// ownSequence sets what OWNED BY says.
func (s *Session) ownSequence(q *catalog.Sequence, parts []string) error {
	if parts == nil {
		return nil
	}
	if len(parts) == 1 {
		if parts[0] != "none" {
			return pgerr.New(pgerr.SyntaxError, "invalid OWNED BY option").WithHint("Specify OWNED BY table.column or OWNED BY NONE.")
		}
		q.OwnedTable, q.OwnedColumn = 0, ""
		return nil
	}
	schema, n := "", len(parts)
	if n > 2 {
		schema = parts[n-3]
	}
	o, err := s.snapshot().Resolve(schema, parts[n-2], s.expr.SearchPath)
	if err != nil {
		return err
	}
	t, ok := o.(*catalog.Table)
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "sequence cannot be owned by relation \"%s\"", parts[n-2])
	}
	if t.Owner != q.Owner {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must have same owner as table it is linked to")
	}
	if t.Schema != q.Schema {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
	}
	if catalog.ColumnIndex(t.Columns, parts[n-1]) < 0 {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", parts[n-1], t.Name)
	}
	q.OwnedTable, q.OwnedColumn = t.OID, parts[n-1]
	return nil
}

func (s *Session) alterSequence(pl *planner.Planner, st *sql.AlterSequence) error {
	o, err := s.resolve(s.snapshot(), st.Name)
	if err != nil {
		if st.IfExists && missing(err) {
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", st.Name.Name))
			return nil
		}
		return err
	}
	if err := s.mustOwn(o); err != nil {
		return err
	}
	q, ok := catalog.Clone(o).(*catalog.Sequence)
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", st.Name.Name)
	}
	ch, err := pl.BindSequence(q, st.Options, false)
	if err != nil {
		return err
	}
	if ch.Owner != nil && q.Identity {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot change ownership of identity sequence")
	}
	if err := s.ownSequence(q, ch.Owner); err != nil {
		return err
	}
	var restart *int64
	if ch.Restart {
		restart = &ch.RestartAt
	}
	return s.changeSequence(q, restart)
}

// ownSequences gives OIDs and names to the sequences of new serial and identity
// columns, and ties the columns to them.
func (s *Session) ownSequences(t *catalog.Table, qs []*catalog.Sequence) []catalog.Change {
	var changes []catalog.Change
	names := map[string]bool{t.Name: true}
	for _, q := range qs {
		q.Owner, q.OwnedTable = t.Owner, t.OID
		if q.Schema == "" {
			q.Schema = t.Schema
		}
		if q.Name == "" {
			q.Name = s.snapshot().FreeName(q.Schema, t.Name, q.OwnedColumn, "seq", func(n string) bool { return names[n] })
		}
		names[q.Name] = true
		s.furnish(q)
		s.number(q)
		c := &t.Columns[catalog.ColumnIndex(t.Columns, q.OwnedColumn)]
		if q.Identity {
			c.Sequence = q.OID
		} else {
			c.Default = catalog.NextValueText(q.OID)
		}
		changes = append(changes, catalog.Change{Create: q})
	}
	return changes
}

// defaultUse is a column whose default reads a sequence.
type defaultUse struct {
	table  *catalog.Table
	column int
}

// sequenceUsers returns the columns whose defaults read a sequence.
func sequenceUsers(snap *catalog.Snapshot, oid uint32) []defaultUse {
	var out []defaultUse
	for _, t := range catalog.All[*catalog.Table](snap) {
		for i, c := range t.Columns {
			for _, q := range catalog.SequencesUsed(c.Default) {
				if q == oid {
					out = append(out, defaultUse{t, i})
				}
			}
		}
	}
	return out
}

// freeSequences handles the columns that read sequences about to be dropped, those
// of dropped tables aside: without CASCADE they forbid it, with it they lose their
// defaults by the changes returned.
func (s *Session) freeSequences(snap *catalog.Snapshot, order []catalog.Object, named map[uint32]bool, cascade bool, tables map[uint32]*catalog.Table) error {
	gone := map[uint32]bool{}
	for _, o := range order {
		gone[o.Header().OID] = true
	}
	var users []string // that forbid it
	var kind, name string
	for _, o := range order {
		q, ok := o.(*catalog.Sequence)
		if !ok {
			continue
		}
		if q.Identity && named[q.OID] && !gone[q.OwnedTable] {
			t := snap.ByOID(q.OwnedTable).Header().Name
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop sequence %s because column %s of table %s requires it", q.Name, q.OwnedColumn, t).
				WithHint("You can drop column %s of table %s instead.", q.OwnedColumn, t)
		}
		for _, u := range sequenceUsers(snap, q.OID) {
			if gone[u.table.OID] {
				continue
			}
			what := "default value for column " + u.table.Columns[u.column].Name + " of table " + u.table.Name
			if !cascade {
				if users = append(users, what+" depends on sequence "+q.Name); len(users) == 1 {
					kind, name = "sequence", q.Name
					if !named[q.OID] {
						kind, name = "table", snap.ByOID(q.OwnedTable).Header().Name
					}
				}
				continue
			}
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "drop cascades to %s", what))
			t := tables[u.table.OID]
			if t == nil {
				t = catalog.Clone(u.table).(*catalog.Table)
				tables[t.OID] = t
			}
			t.Columns[u.column].Default = ""
		}
	}
	if len(users) > 0 {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s %s because other objects depend on it", kind, name).
			WithDetail("%s", strings.Join(users, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	return nil
}

// restartIdentity puts the sequences that a table owns at their start.
func (s *Session) restartIdentity(t *catalog.Table) error {
	for _, q := range s.snapshot().Sequences(t.OID) {
		if err := s.setValue(q.OID, q.Start, false); err != nil {
			return err
		}
	}
	return nil
}

// alterIdentity runs ALTER COLUMN … ADD GENERATED, SET and DROP IDENTITY.
func (s *Session) alterIdentity(pl *planner.Planner, t *catalog.Table, a sql.AlterAction) error {
	i := catalog.ColumnIndex(t.Columns, a.Column)
	if i < 0 {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", a.Column, t.Name)
	}
	c := &t.Columns[i]
	if a.Kind == sql.AlterAddIdentity {
		switch {
		case !c.NotNull:
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" must be declared NOT NULL before identity can be added", c.Name, t.Name)
		case c.Identity != "":
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is already an identity column", c.Name, t.Name)
		case c.Default != "" || c.Generated != "":
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" already has a default value", c.Name, t.Name)
		}
		q, err := pl.IdentitySequence(c.Name, c.Type, a.Sequence)
		if err != nil {
			return err
		}
		c.Identity = a.NewName
		changes := s.ownSequences(t, []*catalog.Sequence{q})
		return s.changeCatalog(append([]catalog.Change{{Replace: t}}, changes...)...)
	}
	if c.Identity == "" {
		if a.Kind == sql.AlterDropIdentity && a.IfExists {
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" is not an identity column, skipping", c.Name, t.Name))
			return nil
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "column \"%s\" of relation \"%s\" is not an identity column", c.Name, t.Name)
	}
	if a.Kind == sql.AlterDropIdentity {
		oid := c.Sequence
		c.Identity, c.Sequence = "", 0
		changes := []catalog.Change{{Drop: oid}, {Replace: t}}
		if s.tx.ddl != nil {
			return s.changeCatalog(changes...)
		}
		return s.eng.DropNow([]catalog.Object{s.snapshot().ByOID(oid)}, changes)
	}
	var os []sql.SequenceOption
	for _, o := range a.Sequence {
		if o.Name == "generated" {
			c.Identity = o.Value
			continue
		}
		os = append(os, o)
	}
	q := catalog.Clone(s.snapshot().ByOID(c.Sequence)).(*catalog.Sequence)
	ch, err := pl.BindSequence(q, os, false)
	if err != nil {
		return err
	}
	var restart *int64
	if ch.Restart {
		restart = &ch.RestartAt
	}
	return s.changeSequence(q, restart, catalog.Change{Replace: t})
}
