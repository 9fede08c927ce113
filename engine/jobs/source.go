package jobs

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/streamdb/streamdb/catalog"
	"github.com/streamdb/streamdb/connector"
	"github.com/streamdb/streamdb/exec"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/planner/plan"
)

// firstBatchWait bounds how long the first epoch of a source waits for a reader's
// first batch, which connectors return at once.
const firstBatchWait = time.Second

// sourceReader feeds one instance of a source scan from its connector.
type sourceReader struct {
	task    *jobTask
	Scan    *plan.Scan
	src     connector.Source
	cols    []int  // to read, as the connector numbers them
	policy  string // the source's on_error
	prefix  string
	edge    *exec.Edge
	seat    *exec.Seat
	op      int  // of the scan, in its fragment
	kept    bool // the scan goes on from where another job was
	fresh   bool // the job has not committed an epoch yet
	Contact contact
	at      map[string]string // offsets sent so far
}

// connectSources opens the edges of the job's source scans and of its control,
// with the offsets of the last committed epoch.
func (j *Job) connectSources() error {
	for _, t := range j.tasks {
		f := j.Frags[t.frag]
		for leaf, n := range f.leaves {
			s, ok := n.(*plan.Scan)
			if !ok || s.Kind != plan.RelSource {
				continue
			}
			src, err := j.eng.OpenSource(s.Rel)
			if err != nil {
				return err
			}
			o, _ := j.eng.Catalog.Current().ByOID(s.Rel).(*catalog.Source)
			r := &sourceReader{task: t, Scan: s, src: src, cols: ReadColumns(o, s.Cols), policy: SourcePolicy(o), prefix: offsetPrefix(opAddr{t.frag, leaf}), op: t.tree.InputOperator(leaf), kept: j.kept[opAddr{t.frag, leaf}], at: map[string]string{}}
			pre := string(offsetKey(j.store, r.prefix))
			err = j.eng.Store.MetaScan([]byte(pre), func(k, v []byte) error {
				r.at[strings.TrimPrefix(string(k), pre)] = string(v)
				return nil
			})
			if err != nil {
				return err
			}
			r.edge = t.inbox.Connect(leaf, true)
			r.fresh = j.fresh
			r.seat = j.seats().Seat()
			r.edge.SentBy(r.seat)
			if r.fresh && !r.kept {
				r.edge.AwaitFirst()
			}
			j.mu.Lock()
			j.readers = append(j.readers, r)
			j.mu.Unlock()
		}
		if t.needsControl() {
			t.control = t.inbox.Connect(-1, false)
		}
	}
	return nil
}

// run reads until the job ends; a reader that fails is opened again from where
// it was, with back-off, and the failure is visible in SHOW JOBS.
func (r *sourceReader) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		end, err := r.readAll(ctx, &n)
		if end || ctx.Err() != nil {
			return
		}
		if r.fresh && len(r.at) == 0 {
			r.release()
		}
		r.Contact.failed(err)
		r.task.job.eng.Log.Warn("source reader failed; opening it again", "job", r.task.job.Name(), "source", r.Scan.Name, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(connector.Backoff(n)):
		}
	}
}

// release lets barriers pass that wait for the reader's first batch.
func (r *sourceReader) release() {
	_ = r.edge.Send(exec.Message{Source: &exec.SourceProgress{}})
}

func (r *sourceReader) readAll(ctx context.Context, attempts *int) (end bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = pgerr.New(pgerr.Internal, "the reader of source %s panicked: %v", r.Scan.Name, p)
		}
	}()
	rd, err := r.src.Open(ctx, r.cols, r.task.inst, r.task.job.Frags[r.task.frag].par, maps.Clone(r.at))
	if err != nil {
		return false, err
	}
	defer rd.Close()
	r.Contact.opened(rd)
	defer r.Contact.opened(nil)
	if r.fresh {
		// Barriers wait for the first batch, but not for ever.
		t := time.AfterFunc(firstBatchWait, r.release)
		defer t.Stop()
	}
	defer r.seat.Leave()
	reading := connector.OnWait(ctx, func() func() {
		r.seat.Leave()
		return r.seat.Take
	})
	for {
		r.seat.Offer()
		b, err := rd.Read(reading)
		if err != nil {
			return false, err
		}
		*attempts = 0
		r.Contact.failed(nil)
		if r.policy == "skip" {
			r.task.job.Skipped.Add(int64(len(b.Bad)))
			b.Bad = nil
		}
		p := &exec.SourceProgress{Bad: b.Bad, Scan: r.op, Fail: r.policy == "fail", End: b.End, Offsets: make(map[string]string, len(b.Offsets))}
		for k, v := range b.Offsets {
			r.at[k] = v
			p.Offsets[r.prefix+k] = v
		}
		m := exec.Message{Chunk: b.Chunk, Pool: b.Pool, Source: p}
		if b.Chunk != nil {
			r.task.job.Rows.Add(int64(b.Chunk.Rows))
		}
		if err := r.edge.Send(m); err != nil {
			return true, nil
		}
		if b.End {
			return true, nil
		}
	}
}
