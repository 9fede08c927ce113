// Package charset knows the character sets that clients may use: their names and
// numbers as PostgreSQL has them, and how text is converted to and from UTF-8,
// which is all that the server works with.
//
// It never looks at settings and keeps no state of a conversion: a Set is
// immutable and safe for all goroutines.
//
// Invariants: Decode yields valid UTF-8 without NUL or fails; Encode fails for
// characters that the set lacks, and never writes a replacement. Errors are
// PostgreSQL's, 22021 for bytes that are no text of the set and 22P05 for
// characters without an equivalent.
//
// To add a set, give its row in sets a conversion; a set of a new shape also
// needs its rule for the length of a character in charLen.
package charset
