// Package wire speaks PostgreSQL's frontend/backend protocol, version 3.0, over
// TCP with optional TLS: start-up, authentication, the simple and the extended
// query protocol, COPY and cancellation.
//
// It owns everything that is protocol: message order, prepared statements and
// portals by name, text and binary formats, discarding after an error, the
// implicit transaction between two Syncs, flushing and limits. It never looks
// at SQL: a Backend parses, plans, keeps the transaction state and runs. The
// package knows nothing of the engine, only the interfaces of backend.go.
//
// Invariants: one goroutine serves a connection and calls its Session, so a
// Session needs no locks of its own; every error ends in exactly one
// ErrorResponse; after an error in the extended protocol nothing is answered
// until Sync; a panic in a session ends that connection only. A result row is
// encoded from vectors into the connection's one buffer without allocation.
//
// To add a message: a case in (*conn).dispatch. To add a result type: a case
// in encoderOf (encode.go) if the general codec of package types is too slow
// for it.
package wire
