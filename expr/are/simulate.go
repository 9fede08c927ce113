package are

import (
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
)

// maxSteps bounds the states that one search visits, which take up to a second.
const maxSteps = 30_000_000

var errSteps = pgerr.New(pgerr.InvalidRegularExpression, "regular expression failed: regular expression is too complex").
	WithHint("Back references and look-around over long texts can take very many steps.")

// matcher is the scratch space of one search.
type matcher struct {
	s      string
	steps  int // left
	sets   []*threads
	groups []int // pairs of offsets, -1 for groups that have not matched
	fold   bool
}

// threads are the states that a program is in, each once, in the order of their
// arrival; begin is where the match of each began.
type threads struct {
	cur, next list
	seen      []uint32 // by state: the round it was last entered in
	round     uint32
	stack     []int
}

type list struct {
	states []int
	begins []int
	match  int // where the match that is complete began; -1: none is
}

func (l *list) clear() { l.states, l.begins, l.match = l.states[:0], l.begins[:0], -1 }

func (m *matcher) threads(p *program) *threads {
	for len(m.sets) <= p.id {
		m.sets = append(m.sets, nil)
	}
	t := m.sets[p.id]
	if t == nil {
		t = &threads{seen: make([]uint32, len(p.states))}
		m.sets[p.id] = t
	}
	t.cur.clear()
	t.next.clear()
	t.newRound()
	return t
}

func (t *threads) newRound() {
	t.round++
	if t.round == 0 {
		clear(t.seen)
		t.round = 1
	}
}

// spent reports whether the steps of the search are used up.
func (m *matcher) spent() bool { return m.steps <= 0 }

// enter adds a state, and what can be reached from it at pos without a character,
// to the list.
func (m *matcher) enter(p *program, t *threads, l *list, pc, pos, begin int) {
	t.stack = append(t.stack[:0], pc)
	for len(t.stack) > 0 {
		pc := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		if t.seen[pc] == t.round {
			continue
		}
		t.seen[pc] = t.round
		m.steps--
		switch st := &p.states[pc]; st.op {
		case opChar:
			l.states = append(l.states, pc)
			l.begins = append(l.begins, begin)
		case opSplit:
			t.stack = append(t.stack, st.other, st.next)
		case opAssert:
			if m.holds(st.assert, pos) {
				t.stack = append(t.stack, st.next)
			}
		case opLook:
			if m.look(st.look, pos) != st.negate {
				t.stack = append(t.stack, st.next)
			}
		case opMatch:
			if l.match < 0 {
				l.match = begin
			}
		}
	}
}

// step moves the threads over the character r to pos.
func (m *matcher) step(p *program, t *threads, r rune, pos int) {
	t.newRound()
	t.next.clear()
	for i, pc := range t.cur.states {
		m.steps--
		if st := &p.states[pc]; st.class.has(r) {
			m.enter(p, t, &t.next, st.next, pos, t.cur.begins[i])
		}
	}
	t.cur, t.next = t.next, t.cur
}

// ends calls f with each offset up to limit at which a match that begins at from
// can end (for a program that runs backwards: down to limit, where it can begin),
// nearest first, until f returns false.
func (m *matcher) ends(p *program, from, limit int, f func(int) bool) {
	t := m.threads(p)
	m.enter(p, t, &t.cur, p.start, from, from)
	for pos := from; ; {
		if t.cur.match >= 0 && !f(pos) || pos == limit || len(t.cur.states) == 0 || m.spent() {
			return
		}
		var r rune
		var n int
		if p.backward {
			r, n = utf8.DecodeLastRuneInString(m.s[:pos])
			pos -= n
		} else {
			r, n = utf8.DecodeRuneInString(m.s[pos:])
			pos += n
		}
		m.step(p, t, r, pos)
	}
}

// begin returns the leftmost offset, from on, at which a match begins; -1 if there
// is none. first are the characters it can begin with, nil if it may be empty.
func (m *matcher) begin(p *program, from int, first *class) int {
	t := m.threads(p)
	best := -1
	for pos := from; !m.spent(); {
		if best < 0 {
			if len(t.cur.states) == 0 && first != nil {
				pos = m.skip(pos, first)
				t.newRound()
			}
			m.enter(p, t, &t.cur, p.start, pos, pos)
		}
		if b := t.cur.match; b >= 0 && (best < 0 || b < best) {
			best = b
		}
		if best >= 0 { // only what began before it can be better
			n := 0
			for n < len(t.cur.begins) && t.cur.begins[n] < best {
				n++
			}
			t.cur.states, t.cur.begins = t.cur.states[:n], t.cur.begins[:n]
			if n == 0 {
				break
			}
		}
		if pos == len(m.s) {
			break
		}
		r, n := utf8.DecodeRuneInString(m.s[pos:])
		pos += n
		m.step(p, t, r, pos)
	}
	return best
}

// skip returns where the next character of first is; the end if there is none.
func (m *matcher) skip(pos int, first *class) int {
	for i, r := range m.s[pos:] {
		if first.has(r) {
			return pos + i
		}
	}
	return len(m.s)
}

// look reports whether something matches just behind pos, or just before it.
func (m *matcher) look(p *program, pos int) bool {
	found, limit := false, len(m.s)
	if p.backward {
		limit = 0
	}
	m.ends(p, pos, limit, func(int) bool { found = true; return false })
	return found
}

// holds reports whether a condition on the place pos is met.
func (m *matcher) holds(a assertion, pos int) bool {
	switch a {
	case textStart:
		return pos == 0
	case textEnd:
		return pos == len(m.s)
	case lineStart:
		return pos == 0 || m.s[pos-1] == '\n'
	case lineEnd:
		return pos == len(m.s) || m.s[pos] == '\n'
	}
	before, _ := utf8.DecodeLastRuneInString(m.s[:pos])
	after, _ := utf8.DecodeRuneInString(m.s[pos:])
	was, is := pos > 0 && isWord(before), pos < len(m.s) && isWord(after)
	switch a {
	case wordStart:
		return !was && is
	case wordEnd:
		return was && !is
	case wordEdge:
		return was != is
	}
	return was == is
}
