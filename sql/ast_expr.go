package sql

// LitKind is the kind of a literal.
type LitKind uint8

// The kinds of literals.
const (
	LitNull   LitKind = iota
	LitBool           // Text is "true" or "false"
	LitInt            // decimal digits, of any length
	LitFloat          // digits with a point or exponent
	LitString         // the string's value, escapes resolved; its type is unknown
	LitBit            // B'0101': Text is 0101
	LitHex            // X'1F': Text is 1F
)

// Literal is a constant. As in PostgreSQL, a minus directly before a number is
// part of it, so Text may begin with -.
type Literal struct {
	At
	Kind LitKind
	Text string
}

// ColumnRef is a, t.a, s.t.a, or with Star *, t.*. Parts may be empty only with
// Star.
type ColumnRef struct {
	At
	Parts []string
	Star  bool
	Value bool // VALUE in the check of a domain
}

// Param is $N, from 1.
type Param struct {
	At
	N int
}

// OpExpr is an operator call; Left is nil for prefix operators. Schema is set
// by OPERATOR(schema.op).
type OpExpr struct {
	At
	Schema, Op  string
	Left, Right Expr
}

// BoolExpr is AND or OR over two or more arguments; chains are flat.
type BoolExpr struct {
	At
	Or   bool
	Args []Expr
}

// NotExpr is NOT Arg.
type NotExpr struct {
	At
	Arg Expr
}

// TestKind is what an IS test asks for.
type TestKind uint8

// The IS tests.
const (
	TestNull TestKind = iota
	TestTrue
	TestFalse
	TestUnknown
)

// IsTest is Arg IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
type IsTest struct {
	At
	Arg  Expr
	Kind TestKind
	Not  bool
}

// DistinctFrom is Left IS DISTINCT FROM Right, or with Not, IS NOT.
type DistinctFrom struct {
	At
	Left, Right Expr
	Not         bool
}

// Between is Arg [NOT] BETWEEN [SYMMETRIC] Low AND High.
type Between struct {
	At
	Arg, Low, High Expr
	Not, Symmetric bool
}

// InList is Arg [NOT] IN (List...).
type InList struct {
	At
	Arg  Expr
	List []Expr
	Not  bool
}

// InSubquery is Arg [NOT] IN (Query). A row on the left is a *RowExpr.
type InSubquery struct {
	At
	Arg   Expr
	Query *Select
	Not   bool
}

// LikeKind is the kind of a pattern match.
type LikeKind uint8

// The pattern matches.
const (
	Like LikeKind = iota
	ILike
	Similar
)

// LikeExpr is Arg [NOT] LIKE, ILIKE or SIMILAR TO Pattern [ESCAPE Escape].
type LikeExpr struct {
	At
	Kind                 LikeKind
	Arg, Pattern, Escape Expr
	Not                  bool
}

// QuantExpr is Arg op ANY or ALL (Array), or (Query): one of the two is set.
type QuantExpr struct {
	At
	Arg        Expr
	Schema, Op string
	All        bool
	Array      Expr
	Query      *Select
}

// ExistsExpr is EXISTS (Query).
type ExistsExpr struct {
	At
	Query *Select
}

// SubqueryExpr is a scalar (or row) subquery.
type SubqueryExpr struct {
	At
	Query *Select
}

// ArraySubquery is ARRAY(Query).
type ArraySubquery struct {
	At
	Query *Select
}

// ArrayExpr is ARRAY[Elems...]; nested brackets are nested ArrayExprs.
type ArrayExpr struct {
	At
	Elems []Expr
}

// RowExpr is ROW(Fields...), or without Explicit (a, b).
type RowExpr struct {
	At
	Fields   []Expr
	Explicit bool
}

// When is one arm of CASE.
type When struct{ Cond, Then Expr }

// CaseExpr is CASE [Arg] WHEN ... THEN ... [ELSE Else] END.
type CaseExpr struct {
	At
	Arg   Expr
	Whens []When
	Else  Expr
}

// CoalesceExpr is COALESCE(Args...).
type CoalesceExpr struct {
	At
	Args []Expr
}

// NullIf is NULLIF(Left, Right).
type NullIf struct {
	At
	Left, Right Expr
}

// MinMax is GREATEST(Args...), or with Least LEAST(Args...).
type MinMax struct {
	At
	Least bool
	Args  []Expr
}

// Arg is an argument of a function; Name is set by name => value.
type Arg struct {
	Name  string
	Value Expr
}

// FuncCall is a call of a function, aggregate or window function. EXTRACT,
// OVERLAY, POSITION, SUBSTRING ... FROM, TRIM and AT TIME ZONE arrive as calls
// of pg_catalog's extract, overlay, position, substring, btrim, ltrim, rtrim and
// timezone with SQLSyntax set.
type FuncCall struct {
	At
	Schema, Name string
	Args         []Arg
	// Star is f(*); Distinct f(DISTINCT ...); Variadic marks the last argument.
	Star, Distinct, Variadic bool
	OrderBy                  []SortItem
	// WithinGroup says that OrderBy came from WITHIN GROUP (ORDER BY ...).
	WithinGroup bool
	Filter      Expr
	Over        *WindowSpec
	SQLSyntax   bool
}

// Cast is CAST(Arg AS Type) and Arg::Type.
type Cast struct {
	At
	Arg  Expr
	Type *TypeName
}

// Index is one [i] or, with Slice, one [lower:upper] whose bounds may be nil.
type Index struct {
	Slice        bool
	Lower, Upper Expr // without Slice the index is Upper
}

// Subscript is Arg[...][...].
type Subscript struct {
	At
	Arg     Expr
	Indexes []Index
}

// FieldSelect is (Arg).Field, or with Star (Arg).*.
type FieldSelect struct {
	At
	Arg   Expr
	Field string
	Star  bool
}

// Collate is Arg COLLATE Collation.
type Collate struct {
	At
	Arg       Expr
	Collation Name
}

// SQLValue is CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP, LOCALTIME,
// LOCALTIMESTAMP, CURRENT_USER, CURRENT_ROLE, SESSION_USER, USER,
// CURRENT_CATALOG or CURRENT_SCHEMA; Func is in lower case. Precision is -1
// where none is given.
type SQLValue struct {
	At
	Func      string
	Precision int32
}

// Grouping is GROUPING(Args...).
type Grouping struct {
	At
	Args []Expr
}

// DefaultExpr is DEFAULT as a value of INSERT or UPDATE.
type DefaultExpr struct{ At }

// CurrentOf is WHERE CURRENT OF cursor.
type CurrentOf struct {
	At
	Cursor string
}

func (*Literal) exprNode()       {}
func (*ColumnRef) exprNode()     {}
func (*Param) exprNode()         {}
func (*OpExpr) exprNode()        {}
func (*BoolExpr) exprNode()      {}
func (*NotExpr) exprNode()       {}
func (*IsTest) exprNode()        {}
func (*DistinctFrom) exprNode()  {}
func (*Between) exprNode()       {}
func (*InList) exprNode()        {}
func (*InSubquery) exprNode()    {}
func (*LikeExpr) exprNode()      {}
func (*QuantExpr) exprNode()     {}
func (*ExistsExpr) exprNode()    {}
func (*SubqueryExpr) exprNode()  {}
func (*ArraySubquery) exprNode() {}
func (*ArrayExpr) exprNode()     {}
func (*RowExpr) exprNode()       {}
func (*CaseExpr) exprNode()      {}
func (*CoalesceExpr) exprNode()  {}
func (*NullIf) exprNode()        {}
func (*MinMax) exprNode()        {}
func (*FuncCall) exprNode()      {}
func (*Cast) exprNode()          {}
func (*Subscript) exprNode()     {}
func (*FieldSelect) exprNode()   {}
func (*Collate) exprNode()       {}
func (*SQLValue) exprNode()      {}
func (*Grouping) exprNode()      {}
func (*DefaultExpr) exprNode()   {}
func (*CurrentOf) exprNode()     {}
