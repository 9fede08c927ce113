// Package colcache keeps columns of stored relations decoded in memory, so that
// reading a relation again costs neither the store's iterator nor decoding.
//
// A relation is cut into segments, ranges of storage keys that touch one another,
// each with the vectors of some columns. A scan lends the vectors of the segments
// that hold for its snapshot, and reads what lies between them, or the columns
// they lack, from the store; what it reads becomes segments for the next one.
//
// Invariants: a segment's vectors are never changed, so a scan needs no lock while
// it lends them. A segment holds for every snapshot from its clock on (see
// state.Snapshot.Clock) until a commit touches its range: the commit takes it out
// of the cache before any reader can see the commit. A scan makes a segment of
// what it read only if no commit that ended after its snapshot's clock, or has not
// ended yet, touches the range; for this a relation remembers the keys that were
// changed last. All of it is guarded by one lock, held for microseconds.
//
// Memory is bounded by a budget. The columns that no scan has used for longest
// give way to others; a relation that is larger than what is left is cached in
// part.
package colcache
