package state

import (
	"sync/atomic"
)

type counters struct {
	commits, ingests, rows, rowBytes, deltaBytes, sinkBytes, folds, foldErrors, swept atomic.Uint64
}

func (c *counters) commit(t *tx) {
	c.commits.Add(1)
	if t.rowBytes+t.inlineBytes >= t.s.opt.IngestBytes {
		c.ingests.Add(1)
	}
	var rows int
	for _, b := range t.c.Rows {
		rows += b.n
	}
	c.rows.Add(uint64(rows))
	c.rowBytes.Add(uint64(t.rowBytes))
	c.deltaBytes.Add(uint64(t.deltaBytes))
	c.sinkBytes.Add(uint64(t.sinkBytes))
}

// Stats are counters since Open and sizes now.
type Stats struct {
	Commits, Ingests                      uint64
	Rows, RowBytes, DeltaBytes, SinkBytes uint64 // committed
	Folds, FoldErrors                     uint64
	Swept                                 uint64 // rows whose count became 0 and that are deleted
	DiskBytes                             uint64 // Pebble's files
	LogBytes                              uint64 // bases, segments and inline deltas of jobs
	L0Sublevels                           int    // above 20: compactions lag behind
	CompactionDebt                        uint64 // bytes still to be compacted
	CacheHits, CacheMisses, OpenSnapshots int64
}

// Stats returns counters and sizes. It takes locks of Pebble: call it every few
// seconds, not per commit.
func (s *Store) Stats() Stats {
	st := Stats{
		Commits: s.stats.commits.Load(), Ingests: s.stats.ingests.Load(),
		Rows: s.stats.rows.Load(), RowBytes: s.stats.rowBytes.Load(),
		DeltaBytes: s.stats.deltaBytes.Load(), SinkBytes: s.stats.sinkBytes.Load(),
		Folds: s.stats.folds.Load(), FoldErrors: s.stats.foldErrors.Load(),
		Swept: s.stats.swept.Load(),
	}
	if s.begin() != nil {
		return st
	}
	defer s.end()
	m := s.db.Metrics()
	st.DiskBytes = m.DiskSpaceUsage()
	st.L0Sublevels = int(m.Levels[0].Sublevels)
	st.CompactionDebt = m.Compact.EstimatedDebt
	st.CacheHits, st.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
	st.OpenSnapshots = int64(m.Snapshots.Count)
	s.jobsMu.Lock()
	jobs := make([]*job, 0, len(s.jobs))
	for _, j := range s.jobs {
		jobs = append(jobs, j)
	}
	s.jobsMu.Unlock()
	for _, j := range jobs {
		st.LogBytes += uint64(j.bytes())
	}
	return st
}

func (j *job) bytes() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.desc.base.len + j.desc.segBytes() + j.inline
}

// JobBytes returns the size on disk of a job's operator state, dead entries
// included.
func (s *Store) JobBytes(id JobID) int64 { return s.job(id).bytes() }

// ApproxBytes estimates the size on disk of a relation; rows written lately may
// be missing.
func (s *Store) ApproxBytes(table TableID) int64 {
	if s.begin() != nil {
		return 0
	}
	defer s.end()
	lo, hi := tableRange(table)
	if hi == nil {
		hi = []byte{0xff, 0xff, 0xff, 0xff, 0xff}
	}
	n, err := s.db.EstimateDiskUsage(lo, hi)
	if err != nil {
		return 0
	}
	return int64(n)
}
