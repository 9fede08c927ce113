package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

func (s *Session) alter(ctx context.Context, pl *planner.Planner, st *sql.Alter) error {
	snap := s.snapshot()
	if st.Kind == "type" && ofAttributes(st.Actions) {
		return s.alterAttributes(snap, st)
	}
	o, err := s.alterTarget(snap, st)
	if err != nil {
		if st.IfExists && missing(err) {
			kind := "relation"
			if st.Kind == "domain" || st.Kind == "type" {
				kind = "type"
			}
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "%s \"%s\" does not exist, skipping", kind, st.Name.Name))
			return nil
		}
		return err
	}
	if r, ok := o.(*catalog.Role); ok {
		return s.renameRole(r, st.Actions[0].NewName)
	}
	if d, ok := o.(*catalog.Database); ok && st.Actions[0].Kind == sql.AlterRename {
		return s.renameDatabase(ctx, d, st.Actions[0].NewName)
	}
	if err := s.mayAlter(snap, o, st.Actions); err != nil {
		return err
	}
	if oid := o.Header().OID; snap.Builtin(oid) && !catalog.Changeable(oid) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", o.Header().Name)
	}
	if t, ok := o.(*catalog.Type); ok && t.Domain != nil && shapesTable(st.Actions) {
		return s.alterDomain(ctx, pl, t, &st.Actions[0])
	}
	if physical(st.Actions) {
		return s.alterPhysical(pl, o, st.Actions)
	}
	if t, ok := o.(*catalog.Table); ok && shapesTable(st.Actions) {
		return s.alterTable(ctx, pl, t, st.Actions)
	}
	for _, a := range st.Actions {
		switch a.Kind {
		case sql.AlterRename, sql.AlterSetSchema:
			o, err = s.rename(ctx, o, a)
		case sql.AlterRenameColumn:
			var changes []catalog.Change
			if o, changes, err = s.renameViewColumn(o, a); err == nil {
				if err = s.eng.Unmoved(snap, changes); err == nil {
					err = s.changeCatalog(changes...)
				}
			}
		case sql.AlterAddIdentity, sql.AlterSetIdentity, sql.AlterDropIdentity:
			t, ok := catalog.Clone(o).(*catalog.Table)
			if !ok {
				return pgerr.New(pgerr.WrongObjectType, "ALTER action ALTER COLUMN ... IDENTITY cannot be performed on relation \"%s\"", o.Header().Name)
			}
			o, err = t, s.alterIdentity(pl, t, a)
		case sql.AlterResume:
			err = s.resume(ctx, o)
		case sql.AlterOwner:
			o, err = s.setOwner(o, *a.Role)
		default:
			err = pgerr.Unsupported("this form of ALTER "+strings.ToUpper(o.Kind().String()), "Create a new object and drop the old one.")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mayAlter refuses changes by others than the owner. A new name or place needs the
// right to create there too.
func (s *Session) mayAlter(snap *catalog.Snapshot, o catalog.Object, as []sql.AlterAction) error {
	for _, a := range as {
		if a.Kind == sql.AlterOwner { // whose checks are its own
			continue
		}
		if err := s.mustOwn(o); err != nil {
			return err
		}
		switch {
		case a.Kind == sql.AlterRename && o.Kind() == catalog.KindSchema:
			if err := s.may(snap.Database(), catalog.Create); err != nil {
				return err
			}
		case a.Kind == sql.AlterRename:
			if err := s.mayCreateIn(o.Header().Schema); err != nil {
				return err
			}
		case a.Kind == sql.AlterSetSchema:
			if err := s.mayCreateIn(a.NewName); err != nil {
				return err
			}
		}
	}
	return nil
}

// alterNames are the actions as errors name them.
var alterNames = map[sql.AlterKind]string{
	sql.AlterAddColumn: "ADD COLUMN", sql.AlterDropColumn: "DROP COLUMN", sql.AlterColumnType: "ALTER COLUMN ... SET DATA TYPE",
	sql.AlterSetNotNull: "ALTER COLUMN ... SET NOT NULL", sql.AlterDropNotNull: "ALTER COLUMN ... DROP NOT NULL",
	sql.AlterAddConstraint: "ADD CONSTRAINT", sql.AlterDropConstraint: "DROP CONSTRAINT", sql.AlterValidateConstraint: "VALIDATE CONSTRAINT",
}

// shapesTable reports whether the actions are about a table's columns and
// constraints.
func shapesTable(as []sql.AlterAction) bool {
	for _, a := range as {
		switch a.Kind {
		case sql.AlterRename, sql.AlterSetSchema, sql.AlterOwner, sql.AlterAddIdentity, sql.AlterSetIdentity, sql.AlterDropIdentity,
			sql.AlterOther:
			return false
		}
	}
	return true
}

// alterTarget finds the object of an ALTER. ALTER TABLE may name any relation for
// what all relations have, as in PostgreSQL.
func (s *Session) alterTarget(snap *catalog.Snapshot, st *sql.Alter) (catalog.Object, error) {
	switch st.Kind {
	case "role":
		return s.roleNamed(snap, st.Name.Name)
	case "database":
		return object(databaseNamed(snap, st.Name.Name))
	case "function", "routine":
		return s.functionTarget(snap, st.Target)
	}
	if err := s.mayLookInto(snap, st.Name.Schema); err != nil {
		return nil, err
	}
	if st.Kind == "table" {
		common := true
		for _, a := range st.Actions {
			common = common && (a.Kind == sql.AlterRename || a.Kind == sql.AlterSetSchema || a.Kind == sql.AlterOwner || a.Kind == sql.AlterRenameColumn)
		}
		if o := snap.Lookup(st.Name.Schema, st.Name.Name, s.expr.SearchPath); common && o != nil {
			return o, nil
		}
	}
	o := snap.Lookup(st.Name.Schema, st.Name.Name, s.expr.SearchPath)
	if st.Kind == "table" && o != nil && o.Kind() != catalog.KindTable && len(st.Actions) > 0 && alterNames[st.Actions[0].Kind] != "" {
		return nil, pgerr.New(pgerr.WrongObjectType, "ALTER action %s cannot be performed on relation \"%s\"", alterNames[st.Actions[0].Kind], st.Name.Name).
			WithDetail("This operation is not supported for %ss.", o.Kind())
	}
	o, err := s.dropTarget(snap, st.Kind, st.Name)
	if c := pgerr.CodeOf(err); c == pgerr.UndefinedTable || c == pgerr.UndefinedObject && st.Kind == "index" {
		return s.snapshot().Resolve(st.Name.Schema, st.Name.Name, s.expr.SearchPath)
	}
	if e := pgerr.From(err); err != nil && e.Hint != "" {
		e.Hint = "Use ALTER " + strings.ToUpper(snap.Lookup(st.Name.Schema, st.Name.Name, s.expr.SearchPath).Kind().String()) + "."
	}
	return o, err
}

// refreshView is REFRESH MATERIALIZED VIEW, which has nothing to do: views are
// always up to date. Of one that has failed it tells so.
func (s *Session) refreshView(st *sql.Refresh) error {
	o, err := s.resolve(s.snapshot(), st.Name)
	if err != nil {
		return err
	}
	if err := s.mustOwn(o); err != nil {
		return err
	}
	if o.Kind() != catalog.KindMatView {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a materialized view", st.Name.Name)
	}
	if st.NoData {
		return pgerr.Unsupported("REFRESH MATERIALIZED VIEW … WITH NO DATA", "A materialized view is always up to date.")
	}
	if j := s.eng.JobOf(o.Header().OID); j != nil && j.Err() != nil {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" has failed: %s", st.Name.Name, pgerr.From(j.Err()).Msg).
			WithHint("Drop it and create it again.")
	}
	return nil
}

func (s *Session) comment(st *sql.Comment) error {
	text := st.Text
	if st.Null {
		text = ""
	}
	snap := s.snapshot()
	var o catalog.Object
	var err error
	switch st.Kind {
	case "database", "role":
		return s.commentShared(snap, st, text)
	case "constraint":
		return s.commentConstraint(snap, st, text)
	case "function", "routine":
		f, err := s.functionTarget(snap, st.Target)
		if err == nil {
			err = s.mustOwn(f)
		}
		if err != nil {
			return err
		}
		n := catalog.Clone(f)
		n.Header().Comment = text
		return s.changeCatalog(catalog.Change{Replace: n})
	case "domain constraint":
		return s.commentDomainConstraint(snap, st, text)
	case "index":
		if done, err := s.commentKeyIndex(snap, st, text); done || err != nil {
			return err
		}
	}
	if st.Kind == "column" || st.Kind == "schema" {
		if st.Kind == "schema" {
			o, err = s.dropTarget(snap, "schema", st.Name)
		} else {
			o, err = s.resolve(snap, st.Name)
		}
	} else {
		o, err = s.dropTarget(snap, st.Kind, st.Name)
		if pgerr.CodeOf(err) == pgerr.UndefinedTable || pgerr.CodeOf(err) == pgerr.UndefinedObject && st.Kind == "index" {
			err = pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", st.Name.Name)
		}
	}
	if err != nil {
		return err
	}
	if err := s.mustOwn(o); err != nil {
		if st.Kind == "column" {
			err = forbidden("must be owner of relation %s", o.Header().Name)
		}
		return err
	}
	n := catalog.Clone(o)
	if st.Kind != "column" {
		n.Header().Comment = text
		return s.changeCatalog(catalog.Change{Replace: n})
	}
	r, ok := n.(catalog.Relation)
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" has no columns", st.Name.Name)
	}
	i := catalog.ColumnIndex(r.Cols(), st.Column)
	if i < 0 {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", st.Column, st.Name.Name)
	}
	r.Cols()[i].Comment = text
	return s.changeCatalog(catalog.Change{Replace: n})
}

// truncate deletes every row of the tables, as one write; again when a
// concurrent write has come between.
func (s *Session) truncate(ctx context.Context, st *sql.Truncate) error {
	if !s.tx.alone {
		return s.stageTruncate(ctx, st)
	}
	for try := range dmlRetries {
		w, err := s.allRows(ctx, st, try == 0)
		if err != nil {
			return err
		}
		if err = s.eng.CommitWrite(ctx, w); errors.Is(err, stage.ErrConflict) {
			continue
		}
		if err == nil && st.RestartIdentity {
			err = s.restartTables(st)
		}
		return err
	}
	return stage.SerializationFailure()
}

// stageTruncate is truncate in a transaction.
func (s *Session) stageTruncate(ctx context.Context, st *sql.Truncate) error {
	r := s.newRun(ctx)
	defer r.close()
	tables, err := s.truncatedTables(r.cat, st, true)
	if err != nil {
		return err
	}
	for _, t := range tables {
		rows := vec.NewChunk(stage.ColumnTypes(t.Columns), 64)
		if err := r.visible(t, func(c *vec.Chunk) error {
			rows.AppendRange(c, 0, c.Rows)
			return nil
		}); err != nil {
			return err
		}
		w, err := r.staged(t)
		if err != nil {
			return err
		}
		for i := range rows.Rows {
			if err := w.Add(rows, i, -rows.Weight(i)); err != nil {
				return err
			}
		}
		if !st.RestartIdentity {
			continue
		}
		s.transactional()
		for _, q := range s.snapshot().Sequences(t.OID) {
			s.tx.ddl.seqs[q.OID] = &jobs.Sequence{OID: q.OID, Loaded: true, Unstored: true, Last: q.Start}
		}
	}
	return nil
}

// mayRestart refuses to restart the sequences of a table that belong to another.
func (s *Session) mayRestart(snap *catalog.Snapshot, t *catalog.Table) error {
	for _, d := range snap.Dependents(t.OID) {
		if q, ok := d.(*catalog.Sequence); ok && q.OwnedTable == t.OID {
			if err := s.mustOwn(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// restartTables puts the sequences that the tables own at their start.
func (s *Session) restartTables(st *sql.Truncate) error {
	tables, err := s.truncatedTables(s.snapshot(), st, false)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := s.restartIdentity(t); err != nil {
			return err
		}
	}
	return nil
}

// truncatedTables are the tables that TRUNCATE empties.
func (s *Session) truncatedTables(snap *catalog.Snapshot, st *sql.Truncate, notice bool) ([]*catalog.Table, error) {
	var tables []*catalog.Table
	for _, n := range st.Tables {
		o, err := s.resolve(snap, n)
		if err != nil {
			return nil, err
		}
		t, ok := o.(*catalog.Table)
		if !ok || snap.Builtin(t.OID) {
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", n.Name)
		}
		if err := s.may(t, catalog.Truncate); err != nil {
			return nil, err
		}
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	tables, err := s.truncated(snap, tables, st.Cascade, notice)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := s.may(t, catalog.Truncate); err != nil {
			return nil, err
		}
		if st.RestartIdentity {
			if err := s.mayRestart(snap, t); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}

// allRows is the write that empties the tables.
func (s *Session) allRows(ctx context.Context, st *sql.Truncate, notice bool) (*stage.Write, error) {
	w := &stage.Write{}
	r := s.newRun(ctx)
	defer r.close()
	tables, err := s.truncatedTables(r.cat, st, notice)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		rows := vec.NewChunk(stage.ColumnTypes(t.Columns), 64)
		err = stage.ScanRows(r.snap, t.OID, stage.ColumnTypes(t.Columns), stage.StoredForm(t), nil, nil, s.eng.Config.ChunkRows, func(c *vec.Chunk) error {
			for i := range c.Rows {
				rows.AppendFrom(c, i, -c.Weight(i))
			}
			return jobs.Canceled(ctx)
		})
		if err != nil {
			return nil, err
		}
		if rows.Rows > 0 {
			w.Tables = append(w.Tables, stage.TableWrite{Rel: t.OID, Name: t.Name, Revision: t.Revision, Key: catalog.StorageKey(t), Rows: rows})
		}
	}
	return w, nil
}
