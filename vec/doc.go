// Package vec holds the engine's one representation of data: typed dense
// vectors with null bitmaps, and chunks of them whose rows carry weights.
//
// A relation or a stream of changes is a sequence of chunks. Row i of a chunk
// counts Weight(i) times: +1 an insert, -1 a delete, an update is both. There
// is no other form of a change inside the engine.
//
// Invariants: all vectors of a chunk have Rows elements; a vector is dense (no
// selection vectors travel with it); the slot under a null holds a valid but
// meaningless value. A chunk is owned by one goroutine; whoever is lent one
// (operators, kernels) must neither keep nor change it.
//
// The package never allocates per row on its append and gather paths, and knows
// nothing of expressions, storage or operators.
//
// To add a physical kind: one case in New, one in Fixed, one in the hashing of
// hash.go, one in the row codec of row.go.
package vec
