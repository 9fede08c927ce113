// Package wiretest holds a backend for tests of the wire: a few statements
// given by the test, real transactions over what they do, no SQL.
//
// To add a statement: a case in the test's Lookup function.
package wiretest
