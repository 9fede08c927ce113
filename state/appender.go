package state

import (
	"github.com/streamdb/streamdb/internal/vfs"
)

// Pieces of less than pieceBytes are written together, packBytes by one call.
const (
	packBytes  = 256 << 10
	pieceBytes = packBytes / 4
)

// appender writes the current segment of a job or sink. Its owner's lock guards
// it.
type appender struct {
	s    *Store
	kind string
	id   uint32
	f    vfs.File // nil: the next write makes a new segment
	no   uint64
	end  int64 // committed length
}

// extent is a written part of a segment.
type extent struct {
	no       uint64
	off, len int64
}

// write writes bufs after the committed length and syncs. The caller commits the
// extent by setting end, or calls abandon: bytes after a failed sync cannot be
// trusted to be written again.
func (a *appender) write(bufs [][]byte) (extent, error) {
	x, err := a.tryWrite(bufs)
	if err != nil {
		err = fileError(err, "could not write file \"%s\"", a.path())
		a.abandon()
	}
	return x, err
}

func (a *appender) path() string {
	return a.s.path(logDir, logName(a.kind, a.id, a.no, ".seg"))
}

func (a *appender) tryWrite(bufs [][]byte) (extent, error) {
	if a.f == nil {
		a.no, a.end = a.s.nextFile.Add(1), 0
		f, err := a.s.fs.Create(a.path(), vfs.WriteCategory)
		if err != nil {
			return extent{}, err
		}
		a.f = f
		if !a.s.opt.NoSync {
			if err := vfs.SyncDir(a.s.fs, a.s.path(logDir)); err != nil {
				return extent{}, err
			}
		}
	}
	n, err := writeAt(a.f, a.end, bufs)
	if err == nil && !a.s.opt.NoSync {
		err = a.f.SyncData()
	}
	return extent{no: a.no, off: a.end, len: n}, err
}

// writeAt writes bufs one after another from off on, small ones together, and
// returns their length.
func writeAt(f vfs.File, off int64, bufs [][]byte) (int64, error) {
	start := off
	var pack []byte
	flush := func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		n, err := f.WriteAt(b, off)
		off += int64(n)
		return err
	}
	for _, b := range bufs {
		if len(b) < pieceBytes && len(pack)+len(b) <= packBytes {
			if pack == nil && len(bufs) > 1 {
				pack = make([]byte, 0, packBytes)
			}
			pack = append(pack, b...)
			continue
		}
		if err := flush(pack); err != nil {
			return off - start, err
		}
		pack = pack[:0]
		if len(b) >= pieceBytes {
			if err := flush(b); err != nil {
				return off - start, err
			}
			continue
		}
		pack = append(pack, b...)
	}
	err := flush(pack)
	return off - start, err
}

// abandon closes the segment; what is committed of it stays.
func (a *appender) abandon() {
	if a.f != nil {
		_ = a.f.Close()
		a.f = nil
	}
}
