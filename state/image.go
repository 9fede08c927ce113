package state

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// JobImage is the operator state of a job as of its last commit before the image
// was taken. It can be read while the job goes on. Files that it needs are not
// deleted before it is closed.
type JobImage struct {
	s     *Store
	j     *job
	v     *logView
	sn    *pebble.Snapshot
	close sync.Once
}

// JobImage takes an image of a job's operator state, which costs little. It must be
// closed, before the store.
func (s *Store) JobImage(id JobID) (*JobImage, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	j := s.job(id)
	j.mu.Lock()
	defer j.mu.Unlock()
	return &JobImage{s: s, j: j, v: j.heldView(), sn: s.db.NewSnapshot()}, nil
}

// Each calls f once for every entry, in no order. Slices are borrowed.
func (m *JobImage) Each(f func(op int, vnode int, key, val []byte) error) error {
	if err := m.s.begin(); err != nil {
		return err
	}
	defer m.s.end()
	var err error
	if m.v.inline, err = inlineRecords(m.sn, m.v.id); err != nil {
		return err
	}
	_, err = m.s.walk(m.v, f)
	return err
}

// Close lets the image go. A second call does nothing.
func (m *JobImage) Close() error {
	var err error
	m.close.Do(func() {
		err = fileError(m.sn.Close(), "could not close an image of operator state")
		if m.s.begin() == nil {
			m.s.releaseFiles(m.j, m.v.files)
			m.s.end()
		}
	})
	return err
}
