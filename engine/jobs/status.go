package jobs

import (
	"sort"
	"strings"

	"github.com/streamdb/streamdb/connector"
)

// Retrying is the status of what cannot reach its outside and tries again.
const Retrying = "retrying"

// JobsInOrder returns the jobs by id.
func (e *Runner) JobsInOrder() []*Job {
	e.mu.RLock()
	js := make([]*Job, 0, len(e.jobs))
	for _, j := range e.jobs {
		js = append(js, j)
	}
	e.mu.RUnlock()
	sort.Slice(js, func(a, b int) bool { return js[a].ID < js[b].ID })
	return js
}

// ReplacingJobs returns the jobs that are to take the place of others.
func (e *Runner) ReplacingJobs() (js []*Job) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, r := range e.replacing {
		js = append(js, r.job)
	}
	return js
}

// Status tells how a job is and why.
func (j *Job) Status() (string, Trouble) {
	if err := j.Err(); err != nil {
		return "failed", Trouble{Err: err}
	}
	for _, r := range j.Sources() {
		if t := r.Contact.Trouble(); t.Err != nil {
			return Retrying, t
		}
	}
	if j.own.Load() != nil {
		return "replacing", Trouble{}
	}
	if j.creating.Load() {
		return "creating", Trouble{}
	}
	if j.Sink != nil {
		if t := j.Sink.contact.Trouble(); t.Err != nil {
			return Retrying, t
		}
	}
	return "running", Trouble{}
}

// Sources returns the job's readers so far.
func (j *Job) Sources() []*sourceReader {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.readers
}

// Committed returns the offsets of the last committed epoch, by split.
func (r *sourceReader) Committed() map[string]int64 {
	out := map[string]int64{}
	src, ok := r.src.(connector.Offsets)
	if !ok {
		return out
	}
	pre := string(offsetKey(r.task.job.store, r.prefix))
	_ = r.task.job.eng.Store.MetaScan([]byte(pre), func(k, v []byte) error {
		if n, err := src.OffsetOf(string(v)); err == nil {
			out[strings.TrimPrefix(string(k), pre)] = n
		}
		return nil
	})
	return out
}
