package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// holdsRowOf reports whether values of a type have rows of a relation in them.
func holdsRowOf(t types.T, oid uint32) bool {
	d := t.Def()
	if d == nil {
		return false
	}
	switch {
	case t.IsDomain():
		return holdsRowOf(t.Over(), oid)
	case t.ID == types.Array:
		return holdsRowOf(t.ElemType(), oid)
	case d.Relation == oid:
		return true
	}
	for _, f := range d.Fields {
		if holdsRowOf(f.Typ, oid) {
			return true
		}
	}
	return false
}

// rowTypeFree refuses a change of the table's columns while a column of another table
// has the type of its rows: the rows stored there would not follow.
func (a *alteration) rowTypeFree(kind sql.AlterKind) error {
	for _, o := range catalog.All[*catalog.Table](a.s.snapshot()) {
		for _, c := range o.Columns {
			if !holdsRowOf(c.Type, a.t.OID) {
				continue
			}
			err := pgerr.New(pgerr.FeatureNotSupported, "cannot alter table \"%s\" because column \"%s.%s\" uses its row type", a.t.Name, o.Name, c.Name)
			if kind != sql.AlterColumnType {
				err = err.WithHint("Drop the column, or give it a composite type of CREATE TYPE.")
			}
			return err
		}
	}
	return nil
}

// notWithin refuses a column whose values would have rows of the table itself in them.
func (a *alteration) notWithin(t types.T) error {
	if holdsRowOf(t, a.t.OID) {
		return pgerr.New(pgerr.InvalidTableDefinition, "composite type %s cannot be made a member of itself", a.t.Name)
	}
	return nil
}
