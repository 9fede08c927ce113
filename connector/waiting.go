package connector

import "context"

type waitingKey struct{}

// OnWait gives a Reader's Read a function to call when it begins to wait for the
// outside; what that returns is called when the wait is over.
func OnWait(ctx context.Context, f func() (over func())) context.Context {
	return context.WithValue(ctx, waitingKey{}, f)
}

// Wait tells whoever called Read that it waits from now on, as for records or for
// the time, until over is called: others may use its share of the processors.
func Wait(ctx context.Context) (over func()) {
	if f, ok := ctx.Value(waitingKey{}).(func() func()); ok {
		return f()
	}
	return func() {}
}
