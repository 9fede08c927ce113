package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/expr"
	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/state"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// job is the running dataflow of one materialized view or sink.
type job struct {
	id    uint32
	name  string
	eng   *Engine
	frags []*fragment
	tasks []*jobTask
	// root tasks' outputs: the change stream for views on this one.
	fans []*exec.FanOut
	sink *sinkJob // set for sinks
	// session is frozen at creation: time zone, search path, now.
	session *expr.Session
	fresh   bool // no epoch of this job is committed yet
	onError errorPolicy
	rels    []uint32 // tables and views read

	ctx      context.Context
	cancel   context.CancelFunc
	links    []link
	rows     atomic.Int64 // rows taken from sources, for SHOW JOBS
	recorded bool         // the failure is in the store

	readers    []*sourceReader
	readerWG   sync.WaitGroup
	ended      atomic.Int32 // bounded readers that are done
	backfilled atomic.Int64 // rows read while catching up
	stateBytes atomic.Int64 // memory of the operators, as of the last barrier

	mu        sync.Mutex
	failed    error
	sourceErr error
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
	job        *job
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
	errs       map[uint32]map[string]int64 // rows of the error tables, by table
	spec       exec.TaskSpec
}

// contribution is what one task adds to the commit of an epoch.
type contribution struct {
	task *jobTask
	jd   *state.JobDelta
	rows []*state.RowBatch
	meta []state.KV
	sink *state.SinkBatch
}

// opID makes the state identity of an operator: fragment, instance, operator.
func opID(frag, inst, op int) int { return frag<<24 | inst<<16 | op }

// newJob builds the tasks of a plan, wires its fragments, and leaves the leaves
// that read relations and sources unconnected.
func (e *Engine) newJob(id uint32, name string, root plan.Node, par int, s *expr.Session, pol errorPolicy, sink *sinkJob) (*job, error) {
	ctx, cancel := context.WithCancel(e.ctx)
	j := &job{id: id, name: name, eng: e, session: s, onError: pol, sink: sink, ctx: ctx, cancel: cancel}
	j.frags = cut(root, par)
	seen := map[uint32]bool{}
	scans(root, func(s *plan.Scan) {
		if (s.Kind == plan.RelTable || s.Kind == plan.RelView) && !seen[s.Rel] {
			seen[s.Rel] = true
			j.rels = append(j.rels, s.Rel)
		}
	})
	byFrag := map[*fragment][]*jobTask{}
	for fi, f := range j.frags {
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
	for _, f := range j.frags {
		for _, fd := range f.feeds {
			j.wire(byFrag[fd.from], byFrag[f], fd)
		}
	}
	for _, t := range byFrag[j.frags[len(j.frags)-1]] {
		j.fans = append(j.fans, t.out)
	}
	return j, nil
}

func (j *job) newTask(fi, inst int) (*jobTask, error) {
	f := j.frags[fi]
	t := &jobTask{job: j, frag: fi, inst: inst, inbox: exec.NewInbox(), out: &exec.FanOut{},
		batches: map[uint32]*state.RowBatch{}, offsets: map[string]string{}}
	s := *j.session
	bc := &exec.BuildCtx{
		Expr:      &expr.Ctx{Session: &s},
		Out:       t.emit,
		Rows:      t.rowWriter,
		ChunkRows: j.eng.cfg.ChunkRows,
	}
	if j.onError != onErrorFail {
		bc.RowError = t.rowError
	}
	if j.sink != nil && fi == len(j.frags)-1 {
		t.encoder = j.sink.sink.Encoder()
	}
	tree, err := exec.Build(f.root, bc)
	if err != nil {
		return nil, err
	}
	t.tree = tree
	t.spec = exec.TaskSpec{
		Name: fmt.Sprintf("%s/%d.%d", j.name, fi, inst), Tree: tree, Inbox: t.inbox, Out: t.out,
		Progress: t.progress, Sealed: t.sealed, Failed: j.fail,
	}
	return t, nil
}

// wire connects the instances of one fragment to those of its consumer.
func (j *job) wire(from, to []*jobTask, fd feed) {
	pool := &vec.Pool{Types: plan.Types(fd.ex.Schema())}
	for _, p := range from {
		edges := make([]*exec.Edge, len(to))
		for i, c := range to {
			edges[i] = c.inbox.Connect(fd.leaf, false)
		}
		if fd.ex.Dist == plan.Broadcast {
			for _, e := range edges {
				p.out.Add(exec.NewHashOutput(nil, []*exec.Edge{e}, pool, j.eng.cfg.ChunkRows))
			}
			continue
		}
		p.out.Add(exec.NewHashOutput(fd.ex.Keys, edges, pool, j.eng.cfg.ChunkRows))
	}
}

// start opens the control edges of tasks without barrier-bringing producers and
// starts the goroutines.
func (j *job) start() {
	for _, t := range j.tasks {
		t.spec.Fresh = j.fresh
		t.task = exec.StartTask(t.spec)
	}
}

// needsControl reports whether no producer brings barriers to the task.
func (t *jobTask) needsControl() bool {
	for _, l := range t.job.frags[t.frag].leaves {
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
		if err := t.badRecord(&p.Bad[i]); err != nil {
			return err
		}
	}
	return nil
}

// sealed hands the epoch's contribution to the coordinator.
func (t *jobTask) sealed(b *exec.Barrier) error {
	c := &contribution{task: t}
	g := t.job.graph()
	defer func() { g.contributions <- c }()
	if t.task != nil && t.task.Broken() {
		return nil
	}
	d := state.NewDelta()
	err := t.tree.Save(func(op int) exec.StateWriter { return d.Writer(opID(t.frag, t.inst, op)) })
	if err != nil {
		return err
	}
	n := int64(t.tree.StateBytes())
	t.job.stateBytes.Add(n - t.stateBytes)
	t.stateBytes = n
	if d.Bytes() > 0 {
		c.jd = &state.JobDelta{Job: t.job.id, Delta: d}
	}
	for rel, rb := range t.batches {
		c.rows = append(c.rows, rb)
		delete(t.batches, rel)
	}
	c.rows = append(c.rows, t.errorBatches()...)
	for k, v := range t.offsets {
		c.meta = append(c.meta, state.KV{Key: offsetKey(t.job.id, k), Val: []byte(v)})
		delete(t.offsets, k)
	}
	if len(t.sinkBuf) > 0 {
		c.sink = &state.SinkBatch{Sink: t.job.id, Data: t.sinkBuf, Rows: t.sinkN}
		t.sinkBuf, t.sinkN = nil, 0
	}
	return nil
}

func (j *job) graph() *graph {
	j.eng.mu.RLock()
	defer j.eng.mu.RUnlock()
	return j.eng.graphOf[j.id]
}

// fail marks the job failed; its last good epoch stays readable.
func (j *job) fail(err error) {
	j.mu.Lock()
	first := j.failed == nil
	if first {
		j.failed = err
	}
	j.mu.Unlock()
	if first {
		j.cancel()
		j.eng.log.Error("job failed", "job", j.name, "err", err)
	}
}

func (j *job) err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// stop ends the job's goroutines. The graph must be at rest, or the job failed.
func (j *job) stop() {
	j.cancel()
	for _, l := range j.links {
		l.fan.Remove(l.out)
	}
	j.links = nil
	for _, t := range j.tasks {
		t.inbox.Stop()
	}
	for _, t := range j.tasks {
		if t.task != nil {
			<-t.task.Done()
		}
	}
	j.readerWG.Wait()
}

// load restores the operators' state from the store.
func (j *job) load(st *state.Store) error {
	byOp := map[int]*jobTask{}
	for _, t := range j.tasks {
		byOp[opID(t.frag, t.inst, 0)] = t
	}
	return st.LoadJob(j.id, func(op, _ int, key, val []byte) error {
		t := byOp[op&^0xffff]
		if t == nil {
			return fmt.Errorf("state of job %s names operator %#x, which its plan does not have", j.name, op)
		}
		return t.tree.Load(op&0xffff, key, val)
	})
}

// scanTypes returns the column types of a relation scan's output.
func scanTypes(s *plan.Scan) []types.T { return plan.Types(s.Out) }
