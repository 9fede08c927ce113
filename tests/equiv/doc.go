// Package equiv holds the correctness oracle of StreamDB: what a materialized
// view shows must be what PostgreSQL answers to the same SELECT on the same
// tables, whatever changes led there.
//
// From a seed it makes schemas, histories of changes and queries over the
// supported surface of SQL. Each history runs on StreamDB and on a throw-away
// PostgreSQL side by side; some views are created before the data, some in the
// midst of it (so that they backfill), and at times the server is killed and
// started again. At several points three answers are compared as multisets of
// rows in text form, together with the names and types of the columns: the
// view in StreamDB, the same SELECT as a one-off query in StreamDB, and
// PostgreSQL's.
//
// An answer of SQLSTATE 0A000 counts as not supported and is reported by
// reason. Every other difference is a failure: it is made smaller by leaving
// out statements, clauses and rows for as long as it still fails, and printed
// as a complete file for package sqllogic.
//
// Rules for the generator: a query has one right answer (windows, LIMIT,
// DISTINCT ON and ordered aggregates sort by everything in sight, and a SELECT
// has one window function at most that deals out tied rows; floating point data
// are dyadic, so that sums are exact, and numbers are compared to 11 digits) and
// cannot fail on the data it meets. A query that PostgreSQL refuses or fails on is dropped. Numbers
// that differ in trailing zeros alone are counted apart, since PostgreSQL lets
// arrival decide which of two equal numerics it shows.
//
// To widen the surface add a line to the rules in expr.go, or a clause in
// query.go: a node whose parts can be left out is made with opt or list, and
// the shrinker needs to know nothing else.
package equiv
