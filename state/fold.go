package state

import (
	"errors"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

// foldPage is the size of a record of a base, in bytes.
const foldPage = 256 << 10

// errStopped ends a fold when the store closes.
var errStopped = errors.New("the store is being closed")

// maybeFold starts a fold if half of the job's log and base is garbage. The job's
// lock is held.
func (s *Store) maybeFold(j *job) {
	log := j.desc.segBytes() + j.inline
	if j.folding || log <= max(s.opt.FoldBytes, j.foldFrom) || !j.usage.wasted(j.desc.base.len, log, s.opt.FoldBytes) {
		return
	}
	j.folding = true
	s.folds.Go(func() {
		err := s.fold(j)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.folding, j.foldFrom = false, 0
		switch {
		case err == nil:
			s.stats.folds.Add(1)
		case !errors.Is(err, errStopped):
			// The log goes on growing; another try comes after some more of it.
			j.foldFrom = j.desc.segBytes() + j.inline + s.opt.FoldBytes/4
			s.stats.foldErrors.Add(1)
			s.log.Error("could not fold the log of a job", "job", j.id, "err", err)
		}
	})
}

// fold writes the surviving entries of a job's log into a new base, without
// holding up the job's commits, then makes the base and what was committed
// meanwhile the log.
func (s *Store) fold(j *job) error {
	select {
	case s.foldSem <- struct{}{}:
		defer func() { <-s.foldSem }()
	case <-s.stop:
		return errStopped
	}
	v, err := s.foldView(j)
	if err != nil {
		return err
	}
	base, err := s.writeBase(v)
	s.releaseFiles(j, v.files)
	if err != nil {
		if base.no != 0 {
			_ = s.fs.Remove(s.path(logDir, logName("job", j.id, base.no, ".base")))
		}
		return err
	}
	// If this fails the base stays: its descriptor may be durable all the same.
	gone, err := s.publishFold(j, v, base)
	if err != nil {
		return err
	}
	s.dropFiles(j, gone)
	return nil
}

// foldView takes the log as it is and lets later commits write to another
// segment, so that the ones in view can be dropped. Both are one step: a commit
// between them would begin a segment that is in view and go on writing to it after
// the fold has deleted it.
func (s *Store) foldView(j *job) (*logView, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.out.abandon()
	return s.lockedView(j)
}

func (s *Store) writeBase(v *logView) (fileRef, error) {
	ref := fileRef{no: s.nextFile.Add(1)}
	path := s.path(logDir, logName("job", v.id, ref.no, ".base"))
	f, err := s.fs.Create(path, vfs.WriteCategory)
	if err != nil {
		return ref, fileError(err, "could not create file \"%s\"", path)
	}
	w := &baseWriter{f: f, epoch: v.epoch, pages: map[uint32][]byte{}, stop: s.stop}
	_, err = s.walk(v, w.add)
	if err == nil {
		err = w.finish()
	}
	if err == nil && !s.opt.NoSync {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && !s.opt.NoSync {
		err = vfs.SyncDir(s.fs, s.path(logDir))
	}
	if errors.Is(err, errStopped) {
		return ref, errStopped
	}
	ref.len = w.n
	return ref, fileError(pgerrOr(err), "could not write file \"%s\"", path)
}

// baseWriter collects entries into a record per operator.
type baseWriter struct {
	f     vfs.File
	epoch types.Epoch
	pages map[uint32][]byte
	n     int64
	stop  chan struct{}
}

func (w *baseWriter) add(op, vnode int, key, val []byte) error {
	p := w.pages[uint32(op)]
	if len(p)+entrySize(key, val) > foldPage && len(p) > recordHeader {
		if err := w.flush(uint32(op), p); err != nil {
			return err
		}
		p = p[:recordHeader]
	}
	if p == nil {
		p = make([]byte, recordHeader, foldPage)
	}
	w.pages[uint32(op)] = appendEntry(p, vnode, entryPut, key, val)
	return nil
}

func (w *baseWriter) flush(op uint32, p []byte) error {
	select {
	case <-w.stop:
		return errStopped
	default:
	}
	finishRecord(p, w.epoch, op)
	n, err := w.f.Write(p)
	w.n += int64(n)
	return err
}

func (w *baseWriter) finish() error {
	for op, p := range w.pages {
		if err := w.flush(op, p); err != nil {
			return err
		}
	}
	return nil
}

// publishFold makes base the job's base and drops the segments and inline deltas
// that are in it. It returns the names of files that became garbage.
func (s *Store) publishFold(j *job, v *logView, base fileRef) ([]string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dropped != v.dropped {
		return []string{logName("job", j.id, base.no, ".base")}, nil
	}
	d := logDesc{base: base, baseEpoch: v.epoch}
	if base.len == 0 { // nothing survived
		d.base = fileRef{}
	}
	folded := map[fileRef]bool{}
	for _, f := range v.desc.segs {
		folded[f] = true
	}
	for _, f := range j.desc.segs {
		if !folded[f] {
			d.segs = append(d.segs, f)
		}
	}
	gone := missing(append(j.desc.names(j.id), logName("job", j.id, base.no, ".base")), d.names(j.id))
	b := s.db.NewBatch()
	defer b.Close()
	lo, hi := idRange(sysDelta, j.id)
	rest := epochKey(sysDelta, j.id, v.epoch+1)
	var inline int64
	err := scanRange(s.db, rest, hi, func(_, val []byte) error {
		inline += int64(len(val))
		return nil
	})
	err = errors.Join(err, b.DeleteRange(lo, rest, nil), b.Set(jobKey(j.id), d.encode(), nil))
	if err == nil {
		err = b.Commit(s.sync)
	}
	if err == nil {
		err = s.failure()
	}
	if err != nil {
		return nil, fileError(err, "could not write to directory \"%s\"", s.dir)
	}
	j.desc, j.inline = d, inline
	j.usage.folded(v.usage)
	return gone, nil
}

// missing returns the names that are not among keep.
func missing(names, keep []string) []string {
	var out []string
	for _, n := range names {
		found := false
		for _, k := range keep {
			found = found || k == n
		}
		if !found {
			out = append(out, n)
		}
	}
	return out
}
