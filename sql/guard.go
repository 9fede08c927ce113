package sql

import "github.com/streamdb/streamdb/pgerr"

// The bounds of the guard. PostgreSQL's grammar builds left-deep chains
// (a+b+c..., UNION ... UNION) without recursion, but the C code that writes the
// tree out recurses, and at some 20,000 levels it overruns an 8 MiB stack, which
// ends the process. The bounds leave a wide margin. AND, OR and lists do not
// nest, so they are unbounded.
const (
	maxChainTokens = 8000  // tokens of one operator chain with the chains inside it
	maxTreeArms    = 2000  // set operations and joins of a statement
	maxBrackets    = 10000 // nested brackets; the grammar's own stack holds fewer
)

// chainLevel counts what stands directly inside one bracket or CASE.
type chainLevel struct {
	run     int // tokens since the last separator
	longest int // the longest run so far
	arms    int
	between int // BETWEENs whose AND has not come yet
	isCase  bool
}

// guard refuses statements whose tree would be too deep. It must run before any
// call of the grammar. Inner chains count in the outer one, since (a+b+c)+d is
// as deep as both together.
func guard(text string, t []token) *pgerr.Error {
	stack := make([]chainLevel, 1, 16)
	for i := range t {
		l := &stack[len(stack)-1]
		switch guardClass(t, i) {
		case guardOpen:
			l.run++
			l.longest = max(l.longest, l.run)
			stack = append(stack, chainLevel{isCase: t[i].kind == tokWord})
		case guardClose:
			stack = closeLevel(stack, t[i].kind == tokWord)
		case guardAnd:
			if l.between > 0 {
				l.between--
				l.run++
			} else {
				l.run = 0
			}
		case guardBetween:
			l.between++
			l.run++
		case guardReset:
			l.run = 0
		case guardArm:
			l.arms++
		default:
			l.run++
		}
		l = &stack[len(stack)-1]
		l.longest = max(l.longest, l.run)
		if l.longest > maxChainTokens || l.arms > maxTreeArms || len(stack) > maxBrackets {
			return tooComplex().At(PosToChar(text, t[i].start))
		}
	}
	return nil
}

func tooComplex() *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "statement is too deeply nested").
		WithHint("Use lists (IN, VALUES, arrays) in place of long operator chains.")
}

// closeLevel leaves the innermost bracket, and the CASEs left open inside it; or
// with isCase the innermost level if it is a CASE.
func closeLevel(stack []chainLevel, isCase bool) []chainLevel {
	if isCase && !stack[len(stack)-1].isCase {
		stack[len(stack)-1].run++
		return stack
	}
	for len(stack) > 1 {
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		outer := &stack[len(stack)-1]
		outer.run += c.longest
		outer.arms += c.arms
		if isCase || !c.isCase {
			break
		}
	}
	return stack
}

type guardKind uint8

const (
	guardPlain guardKind = iota
	guardOpen
	guardClose
	guardAnd
	guardBetween
	guardReset
	guardArm
)

// guardClass says what token i means to the guard. A word behind a dot is a
// name, whatever it spells.
func guardClass(t []token, i int) guardKind {
	k := &t[i]
	if k.kind == tokOp {
		switch k.val {
		case "(", "[":
			return guardOpen
		case ")", "]":
			return guardClose
		case ",":
			return guardReset
		}
		return guardPlain
	}
	if k.kind != tokWord || isOp(t, i-1, ".") {
		return guardPlain
	}
	switch k.val {
	case "case":
		return guardOpen
	case "end":
		return guardClose
	case "and":
		return guardAnd
	case "between":
		return guardBetween
	case "or", "select", "where", "when", "then":
		return guardReset
	case "from":
		if !isWord(t, i-1, "distinct") {
			return guardReset
		}
	case "union", "except", "intersect", "join":
		return guardArm
	}
	return guardPlain
}
