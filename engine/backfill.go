package engine

import (
	"context"
	"sync"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/vec"
)

// A new job on existing data runs in a graph of its own while it catches up, so
// that neither its barriers nor its speed touch the graph it will join:
//
//  1. At rest, take a snapshot and start to record the upstream changes.
//  2. Read the snapshot through the job, with epochs of its own.
//  3. Play the recorded changes until few are left.
//  4. At rest again, play the rest, connect the job to the live change streams
//     and move it into the graph.

// capture records a relation's changes while a job catches up.
type capture struct {
	mu   sync.Mutex
	rows []*vec.Chunk
}

// Send implements exec.Output.
func (c *capture) Send(ch *vec.Chunk) error {
	c.mu.Lock()
	c.rows = append(c.rows, ch.Clone())
	c.mu.Unlock()
	return nil
}

// Barrier implements exec.Output. A recorded stream needs none: what is recorded
// when the graph is at rest is exactly the committed changes.
func (c *capture) Barrier(*exec.Barrier) error { return nil }

func (c *capture) take() []*vec.Chunk {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rows
	c.rows = nil
	return r
}

// backfill is a job catching up.
type backfill struct {
	job   *job
	own   *graph
	up    *graph
	snap  *state.Snapshot
	caps  map[uint32]*capture
	fans  map[uint32][]*exec.FanOut
	feeds map[uint32][]*feedEdge
	sent  int
}

// feedEdge plays rows into one scan leaf.
type feedEdge struct {
	cols  []int
	inbox *exec.Inbox
	edge  *exec.Edge
	out   exec.Output
}

// backfillEpochRows bounds the rows of an epoch of a job that catches up.
const backfillEpochRows = 200_000

// attach starts the job on graph up and returns when it is up to date and part
// of it, or when ctx ends.
func (e *Engine) attach(ctx context.Context, j *job, up *graph) error {
	b := &backfill{job: j, up: up, caps: map[uint32]*capture{}, fans: map[uint32][]*exec.FanOut{}, feeds: map[uint32][]*feedEdge{}}
	b.own = e.newGraph()
	b.own.jobs[j.id] = j
	e.setGraph(j.id, b.own)
	b.openFeeds()
	if err := j.connectSources(); err != nil {
		return err
	}
	if err := up.atRest(b.record); err != nil {
		return err
	}
	defer b.stopRecording()
	j.start()
	j.startReaders()
	err := b.readSnapshot(ctx)
	b.snap.Close()
	for err == nil {
		var n int
		if n, err = b.replay(ctx); n < vec.MaxRows {
			break
		}
	}
	if err == nil {
		err = up.atRest(func() error { return b.join(ctx) })
	}
	return err
}

// openFeeds gives every relation scan of the job an edge to be fed by.
func (b *backfill) openFeeds() {
	for _, t := range b.job.tasks {
		for leaf, n := range b.job.frags[t.frag].leaves {
			s, ok := n.(*plan.Scan)
			if !ok || (s.Kind != plan.RelTable && s.Kind != plan.RelView) {
				continue
			}
			f := &feedEdge{cols: s.Cols, inbox: t.inbox, edge: t.inbox.Connect(leaf, false)}
			f.out = newScanOutput(s, f.edge, b.job.eng.cfg.ChunkRows)
			b.feeds[s.Rel] = append(b.feeds[s.Rel], f)
		}
	}
	fan := &exec.FanOut{}
	for _, fs := range b.feeds {
		for _, f := range fs {
			fan.Add(f.out)
		}
	}
	b.own.tables[0] = &tableNode{fan: fan}
}

// newScanOutput narrows a relation's changes to what a scan reads.
func newScanOutput(s *plan.Scan, e *exec.Edge, rows int) exec.Output {
	pool := &vec.Pool{Types: scanTypes(s)}
	return exec.NewColumnsOutput(s.Cols, exec.NewHashOutput(nil, []*exec.Edge{e}, pool, rows))
}

// record is called at rest: what is committed now is in the snapshot, what comes
// is recorded.
func (b *backfill) record() error {
	b.snap = b.job.eng.store.Snapshot()
	for rel := range b.feeds {
		b.caps[rel] = &capture{}
		b.fans[rel] = b.up.fansOf(rel)
		for _, f := range b.fans[rel] {
			f.Add(b.caps[rel])
		}
	}
	return nil
}

func (b *backfill) stopRecording() {
	b.up.mu.Lock()
	defer b.up.mu.Unlock()
	for rel, fs := range b.fans {
		for _, f := range fs {
			f.Remove(b.caps[rel])
		}
	}
	b.fans = nil
}

func (b *backfill) readSnapshot(ctx context.Context) error {
	for rel := range b.feeds {
		err := b.job.eng.scanRelation(b.snap, rel, b.job.eng.cfg.ChunkRows, func(c *vec.Chunk) error {
			return b.feed(ctx, rel, c)
		})
		if err != nil {
			return err
		}
	}
	return b.epoch()
}

// feed plays a chunk into the scans of rel, and ends an epoch now and then.
func (b *backfill) feed(ctx context.Context, rel uint32, c *vec.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.job.err(); err != nil {
		return err
	}
	for _, f := range b.feeds[rel] {
		if err := f.out.Send(c); err != nil {
			return err
		}
	}
	b.sent += c.Rows
	b.job.backfilled.Add(int64(c.Rows))
	if b.sent >= backfillEpochRows {
		return b.epoch()
	}
	return nil
}

func (b *backfill) epoch() error {
	b.sent = 0
	b.own.mu.Lock()
	defer b.own.mu.Unlock()
	if err := b.own.cycle(false); err != nil {
		return err
	}
	return b.job.err()
}

// replay plays what has been recorded and returns how much that was.
func (b *backfill) replay(ctx context.Context) (int, error) {
	n := 0
	for rel, c := range b.caps {
		for _, ch := range c.take() {
			n += ch.Rows
			if err := b.feed(ctx, rel, ch); err != nil {
				return n, err
			}
		}
	}
	return n, b.epoch()
}

// join is called with the upstream graph at rest.
func (b *backfill) join(ctx context.Context) error {
	if _, err := b.replay(ctx); err != nil {
		return err
	}
	b.own.mu.Lock()
	defer b.own.mu.Unlock()
	if err := b.own.cycle(true); err != nil {
		return err
	}
	for _, fs := range b.feeds {
		for _, f := range fs {
			f.inbox.Disconnect(f.edge)
		}
	}
	b.up.connect(b.job)
	b.up.jobs[b.job.id] = b.job
	b.job.eng.setGraph(b.job.id, b.up)
	return nil
}

// fansOf returns the change streams of a relation in the graph.
func (g *graph) fansOf(rel uint32) []*exec.FanOut {
	if t := g.tables[rel]; t != nil {
		return []*exec.FanOut{t.fan}
	}
	if j := g.jobs[rel]; j != nil {
		return j.fans
	}
	return nil
}

// connect links the job's relation scans to the change streams of the graph,
// which is at rest.
func (g *graph) connect(j *job) {
	for _, t := range j.tasks {
		for leaf, n := range j.frags[t.frag].leaves {
			s, ok := n.(*plan.Scan)
			if !ok || (s.Kind != plan.RelTable && s.Kind != plan.RelView) {
				continue
			}
			for _, fan := range g.fansOf(s.Rel) {
				e := t.inbox.Connect(leaf, false)
				out := newScanOutput(s, e, j.eng.cfg.ChunkRows)
				fan.Add(out)
				j.links = append(j.links, link{s.Rel, fan, out, t.inbox, e})
			}
		}
	}
}
