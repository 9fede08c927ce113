package expr

import (
	"time"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Volatility says when two calls with equal arguments give equal results.
type Volatility uint8

// The volatilities of PostgreSQL.
const (
	Immutable Volatility = iota
	Stable               // within one statement; frozen at CREATE in views
	Volatile
)

// A Kernel computes dst from args, all of n rows. dst arrives reset; a kernel
// over fixed-width results resizes it to n. A strict function's kernel may
// compute garbage under NULL arguments: the caller ORs their null bitmaps into
// dst afterwards, and a failure at a NULL row is none. A row that fails is
// reported by c.Fail, which says whether to go on; the error returned ends the
// evaluation of the whole chunk.
type Kernel func(c *Ctx, dst vec.Vector, args []vec.Vector, n int) error

// Func is one overload: one row of a function table.
type Func struct {
	Name       string
	Args       []types.T // AnyElement, AnyArray: see resolve.go
	Variadic   bool      // the last of Args repeats
	Optional   int       // how many of the last Args may be left out
	Params     []string  // names of the parameters; nil: they have none
	Defaults   []Expr    // of the last Optional parameters, for calls by name
	As         *Func     // an alias for resolution only: As is what is called
	Ret        types.T
	RetFn      func(args []types.T) types.T // polymorphic results; nil: Ret
	Volatility Volatility
	NotStrict  bool // the kernel sees NULLs itself
	MayFail    bool // a row may raise an error
	Clock      bool // reads the time of the transaction
	Catalog    bool // reads the catalog or the server's state, which views do not follow
	Domain     bool // of DomainFunc, a cast to a domain
	// Pattern, when not nil, is all that can fail: a constant last argument that it
	// accepts makes the call safe.
	Pattern func(p string) error
	Set     bool // set-returning: allowed in FROM and, by plan.ProjectSet, in select lists
	Eval    Kernel
	New     func() Kernel // instead of Eval: a kernel with its own memory for each Program
	EvalSet SetKernel     // for Set functions
	// Cols describes the result columns of a Set function; nil: one column, named
	// after the function, of the result type.
	Cols func(args []types.T) (names []string, ts []types.T)
	// NeedsColumns: the columns of the result come from a column definition list.
	NeedsColumns bool
	// UserOID is set for functions of CREATE FUNCTION, whose calls the planner
	// replaces by their queries.
	UserOID uint32
	Doc     string // one line for the documentation
}

// SetKernel appends the rows a set-returning function yields for row i of args
// to dst, one vector a result column.
type SetKernel func(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error

// Ctx is what evaluation may depend on besides its input. It belongs to one
// goroutine. The session part is fixed for a statement, or for a view since its
// creation.
type Ctx struct {
	Session *Session
	// Errors, when not nil, collects failing rows instead of ending the
	// evaluation: the view's on_error policy then decides.
	Errors *RowErrors
	// rows maps rows of the chunk under evaluation to rows of the chunk given
	// to Eval, inside branches that see a part of it; nil: identity.
	rows []int32
	// bound is that of the vectors of results.
	bound vec.Bound
}

// Session holds the settings functions read.
type Session struct {
	Options    types.Options // time zone, date style and friends
	NowMicros  int64         // transaction timestamp, µs since 2000-01-01 UTC
	User       string        // the current role
	UserOID    uint32
	Login      string // the role of SET SESSION AUTHORIZATION, or that logged in
	Database   string
	SearchPath []string
	Setting    func(name string) (string, bool) // current_setting
	SetSetting func(name, value string, local bool) error
	// Catalog answers pg_get_viewdef, format_type's user types, to_regclass,
	// pg_table_is_visible and the like; nil outside a server.
	Catalog CatalogInfo
	// Server answers pg_postmaster_start_time, pg_database_size and the like;
	// nil outside a server.
	Server ServerInfo
	// Sequences gives out values of sequences; nil outside a session.
	Sequences  Sequences
	BackendPID int32
	// Random is the sequence setseed gives; nil: none can be given.
	Random *Seeded
	// Notify keeps a notification for the end of the transaction, and Channels tells to
	// which the session listens; nil where there is no session.
	Notify   func(channel, payload string) error
	Channels func() []string
	// Advisory takes and frees advisory locks; nil where there is no session.
	Advisory AdvisoryLocks
	// LockRows takes rows of a table that the query locks, as the columns of n rows; nil
	// where no transaction goes on.
	LockRows func(table uint32, cols []vec.Vector, n int) error
	// Sleep waits, or ends early with the error of a cancelled statement; nil
	// where nothing may wait.
	Sleep func(time.Duration) error
}

// CatalogInfo is the part of the catalog that scalar functions may ask.
type CatalogInfo interface {
	// RelationOID resolves a possibly qualified name by the search path.
	RelationOID(name string) (oid uint32, ok bool)
	// RelationName returns the name of a relation, qualified unless visible.
	RelationName(oid uint32) (string, bool)
	NamespaceName(oid uint32) (string, bool)
	NamespaceOID(name string) (uint32, bool)
	TableVisible(oid uint32) bool
	ViewDef(oid uint32, pretty bool) (string, bool)
	IndexDef(oid uint32, column int, pretty bool) (string, bool)
	ConstraintDef(oid uint32, pretty bool) (string, bool)
	ColumnDefault(relation uint32, column int) (string, bool)
	// RelationSize is the size of a relation in bytes, IndexesSize that of its
	// indexes together.
	RelationSize(oid uint32) int64
	IndexesSize(oid uint32) int64
	// SerialSequence returns the sequence that a column of a table owns; found is
	// false if it owns none.
	SerialSequence(table, column string) (sequence string, found bool, err error)
	// TypeByOID and TypeByName find a type of any kind; a name may have a schema.
	TypeByOID(oid uint32) (types.T, bool)
	TypeByName(name string) (types.T, bool)
	Description(oid uint32, class string, column int) (string, bool)
	// FunctionText returns a part of the definition of a function that a user made:
	// result, arguments, identity, definition or body.
	FunctionText(oid uint32, part string) (string, bool)
	// Updatable tells how the rows of a relation can be changed.
	Updatable(oid uint32) Updatable
}

// Updatable tells which statements change the rows of a relation, and of a view, which
// columns they may give values (nil: all).
type Updatable struct {
	Update, Insert, Delete bool
	Columns                []bool
}

// Events are the statements as pg_relation_is_updatable has them.
func (u Updatable) Events() int32 {
	n := int32(0)
	for bit, can := range map[int32]bool{4: u.Update, 8: u.Insert, 16: u.Delete} {
		if can {
			n |= bit
		}
	}
	return n
}

// Column reports whether column number n can be updated.
func (u Updatable) Column(n int) bool {
	return n > 0 && u.Update && u.Delete && (u.Columns == nil || n <= len(u.Columns) && u.Columns[n-1])
}

// RowErrors lists rows whose evaluation failed, each at most once. To use it
// for the next chunk, truncate Rows and Errs or call Reset.
type RowErrors struct {
	Rows []int32
	Errs []error
	seen vec.Bitmap
}

// Reset forgets all rows.
func (e *RowErrors) Reset() {
	e.Rows, e.Errs = e.Rows[:0], e.Errs[:0]
	clear(e.seen)
}

// Failed reports whether row i has failed.
func (e *RowErrors) Failed(i int) bool { return len(e.Rows) > 0 && e.seen.Get(i) }

func (e *RowErrors) add(i int32, err error) {
	if len(e.Rows) == 0 {
		clear(e.seen)
	}
	if e.seen.Get(int(i)) {
		return
	}
	e.seen.Set(int(i))
	e.Rows = append(e.Rows, i)
	e.Errs = append(e.Errs, err)
}

// Fail reports that row i failed with err. With an error collector the row is
// noted and Fail returns nil: the kernel makes the row NULL and goes on. Without
// one it returns err, which the kernel returns.
func (c *Ctx) Fail(i int, err error) error {
	if c.Errors == nil {
		return err
	}
	r := int32(i)
	if c.rows != nil {
		r = c.rows[i]
	}
	c.Errors.add(r, err)
	return nil
}

var utcSession = Session{}

func (c *Ctx) session() *Session {
	if c.Session == nil {
		return &utcSession
	}
	return c.Session
}

// options returns the session's text options.
func (c *Ctx) options() *types.Options { return &c.session().Options }
