// Package jobs runs what is kept up to date: it owns the store, the catalog and the
// graphs of a data directory, and brings them back after a crash.
//
// A job is the dataflow of one materialized view, sink or index: fragments of its
// plan, run by tasks. A graph is the set of jobs and tables that share barriers; its
// coordinator runs one cycle an epoch: take the pending writes, hold each against the
// store and those before it, send them and a barrier through the dataflow, collect what
// every task sealed, and commit it all in one atomic step of the store. A write returns
// when its epoch is committed, so every later snapshot sees it in every dependent view.
//
// It knows no sessions and no statements: the package engine asks it to create, replace
// and end objects that are planned and checked, and gives it rows as a stage.Write.
//
// A job that panics or meets an internal error takes its graph back to the last
// committed epoch, with exponential delay, and is given up after some restarts: it is
// failed, with what reads it, and keeps its last good epoch. A failed commit takes the
// graph back too, and its writes get the error. State is only loaded into the plan that
// wrote it, which a fingerprint tells.
//
// Objects end (Retire) only once that is committed, so that a commit which fails leaves
// all as it was. DROP, cancellation and Close never wait for a job that is stuck: they
// halt it, which cuts it off the change streams at once, and a halted job's work of the
// current epoch is not committed. They wait at most for a commit under way.
//
// Lock order: Runner.DDL, then Graph.mu, then leaf locks. A graph's structure grows only
// while the graph is at rest, between two cycles (AtRest); halting a job needs no rest.
// Methods of Graph that say so are for functions that run at rest.
//
// A new kind of job is a case of planJob and one of jobObjects; a new change of running
// dataflows is a function that runs at rest, and ends in one commit.
package jobs
