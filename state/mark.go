package state

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// mark tells, beside Pebble, an epoch that was committed: a directory that ends
// before it has lost something. Pebble takes a damaged log or manifest for one
// whose end was being written, and comes up with less, without a word.
//
// The file is written in place and not synced: an older mark is a weaker check,
// and a torn one is none.
type mark struct {
	mu   sync.Mutex
	file vfs.File // nil: none is kept
	at   time.Time
}

const (
	markFile  = "MARK"
	markBytes = 12 // epoch(8, big-endian) and crc32c(4, big-endian) of it
	// markEvery bounds how often a mark is written.
	markEvery = 50 * time.Millisecond
)

func encodeMark(e types.Epoch) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(e))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// checkMark compares the recovered epoch with the mark, and opens it for writing.
func (s *Store) checkMark() error {
	path := s.path(markFile)
	b, err := vfs.ReadFile(s.fs, path)
	if err == nil && len(b) == markBytes {
		e := types.Epoch(binary.BigEndian.Uint64(b))
		if string(encodeMark(e)) == string(b) && e > s.last {
			return pgerr.Wrap(vfs.ErrCorruption, pgerr.DataCorrupted, "directory \"%s\" has lost commits: it ends at epoch %d, and epoch %d was committed", s.dir, s.last, e).
				WithDetail("A log or manifest below \"%s\" is damaged or missing.", s.path(dbDir)).
				WithHint("Restore the directory from a copy. To go on with what is left, remove file \"%s\".", path)
		}
	}
	if s.opt.NoSync {
		return nil // a commit may be lost with the process
	}
	if s.mark.file, err = s.fs.OpenReadWrite(path, vfs.WriteCategory); err != nil {
		return fileError(err, "could not open file \"%s\"", path)
	}
	s.setMark(true)
	return nil
}

// setMark writes the last epoch, unless that was done a moment ago and need not
// be now. That it fails harms nothing.
func (s *Store) setMark(now bool) {
	m := &s.mark
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil || !now && time.Since(m.at) < markEvery {
		return
	}
	m.at = time.Now()
	_, _ = m.file.WriteAt(encodeMark(s.LastEpoch()), 0)
}

func (s *Store) closeMark() {
	s.setMark(true)
	s.mark.mu.Lock()
	defer s.mark.mu.Unlock()
	if s.mark.file != nil {
		_ = s.mark.file.Close()
		s.mark.file = nil
	}
}
