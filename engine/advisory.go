package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/jobs"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
)

// advisoryLocks are the advisory locks of all sessions. Nothing else in the server
// looks at them; they end with the process.
type advisoryLocks struct {
	mu    sync.Mutex
	locks map[advisoryKey]*advisoryLock
}

type advisoryKey struct {
	db uint32
	expr.AdvisoryKey
}

// advisoryLock is a lock that somebody holds or waits for.
type advisoryLock struct {
	holders map[*Session]*holding
	queue   []*advisoryWait // in the order of their coming
}

// holding counts how often a session holds a lock, by mode.
type holding map[expr.AdvisoryMode]int

func (h holding) exclusive() bool { return h[expr.AdvisoryMode{}]+h[expr.AdvisoryMode{Tx: true}] > 0 }

// advisoryWait is a session that waits for a lock; got is closed when it has it.
type advisoryWait struct {
	s    *Session
	mode expr.AdvisoryMode
	got  chan struct{}
}

// takenLock is one taking of a lock for the time of a transaction.
type takenLock struct {
	key  advisoryKey
	mode expr.AdvisoryMode
}

// free reports whether s may have the lock beside those that hold it.
func (l *advisoryLock) free(s *Session, m expr.AdvisoryMode) bool {
	for other, h := range l.holders {
		if other != s && (!m.Shared || h.exclusive()) {
			return false
		}
	}
	return true
}

// behind reports whether s has to wait for those that came before it: who holds the
// lock already has not, lest it waits for somebody who waits for itself.
func (l *advisoryLock) behind(s *Session, m expr.AdvisoryMode) bool {
	if l.holders[s] != nil {
		return false
	}
	return slices.ContainsFunc(l.queue, func(w *advisoryWait) bool { return !m.Shared || !w.mode.Shared })
}

func (l *advisoryLock) give(s *Session, m expr.AdvisoryMode) {
	h := l.holders[s]
	if h == nil {
		h = &holding{}
		l.holders[s] = h
	}
	(*h)[m]++
}

// serve gives the lock to those that wait and can have it. The locks' mu is held.
func (l *advisoryLock) serve() {
	exclusive := false // somebody before waits for the lock alone
	l.queue = slices.DeleteFunc(l.queue, func(w *advisoryWait) bool {
		if l.holders[w.s] == nil && exclusive || !l.free(w.s, w.mode) {
			exclusive = exclusive || !w.mode.Shared
			return false
		}
		l.give(w.s, w.mode)
		close(w.got)
		return true
	})
}

// take takes a lock, or returns how it is waited for.
func (a *advisoryLocks) take(s *Session, k advisoryKey, m expr.AdvisoryMode, wait bool) (*advisoryWait, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.locks[k]
	if l == nil {
		if a.locks == nil {
			a.locks = map[advisoryKey]*advisoryLock{}
		}
		l = &advisoryLock{holders: map[*Session]*holding{}}
		a.locks[k] = l
	}
	if l.free(s, m) && !l.behind(s, m) {
		l.give(s, m)
		return nil, true, nil
	}
	if !wait {
		return nil, false, nil
	}
	w := &advisoryWait{s, m, make(chan struct{})}
	l.queue = append(l.queue, w)
	if a.blocks(s, s, map[*Session]bool{}) {
		l.queue = l.queue[:len(l.queue)-1]
		return nil, false, pgerr.New(pgerr.DeadlockDetected, "deadlock detected")
	}
	return w, false, nil
}

// blocks reports whether s waits, by others or not, for who.
func (a *advisoryLocks) blocks(who, s *Session, seen map[*Session]bool) bool {
	if seen[s] {
		return false
	}
	seen[s] = true
	for _, l := range a.locks {
		for i, w := range l.queue {
			if w.s != s {
				continue
			}
			for other, h := range l.holders {
				if other != s && (!w.mode.Shared || h.exclusive()) && (other == who || a.blocks(who, other, seen)) {
					return true
				}
			}
			for _, before := range l.queue[:i] {
				if before.s != s && (!w.mode.Shared || !before.mode.Shared) && l.holders[s] == nil && (before.s == who || a.blocks(who, before.s, seen)) {
					return true
				}
			}
		}
	}
	return false
}

// leave takes a session that does not wait any longer out of the queue; true: it has
// been given the lock meanwhile.
func (a *advisoryLocks) leave(k advisoryKey, w *advisoryWait) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.locks[k]
	if l == nil || !slices.Contains(l.queue, w) {
		return true
	}
	l.queue = slices.DeleteFunc(l.queue, func(x *advisoryWait) bool { return x == w })
	l.serve()
	a.forget(k, l)
	return false
}

// put gives a lock back once; false: it is not held in this mode.
func (a *advisoryLocks) put(s *Session, k advisoryKey, m expr.AdvisoryMode) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.locks[k]
	if l == nil || l.holders[s] == nil || (*l.holders[s])[m] == 0 {
		return false
	}
	h := *l.holders[s]
	if h[m]--; h[m] == 0 {
		delete(h, m)
	}
	if len(h) == 0 {
		delete(l.holders, s)
	}
	l.serve()
	a.forget(k, l)
	return true
}

// putAll gives back what a session holds to its end.
func (a *advisoryLocks) putAll(s *Session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, l := range a.locks {
		h := l.holders[s]
		if h == nil {
			continue
		}
		delete(*h, expr.AdvisoryMode{})
		delete(*h, expr.AdvisoryMode{Shared: true})
		if len(*h) == 0 {
			delete(l.holders, s)
		}
		l.serve()
		a.forget(k, l)
	}
}

func (a *advisoryLocks) forget(k advisoryKey, l *advisoryLock) {
	if len(l.holders) == 0 && len(l.queue) == 0 {
		delete(a.locks, k)
	}
}

// advisoryUse implements expr.AdvisoryLocks for the statement that ctx is of.
type advisoryUse struct {
	s   *Session
	ctx context.Context
}

// Take implements expr.AdvisoryLocks.
func (u advisoryUse) Take(k expr.AdvisoryKey, m expr.AdvisoryMode, wait bool) (bool, error) {
	s, key := u.s, advisoryKey{u.s.db, k}
	w, got, err := s.eng.advisory.take(s, key, m, wait)
	if w != nil {
		ctx, done := jobs.LockWait(u.ctx)
		defer done()
		select {
		case <-w.got:
			got = true
		case <-ctx.Done():
			if err = jobs.Canceled(ctx); s.eng.advisory.leave(key, w) {
				s.eng.advisory.put(s, key, m)
			}
		}
	}
	if got && m.Tx {
		s.tx.locks = append(s.tx.locks, takenLock{key, m})
	}
	return got, err
}

// Free implements expr.AdvisoryLocks.
func (u advisoryUse) Free(k expr.AdvisoryKey, shared bool) bool {
	if u.s.eng.advisory.put(u.s, advisoryKey{u.s.db, k}, expr.AdvisoryMode{Shared: shared}) {
		return true
	}
	u.s.notice("WARNING", pgerr.New(pgerr.Warning, "you don't own a lock of type %s", advisoryMode(shared)))
	return false
}

// FreeAll implements expr.AdvisoryLocks.
func (u advisoryUse) FreeAll() { u.s.eng.advisory.putAll(u.s) }

// freeTxLocks gives back the locks that the transaction has taken, but for the first
// keep.
func (s *Session) freeTxLocks(keep int) {
	for len(s.tx.locks) > keep {
		l := s.tx.locks[len(s.tx.locks)-1]
		s.tx.locks = s.tx.locks[:len(s.tx.locks)-1]
		s.eng.advisory.put(s, l.key, l.mode)
	}
}

// advisoryMode is the name of a lock's mode.
func advisoryMode(shared bool) string {
	if shared {
		return "ShareLock"
	}
	return "ExclusiveLock"
}

// Locks implements catalog.LocksSource.
func (i serverInfo) Locks() []catalog.AdvisoryLock {
	a := &i.s.eng.advisory
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []catalog.AdvisoryLock
	for k, l := range a.locks {
		row := func(s *Session, shared, granted bool) {
			out = append(out, catalog.AdvisoryLock{Database: k.db, Key: k.N, Two: k.Two, PID: s.expr.BackendPID, Mode: advisoryMode(shared), Granted: granted})
		}
		for s, h := range l.holders {
			if h.exclusive() {
				row(s, false, true)
			}
			if (*h)[expr.AdvisoryMode{Shared: true}]+(*h)[expr.AdvisoryMode{Shared: true, Tx: true}] > 0 {
				row(s, true, true)
			}
		}
		for _, w := range l.queue {
			row(w.s, w.mode.Shared, false)
		}
	}
	slices.SortFunc(out, func(x, y catalog.AdvisoryLock) int {
		return cmp.Or(cmp.Compare(x.Database, y.Database), cmp.Compare(x.Key, y.Key), cmp.Compare(x.PID, y.PID), cmp.Compare(x.Mode, y.Mode))
	})
	return out
}
