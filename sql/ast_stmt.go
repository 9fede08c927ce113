package sql

// Insert is INSERT INTO. Source is nil for DEFAULT VALUES.
type Insert struct {
	At
	With       *With
	Table      Name
	Alias      string
	Columns    []InsertColumn // nil: all
	Overriding string         // "", "USER" or "SYSTEM"
	Source     *Select
	Conflict   *OnConflict
	Returning  []Target
}

// InsertColumn is a column of INSERT's list.
type InsertColumn struct {
	At
	Name string
	Path []PathStep // to a part of it
}

// PathStep leads to a part of a column that is assigned to: a field, or with Index
// what a subscript names.
type PathStep struct {
	Field string
	Index *Index
}

// OnConflict is ON CONFLICT. Columns or Constraint name the arbiter; both empty:
// any. Nothing is DO NOTHING, else Update holds DO UPDATE SET's clauses.
type OnConflict struct {
	At
	Columns     []SortItem // index expressions
	TargetWhere Expr
	Constraint  string
	Update      []SetClause
	Where       Expr
	Nothing     bool
}

// SetClause is column = value, or (a, b) = value with a row or subquery.
type SetClause struct {
	At
	Columns []string
	Paths   [][]PathStep // to parts of them; nil: all are assigned whole
	Value   Expr
	Multi   bool // the parenthesised form
}

// Update is UPDATE.
type Update struct {
	At
	With      *With
	Table     *TableRef
	Set       []SetClause
	From      []TableExpr
	Where     Expr
	Returning []Target
}

// Delete is DELETE FROM.
type Delete struct {
	At
	With      *With
	Table     *TableRef
	Using     []TableExpr
	Where     Expr
	Returning []Target
}

// Merge is MERGE.
type Merge struct {
	At
	With   *With
	Table  *TableRef
	Source TableExpr
	On     Expr
	Whens  []MergeWhen
}

// MergeAction is what a WHEN of MERGE does.
type MergeAction uint8

// The actions of MERGE.
const (
	MergeNothing MergeAction = iota
	MergeInsert
	MergeUpdate
	MergeDelete
)

// MergeWhen is a WHEN [NOT] MATCHED. Cond is what stands behind AND. Insert has the
// columns and values of INSERT, without a table.
type MergeWhen struct {
	At
	Matched bool
	Cond    Expr
	Action  MergeAction
	Set     []SetClause
	Insert  *Insert
}

// Truncate is TRUNCATE.
type Truncate struct {
	At
	Tables          []Name
	RestartIdentity bool
	Cascade         bool
}

// Explain is EXPLAIN of a query, DML, CREATE MATERIALIZED VIEW, SINK and so on.
// Analyze and Verbose are also in Options.
type Explain struct {
	At
	Options          []Option
	Analyze, Verbose bool
	Stmt             Stmt
}

// SetScope is the scope of SET.
type SetScope uint8

// The scopes of SET.
const (
	SetSession SetScope = iota
	SetLocal
)

// Set is SET name = values. TIME ZONE is the name timezone. Values hold
// *Literal or, for SET TIME ZONE INTERVAL, *Cast; empty with Default set: SET x
// TO DEFAULT.
type Set struct {
	At
	Scope   SetScope
	Name    string
	Values  []Expr
	Default bool
}

// SetTransaction is SET TRANSACTION or, with Session, SET SESSION
// CHARACTERISTICS AS TRANSACTION.
type SetTransaction struct {
	At
	Session bool
	Modes   TxModes
	// Snapshot is SET TRANSACTION SNAPSHOT's argument.
	Snapshot string
}

// Reset is RESET name; Name is empty for ALL.
type Reset struct {
	At
	Name string
}

// Discard is DISCARD ALL, PLANS, SEQUENCES or TEMP; What is in upper case.
type Discard struct {
	At
	What string
}

// TxModes are a transaction's modes; empty or nil: not given.
type TxModes struct {
	Isolation  string // lower case, as "read committed"
	ReadOnly   *bool
	Deferrable *bool
}

// Begin is BEGIN or START TRANSACTION.
type Begin struct {
	At
	Start bool // START TRANSACTION: another command tag
	Modes TxModes
}

// Commit is COMMIT or END.
type Commit struct {
	At
	Chain bool
}

// Rollback is ROLLBACK or ABORT.
type Rollback struct {
	At
	Chain bool
}

// Savepoint is SAVEPOINT name.
type Savepoint struct {
	At
	Name string
}

// Release is RELEASE SAVEPOINT name.
type Release struct {
	At
	Name string
}

// RollbackTo is ROLLBACK TO SAVEPOINT name.
type RollbackTo struct {
	At
	Name string
}

// Prepare is PREPARE name (types) AS stmt. NumParams of the Parsed counts the
// parameters of the inner statement.
type Prepare struct {
	At
	Name  string
	Types []*TypeName
	Stmt  Stmt
}

// Execute is EXECUTE name (args).
type Execute struct {
	At
	Name string
	Args []Expr
}

// Deallocate is DEALLOCATE name; Name is empty for ALL.
type Deallocate struct {
	At
	Name string
}

// DeclareCursor is DECLARE name CURSOR FOR query, or for a subscription.
type DeclareCursor struct {
	At
	Name             string
	Binary, Hold     bool
	Scroll, NoScroll bool
	Insensitive      bool
	Query            *Select
	Subscribe        *Subscribe // DECLARE c CURSOR FOR SUBSCRIBE ...
}

// FetchDir is the direction of FETCH.
type FetchDir uint8

// The directions of FETCH.
const (
	FetchForward FetchDir = iota
	FetchBackward
	FetchAbsolute
	FetchRelative
)

// FetchAll is the Count of FETCH ALL.
const FetchAll int64 = 1<<63 - 1

// Fetch is FETCH or, with Move, MOVE.
type Fetch struct {
	At
	Dir    FetchDir
	Count  int64
	Cursor string
	Move   bool
}

// Close is CLOSE cursor; Cursor is empty for ALL.
type Close struct {
	At
	Cursor string
}

// Copy is COPY. Table or Query (a *Select, *Insert, *Update, *Delete or
// *Subscribe) is set. File is empty for STDIN and STDOUT.
type Copy struct {
	At
	Table   *Name
	Columns []string
	Query   Stmt
	From    bool // FROM, else TO
	Program bool
	File    string
	Options []Option
	Where   Expr
}

// Comment is COMMENT ON Kind Name IS text; Column is set for COLUMN. Null: IS
// NULL, the comment is removed.
type Comment struct {
	At
	Kind   string // lower case: "table", "column", "materialized view"
	Name   Name
	Target DropTarget // has the argument types of a function beside its name
	Column string
	Text   string
	Null   bool
}

// Listen is LISTEN channel.
type Listen struct {
	At
	Channel string
}

// Unlisten is UNLISTEN channel; Channel is empty for *.
type Unlisten struct {
	At
	Channel string
}

// Notify is NOTIFY channel, payload.
type Notify struct {
	At
	Channel, Payload string
}

// Vacuum is VACUUM or, with Analyze alone, ANALYZE.
type Vacuum struct {
	At
	Analyze bool // the statement was ANALYZE
	Options []Option
	Tables  []Name
	// Columns are those named of each table.
	Columns [][]string
}

// Reindex is REINDEX; Kind is "index", "table", "schema", "database" or "system".
type Reindex struct {
	At
	Kind         string
	Name         Name
	Concurrently bool
}

// Cluster is CLUSTER [table [USING index]].
type Cluster struct {
	At
	Table *Name
	Index string
}

// SetConstraints is SET CONSTRAINTS; no names: ALL.
type SetConstraints struct {
	At
	Names    []Name
	Deferred bool
}

// LockTable is LOCK TABLE.
type LockTable struct {
	At
	Tables []Name
	Mode   int32
	NoWait bool
}

// Refresh is REFRESH MATERIALIZED VIEW.
type Refresh struct {
	At
	Name         Name
	Concurrently bool
	NoData       bool
}

// Checkpoint is CHECKPOINT.
type Checkpoint struct{ At }

// Do is DO 'code'.
type Do struct {
	At
	Language, Body string
}

// Unsupported stands for a statement that PostgreSQL's grammar accepts and
// StreamDB does not run. Err is the 0A000 error to answer.
type Unsupported struct {
	At
	What, Hint string
	Err        error
}

func (*Insert) stmtNode()         {}
func (*Update) stmtNode()         {}
func (*Delete) stmtNode()         {}
func (*Merge) stmtNode()          {}
func (*Truncate) stmtNode()       {}
func (*Explain) stmtNode()        {}
func (*Set) stmtNode()            {}
func (*SetTransaction) stmtNode() {}
func (*Reset) stmtNode()          {}
func (*Discard) stmtNode()        {}
func (*Begin) stmtNode()          {}
func (*Commit) stmtNode()         {}
func (*Rollback) stmtNode()       {}
func (*Savepoint) stmtNode()      {}
func (*Release) stmtNode()        {}
func (*RollbackTo) stmtNode()     {}
func (*Prepare) stmtNode()        {}
func (*Execute) stmtNode()        {}
func (*Deallocate) stmtNode()     {}
func (*DeclareCursor) stmtNode()  {}
func (*Fetch) stmtNode()          {}
func (*Close) stmtNode()          {}
func (*Copy) stmtNode()           {}
func (*Comment) stmtNode()        {}
func (*Listen) stmtNode()         {}
func (*Unlisten) stmtNode()       {}
func (*Notify) stmtNode()         {}
func (*Vacuum) stmtNode()         {}
func (*Reindex) stmtNode()        {}
func (*Cluster) stmtNode()        {}
func (*LockTable) stmtNode()      {}
func (*SetConstraints) stmtNode() {}
func (*Checkpoint) stmtNode()     {}
func (*Refresh) stmtNode()        {}
func (*Do) stmtNode()             {}
func (*Unsupported) stmtNode()    {}
