package engine

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// roleChanges gathers changes of roles, to be made in one step.
type roleChanges struct {
	s       *Session
	snap    *catalog.Snapshot
	roles   map[uint32]*catalog.Role // copies
	created *catalog.Role            // one that is not in snap
}

// role returns a copy of a role to change.
func (c *roleChanges) role(r *catalog.Role) *catalog.Role {
	if x := c.roles[r.OID]; x != nil {
		return x
	}
	x := catalog.Clone(r).(*catalog.Role)
	c.roles[r.OID] = x
	return x
}

// changes are those of the catalog.
func (c *roleChanges) changes() []catalog.Change {
	var out []catalog.Change
	if c.created != nil {
		out = append(out, catalog.Change{Create: c.created})
	}
	for _, oid := range sortedKeys(c.roles) {
		if r := c.roles[oid]; r != c.created {
			out = append(out, catalog.Change{Replace: r})
		}
	}
	return out
}

// changed leaves out roles whose memberships are what they were.
func (c *roleChanges) changed() []catalog.Change {
	return slices.DeleteFunc(c.changes(), func(x catalog.Change) bool {
		r, ok := x.Replace.(*catalog.Role)
		return ok && slices.Equal(r.MemberOf, c.snap.RoleByOID(r.OID).MemberOf)
	})
}

// memberLists makes the memberships that options of CREATE ROLE name.
func (c *roleChanges) memberLists(r *catalog.Role, given map[string]*sql.RoleOption) error {
	if o := given["addroleto"]; o != nil {
		for _, spec := range o.Roles {
			to, err := c.s.roleOf(c.snap, spec)
			if err == nil {
				err = c.s.mayGrantRole(c.snap, to)
			}
			if err == nil {
				err = c.add(to, r, c.s.who.current, false)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, admin := range []bool{true, false} {
		o := given[map[bool]string{true: "adminmembers", false: "rolemembers"}[admin]]
		if o == nil {
			continue
		}
		members, err := c.s.rolesOf(c.snap, o.Roles)
		if err != nil {
			return err
		}
		for _, m := range members {
			if err := c.add(r, m, c.s.who.current, admin); err != nil {
				return err
			}
		}
	}
	return nil
}

// reaches reports whether from is to or a member of it, by the changes so far.
func (c *roleChanges) reaches(from, to uint32, seen map[uint32]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	r := c.roles[from]
	if r == nil {
		r = c.snap.RoleByOID(from)
	}
	return r != nil && slices.ContainsFunc(r.MemberOf, func(m catalog.Membership) bool { return c.reaches(m.Role, to, seen) })
}

// add makes member a member of role.
func (c *roleChanges) add(role, member *catalog.Role, grantor uint32, admin bool) error {
	switch {
	case role.Name == "pg_database_owner":
		return pgerr.New(pgerr.FeatureNotSupported, "role \"%s\" cannot have explicit members", role.Name)
	case member.Name == "pg_database_owner":
		return pgerr.New(pgerr.FeatureNotSupported, "role \"%s\" cannot be a member of any role", member.Name)
	case c.snap.Builtin(member.OID):
		return pgerr.Unsupported("making the role "+member.Name+" a member", "Predefined roles cannot be changed.")
	case c.reaches(role.OID, member.OID, map[uint32]bool{}):
		return pgerr.New(pgerr.InvalidGrantOperation, "role \"%s\" is a member of role \"%s\"", role.Name, member.Name)
	}
	m := c.role(member)
	k := slices.IndexFunc(m.MemberOf, func(x catalog.Membership) bool { return x.Role == role.OID })
	if k >= 0 && (!admin || m.MemberOf[k].Admin) {
		c.s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "role \"%s\" is already a member of role \"%s\"", member.Name, role.Name))
		return nil
	}
	x := catalog.Membership{Role: role.OID, Grantor: grantor, Admin: admin}
	if k >= 0 {
		m.MemberOf[k] = x
	} else {
		m.MemberOf = append(m.MemberOf, x)
	}
	return nil
}

// remove ends a membership, or with adminOnly the right to give it on.
func (c *roleChanges) remove(role, member *catalog.Role, adminOnly bool) error {
	m := c.role(member)
	k := slices.IndexFunc(m.MemberOf, func(x catalog.Membership) bool { return x.Role == role.OID })
	switch {
	case k < 0:
		c.s.notice("WARNING", pgerr.New(pgerr.Warning, "role \"%s\" is not a member of role \"%s\"", member.Name, role.Name))
	case adminOnly:
		m.MemberOf[k].Admin = false
	default:
		m.MemberOf = slices.Delete(m.MemberOf, k, k+1)
	}
	return nil
}

// mayGrantRole refuses to give the membership of a role away, or to take it.
func (s *Session) mayGrantRole(snap *catalog.Snapshot, r *catalog.Role) error {
	switch {
	case r.Super && !snap.Superuser(s.who.current):
		return forbidden("must be superuser to alter superusers")
	case !s.mayManage(snap) && !snap.Administers(s.who.current, r.OID):
		return forbidden("must have admin option on role \"%s\"", r.Name)
	}
	return nil
}

func (s *Session) grantRoles(st *sql.GrantRole) error {
	snap := s.snapshot()
	grantor := s.who.current
	if st.GrantedBy != nil {
		r, err := s.roleOf(snap, *st.GrantedBy)
		if err != nil {
			return err
		}
		grantor = r.OID
	}
	members, err := s.rolesOf(snap, st.Roles)
	if err != nil {
		return err
	}
	ch := &roleChanges{s: s, snap: snap, roles: map[uint32]*catalog.Role{}}
	for _, spec := range st.Granted {
		role, err := s.roleOf(snap, spec)
		if err != nil {
			return err
		}
		if err := s.mayGrantRole(snap, role); err != nil {
			return err
		}
		if grantor != s.who.current && !snap.Superuser(s.who.current) {
			return forbidden("must be superuser to set grantor")
		}
		for _, m := range members {
			if st.Revoke {
				err = ch.remove(role, m, st.Admin)
			} else {
				err = ch.add(role, m, grantor, st.Admin)
			}
			if err != nil {
				return err
			}
		}
	}
	changes := ch.changed()
	if len(changes) == 0 {
		return nil
	}
	return s.changeCatalog(changes...)
}

// mustBeMember refuses to give something to a role that the session's is no member
// of.
func (s *Session) mustBeMember(role uint32) error {
	if snap := s.snapshot(); !snap.MemberOf(s.who.current, role) {
		return forbidden("must be member of role \"%s\"", snap.RoleName(role))
	}
	return nil
}
