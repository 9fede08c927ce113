package sql

import "unicode/utf8"

// PosToChar turns a byte offset of text into the 1-based position in
// characters that an error's position field wants; 0 for a negative offset.
func PosToChar(text string, off int) int {
	if off < 0 {
		return 0
	}
	return utf8.RuneCountInString(text[:min(off, len(text))]) + 1
}
