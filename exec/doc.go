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
// To add an operator: its file here, its node in planner/plan, one case in
// build.go. The harness in exectest does the rest.
package exec
