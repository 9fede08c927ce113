package are

import (
	"slices"
	"unicode/utf8"
)

// dissect finds out what the groups of p have matched, given that p as a whole has
// matched s[b:e]. It returns false if that cannot be, which only back references
// can bring about.
func (m *matcher) dissect(p *part, b, e int) bool {
	ok := true
	switch p.role {
	case row:
		ok = m.row(p, b, e)
	case choice:
		ok = slices.ContainsFunc(p.kids, func(k *part) bool { return m.spans(k, b, e) && m.dissect(k, b, e) })
	case rounds:
		if p.traits&hasBacks != 0 {
			ok = m.uncertainRounds(p, b, e)
		} else {
			ok = m.rounds(p, b, e)
		}
	case back:
		ok = m.back(p, b, e)
	case shell:
		ok = m.dissect(p.kids[0], b, e)
	}
	if m.spent() {
		return false
	}
	if ok && p.group > 0 {
		m.groups[2*p.group], m.groups[2*p.group+1] = b, e
	}
	return ok
}

// forget takes back what the groups in p have matched.
func (m *matcher) forget(p *part) {
	if p.group > 0 {
		m.groups[2*p.group], m.groups[2*p.group+1] = -1, -1
	}
	for _, k := range p.kids {
		m.forget(k)
	}
}

// spans reports whether p can match s[b:e], as far as its program can tell.
func (m *matcher) spans(p *part, b, e int) bool {
	found := false
	m.ends(p.forward, b, e, func(at int) bool { found = at == e; return !found })
	return found
}

// offsets is a set of offsets.
type offsets struct {
	from int
	bits []uint64
}

func newOffsets(b, e int) offsets { return offsets{b, make([]uint64, (e-b)/64+1)} }

func (o offsets) add(at int) { o.bits[(at-o.from)/64] |= 1 << ((at - o.from) % 64) }

func (o offsets) has(at int) bool { return o.bits[(at-o.from)/64]>>((at-o.from)%64)&1 != 0 }

// begins returns where a match of p (its backward program) that ends at e begins.
func (m *matcher) begins(p *program, b, e int) offsets {
	o := newOffsets(b, e)
	m.ends(p, e, b, func(at int) bool { o.add(at); return true })
	return o
}

// row parts s[b:e] among two parts. The first has its way if the second can
// match the rest.
func (m *matcher) row(p *part, b, e int) bool {
	first, second := p.kids[0], p.kids[1]
	rest := m.begins(second.backward, b, e)
	if p.traits&hasBacks == 0 {
		at := m.preferred(first, b, e, rest)
		return at >= 0 && m.dissect(first, b, at) && m.dissect(second, at, e)
	}
	for _, at := range m.candidates(first, b, e) {
		if !rest.has(at) {
			continue
		}
		if m.dissect(first, b, at) && m.dissect(second, at, e) {
			return true
		}
		m.forget(p)
		if m.spent() {
			break
		}
	}
	return false
}

// preferred returns the end among ok that p likes best for a match from b on; -1
// if there is none.
func (m *matcher) preferred(p *part, b, e int, ok offsets) int {
	best := -1
	m.ends(p.forward, b, e, func(at int) bool {
		if ok.has(at) {
			best = at
			return p.traits&wantsShorter == 0
		}
		return true
	})
	return best
}

// candidates returns all ends of matches of p from b on, the preferred ones first.
func (m *matcher) candidates(p *part, b, e int) []int {
	var out []int
	m.ends(p.forward, b, e, func(at int) bool { out = append(out, at); return true })
	if p.traits&wantsShorter == 0 {
		slices.Reverse(out)
	}
	return out
}

// rounds parts s[b:e] among the rounds of a part that has no back references, and
// may come not at all. No round is empty, but for a single one of an empty text.
func (m *matcher) rounds(p *part, b, e int) bool {
	kid := p.kids[0]
	if b == e {
		return kid.traits&wantsShorter != 0 || !m.spans(kid, b, e) || m.dissect(kid, b, e)
	}
	within := m.within(p, b, e)
	for n := 1; ; n++ {
		ok := within(n)
		at := -1
		m.ends(kid.forward, b, e, func(end int) bool {
			if end > b && ok.has(end) {
				at = end
				return kid.traits&wantsShorter == 0
			}
			return true
		})
		if at < 0 {
			return false
		}
		if at == e {
			return m.dissect(kid, b, e)
		}
		b = at
	}
}

// within returns a function that gives the offsets from which e can be reached
// after n rounds.
func (m *matcher) within(p *part, b, e int) func(n int) offsets {
	if p.max == unlimited || p.max >= e-b {
		all := m.begins(p.loop, b, e)
		return func(int) offsets { return all }
	}
	last := newOffsets(b, e)
	last.add(e)
	left := []offsets{last} // by how many rounds are left
	for len(left) < p.max {
		o := offsets{b, slices.Clone(last.bits)}
		for at := b; at <= e; at++ {
			if last.has(at) {
				m.ends(p.kids[0].backward, at, b, func(begin int) bool { o.add(begin); return true })
			}
		}
		left, last = append(left, o), o
	}
	return func(n int) offsets { return left[p.max-n] }
}

// uncertainRounds parts s[b:e] among rounds of which only dissecting them tells
// whether they can be. Rounds are empty only where there would be too few.
func (m *matcher) uncertainRounds(p *part, b, e int) bool {
	kid := p.kids[0]
	if p.min == 0 && b == e && kid.traits&wantsShorter != 0 {
		return true
	}
	least, most := max(p.min, 1), utf8.RuneCountInString(m.s[b:e])
	if p.max != unlimited {
		most = min(most, p.max)
	}
	most = max(most, least)
	var ends []int      // of the rounds so far
	var choices [][]int // what is left to try for each
	verified := 0       // so many of them have been dissected
	open := func() {    // begins a round
		at := b
		if len(ends) > 0 {
			at = ends[len(ends)-1]
		}
		k := len(ends) + 1
		all := m.candidates(kid, at, e)
		all = slices.DeleteFunc(all, func(end int) bool {
			tooFew := k < least && least-k >= utf8.RuneCountInString(m.s[at:e])
			return end == at && end != e && !tooFew || end < e && k >= most
		})
		choices = append(choices, all)
		ends = append(ends, at)
	}
	for open(); len(ends) > 0 && !m.spent(); {
		k := len(ends)
		verified = min(verified, k-1)
		if len(choices[k-1]) == 0 {
			ends, choices = ends[:k-1], choices[:k-1]
			continue
		}
		ends[k-1], choices[k-1] = choices[k-1][0], choices[k-1][1:]
		if ends[k-1] != e {
			open()
			continue
		}
		if k < least {
			continue // as PostgreSQL, which adds no empty rounds behind the last
		}
		bad := m.verify(kid, b, ends, &verified)
		if bad < 0 {
			return true
		}
		ends, choices = ends[:bad+1], choices[:bad+1]
	}
	m.forget(p)
	return p.min == 0 && b == e
}

// verify dissects the rounds that have not been yet, and returns the first that
// cannot be, or -1.
func (m *matcher) verify(kid *part, b int, ends []int, verified *int) int {
	for i := *verified; i < len(ends); i++ {
		m.forget(kid)
		at := b
		if i > 0 {
			at = ends[i-1]
		}
		if !m.dissect(kid, at, ends[i]) {
			return i
		}
		*verified = i + 1
	}
	return -1
}

// back compares s[b:e] with what a group has matched, as often as may be.
func (m *matcher) back(p *part, b, e int) bool {
	from, to := m.groups[2*p.refers], m.groups[2*p.refers+1]
	switch {
	case from < 0:
		return false
	case from == to:
		return b == e
	case b == e:
		return p.min == 0
	}
	text, n := m.s[from:to], 0
	for rest := m.s[b:e]; rest != ""; n++ {
		size, same := m.same(text, rest)
		if !same {
			return false
		}
		rest = rest[size:]
	}
	return n >= p.min && (p.max == unlimited || n <= p.max)
}
