// Package parity asks StreamDB and a throw-away PostgreSQL the same single
// statements and wants the same answer: rows, or SQLSTATE, message and position.
//
// TestFunctions derives the statements from the function tables of package
// expr: every overload is called with literals of its parameter types, chosen at
// random among NULL, ordinary values and the ends of the type's range.
// TestErrors reads errors.sql, a list of wrong statements of every kind, and
// errors_known.txt, which lists the ones whose errors differ with the reason.
// TestBlocks runs random transaction blocks of DDL and rows, PARITY_BLOCKS of them.
// TestRegularExpressions asks what random patterns match in random texts.
// TestPrivileges runs privileges.sql, statements of every kind as roles that may and
// may not run them, and privileges_own.txt, those that PostgreSQL does not have.
//
// TestRegress compares what psql prints for PostgreSQL's own regression scripts,
// at the path that STREAMDB_PG_REGRESS names, and reports.
//
// Differences that are meant are listed in this package, each with its reason;
// everything else is a failure. PARITY_SEED makes other statements,
// PARITY_ROUNDS more of them, and PARITY_ONLY only those of functions whose
// name contains it. PARITY_PG and PARITY_SDB name running servers to ask.
package parity
