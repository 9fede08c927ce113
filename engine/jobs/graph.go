package jobs

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/engine/stage"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
)

// Graph is a set of tables and jobs that share barriers and commits.
type Graph struct {
	eng *Runner
	// mu is held for a cycle and for changes of the structure. A stuck job keeps
	// it; what must not wait for such a job (DROP, Close) does without it.
	mu     sync.Mutex
	jobs   map[uint32]*Job
	tables map[uint32]*tableNode
	// captures record changes for jobs that are being created, by relation.
	captures map[*capture]uint32
	unique   map[uint32]*uniqueSet // by table, see uniques
	keys     map[uint32]*stage.ForeignKey
	// building marks the graph of a job that is being created: its failure ends
	// the creation instead of restarting it.
	building bool
	failures int // commits failed in a row

	// answers takes every task's answer to a barrier; poked tells that a job was
	// halted, whose answer is not to be waited for.
	answers *answers
	poked   chan struct{}
	// commitMu is held from gathering to the end of a commit, so that an object
	// can be dropped between two commits without waiting for a whole cycle.
	commitMu sync.Mutex

	qmu     sync.Mutex
	writes  []*stage.Write
	into    *Graph // the graph this one was merged into
	ended   bool   // takes no writes any more
	wake    chan struct{}
	quit    chan struct{}
	ending  sync.Once
	stopped chan struct{} // closed when run has returned

	lastCommit  time.Duration   // of the last epoch's commit
	priorCommit time.Duration   // of the one before
	lastSeal    time.Duration   // from its barrier to the last task's seal
	seals       []time.Duration // the recent ones
	epoch       types.Epoch
	now         int64 // the time of the last epoch; never goes back
}

// tableNode is a table's change stream.
type tableNode struct {
	rel uint32
	fan *exec.FanOut
}

func newTableNode(oid uint32) *tableNode { return &tableNode{rel: oid, fan: &exec.FanOut{}} }

func (e *Runner) newGraph() *Graph {
	return &Graph{eng: e, jobs: map[uint32]*Job{}, tables: map[uint32]*tableNode{}, captures: map[*capture]uint32{}, unique: map[uint32]*uniqueSet{}, keys: map[uint32]*stage.ForeignKey{},
		answers: newAnswers(), poked: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), stopped: make(chan struct{})}
}

// run is the coordinator: a cycle when there are writes, and at the barrier
// interval when there are sources. After a failed commit it waits longer and
// longer.
func (g *Graph) run() {
	defer g.finish()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d, ok := g.interval(); ok {
			timer.Reset(d)
		}
		select {
		case <-g.quit:
			return
		case <-g.wake:
		case <-timer.C:
		}
		g.mu.Lock()
		err := g.cycle(false)
		n := g.failures
		g.mu.Unlock()
		if err != nil && !g.over() {
			g.eng.Log.Error("epoch not committed", "err", err)
			g.pause(connector.Backoff(max(n-1, 0)))
		}
	}
}

// finish answers what is still queued when the graph ends.
func (g *Graph) finish() {
	g.qmu.Lock()
	g.ended = true
	ws := g.writes
	g.writes = nil
	g.qmu.Unlock()
	g.answer(ws, g.endError())
	close(g.stopped)
}

func (g *Graph) endError() error {
	if g.eng.Ctx.Err() != nil {
		return ShuttingDown()
	}
	return pgerr.New(pgerr.UndefinedTable, "the relation does not exist any more")
}

// ShuttingDown is the error of what comes too late.
func ShuttingDown() error {
	return pgerr.New(pgerr.AdminShutdown, "the server is shutting down")
}

// end makes the coordinator stop without another commit.
func (g *Graph) end() { g.ending.Do(func() { close(g.quit) }) }

func (g *Graph) over() bool {
	select {
	case <-g.quit:
		return true
	default:
		return false
	}
}

// pause waits, or returns at once when the graph ends.
func (g *Graph) pause(d time.Duration) {
	select {
	case <-g.quit:
	case <-time.After(d):
	}
}

// tick is the least time between two epochs of a graph whose only reason for them
// is that time passes.
const tick = time.Second

// interval is the time to the next barrier of a graph with sources or clocks. It
// keeps commits below a tenth of the time, if not just one of them was slow.
func (g *Graph) interval() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	slowest := min(10*min(g.priorCommit, g.lastCommit), 30*time.Second)
	ticks := false
	for _, j := range g.jobs {
		if j.isHalted() || j.Err() != nil {
			continue
		}
		if len(j.readers) > 0 || !j.clock && slices.ContainsFunc(j.tasks, func(t *jobTask) bool { return t.control != nil }) {
			return max(g.eng.Config.BarrierInterval, slowest), true
		}
		ticks = ticks || j.clock
	}
	return max(min(tick, 5*g.eng.Config.BarrierInterval), slowest), ticks
}

func (g *Graph) kick() { signal(g.wake) }
func (g *Graph) poke() { signal(g.poked) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// epochRun is one try at an epoch.
type epochRun struct {
	bar    *exec.Barrier
	commit *state.Commit
	writes []*stage.Write // accepted
	parts  []*contribution
	// turn is what else the commit changes.
	turn *Turn
}

// Turn is a change of what the graph consists of.
type Turn struct {
	// Write, unless nil, is part of the epoch. It has been admitted by rules.
	Write *stage.Write
	Rules stage.Rules
	// Extra is committed with the epoch.
	Extra *state.Commit
	// Around runs the commit.
	Around func(commit func() error) error
}

// cycle runs one epoch; g.mu is held. With pause the sources stay stopped at the
// barrier until resume, so that the structure may change. A job that breaks in a
// way that may pass makes the whole graph go back to its last committed epoch and
// run this one again; when the commit itself fails, the writes get the error.
func (g *Graph) cycle(pause bool) error {
	g.qmu.Lock()
	ws := g.writes
	g.writes = nil
	g.qmu.Unlock()
	if len(ws) > 0 && !g.seated() {
		g.eng.seats.Reserve()
		defer g.eng.seats.Release()
	}
	for {
		g.Purge()
		ep := g.begin(ws, pause, stage.Rules{Cat: g.eng.Catalog.Current()})
		ws = ep.writes
		if err := g.collect(ep); err != nil {
			g.answer(ws, err)
			if err == errStalled {
				g.FallBack()
			}
			return err
		}
		if g.retry() {
			continue
		}
		g.spreadFailures()
		err := g.commit(ep)
		g.answer(ws, err)
		if err != nil {
			g.FallBack()
			return err
		}
		g.failures = 0
		g.settle()
		return nil
	}
}

// seated reports whether a job of the graph works in seats, so that keeping some
// free would hold up the epoch.
func (g *Graph) seated() bool {
	for _, j := range g.jobs {
		if j.seats() != nil {
			return true
		}
	}
	return false
}

// TakeTurn runs one epoch without other writes whose commit changes what the graph
// consists of, or nothing happens. A job that breaks in it breaks it. The graph is
// at rest; after an error it must be taken back.
func (g *Graph) TakeTurn(t *Turn) error {
	g.Purge()
	var ws []*stage.Write
	if t.Write != nil {
		t.Write.Done = make(chan error, 1)
		ws = []*stage.Write{t.Write}
	}
	ep := g.begin(ws, true, t.Rules)
	ep.turn = t
	if len(ep.writes) < len(ws) {
		return <-t.Write.Done
	}
	if err := g.collect(ep); err != nil {
		return err
	}
	for _, j := range g.jobs {
		if err := j.Err(); err != nil && !j.recorded {
			return err
		}
	}
	if err := g.commit(ep); err != nil {
		return err
	}
	g.settle()
	return nil
}

// FallBack takes the graph back to its last committed epoch after one that was
// given up.
func (g *Graph) FallBack() {
	if g.failures++; !g.building && !g.over() {
		g.Rebuild()
	}
}

func (g *Graph) answer(ws []*stage.Write, err error) {
	for _, w := range ws {
		w.Done <- err
	}
}

// Purge forgets what has been dropped.
func (g *Graph) Purge() {
	for id, j := range g.jobs {
		if j.gone.Load() {
			delete(g.jobs, id)
		}
	}
	for id := range g.tables {
		if id != 0 && g.eng.LookupGraph(id) == nil {
			delete(g.tables, id)
		}
	}
	for c, rel := range g.captures {
		if c.closed() {
			delete(g.captures, c)
			for _, f := range g.fansOf(rel) {
				f.Remove(c)
			}
		}
	}
}

// begin sends the pending writes and a barrier down the graph.
func (g *Graph) begin(ws []*stage.Write, pause bool, by stage.Rules) *epochRun {
	epoch := g.eng.NextEpoch()
	g.now = max(g.now, g.eng.Config.Now())
	ep := &epochRun{bar: &exec.Barrier{Epoch: epoch, Now: g.now, Pause: pause}, commit: &state.Commit{Epoch: epoch}}
	ep.writes = g.apply(ws, ep.commit, by)
	for _, j := range g.jobs {
		j.awaiting = len(j.tasks)
	}
	g.answers.expect(g.outstanding())
	for _, t := range g.tables {
		_ = t.fan.Barrier(ep.bar)
	}
	for _, j := range g.jobs {
		for _, t := range j.tasks {
			if t.control != nil {
				_ = t.control.Send(exec.Message{Barrier: ep.bar})
			}
		}
	}
	return ep
}

// collect waits until every task has sealed the epoch, but for those of halted
// jobs. It fails when the graph ends.
func (g *Graph) collect(ep *epochRun) error {
	injected := time.Now()
	stalls := 0
	tick := time.NewTicker(g.eng.StallCheck)
	defer tick.Stop()
	for {
		for _, c := range g.answers.take() {
			if c.epoch == ep.bar.Epoch {
				c.task.job.awaiting--
				ep.parts = append(ep.parts, c)
			}
		}
		// The answer of a task whose job was halted meanwhile does not count, so only
		// a new count tells that nothing is missing.
		left := g.outstanding()
		if left == 0 {
			break
		}
		select {
		case <-tick.C:
			// Every missing task waits and has nothing to take: nobody will ever
			// bring the barrier. Seen twice in a row, it is no passing moment.
			if stalls++; !g.stalled(ep, left) {
				stalls = 0
			} else if stalls == 2 {
				return errStalled
			}
		case <-g.answers.arrived:
		case <-g.poked:
			g.answers.expect(0) // how many come is not known any more
		case <-g.quit:
			return g.endError()
		}
	}
	// A job halted by the end of the graph leaves its epoch incomplete.
	if g.over() {
		return g.endError()
	}
	g.noteSeal(time.Since(injected))
	return nil
}

// errStalled ends an epoch whose barrier got lost.
var errStalled = pgerr.New(pgerr.Internal, "an epoch did not end: its barrier was lost between tasks")

// stalled reports whether all tasks that an epoch still waits for have nothing to
// do, and logs what each of them waits for.
func (g *Graph) stalled(ep *epochRun, left int) bool {
	var waits []string
	for _, j := range g.jobs {
		if j.isHalted() || j.awaiting == 0 {
			continue
		}
		for _, t := range j.tasks {
			s := t.inbox.Stall()
			if s == "" {
				return false
			}
			waits = append(waits, t.spec.Name+" "+s)
		}
	}
	g.eng.Log.Warn("an epoch does not end", "epoch", uint64(ep.bar.Epoch), "missing", left, "tasks", waits)
	return true
}

func (g *Graph) outstanding() (n int) {
	for _, j := range g.jobs {
		if !j.isHalted() {
			n += j.awaiting
		}
	}
	return n
}

// commit makes the epoch durable.
func (g *Graph) commit(ep *epochRun) error {
	g.commitMu.Lock()
	defer g.commitMu.Unlock()
	c := ep.commit
	failed := g.gather(ep.parts, c)
	g.noteTime(ep)
	do := func() error { return g.eng.Commit(c) }
	if t := ep.turn; t != nil {
		x, inner := t.Extra, do
		c.Rows, c.Meta = append(c.Rows, x.Rows...), append(x.Meta[:len(x.Meta):len(x.Meta)], c.Meta...)
		c.DropTables, c.DropJobs = append(c.DropTables, x.DropTables...), append(c.DropJobs, x.DropJobs...)
		do = func() error { return t.Around(inner) }
	}
	start := time.Now()
	if len(c.Jobs)+len(c.Rows)+len(c.Meta)+len(c.Sink) > 0 {
		if err := do(); err != nil {
			return err
		}
	}
	g.priorCommit, g.lastCommit = g.lastCommit, time.Since(start)
	g.epoch = c.Epoch
	for _, j := range failed {
		j.recorded = true
	}
	return nil
}

// settle does what follows a commit.
func (g *Graph) settle() {
	for c := range g.captures {
		c.commit()
	}
	for _, j := range g.jobs {
		if j.Err() != nil {
			j.halt()
			continue
		}
		j.fresh = false
		if j.Sink != nil {
			j.Sink.kick()
		}
	}
}

// sealsKept bounds the memory of recent seals.
const sealsKept = 4096

func (g *Graph) noteSeal(d time.Duration) {
	g.lastSeal = d
	if len(g.seals) == sealsKept {
		g.seals = append(g.seals[:0], g.seals[sealsKept/2:]...)
	}
	g.seals = append(g.seals, d)
}

// gather adds the tasks' contributions, those of failed and dropped jobs left
// out, and returns the jobs whose failure the commit records.
func (g *Graph) gather(parts []*contribution, c *state.Commit) (failed []*Job) {
	rows := c.Rows[:0]
	for _, b := range c.Rows {
		if g.eng.LookupGraph(b.Table()) != nil {
			rows = append(rows, b)
		}
	}
	c.Rows = rows
	for _, p := range parts {
		if j := p.task.job; j.gone.Load() || j.Err() != nil {
			continue
		}
		if p.jd != nil {
			c.Jobs = append(c.Jobs, *p.jd)
		}
		c.Rows = append(c.Rows, p.rows...)
		c.Meta = append(c.Meta, p.meta...)
		if p.sink != nil {
			c.Sink = append(c.Sink, *p.sink)
		}
	}
	for _, j := range g.jobs {
		if j.gone.Load() {
			continue
		}
		err := j.Err()
		if j.fresh && err == nil {
			c.Meta = append(c.Meta, state.KV{Key: StartedKey(j.store), Val: j.print})
		}
		if err != nil && !j.recorded {
			failed = append(failed, j)
			c.Meta = append(c.Meta, state.KV{Key: FailedKey(j.store), Val: []byte(pgerr.From(err).Msg)})
		}
	}
	return failed
}

// noteTime commits what time the clocks of jobs tell.
func (g *Graph) noteTime(ep *epochRun) {
	for _, j := range g.jobs {
		if j.clock && !j.gone.Load() && j.Err() == nil {
			ep.commit.Meta = append(ep.commit.Meta, state.KV{Key: ClockKey(j.store), Val: binary.BigEndian.AppendUint64(nil, uint64(ep.bar.Now))})
		}
	}
}

// spreadFailures fails every job that reads a failed one: it has missed changes.
func (g *Graph) spreadFailures() {
	for again := true; again; {
		again = false
		for _, j := range g.jobs {
			if j.Err() != nil {
				continue
			}
			for _, r := range j.rels {
				if up := g.jobs[r]; up != nil && up.Err() != nil {
					j.fail(upstreamFailed(up))
					again = true
				}
			}
		}
	}
}

func upstreamFailed(up *Job) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "%s, which this reads, has failed", up.Name())
}

// ErrMerged tells a waiter that its graph has become part of another.
var ErrMerged = pgerr.New(pgerr.SerializationFailure, "the graph was merged into another")

// AtRest runs f between two epochs with every source stopped at a barrier. When
// ctx ends before f has begun, f never runs.
func (g *Graph) AtRest(ctx context.Context, f func() error) error {
	const waiting, running, left = 0, 1, 2
	var phase atomic.Int32
	done := make(chan error, 1)
	go func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if phase.Load() == left {
			return
		}
		if g.merged() != nil {
			done <- ErrMerged
			return
		}
		if err := g.cycle(true); err != nil {
			done <- err
			return
		}
		defer g.resume()
		if phase.CompareAndSwap(waiting, running) {
			done <- f()
		}
	}()
	ctx, waited := LockWait(ctx)
	defer waited()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if phase.CompareAndSwap(waiting, left) {
			return Canceled(ctx)
		}
		return <-done
	}
}

// resume lets the sources go on. The coordinator looks anew whether there are
// any, since the first may have come to the graph while it was at rest.
func (g *Graph) resume() {
	defer g.kick()
	for _, j := range g.jobs {
		for _, t := range j.tasks {
			if t.control != nil {
				_ = t.control.Send(exec.Message{Resume: true})
			}
		}
	}
}

func (g *Graph) merged() *Graph {
	g.qmu.Lock()
	defer g.qmu.Unlock()
	return g.into
}
