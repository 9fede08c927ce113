// Package sqllogic runs sqllogictest files (.slt) against any server that
// speaks the PostgreSQL protocol.
//
// The dialect is that of sqllogictest-rs: statement ok, statement count N,
// statement error [regex] (or the whole message after ----), query with column
// types, sort mode and label, retry N backoff D, connection NAME
// (NAME@DATABASE is one to another database; disconnect ends it), include GLOB,
// control, skipif and onlyif with the labels of the target, subtest, sleep,
// hash-threshold and halt. "system" is refused: a test file never runs commands.
// Values are compared in PostgreSQL's text form; NULL shows as NULL, empty text as
// (empty), runs of blanks count as one.
//
// Three comment lines before the first record direct the runner and leave the
// file readable for other runners:
//
//	# runner: no-restart             the file holds session state no restart keeps
//	# runner: real-views             keep materialized views on PostgreSQL
//	# runner: streamdb-only          the file uses syntax PostgreSQL lacks
//
// Every file of cases/ runs several times: plainly, with chunks of one row, and
// with the server killed and restarted between statements, where the runner
// connects again and repeats the session's SET statements. A file that is known
// to fail stands in red.txt with the reason, and must fail: when it passes, the
// test asks for the line to be removed.
//
// To add a case, write cases/<topic>/<name>.slt, run it against PostgreSQL
// (see the README of this folder), and drop every object at its end.
package sqllogic
