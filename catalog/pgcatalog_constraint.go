package catalog

import (
	"strings"

	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// constraint is a constraint of a table as pg_constraint has it. A key has the
// OID of its index.
type constraint struct {
	oid     uint32
	name    string
	kind    byte // p, u or c
	table   rel
	columns []int
	expr    string
}

// constraints returns all constraints, tables in OID order.
func constraints(s *Snapshot) []constraint {
	var out []constraint
	for _, r := range rels(s) {
		t, ok := r.obj.(*Table)
		if !ok {
			continue
		}
		if k := t.PrimaryKey; k != nil {
			out = append(out, constraint{k.OID, k.Name, 'p', r, k.Columns, ""})
		}
		for _, k := range t.Unique {
			out = append(out, constraint{k.OID, k.Name, 'u', r, k.Columns, ""})
		}
		for _, k := range t.Checks {
			out = append(out, constraint{k.OID, k.Name, 'c', r, nil, k.Expr})
		}
	}
	return out
}

// definition is the constraint as it stands in CREATE TABLE.
func (k *constraint) definition() string {
	if k.kind == 'c' {
		return "CHECK ((" + k.expr + "))"
	}
	names := make([]string, len(k.columns))
	for i, c := range k.columns {
		names[i] = sql.QuoteIdent(k.table.cols[c].Name)
	}
	return map[byte]string{'p': "PRIMARY KEY (", 'u': "UNIQUE ("}[k.kind] + strings.Join(names, ", ") + ")"
}

// ConstraintDefinition returns a constraint as it stands in CREATE TABLE.
func ConstraintDefinition(s *Snapshot, oid uint32) (string, bool) {
	for _, k := range constraints(s) {
		if k.oid == oid {
			return k.definition(), true
		}
	}
	return "", false
}

func constraintDefs() []def {
	return []def{{"pg_catalog.pg_constraint", "oid conname connamespace contype convalidated conrelid conindid confupdtype " +
		"confdeltype confmatchtype conislocal connoinherit conkey conbin", fillConstraint}}
}

func fillConstraint(c *Context, r *rows) {
	for _, k := range constraints(c.Snapshot) {
		var index uint32
		var conkey, bin any
		if k.kind == 'c' {
			bin = k.expr
		} else {
			index = k.oid
			nums := make([]types.Datum, len(k.columns))
			for i, col := range k.columns {
				nums[i] = int16(col + 1)
			}
			conkey = types.ArrayDatum(nums)
		}
		r.add(k.oid, k.name, namespaceOID(c.Snapshot, k.table.Schema), k.kind, true, k.table.OID, index,
			" ", " ", " ", true, k.kind != 'c', conkey, bin)
	}
}
