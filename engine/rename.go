package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// rename gives an object another name or schema. The stored queries that read it
// are rewritten to the new name, so that they go on meaning the same object, and
// running jobs are not disturbed: they know relations by number.
func (s *Session) rename(ctx context.Context, o catalog.Object, a sql.AlterAction) (catalog.Object, error) {
	if schema, ok := o.(*catalog.Schema); ok {
		return nil, s.renameSchema(ctx, schema, a.NewName)
	}
	snap := s.snapshot()
	n := catalog.Clone(o)
	if h := o.Header(); a.Kind == sql.AlterRename && a.NewName == h.Name && o.Kind().Relation() {
		return nil, pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", h.Name)
	}
	if a.Kind == sql.AlterRename {
		n.Header().Name = a.NewName
	} else {
		if snap.Schema(a.NewName) == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", a.NewName)
		}
		n.Header().Schema = a.NewName
	}
	name := sql.Name{Schema: n.Header().Schema, Name: n.Header().Name}
	redefine(n, func(st sql.Stmt) { setName(st, name) })
	changes := []catalog.Change{{Replace: n}}
	for _, d := range snap.Dependents(o.Header().OID) {
		c := catalog.Clone(d)
		if q, ok := c.(*catalog.Sequence); ok && q.OwnedTable == o.Header().OID {
			q.Schema = name.Schema
		}
		if err := s.follow(snap, c, o.Header().OID, name); err != nil {
			return nil, err
		}
		changes = append(changes, catalog.Change{Replace: c})
	}
	if err := s.eng.Unmoved(snap, changes); err != nil {
		return nil, err
	}
	if s.tx.ddl != nil {
		return n, s.changeCatalog(changes...)
	}
	for {
		j := s.eng.JobOf(o.Header().OID)
		if j == nil {
			return n, s.changeCatalog(changes...)
		}
		g := j.Graph()
		if g == nil {
			return n, s.eng.RenameJob(j, n, changes)
		}
		err := g.AtRest(ctx, func() error { return s.eng.RenameJob(s.eng.JobOf(o.Header().OID), n, changes) })
		if err != jobs.ErrMerged {
			return n, err
		}
	}
}

// follow makes an object that reads oid read it under its new name.
func (s *Session) follow(snap *catalog.Snapshot, d catalog.Object, oid uint32, name sql.Name) error {
	if ix, ok := d.(*catalog.Index); ok {
		redefine(ix, func(st sql.Stmt) {
			if c, ok := st.(*sql.CreateIndex); ok {
				c.Table = name
			}
		})
		if ix.Schema != name.Schema {
			ix.Schema = name.Schema
		}
		return nil
	}
	query, text, path := storedQuery(d)
	if query == nil {
		return nil
	}
	q, err := (&planner.Planner{Cat: snap, Session: &s.expr, Of: functionOf(d)}).Renamed(*query, path, oid, name)
	if err != nil {
		return pgerr.Unsupported("renaming this object", d.Kind().String()+" "+d.Header().Name+" reads it in a way that cannot be rewritten.")
	}
	*query, *text = q, ""
	redefine(d, func(st sql.Stmt) { setQuery(st, q, name) })
	return nil
}

// storedQuery returns the places of an object's query and of its text as written,
// and the path its other names are looked up by.
func storedQuery(o catalog.Object) (query, text *string, path []string) {
	switch o := o.(type) {
	case *catalog.View:
		return &o.Query, &o.Text, o.SearchPath
	case *catalog.MatView:
		return &o.Query, &o.Text, o.SearchPath
	case *catalog.Sink:
		return &o.Query, &o.Text, o.SearchPath
	case *catalog.Function:
		return &o.Query, &o.Body, o.SearchPath
	}
	return nil, nil, nil
}

// functionOf is the function whose query o has; nil for other objects.
func functionOf(o catalog.Object) *catalog.Function {
	f, _ := o.(*catalog.Function)
	return f
}

// redefine changes the statement that SHOW CREATE shows. One that cannot be read
// again stays as it was written.
func redefine(o catalog.Object, f func(sql.Stmt)) {
	def := definitionOf(o)
	if def == nil || *def == "" {
		return
	}
	sts, err := sql.Parse(*def)
	if err != nil || len(sts) != 1 {
		return
	}
	f(sts[0].Stmt)
	*def = sql.Format(sts[0].Stmt)
}

func setName(st sql.Stmt, n sql.Name) {
	switch st := st.(type) {
	case *sql.CreateTable:
		st.Name = n
	case *sql.CreateSource:
		st.Name = n
	case *sql.CreateView:
		st.Name = n
	case *sql.CreateMaterializedView:
		st.Name = n
	case *sql.CreateSink:
		st.Name = n
	case *sql.CreateIndex:
		st.Name = n.Name
	}
}

// setQuery puts the rewritten query into a definition; input is the new name of
// the relation that CREATE SINK … FROM names.
func setQuery(st sql.Stmt, text string, input sql.Name) {
	q, err := planner.ParseQuery(text)
	if err != nil {
		return
	}
	switch st := st.(type) {
	case *sql.CreateView:
		st.Query = q
	case *sql.CreateMaterializedView:
		st.Query = q
	case *sql.CreateSink:
		if st.From != nil {
			st.From = &input
		} else {
			st.Query = q
		}
	}
}
