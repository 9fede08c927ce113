// Package are matches PostgreSQL's advanced regular expressions: POSIX ones with
// escapes, non-greedy quantifiers, look-around constraints and back references.
//
// A pattern is parsed to a tree (parse.go, escape.go, bracket.go). What a match is
// then follows PostgreSQL's rules, not those of Perl: the match begins as far left
// as it can; it is the longest or the shortest there, whichever the expression as
// a whole prefers; and what each part of it matches is decided from the outside in
// and from the left, each part as long or as short as it prefers (match.go,
// dissect.go).
//
// Most patterns can be left to the standard library's matcher, which is faster:
// for the question whether there is a match, and where, if the expression has
// neither look-around nor back references; and for its subexpressions too, if only
// one way to match them is possible, or the greedy way is the one PostgreSQL
// prefers (gosyntax.go, certain.go). library.go is that matcher, with a faster one for
// expressions that have a single path (onepath.go). For everything else there are programs of
// states that are run over the text side by side (program.go, simulate.go), so
// that all of it takes polynomial time, except for back references: these may need
// exponential time, and matching gives up with an error after a number of steps.
//
// Texts are UTF-8; offsets are in bytes. Letters, digits and cases are Unicode's.
//
// A new kind of atom or escape needs its place in parse.go or escape.go, in
// gosyntax.go (or a refusal there), and in program.go.
package are
