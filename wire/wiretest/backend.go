package wiretest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// Backend answers statements by Lookup. BEGIN, COMMIT and ROLLBACK are built in.
type Backend struct {
	// Lookup analyses a statement's text, without its semicolon.
	Lookup func(s *Session, text string, oids []uint32) (*Stmt, error)
	// Open, if set, may refuse a session.
	Open func(wire.Startup) error
	// Idle is how long clients may stay silent, in nanoseconds.
	Idle atomic.Int64
	// Limit is how long statements may take, in nanoseconds.
	Limit atomic.Int64

	mu       sync.Mutex
	Sessions []*Session // all ever opened
}

// Stmt is what a statement does.
type Stmt struct {
	Params  []types.T
	Columns []wire.Column
	Tag     string // SELECT: the number of rows is appended
	// Run returns the result; it runs at the first Next. A nil chunk in it
	// stands for a wait: it blocks until the context is done.
	Run  func(ctx context.Context, s *Session, args []types.Datum) ([]*vec.Chunk, error)
	Copy *wire.Copy
}

// Session is a session; Startup is what it was opened with.
type Session struct {
	Startup wire.Startup
	b       *Backend
	mu      sync.Mutex
	block   bool
	failed  bool
	open    bool
	pending []func()
	Closed  bool
	Opts    types.Options
}

// NewSession implements wire.Backend.
func (b *Backend) NewSession(_ context.Context, st wire.Startup) (wire.Session, error) {
	if b.Open != nil {
		if err := b.Open(st); err != nil {
			return nil, err
		}
	}
	s := &Session{Startup: st, b: b}
	app := ""
	for _, p := range st.Params {
		if p.Name == "application_name" {
			app = p.Value
		}
	}
	values := map[string]string{
		"application_name": app, "client_encoding": "UTF8", "DateStyle": "ISO, MDY",
		"default_transaction_read_only": "off", "in_hot_standby": "off", "integer_datetimes": "on",
		"IntervalStyle": "postgres", "is_superuser": "on", "server_encoding": "UTF8", "server_version": "15.8",
		"session_authorization": st.User, "standard_conforming_strings": "on", "TimeZone": "UTC",
	}
	for _, name := range wire.ReportedParams {
		st.Client.ParameterStatus(name, values[name])
	}
	b.mu.Lock()
	b.Sessions = append(b.Sessions, s)
	b.mu.Unlock()
	return s, nil
}

// Last returns the session opened last.
func (b *Backend) Last() *Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Sessions[len(b.Sessions)-1]
}

// IsClosed reports whether the session was closed.
func (s *Session) IsClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Closed
}

// AtCommit defers f to the transaction's commit.
func (s *Session) AtCommit(f func()) { s.pending = append(s.pending, f) }

// Parse splits at semicolons.
func (s *Session) Parse(_ context.Context, text string) ([]wire.Statement, error) {
	var out []wire.Statement
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" && !strings.HasPrefix(part, "--") {
			out = append(out, part)
		}
	}
	return out, nil
}

var errAborted = pgerr.New(pgerr.InFailedSQLTransaction,
	"current transaction is aborted, commands ignored until end of transaction block")

// Prepare implements wire.Session.
func (s *Session) Prepare(_ context.Context, st wire.Statement, oids []uint32) (wire.Prepared, error) {
	text := st.(string)
	switch text {
	case "BEGIN", "COMMIT", "ROLLBACK":
		return &prepared{s: s, text: text, st: &Stmt{Tag: text}}, nil
	}
	if s.failed {
		return nil, errAborted
	}
	def, err := s.b.Lookup(s, text, oids)
	if err != nil {
		return nil, err
	}
	return &prepared{s: s, text: text, st: def}, nil
}

// Begin implements wire.Session.
func (s *Session) Begin(bool) { s.open = true }

// Fail implements wire.Session.
func (s *Session) Fail() {
	s.pending = nil
	if s.block {
		s.failed = true
		return
	}
	s.end(false)
}

// Sync implements wire.Session.
func (s *Session) Sync(context.Context) error {
	if !s.block && s.open {
		s.end(true)
	}
	return nil
}

func (s *Session) end(commit bool) {
	if commit {
		for _, f := range s.pending {
			f()
		}
	}
	if s.open || s.block {
		s.Startup.Client.TransactionEnded()
	}
	s.pending, s.block, s.failed, s.open = nil, false, false, false
}

// TxStatus implements wire.Session.
func (s *Session) TxStatus() byte {
	switch {
	case s.failed:
		return 'E'
	case s.block:
		return 'T'
	}
	return 'I'
}

// StatementLimit implements wire.Limiter.
func (s *Session) StatementLimit() time.Duration { return time.Duration(s.b.Limit.Load()) }

// IdleLimit implements wire.Limiter.
func (s *Session) IdleLimit() time.Duration { return time.Duration(s.b.Idle.Load()) }

// CursorColumns implements wire.CursorHolder: the one cursor is called cur.
func (s *Session) CursorColumns(name string) ([]wire.Column, bool) {
	return []wire.Column{{Name: "g", Type: types.TInt4}}, name == "cur"
}

// Options implements wire.Session.
func (s *Session) Options() *types.Options { return &s.Opts }

// Close implements wire.Session.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Closed = true
}

type prepared struct {
	s    *Session
	text string
	st   *Stmt
}

func (p *prepared) Params() []types.T      { return p.st.Params }
func (p *prepared) Columns() []wire.Column { return p.st.Columns }
func (p *prepared) Close()                 {}
func (p *prepared) Bind(_ context.Context, args []types.Datum) (wire.Portal, error) {
	if p.s.failed && p.text != "COMMIT" && p.text != "ROLLBACK" {
		return nil, errAborted
	}
	return &portal{prepared: p, args: args}, nil
}

type portal struct {
	*prepared
	args   []types.Datum
	tag    string
	ran    bool
	chunks []*vec.Chunk
}

func (p *portal) Copy() *wire.Copy { return p.st.Copy }
func (p *portal) Close()           {}

func (p *portal) Next(ctx context.Context) (*vec.Chunk, error) {
	if !p.ran {
		p.ran = true
		if err := p.run(ctx); err != nil {
			return nil, err
		}
	}
	if len(p.chunks) == 0 {
		return nil, nil
	}
	c := p.chunks[0]
	p.chunks = p.chunks[1:]
	if c == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c, nil
}

func (p *portal) run(ctx context.Context) (err error) {
	s := p.s
	p.tag = p.st.Tag
	switch p.text {
	case "BEGIN":
		s.block = true
	case "COMMIT":
		if s.failed {
			p.tag = "ROLLBACK"
		}
		s.end(!s.failed)
	case "ROLLBACK":
		s.end(false)
	default:
		if s.failed {
			return errAborted
		}
		if p.st.Run != nil {
			p.chunks, err = p.st.Run(ctx, s, p.args)
		}
	}
	return err
}

func (p *portal) Tag(rows int64) string {
	if p.tag == "SELECT" || p.tag == "COPY" {
		return p.tag + " " + itoa(rows)
	}
	return p.tag
}

func itoa(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
