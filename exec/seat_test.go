package exec

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// No more goroutines sit than there are seats, and every one gets its turn.
func TestSeatsBoundWhoWorks(t *testing.T) {
	s := NewSeats(4)
	s.Reserve()
	var sitting, most atomic.Int32
	var wg sync.WaitGroup
	for range 12 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			seat := s.Seat()
			for range 200 {
				seat.Offer()
				if seat.held { // else it has waited too long, as on a machine under load
					n := sitting.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					sitting.Add(-1)
				}
			}
			seat.Leave()
		}()
	}
	wg.Wait()
	if most.Load() > 3 || s.taken != 0 || len(s.waiting) != 0 {
		t.Errorf("%d sat at once; %d still sit and %d wait", most.Load(), s.taken, len(s.waiting))
	}
}

// Reserved seats stay free, but never more than half of all; they are given to those
// that wait as soon as they are released.
func TestSeatsAreReserved(t *testing.T) {
	s := NewSeats(4)
	for range 3 {
		s.Reserve()
	}
	a, b, c := s.Seat(), s.Seat(), s.Seat()
	a.Take()
	b.Take()
	if !a.held || !b.held || s.open() {
		t.Fatal("half of the seats may be taken, and no more")
	}
	done := make(chan struct{})
	go func() {
		c.Take()
		close(done)
	}()
	for waiting := 0; waiting == 0; time.Sleep(time.Microsecond) {
		s.mu.Lock()
		waiting = len(s.waiting) + s.taken - 2
		s.mu.Unlock()
		select {
		case <-done: // it waited for too long
			waiting = 1
		default:
		}
	}
	s.Release()
	s.Release()
	<-done
	s.Release()
	for _, x := range []*Seat{a, b, c} {
		x.Leave()
	}
	if s.taken != 0 || s.reserved != 0 || len(s.waiting) != 0 {
		t.Errorf("%+v", s)
	}
}

// Who waits for a seat that is not freed goes on without one: what it does may be
// what the others wait for.
func TestNobodyDependsOnASeat(t *testing.T) {
	s := NewSeats(1)
	s.Reserve()
	a, b := s.Seat(), s.Seat()
	a.Take()
	b.Take()
	if b.held || len(s.waiting) != 0 {
		t.Fatal("it sits on a seat that is taken")
	}
	b.Leave()
	a.Leave()
	if b.Take(); !b.held {
		t.Error("the seat is free")
	}
	a.Leave()
	b.Leave()
	s.Release()
	for s.count() {
		time.Sleep(time.Millisecond)
	}
	if a.Take(); a.held {
		t.Error("seats count although nobody waits for anything")
	}
	var none *Seat
	none.Take()
	none.Offer()
	none.Leave()
}
