package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/vec"
)

// Temporary objects are ordinary ones in a schema of the session's own, which its
// search path begins with. They go with the session, or after a crash before
// anything is recovered. No job but those of their own indexes reads them.

// temporary has the session's temporary objects.
type temporary struct {
	schema string            // empty: it has none yet
	commit map[uint32]string // ON COMMIT of tables: DELETE ROWS or DROP
}

// makeTemporary prepares a statement that makes a temporary object: the name is made
// one of the session's schema, which comes to be. Runner.DDL is held.
func (s *Session) makeTemporary(st sql.Stmt) error {
	switch st := st.(type) {
	case *sql.CreateTable:
		if st.OnCommit != "" && !st.Temp && st.Name.Schema != catalog.TempSchema {
			return pgerr.New(pgerr.InvalidTableDefinition, "ON COMMIT can only be used on temporary tables")
		}
		return s.temporaryName(&st.Name, st.Temp)
	case *sql.CreateView:
		return s.temporaryName(&st.Name, st.Temp)
	case *sql.CreateSequence:
		return s.temporaryName(&st.Name, st.Temp)
	}
	return nil
}

func (s *Session) temporaryName(n *sql.Name, temp bool) error {
	if !temp && n.Schema != catalog.TempSchema {
		return nil
	}
	if n.Schema != "" && n.Schema != catalog.TempSchema && n.Schema != s.temp.schema {
		return pgerr.New(pgerr.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema")
	}
	if err := s.ensureTemporary(); err != nil {
		return err
	}
	n.Schema = s.temp.schema
	return nil
}

// ensureTemporary makes the session's schema.
func (s *Session) ensureTemporary() error {
	if snap := s.snapshot(); !snap.Can(s.who.current, snap.Database(), catalog.Temp) {
		return forbidden("permission denied to create temporary tables in database \"%s\"", s.database)
	}
	if s.temp.schema == "" {
		s.temp.schema = fmt.Sprintf("%s_%d", catalog.TempSchema, s.eng.temps.Add(1))
	}
	if s.snapshot().Schema(s.temp.schema) == nil {
		o := &catalog.Schema{Head: catalog.Head{Name: s.temp.schema, Owner: s.who.authenticated}}
		s.number(o)
		if err := s.changeCatalog(catalog.Change{Create: o}); err != nil {
			return err
		}
	}
	s.findTemporary()
	return nil
}

// findTemporary makes names be found in the session's schema first.
func (s *Session) findTemporary() {
	s.planState = nil
	s.expr.SearchPath = catalog.LastingPath(s.expr.SearchPath)
	if s.temp.schema != "" {
		s.expr.SearchPath = append([]string{s.temp.schema}, s.expr.SearchPath...)
	}
}

// temporaryView puts a view that reads temporary objects among them.
func (s *Session) temporaryView(v *catalog.View, st *sql.CreateView) error {
	if catalog.IsTemp(v.Schema) {
		return nil
	}
	if !s.usesTemporary(v.DependsOn) {
		return nil
	}
	if st.Name.Schema != "" {
		return pgerr.New(pgerr.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema")
	}
	s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "view \"%s\" will be a temporary view", v.Name))
	v.Schema = s.temp.schema
	return nil
}

// usesTemporary reports whether one of the objects is temporary.
func (s *Session) usesTemporary(oids []uint32) bool {
	return slices.ContainsFunc(oids, func(oid uint32) bool {
		o := s.snapshot().ByOID(oid)
		return o != nil && catalog.IsTemp(o.Header().Schema)
	})
}

// keepOnCommit remembers ON COMMIT of a new table.
func (s *Session) keepOnCommit(oid uint32, what string) {
	if what != "DELETE ROWS" && what != "DROP" {
		return
	}
	if s.temp.commit == nil {
		s.temp.commit = map[uint32]string{}
	}
	s.temp.commit[oid] = what
}

// emptied are the writes of a transaction without those of tables that its end
// empties.
func (s *Session) emptied(ws []*stage.TableWrite) []*stage.TableWrite {
	if len(s.temp.commit) == 0 {
		return ws
	}
	return slices.DeleteFunc(slices.Clone(ws), func(w *stage.TableWrite) bool { return s.temp.commit[w.Rel] != "" })
}

// dropOnCommit drops the tables of ON COMMIT DROP with the transaction that made them.
func (s *Session) dropOnCommit() error {
	if s.tx.ddl == nil {
		return nil
	}
	for _, oid := range slices.Sorted(maps.Keys(s.temp.commit)) {
		t, ok := s.snapshot().ByOID(oid).(*catalog.Table)
		if !ok || s.temp.commit[oid] != "DROP" {
			continue
		}
		if err := s.dropQuietly("table", sql.Name{Schema: t.Schema, Name: t.Name}); err != nil {
			return err
		}
	}
	return nil
}

// transactionDone does what ON COMMIT says.
func (s *Session) transactionDone(ctx context.Context, committed bool) error {
	for _, oid := range slices.Sorted(maps.Keys(s.temp.commit)) {
		t, ok := s.snapshot().ByOID(oid).(*catalog.Table)
		switch {
		case !ok:
			delete(s.temp.commit, oid)
		case s.temp.commit[oid] == "DROP":
			delete(s.temp.commit, oid)
			if err := s.dropQuietly("table", sql.Name{Schema: t.Schema, Name: t.Name}); err != nil {
				return err
			}
		case committed:
			if err := s.deleteRows(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRows empties a table of rows that were stored before the transaction's end,
// since a change of the catalog came between.
func (s *Session) deleteRows(ctx context.Context, t *catalog.Table) error {
	r := s.newRun(ctx)
	defer r.close()
	rows := vec.NewChunk(stage.ColumnTypes(t.Columns), 16)
	err := stage.ScanRelation(r.cat, r.snap, t.OID, s.eng.Config.ChunkRows, func(c *vec.Chunk) error {
		for i := range c.Rows {
			rows.AppendFrom(c, i, -c.Weight(i))
		}
		return nil
	})
	if err != nil || rows.Rows == 0 {
		return err
	}
	w := &stage.Write{Tables: []stage.TableWrite{{Rel: t.OID, Name: t.Name, Revision: t.Revision, Key: catalog.StorageKey(t), Rows: rows}}}
	return s.eng.CommitWrite(ctx, w)
}

// dropQuietly drops an object with what depends on it and says nothing.
func (s *Session) dropQuietly(kind string, n sql.Name) error {
	s.eng.DDL.Lock()
	defer s.eng.DDL.Unlock()
	if s.eng.Ctx.Err() != nil {
		return nil
	}
	s.hushed = true
	defer func() { s.hushed = false }()
	return s.drop(s.eng.Ctx, &sql.Drop{Kind: kind, Targets: []sql.DropTarget{{Name: n}}, IfExists: true, Cascade: true})
}

// dropTemporary drops the session's temporary objects.
func (s *Session) dropTemporary() {
	if s.temp.schema == "" || s.snapshot().Schema(s.temp.schema) == nil {
		return
	}
	if err := s.dropQuietly("schema", sql.Name{Name: s.temp.schema}); err != nil {
		s.eng.Log.Error("temporary objects were not dropped", "schema", s.temp.schema, "err", err)
	}
	s.temp.commit = nil
}
