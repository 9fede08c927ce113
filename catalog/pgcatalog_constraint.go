package catalog

import (
	"slices"
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
	include []int
	expr    string
	// notValid: some rows may not satisfy it.
	notValid bool
	// nullsEqual: two NULLs are a duplicate.
	nullsEqual bool
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
			out = append(out, constraint{oid: k.OID, name: k.Name, kind: 'p', table: r, columns: k.Columns})
		}
		for _, x := range s.Indexes(t.OID) {
			if x.Constraint {
				kind := byte('u')
				if x.Primary {
					kind = 'p'
				}
				out = append(out, constraint{oid: x.OID, name: x.Name, kind: kind, table: r, columns: x.Columns(), include: x.Include,
					nullsEqual: x.NullsNotDistinct})
			}
		}
		for _, k := range t.Checks {
			out = append(out, constraint{oid: k.OID, name: k.Name, kind: 'c', table: r, expr: k.Expr, notValid: k.NotValid})
		}
	}
	return out
}

// definition is the constraint as it stands in CREATE TABLE.
func (k *constraint) definition(pretty bool) string {
	if k.kind == 'c' {
		text := "CHECK ((" + k.expr + "))"
		if pretty {
			text = "CHECK (" + k.expr + ")"
		}
		if k.notValid {
			text += " NOT VALID"
		}
		return text
	}
	word := map[byte]string{'p': "PRIMARY KEY ", 'u': "UNIQUE "}[k.kind]
	if k.nullsEqual {
		word += "NULLS NOT DISTINCT "
	}
	word += k.names(k.columns)
	if len(k.include) > 0 {
		word += " INCLUDE " + k.names(k.include)
	}
	return word
}

// names lists columns in brackets.
func (k *constraint) names(cols []int) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = sql.QuoteIdent(k.table.cols[c].Name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// ConstraintDefinition returns a constraint as it stands in CREATE TABLE; pretty:
// with fewer brackets.
func ConstraintDefinition(s *Snapshot, oid uint32, pretty bool) (string, bool) {
	for _, k := range constraints(s) {
		if k.oid == oid {
			return k.definition(pretty), true
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
			if cols := exprColumns(k.expr, k.table.cols); len(cols) > 0 {
				nums := make([]types.Datum, len(cols))
				for i, col := range cols {
					nums[i] = int16(ColumnNumber(k.table.cols, col))
				}
				conkey = types.ArrayDatum(nums)
			}
		} else {
			index = k.oid
			nums := make([]types.Datum, len(k.columns))
			for i, col := range k.columns {
				nums[i] = int16(ColumnNumber(k.table.cols, col))
			}
			conkey = types.ArrayDatum(nums)
		}
		r.add(k.oid, k.name, namespaceOID(c.Snapshot, k.table.Schema), k.kind, !k.notValid, k.table.OID, index,
			" ", " ", " ", true, k.kind != 'c', conkey, bin)
	}
}

// ConstraintNamed reports whether a table of a schema has a constraint of the name
// that is no object of its own.
func (s *Snapshot) ConstraintNamed(schema, name string) bool {
	for _, o := range s.relations[schema] {
		t, ok := o.(*Table)
		if !ok {
			continue
		}
		if t.PrimaryKey != nil && t.PrimaryKey.Name == name || slices.ContainsFunc(t.Checks, func(c Check) bool { return c.Name == name }) {
			return true
		}
	}
	return false
}

// exprColumns returns the columns that the text of an expression names, in order.
func exprColumns(text string, cols []Column) (out []int) {
	sts, err := sql.Parse("SELECT (" + text + ")")
	if err != nil || len(sts) != 1 {
		return nil
	}
	q, ok := sts[0].Stmt.(*sql.Select)
	if !ok {
		return nil
	}
	var walk func(n sql.Node)
	walk = func(n sql.Node) {
		if ref, ok := n.(*sql.ColumnRef); ok && len(ref.Parts) > 0 {
			if i := ColumnIndex(cols, ref.Parts[len(ref.Parts)-1]); i >= 0 && !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
		for _, c := range sql.Children(n) {
			walk(c)
		}
	}
	walk(q.Targets[0].Expr)
	slices.Sort(out)
	return out
}
