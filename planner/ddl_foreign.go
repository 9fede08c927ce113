package planner

import (
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/sql"
	"github.com/streamdb/streamdb/types"
)

// foreignKey adds a FOREIGN KEY. A reference to the table itself has no Table, and
// one to a key that has no OID yet no Index, until both have OIDs (see
// LinkForeignKeys).
func (r *relationBinder) foreignKey(c *sql.Constraint, column string) error {
	names := c.Columns
	if column != "" {
		names = []string{column}
	}
	parent, own, err := r.referenced(c.RefTable)
	if err != nil {
		return err
	}
	fk := catalog.ForeignKey{Name: c.Name, MatchFull: c.MatchFull, OnDelete: catalog.FKActionOf(c.OnDelete), OnUpdate: catalog.FKActionOf(c.OnUpdate),
		Deferrable: c.Deferrable, Deferred: c.Deferred, NotValid: c.NotValid && r.altered != nil}
	if !own {
		fk.Table = parent.OID
	}
	cols, err := fkColumns(r.columns, names)
	if err != nil {
		return err
	}
	refs, err := r.referencedKey(&fk, parent, own, c.RefColumns, len(cols))
	if err != nil {
		return err
	}
	if !own {
		need := r.b.need(parent.OID, catalog.References)
		for _, i := range refs {
			need.column(NeedReferences, i)
		}
	}
	if fk.Name == "" {
		fk.Name = freeName(r.b.p.Cat, r.schema, r.name, names, "fkey", r.takenNames())
	} else if r.constraintNamed(fk.Name) {
		return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", fk.Name, r.name)
	}
	for i, k := range cols {
		if err := checkForeignTypes(fk.Name, r.columns[k], parent.Columns[refs[i]]); err != nil {
			return err
		}
		fk.Columns = append(fk.Columns, catalog.ColumnNumber(r.columns, k))
		fk.RefColumns = append(fk.RefColumns, catalog.ColumnNumber(parent.Columns, refs[i]))
	}
	if err := r.foreignActions(&fk, c, cols); err != nil {
		return err
	}
	r.foreign = append(r.foreign, fk)
	return nil
}

// checkForeignTypes refuses a foreign key between columns whose values cannot be
// compared.
func checkForeignTypes(name string, col, key catalog.Column) error {
	was, is := col.Type, key.Type
	if !referable(was, is) {
		return pgerr.New(pgerr.DatatypeMismatch, "foreign key constraint \"%s\" cannot be implemented", name).
			WithDetail("Key columns \"%s\" and \"%s\" are of incompatible types: %s and %s.", col.Name, key.Name, was.Base(), is.Base())
	}
	if zoned(was) != zoned(is) {
		return pgerr.Unsupported("a foreign key between "+was.Base().String()+" and "+is.Base().String(), "Give both columns the same type.")
	}
	return nil
}

// CheckForeignTypes refuses a foreign key whose columns have types that do not fit.
func CheckForeignTypes(fk *catalog.ForeignKey, child, parent *catalog.Table) error {
	refs := catalog.ColumnPositions(parent.Columns, fk.RefColumns)
	for i, k := range catalog.ColumnPositions(child.Columns, fk.Columns) {
		if err := checkForeignTypes(fk.Name, child.Columns[k], parent.Columns[refs[i]]); err != nil {
			return err
		}
	}
	return nil
}

// referenced finds the table that a foreign key is to.
func (r *relationBinder) referenced(n sql.Name) (t *catalog.Table, own bool, err error) {
	if r.altered == nil && n.Name == r.name && (n.Schema == "" || n.Schema == r.schema) {
		return &catalog.Table{Head: catalog.Head{Schema: r.schema, Name: r.name}, Columns: r.columns, PrimaryKey: r.primary}, true, nil
	}
	cat := r.b.p.Cat
	o, err := cat.Resolve(n.Schema, n.Name, r.b.searchPath())
	if err != nil {
		return nil, false, err
	}
	t, ok := o.(*catalog.Table)
	switch {
	case cat.Builtin(o.Header().OID):
		return nil, false, pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", o.Header().Name)
	case !ok:
		return nil, false, pgerr.New(pgerr.WrongObjectType, "referenced relation \"%s\" is not a table", o.Header().Name)
	case catalog.IsTemp(r.schema) && !catalog.IsTemp(t.Schema):
		return nil, false, pgerr.New(pgerr.InvalidTableDefinition, "constraints on temporary tables may reference only temporary tables")
	case !catalog.IsTemp(r.schema) && catalog.IsTemp(t.Schema):
		return nil, false, pgerr.New(pgerr.InvalidTableDefinition, "constraints on permanent tables may reference only permanent tables")
	case r.altered != nil && t.OID == r.altered.OID:
		c := *r.altered
		c.Columns = r.columns
		return &c, true, nil
	}
	return t, false, nil
}

// fkColumns finds the columns of a foreign key.
func fkColumns(cs []catalog.Column, names []string) ([]int, error) {
	var out []int
	for _, n := range names {
		i := catalog.ColumnIndex(cs, n)
		if i < 0 {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" referenced in foreign key constraint does not exist", n)
		}
		out = append(out, i)
	}
	return out, nil
}

// referencedKey finds the columns of the unique key that is referenced, in the
// order of names, or without names those of the primary key.
func (r *relationBinder) referencedKey(fk *catalog.ForeignKey, parent *catalog.Table, own bool, names []string, n int) ([]int, error) {
	indexes := r.indexes
	if !own {
		indexes = r.b.p.Cat.UniqueIndexes(parent.OID)
	}
	refs, err := fkColumns(parent.Columns, names)
	if err != nil {
		return nil, err
	}
	if names == nil {
		for _, ix := range indexes {
			if ix.Primary {
				if ix.Deferrable {
					return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot use a deferrable primary key for referenced table \"%s\"", parent.Name)
				}
				refs = ix.Columns()
			}
		}
		if parent.PrimaryKey != nil {
			refs = parent.PrimaryKey.Columns
		}
		if refs == nil {
			return nil, pgerr.New(pgerr.UndefinedObject, "there is no primary key for referenced table \"%s\"", parent.Name)
		}
	}
	if len(refs) != n {
		return nil, pgerr.New(pgerr.InvalidForeignKey, "number of referencing and referenced columns for foreign key disagree")
	}
	if len(slices.Compact(slices.Sorted(slices.Values(refs)))) < n {
		return nil, pgerr.New(pgerr.InvalidForeignKey, "foreign key referenced-columns list must not contain duplicates")
	}
	var ok, deferrable bool
	if fk.Index, ok, deferrable = uniqueKey(parent, indexes, refs); deferrable {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot use a deferrable unique constraint for referenced table \"%s\"", parent.Name)
	} else if !ok {
		return nil, pgerr.New(pgerr.InvalidForeignKey, "there is no unique constraint matching given keys for referenced table \"%s\"", parent.Name)
	}
	return refs, nil
}

// uniqueKey finds the unique key over columns in any order; deferrable: there are only
// such, which cannot be referenced.
func uniqueKey(t *catalog.Table, indexes []*catalog.Index, cols []int) (oid uint32, ok, deferrable bool) {
	same := func(key []int) bool {
		return slices.Equal(slices.Sorted(slices.Values(key)), slices.Sorted(slices.Values(cols)))
	}
	if t.PrimaryKey != nil && same(t.PrimaryKey.Columns) {
		return t.PrimaryKey.OID, true, false
	}
	for _, ix := range indexes {
		if ix.Unique && ix.Where == "" && ix.Columns() != nil && same(ix.Columns()) {
			if !ix.Deferrable {
				return ix.OID, true, false
			}
			deferrable = true
		}
	}
	return 0, false, deferrable
}

// LinkForeignKeys makes the foreign keys of a table, which has its OIDs by now,
// refer to itself and to its keys where they do; indexes are all it has.
func LinkForeignKeys(t *catalog.Table, indexes []*catalog.Index) {
	t.ForeignKeys = slices.Clone(t.ForeignKeys)
	for i := range t.ForeignKeys {
		fk := &t.ForeignKeys[i]
		if fk.Table == 0 {
			fk.Table = t.OID
		}
		if fk.Table == t.OID && fk.Index == 0 {
			fk.Index, _, _ = uniqueKey(t, indexes, catalog.ColumnPositions(t.Columns, fk.RefColumns))
		}
	}
}

// foreignActions checks the actions of a foreign key.
func (r *relationBinder) foreignActions(fk *catalog.ForeignKey, c *sql.Constraint, cols []int) error {
	set, err := fkColumns(r.columns, c.SetColumns)
	if err != nil {
		return err
	}
	for i, k := range set {
		if !slices.Contains(cols, k) {
			return pgerr.New(pgerr.InvalidColumnReference, "column \"%s\" referenced in ON DELETE SET action must be part of foreign key", c.SetColumns[i])
		}
		fk.SetColumns = append(fk.SetColumns, catalog.ColumnNumber(r.columns, k))
	}
	for _, k := range cols {
		if r.columns[k].Generated == "" {
			continue
		}
		switch {
		case fk.OnUpdate == catalog.FKCascade || fk.OnUpdate == catalog.FKSetNull || fk.OnUpdate == catalog.FKSetDefault:
			return pgerr.New(pgerr.SyntaxError, "invalid ON UPDATE action for foreign key constraint containing generated column")
		case fk.OnDelete == catalog.FKSetNull || fk.OnDelete == catalog.FKSetDefault:
			return pgerr.New(pgerr.SyntaxError, "invalid ON DELETE action for foreign key constraint containing generated column")
		}
	}
	return nil
}

// takenNames are the names of the keys that the table is to have.
func (r *relationBinder) takenNames() map[string]bool {
	taken := map[string]bool{}
	if r.primary != nil {
		taken[r.primary.Name] = true
	}
	for _, x := range r.indexes {
		taken[x.Name] = true
	}
	for _, k := range r.foreign {
		taken[k.Name] = true
	}
	for _, k := range r.checks {
		taken[k.Name] = true
	}
	return taken
}

func (r *relationBinder) constraintNamed(name string) bool {
	return r.primary != nil && r.primary.Name == name ||
		slices.ContainsFunc(r.checks, func(k catalog.Check) bool { return k.Name == name }) ||
		slices.ContainsFunc(r.foreign, func(k catalog.ForeignKey) bool { return k.Name == name }) ||
		slices.ContainsFunc(r.indexes, func(x *catalog.Index) bool { return x.Constraint && x.Name == name })
}

// referable reports whether a column of type t may reference one of type key:
// within a family of types, or by an implicit conversion.
func referable(t, key types.T) bool {
	return t.ID == key.ID && t.Base() == key.Base() || family(t) != 0 && family(t) == family(key) || expr.CanCast(t, key, expr.Implicit)
}

// family numbers the types of which values of different ones are compared by the
// operators of a key.
func family(t types.T) int {
	switch t.ID {
	case types.Int2, types.Int4, types.Int8:
		return 1
	case types.Float4, types.Float8:
		return 2
	case types.Date, types.Timestamp, types.Timestamptz:
		return 3
	case types.Text, types.Varchar, types.Name:
		return 4
	}
	return 0
}

// zoned: comparing the type with another one of its family depends on the time
// zone.
func zoned(t types.T) bool { return t.ID == types.Timestamptz }

// KeyCasts binds what makes of the columns cols of one table's row the values of
// the key columns that they reference, and of those the values they were made from,
// over the key; nil where the types are the same.
func (p *Planner) KeyCasts(from []catalog.Column, cols []int, to []catalog.Column, keys []int) (there, back []expr.Expr, err error) {
	b := p.newBinder(false)
	there, back = make([]expr.Expr, len(cols)), make([]expr.Expr, len(cols))
	for i := range cols {
		f, t := from[cols[i]].Type.Base(), to[keys[i]].Type.Base()
		if f == t {
			continue
		}
		if there[i], err = b.coerce(&expr.Col{Index: cols[i], Typ: from[cols[i]].Type}, t, expr.Explicit, nil); err != nil {
			return nil, nil, err
		}
		if back[i], err = b.coerce(&expr.Col{Index: i, Typ: t}, f, expr.Explicit, nil); err != nil {
			return nil, nil, err
		}
	}
	return there, back, nil
}

// RowRules are what holds for rows of a table that are changed by a foreign key's
// action.
type RowRules struct {
	// Mutation has the table with its constraints, as UPDATE.
	*Mutation
	// Set has the new value of each column that is set or computed, over the old row
	// followed by the values given; nil: it stays.
	Set []expr.Expr
}

// BindKeyAction binds the change that a foreign key's action makes to rows of a
// table: cols are set to values given behind the row, of types as, or where as is
// nil to their defaults (defaults) or NULL.
func (p *Planner) BindKeyAction(t *catalog.Table, cols []int, as []types.T, defaults bool) (*RowRules, error) {
	b := p.newBinder(false)
	m, err := b.constrain(&Mutation{Kind: MutUpdate, Table: t})
	if err != nil {
		return nil, err
	}
	out := &RowRules{Mutation: m, Set: make([]expr.Expr, len(t.Columns))}
	for k, i := range cols {
		var e expr.Expr = &expr.Const{Typ: t.Columns[i].Type}
		switch {
		case as != nil:
			e, err = b.coerce(&expr.Col{Index: len(t.Columns) + k, Typ: as[k]}, t.Columns[i].Type, expr.Assignment, nil)
		case defaults:
			e, err = b.defaultOf(t, i)
		}
		if err != nil {
			return nil, err
		}
		out.Set[i] = e
	}
	return out, b.generatedSet(t, out.Set)
}

// KeyOver finds a key or an index that begins with columns in any order, and these
// in its order; nil: none. index is 0 for the key that rows are stored by.
func KeyOver(cat *catalog.Snapshot, t *catalog.Table, cols []int) (index uint32, key []int) {
	begins := func(key []int) bool {
		return len(key) >= len(cols) && !slices.ContainsFunc(key[:len(cols)], func(k int) bool { return !slices.Contains(cols, k) })
	}
	if t.PrimaryKey != nil && begins(t.PrimaryKey.Columns) {
		return 0, t.PrimaryKey.Columns[:len(cols)]
	}
	for _, ix := range cat.Indexes(t.OID) {
		if k := ix.Columns(); k != nil && ix.Where == "" && begins(k) {
			return ix.OID, k[:len(cols)]
		}
	}
	return 0, nil
}
