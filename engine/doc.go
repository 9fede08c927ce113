// Package engine turns statements into effects: it has the sessions, what they set, read
// and write, and the statements that change the catalog.
//
// Below it, the package jobs owns the store, the catalog and the graphs of jobs, and
// commits; the package stage has the rows that a transaction has changed and what they
// are checked by. A session holds both back until the transaction commits: its rows in
// stage.TableWrites, its changes of the catalog in a catalogTx. A statement that stands alone
// commits as it runs.
//
// The engine knows nothing of the wire protocol: it satisfies wire.Backend.
//
// A Session belongs to one goroutine at a time. Statements that change the catalog hold
// Runner.DDL. Who reads stored rows takes the catalog and a snapshot of one moment
// (Runner.Steady).
//
// A new statement is a case of Session.ddlAction or Session.command, and a file by its
// name. What it does to running dataflows belongs into jobs.
package engine
