// Package datagen is a source of made-up rows for trying things out: each declared
// column counts or draws random values, as the options fields.NAME.kind and so on
// say.
//
// The value of a column in row n depends on n, the seeds and the column alone, so
// that reading again from an offset yields the same rows, whatever the number of
// readers. Rows are dealt in blocks to a fixed number of splits; the offset of a
// split is the number of its next row. A reader takes the blocks of its splits in
// the order of their rows. A sequence that reaches its end ends the source.
//
// To add a type: its place on the number line in line.go, or a field of its own
// beside floats and texts.
package datagen
