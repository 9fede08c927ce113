package wire

import (
	"errors"
	"os"
	"sync"
	"time"
)

// watchAfter is how long a statement runs before its connection is watched.
// Short statements never pay for it.
const watchAfter = 200 * time.Millisecond

// watch notices that a client has gone while its statement runs, when nobody
// reads from the connection: it waits for the next byte, without taking it.
type watch struct {
	c     *conn
	timer *time.Timer
	mu    sync.Mutex
	armed bool
	// pending: the timer runs. It is left running when the watch is disarmed, and
	// looks at the time when it fires, since statements are far more frequent.
	pending bool
	since   time.Time     // when the watch was armed last
	done    chan struct{} // non-nil while the waiting goroutine runs
}

func (w *watch) init(c *conn) {
	w.c = c
	w.timer = time.AfterFunc(time.Hour, w.fire)
	w.timer.Stop()
}

// start arms the watch; stop must follow before anyone reads.
func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.since = true, time.Now()
	if !w.pending {
		w.pending = true
		w.timer.Reset(watchAfter)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	w.armed = false
	done := w.done
	w.mu.Unlock()
	if done == nil {
		return
	}
	w.c.nc.SetReadDeadline(time.Unix(1, 0)) // wakes the waiting goroutine
	<-done
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if !w.c.terminating {
		w.c.nc.SetReadDeadline(time.Time{})
	}
}

func (w *watch) fire() {
	w.mu.Lock()
	w.pending = false
	if !w.armed || w.done != nil {
		w.mu.Unlock()
		return
	}
	if left := watchAfter - time.Since(w.since); left > 0 {
		w.pending = true
		w.timer.Reset(left)
		w.mu.Unlock()
		return
	}
	done := make(chan struct{})
	w.done = done
	w.mu.Unlock()
	_, err := w.c.br.Peek(1)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.c.cancelWith(errLost)
	}
	w.mu.Lock()
	w.done = nil
	w.mu.Unlock()
	close(done)
}
