package expr

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

var errEscapeEnd = pgerr.New(pgerr.InvalidEscapeSequence, "LIKE pattern must not end with escape character")

// likePattern is a compiled LIKE pattern. Patterns of the forms x, x%, %x and
// %x% are matched without interpretation.
type likePattern struct {
	kind likeKind
	text string
	src  string
	fold bool
}

type likeKind uint8

const (
	likeGeneral likeKind = iota
	likeEqual
	likePrefix
	likeSuffix
	likeContains
)

func compileLike(p string, fold bool) (likePattern, error) {
	if fold {
		p = strings.ToLower(p)
	}
	l := likePattern{src: p, fold: fold}
	var text []byte
	wild, seen, plain := false, 0, true
	lead := false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '\\':
			if i++; i == len(p) {
				return l, errEscapeEnd
			}
			plain = plain && !wild
			text = append(text, p[i])
		case '_':
			plain = false
		case '%':
			if len(text) == 0 && seen == 0 {
				lead = true
			} else {
				wild = true
			}
			seen++
		default:
			plain = plain && !wild
			text = append(text, c)
		}
	}
	if !plain {
		return l, nil
	}
	l.text = string(text)
	switch {
	case lead && wild:
		l.kind = likeContains
	case lead:
		l.kind = likeSuffix
	case wild:
		l.kind = likePrefix
	default:
		l.kind = likeEqual
	}
	return l, nil
}

func (l *likePattern) match(s string) bool {
	if l.fold {
		s = strings.ToLower(s)
	}
	switch l.kind {
	case likeEqual:
		return s == l.text
	case likePrefix:
		return strings.HasPrefix(s, l.text)
	case likeSuffix:
		return strings.HasSuffix(s, l.text)
	case likeContains:
		return strings.Contains(s, l.text)
	}
	return matchLike(s, l.src)
}

// matchLike matches by greedy segments with one point of return, which is
// linear in practice.
func matchLike(s, p string) bool {
	i, j, star, mark := 0, 0, -1, 0
	for i < len(s) {
		if j < len(p) {
			switch p[j] {
			case '%':
				star, mark = j, i
				j++
				continue
			case '_':
				_, n := utf8.DecodeRuneInString(s[i:])
				i += n
				j++
				continue
			case '\\':
				if j+1 < len(p) && p[j+1] == s[i] {
					i++
					j += 2
					continue
				}
			default:
				if p[j] == s[i] {
					i++
					j++
					continue
				}
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[mark:])
		mark += n
		i, j = mark, star+1
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p)
}

// likeKernel makes a kernel that remembers the last pattern.
func likeKernel(fold, negate bool) func() Kernel {
	return func() Kernel {
		var last string
		var pat likePattern
		ready := false
		return rows(func(r *row) error {
			if p := r.s(1); !ready || p != last {
				c, err := compileLike(strings.Clone(p), fold)
				if err != nil {
					return err
				}
				last, pat, ready = strings.Clone(p), c, true
			}
			return r.putBool(pat.match(r.s(0)) != negate)
		})
	}
}

func patternOps() []*Func {
	out := []*Func{}
	op := func(name string, k func() Kernel) {
		for _, t := range ts(tText, types.TName, types.TBpchar) {
			out = append(out, &Func{Name: name, Args: ts(t, tText), Ret: types.TBool, MayFail: true, New: k})
		}
	}
	op("~~", likeKernel(false, false))
	op("!~~", likeKernel(false, true))
	op("~~*", likeKernel(true, false))
	op("!~~*", likeKernel(true, true))
	op("~", regexKernel("", false))
	op("!~", regexKernel("", true))
	op("~*", regexKernel("i", false))
	op("!~*", regexKernel("i", true))
	out = append(out, safe(fn("^@", ts(tText, tText), types.TBool, func(r *row) error { return r.putBool(strings.HasPrefix(r.s(0), r.s(1))) })))
	return out
}

// regexCache remembers compiled expressions of one kernel.
type regexCache struct {
	m              map[string]*regexp.Regexp
	pattern, flags string // of last
	last           *regexp.Regexp
}

func (c *regexCache) get(pattern, flags string) (*regexp.Regexp, error) {
	if c.last != nil && pattern == c.pattern && flags == c.flags {
		return c.last, nil
	}
	re, err := c.lookup(pattern, flags)
	if err == nil {
		c.last, c.pattern, c.flags = re, strings.Clone(pattern), strings.Clone(flags)
	}
	return re, err
}

func (c *regexCache) lookup(pattern, flags string) (*regexp.Regexp, error) {
	key := flags + "/" + pattern
	if re := c.m[key]; re != nil {
		return re, nil
	}
	re, err := compileRegex(pattern, flags)
	if err != nil {
		return nil, err
	}
	if c.m == nil || len(c.m) >= 64 {
		c.m = map[string]*regexp.Regexp{}
	}
	c.m[key] = re
	return re, nil
}

func regexKernel(flags string, negate bool) func() Kernel {
	return func() Kernel {
		cache := &regexCache{}
		return rows(func(r *row) error {
			re, err := cache.get(r.s(1), flags)
			if err != nil {
				return err
			}
			return r.putBool(re.Match(r.b(0)) != negate)
		})
	}
}

// withRegex makes a function whose kernel has a cache of expressions.
func withRegex(name string, args []types.T, ret types.T, f func(r *row, c *regexCache) error) *Func {
	return &Func{Name: name, Args: args, Ret: ret, MayFail: true, New: func() Kernel {
		cache := &regexCache{}
		return rows(func(r *row) error { return f(r, cache) })
	}}
}

// argOr returns text argument k, or def when the call has fewer.
func (r *row) argOr(k int, def string) string {
	if k < len(r.args) {
		return r.s(k)
	}
	return def
}

func (r *row) intOr(k, def int) int {
	if k < len(r.args) {
		return r.i4(k)
	}
	return def
}

func regexFuncs() []*Func {
	out := []*Func{
		withRegex("regexp_replace", ts(tText, tText, tText), tText, regexpReplace),
		withRegex("regexp_replace", ts(tText, tText, tText, tText), tText, regexpReplace),
		withRegex("regexp_match", ts(tText, tText), types.ArrayOf(types.Text), regexpMatch),
		withRegex("regexp_match", ts(tText, tText, tText), types.ArrayOf(types.Text), regexpMatch),
		withRegex("regexp_split_to_array", ts(tText, tText), types.ArrayOf(types.Text), regexpSplit),
		withRegex("regexp_split_to_array", ts(tText, tText, tText), types.ArrayOf(types.Text), regexpSplit),
		withRegex("regexp_like", ts(tText, tText), types.TBool, regexpLike),
		withRegex("regexp_like", ts(tText, tText, tText), types.TBool, regexpLike),
		withRegex("regexp_count", ts(tText, tText), tI4, regexpCount),
		withRegex("regexp_count", ts(tText, tText, tI4), tI4, regexpCount),
		withRegex("regexp_count", ts(tText, tText, tI4, tText), tI4, regexpCount),
		withRegex("substring", ts(tText, tText), tText, regexpFirst),
		withRegex("substring", ts(tText, tText, tText), tText, substringSimilar),
		withRegex("regexp_substr", ts(tText, tText), tText, regexpSubstr),
		withRegex("regexp_substr", ts(tText, tText, tI4), tText, regexpSubstr),
		withRegex("regexp_substr", ts(tText, tText, tI4, tI4), tText, regexpSubstr),
		withRegex("regexp_instr", ts(tText, tText), tI4, regexpInstr),
		withRegex("regexp_instr", ts(tText, tText, tI4), tI4, regexpInstr),
		withRegex("regexp_instr", ts(tText, tText, tI4, tI4), tI4, regexpInstr),
		fn("similar_to_escape", ts(tText), tText, func(r *row) error { return putSimilar(r, `\`) }),
		fn("similar_to_escape", ts(tText, tText), tText, func(r *row) error { return putSimilar(r, r.s(1)) }),
		fn("like_escape", ts(tText, tText), tText, likeEscape),
		{Name: "regexp_matches", Args: ts(tText, tText), Ret: types.ArrayOf(types.Text), Set: true, MayFail: true, EvalSet: regexpMatches},
		{Name: "regexp_matches", Args: ts(tText, tText, tText), Ret: types.ArrayOf(types.Text), Set: true, MayFail: true, EvalSet: regexpMatches},
		{Name: "regexp_split_to_table", Args: ts(tText, tText), Ret: tText, Set: true, MayFail: true, EvalSet: regexpSplitTable},
		{Name: "regexp_split_to_table", Args: ts(tText, tText, tText), Ret: tText, Set: true, MayFail: true, EvalSet: regexpSplitTable},
	}
	for name, op := range map[string]func() Kernel{"like": likeKernel(false, false), "notlike": likeKernel(false, true)} {
		out = append(out, &Func{Name: name, Args: ts(tText, tText), Ret: types.TBool, MayFail: true, New: op})
	}
	return out
}

// regexArgs compiles argument 1 with the flags in argument k; g is taken out.
func regexArgs(r *row, c *regexCache, k int) (re *regexp.Regexp, global bool, err error) {
	flags := r.argOr(k, "")
	if strings.Contains(flags, "g") {
		global = true
		flags = strings.ReplaceAll(flags, "g", "")
	}
	re, err = c.get(r.s(1), flags)
	return re, global, err
}

func regexpReplace(r *row, c *regexCache) error {
	re, global, err := regexArgs(r, c, 3)
	if err != nil {
		return err
	}
	s, repl := r.s(0), r.s(2)
	var out []byte
	last := 0
	n := 1
	if global {
		n = -1
	}
	for _, m := range findAll(re, s, n) {
		out = append(out, s[last:m[0]]...)
		out = expand(out, repl, s, m)
		last = m[1]
	}
	return r.putB(append(out, s[last:]...))
}

// findAll finds up to n matches (all if n is negative). Go passes over an empty
// match right behind another match, which PostgreSQL counts; it is put in where
// the expression does not depend on what stands before.
func findAll(re *regexp.Regexp, s string, n int) [][]int {
	found := re.FindAllStringSubmatchIndex(s, n)
	if n == 1 || !re.MatchString("") || strings.ContainsAny(re.String(), "^\\") {
		return found
	}
	var out [][]int
	for i, m := range found {
		out = append(out, m)
		if m[0] == m[1] || i+1 < len(found) && found[i+1][0] == m[1] {
			continue
		}
		if e := re.FindStringSubmatchIndex(s[m[1]:]); e != nil && e[0] == 0 && e[1] == 0 {
			for k := range e {
				if e[k] >= 0 {
					e[k] += m[1]
				}
			}
			out = append(out, e)
		}
	}
	if n >= 0 && len(out) > n {
		out = out[:n]
	}
	return out
}

// expand appends a replacement with \1..\9, \& and \\ put in.
func expand(out []byte, repl, s string, m []int) []byte {
	for i := 0; i < len(repl); i++ {
		if repl[i] != '\\' || i+1 == len(repl) {
			out = append(out, repl[i])
			continue
		}
		i++
		k := -1
		switch c := repl[i]; {
		case c == '&':
			k = 0
		case c >= '1' && c <= '9':
			k = int(c - '0')
		case c == '\\':
			out = append(out, '\\')
			continue
		default:
			out = append(out, '\\', c)
			continue
		}
		if 2*k+1 < len(m) && m[2*k] >= 0 {
			out = append(out, s[m[2*k]:m[2*k+1]]...)
		}
	}
	return out
}

func groups(s string, m []int) types.Datum {
	if len(m) == 2 {
		return types.ArrayDatum([]types.Datum{s[m[0]:m[1]]})
	}
	var out []types.Datum
	for k := 2; k < len(m); k += 2 {
		if m[k] < 0 {
			out = append(out, nil)
		} else {
			out = append(out, s[m[k]:m[k+1]])
		}
	}
	return types.ArrayDatum(out)
}

func regexpMatch(r *row, c *regexCache) error {
	re, global, err := regexArgs(r, c, 2)
	if err != nil {
		return err
	}
	if global {
		return pgerr.New(pgerr.InvalidParameterValue, "regexp_match() does not support the \"global\" option").
			WithHint("Use the regexp_matches function instead.")
	}
	m := re.FindStringSubmatchIndex(r.s(0))
	if m == nil {
		return r.null()
	}
	return r.put(groups(r.s(0), m))
}

func splitRegex(re *regexp.Regexp, s string) []types.Datum {
	var out []types.Datum
	last := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		if m[1] == m[0] && (m[0] == 0 && m[1] == 0 || m[0] >= len(s)) {
			continue
		}
		out = append(out, s[last:m[0]])
		last = m[1]
	}
	return append(out, s[last:])
}

func regexpSplit(r *row, c *regexCache) error {
	re, _, err := regexArgs(r, c, 2)
	if err != nil {
		return err
	}
	return r.put(types.ArrayDatum(splitRegex(re, r.s(0))))
}

func regexpLike(r *row, c *regexCache) error {
	re, _, err := regexArgs(r, c, 2)
	if err != nil {
		return err
	}
	return r.putBool(re.Match(r.b(0)))
}

func regexpFirst(r *row, c *regexCache) error { return putFirst(r, c, r.s(1)) }

// substringSimilar is substring(text SIMILAR pattern ESCAPE escape).
func substringSimilar(r *row, c *regexCache) error {
	pattern, err := similarRegex(r.s(1), r.s(2), true)
	if err != nil {
		return err
	}
	return putFirst(r, c, pattern)
}

// putFirst puts the first match of the pattern in argument 0, or its first group.
func putFirst(r *row, c *regexCache, pattern string) error {
	re, err := c.get(pattern, "")
	if err != nil {
		return err
	}
	m := re.FindStringSubmatchIndex(r.s(0))
	switch {
	case m == nil:
		return r.null()
	case len(m) == 2:
		return r.putS(r.s(0)[m[0]:m[1]])
	case m[2] < 0:
		return r.null()
	}
	return r.putS(r.s(0)[m[2]:m[3]])
}

// fromStart cuts the string at the 1-based start in argument k.
func fromStart(r *row, k int) (string, int, error) {
	n := r.intOr(k, 1)
	if n <= 0 {
		return "", 0, pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", "start", n)
	}
	return r.s(0)[runeOffset(r.s(0), n-1):], n - 1, nil
}

func regexpCount(r *row, c *regexCache) error {
	re, err := c.get(r.s(1), r.argOr(3, ""))
	if err != nil {
		return err
	}
	s, _, err := fromStart(r, 2)
	if err != nil {
		return err
	}
	return r.putI4(len(findAll(re, s, -1)))
}

func nthMatch(r *row, c *regexCache) (s string, skipped int, m []int, err error) {
	re, err := c.get(r.s(1), "")
	if err != nil {
		return "", 0, nil, err
	}
	if s, skipped, err = fromStart(r, 2); err != nil {
		return "", 0, nil, err
	}
	n := r.intOr(3, 1)
	if n <= 0 {
		return "", 0, nil, pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", "n", n)
	}
	all := findAll(re, s, n)
	if len(all) < n {
		return s, skipped, nil, nil
	}
	return s, skipped, all[n-1], nil
}

func regexpSubstr(r *row, c *regexCache) error {
	s, _, m, err := nthMatch(r, c)
	if err != nil {
		return err
	}
	if m == nil {
		return r.null()
	}
	return r.putS(s[m[0]:m[1]])
}

func regexpInstr(r *row, c *regexCache) error {
	s, skipped, m, err := nthMatch(r, c)
	if err != nil {
		return err
	}
	if m == nil {
		return r.putI4(0)
	}
	return r.putI4(skipped + utf8.RuneCountInString(s[:m[0]]) + 1)
}

func regexpMatches(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
	r := row{c: c, args: args, i: i}
	re, global, err := regexArgs(&r, &regexCache{}, 2)
	if err != nil {
		return err
	}
	n := 1
	if global {
		n = -1
	}
	for _, m := range findAll(re, r.s(0), n) {
		dst[0].AppendDatum(groups(r.s(0), m))
	}
	return nil
}

func regexpSplitTable(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
	r := row{c: c, args: args, i: i}
	re, _, err := regexArgs(&r, &regexCache{}, 2)
	if err != nil {
		return err
	}
	for _, d := range splitRegex(re, r.s(0)) {
		dst[0].AppendDatum(d)
	}
	return nil
}

// likeEscape rewrites a LIKE pattern with its own escape to one with backslash.
func likeEscape(r *row) error {
	p, e := r.s(0), r.s(1)
	if utf8.RuneCountInString(e) > 1 {
		return pgerr.New(pgerr.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	if e == `\` {
		return r.putS(p)
	}
	var out strings.Builder
	for i := 0; i < len(p); {
		switch {
		case e != "" && strings.HasPrefix(p[i:], e):
			i += len(e)
			if i < len(p) {
				_, n := utf8.DecodeRuneInString(p[i:])
				out.WriteString(`\` + p[i:i+n])
				i += n
			} else {
				out.WriteString(`\`)
			}
		case p[i] == '\\':
			out.WriteString(`\\`)
			i++
		default:
			out.WriteByte(p[i])
			i++
		}
	}
	return r.putS(out.String())
}
