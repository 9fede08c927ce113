package sql

// OptionKind is the kind of an option's value.
type OptionKind uint8

// The kinds of option values.
const (
	OptNone   OptionKind = iota // no value: the bare name
	OptString                   // 'text'
	OptNumber                   // 1, -2.5
	OptWord                     // true, json, a name
	OptSecret                   // SECRET name
	OptList                     // (a, b): Value holds the names joined by commas
)

// Option is name = value in WITH (...), ENCODE x (...), COPY's and EXPLAIN's
// options. Name is in lower case unless quoted, dots kept. A secret's Value is
// its name.
type Option struct {
	At
	Name  string
	Kind  OptionKind
	Value string
}

// ColumnClash is what is wrong with the constraints of a column: What, before "for
// column", at the place of the constraint that makes it so.
type ColumnClash struct {
	At
	What string
}

// ColumnDef is a column of CREATE TABLE, CREATE SOURCE or a column definition
// list. Type is nil only where the statement allows it (CREATE SINK's list).
type ColumnDef struct {
	At
	Name       string
	Type       *TypeName
	Path       *Path // PATH '$.a.b'
	Collation  *Name
	NotNull    bool
	Null       bool         // NULL was written
	Clash      *ColumnClash // two constraints that exclude one another
	Keys       []Constraint // PRIMARY KEY and UNIQUE, without columns
	Default    Expr
	Generated  Expr             // GENERATED ALWAYS AS (expr) STORED, or AS expr
	Identity   string           // "", "ALWAYS" or "BY DEFAULT"
	Sequence   []SequenceOption // of the identity
	Checks     []Constraint
	References []Constraint
}

// Path is the PATH 'text' of a source's column: where in a record its value is.
type Path struct {
	At
	Text string
}

// ConstraintKind is the kind of a constraint.
type ConstraintKind uint8

// The constraints.
const (
	ConPrimaryKey ConstraintKind = iota
	ConUnique
	ConCheck
	ConForeignKey
	ConExclude
)

// Constraint is a table constraint, or a CHECK or REFERENCES of a column.
type Constraint struct {
	At
	Kind       ConstraintKind
	Name       string
	Columns    []string // key columns; of a column's REFERENCES empty
	Check      Expr
	RefTable   Name
	RefColumns []string
	// OnDelete and OnUpdate are "", "RESTRICT", "CASCADE", "SET NULL" or "SET
	// DEFAULT"; empty also for NO ACTION.
	OnDelete, OnUpdate string
	SetColumns         []string // of ON DELETE SET NULL (columns); nil: all
	MatchFull          bool     // of a foreign key
	Deferrable         bool
	Deferred           bool // INITIALLY DEFERRED
	NullsNotDistinct   bool
	Include            []string // of a key: columns that its index holds besides
	NotValid           bool     // existing rows are not to be checked
	Index              string   // of a key: USING INDEX, instead of Columns
}

// IsPrimaryKey reports whether the column is by itself the primary key.
func (c *ColumnDef) IsPrimaryKey() bool {
	for i := range c.Keys {
		if c.Keys[i].Kind == ConPrimaryKey {
			return true
		}
	}
	return false
}

// Watermark is WATERMARK FOR Column AS Expr; Expr nil: the column itself.
type Watermark struct {
	At
	Column string
	Expr   Expr
}

// LikeTable is an element LIKE table of CREATE TABLE; All is INCLUDING ALL,
// Options the bits of the single INCLUDING clauses.
type LikeTable struct {
	At
	Table   Name
	Options uint32
}

// Include is INCLUDE What ['Inner'] [Type] [AS As]; What is in lower case: key,
// partition, offset, timestamp, header, headers, payload.
type Include struct {
	At
	What  string
	Inner string
	Type  *TypeName
	As    string
}

// FormatSpec is FORMAT Format (...) ENCODE Encode (...) [KEY ENCODE KeyEncode
// (...)]; the words are in lower case.
type FormatSpec struct {
	At
	Format        string
	FormatOptions []Option
	Encode        string
	EncodeOptions []Option
	KeyEncode     string
	KeyOptions    []Option
}

// RelationDef is what CREATE TABLE and CREATE SOURCE share.
type RelationDef struct {
	Columns     []ColumnDef
	Wildcard    bool // * in the column list: take the rest from the schema registry
	Constraints []Constraint
	Watermarks  []Watermark
	Includes    []Include
	AppendOnly  bool
	OnConflict  string // "", "overwrite", "ignore", "do update if not null"
	Options     []Option
	Format      *FormatSpec
	// FromSource and FromTable are FROM source [TABLE 'name'] of a table fed by a
	// shared change stream.
	FromSource *Name
	FromTable  string
}

// CreateTable is CREATE TABLE, and with Query CREATE TABLE AS.
type CreateTable struct {
	At
	Name        Name
	OrReplace   bool
	IfNotExists bool
	Temp        bool
	Unlogged    bool
	RelationDef
	Like []LikeTable
	// OnCommit is "", "PRESERVE ROWS", "DELETE ROWS" or "DROP".
	OnCommit string
	// Query or Execute, ColumnNames and NoData belong to CREATE TABLE AS.
	Query       *Select
	Execute     *Execute
	ColumnNames []string
	NoData      bool
}

// CreateSource is CREATE SOURCE.
type CreateSource struct {
	At
	Name        Name
	OrReplace   bool
	IfNotExists bool
	Temp        bool
	RelationDef
}

// CreateMaterializedView is CREATE MATERIALIZED VIEW.
type CreateMaterializedView struct {
	At
	Name        Name
	OrReplace   bool
	IfNotExists bool
	Columns     []string
	Options     []Option
	Query       *Select
	// QueryText is the query as written.
	QueryText string
	// EmitOnWindowClose is EMIT ON WINDOW CLOSE.
	EmitOnWindowClose bool
	NoData            bool
}

// CreateView is CREATE VIEW.
type CreateView struct {
	At
	Name      Name
	OrReplace bool
	Temp      bool
	Columns   []string
	Options   []Option
	Query     *Select
	QueryText string
	// CheckOption is "", "LOCAL" or "CASCADED".
	CheckOption string
}

// CreateSink is CREATE SINK name FROM relation, or AS query.
type CreateSink struct {
	At
	Name        Name
	OrReplace   bool
	IfNotExists bool
	Into        *Name // INTO table (columns)
	Columns     []string
	From        *Name
	Query       *Select
	QueryText   string
	Options     []Option
	Format      *FormatSpec
}

// CreateIndex is CREATE INDEX. Name is empty where the server chooses it.
type CreateIndex struct {
	At
	Name             string
	IfNotExists      bool
	Unique           bool
	Concurrently     bool
	Table            Name
	Method           string // "btree" by default
	Columns          []IndexColumn
	Include          []string
	Where            Expr
	Options          []Option
	NullsNotDistinct bool
}

// IndexColumn is a key of an index: Sort.Expr is a *ColumnRef or an expression.
type IndexColumn struct {
	Sort      SortItem
	Collation *Name
	OpClass   *Name
}

// CreateSchema is CREATE SCHEMA. Authorization may stand for the name.
type CreateSchema struct {
	At
	Name          string
	IfNotExists   bool
	Authorization *RoleSpec
	// Elements are the objects to make in it, and grants on them.
	Elements []Stmt
}

// FuncParam is a parameter of CREATE FUNCTION. Mode is "in", "out", "inout",
// "variadic" or "table".
type FuncParam struct {
	Name    string
	Mode    string
	Type    *TypeName
	Default Expr
}

// CreateType is CREATE TYPE: with Enum AS ENUM (Labels), with Range AS RANGE
// (Attributes), else AS (Fields).
type CreateType struct {
	At
	Name   Name
	Enum   bool
	Labels []string
	Fields []ColumnDef
	Range  bool
	// Attributes have values that are written as names of types; nil: something else.
	Attributes []TypeAttribute
}

// TypeAttribute is an attribute of CREATE TYPE ... AS RANGE.
type TypeAttribute struct {
	At
	Name  string
	Value *TypeName
}

// AlterEnum is ALTER TYPE ... ADD VALUE New [BEFORE | AFTER Neighbour], or with
// Old ALTER TYPE ... RENAME VALUE Old TO New.
type AlterEnum struct {
	At
	Name        Name
	Old, New    string
	Neighbour   string
	After       bool
	IfNotExists bool
}

// CreateFunction is CREATE FUNCTION, or with Procedure CREATE PROCEDURE. Body
// is the text of AS, nil without one; Return is that of RETURN expr, and Query the
// only statement of BEGIN ATOMIC. Language is empty where none is given.
type CreateFunction struct {
	At
	Name       Name
	OrReplace  bool
	Procedure  bool
	Params     []FuncParam
	Returns    *TypeName
	Language   string
	Volatility string // "", "immutable", "stable", "volatile"
	Strict     bool
	Definer    bool // SECURITY DEFINER
	Body       *string
	Return     Expr
	Query      *Select
}

// CreateSecret is CREATE SECRET name WITH (...) AS 'value'.
type CreateSecret struct {
	At
	Name        Name
	IfNotExists bool
	Options     []Option
	Value       string
}

// CreateConnection is CREATE CONNECTION name WITH (...).
type CreateConnection struct {
	At
	Name        Name
	IfNotExists bool
	Options     []Option
}

// DropTarget is one object of DROP. Args are the argument types of a function;
// HasArgs tells f() from f.
type DropTarget struct {
	Name    Name
	HasArgs bool
	Args    []*TypeName
}

// Drop is DROP Kind targets. Kind is in lower case: table, view, materialized
// view, source, sink, index, schema, function, secret, connection, and
// PostgreSQL's other kinds.
type Drop struct {
	At
	Kind         string
	Targets      []DropTarget
	IfExists     bool
	Cascade      bool
	Concurrently bool
}

// AlterKind is the kind of an ALTER action.
type AlterKind uint8

// The actions of ALTER.
const (
	AlterRename             AlterKind = iota // RENAME TO NewName
	AlterRenameColumn                        // RENAME COLUMN Column TO NewName
	AlterRenameConstraint                    // RENAME CONSTRAINT Column TO NewName
	AlterSetSchema                           // SET SCHEMA NewName
	AlterOwner                               // OWNER TO Role
	AlterAddColumn                           // ADD COLUMN Def
	AlterDropColumn                          // DROP COLUMN Column
	AlterColumnType                          // ALTER COLUMN Column TYPE Type [USING Expr]
	AlterSetDefault                          // ALTER COLUMN Column SET DEFAULT Expr
	AlterDropDefault                         // ALTER COLUMN Column DROP DEFAULT
	AlterSetNotNull                          // ALTER COLUMN Column SET NOT NULL
	AlterDropNotNull                         // ALTER COLUMN Column DROP NOT NULL
	AlterSetOptions                          // SET (Options)
	AlterResetOptions                        // RESET (Options)
	AlterAddConstraint                       // ADD Constraint
	AlterDropConstraint                      // DROP CONSTRAINT Column
	AlterValidateConstraint                  // VALIDATE CONSTRAINT Column
	AlterConstraint                          // ALTER CONSTRAINT Column DEFERRABLE, as Constraint says
	AlterAddIdentity                         // ALTER COLUMN Column ADD GENERATED NewName AS IDENTITY (Sequence)
	AlterSetIdentity                         // ALTER COLUMN Column with Sequence
	AlterDropIdentity                        // ALTER COLUMN Column DROP IDENTITY
	AlterResume                              // RESUME
	AlterPhysical                            // What, of which no result depends
	AlterOther                               // a tail of our own, as text in Text
)

// AlterAction is one action of ALTER.
type AlterAction struct {
	At
	Kind        AlterKind
	Column      string
	NewName     string
	Role        *RoleSpec
	Def         *ColumnDef
	Type        *TypeName
	Expr        Expr
	Constraint  *Constraint
	Options     []Option
	Sequence    []SequenceOption
	IfExists    bool // DROP COLUMN IF EXISTS
	IfNotExists bool // ADD COLUMN IF NOT EXISTS
	Cascade     bool
	Text        string
	// What is a word for an AlterPhysical: statistics, storage, compression, set or
	// reset (of column options), cluster, logged, unlogged, identity. NewName is the
	// value, Column may be the number of an index's column.
	What string
}

// Alter is ALTER Kind Name actions; Kind as in Drop. Target has the argument types of
// a function beside its name.
type Alter struct {
	At
	Kind     string
	Name     Name
	Target   DropTarget
	IfExists bool
	Actions  []AlterAction
}

func (*CreateTable) stmtNode()            {}
func (*CreateSource) stmtNode()           {}
func (*CreateMaterializedView) stmtNode() {}
func (*CreateView) stmtNode()             {}
func (*CreateSink) stmtNode()             {}
func (*CreateIndex) stmtNode()            {}
func (*CreateSchema) stmtNode()           {}
func (*CreateFunction) stmtNode()         {}
func (*CreateType) stmtNode()             {}
func (*AlterEnum) stmtNode()              {}
func (*CreateSecret) stmtNode()           {}
func (*CreateConnection) stmtNode()       {}
func (*Drop) stmtNode()                   {}
func (*Alter) stmtNode()                  {}
