package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// constraint is a constraint of a table as pg_constraint has it. A key has the
// OID of its index.
type constraint struct {
	oid     uint32
	name    string
	kind    byte // p, u, c or f
	table   rel
	domain  *Type // instead of a table
	columns []int
	include []int
	expr    string
	// notValid: some rows may not satisfy it.
	notValid bool
	// nullsEqual: two NULLs are a duplicate.
	nullsEqual bool
	// deferrable and deferred are those of keys.
	deferrable, deferred bool
	// fk is set for a foreign key, with the table and the columns it references.
	fk     *ForeignKey
	parent *Table
	refs   []int
	// comment is the constraint's, not that of its index.
	comment string
}

// constraints returns the constraints of tables, these in OID order.
func constraints(s *Snapshot) []constraint {
	var out []constraint
	for _, r := range rels(s) {
		t, ok := r.obj.(*Table)
		if !ok {
			continue
		}
		if k := t.PrimaryKey; k != nil {
			out = append(out, constraint{oid: k.OID, name: k.Name, kind: 'p', table: r, columns: k.Columns, comment: k.Comment})
		}
		for _, x := range s.Indexes(t.OID) {
			if x.Constraint {
				kind := byte('u')
				if x.Primary {
					kind = 'p'
				}
				out = append(out, constraint{oid: x.OID, name: x.Name, kind: kind, table: r, columns: x.Columns(), include: x.Include,
					nullsEqual: x.NullsNotDistinct, deferrable: x.Deferrable, deferred: x.Deferred, comment: x.ConstraintComment})
			}
		}
		for i := range t.ForeignKeys {
			k := &t.ForeignKeys[i]
			p, ok := s.ByOID(k.Table).(*Table)
			if !ok {
				continue
			}
			out = append(out, constraint{oid: k.OID, name: k.Name, kind: 'f', table: r, columns: ColumnPositions(t.Columns, k.Columns),
				notValid: k.NotValid, fk: k, parent: p, refs: ColumnPositions(p.Columns, k.RefColumns), comment: k.Comment})
		}
		for _, k := range t.Checks {
			out = append(out, constraint{oid: k.OID, name: k.Name, kind: 'c', table: r, expr: k.Expr, notValid: k.NotValid, comment: k.Comment})
		}
	}
	return out
}

// allConstraints are those of tables and those of domains.
func allConstraints(s *Snapshot) []constraint {
	out := constraints(s)
	for _, o := range domains(s) {
		for _, k := range o.Checks {
			out = append(out, constraint{oid: k.OID, name: k.Name, kind: 'c', domain: o, table: rel{Head: &o.Head}, expr: k.Expr, notValid: k.NotValid, comment: k.Comment})
		}
	}
	return out
}

// definition is the constraint as it stands in CREATE TABLE. Tables are named for
// one who finds them by path.
func (k *constraint) definition(s *Snapshot, path []string, pretty bool) string {
	if k.kind == 'f' {
		return k.foreignDefinition(s, path)
	}
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
	word += columnNames(k.table.cols, k.columns)
	if len(k.include) > 0 {
		word += " INCLUDE " + columnNames(k.table.cols, k.include)
	}
	if k.deferrable {
		word += " DEFERRABLE"
	}
	if k.deferred {
		word += " INITIALLY DEFERRED"
	}
	return word
}

// foreignDefinition is definition for a foreign key.
func (k *constraint) foreignDefinition(s *Snapshot, path []string) string {
	name := sql.Name{Name: k.parent.Name}
	if !s.Visible(k.parent.OID, path) {
		name.Schema = k.parent.Schema
	}
	text := "FOREIGN KEY " + columnNames(k.table.cols, k.columns) + " REFERENCES " + sql.QuoteName(name) + columnNames(k.parent.Columns, k.refs)
	if k.fk.MatchFull {
		text += " MATCH FULL"
	}
	if k.fk.OnUpdate != FKNoAction {
		text += " ON UPDATE " + k.fk.OnUpdate.String()
	}
	if k.fk.OnDelete != FKNoAction {
		text += " ON DELETE " + k.fk.OnDelete.String()
	}
	if k.fk.SetColumns != nil {
		text += " " + columnNames(k.table.cols, ColumnPositions(k.table.cols, k.fk.SetColumns))
	}
	if k.fk.Deferrable {
		text += " DEFERRABLE"
	}
	if k.fk.Deferred {
		text += " INITIALLY DEFERRED"
	}
	if k.notValid {
		text += " NOT VALID"
	}
	return text
}

// columnNames lists columns in brackets.
func columnNames(cs []Column, cols []int) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = sql.QuoteIdent(cs[c].Name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// ConstraintDefinition returns a constraint as it stands in CREATE TABLE; pretty:
// with fewer brackets. Tables are named for one who finds them by path.
func ConstraintDefinition(s *Snapshot, oid uint32, path []string, pretty bool) (string, bool) {
	for _, k := range allConstraints(s) {
		if k.oid == oid {
			return k.definition(s, path, pretty), true
		}
	}
	return "", false
}

func constraintDefs() []def {
	return []def{
		{"pg_catalog.pg_constraint", "oid conname connamespace contype condeferrable condeferred convalidated conrelid conindid confrelid " +
			"contypid confupdtype confdeltype confmatchtype conislocal connoinherit conkey confkey conpfeqop conppeqop conffeqop confdelsetcols conbin", fillConstraint},
	}
}

func fillConstraint(c *Context, r *rows) {
	for _, k := range allConstraints(c.Snapshot) {
		var index uint32
		var conkey, bin any
		if k.domain != nil {
			r.add(k.oid, k.name, namespaceOID(c.Snapshot, k.domain.Schema), k.kind, false, false, !k.notValid, 0, 0, 0, k.domain.OID,
				" ", " ", " ", true, false, nil, nil, nil, nil, nil, nil, k.expr)
			continue
		}
		switch k.kind {
		case 'c':
			bin = k.expr
			if cols := exprColumns(k.expr, k.table.cols); len(cols) > 0 {
				conkey = columnNumbers(k.table.cols, cols)
			}
		case 'f':
			fillForeignKey(c.Snapshot, r, k)
			continue
		default:
			index, conkey = k.oid, columnNumbers(k.table.cols, k.columns)
		}
		r.add(k.oid, k.name, namespaceOID(c.Snapshot, k.table.Schema), k.kind, k.deferrable, k.deferred, !k.notValid, k.table.OID, index, 0, 0,
			" ", " ", " ", true, k.kind != 'c', conkey, nil, nil, nil, nil, nil, bin)
	}
}

func fillForeignKey(s *Snapshot, r *rows, k constraint) {
	fk := k.fk
	match := byte('s')
	if fk.MatchFull {
		match = 'f'
	}
	var set any
	if fk.SetColumns != nil {
		set = numberArray(fk.SetColumns)
	}
	var pf, pp, ff []types.Datum
	for i, c := range k.columns {
		col, key := k.table.cols[c].Type, k.parent.Columns[k.refs[i]].Type
		pf, pp, ff = append(pf, equalOperator(key, col)), append(pp, equalOperator(key, key)), append(ff, equalOperator(col, col))
	}
	r.add(k.oid, k.name, namespaceOID(s, k.table.Schema), "f", fk.Deferrable, fk.Deferred, !k.notValid, k.table.OID, fk.Index, fk.Table, 0,
		byte(fk.OnUpdate), byte(fk.OnDelete), match, true, true, columnNumbers(k.table.cols, k.columns), columnNumbers(k.parent.Columns, k.refs),
		types.ArrayDatum(pf), types.ArrayDatum(pp), types.ArrayDatum(ff), set, nil)
}

// equalOperator is the OID of the operator that compares two types.
func equalOperator(left, right types.T) types.Datum {
	ops := equalOperators()
	l, r := operatorType(left), operatorType(right)
	oid, ok := ops[[2]uint32{l, r}]
	if !ok {
		oid = ops[[2]uint32{l, l}]
	}
	return asKind(types.TOid.Kind(), oid)
}

// operatorType is the type whose operators the values of a type have.
func operatorType(t types.T) uint32 {
	switch t.ID {
	case types.Array:
		return 2277
	case types.Varchar:
		return 25
	}
	return t.OID()
}

var equalOperators = sync.OnceValue(func() map[[2]uint32]uint32 {
	out := map[[2]uint32]uint32{}
	for _, f := range dataLines("operators", " ") {
		if f[1] == "=" {
			out[[2]uint32{uint32(atoi(f[5])), uint32(atoi(f[6]))}] = uint32(atoi(f[0]))
		}
	}
	return out
})

// columnNumbers is an array of attnums.
func columnNumbers(cs []Column, cols []int) any {
	nums := make([]int, len(cols))
	for i, c := range cols {
		nums[i] = ColumnNumber(cs, c)
	}
	return numberArray(nums)
}

func numberArray(nums []int) any {
	out := make([]types.Datum, len(nums))
	for i, n := range nums {
		out[i] = int16(n)
	}
	return types.ArrayDatum(out)
}

// ConstraintNamed reports whether a table of a schema has a constraint of the name
// that is no object of its own.
func (s *Snapshot) ConstraintNamed(schema, name string) bool {
	found := false
	s.relationsIn(schema, func(_ string, o Object) {
		t, ok := o.(*Table)
		if !ok {
			return
		}
		if t.PrimaryKey != nil && t.PrimaryKey.Name == name || slices.ContainsFunc(t.Checks, func(c Check) bool { return c.Name == name }) ||
			slices.ContainsFunc(t.ForeignKeys, func(k ForeignKey) bool { return k.Name == name }) {
			found = true
		}
	})
	return found
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

// ConstraintComment is the comment of a constraint; empty: none.
func ConstraintComment(s *Snapshot, oid uint32) string {
	for _, k := range allConstraints(s) {
		if k.oid == oid {
			return k.comment
		}
	}
	return ""
}

// KeyComment is the comment of the index behind a key by which rows are stored.
func KeyComment(s *Snapshot, oid uint32) string {
	for _, t := range All[*Table](s) {
		if t.PrimaryKey != nil && t.PrimaryKey.OID == oid {
			return t.PrimaryKey.IndexComment
		}
	}
	return ""
}
