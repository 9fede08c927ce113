// Package stage has the forms in which changes of tables wait for their commit, and
// what is held against them: whole rows with weights (TableWrite), the keys of unique
// indexes and foreign keys, what was read (ReadSet), and what the writes of one epoch
// make of the stored rows (Overlay). Sessions fill them while statements run; the
// package engine holds them against the store when a graph takes them up.
//
// It commits nothing, knows neither sessions nor graphs, and starts no goroutine. It
// reads the store through snapshots that it is given.
//
// Invariants: a keyed table's changes hold at most one delete, then at most one insert,
// of a key at a time. Rows that were checked for one Table.Revision are not committed
// under another. A key is compared in its order-preserving form (vec.AppendKey), a row
// in its exact one (vec.AppendRow).
//
// A new kind of constraint on rows comes as a file of its own: a type that computes its
// keys, which both the check at the end of a statement and the one at the commit use.
package stage
