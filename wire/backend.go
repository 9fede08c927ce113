package wire

import (
	"context"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Backend opens sessions. It is called from many goroutines.
type Backend interface {
	// NewSession opens the session of an authenticated client. The client keeps
	// waiting until it returns. An error (3D000 for an unknown database, 22023
	// for a parameter's bad value) is sent as FATAL and ends the connection.
	//
	// Before it returns, the session must have reported every parameter of
	// ReportedParams by Client.ParameterStatus; the wire sends nothing of its
	// own.
	NewSession(ctx context.Context, s Startup) (Session, error)
}

// ReportedParams are the settings whose value PostgreSQL 15 reports at start-up
// and whenever it changes.
var ReportedParams = [...]string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only",
	"in_hot_standby", "integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding",
	"server_version", "session_authorization", "standard_conforming_strings", "TimeZone",
}

// Startup is what a client asked for when it connected.
type Startup struct {
	User     string
	Database string // the user's name if the client gave none
	// Params are settings to apply as if by SET, in order: those of the options
	// parameter (-c name=value) first, then the others as sent. client_encoding
	// is unquoted already.
	Params []Param
	// Remote is the client's address, as host:port.
	Remote string
	TLS    bool
	Client Client
}

// Param is a setting's name, as the client spelled it, and its value.
type Param struct{ Name, Value string }

// Client is a session's way back to its client. PID, Cancel and Terminate may
// be called from any goroutine at any time, the rest only inside a call of one
// of the session's methods (or its statements' and portals').
type Client interface {
	// PID is the number BackendKeyData announced: pg_backend_pid().
	PID() int32
	// Notice sends a NoticeResponse; severity is NOTICE, WARNING, INFO, LOG or
	// DEBUG. The session has applied client_min_messages already.
	Notice(severity string, n *pgerr.Error)
	// ParameterStatus tells a reported setting's new value. From then on the
	// client's text is in the character set that client_encoding names.
	ParameterStatus(name, value string)
	// Statements are the connection's named prepared statements: SQL's PREPARE,
	// EXECUTE, DEALLOCATE and DISCARD share them with the protocol's Parse.
	Statements() *Statements
	// Notification sends a NotificationResponse when no transaction is open. Unlike
	// the others it may be called by any goroutine.
	Notification(pid int32, channel, payload string)
	// TransactionEnded must be called when a transaction block or an implicit
	// transaction ended, either way: its portals are closed after the current
	// message. Cursors of DECLARE are the session's own affair.
	TransactionEnded()
	// Cancel makes the running call's context done with cause 57014.
	Cancel()
	// Terminate ends the connection with 57P01.
	Terminate()
}

// Session is one client's session. All its methods are called from
// one goroutine. The context of a call is done when the client cancels
// (context.Cause gives a *pgerr.Error to return), when the connection is lost
// or when the server shuts down, or when the statement has taken longer than
// Limiter allows.
//
// Transactions. The wire calls Begin before every statement of a Query and
// before the first Parse, Bind, Describe or Execute after a Sync; Fail once for
// every error it reports, whoever found it; Sync before every ReadyForQuery. So
// a sequence is: Begin (Prepare Bind Next...)* [Fail] Sync.
type Session interface {
	// Parse reads a text's statements; none for an empty text. Nothing is looked
	// up yet. In a failed transaction block it still succeeds.
	Parse(ctx context.Context, text string) ([]Statement, error)
	// Prepare analyses a statement. paramOIDs gives the types of the first
	// parameters; 0 or 705 (unknown) or a missing one: to be inferred (42P18 if
	// it can't; text where PostgreSQL falls back to it). In a failed transaction
	// block everything but the end of the block is 25P02.
	Prepare(ctx context.Context, s Statement, paramOIDs []uint32) (Prepared, error)
	// Begin opens an implicit transaction unless a transaction is open. alone:
	// the statement to come is the only one before Sync, so the session may
	// commit it as it runs. Begin is cheap and fails never.
	Begin(alone bool)
	// Fail ends the implicit transaction by rolling it back, or marks an open
	// block as failed.
	Fail()
	// Sync ends the implicit transaction, if one is open, by committing it. A
	// block of BEGIN stays open. On error the transaction is rolled back.
	Sync(ctx context.Context) error
	// TxStatus is ReadyForQuery's byte: I idle, T in a block, E in a failed one.
	// An implicit transaction is I.
	TxStatus() byte
	// Options are the session's settings for text forms, borrowed until the
	// next statement runs.
	Options() *types.Options
	// Close ends the session and rolls back; called once, at the very end.
	Close()
}

// Quick is implemented by sessions that know some texts without parsing them.
type Quick interface {
	// Quick returns a portal for the text of a Query that is a single statement
	// seen before, or nil. It stands for Parse, Prepare and Bind, is called before
	// Begin and never fails: what it returns nil for goes the usual way. The
	// session may use the portal's memory again after Close.
	Quick(text string) Portal
}

// CursorHolder is implemented by sessions with SQL cursors. In PostgreSQL they
// are portals too, and clients describe them as such after DECLARE.
type CursorHolder interface {
	// CursorColumns returns the columns of the open cursor called name.
	CursorColumns(name string) ([]Column, bool)
}

// Statement is one parsed statement, opaque to the wire.
type Statement any

// Prepared is an analysed statement. It outlives transactions.
type Prepared interface {
	// Params are the parameters' types, none Unknown.
	Params() []types.T
	// Columns describe the result; nil if the statement returns no rows, as
	// COPY does (an empty non-nil slice is a result without columns).
	Columns() []Column
	// Bind makes a portal of the statement with one argument a parameter, each
	// nil or of its type's Kind. It must not run the statement. Planning anew
	// happens here: 0A000 "cached plan must not change result type". In a failed
	// transaction block it is 25P02, as Prepare.
	Bind(ctx context.Context, args []types.Datum) (Portal, error)
	// Close releases it. Its portals stay usable.
	Close()
}

// Column is a column of a result.
type Column struct {
	Name     string
	Type     types.T
	TableOID uint32 // 0 if it is not a column of a table
	Attnum   int16  // 0 likewise
}

// Portal is a bound statement, run at most once.
type Portal interface {
	// Columns as Prepared.Columns.
	Columns() []Column
	// Copy is non-nil for COPY FROM STDIN and COPY TO STDOUT.
	Copy() *Copy
	// Next runs the statement on its first call and returns its next rows, or
	// nil at the end. Statements without rows return nil at once; those that
	// change data have done so wholly when Next first returns. The chunk stays
	// valid until the next call of Next or Close of this portal, whatever else
	// the session runs between (a portal may be suspended in the middle of a
	// chunk). A row of weight n is sent n times; weights are positive. A chunk
	// without rows makes the wire flush what it has and call again: a statement
	// that waits (SUBSCRIBE) returns one before it blocks.
	//
	// In a failed transaction block it is 25P02, unless the statement ends the
	// block. Next is never called again after the end or an error.
	Next(ctx context.Context) (*vec.Chunk, error)
	// Tag is the command tag, asked after the end. rows is the number of rows
	// sent by this Execute or taken from the client by COPY FROM (SELECT, FETCH
	// and COPY count those; INSERT, UPDATE and DELETE their own).
	Tag(rows int64) string
	// Close releases the portal, at any time, once. After Next returned nil it
	// may come much later (named portals live until their transaction ends).
	Close()
}

// Copy describes a COPY to or from the client. The wire frames, splits and
// converts; the session gives or takes chunks.
type Copy struct {
	// Columns are those of the table or query, in COPY's order.
	Columns []Column
	Format  CopyFormat
	// Write takes rows of COPY FROM; nil for COPY TO, whose rows come from Next.
	// The chunk is borrowed. After the last Write the wire calls Next, which
	// must return nil; if the client fails the copy, or a line is bad, Next is
	// not called and the portal is closed.
	Write func(ctx context.Context, c *vec.Chunk) error
	// Table names the target of COPY FROM, for the context of errors.
	Table string
}

// CopyFormat are COPY's format options, checked by the session. Use
// DefaultCopy to start from.
type CopyFormat struct {
	Kind      CopyKind
	Encoding  string // name of the character set of the data; empty: the client's
	Delimiter byte
	Null      string
	Header    bool // COPY TO writes a header, COPY FROM skips one
	// HeaderMatch: COPY FROM checks that the header names the columns.
	HeaderMatch bool
	Quote       byte // CSV only
	Escape      byte // CSV only
	// ForceQuote, ForceNotNull and ForceNull are CSV's column lists, as one bool
	// a column; nil: none.
	ForceQuote, ForceNotNull, ForceNull []bool
}

// CopyKind is COPY's FORMAT.
type CopyKind uint8

// The formats of COPY.
const (
	CopyText CopyKind = iota
	CopyCSV
	CopyBinary
)

// DefaultCopy returns a format's default options.
func DefaultCopy(k CopyKind) CopyFormat {
	if k == CopyCSV {
		return CopyFormat{Kind: k, Delimiter: ',', Quote: '"', Escape: '"'}
	}
	return CopyFormat{Kind: k, Delimiter: '\t', Null: `\N`}
}
