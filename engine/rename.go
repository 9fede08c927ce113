package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/define"
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
	if t, ok := o.(*catalog.Type); ok && t.Range != nil {
		return nil, pgerr.Unsupported("another name or schema for a range type", "Create the type anew.")
	}
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
	define.Redefine(n, func(st sql.Stmt) { define.SetName(st, name) })
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
		define.Redefine(ix, func(st sql.Stmt) {
			if c, ok := st.(*sql.CreateIndex); ok {
				c.Table = name
			}
		})
		if ix.Schema != name.Schema {
			ix.Schema = name.Schema
		}
		return nil
	}
	query, text, path := define.StoredQuery(d)
	if query == nil {
		return nil
	}
	q, err := (&planner.Planner{Cat: snap, Session: &s.expr, Of: define.FunctionOf(d)}).Renamed(*query, path, oid, name)
	if err != nil {
		return pgerr.Unsupported("renaming this object", d.Kind().String()+" "+d.Header().Name+" reads it in a way that cannot be rewritten.")
	}
	*query, *text = q, ""
	define.Redefine(d, func(st sql.Stmt) { define.SetQuery(st, q, name) })
	return nil
}
