package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamdb/streamdb/pgerr"
)

// errLockTimeout is the error of a statement that waited for longer than
// lock_timeout.
var errLockTimeout = pgerr.New(pgerr.LockNotAvailable, "canceling statement due to lock timeout")

// LockLimit is the key of lock_timeout in the contexts of statements.
type LockLimit struct{}

// LockWait returns the context of one wait for a lock, or for what stands in the
// place of PostgreSQL's locks: that other statements that change the catalog are
// done, that a graph is at rest, and that it takes up a write.
func LockWait(ctx context.Context) (context.Context, context.CancelFunc) {
	d, ok := ctx.Value(LockLimit{}).(time.Duration)
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, errLockTimeout)
}

// ddlLock is a mutex for which statements wait no longer than they may.
type ddlLock struct {
	once sync.Once
	held chan struct{} // full while it is held
}

func (l *ddlLock) init() { l.held = make(chan struct{}, 1) }

// Lock waits for as long as it takes.
func (l *ddlLock) Lock() {
	l.once.Do(l.init)
	l.held <- struct{}{}
}

// Unlock may be called by another goroutine than Lock was.
func (l *ddlLock) Unlock() { <-l.held }

// Acquire is Lock that fails when ctx ends before, or after its lock_timeout.
func (l *ddlLock) Acquire(ctx context.Context) error {
	l.once.Do(l.init)
	select {
	case l.held <- struct{}{}:
		return nil
	default:
	}
	ctx, done := LockWait(ctx)
	defer done()
	select {
	case l.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return Canceled(ctx)
	}
}

// Canceled returns why the statement is to stop; nil if it is not.
func Canceled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) && !errors.Is(c, context.DeadlineExceeded) {
		return c
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}
