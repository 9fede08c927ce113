package engine

import (
	"context"
	"time"

	"github.com/streamdb/streamdb/engine/settings"
	"github.com/streamdb/streamdb/wire"
)

// timeouts are what a session waits for at most; 0 is for ever.
type timeouts struct {
	statement   time.Duration
	lock        time.Duration
	idle        time.Duration
	idleInBlock time.Duration
}

func (t *timeouts) set(setting, value string) {
	ms, _ := settings.ParseMillis(value)
	d := msDuration(ms)
	switch setting {
	case "statement_timeout":
		t.statement = d
	case "lock_timeout":
		t.lock = d
	case "idle_session_timeout":
		t.idle = d
	case "idle_in_transaction_session_timeout":
		t.idleInBlock = d
	}
}

// isTimeout reports whether a setting, by its lower-case name, is a time in
// milliseconds.
func isTimeout(name string) bool {
	for _, t := range settings.TimeoutSettings() {
		if t.Name == name {
			return true
		}
	}
	return false
}

var _ wire.Limiter = (*Session)(nil)

// StatementLimit implements wire.Limiter.
func (s *Session) StatementLimit() time.Duration { return s.limits.statement }

// IdleLimit implements wire.Limiter.
func (s *Session) IdleLimit() time.Duration {
	if s.tx.block {
		return s.limits.idleInBlock
	}
	return s.limits.idle
}

// A tether ties what outlives a call, as the rows of a cursor do, to the contexts of
// the calls that use it, so that none of them cancels it after its end.
type tether struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newTether(ctx context.Context) *tether {
	t := &tether{}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return t
}

// tie lets the end of ctx cancel the tether until the returned function is called.
func (t *tether) tie(ctx context.Context) (untie func() bool) {
	return context.AfterFunc(ctx, func() { t.cancel(context.Cause(ctx)) })
}
