package engine

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// HasPrivilege implements expr.Access.
func (i info) HasPrivilege(kind string, role, object, column expr.Ref, privs string) (has, known bool, err error) {
	who, err := i.roleRef(role)
	if err != nil {
		return false, false, err
	}
	class := map[string]catalog.GrantKind{"table": catalog.GrantRelation, "any_column": catalog.GrantRelation, "column": catalog.GrantRelation,
		"sequence": catalog.GrantSequence, "database": catalog.GrantDatabase, "function": catalog.GrantFunction,
		"schema": catalog.GrantSchema, "type": catalog.GrantType}[kind]
	if class == 0 { // languages and the like, of which there is what comes with the server
		return true, true, nil
	}
	o, err := i.objectRef(kind, object)
	if err != nil {
		return false, false, err
	}
	allowed := class.All()
	if kind == "column" || kind == "any_column" {
		allowed = catalog.Select | catalog.Insert | catalog.Update | catalog.References
	}
	wants, err := wantedPrivileges(privs, allowed)
	if err != nil || o == nil {
		return false, false, err
	}
	at := -1
	if kind == "column" {
		if at, err = i.columnRef(o, column); err != nil || at < 0 {
			return false, false, err
		}
	}
	for _, w := range wants {
		if i.holds(who, o, w, kind, at) {
			return true, true, nil
		}
	}
	return false, true, nil
}

// holds reports whether a role has a privilege on an object, on column at of it, or
// on any column.
func (i info) holds(who uint32, o catalog.Object, want catalog.Privs, kind string, at int) bool {
	if _, ok := o.(builtinObject); ok {
		return want.Grantable() == 0 || i.snap.HasPrivsOf(who, catalog.BootstrapOID)
	}
	if i.snap.Can(who, o, want) {
		return true
	}
	r, ok := o.(catalog.Relation)
	switch {
	case !ok:
		return false
	case kind == "column":
		return i.snap.CanColumns(who, r, want, map[int]bool{at: true})
	case kind == "any_column":
		return i.snap.CanColumns(who, r, want, nil)
	}
	return false
}

// builtinObject is a function or type of the server's own, which all may use.
type builtinObject string

func (builtinObject) Header() *catalog.Head  { return &catalog.Head{} }
func (builtinObject) Kind() catalog.Kind     { return catalog.KindType }
func (builtinObject) Dependencies() []uint32 { return nil }

// wantedPrivileges reads a list of privileges.
func wantedPrivileges(list string, allowed catalog.Privs) ([]catalog.Privs, error) {
	var out []catalog.Privs
	for _, word := range strings.Split(list, ",") {
		word = strings.TrimSpace(word)
		name, option := strings.ToUpper(word), false
		if n, ok := strings.CutSuffix(name, " WITH GRANT OPTION"); ok {
			name, option = n, true
		}
		p, ok := catalog.PrivNamed(name)
		if !ok || p&allowed == 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", word)
		}
		if option {
			p = p.Options()
		}
		out = append(out, p)
	}
	return out, nil
}

// roleRef finds a role; without one it is the session's.
func (i info) roleRef(r expr.Ref) (uint32, error) {
	switch {
	case !r.Given:
		return i.s.who.current, nil
	case !r.ByName:
		return uint32(r.Number), nil
	case r.Name == "public":
		return catalog.PublicGrantee, nil
	}
	if x := i.snap.Role(r.Name); x != nil {
		return x.OID, nil
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", r.Name)
}

// objectRef finds an object; nil if a number means none.
func (i info) objectRef(kind string, r expr.Ref) (catalog.Object, error) {
	if !r.ByName {
		return i.numbered(kind, uint32(r.Number)), nil
	}
	switch kind {
	case "database":
		return object(databaseNamed(i.snap, r.Name))
	case "schema":
		if o := i.snap.Schema(r.Name); o != nil {
			return o, nil
		}
		return nil, undefined("schema", r.Name)
	case "type":
		oid, err := i.s.resolveReg(types.TRegtype, r.Name)
		if err != nil {
			return nil, err
		}
		return i.numbered(kind, uint32(oid)), nil
	case "function":
		return i.functionCalled(r.Name)
	}
	oid, ok := i.RelationOID(r.Name)
	if !ok {
		return nil, undefined("relation", r.Name)
	}
	o := i.numbered(kind, oid)
	if kind == "sequence" && (o == nil || o.Kind() != catalog.KindSequence) {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", r.Name)
	}
	return o, nil
}

// numbered finds an object by its number; nil: there is none of that kind.
func (i info) numbered(kind string, oid uint32) catalog.Object {
	if kind == "type" {
		for _, x := range catalog.All[*catalog.Type](i.snap) {
			if x.OID == oid || x.ArrayOID == oid {
				return x
			}
		}
		if _, ok := i.snap.TypeByOID(oid); ok {
			return builtinObject("type")
		}
		return nil
	}
	o := i.snap.ByOID(oid)
	if kind == "function" && o == nil {
		if catalog.ProcByOID(oid) != nil {
			return builtinObject("function")
		}
		return nil
	}
	if o == nil {
		return nil
	}
	k := o.Kind()
	fits := map[string]bool{"schema": k == catalog.KindSchema, "database": k == catalog.KindDatabase, "function": k == catalog.KindFunction,
		"sequence": k == catalog.KindSequence}[kind]
	if fits || (kind == "table" || kind == "column" || kind == "any_column") && k.Relation() {
		return o
	}
	return nil
}

// functionCalled finds the function that a text like f(int, text) means.
func (i info) functionCalled(text string) (catalog.Object, error) {
	sts, err := sql.Parse("DROP FUNCTION " + text)
	if err != nil || len(sts) != 1 {
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected a left parenthesis")
	}
	d, ok := sts[0].Stmt.(*sql.Drop)
	if !ok || len(d.Targets) != 1 || !d.Targets[0].HasArgs {
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "expected a left parenthesis")
	}
	o, err := i.s.functionTarget(i.snap, d.Targets[0])
	if err == nil {
		return o, nil
	}
	name := d.Targets[0].Name
	if pgerr.CodeOf(err) == pgerr.UndefinedFunction {
		if (name.Schema == "" || name.Schema == "pg_catalog") && len(catalog.ProcsNamed(name.Name)) > 0 {
			return builtinObject("function"), nil
		}
		return nil, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", text)
	}
	return nil, err
}

// columnRef finds a column's position; -1 if a number means none.
func (i info) columnRef(o catalog.Object, r expr.Ref) (int, error) {
	rel, ok := o.(catalog.Relation)
	if !ok {
		return -1, nil
	}
	if !r.ByName {
		return catalog.ColumnNumbered(rel.Cols(), int(r.Number)), nil
	}
	at := catalog.ColumnIndex(rel.Cols(), r.Name)
	if at < 0 {
		return -1, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", r.Name, o.Header().Name)
	}
	return at, nil
}

// HasRole implements expr.Access.
func (i info) HasRole(member, role expr.Ref, privs string) (has, known bool, err error) {
	who, err := i.roleRef(member)
	if err != nil {
		return false, false, err
	}
	if role.ByName && role.Name == "public" {
		return false, false, pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", role.Name)
	}
	of, err := i.roleRef(role)
	if err != nil {
		return false, false, err
	}
	for _, word := range strings.Split(privs, ",") {
		switch w := strings.ToUpper(strings.TrimSpace(word)); w {
		case "MEMBER":
			has = has || i.snap.MemberOf(who, of)
		case "USAGE":
			has = has || i.snap.HasPrivsOf(who, of)
		case "MEMBER WITH GRANT OPTION", "MEMBER WITH ADMIN OPTION", "USAGE WITH GRANT OPTION", "USAGE WITH ADMIN OPTION":
			has = has || i.snap.Administers(who, of)
		default:
			return false, false, pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", strings.TrimSpace(word))
		}
	}
	return has, true, nil
}

// RoleName implements expr.Access.
func (i info) RoleName(oid uint32) string { return i.snap.RoleName(oid) }

// ACLDefault implements expr.Access.
func (i info) ACLDefault(kind string, owner uint32) ([]string, error) {
	switch kind {
	case "r", "s", "d", "f", "n", "T":
		return catalog.DefaultFor(catalog.GrantKind(kind[0]), owner).Texts(i.snap), nil
	case "c":
		return nil, nil
	case "l", "L", "t", "F", "S", "p":
		return catalog.ACL{{Grantee: owner, Grantor: owner}}.Texts(i.snap), nil
	}
	return nil, pgerr.New(pgerr.Internal, "unrecognized object type abbreviation: %s", kind)
}

// ACLExplode implements expr.Access.
func (i info) ACLExplode(items []string, f func(grantor, grantee uint32, priv string, grantable bool)) error {
	for _, text := range items {
		item, err := i.snap.ParseACLItem(text)
		if err != nil {
			return err
		}
		catalog.ACL{item}.Explode(func(by, to uint32, p catalog.Privs, option bool) { f(by, to, p.String(), option) })
	}
	return nil
}
