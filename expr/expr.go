package expr

import "github.com/streamdb/streamdb/types"

// Expr is a bound, typed expression over the columns of one input chunk. Every
// coercion is explicit in the tree; overloads are resolved; names are gone.
// Trees are immutable and may be shared.
type Expr interface {
	// Type returns the type of the result.
	Type() types.T
}

// Col is column Index of the input chunk.
type Col struct {
	Index int
	Typ   types.T
}

// Const is a literal; Val is nil for NULL.
type Const struct {
	Val types.Datum
	Typ types.T
}

// Param is $Index (1-based). It is replaced by a Const before execution.
type Param struct {
	Index int
	Typ   types.T
}

// Outer is a reference to column Index of the row of an enclosing query, Level
// queries up (1: the next one). It exists between binding and decorrelation, and
// inside plan.Apply; elsewhere it is a bug.
type Outer struct {
	Level, Index int
	Typ          types.T
}

// Call applies a function to arguments already coerced to its parameter types.
type Call struct {
	Fn   *Func
	Args []Expr
	Typ  types.T // the result type, modifier and polymorphism resolved
}

// Cast converts Arg to To. Explicit tells a cast written by the user (which
// truncates varchar(n)) from an assignment (which fails).
type Cast struct {
	Arg      Expr
	To       types.T
	Explicit bool
}

// And and Or are n-ary three-valued logic, evaluated left to right; a later
// argument is not evaluated for rows an earlier one decides.
type And struct{ Args []Expr }

// Or: see And.
type Or struct{ Args []Expr }

// Not negates a boolean.
type Not struct{ Arg Expr }

// IsNull tests for NULL; Negate makes it IS NOT NULL.
type IsNull struct {
	Arg    Expr
	Negate bool
}

// IsBool tests IS [NOT] TRUE / FALSE (IS UNKNOWN is IsNull).
type IsBool struct {
	Arg    Expr
	Want   bool
	Negate bool
}

// Distinct is IS DISTINCT FROM; Negate makes it IS NOT DISTINCT FROM. Both sides
// have the same type.
type Distinct struct {
	L, R   Expr
	Negate bool
}

// Case is a searched CASE (a simple one is bound to comparisons). Branches are
// evaluated only for the rows that reach them. Else may be nil (NULL).
type Case struct {
	Whens []When
	Else  Expr
	Typ   types.T
}

// When is one branch of a Case.
type When struct{ Cond, Then Expr }

// Coalesce returns its first non-null argument, evaluating no further.
type Coalesce struct {
	Args []Expr
	Typ  types.T
}

// MinMax is GREATEST (or LEAST), which ignores NULLs.
type MinMax struct {
	Args     []Expr
	Greatest bool
	Typ      types.T
}

// In tests membership of Arg in a list of the same type by SQL equality with
// NULL rules; constant lists are hashed. Negate makes it NOT IN.
type In struct {
	Arg    Expr
	List   []Expr
	Negate bool
}

// AnyAll is Arg Op ANY|ALL (Array): Op is a boolean operator function taking
// (type of Arg, element type).
type AnyAll struct {
	Arg, Array Expr
	Op         *Func
	All        bool
}

// MakeArray builds a one-dimensional array (or stacks arrays when Args are arrays).
type MakeArray struct {
	Args []Expr
	Typ  types.T
}

// MakeRow builds a record. Whole says that it stands for an item of FROM, whose
// row is a value of its own, and not for ROW(...), which comparisons and IS NULL
// take apart.
type MakeRow struct {
	Args  []Expr
	Names []string
	Typ   types.T
	Whole bool
}

// NewRow makes ROW(args...) with the given field names.
func NewRow(args []Expr, names []string) *MakeRow {
	fs := make([]types.RowField, len(args))
	for i, a := range args {
		fs[i] = types.RowField{Name: names[i], Typ: a.Type()}
	}
	return &MakeRow{Args: args, Names: names, Typ: types.RowOf(fs)}
}

// Field takes field Index of a record whose shape the planner knows.
type Field struct {
	Arg   Expr
	Index int
	Typ   types.T
}

func (e *Col) Type() types.T       { return e.Typ }
func (e *Const) Type() types.T     { return e.Typ }
func (e *Param) Type() types.T     { return e.Typ }
func (e *Outer) Type() types.T     { return e.Typ }
func (e *Call) Type() types.T      { return e.Typ }
func (e *Cast) Type() types.T      { return e.To }
func (e *And) Type() types.T       { return types.TBool }
func (e *Or) Type() types.T        { return types.TBool }
func (e *Not) Type() types.T       { return types.TBool }
func (e *IsNull) Type() types.T    { return types.TBool }
func (e *IsBool) Type() types.T    { return types.TBool }
func (e *Distinct) Type() types.T  { return types.TBool }
func (e *Case) Type() types.T      { return e.Typ }
func (e *Coalesce) Type() types.T  { return e.Typ }
func (e *MinMax) Type() types.T    { return e.Typ }
func (e *In) Type() types.T        { return types.TBool }
func (e *AnyAll) Type() types.T    { return types.TBool }
func (e *MakeArray) Type() types.T { return e.Typ }
func (e *MakeRow) Type() types.T   { return e.Typ }
func (e *Field) Type() types.T     { return e.Typ }
