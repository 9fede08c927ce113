// Package json turns JSON objects into rows and rows into JSON objects.
//
// The decoder scans an object once, straight into vectors, and looks only at the
// fields of the columns; everything else is skipped without being decoded, though
// its syntax is still checked as far as the structure needs. It remembers the
// forms of records (shape.go), so that one like those before needs no look at
// structure and names, and it allocates nothing per record.
//
// A column's value is where its path leads, or in the field of its name, exactly
// first and then without regard to case. Null is NULL; what is missing, or behind
// something that is no object or array, is the column's default or NULL. Numbers
// keep every digit. A record that does not fit is an error and leaves the chunk as
// it was.
package json
