package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Ref names something by its name or by its number. Neither: it was not given.
type Ref struct {
	Name   string
	Number int64
	ByName bool
	Given  bool
}

// Access may be implemented by a CatalogInfo that knows roles and what they may do.
// known is false for a number that means nothing, which makes the answer NULL.
type Access interface {
	// HasPrivilege answers has_KIND_privilege; a role that is not given is the
	// session's. privs is a list of privileges, of which one is enough.
	HasPrivilege(kind string, role, object, column Ref, privs string) (has, known bool, err error)
	// HasRole answers pg_has_role.
	HasRole(member, role Ref, privs string) (has, known bool, err error)
	// RoleName is the name of a role, or a text that tells its number.
	RoleName(oid uint32) string
	// ACLDefault is the access list of objects that have none; kind is a letter.
	ACLDefault(kind string, owner uint32) ([]string, error)
	// ACLExplode calls f for each privilege in items of access lists.
	ACLExplode(items []string, f func(grantor, grantee uint32, priv string, grantable bool)) error
}

// noServer knows no roles: everything is allowed.
type noServer struct{}

func (noServer) HasPrivilege(string, Ref, Ref, Ref, string) (bool, bool, error) {
	return true, true, nil
}
func (noServer) HasRole(Ref, Ref, string) (bool, bool, error)                  { return true, true, nil }
func (noServer) RoleName(uint32) string                                        { return "" }
func (noServer) ACLDefault(string, uint32) ([]string, error)                   { return nil, nil }
func (noServer) ACLExplode([]string, func(uint32, uint32, string, bool)) error { return nil }

func accessOf(c *Ctx) Access {
	if a, ok := c.session().Catalog.(Access); ok {
		return a
	}
	return noServer{}
}

// ref reads an argument that names something.
func (r *row) ref(k int) Ref {
	switch r.typ(k).ID {
	case types.Oid, types.Regclass:
		return Ref{Number: r.i8(k), Given: true}
	case types.Int2:
		return Ref{Number: int64(r.args[k].(*vec.Col[int16]).Vals[r.i]), Given: true}
	}
	return Ref{Name: strings.Clone(r.s(k)), ByName: true, Given: true}
}

// privilegeFuncs are has_table_privilege and its kin.
func privilegeFuncs() []*Func {
	var out []*Func
	answer := func(r *row, has, known bool, err error) error {
		if err != nil {
			return err
		}
		if !known {
			return r.null()
		}
		return r.putBool(has)
	}
	roles := [][]types.T{nil, ts(tName), ts(tOid)}
	for _, what := range []string{"table", "any_column", "sequence", "database", "function", "schema", "type",
		"language", "tablespace", "foreign_data_wrapper", "server"} {
		for _, role := range roles {
			for _, object := range ts(tText, tOid) {
				n := len(role)
				args := append(append(ts(), role...), object, tText)
				out = append(out, readsCatalog(fn("has_"+what+"_privilege", args, tBool, func(r *row) error {
					var who Ref
					if n > 0 {
						who = r.ref(0)
					}
					has, known, err := accessOf(r.c).HasPrivilege(what, who, r.ref(n), Ref{}, r.s(n+1))
					return answer(r, has, known, err)
				})))
			}
		}
	}
	for _, role := range roles {
		for _, object := range ts(tText, tOid) {
			for _, column := range ts(tText, types.TInt2) {
				n := len(role)
				args := append(append(ts(), role...), object, column, tText)
				out = append(out, readsCatalog(fn("has_column_privilege", args, tBool, func(r *row) error {
					var who Ref
					if n > 0 {
						who = r.ref(0)
					}
					has, known, err := accessOf(r.c).HasPrivilege("column", who, r.ref(n), r.ref(n+1), r.s(n+2))
					return answer(r, has, known, err)
				})))
			}
		}
	}
	for _, member := range roles {
		for _, role := range ts(tName, tOid) {
			n := len(member)
			args := append(append(ts(), member...), role, tText)
			out = append(out, readsCatalog(fn("pg_has_role", args, tBool, func(r *row) error {
				var who Ref
				if n > 0 {
					who = r.ref(0)
				}
				has, known, err := accessOf(r.c).HasRole(who, r.ref(n), r.s(n+1))
				return answer(r, has, known, err)
			})))
		}
	}
	out = append(out,
		stable(safe(fn("has_parameter_privilege", ts(tText, tText), tBool, func(r *row) error { return r.putBool(true) }))),
		stable(safe(fn("has_parameter_privilege", ts(tName, tText, tText), tBool, func(r *row) error { return r.putBool(true) }))),
		stable(safe(fn("has_parameter_privilege", ts(tOid, tText, tText), tBool, func(r *row) error { return r.putBool(true) }))),
		readsCatalog(safe(fn("pg_get_userbyid", ts(tOid), tName, func(r *row) error { return r.putS(accessOf(r.c).RoleName(uint32(r.i8(0)))) }))),
		readsCatalog(fn("acldefault", ts(types.TChar, tOid), types.ArrayOf(types.Text), func(r *row) error {
			items, err := accessOf(r.c).ACLDefault(r.s(0), uint32(r.i8(1)))
			if err != nil {
				return err
			}
			return r.put(types.ArrayDatum(strDatums(items)))
		})))
	return out
}

// aclExplode is aclexplode, over the texts of access lists.
func aclExplode() *Func {
	f := record(&Func{Name: "aclexplode", Args: ts(types.ArrayOf(types.Text)), Set: true, MayFail: true, Volatility: Stable},
		[]string{"grantor", "grantee", "privilege_type", "is_grantable"}, tOid, tOid, tText, tBool)
	f.EvalSet = func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
		if anyNull(args, i) {
			return nil
		}
		var items []string
		for _, d := range types.ArrayElems(args[0].Type(), args[0].Datum(i)) {
			text, ok := d.(string)
			if !ok {
				return pgerr.New(pgerr.NullValueNotAllowed, "ACL arrays must not contain null values")
			}
			items = append(items, text)
		}
		return accessOf(c).ACLExplode(items, func(grantor, grantee uint32, priv string, grantable bool) {
			dst[0].AppendDatum(int64(grantor))
			dst[1].AppendDatum(int64(grantee))
			dst[2].AppendDatum(priv)
			dst[3].AppendDatum(grantable)
		})
	}
	return f
}
