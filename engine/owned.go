package engine

import (
	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// setOwner is ALTER … OWNER TO.
func (s *Session) setOwner(o catalog.Object, spec sql.RoleSpec) (catalog.Object, error) {
	snap := s.snapshot()
	r, err := s.roleOf(snap, spec)
	if err != nil {
		return nil, err
	}
	h := o.Header()
	if ix, ok := o.(*catalog.Index); ok {
		t := snap.ByOID(ix.Table)
		if t.Header().Owner != r.OID {
			s.notice("WARNING", pgerr.New(pgerr.WrongObjectType, "cannot change owner of index \"%s\"", ix.Name).
				WithHint("Change the ownership of the index's table instead."))
		}
		return o, nil
	}
	if q, ok := o.(*catalog.Sequence); ok && q.OwnedTable != 0 && snap.ByOID(q.OwnedTable) != nil && q.Owner != r.OID {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cannot change owner of sequence \"%s\"", q.Name).
			WithDetail("Sequence \"%s\" is linked to table \"%s\".", q.Name, snap.ByOID(q.OwnedTable).Header().Name)
	}
	if h.Owner == r.OID {
		return o, nil
	}
	if !snap.Superuser(s.who.current) {
		if err := s.mayTakeOver(snap, o, r); err != nil {
			return nil, err
		}
	}
	changes := ownerChanges(snap, o, r.OID)
	return changes[0].Replace, s.changeCatalog(changes...)
}

// mayTakeOver refuses to make a role the owner of an object.
func (s *Session) mayTakeOver(snap *catalog.Snapshot, o catalog.Object, r *catalog.Role) error {
	if err := s.mustOwn(o); err != nil {
		return err
	}
	if err := s.mustBeMember(r.OID); err != nil {
		return err
	}
	switch o.Kind() {
	case catalog.KindSchema:
		return s.may(snap.Database(), catalog.Create)
	case catalog.KindDatabase:
		if me := snap.RoleByOID(s.who.current); me == nil || !me.CreateDB {
			return forbidden("permission denied to change owner of database")
		}
		return nil
	}
	return canCreateIn(snap, r.OID, o.Header().Schema)
}

// ownerChanges make role the owner of an object, and of what is part of it.
func ownerChanges(snap *catalog.Snapshot, o catalog.Object, role uint32) []catalog.Change {
	give := func(o catalog.Object) catalog.Change {
		n := catalog.Clone(o)
		h := n.Header()
		if h.ACL != nil {
			acl := h.ACL.NewOwner(h.Owner, role)
			h.ACL = &acl
		}
		if r, ok := n.(catalog.Relation); ok {
			for i := range r.Cols() {
				if c := &r.Cols()[i]; c.ACL != nil {
					acl := c.ACL.NewOwner(h.Owner, role)
					c.ACL = &acl
				}
			}
		}
		h.Owner = role
		return catalog.Change{Replace: n}
	}
	changes := []catalog.Change{give(o)}
	if o.Kind() == catalog.KindTable || o.Kind() == catalog.KindMatView {
		for _, d := range snap.Dependents(o.Header().OID) {
			if ownerOf(d) == o.Header().OID {
				changes = append(changes, give(d))
			}
		}
	}
	return changes
}

// ownedBy are the objects of a role, but for what is part of others and what came
// with the server.
func ownedBy(snap *catalog.Snapshot, role uint32) []catalog.Object {
	var out []catalog.Object
	snap.Objects(func(o catalog.Object) {
		h := o.Header()
		if h.Owner == role && o.Kind() != catalog.KindRole && (!snap.Builtin(h.OID) || catalog.Changeable(h.OID)) &&
			snap.ByOID(ownerOf(o)) == nil {
			out = append(out, o)
		}
	})
	return out
}

func (s *Session) reassignOwned(st *sql.ReassignOwned) error {
	snap := s.snapshot()
	to, err := s.roleOf(snap, st.To)
	if err != nil {
		return err
	}
	from, err := s.rolesOf(snap, st.Roles)
	if err != nil {
		return err
	}
	for _, r := range append(from, to) {
		if !snap.HasPrivsOf(s.who.current, r.OID) {
			return forbidden("permission denied to reassign objects")
		}
	}
	var changes []catalog.Change
	for _, r := range from {
		if snap.Builtin(r.OID) || r.OID == catalog.BootstrapOID {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot reassign ownership of objects owned by role %s because they are required by the database system", r.Name)
		}
		if r.OID == to.OID {
			continue
		}
		for _, o := range ownedBy(snap, r.OID) {
			changes = append(changes, ownerChanges(snap, o, to.OID)...)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return s.changeCatalog(changes...)
}

// dropOwned is DROP OWNED BY: the objects of the roles go, and what they were given.
func (s *Session) dropOwned(st *sql.DropOwned) error {
	snap := s.snapshot()
	roles, err := s.rolesOf(snap, st.Roles)
	if err != nil {
		return err
	}
	for _, r := range roles {
		if !snap.HasPrivsOf(s.who.current, r.OID) {
			return forbidden("permission denied to drop objects")
		}
	}
	var oids []uint32
	for _, r := range roles {
		if snap.Builtin(r.OID) || r.OID == catalog.BootstrapOID {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop objects owned by role %s because they are required by the database system", r.Name)
		}
		for _, o := range ownedBy(snap, r.OID) {
			if o.Kind() != catalog.KindDatabase && !snap.Builtin(o.Header().OID) {
				oids = append(oids, o.Header().OID)
			}
		}
	}
	revoked := func(snap *catalog.Snapshot) (changes []catalog.Change) {
		snap.Objects(func(o catalog.Object) {
			n := o
			for _, r := range roles {
				if x := snap.Without(n, r.OID); x != nil {
					n = x
				}
			}
			if n != o {
				changes = append(changes, catalog.Change{Replace: n})
			}
		})
		return changes
	}
	if len(oids) > 0 {
		return s.dropObjects(snap, s.withContents(snap, oids, st.Cascade), listed(oids), st.Cascade, revoked)
	}
	changes := revoked(snap)
	if len(changes) == 0 {
		return nil
	}
	return s.changeCatalog(changes...)
}

// withContents puts what lies in schemas before these, if all of it goes.
func (s *Session) withContents(snap *catalog.Snapshot, oids []uint32, cascade bool) []uint32 {
	if !cascade {
		return oids
	}
	var out []uint32
	for _, oid := range oids {
		if sc, ok := snap.ByOID(oid).(*catalog.Schema); ok {
			out = append(out, contents(snap, sc.Name)...)
		}
	}
	return append(out, oids...)
}

// contents are the objects of a schema.
func contents(snap *catalog.Snapshot, schema string) []uint32 {
	var out []uint32
	snap.Objects(func(o catalog.Object) {
		if o.Header().Schema == schema {
			out = append(out, o.Header().OID)
		}
	})
	return out
}
