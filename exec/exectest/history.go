package exectest

import (
	"strings"
	"testing"

	"github.com/streamdb/streamdb/planner/plan"
	"github.com/streamdb/streamdb/types"
)

// Change is a row of an input with its weight.
type Change struct {
	In  int
	W   int64
	Row []types.Datum
}

// History is a list of epochs.
type History [][]Change

// Parse reads a history: one change a line, + or - (or +3, -2) and the values
// separated by spaces, null for NULL and quotes around values with spaces; @1
// switches to input 1; a line | ends an epoch. Empty lines mean nothing.
func Parse(t testing.TB, root plan.Node, text string) History {
	t.Helper()
	ins := inputTypes(root)
	h := History{nil}
	in := 0
	for _, line := range strings.Split(text, "\n") {
		f := fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "|":
			h = append(h, nil)
		case f[0][0] == '@':
			in = int(f[0][1] - '0')
		default:
			c := Change{In: in, W: weight(f[0]), Row: row(t, ins[in], f[1:])}
			h[len(h)-1] = append(h[len(h)-1], c)
		}
	}
	return h
}

func inputTypes(n plan.Node) [][]types.T {
	switch n.(type) {
	case *plan.Scan, *plan.Exchange:
		return [][]types.T{plan.Types(n.Schema())}
	}
	var out [][]types.T
	for _, k := range n.Children() {
		out = append(out, inputTypes(k)...)
	}
	return out
}

// fields splits a line at spaces outside quotes.
func fields(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '\'' {
			if end := strings.IndexByte(line[1:], '\''); end >= 0 {
				out, line = append(out, line[:end+2]), line[end+2:]
				continue
			}
		}
		end := strings.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		out, line = append(out, line[:end]), line[end:]
	}
	return out
}

func weight(s string) int64 {
	w := int64(1)
	if len(s) > 1 {
		w = int64(s[1] - '0')
	}
	if s[0] == '-' {
		return -w
	}
	return w
}

func row(t testing.TB, ts []types.T, f []string) []types.Datum {
	t.Helper()
	if len(f) != len(ts) {
		t.Fatalf("row %v has %d values, want %d", f, len(f), len(ts))
	}
	out := make([]types.Datum, len(ts))
	for i, s := range f {
		if s == "null" {
			continue
		}
		d, err := types.ParseText(ts[i], strings.Trim(s, "'"), &types.Options{})
		if err != nil {
			t.Fatalf("value %q of %s: %v", s, ts[i], err)
		}
		out[i] = d
	}
	return out
}

// Bag is a multiset of rows in text form.
type Bag map[string]int64

// Add adds w copies of a row.
func (b Bag) Add(ts []types.T, row []types.Datum, w int64) {
	var s []byte
	for i, d := range row {
		if i > 0 {
			s = append(s, ' ')
		}
		if d == nil {
			s = append(s, "null"...)
			continue
		}
		s = types.AppendText(s, ts[i], d, &types.Options{})
	}
	k := string(s)
	if b[k] += w; b[k] == 0 {
		delete(b, k)
	}
}

// ParseBag reads an expected result: a row a line, optionally after a count as in
// 2× 1 a.
func ParseBag(text string) Bag {
	b := Bag{}
	for _, line := range strings.Split(text, "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		w := int64(1)
		if n, rest, ok := strings.Cut(line, "× "); ok {
			w, line = int64(n[0]-'0'), rest
		}
		b[line] += w
	}
	return b
}

// Diff describes how two bags differ; empty if they do not.
func (b Bag) Diff(want Bag) string {
	var s strings.Builder
	for k, w := range b {
		if want[k] != w {
			s.WriteString("\n  " + k + ": got " + itoa(w) + ", want " + itoa(want[k]))
		}
	}
	for k, w := range want {
		if _, ok := b[k]; !ok {
			s.WriteString("\n  " + k + ": got 0, want " + itoa(w))
		}
	}
	return s.String()
}

func itoa(n int64) string { return string(types.AppendInt(nil, n)) }
