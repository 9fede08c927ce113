package are

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// library finds what the standard library finds, but is faster at it in two ways:
// it knows a text that every match contains, without which there is no match, and
// where at most one way through the expression is open at a time it follows that
// one alone. What its methods return is borrowed until the next call of the same
// method.
type library struct {
	*regexp.Regexp
	need    needed
	tree    *syntax.Regexp // until path was looked for
	path    *onePath       // nil: none yet, or there is none
	calls   int
	match   []int
	matches [][]int
	all     []int
}

// callsToPath is how often an expression is used before it is worth looking for
// its single path: patterns that come from rows may be used once each.
const callsToPath = 16

// newLibrary makes a library of an expression in its syntax. Of the matches that
// begin first the longest one counts.
func newLibrary(text string) (*library, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	re.Longest()
	x := &library{Regexp: re}
	if tree, err := syntax.Parse(text, syntax.Perl); err == nil {
		x.need, x.tree = neededLiteral(tree), tree
	}
	return x, nil
}

// single returns the single path, if there is one.
func (x *library) single() *onePath {
	if x.calls++; x.calls == callsToPath && x.tree != nil {
		x.path = newOnePath(x.tree)
		x.tree = nil
	}
	return x.path
}

// MatchString reports whether there is a match in s.
func (x *library) MatchString(s string) bool {
	from := x.start(s, 0)
	if from < 0 {
		return false
	}
	if p := x.single(); p != nil {
		if found, ok := p.find(s, from, false); ok {
			return found
		}
	}
	return x.Regexp.MatchString(s)
}

// FindStringSubmatchIndex returns the bounds of the first match and its groups in
// s, or nil.
func (x *library) FindStringSubmatchIndex(s string) []int {
	from := x.start(s, 0)
	if from < 0 {
		return nil
	}
	if p := x.single(); p != nil {
		if found, ok := p.find(s, from, true); ok {
			if !found {
				return nil
			}
			x.match = append(x.match[:0], p.best...)
			return x.match
		}
	}
	return x.Regexp.FindStringSubmatchIndex(s)
}

// FindAllStringSubmatchIndex returns up to n matches (all if n is negative) that
// do not overlap; an empty one right behind another is passed over.
func (x *library) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if x.start(s, 0) < 0 {
		return nil
	}
	if p := x.single(); p != nil {
		if x.findAll(p, s, n) {
			return x.matches
		}
	}
	return x.Regexp.FindAllStringSubmatchIndex(s, n)
}

// findAll makes x.matches the matches in s along the single path. It reports
// whether that was possible in linear time.
func (x *library) findAll(p *onePath, s string, n int) bool {
	x.matches, x.all = x.matches[:0], x.all[:0]
	last := -1
	for pos := 0; pos <= len(s) && (n < 0 || len(x.matches) < n); {
		from := x.start(s, pos)
		if from < 0 {
			break
		}
		found, ok := p.find(s, from, true)
		if !ok {
			return false
		}
		if !found {
			break
		}
		lo, hi := p.best[0], p.best[1]
		if hi > lo || lo != last {
			x.all = append(x.all, p.best...)
			x.matches = append(x.matches, nil)
		}
		last = hi
		if pos = hi; hi == lo {
			_, size := utf8.DecodeRuneInString(s[hi:])
			pos += max(size, 1)
		}
	}
	w := len(p.best)
	for i := range x.matches {
		x.matches[i] = x.all[w*i : w*i+w : w*i+w]
	}
	return true
}

// start returns the first position from from on where a match may begin, or -1 if
// there can be no match.
func (x *library) start(s string, from int) int {
	if x.need.text == "" {
		return from
	}
	at := strings.Index(s[from:], x.need.text)
	switch {
	case at < 0:
		return -1
	case x.need.before < 0:
		return from
	}
	first := from + at - x.need.before
	for first > from && !utf8.RuneStart(s[first]) {
		first--
	}
	return max(first, from)
}
