package state

import (
	"context"
	"slices"
	"sync"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Commit is everything one epoch of one job graph changes. Drops happen before
// all else, so a table can be emptied and refilled in one step. Nothing in it may
// be changed until Store.Commit returns.
type Commit struct {
	Epoch types.Epoch
	Jobs  []JobDelta  // operator state
	Rows  []*RowBatch // stored relations
	Meta  []KV        // later ones win
	Sink  []SinkBatch // several of one sink keep their order

	DropTables []TableID // all rows
	DropJobs   []JobID   // all operator state and the sink log
}

// JobDelta is the changed operator state of a job, at most one a job.
type JobDelta struct {
	Job   JobID
	Delta *Delta
}

// KV is a change in the meta space; Val nil deletes.
type KV struct{ Key, Val []byte }

// SinkBatch is output for a sink: encoded records, opaque to the store.
type SinkBatch struct {
	Sink JobID
	Data []byte
	Rows int
}

// Commit makes c durable and visible in one step and returns after the fsync.
// Commits of different graphs run concurrently; of one job, epochs must ascend.
// After an error nothing of c is visible and the same commit may be tried again
// (53100: the disk is full), unless the store has failed as a whole. ctx is
// looked at only before anything is written.
func (s *Store) Commit(ctx context.Context, c *Commit) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &tx{s: s, c: c}
	t.gather()
	if err := s.space.check(t.bytes(), len(c.DropTables)+len(c.DropJobs) > 0); err != nil {
		return err
	}
	t.lock()
	defer t.unlock()
	if err := t.stage(); err != nil {
		t.abort()
		return err
	}
	if w := s.opt.Watch; w != nil {
		w.Begin(c)
		defer func() { w.End(c, s.clock.Add(1)) }()
	}
	var err error
	if t.rowBytes+t.inlineBytes >= s.opt.IngestBytes {
		err = t.ingest(ctx)
	} else {
		err = t.batch()
	}
	if err == nil {
		err = s.failure() // Pebble reports a failed log by Fatalf only
	}
	if err != nil {
		t.abort()
		return fileError(err, "could not write to directory \"%s\"", s.dir)
	}
	t.publish()
	return nil
}

// tx is a commit in the making.
type tx struct {
	s    *Store
	c    *Commit
	jobs []*txJob // by id

	tables []*table // with counts, locked, by id

	rowBytes, deltaBytes, sinkBytes int

	inlineBytes int // of deltas, sinks and meta that go into the batch
	ops         []sysOp
}

type txJob struct {
	j     *job
	drop  bool
	delta [][]byte // records
	usage usage
	bytes int
	sink  [][]byte
	rows  int

	desc    logDesc
	inline  int64 // new size of inline deltas
	logged  bool  // desc changed
	logPart extent
	entry   *sinkMeta
	gone    []string // names of files that become garbage
}

// sysOp is a change of a system key: a put, or a deletion of [key, end) or of
// key.
type sysOp struct {
	kind     opKind
	key, val []byte // opRange: val is the end
}

type opKind uint8

const (
	opSet opKind = iota
	opDelete
	opMerge
	opRange
)

func (t *tx) job(id JobID) *txJob {
	for _, tj := range t.jobs {
		if tj.j.id == id {
			return tj
		}
	}
	tj := &txJob{j: t.s.job(id)}
	t.jobs = append(t.jobs, tj)
	return tj
}

// gather collects the parts of each job and their sizes.
func (t *tx) gather() {
	for _, id := range t.c.DropJobs {
		t.job(id).drop = true
	}
	for _, d := range t.c.Jobs {
		tj := t.job(d.Job)
		recs, u := d.Delta.records(t.c.Epoch)
		tj.delta = append(tj.delta, recs...)
		tj.usage.add(u)
	}
	for _, b := range t.c.Sink {
		tj := t.job(b.Sink)
		tj.sink = append(tj.sink, b.Data)
		tj.rows += b.Rows
	}
	for _, tj := range t.jobs {
		for _, r := range tj.delta {
			tj.bytes += len(r)
		}
		t.deltaBytes += tj.bytes
		for _, d := range tj.sink {
			t.sinkBytes += len(d)
		}
	}
	for _, b := range t.c.Rows {
		t.rowBytes += b.bytes
	}
	for _, kv := range t.c.Meta {
		t.inlineBytes += len(kv.Key) + len(kv.Val)
	}
	slices.SortFunc(t.jobs, func(a, b *txJob) int {
		if a.j.id < b.j.id {
			return -1
		}
		return 1
	})
}

func (t *tx) bytes() int { return t.rowBytes + t.deltaBytes + t.sinkBytes + t.inlineBytes }

func (t *tx) lock() {
	for _, tj := range t.jobs {
		tj.j.mu.Lock()
	}
	t.lockTables()
}

func (t *tx) unlock() {
	for _, tb := range t.tables {
		tb.mu.Unlock()
	}
	for _, tj := range t.jobs {
		tj.j.mu.Unlock()
	}
}

// stage writes what goes to segments, all jobs at once, and lists the system
// operations.
func (t *tx) stage() error {
	for _, tj := range t.jobs {
		if (len(tj.delta) > 0 || len(tj.sink) > 0) && t.c.Epoch <= tj.j.epoch && !tj.drop {
			return pgerr.New(pgerr.Internal, "epoch %d of job %d is not after its last one, %d", t.c.Epoch, tj.j.id, tj.j.epoch)
		}
	}
	errs := make([]error, len(t.jobs))
	var wg sync.WaitGroup
	for i, tj := range t.jobs {
		bufs, err := t.plan(tj)
		if err != nil {
			return err
		}
		if bufs == nil && !t.sinkToSegment(tj) {
			continue
		}
		wg.Go(func() { errs[i] = t.write(tj, bufs) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, tj := range t.jobs {
		t.jobOps(tj)
	}
	for _, id := range t.c.DropTables {
		lo, hi := tableRange(id)
		t.ops = append(t.ops, sysOp{opRange, lo, hi})
	}
	for _, kv := range t.c.Meta {
		if kv.Val == nil {
			t.ops = append(t.ops, sysOp{opDelete, metaKey(kv.Key), nil})
		} else {
			t.ops = append(t.ops, sysOp{opSet, metaKey(kv.Key), kv.Val})
		}
	}
	t.ops = append(t.ops, sysOp{opMerge, sysKey(sysEpoch), appendMax(nil, uint64(t.c.Epoch))})
	return nil
}

// plan decides where the delta of a job goes and returns what its segment gets,
// nil: nothing. Inline deltas are older than anything appended now, so they go
// first.
func (t *tx) plan(tj *txJob) ([][]byte, error) {
	j := tj.j
	tj.desc, tj.inline = j.desc.clone(), j.inline
	if tj.drop {
		tj.gone = j.desc.names(j.id)
		tj.desc, tj.inline = logDesc{}, 0
		j.out.abandon()
		j.sink.out.abandon()
	}
	if len(tj.delta) == 0 {
		return nil, nil
	}
	small := t.deltaBytes < t.s.opt.InlineBytes || tj.bytes < t.s.opt.InlineBytes/8
	if small && tj.inline+int64(tj.bytes) <= t.s.opt.InlineTotal {
		return nil, nil
	}
	var bufs [][]byte
	if tj.inline > 0 {
		lo, hi := idRange(sysDelta, j.id)
		err := scanRange(t.s.db, lo, hi, func(_, val []byte) error {
			bufs = append(bufs, slices.Clone(val))
			return nil
		})
		if err != nil {
			return nil, fileError(err, "could not read operator state of job %d", j.id)
		}
	}
	return append(bufs, tj.delta...), nil
}

func (t *tx) sinkToSegment(tj *txJob) bool {
	n := 0
	for _, d := range tj.sink {
		n += len(d)
	}
	return n > 0 && n >= t.s.opt.InlineBytes/8
}

func (t *tx) write(tj *txJob, bufs [][]byte) error {
	if bufs != nil {
		x, err := tj.j.out.write(bufs)
		if err != nil {
			return err
		}
		tj.logPart, tj.logged, tj.inline = x, true, 0
		tj.desc.extend(x)
	}
	if !t.sinkToSegment(tj) {
		return nil
	}
	x, err := tj.j.sink.out.write(tj.sink)
	if err == nil {
		tj.entry = &sinkMeta{epoch: t.c.Epoch, at: x}
	}
	return err
}

// jobOps lists the system operations of a job.
func (t *tx) jobOps(tj *txJob) {
	id := tj.j.id
	if tj.drop || tj.logged && tj.j.inline > 0 {
		lo, hi := idRange(sysDelta, id)
		t.ops = append(t.ops, sysOp{opRange, lo, hi})
	}
	if tj.drop {
		lo, hi := idRange(sysSink, id)
		t.ops = append(t.ops, sysOp{opRange, lo, hi}, sysOp{opDelete, jobKey(id), nil}, sysOp{opDelete, truncKey(id), nil})
	}
	if tj.logged {
		t.ops = append(t.ops, sysOp{opSet, jobKey(id), tj.desc.encode()})
	} else if len(tj.delta) > 0 {
		val := slices.Concat(tj.delta...)
		t.ops = append(t.ops, sysOp{opSet, epochKey(sysDelta, id, t.c.Epoch), val})
		tj.inline += int64(len(val))
		t.inlineBytes += len(val)
	}
	if len(tj.sink) > 0 {
		m, val := newSinkEntry(t.c.Epoch, tj.rows, tj.sink, tj.entry)
		tj.entry = m
		t.ops = append(t.ops, sysOp{opSet, epochKey(sysSink, id, t.c.Epoch), val})
		t.inlineBytes += len(val)
	}
}

// abort forgets segments that got bytes of this commit.
func (t *tx) abort() {
	for _, tj := range t.jobs {
		tj.j.out.abandon()
		tj.j.sink.out.abandon()
	}
}

// batch commits by one Pebble batch.
func (t *tx) batch() error {
	b := t.s.db.NewBatchWithSize(t.rowBytes + t.inlineBytes + 1024)
	defer b.Close()
	// Range deletions first: they must not hide what this commit writes.
	slices.SortStableFunc(t.ops, func(x, y sysOp) int {
		return boolInt(y.kind == opRange) - boolInt(x.kind == opRange)
	})
	for _, op := range t.ops {
		var err error
		switch op.kind {
		case opSet:
			err = b.Set(op.key, op.val, nil)
		case opDelete:
			err = b.Delete(op.key, nil)
		case opMerge:
			err = b.Merge(op.key, op.val, nil)
		case opRange:
			err = b.DeleteRange(op.key, op.val, nil)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range t.c.Rows {
		r.sortRuns() // neighbours are found faster in the memtable
		for _, run := range r.runs {
			for i := range run {
				e := &run[i]
				var err error
				switch e.kind {
				case rowPut:
					err = b.Set(r.key(e), r.val(e), nil)
				case rowDelete:
					err = b.Delete(r.key(e), nil)
				case rowAdd:
					err = b.Merge(r.key(e), r.val(e), nil)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return b.Commit(t.s.sync)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// publish makes the commit's effect on the store's own memory.
func (t *tx) publish() {
	s := t.s
	for _, tj := range t.jobs {
		j := tj.j
		if tj.drop {
			tj.gone = append(tj.gone, j.sink.reset()...)
			j.dropped++
			j.usage = usage{}
		}
		j.usage.add(tj.usage)
		j.desc, j.inline = tj.desc, tj.inline
		if len(tj.delta) > 0 || len(tj.sink) > 0 {
			j.epoch = t.c.Epoch
		} else if tj.drop {
			j.epoch = 0
		}
		if tj.logged {
			j.out.end = tj.logPart.off + tj.logPart.len
		}
		if tj.entry != nil {
			j.sink.add(tj.entry, s.opt.SegmentBytes)
		}
		s.dropFiles(j, tj.gone)
		s.maybeFold(j)
	}
	s.epochMu.Lock()
	s.last = max(s.last, t.c.Epoch)
	s.epochMu.Unlock()
	s.setMark(false)
	s.stats.commit(t)
	for _, tb := range t.tables {
		s.maybeSweep(tb)
	}
}
