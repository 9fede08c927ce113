// Package exec holds the operators and what drives them.
//
// An operator is a pure step function: it owns no goroutine, channel, clock or
// lock, and is driven by exactly one goroutine at a time. A Tree is a plan
// fragment as operators wired to one another; one-off queries, streaming tasks,
// tests and the simulator all drive Trees. Tasks and exchanges (task.go,
// exchange.go) are the only files with goroutines.
//
// Invariants: Push borrows its chunk; an emitted chunk is borrowed by the
// receiver until emit returns; a chunk that crosses to another task is copied.
// Within an epoch a delete may arrive before its insert; after Seal the
// integral of every operator's input is non-negative.
//
// Operators keep state in a few structures that hold no pointers: arena (byte
// strings), slab (records), table (hash index of records, one small index per
// key group) and rowFormat (rows as bytes, exact or in equality form). Equal keys
// that look different (1.0 and 1.00) share a record; which of them is displayed
// does not depend on the order of arrival. Watermarks may run ahead of rows that
// operators hold until Seal, so operators act on them at Seal only.
//
// A one-off query drives the same operators: Start, the inputs in InputOrder each
// followed by EndInput, Seal. ErrDone from Push concerns that input alone.
//
// To add an operator: its file here, its node in planner/plan, one case in
// build.go; if it keeps state, a Replay and its case in Replays. The harness in
// exectest does the rest.
package exec
