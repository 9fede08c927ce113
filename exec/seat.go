package exec

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Seats are places for goroutines that work without end, such as the tasks of a job
// that reads a source: as many as there are cores. What a statement waits for works
// little and often, and would otherwise stand in line at each of its steps behind
// pieces of work that take longer. Seats count only while there are such statements,
// and some of them then stay free; otherwise everybody works as he likes.
type Seats struct {
	until    atomic.Int64 // ns after began: seats count
	began    time.Time
	mu       sync.Mutex
	all      int
	taken    int
	reserved int
	waiting  []*Seat // in their order
}

// NewSeats makes n seats.
func NewSeats(n int) *Seats { return &Seats{all: n, began: time.Now()} }

// linger is how long seats count after the last statement: mostly another one comes.
const linger = 10 * time.Millisecond

// count reports whether seats count.
func (s *Seats) count() bool {
	until := s.until.Load()
	return until == math.MaxInt64 || until > 0 && int64(time.Since(s.began)) < until
}

// Seat is the place of one goroutine. A nil Seat is always free.
type Seat struct {
	of    *Seats
	held  bool
	free  chan struct{} // tells that the seat was given to it
	timer *time.Timer
}

// Seat makes the place of a goroutine; nil Seats give nil.
func (s *Seats) Seat() *Seat {
	if s == nil {
		return nil
	}
	return &Seat{of: s, free: make(chan struct{}, 1)}
}

// Reserve keeps a seat free until Release, for work that is short and waited for.
// At most half of the seats are kept.
func (s *Seats) Reserve() {
	s.mu.Lock()
	s.reserved++
	s.until.Store(math.MaxInt64)
	s.mu.Unlock()
}

// Release ends a Reserve.
func (s *Seats) Release() {
	s.mu.Lock()
	if s.reserved--; s.reserved == 0 {
		s.until.Store(int64(time.Since(s.began) + linger))
	}
	s.seat()
	s.mu.Unlock()
}

// room is how many seats may be taken. s.mu is held.
func (s *Seats) room() int { return s.all - min(s.reserved, s.all/2) }

func (s *Seats) open() bool { return s.taken < s.room() }

// seat gives free seats to those that wait. s.mu is held.
func (s *Seats) seat() {
	for len(s.waiting) > 0 && s.open() {
		first := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.taken++
		first.free <- struct{}{}
	}
}

// seatWait bounds the wait for a seat. Seats only order work, nothing depends on
// them, so whoever has waited so long goes on without one: those that sit may be
// waiting for him.
const seatWait = 10 * time.Millisecond

// Take waits for a seat, but not long, if seats count.
func (t *Seat) Take() {
	if t == nil || t.held || !t.of.count() {
		return
	}
	s := t.of
	s.mu.Lock()
	if len(s.waiting) == 0 && s.open() {
		s.taken++
		t.held = true
		s.mu.Unlock()
		return
	}
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	t.await()
}

func (t *Seat) await() {
	if t.timer == nil {
		t.timer = time.NewTimer(seatWait)
	} else {
		t.timer.Reset(seatWait)
	}
	defer t.timer.Stop()
	select {
	case <-t.free:
		t.held = true
		return
	case <-t.timer.C:
	}
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, t); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return
	}
	<-t.free // it was given just now
	t.held = true
}

// Offer takes a seat, or lets the goroutine that has waited longest have the one it
// has, between two pieces of work.
func (t *Seat) Offer() {
	if t == nil || !t.held && !t.of.count() {
		return
	}
	t.of.mu.Lock()
	keep := t.held && len(t.of.waiting) == 0 && t.of.taken <= t.of.room()
	t.of.mu.Unlock()
	if !keep {
		t.Leave()
		t.Take()
	}
}

// Leave frees the seat, before its goroutine waits for something.
func (t *Seat) Leave() {
	if t == nil || !t.held {
		return
	}
	t.held = false
	s := t.of
	s.mu.Lock()
	s.taken--
	s.seat()
	s.mu.Unlock()
}
