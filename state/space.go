package state

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// ballastFile occupies disk that is given back when Pebble's own log or manifest
// finds none, which it could not survive.
const (
	ballastFile  = "ballast"
	ballastBytes = 16 << 20
	spaceRetry   = 50 * time.Millisecond
)

// space keeps commits from filling the disk.
type space struct {
	s       *Store
	ballast atomic.Bool // the ballast file is there

	mu     sync.Mutex
	looked time.Time // when the system was last asked
	left   uint64    // what was available then, less what commits have asked for since
}

// While more than plentyBytes beyond the reserve are available, the system is asked
// only every spaceLook: it is a system call a commit else. What others write in that
// time is within what can be waited for, see patient.
const (
	spaceLook   = time.Second
	plentyBytes = 1 << 30
)

// plenty reports whether n more bytes need no look at the disk.
func (p *space) plenty(n int, reserve uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < uint64(n)+reserve+plentyBytes || time.Since(p.looked) >= spaceLook {
		return false
	}
	p.left -= uint64(n)
	return true
}

func (p *space) look() (avail uint64, err error) {
	u, err := p.s.fs.GetDiskUsage(p.s.dir)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looked, p.left = time.Now(), u.AvailBytes
	return u.AvailBytes, nil
}

func (p *space) init(s *Store) {
	p.s = s
	if s.opt.ReserveBytes > 0 {
		p.refill()
	}
}

// check fails with 53100 if n more bytes would go into the reserve. A commit that
// frees space may use most of it.
func (p *space) check(n int, frees bool) error {
	if p.s.opt.ReserveBytes < 0 {
		return nil
	}
	reserve := uint64(p.s.opt.ReserveBytes)
	if frees {
		reserve /= 4
	}
	if p.plenty(n, uint64(p.s.opt.ReserveBytes)) {
		return nil
	}
	avail, err := p.look()
	if err != nil {
		return nil // not every file system tells; the write itself will
	}
	if avail < uint64(n)+reserve {
		return pgerr.Wrap(syscall.ENOSPC, pgerr.DiskFull, "could not write to directory \"%s\": No space left on device", p.s.dir).
			WithDetail("%d bytes are available, of which %d are kept in reserve; the commit needs %d.", avail, reserve, n).
			WithHint("Check free disk space. What was committed is safe, and objects can still be dropped.")
	}
	if !p.ballast.Load() && avail > uint64(p.s.opt.ReserveBytes)+2*ballastBytes {
		p.refill()
	}
	return nil
}

// refill makes the ballast file. Failing is harmless: there is less to give back.
func (p *space) refill() {
	if p.ballast.Swap(true) {
		return
	}
	f, err := p.s.fs.Create(p.s.path(ballastFile), vfs.WriteCategory)
	if err != nil {
		p.ballast.Store(false)
		return
	}
	if err = f.Preallocate(0, ballastBytes); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err != nil || cerr != nil {
		p.release()
	}
}

func (p *space) release() {
	if p.ballast.Swap(false) {
		_ = p.s.fs.Remove(p.s.path(ballastFile))
	}
}

// patient wraps the file system so that Pebble's log and manifest wait for space
// instead of failing: Pebble has no way back from such an error, while commits
// that wait harm nobody and reads go on.
func (p *space) patient(fs vfs.FS) vfs.FS { return &patientFS{FS: fs, p: p} }

type patientFS struct {
	vfs.FS
	p *space
}

func (f *patientFS) Unwrap() vfs.FS { return f.FS }

func (f *patientFS) wrap(name string, file vfs.File, err error) (vfs.File, error) {
	base := f.PathBase(name)
	if err != nil || !(strings.HasSuffix(base, ".log") || strings.HasPrefix(base, "MANIFEST")) {
		return file, err
	}
	return &patientFile{File: file, p: f.p}, nil
}

func (f *patientFS) Create(name string, c vfs.Category) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.wrap(name, file, err)
}

func (f *patientFS) ReuseForWrite(old, name string, c vfs.Category) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(old, name, c)
	return f.wrap(name, file, err)
}

type patientFile struct {
	vfs.File
	p *space
}

func (f *patientFile) Write(b []byte) (int, error) {
	done := 0
	for {
		n, err := f.File.Write(b[done:])
		done += n
		if err == nil || !f.p.wait(err) {
			return done, err
		}
	}
}

func (f *patientFile) Preallocate(off, n int64) error {
	if err := f.File.Preallocate(off, n); err != nil && !isDiskFull(err) {
		return err
	}
	return nil // only a hint: the writes find out
}

// wait returns whether a write that failed with err should be tried again.
func (p *space) wait(err error) bool {
	if !isDiskFull(err) {
		return false
	}
	if p.ballast.Load() {
		p.release()
		p.s.log.Error("disk is full; used the ballast file", "err", err)
		return true
	}
	p.s.log.Error("disk is full; waiting for space", "err", err)
	select {
	case <-p.s.stop:
		return false
	case <-time.After(spaceRetry):
		return true
	}
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
