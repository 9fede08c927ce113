package engine

import (
	"context"
	"crypto/rand"
	"regexp"
	"slices"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/wire"
)

// roleAction sets up statements about roles, privileges and the database.
func (s *Session) roleAction(p *prepared) (string, ddlFunc, error) {
	run := func(tag string, f func() error) (string, ddlFunc, error) {
		return tag, func(context.Context, *planner.Planner) error { return f() }, nil
	}
	switch st := p.st.Stmt.(type) {
	case *sql.CreateRole:
		return run("CREATE ROLE", func() error { return s.createRole(p.st.whole, st) })
	case *sql.AlterRole:
		return run("ALTER ROLE", func() error { return s.alterRole(p.st.whole, st) })
	case *sql.AlterRoleSet:
		if st.OfDatabase {
			return run("ALTER DATABASE", func() error { return s.alterRoleSet(st) })
		}
		return run("ALTER ROLE", func() error { return s.alterRoleSet(st) })
	case *sql.DropRole:
		return run("DROP ROLE", func() error { return s.dropRoles(st) })
	case *sql.GrantRole:
		if st.Revoke {
			return run("REVOKE ROLE", func() error { return s.grantRoles(st) })
		}
		return run("GRANT ROLE", func() error { return s.grantRoles(st) })
	case *sql.Grant:
		if st.Revoke {
			return run("REVOKE", func() error { return s.grant(st) })
		}
		return run("GRANT", func() error { return s.grant(st) })
	case *sql.DefaultPrivileges:
		return run("ALTER DEFAULT PRIVILEGES", func() error { return s.defaultPrivileges(st) })
	case *sql.ReassignOwned:
		return run("REASSIGN OWNED", func() error { return s.reassignOwned(st) })
	case *sql.DropOwned:
		return run("DROP OWNED", func() error { return s.dropOwned(st) })
	case *sql.DatabaseStmt:
		return st.Verb + " DATABASE", func(ctx context.Context, _ *planner.Planner) error { return s.databaseStmt(ctx, p.st, st) }, nil
	}
	return "", nil, pgerr.Unsupported("this statement", "docs/COMPATIBILITY.md lists the statements that are there.")
}

// roleOf finds the role of a specification that is not PUBLIC.
func (s *Session) roleOf(snap *catalog.Snapshot, r sql.RoleSpec) (*catalog.Role, error) {
	if !r.Special {
		return s.roleNamed(snap, r.Name)
	}
	oid := s.who.current
	switch r.Name {
	case "PUBLIC":
		return s.roleNamed(snap, "public")
	case "SESSION_USER":
		oid = s.who.login
	}
	if x := snap.RoleByOID(oid); x != nil {
		return x, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", oid)
}

func (s *Session) rolesOf(snap *catalog.Snapshot, rs []sql.RoleSpec) ([]*catalog.Role, error) {
	out := make([]*catalog.Role, len(rs))
	for i, r := range rs {
		var err error
		if out[i], err = s.roleOf(snap, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mayManage reports whether the session's role may make and change other roles.
func (s *Session) mayManage(snap *catalog.Snapshot) bool {
	r := snap.RoleByOID(s.who.current)
	return r != nil && (r.Super || r.CreateRole)
}

func reservedRole(name string) bool { return strings.HasPrefix(name, "pg_") }

func forbidden(format string, args ...any) error {
	return pgerr.New(pgerr.InsufficientPrivilege, format, args...)
}

func (s *Session) createRole(text string, st *sql.CreateRole) error {
	snap := s.snapshot()
	r := &catalog.Role{Head: catalog.Head{Name: st.Name}, Login: st.Login}
	given, err := s.roleOptions(text, r, st.Options)
	if err != nil {
		return err
	}
	super := snap.Superuser(s.who.current)
	switch {
	case r.Super && !super:
		return forbidden("must be superuser to create superusers")
	case r.Replication && !super:
		return forbidden("must be superuser to create replication users")
	case r.BypassRLS && !super:
		return forbidden("must be superuser to create bypassrls users")
	case !s.mayManage(snap):
		return forbidden("permission denied to create role")
	case reservedRole(st.Name):
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", st.Name).WithDetail("Role names starting with \"pg_\" are reserved.")
	}
	s.number(r)
	ch := &roleChanges{s: s, snap: snap, roles: map[uint32]*catalog.Role{r.OID: r}, created: r}
	if err := ch.memberLists(r, given); err != nil {
		return err
	}
	changes := ch.changes()
	if d := snap.MainDatabase(); !d.RolesMade {
		d = catalog.Clone(d).(*catalog.Database)
		d.RolesMade = true
		changes = append(changes, catalog.Change{Replace: d})
	}
	return s.changeCatalog(changes...)
}

// roleOptions puts options into a role and returns them by name.
func (s *Session) roleOptions(text string, r *catalog.Role, os []sql.RoleOption) (map[string]*sql.RoleOption, error) {
	given := map[string]*sql.RoleOption{}
	for i := range os {
		o := &os[i]
		if given[o.Name] != nil {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(sql.PosToChar(text, int(o.Pos)))
		}
		given[o.Name] = o
		switch o.Name {
		case "superuser":
			r.Super = o.On
		case "inherit":
			r.NoInherit = !o.On
		case "createrole":
			r.CreateRole = o.On
		case "createdb":
			r.CreateDB = o.On
		case "canlogin":
			r.Login = o.On
		case "isreplication":
			r.Replication = o.On
		case "bypassrls":
			r.BypassRLS = o.On
		case "connectionlimit":
			if o.Number < -1 {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "invalid connection limit: %d", o.Number)
			}
			r.Limit = o.Number + 1
		case "password":
			if err := s.setPassword(r, o.Text); err != nil {
				return nil, err
			}
		case "validUntil":
			d, err := types.ParseText(types.TTimestamptz, *o.Text, &s.expr.Options)
			if err != nil {
				return nil, err
			}
			at := d.(int64)
			r.ValidUntil = &at
		case "sysid":
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "SYSID can no longer be specified"))
		}
	}
	return given, nil
}

var (
	md5Verifier   = regexp.MustCompile(`^md5[0-9a-f]{32}$`)
	scramVerifier = regexp.MustCompile(`^SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$`)
)

// setPassword keeps a password as its verifier. What is a verifier already, as a
// dump has it, stays what it is.
func (s *Session) setPassword(r *catalog.Role, text *string) error {
	switch {
	case text == nil:
		r.Password = ""
	case *text == "":
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "empty string is not a valid password, clearing password"))
		r.Password = ""
	case md5Verifier.MatchString(*text):
		s.notice("WARNING", pgerr.New(pgerr.Warning, "an MD5 password cannot be used to log in").
			WithHint("Set the password in clear, or as a SCRAM-SHA-256 verifier."))
		r.Password = *text
	case scramVerifier.MatchString(*text):
		r.Password = *text
	default:
		salt := make([]byte, 16)
		_, _ = rand.Read(salt) // fails never
		var err error
		r.Password, err = wire.ScramSecret(*text, salt)
		return err
	}
	return nil
}

func (s *Session) alterRole(text string, st *sql.AlterRole) error {
	snap := s.snapshot()
	if !st.Role.Special && reservedRole(st.Role.Name) {
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", st.Role.Name).WithDetail("Cannot alter reserved roles.")
	}
	old, err := s.roleOf(snap, st.Role)
	if err != nil {
		return err
	}
	r := catalog.Clone(old).(*catalog.Role)
	given, err := s.roleOptions(text, r, st.Options)
	if err != nil {
		return err
	}
	super := snap.Superuser(s.who.current)
	switch {
	case (old.Super || given["superuser"] != nil) && !super:
		return forbidden("must be superuser to alter superuser roles or change superuser attribute")
	case (old.Replication || given["isreplication"] != nil) && !super:
		return forbidden("must be superuser to alter replication roles or change replication attribute")
	case given["bypassrls"] != nil && !super:
		return forbidden("must be superuser to change bypassrls attribute")
	case !s.mayManage(snap) && (given["password"] == nil || len(given) > 1 || old.OID != s.who.current):
		return forbidden("permission denied")
	}
	if old.OID == catalog.BootstrapOID && given["superuser"] != nil && !r.Super {
		return pgerr.New(pgerr.FeatureNotSupported, "the bootstrap user must have the SUPERUSER attribute")
	}
	ch := &roleChanges{s: s, snap: snap, roles: map[uint32]*catalog.Role{r.OID: r}}
	if st.Members != nil {
		if err := s.mayGrantRole(snap, old); err != nil {
			return err
		}
		members, err := s.rolesOf(snap, st.Members)
		if err != nil {
			return err
		}
		for _, m := range members {
			if st.Drop {
				err = ch.remove(r, m, false)
			} else {
				err = ch.add(r, m, s.who.current, false)
			}
			if err != nil {
				return err
			}
		}
	}
	return s.changeCatalog(ch.changes()...)
}

// alterRoleSet is ALTER ROLE … SET and RESET, and ALTER DATABASE's.
func (s *Session) alterRoleSet(st *sql.AlterRoleSet) error {
	snap := s.snapshot()
	var d *catalog.Database
	var err error
	if st.Database != "" {
		if d, err = databaseNamed(snap, st.Database); err != nil {
			return err
		}
	}
	n, err := s.settingsOf(snap, st, d)
	if err != nil {
		return err
	}
	switch n := n.(type) {
	case *catalog.Role:
		in := uint32(0)
		if d != nil {
			in = d.OID
		}
		n.Settings, err = s.changedSettings(n.Settings, st, in)
	case *catalog.Database:
		n.Settings, err = s.changedSettings(n.Settings, st, 0)
	}
	if err != nil {
		return err
	}
	return s.changeCatalog(catalog.Change{Replace: n})
}

// settingsOf returns a copy of the role or the database whose settings a statement
// may change; those of all roles are the database's.
func (s *Session) settingsOf(snap *catalog.Snapshot, st *sql.AlterRoleSet, d *catalog.Database) (catalog.Object, error) {
	if st.Role != nil {
		if !st.Role.Special && reservedRole(st.Role.Name) {
			return nil, pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", st.Role.Name).WithDetail("Cannot alter reserved roles.")
		}
		r, err := s.roleOf(snap, *st.Role)
		if err != nil {
			return nil, err
		}
		switch {
		case r.Super && !snap.Superuser(s.who.current):
			return nil, forbidden("must be superuser to alter superusers")
		case !s.mayManage(snap) && r.OID != s.who.current:
			return nil, forbidden("permission denied")
		}
		return catalog.Clone(r), nil
	}
	if st.OfDatabase {
		return catalog.Clone(d), s.mustOwn(d)
	}
	if d == nil {
		d = snap.Database()
	}
	return catalog.Clone(d), s.mustBeSuper("must be superuser to alter settings globally")
}

// changedSettings is a list of settings after SET or RESET in a database (0: all).
func (s *Session) changedSettings(list []catalog.RoleSetting, st *sql.AlterRoleSet, in uint32) ([]catalog.RoleSetting, error) {
	name := st.Reset
	if st.Set != nil {
		name = st.Set.Name
	}
	if name == "" || name == "all" {
		return slices.DeleteFunc(slices.Clone(list), func(x catalog.RoleSetting) bool { return x.Database == in }), nil
	}
	d, err := settings.Lookup(name)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(x catalog.RoleSetting) bool { return x.Database == in && strings.EqualFold(x.Name, d.Name) })
	if st.Set == nil {
		return list, nil
	}
	if d.Context == "internal" {
		return nil, pgerr.New(pgerr.CantChangeRuntimeParam, "parameter \"%s\" cannot be changed", d.Name)
	}
	v, err := setValue(st.Set)
	if err != nil {
		return nil, err
	}
	if d.Check != nil {
		if v, err = d.Check(name, v); err != nil {
			return nil, err
		}
	}
	return append(list, catalog.RoleSetting{Name: d.Name, Value: v, Database: in}), nil
}

func (s *Session) renameRole(old *catalog.Role, name string) error {
	snap := s.snapshot()
	switch {
	case old.OID == s.who.authenticated || old.OID == s.who.login:
		return pgerr.New(pgerr.FeatureNotSupported, "session user cannot be renamed")
	case old.OID == s.who.current:
		return pgerr.New(pgerr.FeatureNotSupported, "current user cannot be renamed")
	case reservedRole(old.Name):
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", old.Name).WithDetail("Role names starting with \"pg_\" are reserved.")
	case reservedRole(name):
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", name).WithDetail("Role names starting with \"pg_\" are reserved.")
	case snap.Role(name) != nil:
		return pgerr.New(pgerr.DuplicateObject, "role \"%s\" already exists", name)
	case old.Super && !snap.Superuser(s.who.current):
		return forbidden("must be superuser to rename superusers")
	case !s.mayManage(snap):
		return forbidden("permission denied to rename role")
	}
	r := catalog.Clone(old).(*catalog.Role)
	r.Name = name
	if md5Verifier.MatchString(r.Password) {
		r.Password = ""
		s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "MD5 password cleared because of role rename"))
	}
	return s.changeCatalog(catalog.Change{Replace: r})
}

func (s *Session) dropRoles(st *sql.DropRole) error {
	snap := s.snapshot()
	if !s.mayManage(snap) {
		return forbidden("permission denied to drop role")
	}
	ch := &roleChanges{s: s, snap: snap, roles: map[uint32]*catalog.Role{}}
	var gone []*catalog.Role
	for _, spec := range st.Roles {
		if spec.Special {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot use special role specifier in DROP ROLE")
		}
		r := snap.Role(spec.Name)
		switch {
		case r == nil && st.IfExists:
			s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "role \"%s\" does not exist, skipping", spec.Name))
			continue
		case r == nil:
			return pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", spec.Name)
		case r.OID == s.who.current:
			return pgerr.New(pgerr.ObjectInUse, "current user cannot be dropped")
		case r.OID == s.who.login:
			return pgerr.New(pgerr.ObjectInUse, "session user cannot be dropped")
		case r.Super && !snap.Superuser(s.who.current):
			return forbidden("must be superuser to drop superusers")
		case snap.Builtin(r.OID) || r.OID == catalog.BootstrapOID:
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop role %s because it is required by the database system", r.Name)
		}
		if lines := snap.RoleUses(r.OID); len(lines) > 0 {
			return pgerr.New(pgerr.DependentObjectsStillExist, "role \"%s\" cannot be dropped because some objects depend on it", r.Name).
				WithDetail("%s", strings.Join(lines, "\n"))
		}
		gone = append(gone, r)
	}
	for _, r := range gone {
		for _, m := range snap.Roles() {
			m = ch.role(m)
			m.MemberOf = slices.DeleteFunc(m.MemberOf, func(k catalog.Membership) bool { return k.Role == r.OID })
		}
	}
	changes := ch.changed()
	for _, r := range gone {
		changes = slices.DeleteFunc(changes, func(c catalog.Change) bool { return c.Replace.Header().OID == r.OID })
	}
	for _, r := range gone {
		changes = append(changes, catalog.Change{Drop: r.OID})
	}
	return s.changeCatalog(changes...)
}
