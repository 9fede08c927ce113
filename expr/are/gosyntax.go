package are

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// goSyntax writes an expression for the standard library. ok is false where that
// has nothing like it: its language must be the same, and with it where the
// leftmost match begins and where the longest of these ends.
func goSyntax(n *node) (text string, ok bool) {
	w := goWriter{ok: true}
	w.node(n, nil)
	return w.out.String(), w.ok
}

type goWriter struct {
	out strings.Builder
	ok  bool
}

// node writes n, behind which next follows at once (nil: unknown).
func (w *goWriter) node(n, next *node) {
	switch n.kind {
	case kindEmpty:
		w.out.WriteString("(?:)")
	case kindClass:
		w.class(n.class)
	case kindConcat:
		for i, k := range n.kids {
			after := next
			if i+1 < len(n.kids) {
				after = n.kids[i+1]
			}
			if k.kind == kindEither {
				w.out.WriteString("(?:")
			}
			w.node(k, after)
			if k.kind == kindEither {
				w.out.WriteByte(')')
			}
		}
		if len(n.kids) == 0 {
			w.out.WriteString("(?:)")
		}
	case kindEither:
		for i, k := range n.kids {
			if i > 0 {
				w.out.WriteByte('|')
			}
			w.node(k, next)
		}
	case kindRepeat:
		w.repeat(n)
	case kindGroup:
		if n.index > 0 {
			w.out.WriteByte('(')
		} else {
			w.out.WriteString("(?:")
		}
		w.node(n.kids[0], next)
		w.out.WriteByte(')')
	case kindAssert:
		w.assertion(n.assert, next)
	default:
		w.ok = false
	}
}

func (w *goWriter) repeat(n *node) {
	kid := n.kids[0]
	if kid.kind == kindGroup {
		w.node(kid, nil)
	} else {
		w.out.WriteString("(?:")
		w.node(kid, nil)
		w.out.WriteByte(')')
	}
	switch {
	case n.min == 0 && n.max == unlimited:
		w.out.WriteByte('*')
	case n.min == 1 && n.max == unlimited:
		w.out.WriteByte('+')
	case n.min == 0 && n.max == 1:
		w.out.WriteByte('?')
	case n.max == unlimited:
		fmt.Fprintf(&w.out, "{%d,}", n.min)
	default:
		fmt.Fprintf(&w.out, "{%d,%d}", n.min, n.max)
	}
}

// assertion writes a condition on the place. Edges of words are those of ASCII
// there, so that texts with other letters are not matched by it (see Regexp).
func (w *goWriter) assertion(a assertion, next *node) {
	switch a {
	case textStart:
		w.out.WriteString(`\A`)
	case textEnd:
		w.out.WriteString(`\z`)
	case lineStart:
		w.out.WriteString(`(?m:^)`)
	case lineEnd:
		w.out.WriteString(`(?m:$)`)
	case wordEdge:
		w.out.WriteString(`\b`)
	case noWordEdge:
		w.out.WriteString(`\B`)
	case wordStart:
		w.out.WriteString(`\b`)
		w.ok = w.ok && beginsWord(next)
	default:
		w.ok = false
	}
}

// beginsWord reports whether every match of n begins with a letter, digit or _.
func beginsWord(n *node) bool {
	if n == nil {
		return false
	}
	switch n.kind {
	case kindClass:
		return n.class.within(named()["word"])
	case kindConcat:
		return len(n.kids) > 0 && beginsWord(n.kids[0])
	case kindEither:
		for _, k := range n.kids {
			if !beginsWord(k) {
				return false
			}
		}
		return true
	case kindRepeat:
		return n.min > 0 && beginsWord(n.kids[0])
	case kindGroup:
		return beginsWord(n.kids[0])
	}
	return false
}

func (w *goWriter) class(c *class) {
	switch {
	case len(c.spans) == 0:
		w.out.WriteString(`[^\x00-\x{10FFFF}]`)
	case len(c.spans) == 1 && c.spans[0].lo == c.spans[0].hi:
		w.out.WriteString(regexp.QuoteMeta(string(c.spans[0].lo)))
	case c.spans[0].lo == 0 && c.spans[len(c.spans)-1].hi == unicode.MaxRune && len(c.spans) > 1:
		w.out.WriteString("[^")
		w.spans(c.negate())
	case len(c.spans) == 1 && c.spans[0] == span{0, unicode.MaxRune}:
		w.out.WriteString("(?s:.)")
	default:
		w.out.WriteByte('[')
		w.spans(c)
	}
}

func (w *goWriter) spans(c *class) {
	for _, s := range c.spans {
		fmt.Fprintf(&w.out, `\x{%X}`, s.lo)
		if s.hi > s.lo {
			fmt.Fprintf(&w.out, `-\x{%X}`, s.hi)
		}
	}
	w.out.WriteByte(']')
}
