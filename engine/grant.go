package engine

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
)

// grantKinds are the kinds of objects as GRANT has them.
var grantKinds = map[string]catalog.GrantKind{
	"table": catalog.GrantRelation, "source": catalog.GrantRelation, "sink": catalog.GrantRelation, "view": catalog.GrantRelation,
	"materialized view": catalog.GrantRelation, "sequence": catalog.GrantSequence, "database": catalog.GrantDatabase,
	"function": catalog.GrantFunction, "routine": catalog.GrantFunction, "schema": catalog.GrantSchema, "type": catalog.GrantType,
	"secret": catalog.GrantSecret, "domain": catalog.GrantType,
}

// grant is GRANT and REVOKE of privileges on objects.
func (s *Session) grant(st *sql.Grant) error {
	snap := s.snapshot()
	if err := s.grantedBy(snap, st.GrantedBy); err != nil {
		return err
	}
	kind, ok := grantKinds[st.Kind]
	if !ok {
		return pgerr.Unsupported("a privilege on a "+st.Kind, "There are tables, sequences, schemas, functions, types, secrets and databases.")
	}
	grantees, err := s.grantees(snap, st)
	if err != nil {
		return err
	}
	objects, err := s.grantObjects(snap, st)
	if err != nil {
		return err
	}
	var changes []catalog.Change
	for _, o := range objects {
		if snap.Builtin(o.Header().OID) && !catalog.Changeable(o.Header().OID) {
			return pgerr.Unsupported("changing the privileges on "+o.Header().Name, "It belongs to the server; make a view over it and grant that.")
		}
		own := kind
		if own == catalog.GrantRelation && o.Kind() == catalog.KindSequence {
			own = catalog.GrantSequence
		}
		g := &granting{s: s, snap: snap, st: st, o: o, n: catalog.Clone(o), kind: own, grantees: grantees}
		if err := g.object(kind); err != nil {
			return err
		}
		if g.changed {
			changes = append(changes, catalog.Change{Replace: g.n})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return s.changeCatalog(changes...)
}

func (s *Session) grantedBy(snap *catalog.Snapshot, r *sql.RoleSpec) error {
	if r == nil {
		return nil
	}
	by, err := s.roleOf(snap, *r)
	if err == nil && by.OID != s.who.current {
		err = pgerr.New(pgerr.FeatureNotSupported, "grantor must be current user")
	}
	return err
}

// grantees are the roles that a statement gives to or takes from.
func (s *Session) grantees(snap *catalog.Snapshot, st *sql.Grant) ([]uint32, error) {
	var out []uint32
	for _, spec := range st.Roles {
		oid := catalog.PublicGrantee
		if !spec.Special || spec.Name != "PUBLIC" {
			r, err := s.roleOf(snap, spec)
			if err != nil {
				return nil, err
			}
			oid = r.OID
		}
		if oid == catalog.PublicGrantee && st.GrantOption && !st.Revoke {
			return nil, pgerr.New(pgerr.InvalidGrantOperation, "grant options can only be granted to roles")
		}
		out = append(out, oid)
	}
	return out, nil
}

// grantObjects finds what a statement is about.
func (s *Session) grantObjects(snap *catalog.Snapshot, st *sql.Grant) ([]catalog.Object, error) {
	var out []catalog.Object
	for _, t := range st.Targets {
		if st.AllIn {
			sc := snap.Schema(t.Name.Name)
			if sc == nil {
				return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", t.Name.Name)
			}
			if err := snap.MustUse(s.who.current, sc.Name); err != nil {
				return nil, err
			}
			snap.Objects(func(o catalog.Object) {
				if o.Header().Schema == sc.Name && grantsAll(st.Kind, o.Kind()) {
					out = append(out, o)
				}
			})
			continue
		}
		o, err := s.grantObject(snap, st.Kind, t)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// grantsAll reports whether objects of a kind are meant by ON ALL what IN SCHEMA.
func grantsAll(what string, k catalog.Kind) bool {
	switch what {
	case "table":
		return k == catalog.KindTable || k == catalog.KindView || k == catalog.KindMatView || k == catalog.KindSource || k == catalog.KindSink
	case "routine":
		return k == catalog.KindFunction
	}
	return k.String() == what
}

func (s *Session) grantObject(snap *catalog.Snapshot, what string, t sql.DropTarget) (catalog.Object, error) {
	switch what {
	case "database":
		return object(databaseNamed(snap, t.Name.Name))
	case "schema", "type", "secret", "domain":
		return s.dropTarget(snap, what, t.Name)
	case "function", "routine":
		if err := s.mayLookInto(snap, t.Name.Schema); err != nil {
			return nil, err
		}
		return s.functionTarget(snap, t)
	}
	o, err := s.resolve(snap, t.Name)
	if err != nil {
		if oid, ok := s.catalogInfo().RelationOID(sql.QuoteName(t.Name)); ok && snap.ByOID(oid) == nil {
			err = pgerr.New(pgerr.WrongObjectType, "\"%s\" is an index", t.Name.Name)
		}
		return nil, err
	}
	k := o.Kind()
	switch {
	case k == catalog.KindIndex:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is an index", t.Name.Name)
	case what == "sequence" && k != catalog.KindSequence:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", t.Name.Name)
	case what != "table" && what != "sequence" && k.String() != what:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a %s", t.Name.Name, what)
	}
	return o, nil
}

// granting is a GRANT or REVOKE on one object, of which n is a copy.
type granting struct {
	s        *Session
	snap     *catalog.Snapshot
	st       *sql.Grant
	o, n     catalog.Object
	kind     catalog.GrantKind
	grantees []uint32
	changed  bool
}

// privileges reads the privileges that a statement names for objects of a kind; all
// is true where it says ALL. Those on columns are left out.
func privileges(st *sql.Grant, kind catalog.GrantKind) (want catalog.Privs, all bool, err error) {
	for _, p := range st.Privileges {
		if len(p.Columns) > 0 {
			if kind != catalog.GrantRelation {
				return 0, false, pgerr.New(pgerr.InvalidGrantOperation, "column privileges are only valid for relations")
			}
			if _, _, err := privilegeNamed(p.Name, "column"); err != nil {
				return 0, false, err
			}
			continue
		}
		if p.Name == "" {
			return kind.All(), true, nil
		}
		bit, known := catalog.PrivNamed(p.Name)
		if !known {
			return 0, false, pgerr.New(pgerr.SyntaxError, "unrecognized privilege type \"%s\"", p.Name)
		}
		if bit == catalog.Usage && st.Kind == "table" { // it might be a sequence
			want |= bit
			continue
		}
		if bit&kind.All() == 0 {
			return 0, false, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s", bit, kind)
		}
		want |= bit
	}
	if len(st.Privileges) == 0 {
		return kind.All(), true, nil
	}
	return want, false, nil
}

// privilegeNamed reads a privilege that is about columns.
func privilegeNamed(name, what string) (bits catalog.Privs, all bool, err error) {
	const columns = catalog.Select | catalog.Insert | catalog.Update | catalog.References
	if name == "" {
		return columns, true, nil
	}
	bit, known := catalog.PrivNamed(name)
	if !known {
		return 0, false, pgerr.New(pgerr.SyntaxError, "unrecognized privilege type \"%s\"", name)
	}
	if bit&columns == 0 {
		return 0, false, pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s", bit, what)
	}
	return bit, false, nil
}

// object changes the access list of the object, and those of its columns.
func (g *granting) object(stated catalog.GrantKind) error {
	kind := g.kind
	if stated == catalog.GrantRelation && kind == catalog.GrantSequence {
		return g.sequenceAsTable()
	}
	want, all, err := privileges(g.st, kind)
	if err != nil {
		return err
	}
	if kind == catalog.GrantRelation && want&catalog.Usage != 0 {
		return pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type USAGE for table")
	}
	if want != 0 {
		h := g.n.Header()
		acl, err := g.list(catalog.Effective(g.o), kind, kind.All(), want, all, catalog.Described(g.o), h.Name)
		if err != nil {
			return err
		}
		h.ACL, g.changed = &acl, true
		if err := g.relationRevoke(want); err != nil {
			return err
		}
	}
	return g.columns()
}

// sequenceAsTable is GRANT ON TABLE of a sequence, which PostgreSQL takes for what
// sequences have of a table's privileges.
func (g *granting) sequenceAsTable() error {
	want, all, err := privileges(g.st, catalog.GrantRelation)
	if err != nil {
		return err
	}
	if all {
		want = catalog.GrantSequence.All()
	} else if rest := want &^ catalog.GrantSequence.All(); rest != 0 {
		g.s.notice("WARNING", pgerr.New(pgerr.InvalidGrantOperation, "sequence \"%s\" only supports USAGE, SELECT, and UPDATE privileges", g.o.Header().Name))
		if want &= catalog.GrantSequence.All(); want == 0 {
			return nil
		}
	}
	acl, err := g.list(catalog.Effective(g.o), catalog.GrantSequence, catalog.GrantSequence.All(), want, all, "", g.o.Header().Name)
	if err != nil {
		return err
	}
	g.n.Header().ACL, g.changed = &acl, true
	return nil
}

// list returns an access list with the statement's change, by who may make it.
func (g *granting) list(acl catalog.ACL, kind catalog.GrantKind, whole, want catalog.Privs, all bool, _, name string) (catalog.ACL, error) {
	s, owner := g.s, g.o.Header().Owner
	grantor, may := g.snap.BestGrantor(s.who.current, acl, owner, want, whole)
	if s.who.super && g.snap.Superuser(s.who.current) {
		grantor, may = owner, whole
	}
	if may == 0 {
		if g.snap.Held(s.who.current, g.o, kind.All()|kind.All().Options()) == 0 {
			return nil, g.denied()
		}
	}
	g.warn(want&may, want, all, name)
	var err error
	for _, to := range g.grantees {
		p := want & may
		switch {
		case g.st.Revoke && g.st.GrantOption:
			p = p.Options()
		case g.st.Revoke || g.st.GrantOption:
			p |= p.Options()
		}
		if p == 0 {
			continue
		}
		if g.st.Revoke && g.st.GrantOption {
			acl, err = acl.RevokeOptions(g.st.Cascade, catalog.ACLItem{Grantee: to, Grantor: grantor, Privs: p}, owner)
		} else {
			acl, err = acl.Grant(g.st.Revoke, g.st.Cascade, catalog.ACLItem{Grantee: to, Grantor: grantor, Privs: p}, owner)
		}
		if err != nil {
			return nil, err
		}
	}
	return acl, nil
}

// denied is the error for who may give nothing; all relations are tables to GRANT.
func (g *granting) denied() error {
	if g.kind == catalog.GrantRelation && g.st.Kind == "table" {
		return forbidden("permission denied for table %s", g.o.Header().Name)
	}
	if g.kind == catalog.GrantDatabase {
		return catalog.Denied(g.o)
	}
	return catalog.Denied(g.o)
}

// warn tells what of the privileges the role could not give or take.
func (g *granting) warn(did, want catalog.Privs, all bool, name string) {
	code, none, some := pgerr.PrivilegeNotGranted, "no privileges were granted for \"%s\"", "not all privileges were granted for \"%s\""
	if g.st.Revoke {
		code, none, some = pgerr.PrivilegeNotRevoked, "no privileges could be revoked for \"%s\"", "not all privileges could be revoked for \"%s\""
	}
	switch {
	case did == 0:
		g.s.notice("WARNING", pgerr.New(code, none, name))
	case !all && did != want:
		g.s.notice("WARNING", pgerr.New(code, some, name))
	}
}

// columns changes the access lists of the columns that the statement names.
func (g *granting) columns() error {
	r, ok := g.n.(catalog.Relation)
	for _, p := range g.st.Privileges {
		if len(p.Columns) == 0 {
			continue
		}
		want, all, err := privilegeNamed(p.Name, "column")
		if err != nil {
			return err
		}
		if !ok {
			return pgerr.New(pgerr.InvalidGrantOperation, "column privileges are only valid for relations")
		}
		for _, name := range p.Columns {
			i := catalog.ColumnIndex(r.Cols(), name)
			if i < 0 {
				return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, g.o.Header().Name)
			}
			if err := g.column(&r.Cols()[i], want, all); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *granting) column(c *catalog.Column, want catalog.Privs, all bool) error {
	var acl catalog.ACL
	if c.ACL != nil {
		acl = *c.ACL
	}
	// Who may give the privilege on the whole relation may give it on a column.
	both := append(slices.Clone(catalog.Effective(g.o)), acl...)
	s, owner := g.s, g.o.Header().Owner
	grantor, may := g.snap.BestGrantor(s.who.current, both, owner, want, want)
	if may == 0 && g.snap.Held(s.who.current, g.o, g.kind.All()|g.kind.All().Options()) == 0 {
		return g.denied()
	}
	g.warn(want&may, want, all, c.Name)
	for _, to := range g.grantees {
		p := want & may
		if p == 0 {
			continue
		}
		var err error
		switch item := (catalog.ACLItem{Grantee: to, Grantor: grantor, Privs: p}); {
		case g.st.Revoke && g.st.GrantOption:
			item.Privs = p.Options()
			acl, err = acl.RevokeOptions(g.st.Cascade, item, owner)
		default:
			if g.st.Revoke || g.st.GrantOption {
				item.Privs |= p.Options()
			}
			acl, err = acl.Grant(g.st.Revoke, g.st.Cascade, item, owner)
		}
		if err != nil {
			return err
		}
	}
	c.ACL, g.changed = &acl, true
	if len(acl) == 0 {
		c.ACL = nil
	}
	return nil
}

// relationRevoke takes a privilege that is revoked on a relation from its columns.
func (g *granting) relationRevoke(want catalog.Privs) error {
	r, ok := g.n.(catalog.Relation)
	if want &= catalog.Select | catalog.Insert | catalog.Update | catalog.References; !g.st.Revoke || !ok || want == 0 {
		return nil
	}
	for i := range r.Cols() {
		if c := &r.Cols()[i]; c.ACL != nil {
			if err := g.column(c, want, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// defaultPrivileges is ALTER DEFAULT PRIVILEGES.
func (s *Session) defaultPrivileges(st *sql.DefaultPrivileges) error {
	snap := s.snapshot()
	kind, ok := grantKinds[st.Grant.Kind]
	if !ok {
		return pgerr.Unsupported("default privileges on "+st.Grant.Kind+"s", "There are those on tables, sequences, functions, types and schemas.")
	}
	want, _, err := privileges(st.Grant, kind)
	if err != nil {
		return err
	}
	for _, p := range st.Grant.Privileges {
		if len(p.Columns) > 0 {
			return pgerr.New(pgerr.InvalidGrantOperation, "default privileges cannot be set for columns")
		}
	}
	grantees, err := s.grantees(snap, st.Grant)
	if err != nil {
		return err
	}
	roles := []*catalog.Role{snap.RoleByOID(s.who.current)}
	if st.For != nil {
		if roles, err = s.rolesOf(snap, st.For); err != nil {
			return err
		}
	}
	var changes []catalog.Change
	for _, r := range roles {
		if r == nil {
			continue
		}
		if err := s.mustBeMember(r.OID); err != nil {
			return err
		}
		if catalog.Predefined(r.OID) {
			return pgerr.Unsupported("default privileges of a predefined role", "Predefined roles own nothing: name the role that makes the objects.")
		}
		n := catalog.Clone(r).(*catalog.Role)
		schemas := []uint32{0}
		if st.Schemas != nil {
			schemas = nil
			for _, name := range st.Schemas {
				sc := snap.Schema(name)
				if sc == nil {
					return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
				}
				if kind == catalog.GrantSchema {
					return pgerr.New(pgerr.InvalidGrantOperation, "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS")
				}
				schemas = append(schemas, sc.OID)
			}
		}
		for _, sc := range schemas {
			if err := n.ChangeDefaults(s.db, kind, sc, st.Grant.Revoke, st.Grant.GrantOption, st.Grant.Cascade, want, grantees); err != nil {
				return err
			}
		}
		for i := range n.Defaults {
			if n.Defaults[i].OID == 0 {
				n.Defaults[i].OID = s.eng.Catalog.AllocOID()
			}
		}
		changes = append(changes, catalog.Change{Replace: n})
	}
	return s.changeCatalog(changes...)
}
