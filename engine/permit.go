package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// Privileges are checked when a statement begins to run, against the catalog that
// it was planned with: everything that a plan needs is a planner.Need. A superuser
// passes all of it, also in views, whose owners are asked for what they read.

// permit checks what a plan needs.
func (s *Session) permit(snap *catalog.Snapshot, needs []*planner.Need) error {
	for _, n := range needs {
		as := n.As
		if as == 0 {
			if as = s.who.current; s.who.super && s.who.seen == snap {
				continue
			}
		}
		o := snap.ByOID(n.OID)
		if o == nil || snap.Superuser(as) {
			continue
		}
		if err := needed(snap, as, o, n); err != nil {
			return err
		}
	}
	return nil
}

func needed(snap *catalog.Snapshot, as uint32, o catalog.Object, n *planner.Need) error {
	miss := n.Privs &^ snap.Held(as, o, n.Privs)
	rel, ok := o.(catalog.Relation)
	if !ok || miss&^(catalog.Select|catalog.Insert|catalog.Update|catalog.References) != 0 {
		if miss != 0 {
			return catalog.Denied(o)
		}
		return nil
	}
	for kind, p := range []catalog.Privs{planner.NeedSelect: catalog.Select, planner.NeedInsert: catalog.Insert, planner.NeedUpdate: catalog.Update,
		planner.NeedReferences: catalog.References} {
		if miss&p != 0 && !snap.CanColumns(as, rel, p, n.Columns[kind]) {
			return catalog.Denied(o)
		}
	}
	return nil
}

// permitPlan is permit for a prepared statement, which is asked once for each role
// and catalog.
func (p *prepared) permit() error {
	w := &p.s.who
	if p.allowed == w.current && p.allowedBy == p.cat && w.current != 0 {
		return nil
	}
	p.s.sync()
	if err := p.s.permit(p.cat, p.needs); err != nil {
		return err
	}
	p.allowed, p.allowedBy = w.current, p.cat
	return nil
}

// mustOwn refuses what only the owner of an object may do.
func (s *Session) mustOwn(o catalog.Object) error {
	if snap := s.snapshot(); !snap.Owns(s.who.current, o) {
		return notOwner(snap, o)
	}
	return nil
}

// notOwner is the error of mustOwn; an index is named by itself.
func notOwner(_ *catalog.Snapshot, o catalog.Object) error { return catalog.NotOwner(o) }

// mayDrop refuses to drop what neither belongs to the session's role nor lies in a
// schema of its own.
func (s *Session) mayDrop(o catalog.Object) error {
	if s.hushed { // what goes by itself
		return nil
	}
	snap := s.snapshot()
	if sc := snap.Schema(o.Header().Schema); sc != nil && snap.Owns(s.who.current, sc) {
		return nil
	}
	return s.mustOwn(o)
}

// may refuses what the session's role has no privilege for.
func (s *Session) may(o catalog.Object, p catalog.Privs) error {
	if !s.snapshot().Can(s.who.current, o, p) {
		return catalog.Denied(o)
	}
	return nil
}

// mayCreateIn refuses to make objects in a schema.
func (s *Session) mayCreateIn(schema string) error {
	if schema == s.temp.schema && schema != "" {
		return nil
	}
	return canCreateIn(s.snapshot(), s.who.current, schema)
}

func canCreateIn(snap *catalog.Snapshot, role uint32, schema string) error {
	if o := snap.Schema(schema); o != nil && !snap.Can(role, o, catalog.Create) {
		return catalog.Denied(o)
	}
	return nil
}

// mayUseTypes refuses columns of types that the session's role may not use.
func (s *Session) mayUseTypes(ts ...types.T) error {
	snap := s.snapshot()
	for _, t := range ts {
		for _, oid := range catalog.TypeOIDs(t) {
			if o := snap.ByOID(oid); o != nil && o.Kind() == catalog.KindType && !snap.Can(s.who.current, o, catalog.Usage) {
				return catalog.Denied(o)
			}
		}
	}
	return nil
}

// resolve finds a relation as snap.Resolve does, where the session's role may look
// for it.
func (s *Session) resolve(snap *catalog.Snapshot, n sql.Name) (catalog.Object, error) {
	if err := s.mayLookInto(snap, n.Schema); err != nil {
		return nil, err
	}
	return snap.Resolve(n.Schema, n.Name, s.expr.SearchPath)
}

// mayLookInto refuses names in a schema without USAGE.
func (s *Session) mayLookInto(snap *catalog.Snapshot, schema string) error {
	if schema == "" || s.who.super || schema == s.temp.schema {
		return nil
	}
	return snap.MustUse(s.who.current, schema)
}

// mustBeSuper refuses what only superusers may do.
func (s *Session) mustBeSuper(format string, args ...any) error {
	if s.snapshot().Superuser(s.who.current) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, format, args...)
}
