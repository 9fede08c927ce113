package jobs

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
)

type encoder = connector.Encoder

// sinkJob delivers a sink's log to its external system, behind and apart from
// the epochs: a sink whose target is away lags and harms nobody.
type sinkJob struct {
	id   uint32
	name string
	sink connector.Sink
	Log  *state.SinkLog
	eng  *Runner
	wake chan struct{}

	mu        sync.Mutex
	delivered types.Epoch
	stop      context.CancelFunc // nil: nothing was started, or it was closed
	done      chan struct{}      // closed when what was started last has ended
	contact   contact
}

func (e *Runner) newSinkJob(id uint32, name string, s connector.Sink) *sinkJob {
	return &sinkJob{id: id, name: name, sink: s, Log: e.Store.SinkLog(id), eng: e, wake: make(chan struct{}, 1)}
}

// start starts the delivery, after the end of one that was closed.
func (s *sinkJob) start() {
	ctx, cancel := context.WithCancel(s.eng.Ctx)
	s.mu.Lock()
	before, done := s.done, make(chan struct{})
	s.stop, s.done = cancel, done
	s.mu.Unlock()
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		s.run(ctx)
	}()
}

func (s *sinkJob) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run opens the deliverer and delivers until it fails, over and over.
func (s *sinkJob) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		before := s.deliveredEpoch()
		err := s.deliverAll(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.deliveredEpoch() != before {
			n = 0
		}
		s.contact.failed(err)
		s.eng.Log.Warn("sink delivery failed; opening it again", "sink", s.name, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(connector.Backoff(n)):
		}
	}
}

func (s *sinkJob) deliverAll(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = pgerr.New(pgerr.Internal, "the delivery of sink %s panicked: %v", s.name, p)
		}
	}()
	d, err := s.sink.Open(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	s.contact.opened(d)
	defer s.contact.opened(nil)
	last, kept, err := d.Last(ctx)
	if err != nil {
		return err
	}
	if kept {
		// What the log no longer holds was delivered. Whether more was, only the
		// target could tell.
		switch done, err := s.Log.Truncated(); {
		case err != nil:
			return err
		case last < done:
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sink \"%s\" has delivered epoch %d, but its target knows of epoch %d only", s.name, done, last).
				WithDetail("The target has lost the mark by which it is known what was delivered.").
				WithHint("Drop the sink and create it again.")
		}
	}
	if newest := types.Epoch(s.eng.Epoch.Load()); last > newest {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sink \"%s\" has delivered epoch %d, but the data directory ends at %d", s.name, last, newest).
			WithDetail("The data directory was restored from an earlier state, or belongs to another server.").
			WithHint("Drop the sink and create it under another name.")
	}
	if last > 0 {
		if err := s.Log.Truncate(last); err != nil {
			return err
		}
	}
	s.contact.failed(nil)
	for {
		ep, err := s.Log.Next(last)
		if err != nil {
			return err
		}
		if ep == nil {
			if err := s.idle(ctx, d); err != nil {
				return err
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.Deliver(ctx, ep.Epoch, bytes.Join(ep.Data, nil)); err != nil {
			return err
		}
		last = ep.Epoch
		s.mu.Lock()
		s.delivered = last
		s.mu.Unlock()
		if err := s.Log.Truncate(last); err != nil {
			return err
		}
	}
}

// pingEvery is how often an idle sink looks whether its target is there.
const pingEvery = 2 * time.Second

// idle waits for something to deliver, and meanwhile notices a target that has
// gone.
func (s *sinkJob) idle(ctx context.Context, d connector.Deliverer) error {
	t := time.NewTimer(pingEvery)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.wake:
	case <-t.C:
		if p, ok := d.(connector.Pinger); ok {
			return p.Ping(ctx)
		}
	}
	return nil
}

func (s *sinkJob) deliveredEpoch() types.Epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered
}

// close ends the delivery, and reports whether there was any. A deliverer that is
// stuck in its external system is left behind; it delivers nothing more.
func (s *sinkJob) close() bool {
	s.mu.Lock()
	stop, done := s.stop, s.done
	s.stop = nil
	s.mu.Unlock()
	if stop == nil {
		return false
	}
	stop()
	select {
	case <-done:
	case <-time.After(HaltWait):
		s.eng.Log.Warn("a sink's delivery did not end and is left behind", "sink", s.name)
	}
	return true
}
