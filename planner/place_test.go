package planner

import (
	"strings"
	"testing"

	"github.com/streamdb/streamdb/sql"
)

// Positions are the same in whatever order they are asked for, and across texts.
func TestCharPlace(t *testing.T) {
	texts := []string{strings.Repeat("aé🤡", 50), "x" + strings.Repeat("é", 30)}
	var p charPlace
	for i := range 400 {
		text := texts[i/150%2]
		off := i * 37 % (len(text) + 1)
		for off < len(text) && text[off]&0xc0 == 0x80 {
			off++
		}
		if got, want := p.at(text, off), sql.PosToChar(text, off); got != want {
			t.Fatalf("offset %d: position %d, want %d", off, got, want)
		}
	}
}
