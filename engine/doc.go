// Package engine turns statements into effects: it owns the catalog, the store,
// the job graphs and the sessions.
//
// A job is the dataflow of one materialized view or sink: fragments of its plan,
// run by tasks. A graph is the set of jobs and tables that share barriers; its
// coordinator runs one cycle an epoch: take the pending writes, send them and a
// barrier through the dataflow, collect what every task sealed, and commit it
// all in one atomic step of the store. A write returns when its epoch is
// committed, so every later snapshot sees it in every dependent view.
//
// The engine knows nothing of the wire protocol: it satisfies wire.Backend.
//
// A job that panics or meets an internal error takes its graph back to the last
// committed epoch, with exponential delay, and is given up after some restarts:
// it is failed, with what reads it, and keeps its last good epoch. A failed commit
// takes the graph back too, and its writes get the error. State is only loaded
// into the plan that wrote it, which a fingerprint tells.
//
// What ends objects (DROP, ALTER, COMMIT) detaches their jobs only once that is
// committed, so that a commit which fails leaves all as it was: see retirement.
//
// DROP, cancellation and Close never wait for a job that is stuck: they halt it,
// which cuts it off the change streams at once, and a halted job's work of the
// current epoch is not committed. They wait at most for a commit under way.
//
// Lock order: Engine.ddl, then graph.mu, then leaf locks. A graph's structure
// grows only while the graph is at rest, between two cycles; halting a job needs
// no rest.
package engine
