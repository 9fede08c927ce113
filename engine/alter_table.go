package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/sql"
)

// alteration is an ALTER TABLE at work. Its actions change a copy of the table and
// note what the stored rows must be held against; then, with the table's graph at
// rest, the rows are read once, and everything takes effect in one commit.
type alteration struct {
	s   *Session
	pl  *planner.Planner
	old *catalog.Table
	t   *catalog.Table
	// What rows must satisfy that they may not satisfy yet.
	notNull []int
	checks  []catalog.Check

	indexes []*catalog.Index          // to be built
	changed map[uint32]*catalog.Index // existing ones, as they are to be
	dropped map[uint32]bool           // existing ones that go

	// reshaped: the stored rows change; src are the sources of the columns and lost
	// the columns of the stored rows that go.
	reshaped bool
	src      []columnSource
	lost     map[int]bool
	fills    fills
	creates  []catalog.Change // of sequences
	// gone are objects that go with columns, cascade those of them that read one,
	// and noticed how CASCADE tells of them.
	gone    []catalog.Object
	cascade map[uint32]bool
	// foreign are the foreign keys that the stored rows are to be held against, by
	// name, with their OIDs (0: new), foreignTo those of other tables; others are other
	// tables as they are to be.
	foreign       map[string]uint32
	foreignTo     []catalog.Reference
	others        map[uint32]*catalog.Table
	noticed       []string
	columnRenamed bool
	keyDropped    string // the name of a primary key that goes; columns may be known to depend on it
}

// alterTable runs the actions of an ALTER TABLE that concern its columns and
// constraints.
func (s *Session) alterTable(ctx context.Context, pl *planner.Planner, t *catalog.Table, actions []sql.AlterAction) error {
	a := &alteration{s: s, pl: pl, old: t, t: catalog.Clone(t).(*catalog.Table), changed: map[uint32]*catalog.Index{}, dropped: map[uint32]bool{},
		lost: map[int]bool{}, cascade: map[uint32]bool{}, foreign: map[string]uint32{}, others: map[uint32]*catalog.Table{}}
	for i := range t.Columns {
		a.src = append(a.src, columnSource{old: i})
	}
	a.t.Definition = ""
	a.t.Checks = slices.Clone(t.Checks)
	a.t.Revision++
	actions = slices.Clone(actions)
	slices.SortStableFunc(actions, func(x, y sql.AlterAction) int { return cmp.Compare(alterPass(x.Kind), alterPass(y.Kind)) })
	for i := range actions {
		if err := a.action(&actions[i]); err != nil {
			return err
		}
	}
	if err := s.permit(pl.Cat, pl.Needs); err != nil {
		return err
	}
	return a.apply(ctx)
}

// alterPass orders the actions of a statement as PostgreSQL does: what goes away
// first, then columns, then what is over them.
func alterPass(k sql.AlterKind) int {
	switch k {
	case sql.AlterDropColumn, sql.AlterDropConstraint, sql.AlterDropNotNull, sql.AlterDropDefault:
		return 0
	case sql.AlterColumnType:
		return 1
	case sql.AlterAddColumn:
		return 2
	case sql.AlterAddConstraint:
		return 4
	}
	return 3
}

func (a *alteration) action(x *sql.AlterAction) error {
	switch x.Kind {
	case sql.AlterAddColumn, sql.AlterDropColumn, sql.AlterColumnType, sql.AlterRenameColumn:
		if err := a.rowTypeFree(x.Kind); err != nil {
			return err
		}
	}
	switch x.Kind {
	case sql.AlterAddConstraint:
		return a.addConstraint(x.Constraint)
	case sql.AlterDropConstraint:
		return a.dropConstraint(x)
	case sql.AlterConstraint:
		return a.alterForeign(x)
	case sql.AlterRenameConstraint:
		return a.renameConstraint(x)
	case sql.AlterValidateConstraint:
		return a.validateConstraint(x)
	case sql.AlterAddColumn:
		return a.addColumn(x)
	case sql.AlterDropColumn:
		return a.dropColumn(x)
	case sql.AlterColumnType:
		return a.columnType(x)
	case sql.AlterRenameColumn:
		return a.renameColumn(x)
	case sql.AlterSetNotNull, sql.AlterDropNotNull:
		return a.setNotNull(x)
	case sql.AlterSetDefault, sql.AlterDropDefault:
		return a.setDefault(x)
	case sql.AlterPhysical, sql.AlterSetOptions, sql.AlterResetOptions:
		return a.s.physicalTable(a.t, x)
	}
	return pgerr.Unsupported("this form of ALTER TABLE", "Create a new table and drop the old one.")
}

// column finds a column of the table as it is by now.
func (a *alteration) column(name string) (int, error) {
	if i := catalog.ColumnIndex(a.t.Columns, name); i >= 0 {
		return i, nil
	}
	return 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", name, a.t.Name)
}

func (a *alteration) setDefault(x *sql.AlterAction) error {
	i, err := a.column(x.Column)
	if err != nil {
		return err
	}
	c := &a.t.Columns[i]
	switch {
	case c.Identity != "":
		return pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", c.Name, a.t.Name)
	case c.Generated != "":
		return pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is a generated column", c.Name, a.t.Name)
	}
	c.Default = ""
	if x.Kind == sql.AlterSetDefault {
		if c.Default, err = a.pl.BindDefault(*c, x.Expr); err != nil {
			e := *pgerr.From(err) // PostgreSQL tells no place
			e.Pos, err = 0, &e
		}
	}
	return err
}

func (a *alteration) setNotNull(x *sql.AlterAction) error {
	i, err := a.column(x.Column)
	if err != nil {
		return err
	}
	c := &a.t.Columns[i]
	if x.Kind == sql.AlterSetNotNull {
		if !c.NotNull {
			c.NotNull = true
			a.notNull = append(a.notNull, i)
		}
		return nil
	}
	if c.Identity != "" {
		return pgerr.New(pgerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", c.Name, a.t.Name)
	}
	key := a.t.PrimaryKey != nil && slices.Contains(a.t.PrimaryKey.Columns, i)
	for _, ix := range a.existing() {
		key = key || ix.Primary && slices.Contains(ix.Columns(), i)
	}
	if key {
		return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" is in a primary key", c.Name)
	}
	c.NotNull = false
	return nil
}

// existing returns the indexes of the table that stay, and those that come.
func (a *alteration) existing() []*catalog.Index {
	var out []*catalog.Index
	for _, ix := range a.s.snapshot().Indexes(a.t.OID) {
		if n := a.changed[ix.OID]; n != nil {
			ix = n
		}
		if !a.dropped[ix.OID] {
			out = append(out, ix)
		}
	}
	return append(out, a.indexes...)
}

func (a *alteration) addConstraint(c *sql.Constraint) error {
	if err := a.nameFree(c.Name); err != nil {
		return err
	}
	if (c.Kind == sql.ConCheck || c.Kind == sql.ConForeignKey) && a.constraintIndex(c.Name) != nil {
		return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", c.Name, a.t.Name)
	}
	nullable := a.nullable()
	if c.Index != "" {
		return a.useIndex(c, nullable)
	}
	checks, keys := len(a.t.Checks), len(a.t.ForeignKeys)
	made, err := a.pl.BindConstraint(a.t, a.existing(), c)
	if err != nil {
		return err
	}
	a.indexes = append(a.indexes, made...)
	for _, i := range nullable {
		if a.t.Columns[i].NotNull {
			a.notNull = append(a.notNull, i)
		}
	}
	for _, k := range a.t.Checks[checks:] {
		if !k.NotValid {
			a.checks = append(a.checks, k)
		}
	}
	a.noteForeign(keys)
	return nil
}

// useIndex is ADD CONSTRAINT USING INDEX; nullable are the columns that may hold NULL.
func (a *alteration) useIndex(c *sql.Constraint, nullable []int) error {
	snap := a.s.snapshot()
	ix, err := a.pl.ConstraintOfIndex(a.t, a.existing(), snap.Get(a.t.Schema, c.Index), c)
	if err != nil {
		return err
	}
	if ix.Name != c.Index {
		if snap.Get(a.t.Schema, ix.Name) != nil {
			return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", ix.Name)
		}
		a.s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"%s\" to \"%s\"", c.Index, ix.Name))
	}
	a.changed[ix.OID] = ix
	for _, i := range nullable {
		if a.t.Columns[i].NotNull {
			a.notNull = append(a.notNull, i)
		}
	}
	return nil
}

// noteForeign makes the stored rows be held against the foreign keys behind the
// first n.
func (a *alteration) noteForeign(n int) {
	for _, k := range a.t.ForeignKeys[n:] {
		a.foreign[k.Name] = 0
	}
}

// nullable returns the columns that may hold NULL.
func (a *alteration) nullable() (out []int) {
	for i := range a.t.Columns {
		if !a.t.Columns[i].NotNull {
			out = append(out, i)
		}
	}
	return out
}

// nameFree refuses a constraint's name that another one of the table has.
func (a *alteration) nameFree(name string) error {
	if name == "" {
		return nil
	}
	if slices.ContainsFunc(a.t.Checks, func(k catalog.Check) bool { return k.Name == name }) || a.foreignIndex(name) >= 0 {
		return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", name, a.t.Name)
	}
	if a.t.PrimaryKey != nil && a.t.PrimaryKey.Name == name {
		return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", name)
	}
	return nil
}

// constraintIndex returns the unique constraint of a name, or nil.
func (a *alteration) constraintIndex(name string) *catalog.Index {
	for _, ix := range a.existing() {
		if ix.Constraint && ix.Name == name {
			return ix
		}
	}
	return nil
}

func (a *alteration) dropConstraint(x *sql.AlterAction) error {
	name := x.Column
	if i := slices.IndexFunc(a.t.Checks, func(k catalog.Check) bool { return k.Name == name }); i >= 0 {
		a.t.Checks = slices.Delete(a.t.Checks, i, i+1)
		return nil
	}
	if i := a.foreignIndex(name); i >= 0 {
		a.t.ForeignKeys = slices.Delete(slices.Clone(a.t.ForeignKeys), i, i+1)
		return nil
	}
	what := "constraint " + name + " on table " + a.t.Name
	if ix := a.constraintIndex(name); ix != nil {
		if err := a.needed(ix.OID, x.Cascade, what, "index "+name); err != nil {
			return err
		}
		a.dropped[ix.OID] = true
		if ix.Primary {
			a.keyDropped = name
		}
		return nil
	}
	if a.t.PrimaryKey != nil && a.t.PrimaryKey.Name == name {
		if err := a.needed(a.t.PrimaryKey.OID, x.Cascade, what, "index "+name); err != nil {
			return err
		}
		a.reshape()
		a.t.PrimaryKey, a.keyDropped = nil, name
		return nil
	}
	if x.IfExists {
		a.s.notice("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "constraint \"%s\" of relation \"%s\" does not exist, skipping", name, a.t.Name))
		return nil
	}
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" of relation \"%s\" does not exist", name, a.t.Name)
}

func (a *alteration) renameConstraint(x *sql.AlterAction) error {
	i := slices.IndexFunc(a.t.Checks, func(k catalog.Check) bool { return k.Name == x.Column })
	ix := a.constraintIndex(x.Column)
	key := a.t.PrimaryKey != nil && a.t.PrimaryKey.Name == x.Column
	fk := a.foreignIndex(x.Column)
	if i < 0 && ix == nil && !key && fk < 0 {
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", x.Column, a.t.Name)
	}
	if err := a.nameFree(x.NewName); err != nil {
		return err
	}
	switch {
	case i >= 0:
		if a.constraintIndex(x.NewName) != nil {
			return pgerr.New(pgerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", x.NewName, a.t.Name)
		}
		a.t.Checks[i].Name = x.NewName
	case fk >= 0:
		a.t.ForeignKeys = slices.Clone(a.t.ForeignKeys)
		a.t.ForeignKeys[fk].Name = x.NewName
	case ix != nil:
		n := catalog.Clone(ix).(*catalog.Index)
		n.Name = x.NewName
		a.changed[ix.OID] = n
	default:
		if a.s.snapshot().Get(a.t.Schema, x.NewName) != nil {
			return pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", x.NewName)
		}
		k := *a.t.PrimaryKey
		k.Name = x.NewName
		a.t.PrimaryKey = &k
	}
	return nil
}

func (a *alteration) validateConstraint(x *sql.AlterAction) error {
	i := slices.IndexFunc(a.t.Checks, func(k catalog.Check) bool { return k.Name == x.Column })
	if i >= 0 {
		if a.t.Checks[i].NotValid {
			a.t.Checks[i].NotValid = false
			a.checks = append(a.checks, a.t.Checks[i])
		}
		return nil
	}
	if k := a.foreignIndex(x.Column); k >= 0 {
		if a.t.ForeignKeys[k].NotValid {
			a.t.ForeignKeys = slices.Clone(a.t.ForeignKeys)
			a.t.ForeignKeys[k].NotValid = false
			a.foreign[x.Column] = a.t.ForeignKeys[k].OID
		}
		return nil
	}
	if a.constraintIndex(x.Column) != nil || a.t.PrimaryKey != nil && a.t.PrimaryKey.Name == x.Column {
		return pgerr.New(pgerr.WrongObjectType, "constraint \"%s\" of relation \"%s\" is not a foreign key or check constraint", x.Column, a.t.Name)
	}
	return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" of relation \"%s\" does not exist", x.Column, a.t.Name)
}

// changes are those of the catalog.
func (a *alteration) changes() ([]catalog.Change, error) {
	var out []catalog.Change
	for _, o := range a.gone {
		out = append(out, catalog.Change{Drop: o.Header().OID})
	}
	for _, oid := range sortedKeys(a.dropped) {
		out = append(out, catalog.Change{Drop: oid})
	}
	out = append(out, catalog.Change{Replace: a.t})
	for _, oid := range sortedKeys(a.others) {
		out = append(out, catalog.Change{Replace: a.others[oid]})
	}
	for _, oid := range sortedKeys(a.changed) {
		if !a.dropped[oid] {
			out = append(out, catalog.Change{Replace: a.changed[oid]})
		}
	}
	for _, ix := range a.indexes {
		out = append(out, catalog.Change{Create: ix})
	}
	follow, err := a.follow()
	return append(append(out, a.creates...), follow...), err
}

func sortedKeys[V any](m map[uint32]V) []uint32 {
	return slices.Sorted(func(yield func(uint32) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	})
}
