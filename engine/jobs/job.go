package jobs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// Job is the running dataflow of one materialized view or sink.
type Job struct {
	ID     uint32
	store  uint32                 // what its state, rows and offsets are kept under
	errors errorTables            // of its database
	label  atomic.Pointer[string] // see name
	eng    *Runner
	Frags  []*fragment
	tasks  []*jobTask
	// root tasks' outputs: the change stream for views on this one.
	fans []*exec.FanOut
	Sink *sinkJob // set for sinks
	// session is frozen at creation: time zone, search path, now.
	session *expr.Session
	fresh   bool // no epoch of this job is committed yet
	onError ErrorPolicy
	rels    []uint32            // tables, views and indexes read
	Stored  *storedReads        // nil: nothing is looked up
	looked  map[*plan.Scan]bool // scans whose rows are looked up
	clock   bool                // the plan tells the time

	// print is the fingerprint of the plan that the state belongs to.
	print []byte

	ctx      context.Context
	cancel   context.CancelFunc
	Rows     atomic.Int64 // rows taken from sources, for SHOW JOBS
	recorded bool         // the failure is in the store
	awaiting int          // tasks that have not answered the barrier yet
	restarts restarts
	again    bool // a restart is to replace the failed job

	// kept are the scans, by fragment and leaf, of which the job begins with the state
	// that another had, and replaying counts the tasks that still give it out.
	kept      map[opAddr]bool
	replaying atomic.Int32

	creating atomic.Bool // not complete yet: not to be read
	// own is the graph of a job that is to take the place of a running one, which
	// is still found by its id.
	own  atomic.Pointer[Graph]
	gone atomic.Bool // dropped, or replaced by a restart

	readers    []*sourceReader
	readerWG   sync.WaitGroup
	Skipped    atomic.Int64 // bad records left out on the sources' request, since the start
	ended      atomic.Int32 // bounded readers that are done
	Backfilled atomic.Int64 // rows read while catching up
	StateBytes atomic.Int64 // memory of the operators, as of the last barrier

	mu     sync.Mutex
	failed error
	halted bool
	links  []link
}

// link is one connection from an upstream change stream into this job.
type link struct {
	rel  uint32
	fan  *exec.FanOut
	out  exec.Output
	in   *exec.Inbox
	edge *exec.Edge
}

// jobTask is one instance of a fragment with what it gathers for the epoch.
type jobTask struct {
	job        *Job
	frag       int
	inst       int
	task       *exec.Task
	tree       *exec.Tree
	inbox      *exec.Inbox
	control    *exec.Edge // barriers from the coordinator; nil when producers bring them
	out        *exec.FanOut
	batches    map[uint32]*state.RowBatch
	offsets    map[string]string // moved since the last barrier, key prefix included
	sinkBuf    []byte
	sinkN      int
	encoder    encoder
	stateBytes int64
	// The state's size is asked for again at measureFrom, or when much has been saved.
	measureFrom time.Time
	unmeasured  int64                       // bytes saved since it was asked for
	errs        map[uint32]map[string]int64 // rows of the error tables, by table
	spec        exec.TaskSpec
}

// contribution is what one task adds to the commit of an epoch.
type contribution struct {
	task  *jobTask
	epoch types.Epoch
	jd    *state.JobDelta
	rows  []*state.RowBatch
	meta  []state.KV
	sink  *state.SinkBatch
}

// The state identity of an operator has 32 bits: its fragment, its instance, and
// its number in the tree.
const (
	maxOperators = 1 << 13 // of a fragment
	maxInstances = 1 << 8
	maxFragments = 1 << 11
)

func opID(frag, inst, op int) int { return (frag*maxInstances+inst)*maxOperators + op }

func splitOpID(id int) (frag, inst, op int) {
	task := id / maxOperators
	return task / maxInstances, task % maxInstances, id % maxOperators
}

// checkSize refuses plans that the identities have no room for.
func (j *Job) checkSize() error {
	too := func(n, max int, what string) error {
		if n <= max {
			return nil
		}
		return pgerr.New(pgerr.StatementTooComplex, "the query is too complex: its dataflow has %d %s, and at most %d are possible", n, what, max).
			WithHint("Put parts of it into materialized views of their own.")
	}
	if err := too(len(j.Frags), maxFragments, "fragments"); err != nil {
		return err
	}
	for _, t := range j.tasks {
		if err := too(t.tree.Operators(), maxOperators, "operators in one fragment"); err != nil {
			return err
		}
		if err := too(t.inst+1, maxInstances, "instances of a fragment"); err != nil {
			return err
		}
	}
	return nil
}

// Name names the job in logs and error tables. It changes when its object is
// renamed, with the graph at rest.
func (j *Job) Name() string { return *j.label.Load() }

// Rename gives the job another name.
func (j *Job) Rename(name string) { j.label.Store(&name) }

// newJob builds the tasks of a plan, wires its fragments, and leaves the leaves
// that read relations and sources unconnected.
func (e *Runner) newJob(id uint32, name string, root plan.Node, par int, s *expr.Session, pol ErrorPolicy, sink *sinkJob) (*Job, error) {
	ctx, cancel := context.WithCancel(e.Ctx)
	j := &Job{ID: id, store: id, eng: e, session: s, onError: pol, Sink: sink, ctx: ctx, cancel: cancel}
	j.label.Store(&name)
	j.Frags = cut(root, par)
	j.print = fingerprint(root, par)
	plan.Walk(root, func(n plan.Node) bool {
		_, ok := n.(*plan.Clock)
		j.clock = j.clock || ok
		return true
	})
	seen := map[uint32]bool{}
	Scans(root, func(s *plan.Scan) {
		if (s.Kind == plan.RelTable || s.Kind == plan.RelView) && !seen[s.Rel] {
			seen[s.Rel] = true
			j.rels = append(j.rels, s.Rel)
		}
	})
	for _, ix := range planner.LookupIndexes(root) {
		j.rels = append(j.rels, ix)
	}
	if j.looked = storedScans(root); j.looked != nil {
		j.Stored = &storedReads{job: j}
	}
	byFrag := map[*fragment][]*jobTask{}
	for fi, f := range j.Frags {
		for inst := range f.par {
			t, err := j.newTask(fi, inst)
			if err != nil {
				cancel()
				return nil, err
			}
			byFrag[f] = append(byFrag[f], t)
			j.tasks = append(j.tasks, t)
		}
	}
	if err := j.checkSize(); err != nil {
		cancel()
		return nil, err
	}
	for _, f := range j.Frags {
		for _, fd := range f.feeds {
			j.wire(byFrag[fd.from], byFrag[f], fd)
		}
	}
	for _, t := range byFrag[j.Frags[len(j.Frags)-1]] {
		j.fans = append(j.fans, t.out)
	}
	return j, nil
}

func (j *Job) newTask(fi, inst int) (*jobTask, error) {
	f := j.Frags[fi]
	t := &jobTask{job: j, frag: fi, inst: inst, inbox: exec.NewInbox(), out: &exec.FanOut{},
		batches: map[uint32]*state.RowBatch{}, offsets: map[string]string{}}
	s := *j.session
	bc := &exec.BuildCtx{
		Expr:      &expr.Ctx{Session: &s},
		Out:       t.emit,
		Rows:      t.rowWriter,
		ChunkRows: j.eng.Config.ChunkRows,
	}
	if j.Stored != nil {
		bc.Stored = j.Stored
	}
	if j.onError != OnErrorFail {
		bc.RowError = t.rowError
	}
	if j.Sink != nil && fi == len(j.Frags)-1 {
		t.encoder = j.Sink.sink.Encoder()
	}
	tree, err := exec.Build(f.Root, bc)
	if err != nil {
		return nil, err
	}
	t.tree = tree
	t.spec = exec.TaskSpec{
		Name: fmt.Sprintf("%s/%d.%d", j.Name(), fi, inst), Tree: tree, Inbox: t.inbox, Out: t.out,
		Progress: t.progress, Sealed: t.sealed, Failed: j.fail, Seat: j.seats().Seat(),
	}
	return t, nil
}

// seats returns the places that the job's goroutines have to take, nil: none. A job
// that reads a source never runs out of work while there are records.
func (j *Job) seats() *exec.Seats {
	for _, f := range j.Frags {
		for _, n := range f.leaves {
			if s, ok := n.(*plan.Scan); ok && s.Kind == plan.RelSource {
				return j.eng.seats
			}
		}
	}
	return nil
}

// wire connects the instances of one fragment to those of its consumer.
func (j *Job) wire(from, to []*jobTask, fd feed) {
	pool := &vec.Pool{Types: plan.Types(fd.ex.Schema())}
	for _, p := range from {
		edges := make([]*exec.Edge, len(to))
		for i, c := range to {
			edges[i] = c.inbox.Connect(fd.leaf, false)
			edges[i].SentBy(p.spec.Seat)
		}
		if fd.ex.Dist == plan.Broadcast {
			for _, e := range edges {
				p.out.Add(exec.NewHashOutput(nil, []*exec.Edge{e}, pool, j.eng.Config.ChunkRows))
			}
			continue
		}
		p.out.Add(exec.NewHashOutput(fd.ex.Keys, edges, pool, j.eng.Config.ChunkRows))
	}
}

// start starts the goroutines of tasks and readers, unless the job was halted.
func (j *Job) start() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.halted {
		return
	}
	for _, t := range j.tasks {
		t.spec.Fresh = j.fresh
		t.task = exec.StartTask(t.spec)
	}
	j.read(false)
}

// read starts the readers of the scans whose state is kept, or those of the others.
// j.mu is held.
func (j *Job) read(kept bool) {
	for _, r := range j.readers {
		if r.kept != kept {
			continue
		}
		j.readerWG.Add(1)
		go func() {
			defer j.readerWG.Done()
			r.run(j.ctx)
		}()
	}
}

// readOn starts the readers of the scans whose state is kept, once that has been
// given out.
func (j *Job) readOn() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.halted {
		j.read(true)
	}
}

// needsControl reports whether no producer brings barriers to the task.
func (t *jobTask) needsControl() bool {
	for _, l := range t.job.Frags[t.frag].leaves {
		switch l := l.(type) {
		case *plan.Exchange:
			return false
		case *plan.Scan:
			if l.Kind == plan.RelTable || l.Kind == plan.RelView {
				return false
			}
		}
	}
	return true
}

func (t *jobTask) rowWriter(rel uint32) exec.RowWriter {
	return (*relWriter)(&relRef{t, rel})
}

type relRef struct {
	t   *jobTask
	rel uint32
}
type relWriter relRef

func (w *relWriter) batch() *state.RowBatch {
	b := w.t.batches[w.rel]
	if b == nil {
		b = state.NewRowBatch(w.rel)
		w.t.batches[w.rel] = b
	}
	return b
}
func (w *relWriter) Put(key, val []byte)     { w.batch().Put(key, val) }
func (w *relWriter) Delete(key []byte)       { w.batch().Delete(key) }
func (w *relWriter) Add(key []byte, n int64) { w.batch().Add(key, n) }

// emit takes the tree's output: to the sink log, or to the tasks downstream.
func (t *jobTask) emit(c *vec.Chunk) error {
	if t.encoder == nil {
		return t.out.Send(c)
	}
	buf, n, err := t.encoder.Encode(t.sinkBuf, c)
	if err != nil {
		return err
	}
	t.sinkBuf, t.sinkN = buf, t.sinkN+n
	return nil
}

// progress takes note of a source's offsets and bad records.
func (t *jobTask) progress(p *exec.SourceProgress) error {
	for k, v := range p.Offsets {
		t.offsets[k] = v
	}
	if p.End {
		t.job.ended.Add(1)
	}
	for i := range p.Bad {
		if err := t.badRecord(&p.Bad[i], p.Scan, p.Fail); err != nil {
			return err
		}
	}
	return nil
}

// sealed hands the epoch's contribution to the coordinator. An error is known to
// the job before the coordinator has the answer, so that nothing of a half-saved
// epoch is committed.
func (t *jobTask) sealed(b *exec.Barrier) error {
	c := &contribution{task: t, epoch: b.Epoch}
	if t.task == nil || !t.task.Broken() {
		if err := t.contribute(c); err != nil {
			t.job.fail(err)
		}
	}
	if g := t.job.Graph(); g != nil {
		g.answers.add(c)
	}
	return nil
}

// contribute gathers what the task did in the epoch.
func (t *jobTask) contribute(c *contribution) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = pgerr.New(pgerr.Internal, "an operator of %s panicked: %v", t.spec.Name, r)
		}
	}()
	if f := t.job.eng.Fault; f != nil {
		if err := f(t.job.Name()); err != nil {
			return err
		}
	}
	d := state.NewDelta()
	err = t.tree.Save(func(op int) exec.StateWriter { return d.Writer(opID(t.frag, t.inst, op)) })
	if err != nil {
		return err
	}
	t.measureSeldom(int64(d.Bytes()))
	if d.Bytes() > 0 {
		c.jd = &state.JobDelta{Job: t.job.store, Delta: d}
	}
	for rel, rb := range t.batches {
		c.rows = append(c.rows, rb)
		delete(t.batches, rel)
	}
	c.rows = append(c.rows, t.errorBatches()...)
	for k, v := range t.offsets {
		c.meta = append(c.meta, state.KV{Key: offsetKey(t.job.store, k), Val: []byte(v)})
		delete(t.offsets, k)
	}
	if len(t.sinkBuf) > 0 {
		c.sink = &state.SinkBatch{Sink: t.job.ID, Data: t.sinkBuf, Rows: t.sinkN}
		t.sinkBuf, t.sinkN = nil, 0
	}
	return nil
}

// measure notes how much memory the operators' state takes. The tasks do not run.
func (j *Job) measure() {
	for _, t := range j.tasks {
		t.measure()
	}
}

// measureShare bounds the time spent on asking for the size of state, which some
// operators walk through for it: one part in so many.
const measureShare = 100

// measureSeldom measures the task's state if that is due, or if what has been saved
// since the last time, n bytes of it now, is an eighth of it.
func (t *jobTask) measureSeldom(n int64) {
	t.unmeasured += n
	began := time.Now()
	if began.Before(t.measureFrom) && t.unmeasured <= t.stateBytes/8 {
		return
	}
	t.measure()
	t.unmeasured, t.measureFrom = 0, time.Now().Add(measureShare*time.Since(began))
}

func (t *jobTask) measure() {
	n := int64(t.tree.StateBytes())
	t.job.StateBytes.Add(n - t.stateBytes)
	t.stateBytes = n
}

// Graph returns the graph that the job is part of; nil: it was dropped.
func (j *Job) Graph() *Graph {
	if g := j.own.Load(); g != nil {
		return g
	}
	j.eng.mu.RLock()
	defer j.eng.mu.RUnlock()
	return j.eng.graphOf[j.ID]
}

// fail marks the job failed; its last good epoch stays readable.
func (j *Job) fail(err error) {
	if !j.end(err) {
		return
	}
	j.eng.Log.Error("job failed", "job", j.Name(), "err", err)
	if g := j.Graph(); g != nil {
		g.kick()
	}
}

// end makes err the reason the job has ended, if it is the first.
func (j *Job) end(err error) bool {
	j.mu.Lock()
	first := j.failed == nil
	if first {
		j.failed = err
	}
	j.mu.Unlock()
	j.cancel()
	return first
}

// Err is why the job has failed or ended; nil: it runs.
func (j *Job) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

func (j *Job) isHalted() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.halted
}

// halt makes the job's goroutines end and takes it off the change streams it
// reads, at any time and without waiting. What it has done since the last commit
// must not be committed.
func (j *Job) halt() {
	j.cancel()
	j.mu.Lock()
	was, links := j.halted, j.links
	j.halted, j.links = true, nil
	j.mu.Unlock()
	for _, l := range links {
		l.fan.Remove(l.out)
	}
	if was {
		return
	}
	for _, t := range j.tasks {
		t.inbox.Stop()
	}
	if g := j.Graph(); g != nil {
		g.poke()
	}
}

// await waits until the goroutines of a halted job have ended, and reports
// whether they have within d.
func (j *Job) await(d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, t := range j.tasks {
			j.mu.Lock()
			task := t.task
			j.mu.Unlock()
			if task != nil {
				<-task.Done()
			}
		}
		j.readerWG.Wait()
	}()
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// addLink notes a connection, or undoes it when the job was halted meanwhile.
func (j *Job) addLink(l link) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.halted {
		l.fan.Remove(l.out)
		return
	}
	j.links = append(j.links, l)
}

// unlink takes the job off the change streams of a relation and returns the edges
// that led there, which still take part in barriers.
func (j *Job) unlink(rel uint32) []link {
	j.mu.Lock()
	defer j.mu.Unlock()
	var gone, left []link
	for _, l := range j.links {
		if l.rel == rel {
			l.fan.Remove(l.out)
			gone = append(gone, l)
		} else {
			left = append(left, l)
		}
	}
	j.links = left
	return gone
}

// load restores the operators' state from the store.
func (j *Job) load(st *state.Store) error {
	byOp := map[int]*jobTask{}
	for _, t := range j.tasks {
		byOp[opID(t.frag, t.inst, 0)] = t
	}
	defer j.measure()
	return st.LoadJob(j.store, func(op, _ int, key, val []byte) error {
		frag, inst, no := splitOpID(op)
		t := byOp[opID(frag, inst, 0)]
		if t == nil {
			return fmt.Errorf("state of job %s names operator %d.%d.%d, which its plan does not have", j.Name(), frag, inst, no)
		}
		return t.tree.Load(no, key, val)
	})
}

// scanTypes returns the column types of a relation scan's output.
func scanTypes(s *plan.Scan) []types.T { return plan.Types(s.Out) }
