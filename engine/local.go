package engine

import (
	"context"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/vec"
	"github.com/streamdb/streamdb/wire"
)

// Local is a session inside the process, for tools and tests.
type Local struct {
	s  wire.Session
	st wire.Statements
	// Notices collects what NOTICE and WARNING messages said.
	Notices []string
}

// OpenLocal opens a session of the bootstrap role in the main database.
func (e *Engine) OpenLocal() (*Local, error) {
	l := &Local{}
	snap := e.Catalog.Current()
	s, err := e.NewSession(context.Background(), wire.Startup{User: snap.RoleName(catalog.BootstrapOID), Database: snap.MainDatabase().Name, Client: l})
	l.s = s
	return l, err
}

// PID implements wire.Client.
func (l *Local) PID() int32 { return -1 }

// Notice implements wire.Client.
func (l *Local) Notice(_ string, n *pgerr.Error) { l.Notices = append(l.Notices, n.Msg) }

// ParameterStatus implements wire.Client.
func (l *Local) ParameterStatus(string, string) {}

// Statements implements wire.Client.
func (l *Local) Statements() *wire.Statements { return &l.st }

// Notification implements wire.Client.
func (l *Local) Notification(int32, string, string) {}

// TransactionEnded implements wire.Client.
func (l *Local) TransactionEnded() {}

// Cancel implements wire.Client.
func (l *Local) Cancel() {}

// Terminate implements wire.Client.
func (l *Local) Terminate() {}

// Close ends the session.
func (l *Local) Close() { l.s.Close() }

// Exec runs the statements of a text, one transaction a statement, and returns
// the rows of the last.
func (l *Local) Exec(ctx context.Context, text string) (*vec.Chunk, error) {
	if o := l.s.(wire.Quick).Quick(text); o != nil {
		ctx, done := l.limited(ctx)
		defer done()
		return l.quick(ctx, o)
	}
	sts, err := l.s.Parse(ctx, text)
	if err != nil {
		return nil, err
	}
	var last *vec.Chunk
	for _, st := range sts {
		ctx, done := l.limited(ctx)
		l.s.Begin(true)
		last, err = l.one(ctx, st)
		if err == nil {
			err = l.s.Sync(ctx)
		}
		done()
		if err != nil {
			l.s.Fail()
			return nil, err
		}
	}
	return last, nil
}

// limited returns the context of one statement.
func (l *Local) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := l.s.(wire.Limiter).StatementLimit(); d > 0 {
		return context.WithTimeoutCause(ctx, d, wire.ErrStatementTimeout)
	}
	return ctx, func() {}
}

// quick runs the portal of a text that the session knows.
func (l *Local) quick(ctx context.Context, o wire.Portal) (*vec.Chunk, error) {
	defer o.Close()
	l.s.Begin(true)
	c, err := o.Next(ctx)
	if c != nil { // the portal's memory is used again
		out := vec.NewChunk(c.Types(), c.Rows)
		out.AppendRange(c, 0, c.Rows)
		c = out
	}
	if err == nil {
		err = l.s.Sync(ctx)
	}
	if err != nil {
		l.s.Fail()
		return nil, err
	}
	return c, nil
}

func (l *Local) one(ctx context.Context, st wire.Statement) (*vec.Chunk, error) {
	p, err := l.s.Prepare(ctx, st, nil)
	if err != nil {
		return nil, err
	}
	o, err := p.Bind(ctx, nil)
	if err != nil {
		return nil, err
	}
	c, _, err := drain(ctx, o.(*portal))
	return c, err
}
