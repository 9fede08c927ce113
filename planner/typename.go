package planner

import (
	"strings"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// ResolveTypeName finds the type that a type name in a statement means, users'
// types by the search path. Errors have no position; the caller knows the text.
func ResolveTypeName(cat *catalog.Snapshot, path []string, n *sql.TypeName) (types.T, error) {
	switch {
	case n.PctType:
		return types.T{}, pgerr.Unsupported("name%TYPE", "Write the column's type itself.")
	case n.SetOf:
		return types.T{}, pgerr.New(pgerr.DatatypeMismatch, "type \"%s\" cannot be a set here", n.Name)
	case len(n.Fields) > 0:
		return types.T{}, pgerr.Unsupported("the type STRUCT", "Use jsonb and take the fields out with ->.")
	}
	if n.Schema != "" && n.Schema != "pg_catalog" {
		t, ok := cat.Type(n.Schema, n.Name, path)
		if !ok {
			return types.T{}, pgerr.New(pgerr.UndefinedObject, "type \"%s.%s\" does not exist", n.Schema, n.Name)
		}
		return arrayIf(t, n)
	}
	if err := missingType(n.Name); err != nil {
		return types.T{}, err
	}
	name := strings.ToLower(n.Name)
	t, ok := types.ByName(name)
	if n.Name == "char" { // in quotes; without it is bpchar
		t = types.TChar
	}
	if !ok {
		if t, ok = cat.Type(n.Schema, n.Name, path); ok {
			return arrayIf(t, n)
		}
		return types.T{}, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", n.Name)
	}
	return arrayIf(t, n)
}

// arrayIf applies the modifier and the brackets of a type name.
func arrayIf(t types.T, n *sql.TypeName) (types.T, error) {
	t, err := withModifier(t, n)
	if err != nil {
		return types.T{}, err
	}
	if n.Dims > 0 {
		a := t.ArrayType()
		if t.ID == types.Array || a.OID() == 0 {
			return types.T{}, pgerr.New(pgerr.UndefinedObject, "type \"%s[]\" does not exist", n.Name)
		}
		return a, nil
	}
	return t, nil
}

// missingType explains PostgreSQL's types that there are not.
func missingType(name string) error {
	switch name {
	case "point", "line", "lseg", "box", "path", "polygon", "circle":
		return pgerr.Unsupported("the type "+name, "Store the coordinates in columns of their own, or in jsonb.")
	case "xml", "tsvector", "tsquery":
		return pgerr.Unsupported("the type "+name, "Use text.")
	}
	return nil
}

// withModifier applies (n) and (p, s).
func withModifier(t types.T, n *sql.TypeName) (types.T, error) {
	mods := n.Mods
	if t.ID == types.Interval {
		return intervalType(n)
	}
	if len(mods) == 0 {
		return t, nil
	}
	bad := func(format string, args ...any) (types.T, error) {
		return types.T{}, pgerr.New(pgerr.InvalidParameterValue, format, args...)
	}
	switch t.ID {
	case types.Varchar, types.Bpchar:
		name := map[types.ID]string{types.Varchar: "varchar", types.Bpchar: "char"}[t.ID]
		if len(mods) != 1 {
			return bad("invalid type modifier")
		}
		if mods[0] < 1 {
			return bad("length for type %s must be at least 1", name)
		}
		if mods[0] > 10485760 {
			return bad("length for type %s cannot exceed 10485760", name)
		}
		t.Mod = mods[0] + 4
	case types.Bit, types.Varbit:
		if len(mods) != 1 {
			return bad("invalid type modifier")
		}
		if mods[0] < 1 {
			return bad("length for type %s must be at least 1", t.TypName())
		}
		if mods[0] > 83886080 {
			return bad("length for type %s cannot exceed 83886080", t.TypName())
		}
		t.Mod = mods[0]
	case types.Numeric:
		p, s := mods[0], int32(0)
		if len(mods) > 1 {
			s = mods[1]
		}
		if p < 1 || p > 1000 {
			return bad("NUMERIC precision %d must be between 1 and 1000", p)
		}
		if s < -1000 || s > 1000 {
			return bad("NUMERIC scale %d must be between -1000 and 1000", s)
		}
		if len(mods) > 2 {
			return bad("invalid NUMERIC type modifier")
		}
		t = types.NumericOf(int(p), int(s))
	case types.Time, types.Timetz, types.Timestamp, types.Timestamptz:
		t.Mod = min(max(mods[0], 0), 6)
	default:
		return types.T{}, pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type \"%s\"", n.Name)
	}
	return t, nil
}

// intervalType is interval with its fields and precision.
func intervalType(n *sql.TypeName) (types.T, error) {
	precision := -1
	if len(n.Mods) > 1 {
		return types.T{}, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	}
	if len(n.Mods) == 1 {
		if precision = int(min(n.Mods[0], 6)); precision < 0 {
			return types.T{}, pgerr.New(pgerr.InvalidParameterValue, "INTERVAL(%d) precision must not be negative", n.Mods[0])
		}
	}
	t, ok := types.IntervalOf(n.Interval, precision)
	if !ok {
		return types.T{}, pgerr.New(pgerr.InvalidParameterValue, "invalid INTERVAL type modifier")
	}
	return t, nil
}
