// Package pgerr carries the errors a client can see: an SQLSTATE code, a
// primary message in PostgreSQL's style, and optionally a detail, a hint and
// the position of the offending token.
//
// It never logs and never formats for a protocol. Anything a user can cause is
// an *Error made where its meaning is known; every other error reaches the
// client as XX000 and is a bug. Inner layers wrap with %w; readers take the
// error out with From.
//
// To add a code: one constant in code.go, named after the condition in
// PostgreSQL's Appendix A.
package pgerr
