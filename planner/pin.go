package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
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
	// quals are the names of the FROM items that bare column names are of, so that
	// a column of that name that another item gets later does no harm.
	quals map[*sql.ColumnRef]string
	// used are the columns of relations that the query names.
	used  map[uint32]map[int]bool
	calls map[*sql.FuncCall]string // schemas of users' functions
	// objects are the numbers of what literals such as 't'::regclass name; literals
	// are those of constants.
	objects  map[*sql.Literal]string
	literals map[*expr.Const]*sql.Literal
}

// literal returns the literal of a constant; nil: it is not known.
func (p *pins) literal(k *expr.Const) *sql.Literal {
	if p == nil {
		return nil
	}
	return p.literals[k]
}

// originate notes of which relation the columns of an item are.
func (b *binder) originate(it *rangeItem, rel uint32) {
	if b.pins == nil || b.views > 0 {
		return
	}
	for i := range it.cols {
		if i < len(it.rel.Cols()) && !it.cols[i].system {
			it.cols[i].rel, it.cols[i].at = rel, i
		}
	}
}

// noteUse notes that the query reads a column.
func (b *binder) noteUse(c *scopeCol) {
	c.reads()
	if b.pins == nil || c.rel == 0 {
		return
	}
	m := b.pins.used[c.rel]
	if m == nil {
		m = map[int]bool{}
		b.pins.used[c.rel] = m
	}
	m[c.at] = true
}

// noteQualifier notes which item of scope s a bare column name in the inner scope sc
// is of, if the item's name tells.
func (b *binder) noteQualifier(sc, s *scope, ref *sql.ColumnRef) {
	if b.pins == nil || b.views > 0 || len(ref.Parts) != 1 {
		return
	}
	var found *scopeCol
	for _, it := range s.items {
		for i := range it.cols {
			if it.colVisible && it.cols[i].name == ref.Parts[0] {
				found = &it.cols[i]
			}
		}
	}
	if found == nil || found.e != nil {
		return
	}
	// A column of a join is named by the item below it that has it.
	for _, it := range s.items {
		if !it.relVisible || it.name == "" || !slices.ContainsFunc(it.cols, func(c scopeCol) bool {
			return c.name == found.name && c.e == nil && c.index == found.index
		}) {
			continue
		}
		for in := sc; ; in = in.parent {
			if seen, err := b.item(in, []string{it.name}, ref); err != nil || seen != nil {
				if err == nil && seen == it {
					b.pins.quals[ref] = it.name
				}
				return
			}
		}
	}
}

// pinned returns the query as text that does not depend on the search path or on
// later changes of the relations it reads. Names are looked up along path, and
// among the parameters of p.Of. edit, unless nil, may change each reference to a
// relation on the way.
func (p *Planner) pinned(q *sql.Select, path []string, edit func(*sql.TableRef, catalog.Relation)) (string, error) {
	q, found, err := p.pins(q, path)
	if err != nil {
		return "", err
	}
	return p.write(q, found, edit), nil
}

// pins binds a copy of a query and returns it with what its names mean. The query of a
// polymorphic function that reads no relations may be one that only a call can tell.
func (p *Planner) pins(q *sql.Select, path []string) (*sql.Select, *pins, error) {
	var first error
	for _, of := range p.trials(p.Of) {
		bound, found, err := p.pinsOf(q, path, of)
		if err == nil {
			return bound, found, nil
		}
		if first == nil {
			first = err
		}
	}
	if p.Of != nil && isPolymorphic(p.Of) && !readsRelations(q) {
		return q, &pins{}, nil
	}
	return nil, nil, first
}

// pinsOf is pins for the query of a function (nil: of none).
func (p *Planner) pinsOf(q *sql.Select, path []string, of *catalog.Function) (*sql.Select, *pins, error) {
	q, err := ParseQuery(sql.Format(q))
	if err != nil {
		return nil, nil, err
	}
	c := *p
	c.Text = ""
	b := c.newBinder(true)
	b.path = path
	b.pins = &pins{refs: map[*sql.TableRef]catalog.Relation{}, targets: map[*sql.Select][]sql.Target{}, using: map[*sql.JoinTable][]string{},
		quals: map[*sql.ColumnRef]string{}, used: map[uint32]map[int]bool{}, calls: map[*sql.FuncCall]string{},
		objects: map[*sql.Literal]string{}, literals: map[*expr.Const]*sql.Literal{}}
	var sc *scope
	if of != nil {
		sc, _ = functionScope(of, placeholders(of), nil)
	}
	if _, _, err := b.query(q, sc, queryMode{root: sc == nil}); err != nil {
		return nil, nil, err
	}
	return q, b.pins, nil
}

// ColumnsRead returns the columns of the relation oid that a stored query reads
// where it names the relation itself.
func (p *Planner) ColumnsRead(text string, path []string, oid uint32) (map[int]bool, error) {
	q, err := ParseQuery(text)
	if err != nil {
		return nil, err
	}
	_, found, err := p.pins(q, path)
	if err != nil {
		return nil, err
	}
	return found.used[oid], nil
}

// write puts into a query what its names mean, and returns its text.
func (p *Planner) write(q *sql.Select, found *pins, edit func(*sql.TableRef, catalog.Relation)) string {
	for s, ts := range found.targets {
		s.Targets = ts
	}
	for ref, item := range found.quals {
		if item != "" {
			ref.Parts = []string{item, ref.Parts[0]}
		}
	}
	for j, names := range found.using {
		j.Natural, j.Using = false, names
	}
	for lit, number := range found.objects {
		lit.Text = number
	}
	for call, schema := range found.calls {
		call.Schema = schema
	}
	for te, rel := range found.refs {
		te.Name = sql.Name{Schema: rel.Header().Schema, Name: rel.Header().Name}
		if edit != nil {
			edit(te, rel)
		}
	}
	return sql.Format(q)
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
	return p.edited(text, path, renaming(oid, name))
}

// renaming makes references to oid ones to name.
func renaming(oid uint32, name sql.Name) func(*sql.TableRef, catalog.Relation) {
	return func(te *sql.TableRef, rel catalog.Relation) {
		if rel.Header().OID != oid {
			return
		}
		if te.Alias == nil {
			te.Alias = &sql.Alias{Name: te.Name.Name}
		}
		te.Name = name
	}
}

// ColumnRenamed returns the text of a stored query after a column of the
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

// ColumnsDropped returns the text of a stored query after columns of the relation
// oid, which still has them in the catalog and which the query does not read, are
// dropped.
func (p *Planner) ColumnsDropped(text string, path []string, oid uint32, cols map[int]bool) (string, error) {
	return p.edited(text, path, func(te *sql.TableRef, rel catalog.Relation) {
		if rel.Header().OID != oid || te.Alias == nil {
			return
		}
		var left []string
		for i, n := range te.Alias.Columns {
			if !cols[i] {
				left = append(left, n)
			}
		}
		te.Alias.Columns = left
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
