package sql

// RoleSpec names a role. Special: Name is PUBLIC, CURRENT_USER, CURRENT_ROLE or
// SESSION_USER, which stand for a role.
type RoleSpec struct {
	At
	Name    string
	Special bool
}

// RoleOption is an option of CREATE and ALTER ROLE, by the name that the grammar has
// for it: superuser, inherit, createrole, createdb, canlogin, isreplication,
// bypassrls (On), connectionlimit (Number), password and validUntil (Text, nil for
// NULL), rolemembers, adminmembers and addroleto (Roles), sysid.
type RoleOption struct {
	At
	Name   string
	On     bool
	Number int
	Text   *string
	Roles  []RoleSpec
}

// CreateRole is CREATE ROLE, USER or GROUP; Login is what the word means for LOGIN.
type CreateRole struct {
	At
	Name    string
	Login   bool
	Options []RoleOption
}

// AlterRole is ALTER ROLE, USER or GROUP with options; with Members, ALTER GROUP
// ADD or (Drop) DROP USER.
type AlterRole struct {
	At
	Role    RoleSpec
	Options []RoleOption
	Members []RoleSpec
	Drop    bool
}

// AlterRoleSet is ALTER ROLE … SET or RESET; Role nil: ALL. Set nil: RESET Reset,
// whose empty text is ALL. With Database it is about sessions in one database; alone
// (ALTER DATABASE) about all of them.
type AlterRoleSet struct {
	At
	Role       *RoleSpec
	Database   string
	OfDatabase bool // ALTER DATABASE
	Set        *Set
	Reset      string
}

// DropRole is DROP ROLE, USER or GROUP.
type DropRole struct {
	At
	Roles    []RoleSpec
	IfExists bool
}

// Privilege is a privilege of GRANT, on a whole object or on columns of it.
type Privilege struct {
	Name    string // empty: ALL
	Columns []string
}

// Grant is GRANT or, with Revoke, REVOKE of privileges on objects.
type Grant struct {
	At
	Revoke      bool
	Privileges  []Privilege // empty: ALL
	Kind        string      // "table", "schema", …
	Targets     []DropTarget
	AllIn       bool // ALL TABLES IN SCHEMA; Targets are schemas
	Roles       []RoleSpec
	GrantOption bool
	GrantedBy   *RoleSpec
	Cascade     bool
}

// GrantRole is GRANT or REVOKE of memberships.
type GrantRole struct {
	At
	Revoke    bool
	Granted   []RoleSpec
	Roles     []RoleSpec
	Admin     bool // WITH ADMIN OPTION, or REVOKE ADMIN OPTION FOR
	GrantedBy *RoleSpec
	Cascade   bool
}

// DefaultPrivileges is ALTER DEFAULT PRIVILEGES. The Kind of its Grant is in the
// singular, and it has no targets.
type DefaultPrivileges struct {
	At
	For     []RoleSpec
	Schemas []string
	Grant   *Grant
}

// ReassignOwned is REASSIGN OWNED BY roles TO role.
type ReassignOwned struct {
	At
	Roles []RoleSpec
	To    RoleSpec
}

// DropOwned is DROP OWNED BY roles.
type DropOwned struct {
	At
	Roles   []RoleSpec
	Cascade bool
}

// DatabaseStmt is CREATE, ALTER (with options) or DROP DATABASE.
type DatabaseStmt struct {
	At
	Verb     string
	Name     string
	IfExists bool
	Options  []Option
}

func (*CreateRole) stmtNode()        {}
func (*AlterRole) stmtNode()         {}
func (*AlterRoleSet) stmtNode()      {}
func (*DropRole) stmtNode()          {}
func (*Grant) stmtNode()             {}
func (*GrantRole) stmtNode()         {}
func (*DefaultPrivileges) stmtNode() {}
func (*ReassignOwned) stmtNode()     {}
func (*DropOwned) stmtNode()         {}
func (*DatabaseStmt) stmtNode()      {}
