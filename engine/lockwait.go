package engine

import (
	"context"

	"github.com/streamdb/streamdb/engine/jobs"
)

// withLockLimit lets the waits of a statement find the session's lock_timeout.
func (s *Session) withLockLimit(ctx context.Context) context.Context {
	if s.limits.lock <= 0 {
		return ctx
	}
	return context.WithValue(ctx, jobs.LockLimit{}, s.limits.lock)
}
