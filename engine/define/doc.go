// Package define rewrites what the catalog stores as text: the queries and definitions
// of objects, when a name in them changes.
//
// It changes only the objects that it is given, which are copies, never a snapshot, and
// commits nothing.
//
// An object with a new stored text gets a case in StoredQuery or definitionOf, and one
// in SetName, so that renaming it and its schema keeps working.
package define
