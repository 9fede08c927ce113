package are

// maxProgram bounds the states of one program.
const maxProgram = 100_000

// operation is what a state of a program does.
type operation uint8

const (
	opChar operation = iota
	opSplit
	opAssert
	opLook
	opMatch
)

type state struct {
	op     operation
	assert assertion
	negate bool // of opLook
	next   int
	other  int // of opSplit
	class  *class
	look   *program // of opLook; run backwards if it looks behind
}

// program matches one expression, forwards or backwards.
type program struct {
	states   []state
	start    int
	backward bool
	id       int // which scratch space of a matcher is its own
}

// compiler makes the programs of one expression.
type compiler struct {
	groups   []*node
	programs int
	tooLarge bool
}

func (c *compiler) compile(n *node, backward bool) *program {
	p := &program{states: []state{{op: opMatch}}, backward: backward, id: c.programs}
	c.programs++
	p.start = c.emit(p, n, 0)
	return p
}

func (c *compiler) add(p *program, s state) int {
	if len(p.states) >= maxProgram {
		c.tooLarge = true
		return 0
	}
	p.states = append(p.states, s)
	return len(p.states) - 1
}

// emit adds the states of n, which go on at next, and returns the first one.
func (c *compiler) emit(p *program, n *node, next int) int {
	if c.tooLarge {
		return 0
	}
	switch n.kind {
	case kindClass:
		return c.add(p, state{op: opChar, class: n.class, next: next})
	case kindConcat:
		for i := range n.kids {
			k := n.kids[len(n.kids)-1-i]
			if p.backward {
				k = n.kids[i]
			}
			next = c.emit(p, k, next)
		}
	case kindEither:
		first := c.emit(p, n.kids[len(n.kids)-1], next)
		for i := len(n.kids) - 2; i >= 0; i-- {
			first = c.add(p, state{op: opSplit, next: c.emit(p, n.kids[i], next), other: first})
		}
		return first
	case kindRepeat:
		return c.repeat(p, n, next)
	case kindGroup:
		return c.emit(p, n.kids[0], next)
	case kindBack:
		return c.emit(p, c.unconstrained(c.groups[n.index].kids[0]), next)
	case kindAssert:
		return c.add(p, state{op: opAssert, assert: n.assert, next: next})
	case kindLook:
		return c.add(p, state{op: opLook, negate: n.negate, look: c.compile(n.kids[0], n.behind), next: next})
	}
	return next
}

func (c *compiler) repeat(p *program, n *node, next int) int {
	kid := n.kids[0]
	if n.max == unlimited {
		loop := c.add(p, state{op: opSplit, other: next})
		p.states[loop].next = c.emit(p, kid, loop)
		next = loop
	} else {
		after := next
		for range n.max - n.min {
			next = c.add(p, state{op: opSplit, next: c.emit(p, kid, next), other: after})
		}
	}
	for range n.min {
		next = c.emit(p, kid, next)
	}
	return next
}

// unconstrained is what a back reference to n may match: the same without
// conditions on the place.
func (c *compiler) unconstrained(n *node) *node {
	if n.kind == kindAssert || n.kind == kindLook {
		return &node{kind: kindEmpty}
	}
	out := *n
	out.kids = nil
	for _, k := range n.kids {
		out.kids = append(out.kids, c.unconstrained(k))
	}
	return &out
}
