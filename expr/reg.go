package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// TypeName is the name of a type by its number, pseudo-types included. c may be nil.
func TypeName(c CatalogInfo, oid uint32) (string, bool) {
	if t, ok := types.ByOID(oid); ok {
		return t.String(), true
	}
	if c != nil {
		if t, ok := c.TypeByOID(oid); ok {
			return t.String(), true
		}
	}
	return pseudoName(oid)
}

// PseudoType is the number of a pseudo-type.
func PseudoType(name string) (uint32, bool) {
	if t, ok := types.PseudoByName(name); ok {
		return t.OID(), true
	}
	oid, ok := pseudoTypes[name]
	return oid, ok
}

// toRegFuncs are to_regclass and its kin: as a cast, but NULL where there is no such
// object or more than one.
func toRegFuncs() []*Func {
	var out []*Func
	for name, id := range map[string]types.ID{"to_regclass": types.Regclass, "to_regtype": types.Regtype, "to_regproc": types.Regproc,
		"to_regprocedure": types.Regprocedure, "to_regoper": types.Regoper, "to_regoperator": types.Regoperator,
		"to_regnamespace": types.Regnamespace, "to_regrole": types.Regrole, "to_regcollation": types.Regcollation} {
		t := types.T{ID: id, Mod: -1}
		out = append(out, readsCatalog(fn(name, ts(tText), t, func(r *row) error {
			opt := r.c.options()
			if opt.Resolve == nil {
				return r.null()
			}
			oid, err := opt.Resolve(t, strings.Clone(r.s(0)))
			switch pgerr.CodeOf(err) {
			case pgerr.UndefinedTable, pgerr.UndefinedFunction, pgerr.AmbiguousFunction, pgerr.InvalidSchemaName:
				return r.null()
			case pgerr.UndefinedObject: // the types of arguments must exist
				if id != types.Regprocedure && id != types.Regoperator {
					return r.null()
				}
			}
			if err != nil {
				return err
			}
			return r.putI8(oid)
		})))
	}
	return out
}
