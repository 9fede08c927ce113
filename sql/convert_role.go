package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/streamdb/streamdb/pgerr"
)

// roleStmt converts statements about roles, privileges and databases; nil for
// others.
func (c *converter) roleStmt(n *pg.Node, a At) Stmt {
	switch v := n.GetNode().(type) {
	case *pg.Node_CreateRoleStmt:
		k := v.CreateRoleStmt
		return &CreateRole{At: a, Name: k.Role, Login: k.StmtType == pg.RoleStmtType_ROLESTMT_USER, Options: c.roleOptions(k.Options)}
	case *pg.Node_AlterRoleStmt:
		k := v.AlterRoleStmt
		out := &AlterRole{At: a, Role: c.roleSpec(k.Role), Options: c.roleOptions(k.Options), Drop: k.Action < 0}
		if len(out.Options) == 1 && out.Options[0].Name == "rolemembers" {
			out.Members, out.Options = out.Options[0].Roles, nil
		}
		return out
	case *pg.Node_AlterRoleSetStmt:
		k := v.AlterRoleSetStmt
		out := c.roleSetting(k.Setstmt, a)
		out.Database = k.Database
		if k.Role != nil {
			r := c.roleSpec(k.Role)
			out.Role = &r
		}
		return out
	case *pg.Node_AlterDatabaseSetStmt:
		out := c.roleSetting(v.AlterDatabaseSetStmt.Setstmt, a)
		out.Database, out.OfDatabase = v.AlterDatabaseSetStmt.Dbname, true
		return out
	case *pg.Node_DropRoleStmt:
		return &DropRole{At: a, Roles: c.roleSpecs(v.DropRoleStmt.Roles), IfExists: v.DropRoleStmt.MissingOk}
	case *pg.Node_GrantStmt:
		return c.grant(v.GrantStmt, a)
	case *pg.Node_GrantRoleStmt:
		return c.grantRole(v.GrantRoleStmt, a)
	case *pg.Node_AlterDefaultPrivilegesStmt:
		return c.defaultPrivileges(v.AlterDefaultPrivilegesStmt, a)
	case *pg.Node_ReassignOwnedStmt:
		return &ReassignOwned{At: a, Roles: c.roleSpecs(v.ReassignOwnedStmt.Roles), To: c.roleSpec(v.ReassignOwnedStmt.Newrole)}
	case *pg.Node_DropOwnedStmt:
		return &DropOwned{At: a, Roles: c.roleSpecs(v.DropOwnedStmt.Roles), Cascade: v.DropOwnedStmt.Behavior == pg.DropBehavior_DROP_CASCADE}
	case *pg.Node_CreatedbStmt:
		return &DatabaseStmt{At: a, Verb: "CREATE", Name: v.CreatedbStmt.Dbname, Options: c.options(v.CreatedbStmt.Options)}
	case *pg.Node_AlterDatabaseStmt:
		return &DatabaseStmt{At: a, Verb: "ALTER", Name: v.AlterDatabaseStmt.Dbname, Options: c.options(v.AlterDatabaseStmt.Options)}
	case *pg.Node_DropdbStmt:
		return &DatabaseStmt{At: a, Verb: "DROP", Name: v.DropdbStmt.Dbname, IfExists: v.DropdbStmt.MissingOk, Options: c.options(v.DropdbStmt.Options)}
	}
	return nil
}

func (c *converter) roleSetting(s *pg.VariableSetStmt, a At) *AlterRoleSet {
	out := &AlterRoleSet{At: a}
	switch st := c.set(s, a).(type) {
	case *Set:
		out.Set = st
		if st.Default {
			out.Set, out.Reset = nil, st.Name
		}
	case *Reset:
		out.Reset = st.Name
	}
	return out
}

var specialRoles = map[pg.RoleSpecType]string{
	pg.RoleSpecType_ROLESPEC_CURRENT_ROLE: "CURRENT_ROLE",
	pg.RoleSpecType_ROLESPEC_CURRENT_USER: "CURRENT_USER",
	pg.RoleSpecType_ROLESPEC_SESSION_USER: "SESSION_USER",
	pg.RoleSpecType_ROLESPEC_PUBLIC:       "PUBLIC",
}

func (c *converter) roleSpec(r *pg.RoleSpec) RoleSpec {
	if w := specialRoles[r.GetRoletype()]; w != "" {
		return RoleSpec{c.at(r.Location), w, true}
	}
	return RoleSpec{c.at(r.GetLocation()), r.GetRolename(), false}
}

func (c *converter) roleSpecs(ns []*pg.Node) []RoleSpec {
	var out []RoleSpec
	for _, n := range ns {
		out = append(out, c.roleSpec(n.GetRoleSpec()))
	}
	return out
}

// optionalRole is a role that need not be named.
func (c *converter) optionalRole(r *pg.RoleSpec) *RoleSpec {
	if r == nil {
		return nil
	}
	out := c.roleSpec(r)
	return &out
}

func (c *converter) roleOptions(ns []*pg.Node) []RoleOption {
	var out []RoleOption
	for _, n := range ns {
		d := n.GetDefElem()
		o := RoleOption{At: c.at(d.Location), Name: d.Defname}
		switch v := d.GetArg().GetNode().(type) {
		case *pg.Node_Boolean:
			o.On = v.Boolean.Boolval
		case *pg.Node_Integer:
			o.Number = int(v.Integer.Ival)
		case *pg.Node_String_:
			text := v.String_.Sval
			o.Text = &text
		case *pg.Node_List:
			o.Roles = c.roleSpecs(v.List.Items)
		}
		out = append(out, o)
	}
	return out
}

func (c *converter) grant(s *pg.GrantStmt, a At) *Grant {
	out := &Grant{At: a, Revoke: !s.IsGrant, Kind: objectKind(s.Objtype), GrantOption: s.GrantOption, Roles: c.roleSpecs(s.Grantees),
		AllIn:     s.Targtype == pg.GrantTargetType_ACL_TARGET_ALL_IN_SCHEMA,
		GrantedBy: c.optionalRole(s.Grantor), Cascade: s.Behavior == pg.DropBehavior_DROP_CASCADE}
	for _, p := range s.Privileges {
		k := p.GetAccessPriv()
		out.Privileges = append(out.Privileges, Privilege{k.GetPrivName(), nodeStrings(k.GetCols())})
	}
	for _, o := range s.Objects {
		if o.GetInteger() != nil || o.GetFloat() != nil {
			c.unsupported(a, "a large object", "There are none.")
			continue
		}
		out.Targets = append(out.Targets, c.target(o))
	}
	return out
}

func (c *converter) grantRole(s *pg.GrantRoleStmt, a At) Stmt {
	out := &GrantRole{At: a, Revoke: !s.IsGrant, Roles: c.roleSpecs(s.GranteeRoles), GrantedBy: c.optionalRole(s.Grantor),
		Cascade: s.Behavior == pg.DropBehavior_DROP_CASCADE}
	for _, o := range s.Opt {
		d := o.GetDefElem()
		if d.GetDefname() != "admin" {
			c.unsupported(c.at(d.Location), "the option "+strings.ToUpper(d.GetDefname())+" of a membership", "Whether a role inherits is an attribute of the role: ALTER ROLE … NOINHERIT.")
		}
		// REVOKE ADMIN OPTION FOR has the option as false.
		out.Admin = d.GetArg().GetBoolean().GetBoolval() || out.Revoke
	}
	for _, p := range s.GrantedRoles {
		k := p.GetAccessPriv()
		if len(k.Cols) > 0 {
			c.syntax(a, pgerr.SyntaxError, "column names cannot be included in GRANT/REVOKE ROLE")
		}
		out.Granted = append(out.Granted, RoleSpec{At: At{NoPos}, Name: k.GetPrivName()})
	}
	return out
}

func (c *converter) defaultPrivileges(s *pg.AlterDefaultPrivilegesStmt, a At) Stmt {
	out := &DefaultPrivileges{At: a, Grant: c.grant(s.Action, a)}
	for _, o := range s.Options {
		d := o.GetDefElem()
		switch d.GetDefname() {
		case "roles":
			out.For = c.roleSpecs(d.GetArg().GetList().GetItems())
		case "schemas":
			out.Schemas = nodeStrings(d.GetArg().GetList().GetItems())
		}
	}
	return out
}
