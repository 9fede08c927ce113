package state

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// Names inside the state directory.
const (
	formatFile = "FORMAT"
	dbDir      = "db"  // Pebble
	logDir     = "log" // segments and bases
	tmpDir     = "tmp" // tables before their ingestion
)

// formatLine is the contents of the format file; the number changes when older
// binaries could not read the directory.
const formatLine = "streamdb state 1\n"

// Open opens or makes a state directory and recovers the last commit. The
// directory is locked: 55006 when another process has it, 55000 when its format
// is not this binary's.
func Open(dir string, opt Options) (*Store, error) {
	opt = opt.withDefaults()
	s := &Store{
		opt: opt, fs: opt.FS, dir: dir, log: opt.Logger.With(slog.String("dir", dir)),
		sync: pebble.Sync, jobs: map[JobID]*job{}, tables: map[TableID]*table{},
		stop: make(chan struct{}), foldSem: make(chan struct{}, 1),
	}
	if opt.NoSync {
		s.sync = pebble.NoSync
	}
	if err := s.prepareDir(); err != nil {
		return nil, err
	}
	err := s.recover()
	if err != nil {
		if s.db != nil && s.failed.Load() == nil {
			err = errors.Join(err, s.db.Close())
		}
		s.closeMark()
		err = errors.Join(err, s.lock.Close())
		return nil, openError(pgerrOr(err), dir)
	}
	return s, nil
}

// openError words what Pebble found on opening the directory.
func openError(err error, dir string) error {
	var errno syscall.Errno
	known := errors.As(err, &errno) && errno != syscall.ENOENT
	cause := err
	e := pgerr.From(fileError(err, "could not open directory \"%s\"", dir))
	if e.Hint != "" || known || e.Code == pgerr.InvalidParameterValue {
		return e
	}
	// Pebble had these files and they were whole.
	return pgerr.Wrap(errors.Join(vfs.ErrCorruption, cause), pgerr.DataCorrupted, "%s", e.Msg).WithDetail("%s", firstLine(cause.Error())).
		WithHint("A file of the directory is damaged or missing. Restore the directory from a copy.")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// pgerrOr keeps only the *pgerr.Error of a joined error, if it has one.
func pgerrOr(err error) error {
	var pe *pgerr.Error
	if errors.As(err, &pe) {
		return pe
	}
	return err
}

// prepareDir makes the directories, takes the lock and checks the format, in an
// order that never touches a directory of somebody else.
func (s *Store) prepareDir() error {
	for _, d := range []string{s.dir, s.path(logDir), s.path(tmpDir)} {
		if err := s.fs.MkdirAll(d, 0o700); err != nil {
			return denied(fileError(err, "could not create directory \"%s\"", d))
		}
	}
	lock, err := pebble.LockDirectory(s.dir, s.fs)
	if err != nil {
		return s.lockError(err)
	}
	s.lock = lock
	if err := s.checkFormat(); err != nil {
		_ = lock.Close()
		return err
	}
	return nil
}

func (s *Store) lockError(err error) error {
	var pe *fs.PathError // opening the lock file failed, rather than locking it
	held := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "held by current process")
	if held && !errors.As(err, &pe) {
		return pgerr.Wrap(err, pgerr.ObjectInUse, "directory \"%s\" is in use by another server", s.dir).
			WithHint("Stop the other server, or give this one a directory of its own.")
	}
	return denied(fileError(err, "could not lock directory \"%s\"", s.dir))
}

// denied tells what to do about a directory that cannot be used.
func denied(err error) error {
	switch e := pgerr.From(err); e.Code {
	case pgerr.InsufficientPrivilege:
		return e.WithHint("The server runs as user %d, which needs to own the directory.", os.Geteuid())
	case pgerr.WrongObjectType:
		return e.WithHint("Name a directory that can be made.")
	}
	return err
}

func (s *Store) checkFormat() error {
	b, err := vfs.ReadFile(s.fs, s.path(formatFile))
	if err == nil {
		if string(b) == formatLine {
			return nil
		}
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "directory \"%s\" is not compatible with this server", s.dir).
			WithDetail("Its format is %q; this server reads %q.", strings.TrimSpace(string(b)), strings.TrimSpace(formatLine))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fileError(err, "could not read file \"%s\"", s.path(formatFile))
	}
	if _, err := s.fs.Stat(s.path(dbDir)); err == nil {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "directory \"%s\" has data but no file \"%s\"", s.dir, formatFile).
			WithHint("It was not made by this server, or the file was removed.")
	}
	if err := vfs.WriteFile(s.fs, s.dir, formatFile, []byte(formatLine)); err != nil {
		return fileError(err, "could not write file \"%s\"", s.path(formatFile))
	}
	if parent := s.fs.PathDir(s.dir); parent != s.dir && parent != "" {
		err = vfs.SyncDir(s.fs, parent)
	} else {
		err = nil
	}
	return fileError(err, "could not sync the parent of directory \"%s\"", s.dir)
}

// recover opens Pebble, reads the descriptors and removes files nobody names.
func (s *Store) recover() error {
	s.space.init(s)
	s.popt = s.pebbleOptions(s.space.patient(s.fs))
	epoch, manifest := s.readMark()
	if err := s.checkManifest(manifest); err != nil {
		return err
	}
	db, err := pebble.Open(s.path(dbDir), s.popt)
	if err != nil {
		return err
	}
	s.db = db
	named := map[string]bool{}
	if err := s.loadEpoch(); err != nil {
		return err
	}
	if err := s.startMark(epoch); err != nil {
		return err
	}
	if err := s.loadJobs(named); err != nil {
		return err
	}
	if err := s.loadSinks(named); err != nil {
		return err
	}
	return s.removeOrphans(named)
}

func (s *Store) loadEpoch() error {
	v, closer, err := s.db.Get(sysKey(sysEpoch))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	var m maxMerger
	if err := m.add(v); err != nil {
		return err
	}
	s.last = types.Epoch(m.max)
	return nil
}

// removeOrphans deletes files of failed or unfinished commits and folds, and
// learns the greatest file number in use.
func (s *Store) removeOrphans(named map[string]bool) error {
	tmp, err := s.fs.List(s.path(tmpDir))
	if err != nil {
		return fileError(err, "could not read directory \"%s\"", s.path(tmpDir))
	}
	for _, n := range tmp {
		_ = s.fs.Remove(s.path(tmpDir, n))
	}
	logs, err := s.fs.List(s.path(logDir))
	if err != nil {
		return fileError(err, "could not read directory \"%s\"", s.path(logDir))
	}
	var last uint64
	have := map[string]bool{}
	for _, n := range logs {
		have[n] = true
		last = max(last, fileNumber(n))
		if !named[n] {
			s.log.Info("removing a file that no commit names", "file", n)
			_ = s.fs.Remove(s.path(logDir, n))
		}
	}
	for n := range named {
		last = max(last, fileNumber(n))
		if !have[n] {
			return pgerr.Wrap(vfs.ErrCorruption, pgerr.DataCorrupted, "file \"%s\" is missing", s.path(logDir, n))
		}
	}
	s.nextFile.Store(last)
	return nil
}

// path joins names to the state directory.
func (s *Store) path(elem ...string) string {
	return s.fs.PathJoin(append([]string{s.dir}, elem...)...)
}

func logName(kind string, id uint32, no uint64, ext string) string {
	return kind + "-" + strconv.FormatUint(uint64(id), 10) + "-" + strconv.FormatUint(no, 10) + ext
}

// fileNumber is the number in a name of logName; 0: not such a name.
func fileNumber(name string) uint64 {
	name = name[strings.LastIndexByte(name, '-')+1:]
	name, _, _ = strings.Cut(name, ".")
	n, _ := strconv.ParseUint(name, 10, 64)
	return n
}
