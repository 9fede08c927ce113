package exec

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// ErrStopped is returned to producers whose consumer has stopped.
var ErrStopped = errors.New("exec: the receiving task has stopped")

// Barrier ends an epoch. It travels in band; a task seals when it has come from
// all its producers.
type Barrier struct {
	Epoch types.Epoch
	// Now is the time of the epoch's end, µs since 2000-01-01 UTC: the current time
	// of everything in it.
	Now int64
	// Pause makes source tasks stop reading until Resume, so that the graph is
	// at rest once the epoch is committed.
	Pause bool
}

// Message is what travels on an edge: a chunk, or a barrier, or a resume.
type Message struct {
	Chunk *vec.Chunk
	// Pool takes the chunk back after use; nil: the garbage collector does.
	Pool    *vec.Pool
	Barrier *Barrier
	Resume  bool
	// Offsets and Bad accompany chunks of source readers.
	Source *SourceProgress
}

// edgeRowsMax bounds the rows waiting on one edge. The bound is per edge because
// a bound shared by edges deadlocks alignment: an early producer's rows would
// keep out the chunks that precede a late producer's barrier.
const edgeRowsMax = 8 * vec.MaxRows

// wakeRows is how many rows wait for a task before it is woken without a barrier.
// What is not sealed is not visible, so waiting costs no freshness, and in a small
// epoch each task is woken once instead of for each producer.
const wakeRows = 256

// Inbox is the receiving end of a task.
type Inbox struct {
	mu      sync.Mutex
	arrived sync.Cond
	edges   []*Edge
	turn    int
	paused  bool
	stopped bool
	waiting bool // the task waits for a message
	woken   bool // and has been told to look
	held    time.Duration

	rows    int // queued on all edges
	aligned int // edges that take part in barriers
	ready   int // those of them to which a barrier has come
}

// Held returns how long producers have waited in all because their edges were
// full.
func (b *Inbox) Held() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Edge is one producer's queue into an inbox.
type Edge struct {
	in    *Inbox
	input int
	// unaligned edges (source readers) carry no barriers.
	unaligned bool
	// awaited: no barrier passes before the edge's first message, so that the
	// first epoch of a source holds the starting offsets of all its readers.
	awaited bool
	space   sync.Cond
	q       []Message
	head    int // of the messages in q that are still to be taken
	rows    int
	bars    int      // barriers in q, and the one below
	barrier *Barrier // the barrier this edge is stopped at
	seat    *Seat    // of its producer; nil: it has none
}

// NewInbox makes an empty inbox.
func NewInbox() *Inbox {
	b := &Inbox{}
	b.arrived.L = &b.mu
	return b
}

// Connect adds a producer for input. Edges that do not take part in barrier
// alignment are unaligned. The graph must be at rest.
func (b *Inbox) Connect(input int, unaligned bool) *Edge {
	e := &Edge{in: b, input: input, unaligned: unaligned}
	e.space.L = &b.mu
	b.mu.Lock()
	b.edges = append(b.edges, e)
	if !unaligned {
		b.aligned++
	}
	b.mu.Unlock()
	return e
}

// SentBy tells whose seat to free while the edge is full: that of the goroutine
// that sends. It must be called before that one starts.
func (e *Edge) SentBy(s *Seat) { e.seat = s }

// AwaitFirst makes barriers wait for the edge's first message. It must be called
// before the task starts.
func (e *Edge) AwaitFirst() { e.awaited = true }

// Disconnect removes a producer. The graph must be at rest.
func (b *Inbox) Disconnect(e *Edge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.edges {
		if x == e {
			b.edges = append(b.edges[:i:i], b.edges[i+1:]...)
			b.rows -= e.rows
			if !e.unaligned {
				b.aligned--
				b.ready -= min(e.bars, 1)
			}
			break
		}
	}
	b.turn = 0
	b.rouse()
}

// rouse wakes the task. The inbox is locked.
func (b *Inbox) rouse() {
	b.woken = true
	b.arrived.Signal()
}

// Send queues a message, waiting while the edge is full. Barriers and resumes
// never wait. The chunk is given away.
func (e *Edge) Send(m Message) error {
	b := e.in
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.Chunk != nil && e.rows >= edgeRowsMax {
		e.awaitSpace()
	}
	if b.stopped {
		return ErrStopped
	}
	e.q = append(e.q, m)
	switch {
	case m.Barrier != nil:
		if e.bars++; e.bars == 1 && !e.unaligned {
			b.ready++
		}
	case m.Chunk != nil:
		e.rows += m.Chunk.Rows
		b.rows += m.Chunk.Rows
	}
	if e.unaligned || m.Resume || b.rows >= wakeRows || b.ready == b.aligned {
		b.rouse()
	}
	return nil
}

// next waits for and returns the next message in alignment order. For a barrier
// all aligned edges have delivered it. ok is false when the inbox has stopped.
func (b *Inbox) next() (m Message, input int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.stopped {
			return Message{}, 0, false
		}
		if bar := b.passing(); bar != nil {
			return Message{Barrier: bar}, 0, true
		}
		if m, input, ok = b.take(); ok {
			return m, input, true
		}
		b.waiting, b.woken = true, false
		b.arrived.Wait()
		b.waiting = false
	}
}

// Stall describes an inbox whose task waits with nothing queued, edge by edge; ""
// if the task has or will have something to do, or has ended.
func (b *Inbox) Stall() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.waiting || b.woken || b.stopped {
		return ""
	}
	s := "waiting"
	for _, e := range b.edges {
		at := "open"
		if e.barrier != nil {
			at = fmt.Sprintf("at barrier %d", e.barrier.Epoch)
		}
		s += fmt.Sprintf("; input %d %s, %d queued", e.input, at, len(e.q)-e.head)
	}
	return s
}

// passing returns the barrier all aligned edges are stopped at, and lets them go.
func (b *Inbox) passing() *Barrier {
	var bar *Barrier
	for _, e := range b.edges {
		if e.unaligned {
			if e.awaited {
				return nil
			}
			continue
		}
		if e.barrier == nil {
			return nil
		}
		bar = e.barrier
	}
	if bar == nil {
		return nil
	}
	for _, e := range b.edges {
		if e.unaligned {
			continue
		}
		e.barrier = nil
		if e.bars--; e.bars == 0 {
			b.ready--
		}
	}
	b.paused = bar.Pause
	return bar
}

// take removes one message from the next edge that has one and is not stopped.
func (b *Inbox) take() (Message, int, bool) {
	for range b.edges {
		b.turn = (b.turn + 1) % len(b.edges)
		e := b.edges[b.turn]
		if e.head == len(e.q) || e.barrier != nil || (e.unaligned && b.paused) {
			continue
		}
		m := e.pop()
		e.awaited = false
		switch {
		case m.Resume:
			b.paused = false
			b.turn = 0
			return b.take()
		case m.Barrier != nil:
			e.barrier = m.Barrier
			if bar := b.passing(); bar != nil {
				return Message{Barrier: bar}, 0, true
			}
			continue
		case m.Chunk != nil:
			e.rows -= m.Chunk.Rows
			b.rows -= m.Chunk.Rows
			e.space.Broadcast()
		}
		return m, e.input, true
	}
	return Message{}, 0, false
}

// keptMessages is how many messages an edge's queue has memory for in any case.
const keptMessages = 64

// pop removes the first message of an edge that has one.
func (e *Edge) pop() Message {
	m := e.q[e.head]
	e.q[e.head] = Message{}
	e.head++
	switch {
	case e.head < len(e.q) && e.head < keptMessages || 2*e.head < len(e.q):
	case cap(e.q) > 2*keptMessages && e.head == len(e.q):
		e.q, e.head = nil, 0
	default:
		n := copy(e.q, e.q[e.head:])
		clear(e.q[n:])
		e.q, e.head = e.q[:n], 0
	}
	return m
}

// Stop ends the inbox: producers get ErrStopped, the consumer ends.
func (b *Inbox) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped, b.woken = true, true
	b.arrived.Broadcast()
	for _, e := range b.edges {
		e.space.Broadcast()
	}
}
