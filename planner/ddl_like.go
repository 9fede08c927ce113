package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/sql"
)

// The clauses of LIKE in CREATE TABLE, by PostgreSQL's bits. COMPRESSION, STATISTICS
// and STORAGE have nothing to copy.
const (
	likeComments uint32 = 1 << iota
	likeCompression
	likeConstraints
	likeDefaults
	likeGenerated
	likeIdentity
	likeIndexes
)

// like adds the columns of another relation, and what its clauses include.
func (r *relationBinder) like(l *sql.LikeTable) error {
	rel, err := r.b.relation(l.Table, l)
	if err != nil {
		return err
	}
	r.b.need(rel.Header().OID, catalog.Select)
	first := len(r.columns)
	for _, c := range rel.Cols() {
		if err := r.newName(c.Name); err != nil {
			return err
		}
		n := catalog.Column{Name: c.Name, Type: c.Type, NotNull: c.NotNull}
		if l.Options&likeDefaults != 0 {
			n.Default = c.Default
		}
		if l.Options&likeGenerated != 0 {
			n.Generated = c.Generated
		}
		if l.Options&likeComments != 0 {
			n.Comment = c.Comment
		}
		if q, ok := r.b.p.Cat.ByOID(c.Sequence).(*catalog.Sequence); ok && c.Identity != "" && l.Options&likeIdentity != 0 {
			n.Identity = c.Identity
			own := catalog.Clone(q).(*catalog.Sequence)
			own.Head, own.OwnedTable = catalog.Head{}, 0
			r.sequences = append(r.sequences, own)
		}
		r.columns = append(r.columns, n)
	}
	t, ok := rel.(*catalog.Table)
	if !ok {
		return nil
	}
	if l.Options&likeConstraints != 0 {
		for _, k := range t.Checks {
			name := freeCheck(r.checks, func(n string) string { return catalog.ObjectName(k.Name, "", n) })
			r.checks = append(r.checks, catalog.Check{Name: name, Expr: k.Expr})
		}
	}
	if l.Options&likeIndexes != 0 {
		r.likeIndexes(t, first)
	}
	return nil
}

// likeIndexes adds the keys and indexes of a table whose columns are those from first
// on. They get names of their own when all are known.
func (r *relationBinder) likeIndexes(t *catalog.Table, first int) {
	if k := t.PrimaryKey; k != nil {
		r.primary = &catalog.Key{Name: freeName(r.b.p.Cat, r.schema, r.name, nil, "pkey", nil)}
		for _, c := range k.Columns {
			r.primary.Columns = append(r.primary.Columns, first+c)
		}
	}
	for _, ix := range r.b.p.Cat.Indexes(t.OID) {
		n := catalog.Clone(ix).(*catalog.Index)
		n.Head, n.Table, n.Definition = catalog.Head{Schema: r.schema}, 0, ""
		n.Keys, n.Include = append([]catalog.IndexColumn(nil), ix.Keys...), nil
		for i := range n.Keys {
			if n.Keys[i].Column >= 0 {
				n.Keys[i].Column += first
			}
		}
		for _, c := range ix.Include {
			n.Include = append(n.Include, first+c)
		}
		r.indexes = append(r.indexes, n)
	}
}

// indexNameParts are the names in an index's name, and its ending.
func (r *relationBinder) indexNameParts(x *catalog.Index) (names []string, label string) {
	if x.Primary {
		return nil, "pkey"
	}
	label = "key"
	if !x.Constraint {
		label = "idx"
	}
	for _, k := range x.Keys {
		if k.Column >= 0 {
			names = append(names, r.columns[k.Column].Name)
		} else if k.As != nil {
			names = append(names, k.As.Name)
		}
	}
	return names, label
}
