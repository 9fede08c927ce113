package vfs

import (
	"io"
	"math/rand/v2"
	"sync"

	pvfs "github.com/cockroachdb/pebble/v2/vfs"
)

// CrashFS is a file system in memory that tells synced from unsynced data.
type CrashFS struct {
	*MemFS
	// mu keeps CrashClone away from the operations below: they take the memory
	// file system's own lock twice, and a clone that waits in between would block
	// them and itself for ever.
	mu sync.RWMutex
}

// NewCrashableMem makes an empty file system in memory, for CrashClone.
func NewCrashableMem() *CrashFS { return &CrashFS{MemFS: pvfs.NewCrashableMem()} }

// CrashClone returns what a machine could find after a crash at this moment: all
// that was synced, and each unsynced block or name with a chance of percent.
func CrashClone(fs *CrashFS, percent int, rng *rand.Rand) *CrashFS {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return &CrashFS{MemFS: fs.MemFS.CrashClone(pvfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})}
}

// Link implements FS.
func (fs *CrashFS) Link(oldname, newname string) error {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.Link(oldname, newname)
}

// ReuseForWrite implements FS.
func (fs *CrashFS) ReuseForWrite(oldname, newname string, c Category) (File, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.ReuseForWrite(oldname, newname, c)
}

// Lock implements FS.
func (fs *CrashFS) Lock(name string) (io.Closer, error) {
	fs.mu.RLock()
	defer fs.mu.RUnlock()
	return fs.MemFS.Lock(name)
}
