// Package state keeps everything durable: operator state, stored relations,
// source offsets, the catalog's log, the sinks' logs. Commit makes one epoch of
// one job graph durable and visible in a single atomic step; after a crash the
// store is exactly the acknowledged commits (and possibly one that was being
// made).
//
// It never interprets keys, rows or records, never decides when an epoch ends,
// and never keeps operator state in memory: operators do, and the store only
// logs its changes.
//
// One Pebble holds ordered data. Large operator deltas and sink batches bypass it:
// they are appended to segment files, synced before the commit that names their
// length, so bytes beyond a named length never count. Background folds turn a
// job's deltas into a base file. docs/FORMATS.md describes every byte.
//
// Invariants:
//   - Whatever a commit consists of is in one Pebble batch, or in SSTs ingested by
//     one call; nothing of it is visible or durable alone.
//   - A file is deleted only after the commit that stops naming it is durable.
//   - A segment is written beyond its committed length only, and never again
//     after a failed write or sync.
//   - Locks are taken in the order life, jobs by id, relations by id,
//     sinks.
//
// To add a kind of system key: a constant and its builder in keys.go, its page in
// docs/FORMATS.md, and an operation in the commit that writes it.
package state
