package expr

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
)

// regex is a compiled expression that knows a text which every match contains:
// where that is not, there is no match, and looking for it is far cheaper than
// matching.
type regex struct {
	*regexp.Regexp
	need string
}

func newRegex(re *regexp.Regexp, body string) *regex {
	x := &regex{Regexp: re}
	if tree, err := syntax.Parse(body, syntax.Perl); err == nil {
		x.need = neededLiteral(tree)
	}
	return x
}

// neededLiteral returns the longest text that is known to be in every match of an
// expression.
func neededLiteral(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return neededLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return neededLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if s := neededLiteral(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	}
	return ""
}

func (x *regex) Match(b []byte) bool {
	return (x.need == "" || bytes.Contains(b, []byte(x.need))) && x.Regexp.Match(b)
}

func (x *regex) FindStringSubmatchIndex(s string) []int {
	if !strings.Contains(s, x.need) {
		return nil
	}
	return x.Regexp.FindStringSubmatchIndex(s)
}

func (x *regex) FindAllStringSubmatchIndex(s string, n int) [][]int {
	if !strings.Contains(s, x.need) {
		return nil
	}
	return x.Regexp.FindAllStringSubmatchIndex(s, n)
}

func (x *regex) FindAllStringIndex(s string, n int) [][]int {
	if !strings.Contains(s, x.need) {
		return nil
	}
	return x.Regexp.FindAllStringIndex(s, n)
}
