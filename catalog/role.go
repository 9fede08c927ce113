package catalog

import (
	"slices"
	"strconv"
)

// OIDs of what every cluster of PostgreSQL has.
const (
	// BootstrapOID is the role that owns what came with the server.
	BootstrapOID uint32 = 10
	// PublicGrantee stands for all roles in access lists.
	PublicGrantee uint32 = 0

	roleDatabaseOwner uint32 = 6171
	roleReadAllData   uint32 = 6181
	roleWriteAllData  uint32 = 6182
	roleMonitor       uint32 = 3373
	RoleReadAllStats  uint32 = 3375
	RoleReadFiles     uint32 = 4569
	RoleSignalBackend uint32 = 4200
	RoleCheckpoint    uint32 = 4544
)

// Owner is the name that the bootstrap role has at first.
const Owner = "streamdb"

// Role is a role: a user, a group, or both. Roles lie in no schema.
type Role struct {
	Head
	Super       bool `json:"super,omitempty"`
	CreateDB    bool `json:"createdb,omitempty"`
	CreateRole  bool `json:"createrole,omitempty"`
	NoInherit   bool `json:"noinherit,omitempty"`
	Login       bool `json:"login,omitempty"`
	Replication bool `json:"replication,omitempty"`
	BypassRLS   bool `json:"bypassrls,omitempty"`
	// Limit is the number of sessions it may have, plus one; 0: any number.
	Limit int `json:"limit,omitempty"`
	// Password is the SCRAM-SHA-256 verifier of its password; empty: none.
	Password string `json:"password,omitempty"`
	// ValidUntil is when the password ends, in µs since 2000-01-01 UTC; nil: never.
	ValidUntil *int64 `json:"valid_until,omitempty"`
	// Settings are what ALTER ROLE SET gives its sessions.
	Settings []RoleSetting `json:"settings,omitempty"`
	MemberOf []Membership  `json:"member_of,omitempty"`
	Defaults []DefaultACL  `json:"defaults,omitempty"`
	// AtLogin: it was made because somebody unknown logged in.
	AtLogin bool `json:"at_login,omitempty"`
}

// RoleSetting is a parameter with the value that sessions begin with: those in one
// database (its OID), or in all (0). Of a database's own settings it is 0.
type RoleSetting struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Database uint32 `json:"database,omitempty"`
}

// Membership is a role's membership of another one.
type Membership struct {
	Role    uint32 `json:"role"`
	Grantor uint32 `json:"grantor"`
	Admin   bool   `json:"admin,omitempty"`
}

// DefaultACL is what ALTER DEFAULT PRIVILEGES says of the objects that a role makes
// in a database. Schema 0: in all schemas. Type is as in pg_default_acl.
type DefaultACL struct {
	OID uint32 `json:"oid"`
	// Database is its OID.
	Database uint32 `json:"database"`

	Schema uint32 `json:"schema,omitempty"`
	Type   byte   `json:"type"`
	ACL    ACL    `json:"acl"`
}

// Kind returns KindRole.
func (*Role) Kind() Kind { return KindRole }

// Dependencies: none. A role that is dropped is taken out of the others.
func (*Role) Dependencies() []uint32 { return nil }

// ConnLimit is the limit as pg_roles shows it; -1: none.
func (r *Role) ConnLimit() int { return r.Limit - 1 }

// Predefined reports whether a role is one of those that PostgreSQL comes with.
func Predefined(oid uint32) bool {
	return slices.ContainsFunc(predefined(), func(o Object) bool { return o.Header().OID == oid })
}

// predefined are the roles that PostgreSQL 15 comes with.
func predefined() []Object {
	role := func(oid uint32, name string) *Role { return &Role{Head: Head{OID: oid, Name: name}} }
	monitor := role(roleMonitor, "pg_monitor")
	for _, r := range []uint32{3374, RoleReadAllStats, 3377} {
		monitor.MemberOf = append(monitor.MemberOf, Membership{Role: r, Grantor: BootstrapOID})
	}
	return []Object{
		role(roleDatabaseOwner, "pg_database_owner"), role(roleReadAllData, "pg_read_all_data"), role(roleWriteAllData, "pg_write_all_data"),
		monitor, role(3374, "pg_read_all_settings"), role(RoleReadAllStats, "pg_read_all_stats"), role(3377, "pg_stat_scan_tables"),
		role(RoleReadFiles, "pg_read_server_files"), role(4570, "pg_write_server_files"), role(4571, "pg_execute_server_program"),
		role(RoleSignalBackend, "pg_signal_backend"), role(RoleCheckpoint, "pg_checkpoint"),
	}
}

// bootstrapRole is the role that exists from the start and can be changed, but not
// dropped.
func bootstrapRole() *Role {
	return &Role{Head: Head{OID: BootstrapOID, Name: Owner}, Super: true, CreateDB: true, CreateRole: true, Login: true, Replication: true, BypassRLS: true}
}

// Role returns a role, or nil.
func (s *Snapshot) Role(name string) *Role {
	r, _ := s.others[otherKey{kind: KindRole, name: name}].(*Role)
	return r
}

// RoleByOID returns a role, or nil.
func (s *Snapshot) RoleByOID(oid uint32) *Role { r, _ := s.byOID[oid].(*Role); return r }

// RoleName is the name of a role as pg_get_userbyid has it.
func (s *Snapshot) RoleName(oid uint32) string {
	if r := s.RoleByOID(oid); r != nil {
		return r.Name
	}
	return "unknown (OID=" + strconv.FormatUint(uint64(oid), 10) + ")"
}

// Superuser reports whether a role passes every check.
func (s *Snapshot) Superuser(role uint32) bool {
	r := s.RoleByOID(role)
	return r != nil && r.Super
}

// reach are the roles that a role is a member of, itself first, directly or not.
// inherited: only those whose privileges it has without SET ROLE.
func (s *Snapshot) reach(role uint32, inherited bool) []uint32 {
	out := []uint32{role}
	for i := 0; i < len(out); i++ {
		r := s.RoleByOID(out[i])
		if r == nil {
			continue
		}
		if !inherited || !r.NoInherit {
			for _, m := range r.MemberOf {
				if !slices.Contains(out, m.Role) {
					out = append(out, m.Role)
				}
			}
			if d := s.Database(); out[i] == d.Owner && !slices.Contains(out, roleDatabaseOwner) {
				out = append(out, roleDatabaseOwner)
			}
		}
	}
	return out
}

// Reached are the roles that a role is a member of, itself first.
func (s *Snapshot) Reached(role uint32) []uint32 { return s.reach(role, false) }

// HasPrivsOf reports whether role has the privileges of another one.
func (s *Snapshot) HasPrivsOf(role, of uint32) bool {
	return role == of || s.Superuser(role) || slices.Contains(s.reach(role, true), of)
}

// MemberOf reports whether role is of, or a member of it, directly or not;
// superusers are members of every role.
func (s *Snapshot) MemberOf(role, of uint32) bool {
	return role == of || s.Superuser(role) || s.IsMember(role, of)
}

// IsMember is MemberOf in which superusers are nothing special.
func (s *Snapshot) IsMember(role, of uint32) bool {
	return role == of || slices.Contains(s.reach(role, false), of)
}

// Administers reports whether role may give the membership of another one away.
func (s *Snapshot) Administers(role, of uint32) bool {
	if s.Superuser(role) {
		return true
	}
	for _, r := range s.reach(role, false) {
		if x := s.RoleByOID(r); x != nil && slices.ContainsFunc(x.MemberOf, func(m Membership) bool { return m.Role == of && m.Admin }) {
			return true
		}
	}
	return false
}

// Roles returns all roles in OID order.
func (s *Snapshot) Roles() []*Role { return All[*Role](s) }
