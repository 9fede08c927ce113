// Package types holds the SQL types, the Go form of their values, and their
// text and binary encodings, casts and arithmetic.
//
// It knows nothing of vectors, expressions or storage. Semantics are
// PostgreSQL 15's.
//
// A value at an edge (a literal, a parameter, a field of a result) is a Datum:
// nil for NULL, otherwise the Go type that Kind names. Inside the engine values
// live in vectors (package vec), one Go slice a Kind, never in Datums.
//
// To add a type: an ID and a row of infos in type.go; its casts in cast.go; and its
// codecs, in text.go and binary.go, or as a row of codecs in codec.go for one of
// fixed form that is stored as bytes.
package types
