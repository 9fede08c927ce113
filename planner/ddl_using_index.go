package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// ConstraintOfIndex makes an index of a table that of a key, as ADD CONSTRAINT USING
// INDEX says. The index is found by its name among all, and is a copy; existing are the
// indexes of the table. The columns of a primary key become NOT NULL.
func (p *Planner) ConstraintOfIndex(t *catalog.Table, existing []*catalog.Index, found catalog.Object, c *sql.Constraint) (*catalog.Index, error) {
	b := p.newBinder(false)
	primary := c.Kind == sql.ConPrimaryKey
	if primary && (t.PrimaryKey != nil || slices.ContainsFunc(existing, func(x *catalog.Index) bool { return x.Primary })) {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "multiple primary keys for table \"%s\" are not allowed", t.Name)
	}
	ix, ok := found.(*catalog.Index)
	if !ok {
		return nil, b.errAt(c, pgerr.UndefinedObject, "index \"%s\" does not exist", c.Index)
	}
	if i := slices.IndexFunc(existing, func(x *catalog.Index) bool { return x.OID == ix.OID }); i >= 0 {
		ix = existing[i] // as the statement has it by now
	}
	bad := func(format string, args ...any) error {
		return pgerr.New(pgerr.WrongObjectType, format, args...).
			WithDetail("Cannot create a primary key or unique constraint using such an index.").At(b.at(c))
	}
	switch {
	case ix.Constraint:
		return nil, b.errAt(c, pgerr.ObjectNotInPrerequisiteState, "index \"%s\" is already associated with a constraint", c.Index)
	case ix.Table != t.OID:
		return nil, b.errAt(c, pgerr.ObjectNotInPrerequisiteState, "index \"%s\" does not belong to table \"%s\"", c.Index, t.Name)
	case !ix.Unique:
		return nil, bad("\"%s\" is not a unique index", c.Index)
	case ix.Columns() == nil:
		return nil, bad("index \"%s\" contains expressions", c.Index)
	case ix.Where != "":
		return nil, bad("\"%s\" is a partial index", c.Index)
	}
	for i, k := range ix.Keys {
		if k.Desc || k.NullsFirst {
			return nil, bad("index \"%s\" column number %d does not have default sorting behavior", c.Index, i+1)
		}
	}
	n := catalog.Clone(ix).(*catalog.Index)
	n.Constraint, n.Primary, n.Deferrable, n.Deferred = true, primary, c.Deferrable, c.Deferred
	if c.Name != "" {
		n.Name = c.Name
	}
	if primary {
		for _, k := range n.Keys {
			t.Columns[k.Column].NotNull = true
		}
	}
	return n, nil
}
