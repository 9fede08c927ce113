package state

func (s *Store) maybeFold(j *job) {}

// removeLater deletes files that no commit names any more, once nobody reads
// them.
func (s *Store) removeLater(j *job, names []string) {
	if len(names) == 0 {
		return
	}
	s.folds.Go(func() {
		j.files.Lock()
		defer j.files.Unlock()
		for _, n := range names {
			if err := s.fs.Remove(s.path(logDir, n)); err != nil {
				s.log.Warn("could not remove a file; the next start will", "file", n, "err", err)
			}
		}
	})
}
