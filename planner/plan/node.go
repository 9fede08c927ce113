package plan

import (
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/types"
)

// Column is a named, typed column of a node's output.
type Column struct {
	Name string
	Typ  types.T
	From Origin
}

// Origin is the column of a relation that an output column is, as clients are told
// who edit what they see; zero: of none.
type Origin struct {
	Rel  uint32
	Attr int16 // attribute number
}

// Props are what is known of a node's output as a stream.
type Props struct {
	// AppendOnly: no row is ever taken away.
	AppendOnly bool
	// Keys are column sets that are unique at every epoch's end, smallest first.
	// An empty set means at most one row.
	Keys [][]int
}

// Node is a relational operator with its inputs.
type Node interface {
	Schema() []Column
	Props() Props
	Children() []Node
}

// RelKind tells where a Scan reads.
type RelKind uint8

// The kinds of relations.
const (
	RelTable   RelKind = iota // rows stored by DML
	RelView                   // a materialized view's stored rows
	RelSource                 // a connector; in one-off plans what it holds at the moment
	RelVirtual                // a catalog table, computed when scanned
	RelGiven                  // rows that a part of the statement made; Rel counts these
)

// Scan reads a relation. Cols are the relation's column positions read, in
// order; they are the output columns.
type Scan struct {
	Rel  uint32 // catalog object id (its OID)
	Name string
	Kind RelKind
	Cols []int
	// Numbers are the attnums of the relation's columns, by position; nil: position
	// plus one.
	Numbers []int
	Out     []Column
	P       Props
	// Prefix holds constant values (or Params) for leading storage-key columns,
	// and Lo/Hi inclusive bounds for the key column after them, when the filter
	// above allows a point or range read. The filter stays above.
	Prefix []expr.Expr
	Lo, Hi expr.Expr
	// Index is the OID of an index to read by instead of the primary key; 0: none.
	Index uint32
	Pos   int // position of the name in the query text, for errors
	// Made makes the rows of a RelGiven that no part of the statement has made yet.
	Made *Made
}

// Made are rows that are computed once for all that read them in a statement.
type Made struct{ Root Node }

// Upsert reads a source whose records are the present rows of keys: a row of
// weight +1 replaces that of its key, one of weight -1 tells that the key is gone.
// Its output is the last rows, as ordinary changes.
type Upsert struct {
	Input Node
	Key   []int
	// Keep: values that are connector.Unavailable stand for what the row had.
	Keep bool
}

// Values is a constant relation. No rows and no columns is legal; one row without
// columns is what SELECT without FROM reads.
type Values struct {
	Rows [][]expr.Expr
	Out  []Column
}

// Clock is one row of expressions over the current time, which changes with the
// epochs of a stream: at the end of each, the row is taken back and the new one is
// added if they differ. In one-off queries the time is the statement's.
type Clock struct {
	Exprs []expr.Expr
	Out   []Column
}

// TableFunc is a set-returning function in FROM, with arguments that are constant
// (or, under Apply, outer references).
type TableFunc struct {
	Fn         *expr.Func
	Args       []expr.Expr
	Ordinality bool
	Out        []Column
}

// Filter keeps rows whose Cond is true.
type Filter struct {
	Input Node
	Cond  expr.Expr
}

// Project computes one expression an output column.
type Project struct {
	Input Node
	Exprs []expr.Expr
	Out   []Column
}

// ProjectSet is a Project in which some top-level expressions are calls of
// set-returning functions; a row yields as many rows as the longest of them,
// shorter ones padded with NULL.
type ProjectSet struct {
	Input Node
	Exprs []expr.Expr
	Out   []Column
}

// JoinKind is a kind of join.
type JoinKind uint8

// The kinds of joins. Semi and Anti output the left columns. NullAnti is NOT IN:
// as Anti, but NULLs on either side make the test unknown, which is not true.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
	NullAnti
)

// Join matches rows by equal keys (column positions in either input) and then by
// Residual, over the left columns followed by the right. No keys: a nested loop.
// NullSafe[i] makes key i match NULL with NULL.
type Join struct {
	Kind                JoinKind
	Left, Right         Node
	LeftKeys, RightKeys []int
	NullSafe            []bool
	Residual            expr.Expr // nil: none
	Lookup              *Lookup   // nil: the join keeps the rows of both sides
}

// Lookup makes a streaming join read the rows of one side from storage, where a
// relation or an index has them in the order of the join's keys, instead of
// keeping them. The side is a Scan under filters, column projections and at most
// one Exchange.
type Lookup struct {
	Side  int    // 0: left, 1: right
	Rel   uint32 // the relation, or the index, whose storage is read
	Form  StoredForm
	Whole bool // the keys are the whole of a unique storage key
	// Keys are the join's keys (positions in LeftKeys and RightKeys) in the order
	// of the storage key, of which they are the first ones.
	Keys []int
	// Stored are the types of the stored columns, Cols those read of them, Cond
	// what rows must fulfil, over Cols, or nil, and Out the columns of the side, as
	// positions in Cols.
	Stored []types.T
	Cols   []int
	Cond   expr.Expr
	Out    []int
	Name   string // of Rel, for messages
}

// StoredForm is how storage has the rows of a relation or an index.
type StoredForm uint8

// The forms of stored rows.
const (
	Keyed   StoredForm = iota // key -> row
	Bag                       // row -> count
	Ordered                   // key of an index and row -> count
)

// StoredScan returns the scan of the side that is read from storage.
func (j *Join) StoredScan() *Scan {
	n := j.Children()[j.Lookup.Side]
	for {
		s, ok := n.(*Scan)
		if ok {
			return s
		}
		n = n.Children()[0]
	}
}

// Aggregate groups by columns and computes aggregates; the output is the group
// columns followed by the aggregates. Without aggregates it is DISTINCT. Global
// (Group empty, Scalar true) yields one row even for no input.
type Aggregate struct {
	Input  Node
	Group  []int
	Aggs   []expr.AggCall
	Scalar bool
	Out    []Column
}

// Union is UNION ALL: the bags of its inputs added.
type Union struct {
	Inputs []Node
	Out    []Column
}

// SetOpKind is INTERSECT or EXCEPT.
type SetOpKind uint8

// The set operations besides Union.
const (
	Intersect SetOpKind = iota
	Except
)

// SetOp is INTERSECT [ALL] or EXCEPT [ALL] of inputs with equal column types.
type SetOp struct {
	Kind        SetOpKind
	All         bool
	Left, Right Node
}

// TopN keeps rows Offset+1 … Offset+Limit of each partition in the given order;
// ties are broken by the whole row's encoding, so the result is a function of
// the input bag. Limit < 0: none. RankCol adds the row's number in its partition
// as a last bigint column.
type TopN struct {
	Input         Node
	Partition     []int
	Order         []expr.SortKey
	Limit, Offset int64
	WithTies      bool
	RankCol       bool
}

// Recursive is WITH RECURSIVE: the rows of Base, and then those that Step yields
// over the rows that the iteration before yielded, until an iteration yields
// none. Step reads them as a WorkTable of the same ID. Without All an iteration
// yields only rows that no earlier one did.
//
// Once the plan is decorrelated (planner.iterate), rows within Step carry the
// number of their iteration as a last column that is not in Out: those of the
// WorkTable their own, those of Step that of the row they come from.
type Recursive struct {
	Base, Step Node
	ID         int
	All        bool
	Out        []Column
}

// WorkTable is the rows of the last iteration of the enclosing Recursive of the
// same ID.
type WorkTable struct {
	ID   int
	Name string // of the common table expression
	Out  []Column
}

// Sort orders the output of a one-off query. It is only ever at the root or
// under a Limit or a Project at the root.
type Sort struct {
	Input Node
	Order []expr.SortKey
}

// Limit is LIMIT/OFFSET of a one-off query with bigint expressions that may be
// Params; nil: none. It cuts its input in the order it comes.
type Limit struct {
	Input         Node
	Limit, Offset expr.Expr
}

// WindowFunc is one call of an OVER clause.
type WindowFunc struct {
	Name  string        // row_number, rank, lag, …; or of the aggregate
	Agg   *expr.AggCall // set when an aggregate is used as a window function
	Args  []int
	Frame Frame
	Typ   types.T
}

// FrameMode is ROWS, RANGE or GROUPS.
type FrameMode uint8

// The frame modes.
const (
	Range FrameMode = iota
	Rows
	Groups
)

// BoundKind is one end of a frame.
type BoundKind uint8

// The frame bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Exclude is a frame's EXCLUDE clause.
type Exclude uint8

// The exclusions.
const (
	ExcludeNone Exclude = iota
	ExcludeCurrent
	ExcludeGroup
	ExcludeTies
)

// Frame is a window frame. Offsets are of the type the mode needs: constants, or
// columns of the input that are partition columns too.
type Frame struct {
	Mode                   FrameMode
	Start, End             BoundKind
	StartOffset, EndOffset expr.Expr
	Exclude                Exclude
}

// Columns are those of the input that the frame reads.
func (f Frame) Columns() []int {
	var out []int
	for _, e := range []expr.Expr{f.StartOffset, f.EndOffset} {
		if c, ok := e.(*expr.Col); ok {
			out = append(out, c.Index)
		}
	}
	return out
}

// Moved is the frame over an input whose columns are elsewhere.
func (f Frame) Moved(at map[int]int) Frame {
	for _, e := range []*expr.Expr{&f.StartOffset, &f.EndOffset} {
		if c, ok := (*e).(*expr.Col); ok {
			*e = &expr.Col{Index: at[c.Index], Typ: c.Typ}
		}
	}
	return f
}

// Window computes window functions over partitions; the output is the input's
// columns followed by one column a function.
type Window struct {
	Input     Node
	Partition []int
	Order     []expr.SortKey
	Funcs     []WindowFunc
	Out       []Column
}

// Apply runs Right once for every row of Left, whose columns Right sees as
// expr.Outer of level 1: the form of correlated subqueries and LATERAL before
// decorrelation. Kind is Inner, Left, Semi, Anti or NullAnti. Scalar makes more
// than one row of Right an error (21000) and none a row of NULLs.
type Apply struct {
	Kind        JoinKind
	Left, Right Node
	Scalar      bool
	On          expr.Expr // over left columns then right; nil: true
}

// Threshold keeps the rows of Input whose column Col compares by Op with the only
// column of Bound, which has at most one row; without one, or with NULL, none. It
// is of streams only.
type Threshold struct {
	Input, Bound Node
	Col          int
	Op           OrderOp
}

// OrderOp is a comparison by order.
type OrderOp uint8

// The comparisons.
const (
	Less OrderOp = iota
	LessEqual
	Greater
	GreaterEqual
)

// String returns the operator.
func (o OrderOp) String() string { return [...]string{"<", "<=", ">", ">="}[o] }

// Flipped is the comparison with its sides exchanged.
func (o OrderOp) Flipped() OrderOp { return [...]OrderOp{Greater, GreaterEqual, Less, LessEqual}[o] }

// SingleRow fails with 21000 when its input has more than one row, and yields one
// row of NULLs when it has none: an uncorrelated scalar subquery.
type SingleRow struct{ Input Node }

// Distribution says how rows are spread over the instances of a fragment.
type Distribution uint8

// The distributions of an Exchange.
const (
	Hash      Distribution = iota // by vnode of the hash of Keys
	Singleton                     // all to one instance
	Broadcast                     // all to every instance
)

// Exchange cuts a streaming plan into fragments: its input runs in another one.
type Exchange struct {
	Input Node
	Dist  Distribution
	Keys  []int
}

// Materialize stores its input as the rows of relation Rel. Key are the columns
// of the storage key; nil: the whole row with a count.
type Materialize struct {
	Input Node
	Rel   uint32
	Key   []int
	// Ordered is of an index on a relation without a key: Key is not unique, and
	// the rows are stored behind it with a count.
	Ordered bool
}

// Sink hands its input to the sink with the given catalog id. Key are the upsert
// key columns; nil: append-only.
type Sink struct {
	Input Node
	ID    uint32
	Key   []int
}
