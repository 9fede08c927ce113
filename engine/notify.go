package engine

import (
	"slices"
	"sync"

	"github.com/streamdb/streamdb/pgerr"
)

// notices ties channels to the sessions that listen to them. Notifications are sent
// in the order of the commits that made them.
type notices struct {
	mu        sync.Mutex
	listeners map[channel]map[*Session]bool
}

// channel is a channel of a database.
type channel struct {
	db   uint32
	name string
}

// notification is a NOTIFY whose transaction is not over.
type notification struct{ channel, payload string }

// listening is a LISTEN or UNLISTEN whose transaction is not over; no channel: all.
type listening struct {
	channel string
	off     bool
}

// notify keeps a notification until the transaction commits. One that was made
// already in the same transaction is not made again.
func (s *Session) notify(channel, payload string) error {
	switch {
	case channel == "":
		return pgerr.New(pgerr.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) > 63:
		return pgerr.New(pgerr.InvalidParameterValue, "channel name too long")
	case len(payload) > 7999:
		return pgerr.New(pgerr.InvalidParameterValue, "payload string too long")
	}
	if n := (notification{channel, payload}); !slices.Contains(s.tx.notes, n) {
		s.tx.notes = append(s.tx.notes, n)
	}
	return nil
}

// listen keeps a LISTEN or UNLISTEN until the transaction commits.
func (s *Session) listen(channel string, off bool) {
	s.tx.listens = append(s.tx.listens, listening{channel, off})
}

// settleNotices carries out what the transaction, which has committed, said about
// channels.
func (s *Session) settleNotices() {
	if len(s.tx.listens) == 0 && len(s.tx.notes) == 0 {
		return
	}
	n := &s.eng.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range s.tx.listens {
		n.change(s, l)
	}
	for _, note := range s.tx.notes {
		for l := range n.listeners[channel{s.db, note.channel}] {
			l.client.Notification(s.client.PID(), note.channel, note.payload)
		}
	}
}

// change makes a session listen to a channel, or not any more. n.mu is held.
func (n *notices) change(s *Session, l listening) {
	c := channel{s.db, l.channel}
	switch {
	case l.off && l.channel == "":
		for c := range n.listeners {
			if c.db == s.db {
				n.change(s, listening{c.name, true})
			}
		}
	case l.off:
		delete(n.listeners[c], s)
		if len(n.listeners[c]) == 0 {
			delete(n.listeners, c)
		}
	default:
		if n.listeners == nil {
			n.listeners = map[channel]map[*Session]bool{}
		}
		if n.listeners[c] == nil {
			n.listeners[c] = map[*Session]bool{}
		}
		n.listeners[c][s] = true
	}
}

// unlisten ends all that the session listens to, at once.
func (s *Session) unlisten() {
	n := &s.eng.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	n.change(s, listening{off: true})
}

// channels are those that the session listens to, in order.
func (s *Session) channels() []string {
	n := &s.eng.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for c, by := range n.listeners {
		if by[s] {
			out = append(out, c.name)
		}
	}
	slices.Sort(out)
	return out
}
