package planner

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// Stored queries are pinned: every relation is named with its schema, every * is
// spelled out and every NATURAL JOIN has its USING, so that the text means the
// same whatever is created, added or renamed later. PostgreSQL stores trees over
// object numbers for the same reason.

// pins are what the names of a query meant when it was bound.
type pins struct {
	refs    map[*sql.TableRef]catalog.Relation
	targets map[*sql.Select][]sql.Target
	using   map[*sql.JoinTable][]string
}

// pinned returns the query as text that does not depend on the search path or on
// later changes of the relations it reads. Names are looked up along path. edit,
// unless nil, may change each reference to a relation on the way.
func (p *Planner) pinned(q *sql.Select, path []string, edit func(*sql.TableRef, catalog.Relation)) (string, error) {
	q, err := ParseQuery(sql.Format(q))
	if err != nil {
		return "", err
	}
	c := *p
	c.Text = ""
	b := c.newBinder(true)
	b.path = path
	b.pins = &pins{refs: map[*sql.TableRef]catalog.Relation{}, targets: map[*sql.Select][]sql.Target{}, using: map[*sql.JoinTable][]string{}}
	if _, _, err := b.rootQuery(q); err != nil {
		return "", err
	}
	for s, ts := range b.pins.targets {
		s.Targets = ts
	}
	for j, names := range b.pins.using {
		j.Natural, j.Using = false, names
	}
	for te, rel := range b.pins.refs {
		te.Name = sql.Name{Schema: rel.Header().Schema, Name: rel.Header().Name}
		if edit != nil {
			edit(te, rel)
		}
	}
	return sql.Format(q), nil
}

// noteTarget notes the columns that one item of a select list stands for. An item that
// cannot be spelled out leaves the whole list as it is written.
func (s *selection) noteTarget(t sql.Target, cols []namedExpr) {
	if s.b.pins == nil || s.unpinned {
		return
	}
	ref, ok := t.Expr.(*sql.ColumnRef)
	if !ok || !ref.Star {
		s.pinned = append(s.pinned, t)
		return
	}
	for _, c := range cols {
		parts := []string{c.name}
		if c.of != "" {
			parts = []string{c.of, c.name}
		}
		named := &sql.ColumnRef{At: ref.At, Parts: parts}
		e, err := s.b.column(s.sc, named)
		if err != nil || e == nil || exprText(e, nil) != exprText(c.e, nil) {
			s.unpinned = true
			return
		}
		s.pinned = append(s.pinned, sql.Target{At: t.At, Expr: named})
	}
}

// pinTargets notes the spelled-out select list.
func (s *selection) pinTargets() {
	if s.b.pins != nil && !s.unpinned && len(s.pinned) > 0 {
		s.b.pins.targets[s.q] = s.pinned
	}
}

// Renamed returns the text of a stored query after the relation oid, which still
// has its old name in the catalog, is called name: its columns can be referred to
// as before, because the old name becomes an alias.
func (p *Planner) Renamed(text string, path []string, oid uint32, name sql.Name) (string, error) {
	return p.edited(text, path, func(te *sql.TableRef, rel catalog.Relation) {
		if rel.Header().OID != oid {
			return
		}
		if te.Alias == nil {
			te.Alias = &sql.Alias{Name: te.Name.Name}
		}
		te.Name = name
	})
}

// ColumnRenamed returns the text of a stored query after column col of the
// relation oid, which still has its old name in the catalog, is renamed.
func (p *Planner) ColumnRenamed(text string, path []string, oid uint32) (string, error) {
	return p.edited(text, path, func(te *sql.TableRef, rel catalog.Relation) {
		if rel.Header().OID != oid {
			return
		}
		if te.Alias == nil {
			te.Alias = &sql.Alias{Name: te.Name.Name}
		}
		for i, c := range rel.Cols() {
			if i >= len(te.Alias.Columns) {
				te.Alias.Columns = append(te.Alias.Columns, c.Name)
			}
		}
	})
}

func (p *Planner) edited(text string, path []string, edit func(*sql.TableRef, catalog.Relation)) (string, error) {
	q, err := ParseQuery(text)
	if err != nil {
		return "", err
	}
	return p.pinned(q, path, edit)
}

// storedQuery is the pinned text of a query that becomes part of the catalog.
func (p *Planner) storedQuery(q *sql.Select, path []string) (string, error) {
	text, err := p.pinned(q, path, nil)
	if err != nil {
		return "", pgerr.From(err)
	}
	return text, nil
}
