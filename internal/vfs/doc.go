// Package vfs is the file system the durable parts of the database write
// through: the operating system's, one in memory, one in memory that can lose
// what was not synced, and one that injects faults.
//
// The interfaces are those of the storage engine underneath, so that it and the
// database's own files live on the same file system, crash together and fail
// together. Nothing here buffers or retries.
//
// Invariants: a file is durable after File.Sync, its name after SyncDir of its
// directory; code that relies on less is found by the crash tests.
package vfs
