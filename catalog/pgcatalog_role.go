package catalog

import (
	"slices"
	"sort"

	"github.com/streamdb/streamdb/types"
)

// guarded are the system relations that nobody but superusers may read.
var guarded = map[string]bool{
	"pg_statistic": true, "pg_authid": true, "pg_shadow": true, "pg_statistic_ext_data": true, "pg_file_settings": true,
	"pg_hba_file_rules": true, "pg_ident_file_mappings": true, "pg_config": true, "pg_user_mapping": true,
	"pg_replication_origin_status": true, "pg_subscription": true, "pg_largeobject": true,
	"sql_parts": true, "transforms": true, "_pg_foreign_table_columns": true, "_pg_foreign_data_wrappers": true,
	"_pg_foreign_servers": true, "_pg_foreign_tables": true, "_pg_user_mappings": true,
}

// systemACL is the access list of a system relation.
func systemACL(schema, name string) *ACL {
	acl := ACL{{BootstrapOID, BootstrapOID, GrantRelation.All()}}
	switch {
	case name == "pg_shmem_allocations" || name == "pg_backend_memory_contexts":
		acl = append(acl, ACLItem{RoleReadAllStats, BootstrapOID, Select})
	case name == "pg_settings":
		acl = append(acl, ACLItem{PublicGrantee, BootstrapOID, Select | Update})
	case !guarded[name]:
		acl = append(acl, ACLItem{PublicGrantee, BootstrapOID, Select})
	}
	return &acl
}

// SystemRelationACL is the access list of a relation of the server's own that
// everybody may read.
func SystemRelationACL() *ACL { return systemACL("", "") }

// SystemSchemaACL is the access list of a schema of the server's own.
func SystemSchemaACL() *ACL {
	return &ACL{{BootstrapOID, BootstrapOID, Usage | Create}, {PublicGrantee, BootstrapOID, Usage}}
}

// role is the session's current role.
func (c *Context) role() uint32 {
	if c.Session == nil {
		return BootstrapOID
	}
	if r := c.Snapshot.Role(c.Session.User); r != nil {
		return r.OID
	}
	return 0
}

// sees reports whether the session's role may know of a relation: it has some
// privilege on it or a column of it.
func (c *Context) sees(o Object) bool {
	role := c.role()
	return c.Snapshot.Owns(role, o) || c.Snapshot.Held(role, o, GrantKindOf(o).All()) != 0
}

func roleDefs() []def {
	return []def{
		{"pg_catalog.pg_authid", "oid rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication rolbypassrls " +
			"rolconnlimit rolpassword rolvaliduntil", func(c *Context, r *rows) {
			for _, x := range c.Snapshot.Roles() {
				r.add(x.OID, x.Name, x.Super, !x.NoInherit, x.CreateRole, x.CreateDB, x.Login, x.Replication, x.BypassRLS,
					x.ConnLimit(), orNull(x.Password), validUntil(x))
			}
		}},
		{"pg_catalog.pg_roles", "oid rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication rolbypassrls " +
			"rolconnlimit rolpassword rolvaliduntil rolconfig", func(c *Context, r *rows) {
			for _, x := range c.Snapshot.Roles() {
				r.add(x.OID, x.Name, x.Super, !x.NoInherit, x.CreateRole, x.CreateDB, x.Login, x.Replication, x.BypassRLS,
					x.ConnLimit(), "********", validUntil(x), settingTexts(x.SettingsIn(0)))
			}
		}},
		{"pg_catalog.pg_user", "usesysid usename usesuper usecreatedb userepl usebypassrls passwd valuntil useconfig", fillUsers(false)},
		{"pg_catalog.pg_shadow", "usesysid usename usesuper usecreatedb userepl usebypassrls passwd valuntil useconfig", fillUsers(true)},
		{"pg_catalog.pg_group", "groname grosysid grolist", func(c *Context, r *rows) {
			for _, x := range c.Snapshot.Roles() {
				if x.Login {
					continue
				}
				var members []types.Datum
				for _, m := range c.Snapshot.Roles() {
					if slices.ContainsFunc(m.MemberOf, func(k Membership) bool { return k.Role == x.OID }) {
						members = append(members, int64(m.OID))
					}
				}
				r.add(x.Name, x.OID, types.ArrayDatum(members))
			}
		}},
		{"pg_catalog.pg_auth_members", "roleid member grantor admin_option", func(c *Context, r *rows) {
			for _, x := range c.Snapshot.Roles() {
				for _, m := range x.MemberOf {
					r.add(m.Role, x.OID, m.Grantor, m.Admin)
				}
			}
		}},
		{"pg_catalog.pg_db_role_setting", "setdatabase setrole setconfig", func(c *Context, r *rows) {
			for _, d := range c.Snapshot.Databases() {
				if len(d.Settings) > 0 {
					r.add(d.OID, 0, settingTexts(d.Settings))
				}
			}
			for _, x := range c.Snapshot.Roles() {
				for _, db := range append([]uint32{0}, databaseOIDs(c.Snapshot)...) {
					if in := x.SettingsIn(db); len(in) > 0 {
						r.add(db, x.OID, settingTexts(in))
					}
				}
			}
		}},
		{"pg_catalog.pg_shdescription", "objoid classoid description", func(c *Context, r *rows) {
			for _, d := range c.Snapshot.Databases() {
				if d.Comment != "" {
					r.add(d.OID, classDatabase, d.Comment)
				}
			}
			for _, x := range c.Snapshot.Roles() {
				if x.Comment != "" {
					r.add(x.OID, classRole, x.Comment)
				}
			}
		}},
		{"pg_catalog.pg_default_acl", "oid defaclrole defaclnamespace defaclobjtype defaclacl", func(c *Context, r *rows) {
			for _, x := range c.Snapshot.Roles() {
				for _, d := range x.Defaults {
					if d.Database != c.Snapshot.db {
						continue
					}
					r.add(d.OID, x.OID, d.Schema, d.Type, textArray(d.ACL.Texts(c.Snapshot)))
				}
			}
		}},
		{"information_schema.enabled_roles", "role_name", func(c *Context, r *rows) {
			for _, x := range enabled(c) {
				r.add(x.Name)
			}
		}},
		{"information_schema.applicable_roles", "grantee role_name is_grantable", func(c *Context, r *rows) { fillApplicable(c, r, false) }},
		{"information_schema.administrable_role_authorizations", "grantee role_name is_grantable", func(c *Context, r *rows) { fillApplicable(c, r, true) }},
		{"information_schema.table_privileges", "grantor grantee table_catalog table_schema table_name privilege_type is_grantable " +
			"with_hierarchy", fillPrivileges(false)},
		{"information_schema.role_table_grants", "grantor grantee table_catalog table_schema table_name privilege_type is_grantable " +
			"with_hierarchy", fillPrivileges(true)},
		{"information_schema.column_privileges", "grantor grantee table_catalog table_schema table_name column_name privilege_type " +
			"is_grantable", fillColumnPrivileges(false)},
		{"information_schema.role_column_grants", "grantor grantee table_catalog table_schema table_name column_name privilege_type " +
			"is_grantable", fillColumnPrivileges(true)},
		{"information_schema.usage_privileges", "grantor grantee object_catalog object_schema object_name object_type privilege_type " +
			"is_grantable", fillUsagePrivileges},
		{"information_schema.routine_privileges", "grantor grantee specific_catalog specific_schema specific_name routine_catalog " +
			"routine_schema routine_name privilege_type is_grantable", fillRoutinePrivileges(false)},
		{"information_schema.role_routine_grants", "grantor grantee specific_catalog specific_schema specific_name routine_catalog " +
			"routine_schema routine_name privilege_type is_grantable", fillRoutinePrivileges(true)},
	}
}

func validUntil(x *Role) any {
	if x.ValidUntil == nil {
		return nil
	}
	return *x.ValidUntil
}

// settingTexts are settings as name=value; NULL if there are none.
func settingTexts(list []RoleSetting) any {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.Name + "=" + x.Value
	}
	return textArray(out)
}

// aclOf is an object's access list as a column; NULL if it has the default.
func aclOf(s *Snapshot, acl *ACL) any {
	if acl == nil {
		return nil
	}
	return textArray(acl.Texts(s))
}

func fillUsers(secret bool) fill {
	return func(c *Context, r *rows) {
		for _, x := range c.Snapshot.Roles() {
			if !x.Login {
				continue
			}
			var pw any = "********"
			if secret {
				pw = orNull(x.Password)
			}
			r.add(x.OID, x.Name, x.Super, x.CreateDB, x.Replication, x.BypassRLS, pw, validUntil(x), settingTexts(x.SettingsIn(0)))
		}
	}
}

// enabled are the roles whose privileges the session has.
func enabled(c *Context) []*Role {
	var out []*Role
	for _, x := range c.Snapshot.Roles() {
		if c.Snapshot.HasPrivsOf(c.role(), x.OID) {
			out = append(out, x)
		}
	}
	return out
}

func fillApplicable(c *Context, r *rows, admin bool) {
	for _, x := range enabled(c) {
		list := x.MemberOf
		if c.Snapshot.Database().Owner == x.OID {
			list = append(slices.Clip(list), Membership{Role: roleDatabaseOwner})
		}
		for _, m := range list {
			if m.Admin || !admin {
				r.add(x.Name, c.Snapshot.RoleName(m.Role), yesNo(m.Admin))
			}
		}
	}
}

// granted calls f for the privileges on an object that the session may know of:
// those from and to roles whose privileges it has, and with public those of all.
func granted(c *Context, o Object, public bool, f func(grantor, grantee string, p Privs, grantable bool)) {
	s, role, owner := c.Snapshot, c.role(), o.Header().Owner
	Effective(o).Explode(func(by, to uint32, p Privs, option bool) {
		known := s.HasPrivsOf(role, by) || to != PublicGrantee && s.HasPrivsOf(role, to)
		if !known && (to != PublicGrantee || !public) {
			return
		}
		name := "PUBLIC"
		if to != PublicGrantee {
			name = s.RoleName(to)
			option = option || s.HasPrivsOf(to, owner)
		}
		f(s.RoleName(by), name, p, option)
	})
}

func fillPrivileges(roles bool) fill {
	return func(c *Context, r *rows) {
		for _, x := range infoRels(c.Snapshot) {
			granted(c, x.obj, !roles, func(by, to string, p Privs, option bool) {
				r.add(by, to, database(c), x.Schema, x.Name, p.String(), yesNo(option), yesNo(p == Select))
			})
		}
	}
}

func fillColumnPrivileges(roles bool) fill {
	return func(c *Context, r *rows) {
		for _, x := range infoRels(c.Snapshot) {
			granted(c, x.obj, !roles, func(by, to string, p Privs, option bool) {
				if p&(Insert|Select|Update|References) == 0 {
					return
				}
				for _, col := range x.cols {
					r.add(by, to, database(c), x.Schema, x.Name, col.Name, p.String(), yesNo(option))
				}
			})
		}
	}
}

func fillUsagePrivileges(c *Context, r *rows) {
	for _, q := range All[*Sequence](c.Snapshot) {
		granted(c, q, true, func(by, to string, p Privs, option bool) {
			if p == Usage {
				r.add(by, to, database(c), q.Schema, q.Name, "SEQUENCE", "USAGE", yesNo(option))
			}
		})
	}
}

func fillRoutinePrivileges(roles bool) fill {
	return func(c *Context, r *rows) {
		fs := All[*Function](c.Snapshot)
		sort.Slice(fs, func(i, j int) bool { return fs[i].OID < fs[j].OID })
		for _, f := range fs {
			specific := f.Name + "_" + itoa(f.OID)
			granted(c, f, !roles, func(by, to string, p Privs, option bool) {
				r.add(by, to, database(c), f.Schema, specific, database(c), f.Schema, f.Name, p.String(), yesNo(option))
			})
		}
	}
}
