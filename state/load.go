package state

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

// windowBytes is how much of a log file is read at once, when no record is
// larger.
const windowBytes = 1 << 20

// LoadJob calls f once for every entry of the job's operator state as of its last
// commit, in no order. Slices are borrowed. It must not run while the job
// commits new epochs that matter to the caller.
func (s *Store) LoadJob(id JobID, f func(op int, vnode int, key, val []byte) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	j := s.job(id)
	v, err := s.logView(j)
	if err != nil {
		return err
	}
	defer s.releaseFiles(j, v.files)
	u, err := s.walk(v, f)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch == v.epoch && j.dropped == v.dropped {
		j.usage = u
	}
	return nil
}

// logView is a job's log at one moment. Its files are held until releaseFiles.
type logView struct {
	id     JobID
	desc   logDesc
	inline []byte // records of all inline deltas, in order
	epoch  types.Epoch
	usage  usage
	files  []string // names

	dropped int // value of the job's counter
}

func (s *Store) logView(j *job) (*logView, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return s.lockedView(j)
}

// lockedView is logView for holders of the job's lock.
func (s *Store) lockedView(j *job) (*logView, error) {
	v := j.heldView()
	if j.inline == 0 {
		return v, nil
	}
	var err error
	if v.inline, err = inlineRecords(s.db, j.id); err != nil {
		s.releaseFiles(j, v.files)
		return nil, err
	}
	return v, nil
}

// heldView is a view without the inline deltas. The job's lock is held.
func (j *job) heldView() *logView {
	v := &logView{id: j.id, desc: j.desc.clone(), epoch: j.epoch, usage: j.usage, dropped: j.dropped}
	v.files = v.desc.names(j.id)
	j.files.hold(v.files)
	return v
}

// inlineRecords returns the records of a job's inline deltas, in order.
func inlineRecords(r pebble.Reader, id JobID) (out []byte, err error) {
	lo, hi := idRange(sysDelta, id)
	err = scanRange(r, lo, hi, func(_, val []byte) error {
		out = append(out, val...)
		return nil
	})
	return out, fileError(err, "could not read operator state of job %d", id)
}

// walk calls f for the surviving entries and returns how many there are of what: it
// reads the log from its end, takes the first it meets of every key, and at last
// those of the base that it has not met. Only keys of the log are held in memory,
// and of those not the ones that are behind nothing: of a key that was fresh nothing
// older survives.
func (s *Store) walk(v *logView, f func(op int, vnode int, key, val []byte) error) (usage, error) {
	w := walker{seen: &keySet{}, after: v.desc.baseEpoch, f: f}
	err := s.walkFiles(v, &w)
	return w.usage, err
}

func (s *Store) walkFiles(v *logView, w *walker) error {
	if err := w.backwards(v.inline); err != nil {
		return err
	}
	for _, ref := range slices.Backward(v.desc.segs) {
		path := s.path(logDir, logName("job", v.id, ref.no, ".seg"))
		wins, err := s.windows(path, ref.len)
		if err != nil {
			return err
		}
		slices.Reverse(wins)
		if err := s.readWindows(path, wins, w.backwards); err != nil {
			return err
		}
	}
	if v.desc.base.no == 0 {
		return nil
	}
	w.after = 0
	path := s.path(logDir, logName("job", v.id, v.desc.base.no, ".base"))
	return s.readForward(path, v.desc.base.len, w.base)
}

type walker struct {
	seen  *keySet
	after types.Epoch // records up to it are in the base
	f     func(op int, vnode int, key, val []byte) error
	recs  []record
	ents  []entry
	key   []byte
	usage usage
}

// setKey makes the key that tells entries of a job apart.
func (w *walker) setKey(op uint32, e *entry) []byte {
	w.key = binary.LittleEndian.AppendUint32(w.key[:0], op)
	w.key = binary.LittleEndian.AppendUint16(w.key, uint16(e.vnode))
	w.key = append(w.key, e.key...)
	return w.key
}

// backwards takes whole records, newest last.
func (w *walker) backwards(b []byte) error {
	w.recs = w.recs[:0]
	for len(b) > 0 {
		r, n, err := decodeRecord(b)
		if err != nil {
			return err
		}
		w.recs = append(w.recs, r)
		b = b[n:]
	}
	for _, r := range slices.Backward(w.recs) {
		if r.epoch <= w.after {
			continue
		}
		w.ents = w.ents[:0]
		for p := r.payload; len(p) > 0; {
			e, rest, err := r.nextEntry(p)
			if err != nil {
				return err
			}
			w.ents, p = append(w.ents, e), rest
		}
		for i := len(w.ents) - 1; i >= 0; i-- {
			e := &w.ents[i]
			if w.passed(r.op, e) {
				w.usage.stale += int64(e.size())
				continue
			}
			w.usage.entry(e.size())
			if err := w.f(int(r.op), e.vnode, e.key, e.val); err != nil {
				return err
			}
		}
	}
	return nil
}

// passed reports whether an entry does not survive, and notes its key unless
// nothing older of it can survive anyway.
func (w *walker) passed(op uint32, e *entry) bool {
	if e.fresh {
		return w.seen.n > 0 && w.seen.has(w.setKey(op, e))
	}
	return !w.seen.add(w.setKey(op, e)) || e.deleted
}

// base takes whole records of a base: every key is there once.
func (w *walker) base(b []byte) error {
	for len(b) > 0 {
		r, n, err := decodeRecord(b)
		if err != nil {
			return err
		}
		b = b[n:]
		for p := r.payload; len(p) > 0; {
			e, rest, err := r.nextEntry(p)
			if err != nil {
				return err
			}
			p = rest
			if w.seen.n > 0 && w.seen.has(w.setKey(r.op, &e)) {
				w.usage.stale += int64(e.size())
				continue
			}
			w.usage.entry(e.size())
			if err := w.f(int(r.op), e.vnode, e.key, e.val); err != nil {
				return err
			}
		}
	}
	return nil
}

// window is a part of a log file made of whole records.
type window struct{ off, len int64 }

// windows splits the first size bytes of a log file by the headers of its
// records.
func (s *Store) windows(path string, size int64) ([]window, error) {
	var out []window
	f, err := s.fs.Open(path)
	if err != nil {
		return nil, fileError(err, "could not open file \"%s\"", path)
	}
	defer f.Close()
	buf := make([]byte, min(size, windowBytes))
	var bufOff int64
	have := 0
	cur := window{}
	for off := int64(0); off < size; {
		if off < bufOff || off+recordHeader > bufOff+int64(have) {
			n := min(int64(len(buf)), size-off)
			if _, err := f.ReadAt(buf[:n], off); err != nil {
				return nil, fileError(eofIsCorrupt(err), "could not read file \"%s\"", path)
			}
			bufOff, have = off, int(n)
		}
		n := recordSize(buf[off-bufOff : have])
		if n == 0 || n > size-off {
			return nil, corrupt("file \"%s\" is corrupted at offset %d", path, off)
		}
		if cur.len > 0 && cur.len+n > windowBytes {
			out = append(out, cur)
			cur = window{off: off}
		}
		cur.len += n
		off += n
	}
	return append(out, cur), nil
}

// readWindows calls f with the bytes of each window.
func (s *Store) readWindows(path string, wins []window, f func([]byte) error) error {
	file, err := s.fs.Open(path)
	if err != nil {
		return fileError(err, "could not open file \"%s\"", path)
	}
	defer file.Close()
	var buf []byte
	for _, w := range wins {
		buf = slices.Grow(buf[:0], int(w.len))[:w.len]
		if _, err := file.ReadAt(buf, w.off); err != nil {
			return fileError(eofIsCorrupt(err), "could not read file \"%s\"", path)
		}
		if err := f(buf); err != nil {
			return inFile(err, path, w.off)
		}
	}
	return nil
}

// readForward calls f with runs of whole records, in order.
func (s *Store) readForward(path string, size int64, f func([]byte) error) error {
	if size == 0 {
		return nil
	}
	wins, err := s.windows(path, size)
	if err != nil {
		return err
	}
	return s.readWindows(path, wins, f)
}

// inFile adds the place to an error about corrupted data.
func inFile(err error, path string, off int64) error {
	if !errors.Is(err, vfs.ErrCorruption) {
		return err
	}
	return corrupt("file \"%s\" is corrupted after offset %d", path, off)
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
