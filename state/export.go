package state

import (
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// Export makes dst, which must not exist, a complete state directory of one
// moment: every commit that had returned when Export was called and some of those
// made meanwhile, each whole. Files are hard links where the file system allows,
// so it costs little; commits go on, large ones wait for some milliseconds. dst
// can be opened as a store, and changing either does not change the other.
func (s *Store) Export(dst string) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	if _, err := s.fs.Stat(dst); err == nil {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "directory \"%s\" exists already", dst)
	}
	// Files that the copy will name must not be deleted before they are linked.
	s.exporting.Lock()
	defer s.exporting.Unlock()
	err := s.export(dst)
	if err != nil {
		_ = s.fs.RemoveAll(dst)
	}
	return fileError(pgerrOr(err), "could not write directory \"%s\"", dst)
}

func (s *Store) export(dst string) error {
	logs := s.fs.PathJoin(dst, logDir)
	if err := s.fs.MkdirAll(logs, 0o700); err != nil {
		return err
	}
	if err := s.checkpoint(s.fs.PathJoin(dst, dbDir)); err != nil {
		return err
	}
	names, err := s.fs.List(s.path(logDir))
	if err != nil {
		return err
	}
	for _, n := range names {
		err := vfs.LinkOrCopy(s.fs, s.path(logDir, n), s.fs.PathJoin(logs, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that was never named may vanish
			return err
		}
	}
	if err := vfs.SyncDir(s.fs, logs); err != nil {
		return err
	}
	// Without it the directory is refused, so it comes last.
	if err := vfs.WriteFile(s.fs, dst, formatFile, []byte(formatLine)); err != nil {
		return err
	}
	return vfs.SyncDir(s.fs, s.fs.PathDir(dst))
}

// checkpoint copies Pebble. Ingestions are held back: the copy of its log must
// not name tables that were ingested after the list of tables was made.
func (s *Store) checkpoint(dst string) error {
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	return s.db.Checkpoint(dst, pebble.WithFlushedWAL())
}
