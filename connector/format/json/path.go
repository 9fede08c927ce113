package json

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// A Path names a value inside a record: steps from the outside in. It is the
// part of SQL's JSON paths that names one value: $.field."any field"['any'][3].
type Path []Step

// Step goes to a field of an object, or with Field empty and Index at least 0 to
// an element of an array.
type Step struct {
	Field string
	Index int // -1: a field
}

// The bounds of paths: their length, and the index of an array's element.
const (
	maxSteps = 64
	maxIndex = 9999
)

// ParsePath reads a path. The path $ alone is the whole record.
func ParsePath(text string) (Path, error) {
	s, ok := strings.CutPrefix(strings.TrimSpace(text), "$")
	if !ok {
		return nil, errPath(text).WithHint("A path begins with $, the record: $.user.name, $.items[0].")
	}
	var p Path
	for s != "" {
		st, rest, ok := parseStep(s)
		if !ok {
			if strings.ContainsAny(s, "*?@(:") || strings.HasPrefix(s, "..") {
				return nil, pgerr.Unsupported("the path \""+text+"\"", "A path names one value: $.user.name, $.\"any name\", $.items[0]. Take a column of type jsonb for more.")
			}
			return nil, errPath(text).WithDetail("Unexpected text at \"%s\".", s)
		}
		if p = append(p, st); len(p) > maxSteps {
			return nil, errPath(text).WithDetail("It has more than %d steps.", maxSteps)
		}
		s = rest
	}
	return p, nil
}

func errPath(text string) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid path \"%s\"", text)
}

// parseStep reads one step.
func parseStep(s string) (st Step, rest string, ok bool) {
	switch s[0] {
	case '.':
		if s = s[1:]; s == "" {
			return st, s, false
		}
		if s[0] == '"' {
			st.Field, rest, ok = quoted(s)
			st.Index = -1
			return st, rest, ok
		}
		n := 0
		for n < len(s) && (s[n] == '_' || s[n] == '$' && n > 0 || s[n] == '-' && n > 0 || s[n] >= utf8.RuneSelf || '0' <= s[n] && s[n] <= '9' ||
			'a' <= s[n]|0x20 && s[n]|0x20 <= 'z') {
			n++
		}
		return Step{s[:n], -1}, s[n:], n > 0
	case '[':
		if len(s) > 1 && (s[1] == '\'' || s[1] == '"') {
			st.Field, rest, ok = quoted(s[1:])
			st.Index = -1
			return st, strings.TrimPrefix(rest, "]"), ok && strings.HasPrefix(rest, "]")
		}
		num, rest, ok := strings.Cut(s[1:], "]")
		n, err := strconv.ParseUint(num, 10, 16)
		return Step{"", int(n)}, rest, ok && err == nil && n <= maxIndex
	}
	return st, s, false
}

// quoted reads a name in quotes, in which a backslash makes the next byte stand
// for itself.
func quoted(s string) (name, rest string, ok bool) {
	var b []byte
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case s[0]:
			return string(b), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", s, false
			}
		}
		b = append(b, s[i])
	}
	return "", s, false
}

// node is a place in records below which columns lie.
type node struct {
	fields map[string]*node // by exact name
	folded map[string]*node // of the record itself: by name in lower case
	items  []*node          // by index; nil: none
	// exact are the columns that take the value here; loose those whose name is
	// the field's but for case, which take it if nothing else is theirs.
	exact, loose []int
	below        []int   // the columns of all that lies deeper
	seen         []field // the fields of earlier records by their place
}

// field is what the n-th field of objects was: records mostly repeat the order
// of their fields, which saves the look-up.
type field struct {
	name string
	to   *node // nil: none
}

// maxSeen bounds the memory of fields.
const maxSeen = 256

// child returns the node a step leads to, made if need be.
func (n *node) child(s Step) *node {
	if s.Index >= 0 {
		for len(n.items) <= s.Index {
			n.items = append(n.items, nil)
		}
		if n.items[s.Index] == nil {
			n.items[s.Index] = &node{}
		}
		return n.items[s.Index]
	}
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	if n.fields[s.Field] == nil {
		n.fields[s.Field] = &node{}
	}
	return n.fields[s.Field]
}

// add makes column col take the value at the path.
func (n *node) add(p Path, col int) {
	for _, s := range p {
		n.below = append(n.below, col)
		n = n.child(s)
	}
	n.exact = append(n.exact, col)
}

// addFolded adds the columns that are found by their names to the fields whose
// names differ from theirs by case only.
func (n *node) addFolded(names []string, cols []int) {
	n.folded = map[string]*node{}
	fold := func(s string) string { return string(appendFolded(nil, []byte(s))) }
	for i, name := range names {
		f := fold(name)
		if n.folded[f] == nil {
			n.folded[f] = &node{}
		}
		n.folded[f].loose = append(n.folded[f].loose, cols[i])
		for other, c := range n.fields {
			if other != name && fold(other) == f && !slices.Contains(names, other) {
				c.loose = append(c.loose, cols[i])
			}
		}
	}
}
