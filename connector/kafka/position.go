package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/streamdb/streamdb/connector"
)

// positions are where a reader's partitions stand, for others to look at.
type positions struct {
	mu sync.Mutex
	at map[int32]connector.Position
}

func (p *positions) next(part *partition, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.at[part.num]
	x.Split, x.Next, x.End = part.name, n, max(x.End, n)
	p.set(part.num, x)
}

func (p *positions) end(num int32, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x, ok := p.at[num]; ok {
		x.End = max(end, x.Next)
		p.set(num, x)
	}
}

func (p *positions) set(num int32, x connector.Position) {
	if p.at == nil {
		p.at = map[int32]connector.Position{}
	}
	p.at[num] = x
}

// Positions implements connector.Positioner.
func (p *positions) Positions() []connector.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]connector.Position, 0, len(p.at))
	for _, x := range p.at {
		out = append(out, x)
	}
	return out
}

// endsEvery is how often the ends of quiet partitions are asked for.
const endsEvery = time.Second

// lookAtEnds asks the brokers where the partitions end. A fetch that is answered
// tells it too, but there may be none: an open transaction holds it back.
func (r *reader) lookAtEnds(ctx context.Context) {
	r.ended = time.Now()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	los, err := kadm.NewClient(r.cl).ListEndOffsets(ctx, r.s.topic)
	if err != nil {
		return // the reader itself notices what lasts
	}
	los.Each(func(lo kadm.ListedOffset) {
		if lo.Err == nil {
			r.end(lo.Partition, lo.Offset)
		}
	})
}

// OffsetOf implements connector.Offsets.
func (s *source) OffsetOf(stored string) (int64, error) {
	o, err := parseOffset(stored)
	return o.next, err
}
