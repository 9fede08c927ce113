package are

// kind is what a node of a parsed expression is.
type kind uint8

const (
	kindEmpty kind = iota
	kindClass
	kindConcat
	kindEither // alternatives, in order
	kindRepeat
	kindGroup // parentheses; index 0 if they capture nothing
	kindBack  // what group index has matched
	kindAssert
	kindLook // look-around
)

// preference is which of several matches an expression prefers.
type preference uint8

const (
	none preference = iota
	longer
	shorter
)

// unlimited is the maximum of *, + and {m,}.
const unlimited = -1

// assertion is a condition on a place in the text.
type assertion uint8

const (
	textStart assertion = iota
	textEnd
	lineStart
	lineEnd
	wordStart
	wordEnd
	wordEdge
	noWordEdge
)

// node is a parsed expression.
type node struct {
	kind     kind
	class    *class
	kids     []*node
	min, max int        // of kindRepeat
	prefer   preference // of kindRepeat: none for {m}
	index    int        // of kindGroup and kindBack
	assert   assertion
	behind   bool // of kindLook
	negate   bool // of kindLook
}

// walk calls f for n and everything in it.
func (n *node) walk(f func(*node)) {
	f(n)
	for _, k := range n.kids {
		k.walk(f)
	}
}

// any reports whether f holds for n or anything in it.
func (n *node) any(f func(*node) bool) bool {
	found := false
	n.walk(func(k *node) { found = found || f(k) })
	return found
}

// nullable reports whether n may match nothing.
func (n *node) nullable() bool {
	switch n.kind {
	case kindClass:
		return false
	case kindConcat:
		for _, k := range n.kids {
			if !k.nullable() {
				return false
			}
		}
	case kindEither:
		for _, k := range n.kids {
			if k.nullable() {
				return true
			}
		}
		return false
	case kindRepeat:
		return n.min == 0 || n.kids[0].nullable()
	case kindGroup:
		return n.kids[0].nullable()
	}
	return true
}
