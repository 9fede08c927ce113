package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
)

// mark tells, beside Pebble, of an epoch that was committed and how far Pebble's
// manifest had come: a directory that ends before has lost something. Pebble takes
// a damaged log or manifest for one whose end was being written, and comes up with
// less, without a word.
//
// The file is written in place and not synced: an older mark is a weaker check,
// and a torn one is none. What it says of the manifest is as it was seen the time
// before, so that it is on disk for certain.
type mark struct {
	mu     sync.Mutex
	file   vfs.File // nil: none is kept
	at     time.Time
	looked time.Time // at the manifest
	seen   manifest
	sure   manifest // seen before that
}

// manifest is the number and size of Pebble's manifest; the zero value: unknown.
type manifest struct{ no, size uint64 }

const (
	markFile  = "MARK"
	markBytes = 28
	// markEvery bounds how often a mark is written, lookEvery how often the
	// manifest is looked at, for which the directory is read.
	markEvery = 50 * time.Millisecond
	lookEvery = 5 * time.Second
)

// encodeMark makes the contents: epoch(8), number(8) and size(8) of the manifest,
// and crc32c(4) of these, big-endian.
func encodeMark(e types.Epoch, m manifest) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(e))
	b = binary.BigEndian.AppendUint64(b, m.no)
	b = binary.BigEndian.AppendUint64(b, m.size)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readMark returns what the mark says, zeros if there is no good one.
func (s *Store) readMark() (types.Epoch, manifest) {
	b, err := vfs.ReadFile(s.fs, s.path(markFile))
	if err != nil || len(b) != markBytes {
		return 0, manifest{}
	}
	e := types.Epoch(binary.BigEndian.Uint64(b))
	m := manifest{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	if !bytes.Equal(encodeMark(e, m), b) {
		return 0, manifest{}
	}
	return e, m
}

// manifest finds Pebble's manifest; it is named by a marker, a file whose name is
// marker.manifest, a count and the manifest's name.
func (s *Store) manifest() manifest {
	names, err := s.fs.List(s.path(dbDir))
	if err != nil {
		return manifest{}
	}
	count, file := "", ""
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, "marker.manifest."); ok {
			if c, f, _ := strings.Cut(rest, "."); c > count {
				count, file = c, f
			}
		}
	}
	no, err := strconv.ParseUint(strings.TrimPrefix(file, "MANIFEST-"), 10, 64)
	if err != nil {
		return manifest{}
	}
	st, err := s.fs.Stat(s.path(dbDir, file))
	if err != nil {
		return manifest{}
	}
	return manifest{no, uint64(st.Size())}
}

func (s *Store) lost(format string, args ...any) error {
	return pgerr.Wrap(vfs.ErrCorruption, pgerr.DataCorrupted, "directory \"%s\" has lost commits: %s", s.dir, fmt.Sprintf(format, args...)).
		WithDetail("A log or manifest below \"%s\" is damaged or missing.", s.path(dbDir)).
		WithHint("Restore the directory from a copy. To go on with what is left, remove file \"%s\".", s.path(markFile))
}

// checkManifest compares the manifest with the mark before Pebble opens it.
func (s *Store) checkManifest(want manifest) error {
	switch have := s.manifest(); {
	case want.no == 0 || have.no > want.no || have.no == want.no && have.size >= want.size:
		return nil
	case have.no == want.no:
		return s.lost("manifest %d has %d bytes, and had %d", have.no, have.size, want.size)
	}
	return s.lost("manifest %d is not there", want.no)
}

// startMark compares the recovered epoch with the mark, and opens it for writing.
func (s *Store) startMark(want types.Epoch) error {
	if want > s.last {
		return s.lost("it ends at epoch %d, and epoch %d was committed", s.last, want)
	}
	if s.opt.NoSync {
		return nil // a commit may be lost with the process
	}
	path := s.path(markFile)
	var err error
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
	if now || m.at.Sub(m.looked) >= lookEvery {
		m.looked = m.at
		m.sure, m.seen = m.seen, s.manifest()
	}
	_, _ = m.file.WriteAt(encodeMark(s.LastEpoch(), m.sure), 0)
}

// closeMark writes the last mark, when Pebble is closed.
func (s *Store) closeMark() {
	s.setMark(true)
	s.setMark(true) // now the manifest does not change any more
	s.mark.mu.Lock()
	defer s.mark.mu.Unlock()
	if s.mark.file != nil {
		_ = s.mark.file.Close()
		s.mark.file = nil
	}
}
