package sql

import (
	"strconv"
	"strings"
)

func (f *formatter) role(r RoleSpec) {
	if r.Special {
		f.w(r.Name)
		return
	}
	f.w(QuoteIdent(r.Name))
}

func (f *formatter) roles(rs []RoleSpec) {
	for i, r := range rs {
		f.wIf(i > 0, ", ")
		f.role(r)
	}
}

// roleStmt writes statements about roles, privileges and databases.
func (f *formatter) roleStmt(s Stmt) {
	switch v := s.(type) {
	case *CreateRole:
		f.w("CREATE ", not(v.Login, "ROLE ", "USER "), QuoteIdent(v.Name))
		f.roleOptions(v.Options)
	case *AlterRole:
		if v.Members != nil {
			f.w("ALTER GROUP ")
			f.role(v.Role)
			f.w(not(v.Drop, " ADD USER ", " DROP USER "))
			f.roles(v.Members)
			return
		}
		f.w("ALTER ROLE ")
		f.role(v.Role)
		f.roleOptions(v.Options)
	case *AlterRoleSet:
		f.alterRoleSet(v)
	case *DropRole:
		f.w("DROP ROLE ", not(v.IfExists, "", "IF EXISTS "))
		f.roles(v.Roles)
	case *Grant:
		f.grant(v)
	case *GrantRole:
		f.w(not(v.Revoke, "GRANT ", "REVOKE "))
		f.wIf(v.Revoke && v.Admin, "ADMIN OPTION FOR ")
		f.roles(v.Granted)
		f.w(not(v.Revoke, " TO ", " FROM "))
		f.roles(v.Roles)
		f.wIf(!v.Revoke && v.Admin, " WITH ADMIN OPTION")
		f.grantedBy(v.GrantedBy)
		f.wIf(v.Cascade, " CASCADE")
	case *DefaultPrivileges:
		f.w("ALTER DEFAULT PRIVILEGES ")
		if v.For != nil {
			f.w("FOR ROLE ")
			f.roles(v.For)
			f.w(" ")
		}
		if v.Schemas != nil {
			f.w("IN SCHEMA ")
			f.idents(v.Schemas)
			f.w(" ")
		}
		f.grant(v.Grant)
	case *ReassignOwned:
		f.w("REASSIGN OWNED BY ")
		f.roles(v.Roles)
		f.w(" TO ")
		f.role(v.To)
	case *DropOwned:
		f.w("DROP OWNED BY ")
		f.roles(v.Roles)
		f.wIf(v.Cascade, " CASCADE")
	case *DatabaseStmt:
		f.w(v.Verb, " DATABASE ", not(v.IfExists, "", "IF EXISTS "), QuoteIdent(v.Name))
		for _, o := range v.Options {
			if v.Verb == "DROP" {
				f.w(" (", strings.ToUpper(o.Name), ")")
				continue
			}
			f.w(" ", strings.ToUpper(strings.ReplaceAll(o.Name, "_", " ")), " = ", not(o.Kind == OptNone, QuoteLiteral(o.Value), "DEFAULT"))
		}
	}
}

func (f *formatter) alterRoleSet(v *AlterRoleSet) {
	switch {
	case v.OfDatabase:
		f.w("ALTER DATABASE ", QuoteIdent(v.Database))
	case v.Role == nil:
		f.w("ALTER ROLE ALL")
	default:
		f.w("ALTER ROLE ")
		f.role(*v.Role)
	}
	if v.Database != "" && !v.OfDatabase {
		f.w(" IN DATABASE ", QuoteIdent(v.Database))
	}
	switch {
	case v.Set != nil:
		f.w(" ")
		f.stmt(v.Set)
	case v.Reset == "":
		f.w(" RESET ALL")
	default:
		f.w(" RESET ", settingName(v.Reset))
	}
}

// roleWords are the options that are words, on and off.
var roleWords = map[string][2]string{
	"superuser": {"SUPERUSER", "NOSUPERUSER"}, "inherit": {"INHERIT", "NOINHERIT"}, "createrole": {"CREATEROLE", "NOCREATEROLE"},
	"createdb": {"CREATEDB", "NOCREATEDB"}, "canlogin": {"LOGIN", "NOLOGIN"}, "isreplication": {"REPLICATION", "NOREPLICATION"},
	"bypassrls": {"BYPASSRLS", "NOBYPASSRLS"},
}

// roleLists are those that are followed by roles.
var roleLists = map[string]string{"rolemembers": "ROLE", "adminmembers": "ADMIN", "addroleto": "IN ROLE"}

func (f *formatter) roleOptions(os []RoleOption) {
	for _, o := range os {
		f.w(" ")
		switch words, ok := roleWords[o.Name]; {
		case ok && o.On:
			f.w(words[0])
		case ok:
			f.w(words[1])
		case o.Name == "connectionlimit":
			f.w("CONNECTION LIMIT ", strconv.Itoa(o.Number))
		case o.Name == "password" && o.Text == nil:
			f.w("PASSWORD NULL")
		case o.Name == "password":
			f.w("PASSWORD ", QuoteLiteral(*o.Text))
		case o.Name == "validUntil":
			f.w("VALID UNTIL ", QuoteLiteral(*o.Text))
		case roleLists[o.Name] != "":
			f.w(roleLists[o.Name], " ")
			f.roles(o.Roles)
		default:
			f.w("SYSID ", strconv.Itoa(o.Number))
		}
	}
}

func (f *formatter) grantedBy(r *RoleSpec) {
	if r != nil {
		f.w(" GRANTED BY ")
		f.role(*r)
	}
}

func (f *formatter) grant(s *Grant) {
	f.w(not(s.Revoke, "GRANT ", "REVOKE "))
	f.wIf(s.Revoke && s.GrantOption, "GRANT OPTION FOR ")
	f.wIf(len(s.Privileges) == 0, "ALL")
	for i, p := range s.Privileges {
		f.wIf(i > 0, ", ")
		f.w(not(p.Name == "", strings.ToUpper(p.Name), "ALL"))
		f.identList(p.Columns)
	}
	kind := strings.ToUpper(s.Kind)
	switch {
	case s.AllIn:
		f.w(" ON ALL ", kind, "S IN SCHEMA ")
	case s.Targets == nil:
		f.w(" ON ", kind, "S")
	default:
		f.w(" ON ", kind, " ")
	}
	f.objects(s.Targets)
	f.w(not(s.Revoke, " TO ", " FROM "))
	f.roles(s.Roles)
	f.wIf(!s.Revoke && s.GrantOption, " WITH GRANT OPTION")
	f.grantedBy(s.GrantedBy)
	f.wIf(s.Cascade, " CASCADE")
}
