package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/streamdb/streamdb/pgerr"
	"github.com/streamdb/streamdb/types"
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

func validLike(p string) error {
	_, err := compileLike(p, false)
	return err
}

func validRegex(flags string) func(string) error {
	return func(p string) error {
		_, err := (&regexCache{}).get(p, flags)
		return err
	}
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
	op := func(name string, k func() Kernel, valid func(string) error) {
		for _, t := range ts(tText, types.TName, types.TBpchar) {
			out = append(out, &Func{Name: name, Args: ts(t, tText), Ret: types.TBool, MayFail: true, Pattern: valid, New: k})
		}
	}
	op("~~", likeKernel(false, false), validLike)
	op("!~~", likeKernel(false, true), validLike)
	op("~~*", likeKernel(true, false), validLike)
	op("!~~*", likeKernel(true, true), validLike)
	op("~", regexKernel("", false), validRegex(""))
	op("!~", regexKernel("", true), validRegex(""))
	op("~*", regexKernel("i", false), validRegex("i"))
	op("!~*", regexKernel("i", true), validRegex("i"))
	out = append(append(out, byteaLike([]string{"~~"}, false)...), byteaLike([]string{"!~~"}, true)...)
	out = append(out, safe(fn("^@", ts(tText, tText), types.TBool, func(r *row) error { return r.putBool(strings.HasPrefix(r.s(0), r.s(1))) })))
	return out
}

// likeFuncs are the functions that stand behind LIKE.
func likeFuncs() []*Func {
	out := []*Func{
		fn("similar_to_escape", ts(tText), tText, func(r *row) error { return putSimilar(r, `\`) }),
		fn("similar_to_escape", ts(tText, tText), tText, func(r *row) error { return putSimilar(r, r.s(1)) }),
		fnNulls("similar_escape", ts(tText, tText), tText, func(r *row) error {
			switch {
			case r.isNull(0):
				return r.null()
			case r.isNull(1):
				return putSimilar(r, `\`)
			}
			return putSimilar(r, r.s(1))
		}),
		fn("like_escape", ts(tText, tText), tText, likeEscape),
	}
	for name, op := range map[string]func() Kernel{"like": likeKernel(false, false), "notlike": likeKernel(false, true)} {
		out = append(out, &Func{Name: name, Args: ts(tText, tText), Ret: types.TBool, MayFail: true, Pattern: validLike, New: op},
			&Func{Name: name, Args: ts(tName, tText), Ret: types.TBool, MayFail: true, Pattern: validLike, New: op})
	}
	return append(append(out, byteaLike([]string{"like"}, false)...), byteaLike([]string{"notlike"}, true)...)
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
