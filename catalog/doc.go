// Package catalog describes the objects of a server: its databases and roles, and in
// each database schemas, tables, sources, views, materialized views, sinks, indexes,
// secrets and connections.
//
// Objects are plain data. A Snapshot is an immutable state of all of them, or as one
// database sees it, which finds names and lists only what it has; DDL
// makes the next one with Snapshot.Apply, which also returns the log entries
// that the engine stores inside the commit that brings the change to life. The
// package does no input or output and never looks into a query text: names in
// definitions are resolved by the planner.
//
// Invariants:
//   - an object that is in a Snapshot is never changed; a change replaces it;
//   - OIDs start at FirstOID and are never given out twice, not even after DROP, nor
//     in two databases;
//   - an object depends on objects of its own database, and of what all share;
//   - Dependencies of every object in a Snapshot are in the same Snapshot;
//   - an entry written by an older version is read by every newer one.
//
// To add a kind of object: a struct in object.go with Head, Kind and
// Dependencies, and a line in newObject. To add a catalog table: a VirtualTable
// given to New.
package catalog
