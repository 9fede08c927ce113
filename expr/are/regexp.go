package are

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Regexp is a compiled expression with the scratch memory to search with: it may be
// used by one goroutine at a time.
type Regexp struct {
	groups int
	tree   *part
	whole  *program
	fold   bool
	first  *class // what a match can begin with; nil if it can be empty
	empty  bool   // it may match nothing

	// std, unless nil, finds where the leftmost longest match is; with stdGroups also
	// its groups. With edges it does so only in ASCII texts.
	std       *library
	stdGroups bool
	edges     bool
	// looksBack tells that what is before a place counts.
	looksBack bool

	matcher matcher
}

// Compile reads a pattern with PostgreSQL's option letters, without g.
func Compile(pattern, flags string) (*Regexp, error) {
	p, n, err := parse(pattern, flags)
	if err != nil {
		return nil, err
	}
	r := &Regexp{groups: len(p.groups) - 1, tree: partOf(n), fold: p.fold, empty: n.nullable()}
	if !r.empty {
		r.first = n.first()
	}
	c := &compiler{groups: p.groups}
	r.whole = c.compile(n, false)
	r.tree.build(c)
	r.tree.forward = r.whole
	if c.tooLarge {
		return nil, errTooComplex
	}
	r.looksBack = n.any(func(k *node) bool {
		return k.kind == kindLook && k.behind || k.kind == kindAssert && k.assert != textEnd && k.assert != lineEnd
	})
	r.edges = n.any(func(k *node) bool { return k.kind == kindAssert && k.assert >= wordStart })
	if text, ok := goSyntax(n); ok {
		if r.std, err = newLibrary(text); err != nil {
			r.std = nil // it is larger than the library allows
		}
		r.stdGroups = certain(n)
	}
	r.matcher.groups = make([]int, 2*r.groups+2)
	return r, nil
}

// Groups is the number of groups that capture.
func (r *Regexp) Groups() int { return r.groups }

// byStd reports whether the standard library can search s from an offset on.
func (r *Regexp) byStd(s string, from int) bool {
	return r.std != nil && (from == 0 || !r.looksBack) && !(r.edges && !isASCII(s))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Match reports whether anything in s matches.
func (r *Regexp) Match(s string) (bool, error) {
	if r.byStd(s, 0) {
		return r.std.MatchString(s), nil
	}
	m := r.start(s)
	var found bool
	if r.tree.traits&hasBacks == 0 {
		found = m.begin(r.whole, 0, r.first) >= 0
	} else {
		found = r.search(m, 0)
	}
	return found, m.err()
}

// Find returns the offsets of the first match that begins at from or later, and
// those of its groups, as regexp.FindStringSubmatchIndex does; nil if there is none.
// They are borrowed until the next call.
func (r *Regexp) Find(s string, from int) ([]int, error) {
	if !r.byStd(s, from) {
		m := r.start(s)
		if !r.search(m, from) {
			return nil, m.err()
		}
		return m.groups, m.err()
	}
	at := r.std.FindStringSubmatchIndex(s[from:])
	for i := range at {
		if at[i] >= 0 {
			at[i] += from
		}
	}
	if at == nil || r.sameAsStd() {
		return at, nil
	}
	m := r.start(s)
	b, e := at[0], at[1]
	if r.tree.traits&wantsShorter != 0 {
		e = m.end(r, b)
	}
	m.dissect(r.tree, b, e)
	m.groups[0], m.groups[1] = b, e
	return m.groups, m.err()
}

// sameAsStd reports whether all offsets are as the standard library has them.
func (r *Regexp) sameAsStd() bool {
	return r.tree.traits&wantsShorter == 0 && (r.groups == 0 || r.stdGroups)
}

// FindAll returns the first n matches (all if n is negative) that begin at from or
// later, each as Find does and borrowed like that. The next one is sought where the last has ended, or a
// character on if that was empty.
func (r *Regexp) FindAll(s string, from, n int) ([][]int, error) {
	if from == 0 && !r.empty && r.byStd(s, 0) && r.sameAsStd() {
		return r.std.FindAllStringSubmatchIndex(s, n), nil
	}
	var out [][]int
	for n < 0 || len(out) < n {
		at, err := r.Find(s, from)
		if at == nil || err != nil {
			return out, err
		}
		out = append(out, slices.Clone(at))
		if from = at[1]; at[0] == at[1] {
			if from == len(s) {
				break
			}
			_, size := utf8.DecodeRuneInString(s[from:])
			from += size
		}
	}
	return out, nil
}

// search finds the first match from an offset on, and leaves it in m.groups.
func (r *Regexp) search(m *matcher, from int) bool {
	for {
		b := m.begin(r.whole, from, r.first)
		if b < 0 || m.spent() {
			return false
		}
		if r.tree.traits&hasBacks == 0 {
			e := m.end(r, b)
			m.dissect(r.tree, b, e)
			m.groups[0], m.groups[1] = b, e
			return true
		}

		close := len(m.s)
		for _, e := range m.candidates(r.tree, b, len(m.s)) {
			close = min(close, e)
			m.forget(r.tree)
			if m.dissect(r.tree, b, e) {
				m.groups[0], m.groups[1] = b, e
				return true
			}
		}
		if b == len(m.s) {
			return false
		}
		_, n := utf8.DecodeRuneInString(m.s[b:])
		if from = b + n; from == len(m.s) && close < from {
			return false // as PostgreSQL, which does not look there once it has failed before
		}
	}
}

// end returns where the match of r that begins at b ends.
func (m *matcher) end(r *Regexp, b int) int {
	end := b
	m.ends(r.whole, b, len(m.s), func(at int) bool {
		end = at
		return r.tree.traits&wantsShorter == 0
	})
	return end
}

// start begins a search in s.
func (r *Regexp) start(s string) *matcher {
	m := &r.matcher
	m.s, m.steps, m.fold = s, maxSteps, r.fold
	for i := range m.groups {
		m.groups[i] = -1
	}
	return m
}

func (m *matcher) err() error {
	if m.spent() {
		return errSteps
	}
	return nil
}

// same reports whether rest begins with text, and how long that is in rest.
func (m *matcher) same(text, rest string) (int, bool) {
	if !m.fold {
		return len(text), strings.HasPrefix(rest, text)
	}
	n := 0
	for _, r := range text {
		c, size := utf8.DecodeRuneInString(rest[n:])
		if size == 0 || c != r && unicode.ToLower(c) != unicode.ToLower(r) {
			return 0, false
		}
		n += size
	}
	return n, true
}
