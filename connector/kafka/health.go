package kafka

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// health watches a client's connections: it tries again by itself for ever, and
// would otherwise not tell.
type health struct {
	o     *options
	mu    sync.Mutex
	err   error
	since time.Time
}

// blip is how long connections may fail before that is worth telling: brokers
// close idle ones, and leaders move.
const blip = time.Second

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (h *health) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	h.note(err, false)
}

// OnBrokerRead implements kgo.HookBrokerRead.
func (h *health) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	h.note(err, err == nil)
}

func (h *health) note(err error, well bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case well:
		h.err, h.since = nil, time.Time{}
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed), errors.Is(err, net.ErrClosed):
	default:
		if h.err == nil {
			h.since = time.Now()
		}
		h.err = err
	}
}

// Trouble implements connector.Health.
func (h *health) Trouble() (error, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil || time.Since(h.since) < blip {
		return nil, time.Time{}
	}
	return h.o.explain(h.err), h.since
}
