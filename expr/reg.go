package expr

import (
	"strings"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// RegName returns the output of regclass, regtype and regnamespace values for
// types.Options.Name. c may be nil.
func RegName(c CatalogInfo) func(t types.T, oid int64) (string, bool) {
	return func(t types.T, oid int64) (string, bool) {
		switch {
		case t.ID == types.Regtype:
			if x, ok := types.ByOID(uint32(oid)); ok {
				return x.String(), true
			}
			if c != nil {
				if x, ok := c.TypeByOID(uint32(oid)); ok {
					return x.String(), true
				}
			}
			return pseudoName(uint32(oid))
		case c == nil:
			return "", false
		case t.ID == types.Regclass:
			return c.RelationName(uint32(oid))
		case t.ID == types.Regnamespace:
			n, ok := c.NamespaceName(uint32(oid))
			return quoteIdent(n), ok
		}
		return "", false
	}
}

// RegResolve returns the input of the reg types for types.Options.Resolve:
// 42P01, 42704 or 3F000 when there is no such object. c may be nil.
func RegResolve(c CatalogInfo) func(t types.T, name string) (int64, error) {
	return func(t types.T, name string) (int64, error) {
		switch t.ID {
		case types.Regtype:
			n := strings.ToLower(strings.TrimSpace(name))
			n = strings.TrimPrefix(strings.TrimPrefix(n, `"pg_catalog".`), "pg_catalog.")
			elem, isArray := strings.CutSuffix(n, "[]")
			if x, ok := types.ByName(strings.Trim(elem, `"`)); ok {
				if isArray {
					x = types.ArrayOf(x.ID)
				}
				return int64(x.OID()), nil
			}
			if oid, ok := pseudoTypes[strings.Trim(n, `"`)]; ok {
				return int64(oid), nil
			}
			if c != nil {
				elem, isArray := strings.CutSuffix(strings.TrimSpace(name), "[]")
				if x, ok := c.TypeByName(elem); ok {
					if isArray {
						x = x.ArrayType()
					}
					return int64(x.OID()), nil
				}
			}
			return 0, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", name)
		case types.Regclass:
			if c != nil {
				if oid, ok := c.RelationOID(name); ok {
					return int64(oid), nil
				}
			}
			return 0, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
		case types.Regnamespace:
			if c != nil {
				if oid, ok := c.NamespaceOID(name); ok {
					return int64(oid), nil
				}
			}
			return 0, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
		}
		return 0, pgerr.New(pgerr.UndefinedFunction, "function \"%s\" does not exist", name)
	}
}
