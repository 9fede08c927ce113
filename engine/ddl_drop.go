package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// drop removes objects, dependents first.
func (s *Session) drop(ctx context.Context, st *sql.Drop) error {
	snap := s.snapshot()
	var oids []uint32 // the contents of a schema before it
	named := map[uint32]bool{}
	for _, t := range st.Targets {
		var o catalog.Object
		var err error
		if st.Kind == "function" || st.Kind == "routine" {
			o, err = s.functionTarget(snap, t)
		} else {
			o, err = s.dropTarget(snap, st.Kind, t.Name)
		}
		if err != nil {
			if st.IfExists && pgerr.CodeOf(err) == pgerr.UndefinedFunction {
				s.notice("NOTICE", noFunctionNotice(err))
				continue
			}
			if st.IfExists && missing(err) {
				kind, name := st.Kind, t.Name.Name
				if sc := t.Name.Schema; sc != "" && snap.Schema(sc) == nil {
					kind, name = "schema", sc
				}
				s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "%s \"%s\" does not exist, skipping", kind, name))
				continue
			}
			return err
		}
		if err := s.mayDrop(o); err != nil {
			return err
		}
		if t, ok := o.(*catalog.Type); ok && t.Range != nil && t.Range.Multi {
			r := snap.ByOID(t.Range.Pair).(*catalog.Type)
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because type %s requires it", t.T(), r.T()).
				WithHint("You can drop type %s instead.", r.T())
		}
		if ix, ok := o.(*catalog.Index); ok && ix.Constraint {
			t := snap.ByOID(ix.Table).Header().Name
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop index %s because constraint %s on table %s requires it", ix.Name, ix.Name, t).
				WithHint("You can drop constraint %s on table %s instead.", ix.Name, t)
		}
		if o.Kind() == catalog.KindSchema && st.Cascade {
			oids = append(oids, contents(snap, o.Header().Name)...)
		}
		oids = append(oids, o.Header().OID)
		named[o.Header().OID] = true
	}
	if len(oids) == 0 {
		return nil
	}
	if st.Cascade {
		columns, err := s.dropTypedColumns(ctx, snap, oids)
		if err != nil {
			return err
		}
		return s.dropObjects(s.snapshot(), oids, named, true, nil, columns...)
	}
	return s.dropObjects(snap, oids, named, st.Cascade, nil)
}

// dropObjects removes objects, and with cascade what depends on them. Those that
// were named are not told of, also is what has gone with them before. then, unless nil,
// tells what else changes of the catalog without them, in the same step.
func (s *Session) dropObjects(snap *catalog.Snapshot, oids []uint32, named map[uint32]bool, cascade bool, then func(*catalog.Snapshot) []catalog.Change, also ...string) error {
	order := snap.DropOrder(oids...)
	if !cascade {
		order = s.dropListed(snap, oids)
	} else if err := cascadesToTable(order, listed(oids)); err != nil {
		return err
	}
	changed := map[uint32]*catalog.Table{}
	if err := s.freeForeignKeys(snap, order, cascade, changed); err != nil {
		return err
	}
	if err := s.freeSequences(snap, order, named, cascade, changed); err != nil {
		return err
	}
	var changes []catalog.Change
	for _, oid := range sortedKeys(changed) {
		changes = append(changes, catalog.Change{Replace: changed[oid]})
	}
	for _, o := range order {
		changes = append(changes, catalog.Change{Drop: o.Header().OID})
	}
	changes = append(changes, forgetDefaults(snap, order)...)
	next, _, err := snap.Apply(changes...)
	if err != nil {
		return err
	}
	if then != nil {
		changes = append(changes, then(next)...)
	}
	if s.tx.ddl != nil {
		if err := s.changeCatalog(changes...); err != nil {
			return err
		}
	} else if err := s.eng.DropNow(order, changes); err != nil {
		return err
	}
	if cascade {
		s.cascadeNotice(snap, order, named, also)
	}
	return nil
}

// forgetDefaults takes the default privileges of schemas that go out of the roles.
func forgetDefaults(snap *catalog.Snapshot, gone []catalog.Object) []catalog.Change {
	schemas := map[uint32]bool{}
	for _, o := range gone {
		if o.Kind() == catalog.KindSchema {
			schemas[o.Header().OID] = true
		}
	}
	if len(schemas) == 0 {
		return nil
	}
	var out []catalog.Change
	for _, r := range snap.Roles() {
		n := catalog.Clone(r).(*catalog.Role)
		n.Defaults = slices.DeleteFunc(n.Defaults, func(d catalog.DefaultACL) bool { return schemas[d.Schema] })
		if len(n.Defaults) < len(r.Defaults) {
			out = append(out, catalog.Change{Replace: n})
		}
	}
	return out
}

func listed(oids []uint32) map[uint32]bool {
	m := map[uint32]bool{}
	for _, o := range oids {
		m[o] = true
	}
	return m
}

// dropListed is the order of a drop without CASCADE: the named objects and their
// own indexes; other dependents make Apply refuse it.
func (s *Session) dropListed(snap *catalog.Snapshot, oids []uint32) []catalog.Object {
	named := listed(oids)
	var out []catalog.Object
	for _, o := range snap.DropOrder(oids...) {
		if named[o.Header().OID] || named[ownerOf(o)] {
			out = append(out, o)
		}
	}
	return out
}

// ownerOf returns the relation that an index or an owned sequence goes away with.
func ownerOf(o catalog.Object) uint32 {
	switch o := o.(type) {
	case *catalog.Index:
		return o.Table
	case *catalog.Sequence:
		return o.OwnedTable
	case *catalog.Type:
		if o.Range != nil && o.Range.Multi {
			return o.Range.Pair
		}
	}
	return 0
}

// partOf reports whether o goes away with one of the objects.
func partOf(o catalog.Object, objects []catalog.Object) bool {
	owner := ownerOf(o)
	return owner != 0 && slices.ContainsFunc(objects, func(x catalog.Object) bool { return x.Header().OID == owner })
}

func missing(err error) bool {
	switch pgerr.CodeOf(err) {
	case pgerr.UndefinedTable, pgerr.InvalidSchemaName, pgerr.UndefinedObject:
		return true
	}
	return false
}

func (s *Session) dropTarget(snap *catalog.Snapshot, kind string, n sql.Name) (catalog.Object, error) {
	if kind != "schema" {
		if err := s.mayLookInto(snap, n.Schema); err != nil {
			return nil, err
		}
	}
	if kind == "schema" {
		if o := snap.Schema(n.Name); o != nil {
			return o, nil
		}
		return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Name)
	}
	if kind == "type" {
		return s.typeTarget(snap, n)
	}
	if kind == "domain" {
		return s.domainTarget(snap, n)
	}
	if kind == "subscription" { // there are none
		return nil, pgerr.New(pgerr.UndefinedObject, "subscription \"%s\" does not exist", n.Name)
	}
	if kind == "secret" {
		if o := snap.Other(catalog.KindSecret, n.Schema, n.Name, s.expr.SearchPath); o != nil {
			return o, nil
		}
		return nil, pgerr.New(pgerr.UndefinedObject, "secret \"%s\" does not exist", n.Name)
	}
	o := snap.Lookup(n.Schema, n.Name, s.expr.SearchPath)
	if o == nil && n.Schema != "" && snap.Schema(n.Schema) == nil {
		return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Schema)
	}
	if o == nil {
		code := pgerr.UndefinedTable
		if kind == "index" {
			code = pgerr.UndefinedObject
		}
		return nil, pgerr.New(code, "%s \"%s\" does not exist", kind, n.Name)
	}
	if o.Kind().String() != kind {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a %s", n.Name, kind).
			WithHint("Use DROP %s to remove a %s.", strings.ToUpper(o.Kind().String()), o.Kind())
	}
	return o, nil
}
