// Package expr holds bound expressions, the function and aggregate tables, and
// the evaluation of expressions over chunks.
//
// An expression is evaluated a vector at a time; each function has one kernel.
// Everything the SQL surface knows about a function (overloads, pg_proc, the
// documentation, the null and overflow test matrix) is derived from its row in
// a table. The package never looks at the catalog or at storage.
//
// Binding: ResolveFunc, ResolveOp and ResolveAgg choose an overload by
// PostgreSQL's rules; Coerce makes conversions explicit; NewCall, NewOp and
// BindCall do both. Evaluating: Compile gives a Program, which owns its scratch
// vectors and belongs to one goroutine. Aggregating: AggCall.Make gives flat or
// object accumulators, DISTINCT and ORDER BY included.
//
// Invariants: a vector that Eval returns has one row for each of the chunk, and
// is borrowed; a strict function is NULL under a NULL argument and does not
// fail there; a branch of CASE, COALESCE, AND and OR that may fail sees only
// the rows that reach it; an aggregate whose rows have all been taken away has
// the state of an empty one.
//
// To add a function: one row in the table of its family's file and its loop
// (rows, for one that costs more than a call a row). To add an aggregate: one
// row in an aggregate table and its accumulator. Samples checked against
// PostgreSQL go to testdata/scalar.txt.
package expr
