package are

// traits are what counts of an expression when the parts of its match are sought.
type traits uint8

const (
	wantsLonger  traits = 1 << iota
	wantsShorter        // the shorter of two matches
	isMixed             // it has parts of both kinds
	hasGroups
	hasBacks
)

const wants = wantsLonger | wantsShorter

func traitsOf(p preference) traits {
	switch p {
	case longer:
		return wantsLonger
	case shorter:
		return wantsShorter
	}
	return 0
}

// up are the traits of an expression that come from one within it.
func (t traits) up() traits {
	if t&wants == wants {
		t |= isMixed
	}
	return t &^ wants
}

// combine are the traits of a row of two: what the first prefers comes first.
func combine(a, b traits) traits {
	out := (a | b).up()
	if a&wants != 0 {
		return out | a&wants
	}
	return out | b&wants
}

func (t traits) parts() bool { return t&(isMixed|hasGroups|hasBacks) != 0 }

// role is how a part is taken apart further.
type role uint8

const (
	whole role = iota // not at all
	row               // two parts, one behind the other
	choice
	rounds // a part that is repeated
	back
	shell // parentheses right around parentheses
)

// part is an expression of whose match it matters what its parts have matched.
// Their order and how they are nested decides which get the longer share.
type part struct {
	role     role
	traits   traits
	node     *node
	kids     []*part
	min, max int // of rounds and back
	group    int // that takes what this matches
	refers   int // of back: the group

	// to a part's end from its begin, and back; loop is rounds' way back over any
	// number of them. Nil where nobody asks.
	forward, backward, loop *program
}

// partOf takes an expression apart.
func partOf(n *node) *part {
	switch n.kind {
	case kindEither:
		p := &part{role: choice, traits: wantsLonger, node: n}
		for _, k := range n.kids {
			kid := partOf(k)
			p.kids = append(p.kids, kid)
			p.traits |= (p.traits | kid.traits).up()
		}
		if !p.traits.parts() {
			p.role, p.kids = whole, nil
		}
		return p
	case kindConcat:
		return rowOf(n.kids)
	case kindEmpty:
		return &part{node: n}
	}
	return rowOf([]*node{n})
}

// rowOf takes a row of items apart: what comes before the first item that has parts
// is one of them, then that item, then the rest.
func rowOf(items []*node) *part {
	head := traits(0)
	for i, it := range items {
		atom, rep := it, &node{min: 1, max: 1}
		if it.kind == kindRepeat {
			atom, rep = it.kids[0], it
		}
		if rep.max == 0 {
			continue // whose groups never match
		}
		a := atomPart(atom)
		quantified := traitsOf(rep.prefer)
		if t := head | quantified | a.traits; !(atom.kind == kindGroup && atom.index > 0) && a.role != back && !t.up().parts() {
			head = t
			continue
		}
		p := quantify(it, a, rep.min, rep.max, quantified)
		if i+1 < len(items) {
			first := combine(quantified, a.traits) // also of a quantifier {1,1}
			p = pair(p, rowOf(items[i+1:]))
			p.traits = combine(first, p.kids[1].traits)
		}
		if i == 0 {
			return p
		}
		return pair(&part{traits: head, node: concat(items[:i])}, p)
	}
	return &part{traits: head, node: concat(items)}
}

func concat(items []*node) *node {
	if len(items) == 1 {
		return items[0]
	}
	return &node{kind: kindConcat, kids: items}
}

func pair(a, b *part) *part {
	return &part{role: row, traits: combine(a.traits, b.traits), kids: []*part{a, b}, node: concat([]*node{a.node, b.node})}
}

func atomPart(n *node) *part {
	switch n.kind {
	case kindGroup:
		p := partOf(n.kids[0])
		if n.index == 0 {
			return p
		}
		if p.group > 0 {
			p = &part{role: shell, traits: p.traits, node: p.node, kids: []*part{p}}
		}
		p.group = n.index
		p.traits |= hasGroups
		return p
	case kindBack:
		return &part{role: back, traits: hasBacks, node: n, min: 1, max: 1, refers: n.index}
	case kindEither, kindConcat, kindRepeat:
		return partOf(n)
	}
	return &part{node: n}
}

// quantify is the part of an item: an atom and how often it comes.
func quantify(it *node, a *part, least, most int, t traits) *part {
	all := combine(t, a.traits)
	liking := a.traits & (wants | isMixed)
	switch {
	case a.role == back && a.group == 0:
		a.min, a.max, a.node = least, most, it
		a.traits |= all
		return a
	case least == 1 && most == 1 && (t == 0 || liking == 0 || t == liking):
		return a
	case a.traits&(hasGroups|hasBacks) == 0:
		return &part{traits: all, node: it}
	case least > 0 && a.traits&hasBacks == 0:
		// Only the last round's groups count: the others are one part.
		others := &node{kind: kindRepeat, kids: []*node{a.node}, min: least - 1, max: most}
		if most != unlimited {
			others.max--
		}
		p := pair(&part{traits: all & wants, node: others}, a)
		p.traits = all
		return p
	}
	return &part{role: rounds, traits: all, node: it, kids: []*part{a}, min: least, max: most}
}

// build makes the programs of a part and those within it. How their part is taken
// apart tells which they need.
func (p *part) build(c *compiler) {
	for i, k := range p.kids {
		switch p.role {
		case row:
			if i == 0 {
				k.forward = c.compile(k.node, false)
			} else {
				k.backward = c.compile(k.node, true)
			}
		case choice:
			k.forward = c.compile(k.node, false)
		case rounds:
			k.forward = c.compile(k.node, false)
			k.backward = c.compile(k.node, true)
			p.loop = c.compile(&node{kind: kindRepeat, kids: []*node{k.node}, max: unlimited}, true)
		}
		k.build(c)
	}
}
