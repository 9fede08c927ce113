package expr

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/streamdb/streamdb/expr/are"
	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
	"github.com/streamdb/streamdb/vec"
)

// regexCache remembers compiled expressions of one kernel, and has its scratch
// memory.
type regexCache struct {
	m              map[string]*are.Regexp
	pattern, flags string // of last
	last           *are.Regexp
	groups         types.ArrayBuilder
}

func (c *regexCache) get(pattern, flags string) (*are.Regexp, error) {
	if c.last != nil && pattern == c.pattern && flags == c.flags {
		return c.last, nil
	}
	re, err := c.lookup(pattern, flags)
	if err == nil {
		c.last, c.pattern, c.flags = re, strings.Clone(pattern), strings.Clone(flags)
	}
	return re, err
}

func (c *regexCache) lookup(pattern, flags string) (*are.Regexp, error) {
	key := flags + "/" + pattern
	if re := c.m[key]; re != nil {
		return re, nil
	}
	re, err := are.Compile(pattern, flags)
	if err != nil {
		return nil, err
	}
	if c.m == nil || len(c.m) >= 64 {
		c.m = map[string]*are.Regexp{}
	}
	c.m[key] = re
	return re, nil
}

// regexCaches are for functions that return sets, which have no kernel to keep one.
var regexCaches = sync.Pool{New: func() any { return &regexCache{} }}

func regexKernel(flags string, negate bool) func() Kernel {
	return func() Kernel {
		cache := &regexCache{}
		return rows(func(r *row) error {
			re, err := cache.get(r.s(1), flags)
			if err != nil {
				return err
			}
			found, err := re.Match(r.s(0))
			if err != nil {
				return err
			}
			return r.putBool(found != negate)
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
	out := []*Func{}
	add := func(name string, ret types.T, f func(r *row, c *regexCache) error, forms ...[]types.T) {
		for _, args := range forms {
			out = append(out, withRegex(name, args, ret, f))
		}
	}
	two, three := ts(tText, tText), ts(tText, tText, tText)
	add("regexp_replace", tText, regexpReplace, three, ts(tText, tText, tText, tText))
	add("regexp_replace", tText, regexpReplaceNth, ts(tText, tText, tText, tI4), ts(tText, tText, tText, tI4, tI4), ts(tText, tText, tText, tI4, tI4, tText))
	add("regexp_match", tTextArray, regexpMatch, two, three)
	add("regexp_split_to_array", tTextArray, regexpSplit, two, three)
	add("regexp_like", types.TBool, regexpLike, two, three)
	add("regexp_count", tI4, regexpCount, two, ts(tText, tText, tI4), ts(tText, tText, tI4, tText))
	add("substring", tText, regexpFirst, two)
	add("substring", tText, substringSimilar, three)
	add("regexp_substr", tText, regexpSubstr, two, ts(tText, tText, tI4), ts(tText, tText, tI4, tI4), ts(tText, tText, tI4, tI4, tText),
		ts(tText, tText, tI4, tI4, tText, tI4))
	add("regexp_instr", tI4, regexpInstr, two, ts(tText, tText, tI4), ts(tText, tText, tI4, tI4), ts(tText, tText, tI4, tI4, tI4),
		ts(tText, tText, tI4, tI4, tI4, tText), ts(tText, tText, tI4, tI4, tI4, tText, tI4))
	for _, f := range []struct {
		name string
		ret  types.T
		eval SetKernel
	}{{"regexp_matches", tTextArray, regexpMatches}, {"regexp_split_to_table", tText, regexpSplitTable}} {
		for _, args := range [][]types.T{two, three} {
			out = append(out, &Func{Name: f.name, Args: args, Ret: f.ret, Set: true, MayFail: true, EvalSet: f.eval})
		}
	}
	return out
}

// regexArgs compiles argument 1 with the flags in argument k; g is taken out.
func regexArgs(r *row, c *regexCache, k int) (re *are.Regexp, global bool, err error) {
	flags := r.argOr(k, "")
	if strings.Contains(flags, "g") {
		global = true
		flags = strings.ReplaceAll(flags, "g", "")
	}
	re, err = c.get(r.s(1), flags)
	return re, global, err
}

// noGlobal is regexArgs for functions that have no use for the flag g.
func noGlobal(r *row, c *regexCache, k int, name string) (*are.Regexp, error) {
	if strings.Contains(r.argOr(k, ""), "g") {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%s does not support the \"global\" option", name)
	}
	re, _, err := regexArgs(r, c, k)
	return re, err
}

func regexpReplace(r *row, c *regexCache) error {
	if f := r.argOr(3, ""); f != "" && isDigit(f[0]) {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%c\"", f[0]).
			WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.")
	}
	re, global, err := regexArgs(r, c, 3)
	if err != nil {
		return err
	}
	n := 1
	if global {
		n = -1
	}
	return putReplaced(r, re, 0, n, 0)
}

// regexpReplaceNth replaces the nth match behind a start, or all for n = 0.
func regexpReplaceNth(r *row, c *regexCache) error {
	n := r.intOr(4, 1)
	if len(r.args) == 4 {
		n = 1
	}
	from, err := start(r, 3)
	if err != nil {
		return err
	}
	if n < 0 {
		return errParameter("n", n)
	}
	re, global, err := regexArgs(r, c, 5)
	if err != nil {
		return err
	}
	if len(r.args) < 5 && global {
		n = 0
	}
	if behind(r, 3) {
		return r.putB(r.b(0))
	}
	limit := n
	if n == 0 {
		limit = -1
	}
	return putReplaced(r, re, from, limit, n)
}

func errParameter(name string, v int) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, v)
}

// putReplaced ends with the string with up to n matches from an offset on replaced
// (all: -1), or with the match number only alone, if that is not 0.
func putReplaced(r *row, re *are.Regexp, from, n, only int) error {
	s, repl := r.s(0), r.s(2)
	matches, err := re.FindAll(s, from, n)
	if err != nil {
		return err
	}
	var out []byte
	last := 0
	for i, m := range matches {
		if only > 0 && i+1 != only {
			continue
		}
		out = append(out, s[last:m[0]]...)
		out = expand(out, repl, s, m)
		last = m[1]
	}
	return r.putB(append(out, s[last:]...))
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

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// addGroups makes b the groups of a match in s, or the match if it has none.
func addGroups(b *types.ArrayBuilder, s string, m []int) {
	b.Reset()
	if len(m) == 2 {
		b.AddString(s[m[0]:m[1]])
	}
	for k := 2; k < len(m); k += 2 {
		if m[k] < 0 {
			b.AddNull()
		} else {
			b.AddString(s[m[k]:m[k+1]])
		}
	}
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
	m, err := re.Find(r.s(0), 0)
	if err != nil {
		return err
	}
	if m == nil {
		return r.null()
	}
	addGroups(&c.groups, r.s(0), m)
	d := r.dst.(*vec.Bytes)
	d.Data = c.groups.Append(d.Data)
	d.Finish()
	return nil
}

// splitRegex returns what is between matches. Empty ones at the ends of the string
// and right behind another match do not count.
func splitRegex(re *are.Regexp, s string) ([]types.Datum, error) {
	matches, err := re.FindAll(s, 0, -1)
	if err != nil {
		return nil, err
	}
	var out []types.Datum
	last, seen := 0, 0
	for _, m := range matches {
		if m[0] < len(s) && m[1] > seen {
			out = append(out, s[last:m[0]])
			last = m[1]
		}
		seen = m[1]
	}
	return append(out, s[last:]), nil
}

func regexpSplit(r *row, c *regexCache) error {
	re, err := noGlobal(r, c, 2, "regexp_split_to_array()")
	if err != nil {
		return err
	}
	parts, err := splitRegex(re, r.s(0))
	if err != nil {
		return err
	}
	return r.put(types.ArrayDatum(parts))
}

func regexpLike(r *row, c *regexCache) error {
	re, err := noGlobal(r, c, 2, "regexp_like()")
	if err != nil {
		return err
	}
	found, err := re.Match(r.s(0))
	if err != nil {
		return err
	}
	return r.putBool(found)
}

func regexpFirst(r *row, c *regexCache) error {
	re, err := c.get(r.s(1), "")
	if err != nil {
		return err
	}
	return putFirst(r, re)
}

// putFirst ends with the first subexpression of the first match, or the match.
func putFirst(r *row, re *are.Regexp) error {
	m, err := re.Find(r.s(0), 0)
	switch {
	case err != nil:
		return err
	case m == nil:
		return r.null()
	case len(m) == 2:
		return r.putS(r.s(0)[m[0]:m[1]])
	case m[2] < 0:
		return r.null()
	}
	return r.putS(r.s(0)[m[2]:m[3]])
}

// start returns the offset of the 1-based start in argument k.
func start(r *row, k int) (int, error) {
	n := r.intOr(k, 1)
	if n <= 0 {
		return 0, errParameter("start", n)
	}
	return runeOffset(r.s(0), n-1), nil
}

// behind reports whether the start in argument k lies behind the string's end,
// where not even an empty match is.
func behind(r *row, k int) bool {
	n := r.intOr(k, 1)
	return n > len(r.b(0))+1 || n > utf8.RuneCount(r.b(0))+1
}

func regexpCount(r *row, c *regexCache) error {
	from, err := start(r, 2)
	if err != nil {
		return err
	}
	re, err := noGlobal(r, c, 3, "regexp_count()")
	if err != nil {
		return err
	}
	if behind(r, 2) {
		return r.putI4(0)
	}
	matches, err := re.FindAll(r.s(0), from, -1)
	if err != nil {
		return err
	}
	return r.putI4(len(matches))
}

// nthMatch finds the match that the start in argument 2 and the number in
// argument 3 name, and returns where in it the subexpression in argument sub is (nil
// if there is none). end, the argument of regexp_instr, is checked in its turn.
func nthMatch(r *row, c *regexCache, name string, end, flags, sub int) ([]int, error) {
	from, err := start(r, 2)
	if err != nil {
		return nil, err
	}
	n, k := r.intOr(3, 1), r.intOr(sub, 0)
	switch {
	case n <= 0:
		err = errParameter("n", n)
	case end > 0 && r.intOr(end, 0)&^1 != 0:
		err = errParameter("endoption", r.intOr(end, 0))
	case k < 0:
		err = errParameter("subexpr", k)
	}
	if err != nil {
		return nil, err
	}
	re, err := noGlobal(r, c, flags, name)
	if err != nil || behind(r, 2) {
		return nil, err
	}
	all, err := re.FindAll(r.s(0), from, n)
	if err != nil || len(all) < n || 2*k >= len(all[n-1]) || all[n-1][2*k] < 0 {
		return nil, err
	}
	return all[n-1][2*k : 2*k+2], nil
}

func regexpSubstr(r *row, c *regexCache) error {
	m, err := nthMatch(r, c, "regexp_substr()", 0, 4, 5)
	if err != nil {
		return err
	}
	if m == nil {
		return r.null()
	}
	return r.putS(r.s(0)[m[0]:m[1]])
}

func regexpInstr(r *row, c *regexCache) error {
	m, err := nthMatch(r, c, "regexp_instr()", 4, 5, 6)
	if err != nil {
		return err
	}
	if m == nil {
		return r.putI4(0)
	}
	return r.putI4(utf8.RuneCountInString(r.s(0)[:m[r.intOr(4, 0)]]) + 1)
}

// substringSimilar is substring(s SIMILAR p ESCAPE e): what stands between the
// two escaped quotes of the pattern.
func substringSimilar(r *row, c *regexCache) error {
	pattern, err := similarRegex(r.s(1), r.s(2), true)
	if err != nil {
		return err
	}
	re, err := c.get(pattern, "")
	if err != nil {
		return err
	}
	return putFirst(r, re)
}

func regexpMatches(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
	r := row{c: c, args: args, i: i}
	cache := regexCaches.Get().(*regexCache)
	defer regexCaches.Put(cache)
	re, global, err := regexArgs(&r, cache, 2)
	if err != nil {
		return err
	}
	n := 1
	if global {
		n = -1
	}
	matches, err := re.FindAll(r.s(0), 0, n)
	if err != nil {
		return err
	}
	var b types.ArrayBuilder
	for _, m := range matches {
		addGroups(&b, r.s(0), m)
		dst[0].AppendDatum(string(b.Append(nil)))
	}
	return nil
}

func regexpSplitTable(c *Ctx, dst []vec.Vector, args []vec.Vector, i int) error {
	r := row{c: c, args: args, i: i}
	cache := regexCaches.Get().(*regexCache)
	defer regexCaches.Put(cache)
	re, err := noGlobal(&r, cache, 2, "regexp_split_to_table()")
	if err != nil {
		return err
	}
	parts, err := splitRegex(re, r.s(0))
	if err != nil {
		return err
	}
	for _, d := range parts {
		dst[0].AppendDatum(d)
	}
	return nil
}
