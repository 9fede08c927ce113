package state

import "sync"

// logFiles counts who reads which log files of a job, so that a file that nothing
// names any more stays until the last of its readers has gone. Nobody ever waits
// for a reader: whoever lets the last hold on a file go has it deleted.
type logFiles struct {
	mu    sync.Mutex
	holds map[string]int
	gone  map[string]bool // named by nothing but still read
}

// hold keeps files until release. The caller knows that they have not been
// dropped, by holding the lock under which they are named.
func (f *logFiles) hold(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds == nil {
		f.holds, f.gone = map[string]int{}, map[string]bool{}
	}
	for _, n := range names {
		f.holds[n]++
	}
}

// release undoes one hold of each file and returns the names of those that can be
// deleted now.
func (f *logFiles) release(names []string) (free []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range names {
		if f.holds[n]--; f.holds[n] > 0 {
			continue
		}
		delete(f.holds, n)
		if f.gone[n] {
			delete(f.gone, n)
			free = append(free, n)
		}
	}
	return free
}

// drop says that nothing names the files any more and returns the names of those
// that can be deleted at once; the others follow when they are released.
func (f *logFiles) drop(names []string) (free []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range names {
		if f.holds[n] > 0 {
			f.gone[n] = true
		} else {
			free = append(free, n)
		}
	}
	return free
}

// dropFiles has files of a job deleted that no commit names any more, once nobody
// reads them. The caller is an operation or a fold.
func (s *Store) dropFiles(j *job, names []string) { s.removeLater(j.files.drop(names)) }

// releaseFiles ends a hold on files of a job. The caller is an operation or a fold.
func (s *Store) releaseFiles(j *job, names []string) { s.removeLater(j.files.release(names)) }

// removeLater deletes files in the background, when no export may want them.
func (s *Store) removeLater(names []string) {
	if len(names) == 0 {
		return
	}
	s.folds.Go(func() {
		s.exporting.RLock()
		defer s.exporting.RUnlock()
		for _, n := range names {
			if err := s.fs.Remove(s.path(logDir, n)); err != nil {
				s.log.Warn("could not remove a file; the next start will", "file", n, "err", err)
			}
		}
	})
}
