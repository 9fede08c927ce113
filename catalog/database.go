package catalog

import (
	"fmt"
	"slices"

	"github.com/streamdb/streamdb/pgerr"
)

// The databases that every server has from the start. PostgreSQL's postgres has
// the number of the main one.
const (
	// DatabaseOID is the main database: clients that name none get to it.
	DatabaseOID  uint32 = 5
	template1OID uint32 = 1
	template0OID uint32 = 4
	postgresOID  uint32 = 6
)

// InitialDatabases are the OIDs of the databases that are there from the start.
var InitialDatabases = []uint32{template1OID, template0OID, DatabaseOID, postgresOID}

// Database is a database: schemas and all that lies in them belong to one. Roles
// belong to all. RolesMade, of the main one, tells that CREATE ROLE has been used,
// so that unknown users are not let in.
type Database struct {
	Head
	RolesMade bool          `json:"roles_made,omitempty"`
	Settings  []RoleSetting `json:"settings,omitempty"`
	// Limit is the number of sessions it may have, plus one; 0: any number.
	Limit     int  `json:"limit,omitempty"`
	Template  bool `json:"template,omitempty"`
	NoConnect bool `json:"no_connect,omitempty"`
	// Collate and CType are the names that CREATE DATABASE gave; empty: C.UTF-8.
	Collate string `json:"collate,omitempty"`
	CType   string `json:"ctype,omitempty"`
}

// Kind returns KindDatabase.
func (*Database) Kind() Kind { return KindDatabase }

// Dependencies: none. What belongs to a database is dropped with it.
func (*Database) Dependencies() []uint32 { return nil }

// ConnLimit is the limit as pg_database shows it; -1: none.
func (d *Database) ConnLimit() int { return d.Limit - 1 }

// Locale is the collation and the character type as pg_database shows them.
func (d *Database) Locale() (collate, ctype string) {
	collate, ctype = d.Collate, d.CType
	if collate == "" {
		collate = "C.UTF-8"
	}
	if ctype == "" {
		ctype = "C.UTF-8"
	}
	return collate, ctype
}

// initialDatabases are the databases that are there from the start, with their
// public schemas. They can be changed, but not dropped.
func initialDatabases() []Object {
	template := func(owner uint32) *ACL {
		return &ACL{{Grantee: PublicGrantee, Grantor: owner, Privs: Connect}, {Grantee: owner, Grantor: owner, Privs: GrantDatabase.All()}}
	}
	head := func(oid uint32, name, comment string) Head {
		return Head{OID: oid, Name: name, Owner: BootstrapOID, Comment: comment}
	}
	one := &Database{Head: head(template1OID, "template1", "default template for new databases"), Template: true}
	zero := &Database{Head: head(template0OID, "template0", "unmodifiable empty database"), Template: true, NoConnect: true}
	one.ACL, zero.ACL = template(BootstrapOID), template(BootstrapOID)
	out := []Object{one, zero, &Database{Head: head(DatabaseOID, Owner, "")},
		&Database{Head: head(postgresOID, "postgres", "default administrative connection database")}}
	for _, db := range InitialDatabases {
		s := PublicSchema(db)
		s.OID = publicOID(db)
		out = append(out, s)
	}
	return out
}

// publicOID is the OID of the schema public of an initial database.
func publicOID(db uint32) uint32 {
	if db == DatabaseOID {
		return PublicOID
	}
	return 14020 + db
}

// PublicSchema is the schema public of a new database, without an OID.
func PublicSchema(db uint32) *Schema {
	return &Schema{Head{Database: db, Name: "public", Owner: roleDatabaseOwner, Comment: "standard public schema", ACL: &ACL{
		{Grantee: roleDatabaseOwner, Grantor: roleDatabaseOwner, Privs: Usage | Create},
		{Grantee: PublicGrantee, Grantor: roleDatabaseOwner, Privs: Usage}}}}
}

// Changeable reports whether an object that came with the server can be changed.
func Changeable(oid uint32) bool {
	return oid == BootstrapOID || slices.ContainsFunc(InitialDatabases, func(db uint32) bool { return oid == db || oid == publicOID(db) })
}

// ofOneDatabase gives what a version without databases wrote to the main one.
func ofOneDatabase(o Object) {
	switch o := o.(type) {
	case *Database:
	case *Role:
		for i := range o.Defaults {
			if o.Defaults[i].Database == 0 {
				o.Defaults[i].Database = DatabaseOID
			}
		}
	default:
		if h := o.Header(); h.Database == 0 {
			h.Database = DatabaseOID
		}
	}
}

// DatabaseOID is the OID of the database that the snapshot is of; 0: the whole
// server.
func (s *Snapshot) DatabaseOID() uint32 { return s.db }

// Database returns the database that the snapshot is of, the main one of the whole;
// nil if it was dropped.
func (s *Snapshot) Database() *Database {
	db := s.db
	if db == 0 {
		db = DatabaseOID
	}
	d, _ := s.byOID[db].(*Database)
	return d
}

// MainDatabase returns the main database.
func (s *Snapshot) MainDatabase() *Database { d, _ := s.byOID[DatabaseOID].(*Database); return d }

// DatabaseNamed returns a database, or nil.
func (s *Snapshot) DatabaseNamed(name string) *Database {
	d, _ := s.others[otherKey{kind: KindDatabase, name: name}].(*Database)
	return d
}

// Databases returns all databases in OID order.
func (s *Snapshot) Databases() []*Database { return All[*Database](s) }

func databaseOIDs(s *Snapshot) (out []uint32) {
	for _, d := range s.Databases() {
		out = append(out, d.OID)
	}
	return out
}

// Contents returns what belongs to a database, dependents first. What came with the
// server is among it.
func (s *Snapshot) Contents(db uint32) []Object {
	var objects, schemas []uint32
	for oid, o := range s.byOID {
		switch {
		case o.Header().Database != db:
		case o.Kind() == KindSchema:
			schemas = append(schemas, oid)
		default:
			objects = append(objects, oid)
		}
	}
	slices.Sort(objects)
	slices.Sort(schemas)
	return s.DropOrder(append(objects, schemas...)...)
}

// SettingsIn are the settings of a role in one database, or (0) in all.
func (r *Role) SettingsIn(db uint32) (out []RoleSetting) {
	for _, x := range r.Settings {
		if x.Database == db {
			out = append(out, x)
		}
	}
	return out
}

// WithoutDatabase returns a copy of the role without what it says of a database, or
// nil if it says nothing.
func (r *Role) WithoutDatabase(db uint32) *Role {
	n := Clone(r).(*Role)
	n.Settings = slices.DeleteFunc(n.Settings, func(x RoleSetting) bool { return x.Database == db })
	n.Defaults = slices.DeleteFunc(n.Defaults, func(x DefaultACL) bool { return x.Database == db })
	if len(n.Settings) == len(r.Settings) && len(n.Defaults) == len(r.Defaults) {
		return nil
	}
	return n
}

// usesElsewhere counts, in lines, what keeps a role from being dropped in the
// databases that the snapshot is not of.
func (s *Snapshot) usesElsewhere(role uint32) (lines []string) {
	for _, d := range s.Databases() {
		if d.OID == s.db {
			continue
		}
		if n := len(s.In(d.OID).localUses(role, false)); n == 1 {
			lines = append(lines, "1 object in database "+d.Name)
		} else if n > 1 {
			lines = append(lines, fmt.Sprintf("%d objects in database %s", n, d.Name))
		}
	}
	return lines
}

// CrossDatabase is the error of a name, as it is to be shown, of something in another
// database than the session's.
func CrossDatabase(name string) *pgerr.Error {
	return pgerr.New(pgerr.FeatureNotSupported, "cross-database references are not implemented: %s", name).
		WithHint("Connect to that database.")
}
