package state

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/types"
)

// sinkState is the log of one sink. out belongs to the job's lock, the rest to
// mu.
type sinkState struct {
	out     appender
	mu      sync.Mutex
	pending []sinkMeta // by epoch
	left    []uint64   // segments no epoch uses, still to be deleted
}

// sinkMeta is a committed epoch of a sink.
type sinkMeta struct {
	epoch types.Epoch
	at    extent // no 0: inline
	rows  int
	bytes int64
	time  time.Time
}

// The entry of an epoch: version(1), kind(1), then uvarints: rows, commit time in
// µs since 1970, number of pieces, length of each; then for kind 0 the data, for
// kind 1 uvarints segment number and offset, and crc32c(4, little-endian) of the
// data.
const (
	sinkVersion  = 1
	sinkKindData = 0
	sinkKindSeg  = 1
)

func newSinkEntry(e types.Epoch, rows int, data [][]byte, at *sinkMeta) (*sinkMeta, []byte) {
	m := &sinkMeta{epoch: e, rows: rows, time: time.UnixMicro(time.Now().UnixMicro())}
	b := []byte{sinkVersion, sinkKindData}
	if at != nil {
		m.at, b[1] = at.at, sinkKindSeg
	}
	b = binary.AppendUvarint(b, uint64(rows))
	b = binary.AppendUvarint(b, uint64(m.time.UnixMicro()))
	b = binary.AppendUvarint(b, uint64(len(data)))
	var crc uint32
	for _, d := range data {
		b = binary.AppendUvarint(b, uint64(len(d)))
		m.bytes += int64(len(d))
	}
	if at == nil {
		return m, append(b, slices.Concat(data...)...)
	}
	for _, d := range data {
		crc = crc32.Update(crc, castagnoli, d)
	}
	b = binary.AppendUvarint(b, m.at.no)
	b = binary.AppendUvarint(b, uint64(m.at.off))
	return m, binary.LittleEndian.AppendUint32(b, crc)
}

// decodeSinkEntry returns the lengths of the pieces and the inline data or the
// checksum.
func decodeSinkEntry(e types.Epoch, b []byte) (m sinkMeta, lens []int, data []byte, crc uint32, err error) {
	bad := corrupt("invalid entry of a sink log")
	if len(b) < 2 || b[0] != sinkVersion || b[1] > sinkKindSeg {
		return m, nil, nil, 0, bad
	}
	seg := b[1] == sinkKindSeg
	r := uvarints{b: b[2:]}
	m = sinkMeta{epoch: e, rows: int(r.next()), time: time.UnixMicro(int64(r.next()))}
	n := r.next()
	if n > uint64(len(r.b)) {
		return m, nil, nil, 0, bad
	}
	for range n {
		l := r.next()
		if l > 1<<40 {
			return m, nil, nil, 0, bad
		}
		lens = append(lens, int(l))
		m.bytes += int64(l)
	}
	if seg {
		m.at = extent{no: r.next(), off: int64(r.next()), len: m.bytes}
		if r.bad || len(r.b) != 4 {
			return m, nil, nil, 0, bad
		}
		return m, lens, nil, binary.LittleEndian.Uint32(r.b), nil
	}
	if r.bad || int64(len(r.b)) != m.bytes {
		return m, nil, nil, 0, bad
	}
	return m, lens, r.b, 0, nil
}

func (s *Store) loadSinks(named map[string]bool) error {
	return s.scanSys(sysSink, func(key, val []byte) error {
		m, _, _, _, err := decodeSinkEntry(epochOf(key), val)
		if err != nil {
			return err
		}
		j := s.job(binary.BigEndian.Uint32(key[5:]))
		j.epoch = max(j.epoch, m.epoch)
		j.sink.pending = append(j.sink.pending, m)
		if m.at.no != 0 {
			named[logName("sink", j.id, m.at.no, ".seg")] = true
		}
		return nil
	})
}

// add appends a committed epoch; the job's lock is held.
func (k *sinkState) add(m *sinkMeta, segmentBytes int64) {
	if m.at.no != 0 {
		k.out.end = m.at.off + m.at.len
		if k.out.end >= segmentBytes {
			k.out.abandon()
		}
	}
	k.mu.Lock()
	k.pending = append(k.pending, *m)
	k.mu.Unlock()
}

// reset forgets everything and returns the names of the files.
func (k *sinkState) reset() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, m := range k.pending {
		names = appendSeg(names, k.out.id, m.at.no)
	}
	for _, no := range k.left {
		names = appendSeg(names, k.out.id, no)
	}
	k.pending, k.left = nil, nil
	return names
}

func appendSeg(names []string, id JobID, no uint64) []string {
	n := logName("sink", id, no, ".seg")
	if no == 0 || len(names) > 0 && names[len(names)-1] == n {
		return names
	}
	return append(names, n)
}

// SinkLog reads and truncates the committed output of one sink. It may be used by
// one deliverer while commits add to it.
type SinkLog struct {
	s *Store
	j *job
}

// SinkLog returns the log of a sink; it is empty for one never written.
func (s *Store) SinkLog(sink JobID) *SinkLog { return &SinkLog{s: s, j: s.job(sink)} }

// SinkEpoch is one committed epoch of a sink.
type SinkEpoch struct {
	Epoch types.Epoch
	Time  time.Time // of the commit
	Rows  int
	Data  [][]byte // as given to Commit, owned by the caller
}

// Next returns the first committed epoch after the given one, nil if there is
// none.
func (l *SinkLog) Next(after types.Epoch) (*SinkEpoch, error) {
	if err := l.s.begin(); err != nil {
		return nil, err
	}
	defer l.s.end()
	k := &l.j.sink
	k.mu.Lock()
	i := sort.Search(len(k.pending), func(i int) bool { return k.pending[i].epoch > after })
	if i == len(k.pending) {
		k.mu.Unlock()
		return nil, nil
	}
	e := k.pending[i].epoch
	file := appendSeg(nil, l.j.id, k.pending[i].at.no)
	l.j.files.hold(file)
	k.mu.Unlock()
	defer l.s.releaseFiles(l.j, file)
	val, closer, err := l.s.db.Get(epochKey(sysSink, l.j.id, e))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil // truncated or dropped meanwhile
	}
	if err != nil {
		return nil, fileError(err, "could not read the log of sink %d", l.j.id)
	}
	defer closer.Close()
	return l.read(e, val)
}

func (l *SinkLog) read(e types.Epoch, val []byte) (*SinkEpoch, error) {
	m, lens, data, crc, err := decodeSinkEntry(e, val)
	if err != nil {
		return nil, err
	}
	if m.at.no == 0 {
		data = slices.Clone(data)
	} else if data, err = l.readSegment(m.at, crc); err != nil {
		return nil, err
	}
	out := &SinkEpoch{Epoch: e, Time: m.time, Rows: m.rows}
	for _, n := range lens {
		out.Data = append(out.Data, data[:n:n])
		data = data[n:]
	}
	return out, nil
}

func (l *SinkLog) readSegment(x extent, crc uint32) ([]byte, error) {
	path := l.s.path(logDir, logName("sink", l.j.id, x.no, ".seg"))
	f, err := l.s.fs.Open(path)
	if err != nil {
		return nil, fileError(err, "could not open file \"%s\"", path)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() < x.off+x.len {
		return nil, fileError(errors.Join(err, vfs.ErrCorruption), "file \"%s\" is cut short", path)
	}
	b := make([]byte, x.len)
	if _, err := f.ReadAt(b, x.off); err != nil {
		return nil, fileError(eofIsCorrupt(err), "could not read file \"%s\"", path)
	}
	if crc32.Checksum(b, castagnoli) != crc {
		return nil, corrupt("file \"%s\" has a wrong checksum at offset %s", path, strconv.FormatInt(x.off, 10))
	}
	return b, nil
}

// SinkPending tells what of a sink waits for delivery.
type SinkPending struct {
	Epochs int
	Bytes  int64
	Rows   int64
	Oldest time.Time // commit time of the first; zero if none
	Last   types.Epoch
}

// Pending returns what has been committed and not truncated.
func (l *SinkLog) Pending() SinkPending {
	k := &l.j.sink
	k.mu.Lock()
	defer k.mu.Unlock()
	var p SinkPending
	for i := range k.pending {
		m := &k.pending[i]
		p.Epochs++
		p.Bytes += m.bytes
		p.Rows += int64(m.rows)
		p.Last = m.epoch
	}
	if p.Epochs > 0 {
		p.Oldest = k.pending[0].time
	}
	return p
}

// Truncate forgets the epochs up to and including upTo. Without segments to
// delete it is not synced: after a crash epochs may reappear, which a deliverer
// tells by its own marker.
func (l *SinkLog) Truncate(upTo types.Epoch) error {
	if err := l.s.begin(); err != nil {
		return err
	}
	defer l.s.end()
	last, names := l.finished(upTo)
	if last == 0 {
		return nil
	}
	opt := pebble.NoSync
	if len(names) > 0 {
		opt = l.s.sync
	}
	lo, _ := idRange(sysSink, l.j.id)
	b := l.s.db.NewBatch()
	err := b.DeleteRange(lo, epochKey(sysSink, l.j.id, last+1), nil)
	if err == nil {
		err = b.Set(truncKey(l.j.id), binary.BigEndian.AppendUint64(nil, uint64(last)), nil)
	}
	if err == nil {
		err = b.Commit(opt)
	}
	if err == nil {
		err = l.s.failure()
	}
	if err != nil {
		return fileError(err, "could not truncate the log of sink %d", l.j.id)
	}
	k := &l.j.sink
	k.mu.Lock()
	n := sort.Search(len(k.pending), func(i int) bool { return k.pending[i].epoch > last })
	k.pending = k.pending[n:]
	k.mu.Unlock()
	l.s.dropFiles(l.j, names)
	return nil
}

// Truncated returns the last epoch that was forgotten, 0 if none was.
func (l *SinkLog) Truncated() (types.Epoch, error) {
	if err := l.s.begin(); err != nil {
		return 0, err
	}
	defer l.s.end()
	val, closer, err := l.s.db.Get(truncKey(l.j.id))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fileError(err, "could not read the log of sink %d", l.j.id)
	}
	defer closer.Close()
	if len(val) != 8 {
		return 0, corrupt("invalid entry of a sink log")
	}
	return types.Epoch(binary.BigEndian.Uint64(val)), nil
}

// finished returns the last epoch up to upTo, 0 if there is none, and the names
// of the segments that only epochs up to it use. The segment being written is
// not among them while a commit of the job is under way: it is remembered for
// the next time.
func (l *SinkLog) finished(upTo types.Epoch) (last types.Epoch, names []string) {
	idle := l.j.mu.TryLock()
	if idle {
		defer l.j.mu.Unlock()
	}
	k := &l.j.sink
	k.mu.Lock()
	defer k.mu.Unlock()
	done := map[uint64]bool{}
	for _, no := range k.left {
		done[no] = true
	}
	k.left = nil
	var newest uint64
	for i := range k.pending {
		m := &k.pending[i]
		newest = max(newest, m.at.no)
		if m.epoch <= upTo {
			last = m.epoch
			done[m.at.no] = true
		} else {
			delete(done, m.at.no)
		}
	}
	delete(done, 0)
	if idle && k.out.f != nil && done[k.out.no] {
		k.out.abandon()
	}
	for no := range done {
		if !idle && no >= newest || last == 0 {
			k.left = append(k.left, no)
			continue
		}
		names = append(names, logName("sink", l.j.id, no, ".seg"))
	}
	return last, names
}

func eofIsCorrupt(err error) error {
	if isEOF(err) {
		return errors.Join(vfs.ErrCorruption, err)
	}
	return err
}
