package engine

import (
	"context"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

func (s *Session) alter(ctx context.Context, pl *planner.Planner, st *sql.Alter) error {
	snap := s.eng.cat.Current()
	o, err := s.alterTarget(snap, st)
	if err != nil {
		if st.IfExists && missing(err) {
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", st.Name.Name))
			return nil
		}
		return err
	}
	if snap.Builtin(o.Header().OID) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", o.Header().Name)
	}
	for _, a := range st.Actions {
		if a.Kind == sql.AlterRename || a.Kind == sql.AlterSetSchema {
			if o, err = s.rename(ctx, o, a); err != nil {
				return err
			}
			continue
		}
		switch a.Kind {
		case sql.AlterAddIdentity, sql.AlterSetIdentity, sql.AlterDropIdentity:
			t, ok := catalog.Clone(o).(*catalog.Table)
			if !ok {
				return pgerr.New(pgerr.WrongObjectType, "ALTER action ALTER COLUMN ... IDENTITY cannot be performed on relation \"%s\"", o.Header().Name)
			}
			if err := s.alterIdentity(pl, t, a); err != nil {
				return err
			}
			o = t
			continue
		}
		n, err := s.alterAction(pl, o, a)
		if err != nil {
			return err
		}
		if err := s.eng.changeCatalog(&state.Commit{}, catalog.Change{Replace: n}); err != nil {
			return err
		}
		o = n
	}
	return nil
}

// alterTarget finds the object of an ALTER. ALTER TABLE may name any relation for
// what all relations have, as in PostgreSQL.
func (s *Session) alterTarget(snap *catalog.Snapshot, st *sql.Alter) (catalog.Object, error) {
	if st.Kind == "table" {
		common := true
		for _, a := range st.Actions {
			common = common && (a.Kind == sql.AlterRename || a.Kind == sql.AlterSetSchema || a.Kind == sql.AlterOwner)
		}
		if o := snap.Lookup(st.Name.Schema, st.Name.Name, s.expr.SearchPath); common && o != nil {
			return o, nil
		}
	}
	o, err := s.dropTarget(snap, st.Kind, st.Name)
	if e := pgerr.From(err); err != nil && e.Hint != "" {
		e.Hint = "Use ALTER " + strings.ToUpper(snap.Lookup(st.Name.Schema, st.Name.Name, s.expr.SearchPath).Kind().String()) + "."
	}
	return o, err
}

// alterAction returns the changed copy of an object.
func (s *Session) alterAction(pl *planner.Planner, o catalog.Object, a sql.AlterAction) (catalog.Object, error) {
	n := catalog.Clone(o)
	h := n.Header()
	switch a.Kind {
	case sql.AlterOwner:
		h.Owner = a.NewName
		return n, nil
	case sql.AlterSetDefault, sql.AlterDropDefault:
		t, ok := n.(*catalog.Table)
		if !ok {
			break
		}
		i := catalog.ColumnIndex(t.Columns, a.Column)
		if i < 0 {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", a.Column, h.Name)
		}
		if c := t.Columns[i]; c.Identity != "" {
			return nil, pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", c.Name, h.Name)
		}
		t.Columns[i].Default = ""
		if a.Kind == sql.AlterSetDefault {
			var err error
			if t.Columns[i].Default, err = pl.BindDefault(t.Columns[i], a.Expr); err != nil {
				return nil, err
			}
		}
		return n, nil
	}
	return nil, pgerr.Unsupported("this form of ALTER "+strings.ToUpper(o.Kind().String()), "Create a new object and drop the old one.")
}

// refreshView is REFRESH MATERIALIZED VIEW, which has nothing to do: views are
// always up to date. Of one that has failed it tells so.
func (s *Session) refreshView(st *sql.Refresh) error {
	o, err := s.eng.cat.Current().Resolve(st.Name.Schema, st.Name.Name, s.expr.SearchPath)
	if err != nil {
		return err
	}
	if o.Kind() != catalog.KindMatView {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a materialized view", st.Name.Name)
	}
	if st.NoData {
		return pgerr.Unsupported("REFRESH MATERIALIZED VIEW … WITH NO DATA", "A materialized view is always up to date.")
	}
	if j := s.eng.jobOf(o.Header().OID); j != nil && j.err() != nil {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" has failed: %s", st.Name.Name, pgerr.From(j.err()).Msg).
			WithHint("Drop it and create it again.")
	}
	return nil
}

func (s *Session) comment(st *sql.Comment) error {
	text := st.Text
	if st.Null {
		text = ""
	}
	snap := s.eng.cat.Current()
	var o catalog.Object
	var err error
	if st.Kind == "column" || st.Kind == "schema" {
		if st.Kind == "schema" {
			o, err = s.dropTarget(snap, "schema", st.Name)
		} else {
			o, err = snap.Resolve(st.Name.Schema, st.Name.Name, s.expr.SearchPath)
		}
	} else {
		o, err = s.dropTarget(snap, st.Kind, st.Name)
	}
	if err != nil {
		return err
	}
	n := catalog.Clone(o)
	if st.Kind != "column" {
		n.Header().Comment = text
		return s.eng.changeCatalog(&state.Commit{}, catalog.Change{Replace: n})
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
	return s.eng.changeCatalog(&state.Commit{}, catalog.Change{Replace: n})
}

// truncate deletes every row of the tables, as one write; again when a
// concurrent write has come between.
func (s *Session) truncate(ctx context.Context, st *sql.Truncate) error {
	for range dmlRetries {
		w, err := s.allRows(ctx, st)
		if err != nil {
			return err
		}
		if err = s.eng.commitWrite(ctx, w); err == errConflict {
			continue
		}
		if err == nil && st.RestartIdentity {
			err = s.restartTables(st)
		}
		return err
	}
	return serializationFailure()
}

// restartTables puts the sequences that the tables own at their start.
func (s *Session) restartTables(st *sql.Truncate) error {
	for _, n := range st.Tables {
		o, err := s.eng.cat.Current().Resolve(n.Schema, n.Name, s.expr.SearchPath)
		if err != nil {
			return err
		}
		if err := s.restartIdentity(o.(*catalog.Table)); err != nil {
			return err
		}
	}
	return nil
}

// allRows is the write that empties the tables.
func (s *Session) allRows(ctx context.Context, st *sql.Truncate) (*write, error) {
	snap := s.eng.cat.Current()
	w := &write{}
	r := s.newRun(ctx)
	defer r.close()
	for _, n := range st.Tables {
		o, err := snap.Resolve(n.Schema, n.Name, s.expr.SearchPath)
		if err != nil {
			return nil, err
		}
		t, ok := o.(*catalog.Table)
		if !ok || snap.Builtin(t.OID) {
			return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a table", n.Name)
		}
		rows := vec.NewChunk(columnTypes(t.Columns), 64)
		err = scanRows(r.snap, t.OID, columnTypes(t.Columns), storedForm(t), nil, nil, s.eng.cfg.ChunkRows, func(c *vec.Chunk) error {
			for i := range c.Rows {
				rows.AppendFrom(c, i, -c.Weight(i))
			}
			return canceled(ctx)
		})
		if err != nil {
			return nil, err
		}
		if rows.Rows > 0 {
			w.tables = append(w.tables, tableWrite{rel: t.OID, name: t.Name, key: storageKey(t), rows: rows})
		}
	}
	return w, nil
}
