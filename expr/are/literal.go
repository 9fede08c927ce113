package are

import (
	"regexp/syntax"
	"unicode/utf8"
)

// needed is a text that every match of an expression contains, and how many bytes
// of the match stand before its first occurrence at most (-1: no bound).
type needed struct {
	text   string
	before int
}

// neededLiteral returns the longest text that is known to be in every match of an
// expression, or an empty one.
func neededLiteral(re *syntax.Regexp) needed {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return needed{text: string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return neededLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return neededLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		best, before := needed{}, 0
		for _, sub := range re.Sub {
			if s := neededLiteral(sub); len(s.text) > len(best.text) {
				best = needed{s.text, sumLength(before, s.before)}
			}
			before = sumLength(before, maxLength(sub))
		}
		return best
	}
	return needed{}
}

// maxLength returns how many bytes a match of an expression has at most, or -1.
func maxLength(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return 0
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return utf8.UTFMax * len(re.Rune)
		}
		return len(string(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		return maxLength(re.Sub[0])
	case syntax.OpConcat:
		n := 0
		for _, sub := range re.Sub {
			n = sumLength(n, maxLength(sub))
		}
		return n
	case syntax.OpAlternate:
		n := 0
		for _, sub := range re.Sub {
			k := maxLength(sub)
			if k < 0 {
				return -1
			}
			n = max(n, k)
		}
		return n
	}
	return -1
}

// sumLength adds two lengths of which -1 has no bound.
func sumLength(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
