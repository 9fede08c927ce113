package state

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Store is an open state directory. All methods may be called concurrently.
type Store struct {
	opt  Options
	fs   vfs.FS
	dir  string
	log  *slog.Logger
	lock *pebble.Lock
	db   *pebble.DB
	popt *pebble.Options
	sync *pebble.WriteOptions

	life   sync.RWMutex // held for reading by every operation
	closed bool
	failed atomic.Pointer[string]

	nextFile atomic.Uint64
	clock    atomic.Uint64 // commits that have ended
	epochMu  sync.Mutex
	last     types.Epoch
	mark     mark

	jobsMu sync.Mutex
	jobs   map[JobID]*job
	tables map[TableID]*table // relations with counts; guarded by jobsMu

	folds   sync.WaitGroup // all background work
	foldSem chan struct{}  // one fold at a time
	stop    chan struct{}  // closed by Close
	halt    sync.Once

	exporting sync.RWMutex // held for reading while log files are deleted
	ingesting sync.RWMutex // held for reading by ingestions

	space space
	stats counters
}

// begin guards an operation against Close and against a failed Pebble; end must
// be called if it succeeds.
func (s *Store) begin() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the state store is closed")
	}
	if err := s.failure(); err != nil {
		s.life.RUnlock()
		return err
	}
	return nil
}

func (s *Store) end() { s.life.RUnlock() }

func (s *Store) fail(msg string) { s.failed.CompareAndSwap(nil, &msg) }

func (s *Store) failure() error {
	if msg := s.failed.Load(); msg != nil {
		return pgerr.New(pgerr.IOError, "storage in directory \"%s\" has failed: %s", s.dir, *msg).
			WithHint("Restart the server; it recovers to the last committed epoch.")
	}
	return nil
}

// LastEpoch returns the greatest committed epoch, 0 before the first.
func (s *Store) LastEpoch() types.Epoch {
	s.epochMu.Lock()
	defer s.epochMu.Unlock()
	return s.last
}

// Close waits for running operations and folds and closes the files. Snapshots
// and iterators must have been closed. A second call does nothing.
func (s *Store) Close() error {
	s.halt.Do(func() { close(s.stop) }) // before the lock: commits may be waiting for space
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.folds.Wait()
	for _, j := range s.jobs {
		j.out.abandon()
		j.sink.out.abandon()
	}
	var err error
	if s.failed.Load() == nil {
		err = s.db.Close()
		s.closeMark()
	}
	err = errors.Join(err, s.lock.Close())
	return fileError(err, "could not close directory \"%s\"", s.dir)
}

// job returns the state of a job, made on first use.
func (s *Store) job(id JobID) *job {
	s.jobsMu.Lock()
	defer s.jobsMu.Unlock()
	j := s.jobs[id]
	if j == nil {
		j = &job{id: id}
		j.out = appender{s: s, kind: "job", id: id}
		j.sink.out = appender{s: s, kind: "sink", id: id}
		s.jobs[id] = j
	}
	return j
}
