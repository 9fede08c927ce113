package state

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/streamdb/streamdb/internal/vfs"
	"github.com/streamdb/streamdb/pgerr"
)

// fileError turns an error of the file system or of Pebble into one with an
// SQLSTATE, worded as "what: reason", as PostgreSQL does. Errors that have one
// stay.
func fileError(err error, format string, args ...any) error {
	var pe *pgerr.Error
	if err == nil || errors.As(err, &pe) {
		return err
	}
	what := fmt.Sprintf(format, args...)
	if errors.Is(err, vfs.ErrCorruption) || pebble.IsCorruptionError(err) {
		return pgerr.Wrap(errors.Join(vfs.ErrCorruption, err), pgerr.DataCorrupted, "%s: %s", what, "data is corrupted").
			WithDetail("%s", firstLine(err.Error()))
	}
	code, reason := pgerr.IOError, err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) {
		code, reason = errnoCode(errno), errnoText(errno)
	} else if errors.Is(err, fs.ErrNotExist) {
		code, reason = pgerr.UndefinedFile, "No such file or directory"
	}
	e := pgerr.Wrap(err, code, "%s: %s", what, reason)
	if code == pgerr.DiskFull {
		return e.WithHint("Check free disk space.")
	}
	return e
}

func errnoCode(e syscall.Errno) pgerr.Code {
	switch e {
	case syscall.ENOSPC, syscall.EDQUOT:
		return pgerr.DiskFull
	case syscall.EACCES, syscall.EPERM, syscall.EROFS:
		return pgerr.InsufficientPrivilege
	case syscall.ENOENT:
		return pgerr.UndefinedFile
	case syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY:
		return pgerr.WrongObjectType
	}
	return pgerr.IOError
}

// errnoText words the frequent errors as strerror does.
func errnoText(e syscall.Errno) string {
	switch e {
	case syscall.ENOSPC:
		return "No space left on device"
	case syscall.EDQUOT:
		return "Disk quota exceeded"
	case syscall.EACCES:
		return "Permission denied"
	case syscall.EROFS:
		return "Read-only file system"
	case syscall.ENOENT:
		return "No such file or directory"
	case syscall.EIO:
		return "Input/output error"
	case syscall.ENOTDIR:
		return "Not a directory"
	}
	return e.Error()
}
