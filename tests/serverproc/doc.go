// Package serverproc builds the StreamDB binary and runs it as a child
// process, so that tests meet the server as a user does: a command line, a
// data directory, a port, and at times a SIGKILL.
//
// It also starts a throw-away PostgreSQL when one is installed, since the
// expected answers of many tests are PostgreSQL's.
//
// Invariants: every process is started on a loopback port of its own and is
// ended by its process id; nothing is ever searched for by name. A data
// directory belongs to one server at a time.
package serverproc
