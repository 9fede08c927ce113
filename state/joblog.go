package state

import (
	"encoding/binary"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/types"
)

// job is what the store knows of a job: the log of its operator state, and its
// sink log if it is a sink.
type job struct {
	id JobID

	// mu is held by the commit of an epoch of the job from staging to
	// publication, and by the publication of a fold.
	mu     sync.Mutex
	desc   logDesc
	inline int64       // bytes of inline deltas
	usage  usage       // of the log and the base
	epoch  types.Epoch // last one with a delta or sink batch
	out    appender

	folding  bool
	foldFrom int64 // size of the log from which on a failed fold is tried again
	dropped  int   // counts drops, so that a fold notices one

	files logFiles

	sink sinkState
}

// logDesc names the files that hold a job's operator state: the base, then the
// segments in order, then the inline deltas. Records of epochs up to that of the
// base are in the base already.
type logDesc struct {
	base      fileRef // no 0: none
	baseEpoch types.Epoch
	segs      []fileRef
}

// fileRef is a file of the log directory and its committed length.
type fileRef struct {
	no  uint64
	len int64
}

func (d logDesc) clone() logDesc {
	d.segs = append([]fileRef(nil), d.segs...)
	return d
}

// extend adds a written part of a segment.
func (d *logDesc) extend(x extent) {
	if n := len(d.segs); n > 0 && d.segs[n-1].no == x.no {
		d.segs[n-1].len = x.off + x.len
		return
	}
	d.segs = append(d.segs, fileRef{no: x.no, len: x.off + x.len})
}

func (d *logDesc) segBytes() int64 {
	var n int64
	for _, f := range d.segs {
		n += f.len
	}
	return n
}

// The descriptor: version(1), then uvarints: base number, base length, base
// epoch, number of segments, and number and length of each.
const descVersion = 1

func (d *logDesc) encode() []byte {
	b := []byte{descVersion}
	b = binary.AppendUvarint(b, d.base.no)
	b = binary.AppendUvarint(b, uint64(d.base.len))
	b = binary.AppendUvarint(b, uint64(d.baseEpoch))
	b = binary.AppendUvarint(b, uint64(len(d.segs)))
	for _, f := range d.segs {
		b = binary.AppendUvarint(b, f.no)
		b = binary.AppendUvarint(b, uint64(f.len))
	}
	return b
}

func decodeDesc(b []byte) (logDesc, error) {
	bad := func() (logDesc, error) { return logDesc{}, corrupt("invalid descriptor of a job's log") }
	if len(b) == 0 || b[0] != descVersion {
		return bad()
	}
	r := uvarints{b: b[1:]}
	var d logDesc
	d.base.no, d.base.len = r.next(), int64(r.next())
	d.baseEpoch = types.Epoch(r.next())
	n := r.next()
	if n > uint64(len(r.b)) {
		return bad()
	}
	for range n {
		d.segs = append(d.segs, fileRef{no: r.next(), len: int64(r.next())})
	}
	if r.bad || len(r.b) != 0 {
		return bad()
	}
	return d, nil
}

// uvarints reads numbers off a byte string.
type uvarints struct {
	b   []byte
	bad bool
}

func (r *uvarints) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (d *logDesc) names(id JobID) []string {
	var out []string
	if d.base.no != 0 {
		out = append(out, logName("job", id, d.base.no, ".base"))
	}
	for _, f := range d.segs {
		out = append(out, logName("job", id, f.no, ".seg"))
	}
	return out
}

// loadJobs reads all descriptors and the sizes of inline deltas.
func (s *Store) loadJobs(named map[string]bool) error {
	err := s.scanSys(sysJob, func(key, val []byte) error {
		d, err := decodeDesc(val)
		if err != nil {
			return err
		}
		j := s.job(binary.BigEndian.Uint32(key[5:]))
		j.desc = d
		for _, n := range d.names(j.id) {
			named[n] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.scanSys(sysDelta, func(key, val []byte) error {
		j := s.job(binary.BigEndian.Uint32(key[5:]))
		j.inline += int64(len(val))
		j.epoch = max(j.epoch, epochOf(key))
		return nil
	})
}

// scanSys calls f for all system keys of a kind; slices are borrowed.
func (s *Store) scanSys(kind byte, f func(key, val []byte) error) error {
	lo := sysKey(kind)
	return scanRange(s.db, lo, successor(lo), f)
}

func scanRange(r pebble.Reader, lo, hi []byte, f func(key, val []byte) error) error {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() {
		v, err := it.ValueAndErr()
		if err == nil {
			err = f(it.Key(), v)
		}
		if err != nil {
			_ = it.Close()
			return err
		}
	}
	return it.Close()
}
