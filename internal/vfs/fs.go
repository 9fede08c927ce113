package vfs

import (
	"errors"

	pvfs "github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// FS is a file system; see the storage engine's documentation for the methods.
type FS = pvfs.FS

// File is an open file.
type File = pvfs.File

// MemFS is a file system in memory.
type MemFS = pvfs.MemFS

// DiskUsage tells the bytes total, used and available.
type DiskUsage = pvfs.DiskUsage

// Category labels writes for accounting.
type Category = pvfs.DiskWriteCategory

// WriteCategory is the category under which the database's own writes are
// counted.
const WriteCategory = pvfs.WriteCategoryUnspecified

// ErrCorruption marks errors about bytes that are not what was written.
var ErrCorruption = errors.New("corruption")

// OS is the operating system's file system.
func OS() FS { return pvfs.Default }

// NewMem makes an empty file system in memory, on which everything is durable
// at once.
func NewMem() *MemFS { return pvfs.NewMem() }

// Op describes an operation to a fault injector.
type Op = errorfs.Op

// The kinds of operation that tests most often fail.
const (
	OpCreate      = errorfs.OpCreate
	OpLink        = errorfs.OpLink
	OpRemove      = errorfs.OpRemove
	OpRename      = errorfs.OpRename
	OpFileWrite   = errorfs.OpFileWrite
	OpFileWriteAt = errorfs.OpFileWriteAt
	OpFileSync    = errorfs.OpFileSync
	OpFileReadAt  = errorfs.OpFileReadAt
)

// WithFaults wraps fs so that inject is asked before every operation; an error it
// returns is the operation's. It is called from many goroutines.
func WithFaults(fs FS, inject func(Op) error) FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(inject))
}

// OnDiskFull wraps fs so that the first operation that finds the disk full calls
// free, with other writes held back, and is tried once more.
func OnDiskFull(fs FS, free func()) FS { return pvfs.OnDiskFull(fs, free) }
