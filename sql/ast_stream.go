package sql

// Show is SHOW of a setting (What is empty; Name "all" is SHOW ALL), or of one of
// our lists: What is "sources", "tables", "views", "materialized views",
// "sinks", "jobs", "indexes", "schemas", "databases", "connections", "secrets",
// "functions", "columns", "create" and so on, in lower case.
type Show struct {
	At
	Name string // setting, lower case
	What string
	// Kind is the object kind of SHOW CREATE: "table", "materialized view", ...
	Kind string
	// From is the schema of FROM, the relation of SHOW COLUMNS FROM, the object of
	// SHOW CREATE.
	From *Name
	// Like is the pattern of LIKE; HasLike tells an empty one from none.
	Like    string
	HasLike bool
}

// Describe is DESCRIBE relation.
type Describe struct {
	At
	Name Name
}

// Flush is FLUSH; it does nothing, since reads are consistent anyway.
type Flush struct{ At }

// Check is CHECK MATERIALIZED VIEW name [LIMIT n].
type Check struct {
	At
	Name Name
	// Limit bounds the differences reported; negative: all of them.
	Limit int64
}

// RunningView is MATERIALIZED VIEW name behind EXPLAIN: the dataflow of a view that
// there is.
type RunningView struct {
	At
	Name Name
}

// Subscribe is SUBSCRIBE [TO] relation or (query) [WITH (...)] [AS OF expr] [UP
// TO expr].
type Subscribe struct {
	At
	Relation   *Name
	Query      *Select
	Options    []Option
	AsOf, UpTo Expr
}

// Cancel is CANCEL JOB id, ...; the ids are as written.
type Cancel struct {
	At
	Jobs []string
}

func (*Show) stmtNode()        {}
func (*Describe) stmtNode()    {}
func (*Flush) stmtNode()       {}
func (*Check) stmtNode()       {}
func (*RunningView) stmtNode() {}
func (*Subscribe) stmtNode()   {}
func (*Cancel) stmtNode()      {}
