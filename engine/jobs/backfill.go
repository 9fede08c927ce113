package jobs

import (
	"context"
	"slices"
	"sync"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
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

// capture records a relation's committed changes while a job catches up.
type capture struct {
	mu    sync.Mutex
	open  []*vec.Chunk // of the epoch that is not committed yet
	ready []*vec.Chunk
	bytes int
	limit int
	full  bool // more came than the limit: the recording is of no use
	shut  bool
}

// Send implements exec.Output.
func (c *capture) Send(ch *vec.Chunk) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut || c.full {
		return nil
	}
	if n := len(c.open); n > 0 && c.open[n-1].Rows+ch.Rows <= vec.MaxRows {
		last := c.open[n-1]
		c.bytes -= last.MemSize()
		last.AppendRange(ch, 0, ch.Rows)
		c.bytes += last.MemSize()
	} else {
		last := ch.Clone()
		c.open = append(c.open, last)
		c.bytes += last.MemSize()
	}
	if c.bytes > c.limit {
		c.full, c.open, c.ready = true, nil, nil
	}
	return nil
}

// Barrier implements exec.Output. A recorded stream needs none: commit and
// rollback tell where an epoch ends.
func (c *capture) Barrier(*exec.Barrier) error { return nil }

// commit makes the changes of the epoch part of what take returns.
func (c *capture) commit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.open {
		n := len(c.ready)
		if n == 0 || c.ready[n-1].Rows+ch.Rows > vec.MaxRows {
			c.ready = append(c.ready, ch)
			continue
		}
		last := c.ready[n-1]
		c.bytes -= last.MemSize() + ch.MemSize()
		last.AppendRange(ch, 0, ch.Rows)
		c.bytes += last.MemSize()
	}
	c.open = nil
}

// rollback forgets the changes of an epoch that was not committed.
func (c *capture) rollback() {
	c.mu.Lock()
	c.open = nil
	c.mu.Unlock()
}

func (c *capture) close() {
	c.mu.Lock()
	c.shut, c.open, c.ready = true, nil, nil
	c.mu.Unlock()
}

func (c *capture) closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut
}

func (c *capture) take() ([]*vec.Chunk, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full {
		return nil, pgerr.New(pgerr.OutOfMemory, "too many changes came while the object was being created").
			WithDetail("More than %d MB of changes waited for it to catch up.", c.limit>>20).
			WithHint("Create it when fewer changes are made.")
	}
	r := c.ready
	c.ready, c.bytes = nil, 0
	for _, ch := range c.open {
		c.bytes += ch.MemSize()
	}
	return r, nil
}

// backfill is a job catching up.
type backfill struct {
	job *Job
	own *Graph
	// anchor is a relation of the graph to join.
	anchor uint32
	snap   *sharedSnapshot
	cat    *catalog.Snapshot // as it was with snap
	caps   map[uint32]*capture
	feeds  map[uint32][]*feedEdge
	sent   int
	// fork is what the job takes over from another one; nil: nothing.
	fork *fork
}

// feedEdge plays rows into one scan leaf.
type feedEdge struct {
	cols  []int
	inbox *exec.Inbox
	edge  *exec.Edge
	out   exec.Output
	// looked: the job reads the relation's rows where they are stored and is fed
	// their changes only.
	looked bool
	// leaf is the scan's, whose rows are not read if its state is taken over.
	leaf opAddr
}

// backfillEpochRows, of Runner.BackfillRows, bounds the rows of an epoch of a job that catches up.
const backfillEpochRows = 200_000

// replayRounds bounds how often recorded changes are played before the job joins
// in any case, with the writers waiting for the rest. It also joins when the
// rounds do not get shorter: it would never catch up.
const replayRounds = 10

// attach starts the job on the graph of what it reads and returns when it is up
// to date and part of it, or when ctx ends.
func (e *Runner) attach(ctx context.Context, j *Job, own *Graph) error {
	b := newBackfill(j, own, j.rels[0])
	defer context.AfterFunc(ctx, func() { j.end(Canceled(ctx)); j.halt() })()
	defer b.stopRecording()
	defer b.release()
	err := b.catchUp(ctx)
	if err == nil {
		err = b.atRest(ctx, b.join)
	}
	if err != nil && j.Err() != nil {
		err = j.Err()
	}
	return err
}

// newBackfill is for a job in a graph of its own. The graph that it is to join is that
// of anchor.
func newBackfill(j *Job, own *Graph, anchor uint32) *backfill {
	return &backfill{job: j, own: own, anchor: anchor, caps: map[uint32]*capture{}, feeds: map[uint32][]*feedEdge{}}
}

// catchUp starts the job and returns when it is nearly up to date with the
// relations that it reads.
func (b *backfill) catchUp(ctx context.Context) error {
	j := b.job
	b.openFeeds()
	if len(b.feeds) > 0 || b.fork != nil {
		if err := b.atRest(ctx, b.record); err != nil {
			return err
		}
	}
	if b.fork != nil {
		if err := b.fork.copy(b.snap.Snapshot); err != nil {
			return err
		}
		b.fork.apply()
	}
	if err := j.connectSources(); err != nil {
		return err
	}
	j.start()
	err := b.readSnapshot()
	for err == nil && j.replaying.Load() > 0 {
		err = b.epoch()
	}
	if err != nil {
		return err
	}
	j.readOn()
	if j.Stored == nil {
		b.release()
	}
	if len(b.feeds) == 0 {
		return nil
	}
	for last, round := 0, 0; err == nil && round < replayRounds; round++ {
		var n int
		if n, err = b.replay(); n < vec.MaxRows || (round > 0 && n > last/4*3) {
			break
		}
		last = n
	}
	return err
}

// release closes the snapshot, which joins that look rows up need until the end.
func (b *backfill) release() {
	if b.snap != nil {
		b.snap.Close()
		b.snap = nil
	}
}

// atRest runs f with the graph that the job is to join at rest, whichever that is
// by now.
func (b *backfill) atRest(ctx context.Context, f func(up *Graph) error) error {
	for {
		g := b.job.eng.LookupGraph(b.anchor)
		if g == nil {
			return stage.RelationGone(b.anchor)
		}
		err := g.AtRest(ctx, func() error { return f(g) })
		if err != ErrMerged {
			return err
		}
	}
}

// openFeeds gives every relation scan of the job an edge to be fed by.
func (b *backfill) openFeeds() {
	for _, t := range b.job.tasks {
		for leaf, n := range b.job.Frags[t.frag].leaves {
			s, ok := n.(*plan.Scan)
			if !ok || (s.Kind != plan.RelTable && s.Kind != plan.RelView) {
				continue
			}
			f := &feedEdge{leaf: opAddr{t.frag, leaf}, cols: s.Cols, inbox: t.inbox, edge: t.inbox.Connect(leaf, false), looked: b.job.looked[s]}
			f.out = newScanOutput(s, f.edge, b.job.eng.Config.ChunkRows)
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
func (b *backfill) record(up *Graph) error {
	for _, r := range b.job.rels {
		if j := up.jobs[r]; j != nil && j.Err() != nil {
			return upstreamFailed(j)
		}
	}
	b.cat = b.job.eng.Catalog.Current()
	b.snap = &sharedSnapshot{Snapshot: b.job.eng.Store.Snapshot()}
	b.snap.holders.Store(1)
	if b.job.Stored != nil {
		b.job.Stored.pin(b.snap, b.cat)
	}
	if b.fork != nil {
		if err := b.fork.begin(up); err != nil {
			return err
		}
	}
	for rel := range b.feeds {
		c := &capture{limit: b.job.eng.Config.CaptureBytes}
		b.caps[rel], up.captures[c] = c, rel
		for _, f := range up.fansOf(rel) {
			f.Add(c)
		}
	}
	return nil
}

// stopRecording leaves it to the graph's next cycle to forget the recordings.
func (b *backfill) stopRecording() {
	for _, c := range b.caps {
		c.close()
	}
}

func (b *backfill) readSnapshot() error {
	for rel, fs := range b.feeds {
		fed := slices.DeleteFunc(slices.Clone(fs), func(f *feedEdge) bool { return f.looked || b.job.kept[f.leaf] })
		if len(fed) == 0 {
			continue
		}
		err := stage.ScanRelation(b.cat, b.snap.Snapshot, rel, b.job.eng.Config.ChunkRows, func(c *vec.Chunk) error {
			return b.feed(fed, c)
		})
		if err != nil {
			return err
		}
	}
	return b.epoch()
}

// feed plays a chunk into scans, and ends an epoch now and then.
func (b *backfill) feed(to []*feedEdge, c *vec.Chunk) error {
	if err := b.job.Err(); err != nil {
		return err
	}
	for _, f := range to {
		if err := f.out.Send(c); err != nil {
			return err
		}
	}
	b.sent += c.Rows
	b.job.Backfilled.Add(int64(c.Rows))
	if b.sent >= b.job.eng.BackfillRows {
		return b.epoch()
	}
	return nil
}

func (b *backfill) epoch() error { return b.cycle(false) }

func (b *backfill) cycle(pause bool) error {
	b.sent = 0
	b.own.mu.Lock()
	defer b.own.mu.Unlock()
	if err := b.own.cycle(pause); err != nil {
		return err
	}
	return b.job.Err()
}

// replay plays what has been recorded and returns how much that was.
func (b *backfill) replay() (int, error) {
	n := 0
	for rel, c := range b.caps {
		chs, err := c.take()
		if err != nil {
			return n, err
		}
		for _, ch := range chs {
			n += ch.Rows
			if err := b.feed(b.feeds[rel], ch); err != nil {
				return n, err
			}
		}
	}
	return n, b.epoch()
}

// join is called with the upstream graph at rest.
func (b *backfill) join(up *Graph) error {
	if err := b.finish(up); err != nil {
		return err
	}
	b.closeFeeds()
	up.connect(b.job)
	b.own.commitMu.Lock() // see Retirement.hold
	defer b.own.commitMu.Unlock()
	up.jobs[b.job.ID] = b.job
	b.job.eng.moveGraph(b.job.ID, b.own, up)
	return nil
}

// finish brings the job to where the upstream graph rests.
func (b *backfill) finish(up *Graph) error {
	if len(b.feeds) > 0 {
		if _, err := b.replay(); err != nil {
			return err
		}
	}
	if err := b.cycle(true); err != nil {
		return err
	}
	if err := b.job.eng.checkExisting(b.job.ID); err != nil {
		return err
	}
	for _, r := range b.job.rels {
		if j := up.jobs[r]; j != nil && j.Err() != nil {
			return upstreamFailed(j)
		}
	}
	return nil
}

// closeFeeds leaves the job to be fed by the graph that it is in from now on.
func (b *backfill) closeFeeds() {
	if b.job.Stored != nil {
		b.job.Stored.unpin(b.own.epoch)
	}
	for _, fs := range b.feeds {
		for _, f := range fs {
			f.inbox.Disconnect(f.edge)
		}
	}
}

// fansOf returns the change streams of a relation in the graph.
func (g *Graph) fansOf(rel uint32) []*exec.FanOut {
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
func (g *Graph) connect(j *Job) { g.connectScans(j, nil) }

// connectScans is connect for the scans of the relations that only names; nil:
// of all.
func (g *Graph) connectScans(j *Job, only []uint32) {
	for _, t := range j.tasks {
		for leaf, n := range j.Frags[t.frag].leaves {
			s, ok := n.(*plan.Scan)
			if !ok || (s.Kind != plan.RelTable && s.Kind != plan.RelView) || only != nil && !slices.Contains(only, s.Rel) {
				continue
			}
			for _, fan := range g.fansOf(s.Rel) {
				e := t.inbox.Connect(leaf, false)
				out := newScanOutput(s, e, j.eng.Config.ChunkRows)
				fan.Add(out)
				j.addLink(link{s.Rel, fan, out, t.inbox, e})
			}
		}
	}
}
