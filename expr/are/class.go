package are

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// span is a range of characters, both ends included.
type span struct{ lo, hi rune }

// class is a set of characters: sorted spans that do not touch.
type class struct {
	spans []span
	ascii [2]uint64
}

// newClass takes spans in any order.
func newClass(spans []span) *class {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo) - int(b.lo) })
	c := &class{}
	for _, s := range spans {
		if n := len(c.spans); n > 0 && s.lo <= c.spans[n-1].hi+1 {
			c.spans[n-1].hi = max(c.spans[n-1].hi, s.hi)
			continue
		}
		c.spans = append(c.spans, s)
	}
	for r := range rune(utf8.RuneSelf) {
		if c.search(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

func single(r rune) *class { return newClass([]span{{r, r}}) }

func (c *class) has(r rune) bool {
	if r < utf8.RuneSelf {
		return c.ascii[r>>6]>>(r&63)&1 != 0
	}
	return c.search(r)
}

func (c *class) search(r rune) bool {
	_, found := slices.BinarySearchFunc(c.spans, r, func(s span, r rune) int {
		switch {
		case s.hi < r:
			return -1
		case s.lo > r:
			return 1
		}
		return 0
	})
	return found
}

// negate returns the characters that c lacks.
func (c *class) negate() *class {
	var out []span
	next := rune(0)
	for _, s := range c.spans {
		if s.lo > next {
			out = append(out, span{next, s.lo - 1})
		}
		next = s.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return newClass(out)
}

// without returns c less one character.
func (c *class) without(r rune) *class {
	return newClass(append(c.negate().spans, span{r, r})).negate()
}

func (c *class) overlaps(d *class) bool {
	if c == nil || d == nil {
		return false
	}
	for i, j := 0, 0; i < len(c.spans) && j < len(d.spans); {
		switch a, b := c.spans[i], d.spans[j]; {
		case a.hi < b.lo:
			i++
		case b.hi < a.lo:
			j++
		default:
			return true
		}
	}
	return false
}

// within reports whether all characters of c are in d.
func (c *class) within(d *class) bool { return !c.overlaps(d.negate()) }

// union is the characters of either, of which any may be nil for none.
func union(cs ...*class) *class {
	var all []span
	for _, c := range cs {
		if c != nil {
			all = append(all, c.spans...)
		}
	}
	return newClass(all)
}

// cases returns a span with the other cases of its letters.
func cases(s span) []span {
	out := []span{s}
	for _, r := range unicode.CaseRanges {
		for c := max(s.lo, rune(r.Lo)); c <= min(s.hi, rune(r.Hi)); c++ {
			out = append(out, span{unicode.ToLower(c), unicode.ToLower(c)}, span{unicode.ToUpper(c), unicode.ToUpper(c)})
		}
	}
	return out
}

func tableSpans(tables ...*unicode.RangeTable) []span {
	var out []span
	for _, t := range tables {
		for _, r := range t.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if r.Stride == 1 {
					out = append(out, span{c, rune(r.Hi)})
					break
				}
				out = append(out, span{c, c})
			}
		}
		for _, r := range t.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if r.Stride == 1 {
					out = append(out, span{c, rune(r.Hi)})
					break
				}
				out = append(out, span{c, c})
			}
		}
	}
	return out
}

// named are the classes that [:name:] means.
var named = sync.OnceValue(func() map[string]*class {
	of := func(spans ...span) *class { return newClass(spans) }
	digit := newClass(tableSpans(unicode.Nd))
	alpha := newClass(tableSpans(unicode.L))
	return map[string]*class{
		"alpha":  alpha,
		"digit":  digit,
		"alnum":  union(alpha, digit),
		"word":   union(alpha, digit, single('_')),
		"upper":  newClass(tableSpans(unicode.Lu)),
		"lower":  newClass(tableSpans(unicode.Ll)),
		"space":  of(span{'\t', '\r'}, span{' ', ' '}),
		"blank":  of(span{' ', ' '}, span{'\t', '\t'}),
		"cntrl":  of(span{0, 31}, span{127, 127}),
		"graph":  of(span{33, 126}),
		"print":  of(span{32, 126}),
		"punct":  of(span{33, 47}, span{58, 64}, span{91, 96}, span{123, 126}),
		"xdigit": of(span{'0', '9'}, span{'A', 'F'}, span{'a', 'f'}),
		"ascii":  of(span{0, 127}),
	}
})

// anything is every character.
var anything = sync.OnceValue(func() *class { return newClass([]span{{0, unicode.MaxRune}}) })

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.Nd, r)
}
