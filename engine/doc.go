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
// Lock order: Engine.ddl, then graph.mu, then leaf locks. A graph's structure
// changes only while the graph is at rest, between two cycles.
package engine
