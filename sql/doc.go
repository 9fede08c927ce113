// Package sql turns query text into statements of its own syntax tree.
//
// PostgreSQL's grammar (libpg_query) reads everything that is PostgreSQL. Our
// own lexer, splitter and depth guard stand before it, and the streaming
// statements (CREATE SOURCE, CREATE SINK, WATERMARK FOR, EMIT ON WINDOW CLOSE,
// SUBSCRIBE and so on) are cut out first, so that the grammar sees text of
// exactly the same length: every location in the tree and every error cursor is
// a position in the text the client sent.
//
// The package never looks up a name, never evaluates and never lets a protobuf
// node out. Semantic checks (does the column exist, is the aggregate allowed
// here) belong to the planner.
//
// Invariants:
//   - no text reaches C before the guard (guard.go) has bounded its nesting; a
//     deep tree overruns the C stack, which no recover can catch;
//   - every Pos is a byte offset into the whole text given to Parse;
//   - none of our words is reserved: source, sink, watermark and the others
//     stay usable as names everywhere;
//   - Format of a tree parses to an equal tree, positions aside.
//
// To add a statement of our own: a struct in ast_stream.go, its leading words in
// recognise.go, its reader in a stream_*.go file, its text in format_stream.go,
// a line in the round-trip and words-stay-free tests. To add a PostgreSQL
// statement: a struct in ast_stmt.go, a case in convert_stmt.go, its text in
// format_stmt.go.
package sql
