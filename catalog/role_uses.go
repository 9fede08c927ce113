package catalog

import (
	"cmp"
	"fmt"
	"slices"
)

// defaultNames are the objects that default privileges are about, as messages have
// them.
var defaultNames = map[GrantKind]string{GrantRelation: "relations", GrantSequence: "sequences", GrantFunction: "functions",
	GrantType: "types", GrantSchema: "schemas", GrantSecret: "secrets"}

func defaultKind(t byte) GrantKind {
	if t == 'S' {
		return GrantSequence
	}
	return GrantKind(t)
}

// RoleUses tells in lines what keeps a role from being dropped: in the database of
// the snapshot and of what all share in OID order, then how much in the others.
func (s *Snapshot) RoleUses(role uint32) []string {
	return append(s.localUses(role, true), s.usesElsewhere(role)...)
}

// localUses is RoleUses in the snapshot's own database; shared: with what belongs to
// all.
func (s *Snapshot) localUses(role uint32, shared bool) []string {
	type use struct {
		oid  uint32
		text string
	}
	var uses []use
	note := func(oid uint32, owner, mentioned bool, what string) {
		switch {
		case owner:
			uses = append(uses, use{oid, "owner of " + what})
		case mentioned:
			uses = append(uses, use{oid, "privileges for " + what})
		}
	}
	s.Objects(func(o Object) {
		h := o.Header()
		if o.Kind() == KindRole || o.Kind() == KindIndex || !shared && h.Database == 0 || s.builtin[h.OID] && !Changeable(h.OID) {
			return
		}
		what := s.describe(o)
		note(h.OID, h.Owner == role && !partOfTable(s, o), h.ACL != nil && h.ACL.mentions(role), what)
		if r, ok := o.(Relation); ok {
			for _, c := range r.Cols() {
				note(h.OID, false, c.ACL != nil && c.ACL.mentions(role), "column "+c.Name+" of "+what)
			}
		}
	})
	for _, r := range s.Roles() {
		for _, d := range r.Defaults {
			if d.Database != s.db {
				continue
			}
			where := ""
			if sc, ok := s.byOID[d.Schema].(*Schema); ok {
				where = " in schema " + sc.Name
			}
			note(d.OID, r.OID == role, d.ACL.mentions(role),
				fmt.Sprintf("default privileges on new %s belonging to role %s%s", defaultNames[defaultKind(d.Type)], r.Name, where))
		}
	}
	slices.SortStableFunc(uses, func(a, b use) int { return cmp.Compare(a.oid, b.oid) })
	out := make([]string, len(uses))
	for i, u := range uses {
		out[i] = u.text
	}
	return out
}

// describe is Described with the schema of what the plain search path does not find.
func (s *Snapshot) describe(o Object) string {
	h := o.Header()
	if h.Schema == "" || h.Schema == "public" || h.Schema == "pg_catalog" {
		return Described(o)
	}
	if f, ok := o.(*Function); ok {
		return "function " + h.Schema + "." + f.Signature()
	}
	return o.Kind().String() + " " + h.Schema + "." + h.Name
}

// partOfTable reports whether an object is a sequence that a table owns.
func partOfTable(s *Snapshot, o Object) bool {
	q, ok := o.(*Sequence)
	return ok && q.OwnedTable != 0 && s.byOID[q.OwnedTable] != nil
}

// ChangeDefaults gives or takes privileges on the objects of a kind that the role
// will make in a database, in one schema or everywhere (0). New entries have no OID.
func (r *Role) ChangeDefaults(db uint32, k GrantKind, schema uint32, revoke, option, cascade bool, want Privs, grantees []uint32) error {
	at := slices.IndexFunc(r.Defaults, func(d DefaultACL) bool { return d.Database == db && d.Schema == schema && d.Type == k.defaultType() })
	usual := ACL(nil)
	if schema == 0 {
		usual = DefaultFor(k, r.OID)
	}
	acl := usual
	if at >= 0 {
		acl = r.Defaults[at].ACL
	}
	for _, to := range grantees {
		var err error
		switch i := (ACLItem{Grantee: to, Grantor: r.OID, Privs: want}); {
		case revoke && option:
			i.Privs = want.Options()
			acl, err = acl.RevokeOptions(cascade, i, r.OID)
		default:
			if option || revoke {
				i.Privs |= want.Options()
			}
			acl, err = acl.Grant(revoke, cascade, i, r.OID)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case acl.Same(usual) && at >= 0:
		r.Defaults = slices.Delete(r.Defaults, at, at+1)
	case acl.Same(usual):
	case at >= 0:
		r.Defaults[at].ACL = acl
	default:
		r.Defaults = append(r.Defaults, DefaultACL{Database: db, Schema: schema, Type: k.defaultType(), ACL: acl})
	}
	return nil
}

// Without returns a copy of the object without what its access lists say of a role,
// or nil if they say nothing.
func (s *Snapshot) Without(o Object, role uint32) Object {
	var n Object
	copied := func() Object {
		if n == nil {
			n = Clone(o)
		}
		return n
	}
	if acl := o.Header().ACL; acl != nil && o.Header().Owner != role && acl.mentions(role) {
		rest := acl.without(role)
		copied().Header().ACL = &rest
	}
	if r, ok := o.(Relation); ok {
		for i, c := range r.Cols() {
			if c.ACL != nil && c.ACL.mentions(role) {
				rest := c.ACL.without(role)
				copied().(Relation).Cols()[i].ACL = &rest
			}
		}
	}
	if r, ok := o.(*Role); ok {
		for i, d := range r.Defaults {
			if r.OID != role && d.ACL.mentions(role) {
				copied().(*Role).Defaults[i].ACL = d.ACL.without(role)
			}
		}
		if r.OID == role && len(r.Defaults) > 0 {
			copied().(*Role).Defaults = nil
		}
	}
	return n
}
