package engine

import (
	"math/rand/v2"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// ofAttributes reports whether actions of ALTER TYPE are about the attributes of a
// composite type.
func ofAttributes(as []sql.AlterAction) bool {
	return !slices.ContainsFunc(as, func(a sql.AlterAction) bool {
		switch a.Kind {
		case sql.AlterAddColumn, sql.AlterDropColumn, sql.AlterColumnType, sql.AlterRenameColumn:
			return false
		}
		return true
	})
}

// alterAttributes changes the attributes of a composite type that nothing uses. It gets
// another reference, as values made before have the old attributes.
func (s *Session) alterAttributes(snap *catalog.Snapshot, st *sql.Alter) error {
	if err := s.mayLookInto(snap, st.Name.Schema); err != nil {
		return err
	}
	old, ok := snap.Other(catalog.KindType, st.Name.Schema, st.Name.Name, s.expr.SearchPath).(*catalog.Type)
	switch {
	case !ok && snap.Lookup(st.Name.Schema, st.Name.Name, s.expr.SearchPath) != nil, ok && (old.Enum || old.Domain != nil || old.Range != nil):
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a composite type", st.Name.Name)
	case !ok && st.IfExists:
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", st.Name.Name))
		return nil
	case !ok:
		return pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", st.Name.Name)
	}
	if err := s.mustOwn(old); err != nil {
		return err
	}
	retyped := slices.ContainsFunc(st.Actions, func(a sql.AlterAction) bool { return a.Kind == sql.AlterColumnType })
	if err := unusedType(snap, old, retyped); err != nil {
		return err
	}
	n := catalog.Clone(old).(*catalog.Type)
	n.Fields = slices.Clone(old.Fields)
	for i := range st.Actions {
		if err := s.alterAttribute(snap, n, &st.Actions[i]); err != nil {
			return err
		}
	}
	n.Ref = rand.Uint64() | 1
	return s.changeCatalog(catalog.Change{Replace: n})
}

// unusedType refuses to change a type that something depends on. retyped: one of its
// attributes is to get another type.
func unusedType(snap *catalog.Snapshot, t *catalog.Type, retyped bool) error {
	for _, d := range snap.Dependents(t.OID) {
		if r, ok := d.(*catalog.Table); ok && retyped {
			for _, c := range r.Columns {
				if slices.Contains(catalog.TypeOIDs(c.Type), t.OID) {
					return pgerr.New(pgerr.FeatureNotSupported, "cannot alter type \"%s\" because column \"%s.%s\" uses it", t.Name, r.Name, c.Name)
				}
			}
		}
		return pgerr.Unsupported("changing a composite type that something uses",
			"Drop "+catalog.Described(d)+" and create it again afterwards.")
	}
	return nil
}

func (s *Session) alterAttribute(snap *catalog.Snapshot, t *catalog.Type, a *sql.AlterAction) error {
	i := catalog.ColumnIndex(t.Fields, a.Column)
	typed := func(n *sql.TypeName) (catalog.Column, error) {
		typ, err := planner.ResolveTypeName(snap, s.expr.SearchPath, n)
		if err == nil {
			err = planner.CheckColumn(a.Column, typ)
		}
		if err == nil {
			err = s.mayUseTypes(typ)
		}
		if err == nil && slices.Contains(catalog.TypeOIDs(typ), t.OID) {
			err = pgerr.New(pgerr.InvalidTableDefinition, "composite type %s cannot be made a member of itself", t.Name)
		}
		return catalog.Column{Name: a.Column, Type: typ}, err
	}
	switch {
	case a.Kind == sql.AlterAddColumn && i >= 0:
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", a.Column, t.Name)
	case a.Kind == sql.AlterAddColumn:
		c, err := typed(a.Def.Type)
		t.Fields = append(t.Fields, c)
		return err
	case i < 0 && a.Kind == sql.AlterRenameColumn:
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", a.Column)
	case i < 0 && a.IfExists:
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "column \"%s\" of relation \"%s\" does not exist, skipping", a.Column, t.Name))
		return nil
	case i < 0:
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", a.Column, t.Name)
	case a.Kind == sql.AlterDropColumn:
		t.Fields = slices.Delete(t.Fields, i, i+1)
	case a.Kind == sql.AlterColumnType:
		c, err := typed(a.Type)
		t.Fields[i] = c
		return err
	case catalog.ColumnIndex(t.Fields, a.NewName) >= 0:
		return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", a.NewName, t.Name)
	default:
		t.Fields[i].Name = a.NewName
	}
	return nil
}
