package sql

import "github.com/streamdb/streamdb/pgerr"

// At carries the place of a node: the byte offset of its first (for operators:
// of the operator's) token in the whole text given to Parse. Nodes made by a
// rewrite may have NoPos.
type At struct{ Pos int32 }

// NoPos is the Pos of a node that stands nowhere in the text.
const NoPos int32 = -1

// Offset returns the byte offset of the node, or NoPos.
func (a At) Offset() int32 { return a.Pos }

// Node is any part of the tree that has a place in the text.
type Node interface{ Offset() int32 }

// Stmt is a statement.
type Stmt interface {
	Node
	stmtNode()
}

// Expr is a scalar expression.
type Expr interface {
	Node
	exprNode()
}

// TableExpr is an item of a FROM clause.
type TableExpr interface {
	Node
	tableNode()
}

// Name is an object name with up to two qualifiers, folded to lower case where
// it was not quoted.
type Name struct {
	At
	Catalog, Schema, Name string
}

// Alias is AS name (columns...).
type Alias struct {
	Name    string
	Columns []string
}

// TypeName names a type. PostgreSQL's keywords arrive as their catalog names:
// int is pg_catalog.int4, varchar(5) is pg_catalog.varchar with Mods [5].
type TypeName struct {
	At
	Schema, Name string
	// Mods are the modifiers: numeric(10,2) has [10 2]. For interval they hold
	// the precision alone, the fields are in Interval.
	Mods []int32
	// Interval restricts an interval's fields; empty: all. In upper case, as
	// "YEAR", "DAY TO SECOND".
	Interval string
	// Dims is the number of array dimensions written; 0: not an array.
	Dims  int
	SetOf bool
	// PctType is set for name%TYPE.
	PctType bool
	// Fields are those of STRUCT<name type, ...>; Name is then "struct".
	Fields []StructField
}

// StructField is one field of a STRUCT<...> type.
type StructField struct {
	Name string
	Type *TypeName
}

// Parsed is one statement of a query text.
type Parsed struct {
	Stmt Stmt
	// Text is the statement's own text, without the semicolon and without white
	// space and comments around it; Start and End are its byte offsets in the
	// whole text.
	Text       string
	Start, End int
	// NumParams is the highest n of the $n in it.
	NumParams int
	// Far are the names in it that begin with the name of a database.
	Far []FarName
	// unnamed is the error of a subquery in FROM without an alias.
	unnamed *pgerr.Error
}

// FarName is the parts of a name that begins with the name of a database, and what
// it is the name of.
type FarName struct {
	At
	Parts []string
	Of    FarKind
}

// FarKind is what a FarName is the name of.
type FarKind uint8

// The kinds of far names.
const (
	FarObject FarKind = iota // a relation, or the target of a statement
	FarFunction
	FarType
	FarColumn
)
