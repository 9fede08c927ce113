package engine

import (
	"strconv"
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// resolveReg finds the OID of a name cast to a reg* type.
func (s *Session) resolveReg(t types.T, name string) (int64, error) {
	i := s.catalogInfo().(info)
	switch t.ID {
	case types.Regclass:
		if oid, ok := i.RelationOID(name); ok {
			return int64(oid), nil
		}
		if parts, ok := splitName(name); ok && len(parts) > 2 && parts[0] != s.database {
			return 0, catalog.CrossDatabase(`"` + strings.Join(parts, ".") + `"`)
		}
		return 0, undefined("relation", name)
	case types.Regtype:
		oid, err := i.typeNamed(name)
		return int64(oid), err
	case types.Regproc, types.Regprocedure:
		return i.procNamed(name, t.ID == types.Regprocedure)
	case types.Regoper, types.Regoperator:
		return i.operNamed(name, t.ID == types.Regoperator)
	}
	parts, ok := splitName(name)
	if !ok {
		return 0, errNameSyntax
	}
	last := parts[len(parts)-1]
	switch t.ID {
	case types.Regcollation:
		if schema := schemaOf(parts); schema == "" || schema == "pg_catalog" {
			if last == "default" {
				return 100, nil
			}
			if oid := catalog.CollationOID(last); oid != 0 {
				return int64(oid), nil
			}
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "collation \"%s\" for encoding \"UTF8\" does not exist", strings.Join(parts, "."))
	case types.Regconfig:
		return 0, undefined("text search configuration", strings.Join(parts, "."))
	case types.Regdictionary:
		return 0, undefined("text search dictionary", strings.Join(parts, "."))
	}
	if len(parts) > 1 {
		return 0, errNameSyntax
	}
	if t.ID == types.Regrole {
		if r := i.snap.Role(last); r != nil {
			return int64(r.OID), nil
		}
		return 0, undefined("role", last)
	}
	if oid, ok := i.NamespaceOID(last); ok {
		return int64(oid), nil
	}
	return 0, undefined("schema", last)
}

var errNameSyntax = pgerr.New(pgerr.InvalidName, "invalid name syntax")

// regName is the inverse of resolveReg.
func (s *Session) regName(t types.T, oid int64) (string, bool) {
	i := s.catalogInfo().(info)
	n := uint32(oid)
	quoted := func(name string, ok bool) (string, bool) { return sql.QuoteIdent(name), ok }
	switch t.ID {
	case types.Regclass:
		return i.RelationName(n)
	case types.Regnamespace:
		return quoted(i.NamespaceName(n))
	case types.Regtype:
		return i.typeName(n)
	case types.Regrole:
		if r := i.snap.RoleByOID(n); r != nil {
			return quoted(r.Name, true)
		}
	case types.Regcollation:
		return quoted(catalog.CollationName(n))
	case types.Regproc, types.Regprocedure:
		return i.procName(n, t.ID == types.Regprocedure)
	case types.Regoper, types.Regoperator:
		return i.operName(n, t.ID == types.Regoperator)
	}
	return "", false
}

// typeNamed finds the type that a text means, modifiers and all.
func (i info) typeNamed(text string) (uint32, error) {
	n, err := sql.ParseTypeName(text)
	if err != nil {
		return 0, err
	}
	if n.Dims == 0 && (n.Schema == "" || n.Schema == "pg_catalog") {
		if oid, ok := expr.PseudoType(n.Name); ok {
			return oid, nil
		}
	}
	t, err := planner.ResolveTypeName(i.snap, i.path(), n)
	if err != nil {
		return 0, err
	}
	return t.Base().OID(), nil
}

// typeName is a type's name, with the schema if it means something else without.
func (i info) typeName(oid uint32) (string, bool) {
	t, ok := i.snap.TypeByOID(oid)
	d := t.Def()
	if !ok || d == nil || d.Name == "" {
		return expr.TypeName(i, oid)
	}
	out, array := sql.QuoteIdent(d.Name), ""
	if t.ID == types.Array && !t.IsDomain() {
		array = "[]"
	}
	if x, ok := i.snap.Type("", d.Name, i.path()); !ok || x.OID() != d.OID {
		out = sql.QuoteIdent(d.Schema) + "." + out
	}
	return out + array, true
}

// signature takes name(type, …) apart; none says that NONE may stand for a type.
func (i info) signature(text string, none bool) (name string, args []uint32, err error) {
	fail := func(what string) (string, []uint32, error) {
		return "", nil, pgerr.New(pgerr.InvalidTextRepresentation, "%s", what)
	}
	at := outsideQuotes(text, func(c byte) bool { return c == '(' })
	if at < 0 {
		return fail("expected a left parenthesis")
	}
	name = text[:at]
	list, ok := strings.CutSuffix(strings.TrimRight(text[at+1:], " \t\n\r\f\v"), ")")
	if !ok {
		return fail("expected a right parenthesis")
	}
	for rest := strings.TrimSpace(list); rest != ""; {
		depth := 0
		end := outsideQuotes(rest, func(c byte) bool {
			switch c {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			}
			return c == ',' && depth == 0
		})
		arg := rest
		if rest = ""; end >= 0 {
			arg, rest = arg[:end], strings.TrimSpace(arg[end+1:])
			if rest == "" {
				return fail("expected a type name")
			}
		}
		arg = strings.TrimSpace(arg)
		if none && strings.EqualFold(arg, "none") {
			args = append(args, 0)
			continue
		}
		if arg == "" {
			return fail("expected a type name")
		}
		oid, err := i.typeNamed(arg)
		if err != nil {
			return "", nil, err
		}
		args = append(args, oid)
	}
	return name, args, nil
}

// outsideQuotes is the position of the first byte outside of double quotes that is
// asked for; -1: none.
func outsideQuotes(s string, is func(c byte) bool) int {
	quoted := false
	for k := range len(s) {
		if s[k] == '"' {
			quoted = !quoted
		} else if !quoted && is(s[k]) {
			return k
		}
	}
	return -1
}

// procsNamed returns the functions that a name means, those of users too.
func (i info) procsNamed(schema, name string) (out []*catalog.Proc) {
	if schema == "" || schema == "pg_catalog" {
		out = append(out, catalog.ProcsNamed(name)...)
	}
	for _, f := range i.snap.FunctionsNamed(schema, name, i.path()) {
		out = append(out, f.Proc())
	}
	return out
}

// procNamed finds a function by its name alone, if there is one only, or by its
// signature.
func (i info) procNamed(text string, signature bool) (int64, error) {
	name, args := text, []uint32(nil)
	if signature {
		var err error
		if name, args, err = i.signature(text, false); err != nil {
			return 0, err
		}
	}
	parts, ok := splitName(name)
	if !ok {
		return 0, errNameSyntax
	}
	found := i.procsNamed(schemaOf(parts), parts[len(parts)-1])
	if signature {
		for _, p := range found {
			if sameOIDs(p.Args, args) {
				return int64(p.OID), nil
			}
		}
		return 0, undefined("function", text)
	}
	switch len(found) {
	case 0:
		return 0, undefined("function", text)
	case 1:
		return int64(found[0].OID), nil
	}
	return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one function named \"%s\"", text)
}

func schemaOf(parts []string) string {
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

func sameOIDs(a, b []uint32) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// procName is the name of a function as regproc shows it, or with the types of its
// arguments as regprocedure does. The schema stands before a name that means something
// else without it.
func (i info) procName(oid uint32, signature bool) (string, bool) {
	p, schema := catalog.ProcByOID(oid), "pg_catalog"
	if p == nil {
		f, ok := i.snap.ByOID(oid).(*catalog.Function)
		if !ok {
			return "", false
		}
		p, schema = f.Proc(), f.Schema
	}
	same := 0
	visible := false
	for _, q := range i.procsNamed("", p.Name) {
		if signature && !sameOIDs(p.Args, q.Args) {
			continue
		}
		same++
		visible = visible || same == 1 && q.OID == oid
	}
	out := sql.QuoteIdent(p.Name)
	if !visible || !signature && same > 1 {
		out = sql.QuoteIdent(schema) + "." + out
	}
	if !signature {
		return out, true
	}
	return out + "(" + i.typeNames(p.Args) + ")", true
}

func (i info) typeNames(oids []uint32) string {
	names := make([]string, len(oids))
	for k, oid := range oids {
		if oid == 0 {
			names[k] = "NONE"
			continue
		}
		name, ok := i.typeName(oid)
		if !ok {
			name = "???"
		}
		names[k] = name
	}
	return strings.Join(names, ",")
}

// operNamed finds an operator by its name alone, if there is one only, or with the
// types of its operands.
func (i info) operNamed(text string, signature bool) (int64, error) {
	name, args := strings.TrimSpace(text), []uint32(nil)
	if signature {
		var err error
		if name, args, err = i.signature(text, true); err != nil {
			return 0, err
		}
		switch name = strings.TrimSpace(name); {
		case len(args) == 1:
			return 0, pgerr.New(pgerr.UndefinedParameter, "missing argument").WithHint("Use NONE to denote the missing argument of a unary operator.")
		case len(args) != 2:
			return 0, pgerr.New(pgerr.TooManyArguments, "too many arguments").WithHint("Provide two argument types for operator.")
		}
	}
	schema, plain, ok := strings.Cut(name, ".")
	if !ok {
		plain, schema = name, "pg_catalog"
	}
	var found []*catalog.Oper
	if strings.Trim(schema, `"`) == "pg_catalog" {
		found = catalog.OpersNamed(plain)
	}
	if signature {
		for _, o := range found {
			if o.Left == args[0] && o.Right == args[1] {
				return int64(o.OID), nil
			}
		}
	} else if len(found) == 1 {
		return int64(found[0].OID), nil
	}
	if !signature && len(found) > 1 {
		return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one operator named %s", text)
	}
	return 0, pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s", text)
}

// operName is the name of an operator as regoper shows it, or regoperator.
func (i info) operName(oid uint32, signature bool) (string, bool) {
	o := catalog.OperByOID(oid)
	switch {
	case o == nil && !signature:
		return strconv.Itoa(int(oid)), true
	case o == nil:
		return "", false
	case signature:
		return o.Name + "(" + i.typeNames([]uint32{o.Left, o.Right}) + ")", true
	case len(catalog.OpersNamed(o.Name)) > 1:
		return "pg_catalog." + o.Name, true
	}
	return o.Name, true
}
