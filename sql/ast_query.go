package sql

// SetOp is a set operation.
type SetOp uint8

// The set operations. A Select with SetNone is a leaf: SELECT or VALUES.
const (
	SetNone SetOp = iota
	Union
	Intersect
	Except
)

// Select is a query: a SELECT, a VALUES list (Values is not nil), or a set
// operation over Left and Right (Op is not SetNone). With, OrderBy, Limit,
// Skip and Locks belong to each of the three.
type Select struct {
	At
	With *With

	Distinct      bool   // DISTINCT, also with DistinctOn
	DistinctOn    []Expr // DISTINCT ON (...)
	Targets       []Target
	From          []TableExpr // a comma list
	Where         Expr
	GroupBy       []GroupItem
	GroupDistinct bool // GROUP BY DISTINCT
	Having        Expr
	Windows       []WindowDef

	Values [][]Expr // rows; DEFAULT is a *DefaultExpr

	Op          SetOp
	All         bool
	Left, Right *Select

	OrderBy []SortItem
	// Limit and Skip (OFFSET) are nil where absent, as for LIMIT ALL. WithTies
	// is FETCH FIRST ... WITH TIES.
	Limit, Skip Expr
	WithTies    bool
	Locks       []Lock
}

// Target is an output column. Alias is empty without AS.
type Target struct {
	At
	Expr  Expr
	Alias string
}

// With is a WITH clause.
type With struct {
	At
	Recursive bool
	CTEs      []CTE
}

// Materialize is the hint of a CTE.
type Materialize uint8

// The hints of a CTE.
const (
	MaterializeDefault Materialize = iota
	MaterializeAlways
	MaterializeNever
)

// CTE is one query of a WITH clause; Query is a *Select, *Insert, *Update or
// *Delete.
type CTE struct {
	At
	Name    string
	Columns []string
	Query   Stmt
	Hint    Materialize
	Search  *Search // nil: none
	Cycle   *Cycle  // nil: none
}

// Search is SEARCH DEPTH or BREADTH FIRST BY Columns SET Set.
type Search struct {
	At
	Breadth bool
	Columns []string
	Set     string
}

// Cycle is CYCLE Columns SET Mark TO Value DEFAULT Default USING Path; the values are
// constants, true and false where none are written.
type Cycle struct {
	At
	Columns        []string
	Mark           string
	Value, Default Expr
	Path           string
}

// GroupKind is the kind of an item of GROUP BY.
type GroupKind uint8

// The kinds of grouping items.
const (
	GroupExpr   GroupKind = iota // Expr; inside ROLLUP and CUBE a *RowExpr is a composite column
	GroupEmpty                   // ()
	GroupRollup                  // ROLLUP (Items)
	GroupCube                    // CUBE (Items)
	GroupSets                    // GROUPING SETS (Items)
)

// GroupItem is an item of GROUP BY.
type GroupItem struct {
	At
	Kind  GroupKind
	Expr  Expr
	Items []GroupItem
}

// Nulls says where NULLs sort.
type Nulls uint8

// The places of NULLs; by default last for ascending, first for descending.
const (
	NullsDefault Nulls = iota
	NullsFirst
	NullsLast
)

// SortItem is an item of ORDER BY. Using is the operator of USING op.
type SortItem struct {
	At
	Expr               Expr
	Desc               bool
	Asc                bool // ASC was written
	Nulls              Nulls
	UsingSchema, Using string
}

// Lock is a locking clause: Strength is "UPDATE", "NO KEY UPDATE", "SHARE" or
// "KEY SHARE"; Wait is "", "NOWAIT" or "SKIP LOCKED".
type Lock struct {
	Strength string
	Tables   []Name
	Wait     string
}

// WindowDef is WINDOW Name AS (Spec).
type WindowDef struct {
	Name string
	Spec *WindowSpec
}

// WindowSpec is a window. OVER w has Name alone; OVER (w ORDER BY ...) has the
// base window in Ref.
type WindowSpec struct {
	At
	Name, Ref   string
	PartitionBy []Expr
	OrderBy     []SortItem
	Frame       *Frame // nil: the default frame
}

// FrameMode is the unit of a frame.
type FrameMode uint8

// The frame modes.
const (
	FrameRange FrameMode = iota
	FrameRows
	FrameGroups
)

// BoundKind is the kind of a frame's end.
type BoundKind uint8

// The bounds of a frame.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// Bound is one end of a frame; Offset is set for the two offset kinds.
type Bound struct {
	Kind   BoundKind
	Offset Expr
}

// FrameExclude is a frame's EXCLUDE clause.
type FrameExclude uint8

// The exclusions of a frame.
const (
	ExcludeNone FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// Frame is a window's frame; without BETWEEN, End is the current row.
type Frame struct {
	Mode       FrameMode
	Start, End Bound
	Exclude    FrameExclude
}

// TableRef is a named relation. AsOf is set by FOR SYSTEM_TIME AS OF.
type TableRef struct {
	At
	Name  Name
	Only  bool
	Alias *Alias
	AsOf  Expr
	// Sample is TABLESAMPLE; nil: all rows.
	Sample *Sample
}

// Sample is TABLESAMPLE method (args) [REPEATABLE (seed)].
type Sample struct {
	At
	Method     Name
	Args       []Expr
	Repeatable Expr
}

// SubqueryTable is (Query) AS alias.
type SubqueryTable struct {
	At
	Query   *Select
	Lateral bool
	Alias   *Alias
}

// TableFunc is one function of a FuncTable; Call is a *FuncCall or *SQLValue or
// another function-like expression. Columns is its column definition list.
type TableFunc struct {
	Call    Expr
	Columns []ColumnDef
}

// FuncTable is a function in FROM, or with RowsFrom ROWS FROM (f(), g()). A
// column definition list after the alias is Columns of the single function.
type FuncTable struct {
	At
	Funcs      []TableFunc
	RowsFrom   bool
	Ordinality bool
	Lateral    bool
	Alias      *Alias
}

// WindowKind is the kind of a window table function.
type WindowKind uint8

// The window table functions.
const (
	Tumble   WindowKind = iota // Args: size[, offset]
	Hop                        // Args: slide, size[, offset]
	Cumulate                   // Args: step, size[, offset]
	Session                    // Args: gap
)

// WindowTable is TUMBLE, HOP, CUMULATE or SESSION (Table, Time, Args...). Table
// is a *TableRef or *SubqueryTable without alias.
type WindowTable struct {
	At
	Kind        WindowKind
	Table       TableExpr
	Time        *ColumnRef
	PartitionBy []Expr // SESSION's keys, from PARTITION BY
	Args        []Expr
	Alias       *Alias
}

// JoinKind is the kind of a join.
type JoinKind uint8

// The joins. A cross join is an InnerJoin without condition.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
)

// JoinTable is a join. At most one of Natural, Using and On is set; none: a
// cross join. Alias is that of a parenthesised join.
type JoinTable struct {
	At
	Kind        JoinKind
	Left, Right TableExpr
	Natural     bool
	Using       []string
	UsingAlias  string
	On          Expr
	Alias       *Alias
}

func (*TableRef) tableNode()      {}
func (*SubqueryTable) tableNode() {}
func (*FuncTable) tableNode()     {}
func (*WindowTable) tableNode()   {}
func (*JoinTable) tableNode()     {}

func (*Select) stmtNode() {}
