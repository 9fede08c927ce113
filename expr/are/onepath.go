package are

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// onePath follows an expression in which no two ways on begin with the same
// character, so that from a given start there is one way only, whatever the text.
// It is a table: a state for each place behind a character, and for each of them
// what the next character leads to. Of several starts each is tried in turn.
type onePath struct {
	states   []pathState
	conds    syntax.EmptyOp // those that occur
	anchored bool           // a match begins at the start of the text only
	begins   *[256]bool     // bytes that a match can begin with; nil: it may be empty
	best     []int          // bounds of the match and its groups
	now      []int          // ... as far as the path has come
}

// pathState is a place in the expression. What is open there depends on which
// conditions hold (start of the text, edge of a word, …): there is one step for
// each combination of those that the expression has, or just one.
type pathState struct {
	steps []pathStep
}

type pathStep struct {
	ways   []pathWay
	ascii  [utf8.RuneSelf]uint8 // 1 + way
	accept bool                 // a match may end here
	set    []int                // bounds that are here if it does
}

type pathWay struct {
	inst *syntax.Inst
	to   int
	set  []int // bounds that are before the character
}

// maxPathSteps bounds the memory of a table, maxPathInsts the depth of the search
// for it.
const (
	maxPathSteps = 1024
	maxPathInsts = 2000
)

// newOnePath returns nil if the expression has not one path, or is too large.
func newOnePath(tree *syntax.Regexp) *onePath {
	groups := tree.MaxCap()
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxPathInsts {
		return nil
	}
	p := &onePath{anchored: prog.StartCond()&syntax.EmptyBeginText != 0}
	for i := range prog.Inst {
		if in := &prog.Inst[i]; in.Op == syntax.InstEmptyWidth {
			p.conds |= syntax.EmptyOp(in.Arg)
		}
	}
	p.best, p.now = make([]int, 2+2*groups), make([]int, 2+2*groups)
	b := pathBuilder{onePath: p, prog: prog, state: map[uint32]int{}, seen: make([]bool, len(prog.Inst))}
	if !b.build() {
		return nil
	}
	p.findBegins()
	return p
}

// pathBuilder fills the table.
type pathBuilder struct {
	*onePath
	prog  *syntax.Prog
	state map[uint32]int // by where it goes on in the program
	open  []uint32       // states whose steps are missing
	count int
	seen  []bool // by the walk under way
	cond  syntax.EmptyOp
	met   bool // it came to a condition
}

func (b *pathBuilder) build() bool {
	b.stateOf(uint32(b.prog.Start))
	for len(b.open) > 0 {
		pc := b.open[0]
		b.open = b.open[1:]
		at := b.state[pc]
		for cond := syntax.EmptyOp(0); cond <= b.conds; cond++ {
			var s pathStep
			if cond&^b.conds == 0 {
				clear(b.seen)
				b.cond, b.met = cond, false
				b.walk(pc, nil, &s)
				if !s.index() {
					return false
				}
			}
			b.states[at].steps = append(b.states[at].steps, s)
			if b.count++; b.count > maxPathSteps {
				return false
			}
			if cond == 0 && !b.met {
				break
			}
		}
	}
	return true
}

func (b *pathBuilder) stateOf(pc uint32) int {
	at, ok := b.state[pc]
	if !ok {
		at = len(b.states)
		b.state[pc] = at
		b.states = append(b.states, pathState{})
		b.open = append(b.open, pc)
	}
	return at
}

// walk adds what is open at pc to a step, in the order of preference: of two ways
// to one place the first counts. set are the bounds met on the way.
func (b *pathBuilder) walk(pc uint32, set []int, s *pathStep) {
	if b.seen[pc] {
		return
	}
	b.seen[pc] = true
	switch in := &b.prog.Inst[pc]; in.Op {
	case syntax.InstFail:
	case syntax.InstAlt, syntax.InstAltMatch:
		b.walk(in.Out, set, s)
		b.walk(in.Arg, set, s)
	case syntax.InstNop:
		b.walk(in.Out, set, s)
	case syntax.InstCapture:
		b.walk(in.Out, append(slices.Clip(set), int(in.Arg)), s)
	case syntax.InstEmptyWidth:
		b.met = true
		if syntax.EmptyOp(in.Arg)&^b.cond == 0 {
			b.walk(in.Out, set, s)
		}
	case syntax.InstMatch:
		s.accept, s.set = true, set
	default:
		s.ways = append(s.ways, pathWay{in, b.stateOf(in.Out), set})
	}
}

// index fills the table of ASCII characters. It reports false if two ways begin
// with the same character.
func (s *pathStep) index() bool {
	if len(s.ways) > 255 {
		return false
	}
	type span struct{ lo, hi rune }
	var spans []span
	for k, w := range s.ways {
		for c := range rune(utf8.RuneSelf) {
			if w.inst.MatchRune(c) {
				s.ascii[c] = uint8(k + 1)
			}
		}
		r := w.inst.Rune
		if len(r) == 1 {
			spans = append(spans, span{r[0], r[0]})
			if syntax.Flags(w.inst.Arg)&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r[0]); f != r[0]; f = unicode.SimpleFold(f) {
					spans = append(spans, span{f, f})
				}
			}
		}
		for ; len(r) > 1; r = r[2:] {
			spans = append(spans, span{r[0], r[1]})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	for i := 1; i < len(spans); i++ {
		if spans[i].lo <= spans[i-1].hi {
			return false
		}
	}
	return true
}

func (p *onePath) findBegins() {
	var begins [256]bool
	for _, s := range p.states[0].steps {
		if s.accept {
			return
		}
		for c, k := range s.ascii {
			begins[c] = begins[c] || k != 0
		}
		for _, w := range s.ways {
			if r := w.inst.Rune; r[len(r)-1] >= utf8.RuneSelf || len(r) == 1 {
				for c := utf8.RuneSelf; c < len(begins); c++ {
					begins[c] = true
				}
			}
		}
	}
	p.begins = &begins
}

// find looks for the first match that begins at from or later, and leaves its
// bounds in best if they are asked for. It gives up (not ok) where trying start
// after start would take more than linear time.
func (p *onePath) find(s string, from int, bounds bool) (found, ok bool) {
	steps := 4*(len(s)-from) + 64
	for pos := from; pos <= len(s); {
		if p.anchored && pos > 0 {
			return false, true
		}
		if p.begins != nil {
			for pos < len(s) && !p.begins[s[pos]] {
				pos++
			}
			if pos == len(s) {
				return false, true
			}
		}
		end, found := p.follow(s, pos, bounds)
		if found {
			return true, true
		}
		if steps -= end - pos; steps < 0 {
			return false, false
		}
		_, size := utf8.DecodeRuneInString(s[pos:])
		pos += max(size, 1)
	}
	return false, true
}

// follow goes the path that begins at pos as far as it leads.
func (p *onePath) follow(s string, pos int, bounds bool) (end int, found bool) {
	for i := range p.now {
		p.now[i] = -1
	}
	start, state := pos, 0
	var last *pathStep // where the match ends if nothing more comes
	lastPos := 0
	for {
		step := &p.states[state].steps[0]
		if len(p.states[state].steps) > 1 {
			step = &p.states[state].steps[p.holding(s, pos)]
		}
		if step.accept {
			if !bounds {
				return pos, true
			}
			last, lastPos, found = step, pos, true
		}
		if pos == len(s) {
			break
		}
		var way *pathWay
		size := 1
		if c := s[pos]; c < utf8.RuneSelf {
			k := step.ascii[c]
			if k == 0 {
				break
			}
			way = &step.ways[k-1]
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[pos:])
			if way = step.wide(r); way == nil {
				break
			}
		}
		if len(way.set) > 0 {
			if last != nil {
				p.keep(start, last, lastPos)
				last = nil
			}
			for _, k := range way.set {
				p.now[k] = pos
			}
		}
		state = way.to
		pos += size
	}
	if last != nil {
		p.keep(start, last, lastPos)
	}
	return pos, found
}

// keep notes the match that ends at a step.
func (p *onePath) keep(start int, s *pathStep, pos int) {
	copy(p.best, p.now)
	for _, k := range s.set {
		p.best[k] = pos
	}
	p.best[0], p.best[1] = start, pos
}

func (s *pathStep) wide(r rune) *pathWay {
	for k := range s.ways {
		if s.ways[k].inst.MatchRune(r) {
			return &s.ways[k]
		}
	}
	return nil
}

// holding returns which of the expression's conditions hold at a position.
func (p *onePath) holding(s string, pos int) syntax.EmptyOp {
	before, after := rune(-1), rune(-1)
	if pos > 0 {
		before, _ = utf8.DecodeLastRuneInString(s[:pos])
	}
	if pos < len(s) {
		after, _ = utf8.DecodeRuneInString(s[pos:])
	}
	return syntax.EmptyOpContext(before, after) & p.conds
}
