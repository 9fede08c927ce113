// Package expr holds bound expressions, the function and aggregate tables, and
// the evaluation of expressions over chunks.
//
// An expression is evaluated a vector at a time; each function has one kernel.
// Everything the SQL surface knows about a function (overloads, pg_proc, the
// documentation, the null and overflow test matrix) is derived from its row in
// a table. The package never looks at the catalog or at storage.
//
// To add a function: one row in the table of its family's file and its loop.
// To add an aggregate: one row in an aggregate table and its accumulator.
package expr
