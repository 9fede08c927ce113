// Package lint holds the rules of the code base that the compiler does not
// know, as Go tests: which package may import which, how long a file may be,
// what an operator must not do.
//
// It has no code besides its tests and never changes a file. To add a rule,
// write a test that walks files() and reports with file and line; an exception
// is an entry in an allow list here, with its reason.
package lint
