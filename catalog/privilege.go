package catalog

import (
	"slices"

	"github.com/streamdb/streamdb/pgerr"
)

// Held are those of the privileges wanted that a role has in an access list. Rights
// to give on are asked for in the upper half.
func (s *Snapshot) held(acl ACL, role, owner uint32, want Privs) Privs {
	var out Privs
	if want>>grantShift != 0 && s.HasPrivsOf(role, owner) {
		out = want &^ want.Plain()
	}
	mine := s.reach(role, true)
	for _, i := range acl {
		if i.Privs&want&^out != 0 && (i.Grantee == PublicGrantee || slices.Contains(mine, i.Grantee)) {
			out |= i.Privs & want
		}
	}
	return out
}

// Held are those of the privileges wanted that a role has on an object.
func (s *Snapshot) Held(role uint32, o Object, want Privs) Privs {
	h := o.Header()
	if s.Superuser(role) {
		return want
	}
	if _, view := o.(*VirtualTable); view && s.builtin[h.OID] {
		want &^= Insert | Update | Delete | Truncate
	}
	out := s.held(Effective(o), role, h.Owner, want)
	miss := want &^ out
	switch GrantKindOf(o) {
	case GrantRelation, GrantSequence:
		if miss&Select != 0 && s.HasPrivsOf(role, roleReadAllData) {
			out |= Select
		}
		if write := miss & (Insert | Update | Delete); write != 0 && s.HasPrivsOf(role, roleWriteAllData) {
			out |= write
		}
	case GrantSchema:
		if miss&Usage != 0 && (s.HasPrivsOf(role, roleReadAllData) || s.HasPrivsOf(role, roleWriteAllData)) {
			out |= Usage
		}
	}
	return out
}

// Can reports whether a role has all of the privileges on an object.
func (s *Snapshot) Can(role uint32, o Object, want Privs) bool { return s.Held(role, o, want) == want }

// Owns reports whether a role has the rights of an object's owner.
func (s *Snapshot) Owns(role uint32, o Object) bool { return s.HasPrivsOf(role, s.OwnerOf(o)) }

// OwnerOf returns the owner of an object; that of an index is its relation's.
func (s *Snapshot) OwnerOf(o Object) uint32 {
	if ix, ok := o.(*Index); ok {
		if t := s.ByOID(ix.Table); t != nil {
			return t.Header().Owner
		}
	}
	return o.Header().Owner
}

// Denied is the error for a privilege that is missing.
func Denied(o Object) error {
	if v, ok := o.(*VirtualTable); ok && v.View {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for view %s", v.Name)
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", o.Kind(), o.Header().Name)
}

// NotOwner is the error for what only an owner may do.
func NotOwner(o Object) error {
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", o.Kind(), o.Header().Name)
}

// MustUse refuses the use of a schema that a role has no right to.
func (s *Snapshot) MustUse(role uint32, schema string) error {
	if o := s.Schema(schema); o != nil && !s.Can(role, o, Usage) {
		return Denied(o)
	}
	return nil
}

// Usable are the schemas of a search path that a role may look into.
func (s *Snapshot) Usable(role uint32, path []string) []string {
	if s.Superuser(role) {
		return path
	}
	out := make([]string, 0, len(path))
	for _, p := range path {
		if o := s.Schema(p); o == nil || s.Can(role, o, Usage) {
			out = append(out, p)
		}
	}
	return out
}

// BestGrantor is who gives privileges that a role grants on an object, and the
// privileges that this one may give.
func (s *Snapshot) BestGrantor(role uint32, acl ACL, owner uint32, want Privs, all Privs) (grantor uint32, may Privs) {
	if s.HasPrivsOf(role, owner) {
		return owner, all
	}
	grantor = role
	best := -1
	for _, r := range s.reach(role, true) {
		has := acl.optionsOf(r, owner, all)
		if has&want == want {
			return r, has
		}
		n := 0
		(has & want).each(func(Privs) { n++ })
		if n > best {
			grantor, may, best = r, has, n
		}
	}
	return grantor, may
}

// InitialACL is the access list that a new object of a role gets by its ALTER
// DEFAULT PRIVILEGES; nil: the usual one.
func (s *Snapshot) InitialACL(owner uint32, k GrantKind, schema uint32) *ACL {
	r := s.RoleByOID(owner)
	if r == nil || len(r.Defaults) == 0 {
		return nil
	}
	global, local := r.defaults(s.db, k, 0), (*DefaultACL)(nil)
	if schema != 0 {
		local = r.defaults(s.db, k, schema)
	}
	if global == nil && local == nil {
		return nil
	}
	usual := DefaultFor(k, owner)
	acl := usual
	if global != nil {
		acl = global.ACL
	}
	if local != nil {
		for _, i := range local.ACL {
			acl, _ = acl.Grant(false, false, i, owner) // giving from the owner fails never
		}
	}
	if acl.Same(usual) {
		return nil
	}
	return &acl
}

// defaults finds what the role says of new objects of a database in a schema, or
// everywhere (0).
func (r *Role) defaults(db uint32, k GrantKind, schema uint32) *DefaultACL {
	for i := range r.Defaults {
		if d := &r.Defaults[i]; d.Database == db && d.Schema == schema && d.Type == k.defaultType() {
			return d
		}
	}
	return nil
}

// defaultType is the kind as pg_default_acl has it.
func (k GrantKind) defaultType() byte {
	if k == GrantSequence {
		return 'S'
	}
	return byte(k)
}

// Same reports whether two lists give the same.
func (a ACL) Same(b ACL) bool {
	if len(a) != len(b) {
		return false
	}
	for _, i := range a {
		if !slices.Contains(b, i) {
			return false
		}
	}
	return true
}

// CanColumns reports whether a role has a privilege on all of the columns of a
// relation, by position; on any of them if none is named.
func (s *Snapshot) CanColumns(role uint32, o Relation, p Privs, cols map[int]bool) bool {
	all := o.Cols()
	held := func(i int) bool { return all[i].ACL != nil && s.held(*all[i].ACL, role, o.Header().Owner, p) == p }
	if len(cols) == 0 {
		for i := range all {
			if held(i) {
				return true
			}
		}
		return false
	}
	for i := range cols {
		if i < 0 || i >= len(all) || !held(i) {
			return false
		}
	}
	return true
}
